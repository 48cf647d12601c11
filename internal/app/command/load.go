package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/matrix"
)

// maxFeatures is more than any model here is meant for: a stray index in a file would take gigabytes for each vector.
const maxFeatures = 1 << 28

// Load reads a data file or makes a built-in set. A file of the same name goes first.
func Load(ctx context.Context, spec string, opt dataset.Options) (*dataset.Set, error) {
	set, err := builtIn(spec)
	if err == nil && set == nil {
		set, err = pictures(spec, opt)
	}
	if err == nil && set == nil {
		set, err = readFile(ctx, spec, opt)
	}
	if err != nil {
		return nil, err
	}
	if _, d := set.X.Dims(); d > maxFeatures {
		return nil, fmt.Errorf("%s: %d features, more than the %d this program takes: is an index wrong?", set.Name, d, maxFeatures)
	}
	return set, nil
}

// loadToLearn is Load for data that a model is made from.
func loadToLearn(ctx context.Context, spec string, opt dataset.Options) (*dataset.Set, error) {
	set, err := Load(ctx, spec, opt)
	if err == nil && opt.Bias && len(set.Classes()) == 1 {
		return nil, fmt.Errorf("%s: all labels are %v, so they count as absorbed, and --bias makes no sense there", set.Name, set.Y[0])
	}
	return set, err
}

// builtIn returns the built-in set of a name or name:seed, nil if there is none or a file has that name. Its hash
// is that of the file that data get writes.
func builtIn(spec string) (*dataset.Set, error) {
	name, text, hasSeed := strings.Cut(spec, ":")
	for _, b := range builtin {
		if b.name != name {
			continue
		}
		if at, err := os.Stat(spec); err == nil && !at.IsDir() { // a folder is no table
			return nil, nil
		}
		seed := uint64(1)
		if hasSeed {
			var err error
			if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %q is not a seed: write for example %s:7", spec, text, name)
			}
		}
		s := b.make(seed)
		s.Name = fmt.Sprintf("%s:%d", name, seed)
		sum := sha256.New()
		if err := dataset.WriteSVM(sum, s); err != nil {
			return nil, err
		}
		s.Hash = "sha256:" + hex.EncodeToString(sum.Sum(nil))
		return s, nil
	}
	return nil, nil
}

// readFile reads a file, "-" being standard input, until the context ends.
func readFile(ctx context.Context, path string, opt dataset.Options) (*dataset.Set, error) {
	f, name := os.Stdin, "stdin"
	if path != "-" {
		var err error
		if f, err = os.Open(path); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file: check the path, or see `bregman data list` for the built-in sets", path)
		} else if err != nil {
			return nil, err
		}
		defer f.Close()
		name = path
	}
	type result struct {
		set *dataset.Set
		err error
	}
	done := make(chan result, 1)
	go func() { // a read from a terminal or a pipe may never return
		s, err := dataset.ReadFrom(untilDone{ctx, f}, name, opt)
		done <- result{s, err}
	}()
	select {
	case r := <-done:
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return r.set, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// counted says what the columns of svmlight text are counted from, in brackets. It is empty for other data.
func counted(set *dataset.Set) string {
	switch {
	case !set.Indexed:
		return ""
	case set.ZeroBased:
		return " (columns counted from 0)"
	}
	return " (columns counted from 1)"
}

// loadFor reads data for a model. Columns are matched by name if both have names. Sparse text is as wide as the
// model and counts its columns as the model does.
func loadFor(ctx context.Context, m linear.Model, spec string, opt dataset.Options) (*dataset.Set, error) {
	opt.Bias, opt.Cols, opt.ZeroBased = m.Bias, m.Dim(), m.ZeroBased
	set, err := Load(ctx, spec, opt)
	if err != nil || m.Features == nil || set.Features == nil || slices.Equal(m.Features, set.Features) {
		return set, err
	}
	at := map[string]int{}
	for j, name := range set.Features {
		at[name] = j
	}
	from := make([]int, len(m.Features))
	var missing []string
	for j, name := range m.Features {
		k, ok := at[name]
		if !ok {
			missing = append(missing, name)
		}
		from[j] = k
	}
	if slices.Contains(missing, set.Label) {
		return nil, fmt.Errorf("%s: column %q was taken for the labels, and is a feature of the model: "+
			"name the column of labels with --label, or predict with --unlabeled if there is none", set.Name, set.Label)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s lacks columns the model has: %s", set.Name, strings.Join(missing[:min(len(missing), 5)], ", "))
	}
	n, _ := set.X.Dims()
	data := make([]float64, 0, n*len(from))
	for i := range n {
		_, row := set.X.Row(i) // files with names are dense
		for _, k := range from {
			data = append(data, row[k])
		}
	}
	set.X, set.Features = matrix.NewDense(len(from), data), m.Features
	return set, nil
}
