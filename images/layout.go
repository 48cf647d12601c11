package images

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// layouts are those that arrange knows, for errors.
const layouts = "want class folders in train and val (or test), class folders alone, Tiny-ImageNet as it is " +
	"distributed, or ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar"

const (
	tinyNotes = "val_annotations.txt"
	trainTar  = "ILSVRC2012_img_train"
	valTar    = "ILSVRC2012_img_val"
	testTar   = "ILSVRC2012_img_test"
)

// arranger finds out which files of a source are training pictures, which are test pictures, and of which class. It
// looks at names alone, except for the annotations of Tiny-ImageNet.
type arranger struct {
	*Source
	path  string // for errors
	notes []SourcePicture
	index map[string]uint16 // of Classes
}

func (a *arranger) other(name, format string, args ...any) {
	a.Others = append(a.Others, SourceProblem{name, fmt.Sprintf(format, args...)})
}

// arrange labels the pictures of one path or of two.
func (a *arranger) arrange(parts []*sifted) error {
	if len(parts) == 1 {
		p := parts[0]
		a.strip(p, p.root(false), "")
		a.Others, a.notes = append(a.Others, p.others...), p.notes
		return a.one(p.pictures)
	}
	first, second := parts[0], parts[1]
	if first.valOfILSVRC() {
		first, second = second, first
	}
	if first.valOfILSVRC() {
		return fail(a.path, "both paths hold ILSVRC2012's validation pictures: give %s.tar as well", trainTar)
	}
	a.path = first.path
	name := "test"
	if second.valOfILSVRC() {
		name = "val"
	}
	for i, p := range []*sifted{first, second} {
		to := []string{"train", name}[i] + "/"
		a.strip(p, p.root(true), to)
		top := folders(p.pictures, len(to))
		if top.has("train") {
			return fail(p.path, "it has a folder train, and another path is given: give this one alone, or class folders in "+
				"both")
		}
		if i == 0 && len(top.names) == 0 {
			return a.unknown(p.path, p.pictures)
		}
		a.Others = append(a.Others, p.others...)
	}
	err := a.split(folders(first.pictures, len("train/")), split{second.path, name, second.pictures})
	if name == "test" {
		a.Layout = "class folders of two paths, the first for training and the second for testing"
	}
	return err
}

// root is the folder that all pictures are in. A folder that may be a class is not part of it, and neither is a folder
// train, unless any is true.
func (f *sifted) root(any bool) string {
	first, last := f.pictures[0].Name, f.pictures[len(f.pictures)-1].Name // sorted: the others lie between
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	shared := first[:strings.LastIndexByte(first[:n], '/')+1]
	if !any {
		at := 0
		for _, e := range strings.SplitAfter(shared, "/") {
			if role(strings.TrimSuffix(e, "/")) != "" {
				shared = shared[:at]
				break
			}
			at += len(e)
		}
	}
	if any && f.valOfILSVRC() {
		return shared
	}
	for shared != "" && !slices.ContainsFunc(f.pictures, func(p SourcePicture) bool {
		return strings.Contains(p.Name[len(shared):], "/")
	}) {
		shared = shared[:strings.LastIndexByte(shared[:len(shared)-1], '/')+1]
	}
	return shared
}

// valOfILSVRC reports whether the pictures are those of ILSVRC2012's validation set, all in one folder.
func (f *sifted) valOfILSVRC() bool {
	first, last := f.pictures[0].Name, f.pictures[len(f.pictures)-1].Name
	return path.Dir(first) == path.Dir(last) && valNumber(first) > 0 && !slices.ContainsFunc(f.pictures,
		func(p SourcePicture) bool { return path.Dir(p.Name) != path.Dir(first) })
}

// role returns what a folder of this name is for in a source: "train", "val", "test" or "".
func role(folder string) string {
	switch {
	case folder == "train" || folder == trainTar:
		return "train"
	case folder == "val" || folder == "valid" || folder == "validation" || folder == valTar:
		return "val"
	case folder == "test" || strings.HasPrefix(folder, testTar):
		return "test"
	}
	return ""
}

// strip takes a prefix from the names, and puts another one before them. What is outside of the root is not packed.
func (a *arranger) strip(f *sifted, root, by string) {
	dirs := map[string]int{}
	in := func(files []SourcePicture, count bool) []SourcePicture {
		kept := slices.DeleteFunc(files, func(p SourcePicture) bool {
			if strings.HasPrefix(p.Name, root) {
				return false
			}
			if !count {
				return true
			}
			if dir := outside(p.Name, root); dir != "" {
				dirs[dir]++
			} else {
				a.other(p.Name, "%s", notPicture(p.Name))
			}
			return true
		})
		a.tree.rename(kept, root, by)
		return kept
	}
	f.pictures, f.notes, f.rest = in(f.pictures, true), in(f.notes, false), in(f.rest, true)
	for dir, n := range dirs {
		a.other(dir, "%d files not packed: they are outside of %s, and not pictures by their names", n, plain(root))
	}
	for _, p := range f.rest {
		a.other(p.Name, "%s", notPicture(p.Name))
	}
	for i, o := range f.others {
		if rest, ok := strings.CutPrefix(o.Name, root); ok {
			f.others[i].Name = by + rest
		}
	}
}

// outside returns the topmost folder of a path that root is not in, or "" if root is in all of them.
func outside(name, root string) string {
	for i := range len(name) {
		if name[i] == '/' && !strings.HasPrefix(root, name[:i+1]) {
			return name[:i+1]
		}
	}
	return ""
}

// grouped are pictures by a folder of their path.
type grouped struct {
	names []string // of folders, sorted as paths are
	runs  [][]SourcePicture
	loose []SourcePicture // in no folder
}

// folders groups pictures that are sorted by name. The first n letters of their names are passed over.
func folders(files []SourcePicture, n int) grouped {
	var g grouped
	for i := 0; i < len(files); {
		name, _, ok := strings.Cut(files[i].Name[n:], "/")
		if !ok {
			g.loose = append(g.loose, files[i])
			i++
			continue
		}
		prefix := files[i].Name[:n+len(name)+1]
		j := i + 1
		for j < len(files) && strings.HasPrefix(files[j].Name, prefix) {
			j++
		}
		g.names, g.runs = append(g.names, name), append(g.runs, files[i:j:j])
		i = j
	}
	return g
}

func (g grouped) has(name string) bool { return slices.Contains(g.names, name) }

// split is a folder of pictures beside train.
type split struct {
	path  string // of the source that it is in, for errors
	name  string
	files []SourcePicture
}

func pictureCount(n int) string {
	if n == 1 {
		return "1 picture"
	}
	return fmt.Sprintf("%d pictures", n)
}

// one arranges the pictures of one path.
func (a *arranger) one(pictures []SourcePicture) error {
	top := folders(pictures, 0)
	var train *grouped
	var val, test *split
	var extra []split
	chosen := map[string]string{} // by role: a folder of that very name, or else the first
	for _, name := range top.names {
		if r := role(name); chosen[r] == "" || name == r {
			chosen[r] = name
		}
	}
	for i, name := range top.names {
		files, r := top.runs[i], role(name)
		switch {
		case name != chosen[r] || r == "":
			extra = append(extra, split{a.path, name, files})
		case r == "train":
			a.called(files, name, "train")
			g := folders(files, len("train/"))
			train = &g
		case r == "val" && name == valTar:
			a.called(files, name, "val")
			val = &split{a.path, "val", files}
		case r == "val":
			val = &split{a.path, name, files}
		default:
			test = &split{a.path, name, files}
		}
	}
	valOnly := len(top.names) == 0 && valNumber(pictures[0].Name) > 0 ||
		train == nil && val != nil && len(val.files) > 0 && flatVal(val)
	switch {
	case valOnly:
		return fail(a.path, "ILSVRC2012's validation pictures without the training pictures: give both, %s.tar and %s.tar",
			trainTar, valTar)
	case train == nil && (val != nil || test != nil) && len(top.names) <= 2 && len(extra) == 0:
		return fail(a.path, "there is no folder train: add it, or give the folder with the class folders itself")
	case train == nil:
		return a.classesAlone(top)
	case val == nil && test == nil:
		return fail(a.path, "only one of train and val is there: add the other, or give the folder train itself, of which "+
			"a tenth is held out")
	}
	for _, p := range top.loose {
		a.other(p.Name, "not in a class folder")
	}
	if len(train.names) == 0 {
		return a.unknown(a.path, pictures)
	}
	held, spare := val, test
	if val == nil || !a.labelled(val) && test != nil && a.labelled(test) {
		held, spare = test, val
	}
	if !a.labelled(held) {
		return fail(a.path, "the pictures of %s have no labels: put them into class folders", held.name)
	}
	if spare != nil {
		extra = append(extra, *spare)
	}
	for _, e := range extra {
		a.other(e.name+"/", "%s not packed: %s is the test set", pictureCount(len(e.files)), held.name)
	}
	return a.split(*train, *held)
}

// called renames a folder at the top of the source, also in the names of its files that are not packed.
func (a *arranger) called(files []SourcePicture, name, by string) {
	if name == by {
		return
	}
	a.tree.rename(files, name+"/", by+"/")
	for i, o := range a.Others {
		if rest, ok := strings.CutPrefix(o.Name, name+"/"); ok {
			a.Others[i].Name = by + "/" + rest
		}
	}
}

// labelled reports whether the pictures of a folder beside train have labels.
func (a *arranger) labelled(s *split) bool {
	return len(folders(s.files, len(s.name)+1).names) > 0 || flatVal(s)
}

// flatVal reports whether the pictures of a folder are those of ILSVRC2012's validation set, without class folders.
func flatVal(s *split) bool {
	g := folders(s.files, len(s.name)+1)
	return len(g.names) == 0 && slices.ContainsFunc(g.loose, func(p SourcePicture) bool { return valNumber(p.Name) > 0 })
}

// valNumber returns the number of a picture ILSVRC2012_val_00000001.JPEG, or 0.
func valNumber(name string) int {
	digits, ok := strings.CutPrefix(path.Base(name), "ILSVRC2012_val_")
	digits = strings.TrimSuffix(digits, path.Ext(digits))
	if !ok || len(digits) != 8 || !isNumber(digits) {
		return 0
	}
	n, _ := strconv.Atoi(digits)
	return n
}

func isNumber(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// unknown says what there is instead of a layout.
func (a *arranger) unknown(where string, pictures []SourcePicture) error {
	var found []string
	for _, p := range pictures[:min(5, len(pictures))] {
		found = append(found, plain(p.Name))
	}
	return fail(where, "%s, but not in class folders (found %s): %s", pictureCount(len(pictures)), few(found), layouts)
}

// classesAlone holds out a tenth of every class.
func (a *arranger) classesAlone(top grouped) error {
	if len(top.names) == 0 {
		return a.unknown(a.path, top.loose)
	}
	for i, name := range top.names {
		if inner := folders(top.runs[i], len(name)+1); inner.has("train") {
			return fail(a.path, "the folder %s has a folder train of its own, and there are others: give %s itself",
				plain(name), plain(path.Join(a.path, name)))
		}
	}
	all, err := a.classes(top)
	if err != nil {
		return err
	}
	a.Layout, a.HeldOut = "class folders", true
	a.Train, a.Test = holdOut(all, func(p SourcePicture) int { return int(p.Label) },
		func(p SourcePicture) string { return path.Base(p.Name) })
	if len(a.Test) == 0 {
		return fail(a.path, "one picture per class leaves none to test with: add pictures")
	}
	return nil
}

// classes makes folders the classes and labels their pictures, which are returned by class, then by name.
func (a *arranger) classes(g grouped) ([]SourcePicture, error) {
	for _, p := range g.loose {
		a.other(p.Name, "not in a class folder")
	}
	switch {
	case len(g.names) == 1:
		return nil, fail(a.path, "only one class, %s: want two class folders or more next to each other",
			plain(g.names[0]))
	case len(g.names) > packMostClasses:
		return nil, fail(a.path, "%d classes, and a packed file can have %d: merge or drop some", len(g.names),
			packMostClasses)
	}
	a.Classes = slices.Clone(g.names)
	slices.SortFunc(a.Classes, classOrder(a.Classes))
	a.index = make(map[string]uint16, len(a.Classes))
	for i, c := range a.Classes {
		a.index[c] = uint16(i)
	}
	return a.byClass(g), nil
}

// classOrder compares as text, or as numbers if all classes are numbers.
func classOrder(classes []string) func(a, b string) int {
	for _, c := range classes {
		if !isNumber(c) {
			return strings.Compare
		}
	}
	return func(a, b string) int {
		x, y := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y), strings.Compare(a, b))
	}
}

// byClass labels pictures of class folders and returns them by class. The classes are known.
func (a *arranger) byClass(g grouped) []SourcePicture {
	runs := make([][]SourcePicture, len(a.Classes))
	for i, name := range g.names {
		label := a.index[name]
		runs[label] = g.runs[i]
		for j := range runs[label] {
			runs[label][j].Label = label
		}
	}
	return slices.Concat(runs...)
}

// split arranges train and a folder of test pictures.
func (a *arranger) split(train grouped, s split) (err error) {
	if a.Train, err = a.classes(train); err != nil {
		return err
	}
	g := folders(s.files, len(s.name)+1)
	notes := slices.IndexFunc(a.notes, func(p SourcePicture) bool { return p.Name == s.name+"/"+tinyNotes })
	switch {
	case notes >= 0 && len(g.names) == 1 && g.names[0] == "images":
		a.Layout = "Tiny-ImageNet"
		err = a.annotated(a.notes[notes], g)
	case flatVal(&s):
		a.Layout = "ILSVRC2012"
		err = a.numbered(g.loose)
	default:
		a.Layout = "class folders in train and " + s.name
		for _, p := range g.loose {
			a.other(p.Name, "not in a class folder")
		}
		for _, c := range g.names {
			if _, ok := a.index[c]; !ok {
				return fail(s.path, "%s/%s is a class with no training pictures: the classes are %s", s.name, plain(c),
					plain(some(a.Classes)))
			}
		}
		a.Test = a.byClass(g)
	}
	if err == nil && len(a.Test) == 0 {
		return fail(s.path, "no picture of %s has a label: put them into class folders", s.name)
	}
	return err
}

// numbered labels validation pictures of ILSVRC2012 by their numbers.
func (a *arranger) numbered(files []SourcePicture) error {
	table, err := valWNIDs()
	if err != nil {
		return err
	}
	untrained := 0
	for _, p := range files {
		k := valNumber(p.Name)
		if k < 1 || k > len(table) {
			a.other(p.Name, "not the name of a validation picture of ILSVRC2012")
			continue
		}
		label, ok := a.index[table[k-1]]
		if !ok {
			untrained++
			continue
		}
		p.Label = label
		a.Test = append(a.Test, p)
	}
	switch {
	case len(a.Test) == 0:
		return fail(a.path, "the classes of train are not those of ILSVRC2012, such as n01440764, but %s: name the folders "+
			"so, or put the pictures of val into class folders", plain(some(a.Classes)))
	case untrained > 0:
		a.other("val/", "%s not packed: train lacks their classes", pictureCount(untrained))
	}
	return nil
}

// mostNotes bounds the annotations: those of Tiny-ImageNet have 360 kB.
const mostNotes = 64 << 20

// annotated labels the pictures that a file names, one a line: the picture, its class, and where in the picture it is,
// separated by tabs.
func (a *arranger) annotated(notes SourcePicture, g grouped) error {
	where := a.tree.where(notes)
	if notes.Size > mostNotes {
		return fail(where, "%d bytes of annotations: too many", notes.Size)
	}
	b, err := a.Read(notes, nil)
	if err != nil {
		return err
	}
	classes := map[string]string{} // the class of a picture that is not found yet
	n := 0
	for line := range strings.SplitSeq(string(b), "\n") {
		n++
		if line = strings.TrimRight(line, "\r"); line == "" {
			continue
		}
		picture, rest, ok := strings.Cut(line, "\t")
		class, _, _ := strings.Cut(rest, "\t")
		if before, twice := classes[picture]; twice && before != class {
			return fail(fmt.Sprintf("%s:%d", where, n), "a second class for %s: remove one", plain(picture))
		}
		if _, known := a.index[class]; !ok || !known {
			return fail(fmt.Sprintf("%s:%d", where, n), "the class %s has no training pictures: want a picture, a tab and "+
				"one of %s", strconv.Quote(class), plain(some(a.Classes)))
		}
		classes[picture] = class
	}
	for _, p := range g.loose {
		a.other(p.Name, "not in the folder images")
	}
	for _, p := range g.runs[0] {
		name := path.Base(p.Name)
		class, ok := classes[name]
		if !ok {
			a.other(p.Name, "not in %s", tinyNotes)
			continue
		}
		delete(classes, name)
		p.Label = a.index[class]
		a.Test = append(a.Test, p)
	}
	for name := range classes {
		a.other(notes.Name, "the picture %s is not there", plain(name))
	}
	return nil
}
