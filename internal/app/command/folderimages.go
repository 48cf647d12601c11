package command

import (
	"errors"
	"strconv"

	"github.com/bregman-ml/bregman/images"
)

// LoadImages reads the images that settings of train name, by key.
func LoadImages(settings map[string]string, dir string) (*images.Set, error) {
	size, _ := strconv.Atoi(settings["size"]) // they were checked
	return images.LoadWith(settings["data"], dir, images.Options{Size: size,
		SkipBroken: settings["skip_broken"] == "true"})
}

// images reads those of the run.
func (t *Train) images(dataDir string) (*images.Set, error) {
	return images.LoadWith(t.Data, dataDir, images.Options{Size: t.Size, SkipBroken: t.SkipBroken})
}

// sayBroken lists pictures that cannot be read, if the error is about more than its line names, or they were left out.
func sayBroken(env *Env, set *images.Set, err error) {
	var broken []error
	if bad := (*images.BrokenError)(nil); errors.As(err, &bad) && len(bad.Files) > images.MostNamed {
		broken = bad.Files
	} else if err == nil {
		broken = set.Broken
	}
	for _, one := range broken[:min(len(broken), mostListed)] {
		env.Say("%v", one)
	}
	if n := len(broken) - mostListed; n > 0 {
		env.Say("and %d more", n)
	}
	if n := len(broken); err == nil && n > 0 {
		env.Say("--skip-broken: %d of %d pictures are left out", n, n+set.Train.Len()+set.Test.Len())
	}
}
