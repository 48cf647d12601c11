package images

import (
	"cmp"
	"fmt"
	"image"
	"maps"
	"slices"
	"strings"
)

// Options say what LoadWith does with a folder of pictures of several sizes, and with pictures that cannot be read.
type Options struct {
	Size       int  // pictures are resized until they cover a square of so many pixels, whose middle is taken; 0: no
	SkipBroken bool // leave out what cannot be read: Set.Broken lists it
}

// BrokenError is about the pictures of a folder that cannot be read.
type BrokenError struct {
	Dir   string
	Files []error // one for each, in the order of the set
	Of    int     // pictures in all
}

// MostNamed is how many broken pictures the line of a BrokenError names.
const MostNamed = 3

// Error is one line, which names the first.
func (e *BrokenError) Error() string {
	var parts []string
	for _, err := range e.Files[:min(len(e.Files), MostNamed)] {
		parts = append(parts, err.Error())
	}
	more := ""
	if n := len(e.Files) - MostNamed; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("%s: %d of %d pictures cannot be read: %s%s. Repair or remove them, or leave them out with "+
		"--skip-broken", e.Dir, len(e.Files), e.Of, strings.Join(parts, "; "), more)
}

// sizesError explains a folder of pictures of several sizes.
func sizesError(dir string, all []picture, configs []image.Config) error {
	count, first := map[image.Point]int{}, map[image.Point]string{}
	for i, c := range configs {
		if c.Width == 0 {
			continue // it cannot be read
		}
		p := image.Pt(c.Width, c.Height)
		if count[p]++; count[p] == 1 {
			first[p] = all[i].path
		}
	}
	sizes := slices.SortedFunc(maps.Keys(count), func(a, b image.Point) int {
		return cmp.Or(a.X*a.Y-b.X*b.Y, a.X-b.X)
	})
	small, large := sizes[0], sizes[len(sizes)-1]
	most := slices.MaxFunc(sizes, func(a, b image.Point) int { return count[a] - count[b] })
	try := 32
	if short := min(most.X, most.Y); short >= 64 {
		try = 64
	}
	often := ""
	if 5*count[most] > len(all) {
		often = fmt.Sprintf(", most often %d×%d (%d of %d)", most.X, most.Y, count[most], len(all))
	}
	return fail(dir, "pictures of %d sizes, from %d×%d pixels (%s) to %d×%d (%s)%s: --size %d resizes them until they "+
		"cover %d×%d and takes the middle; or scale them to one size; or keep more of them by packing them: bregman data "+
		"pack", len(sizes), small.X, small.Y, first[small], large.X, large.Y, first[large], often, try, try, try)
}
