package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Generator makes a set from a seed.
type Generator struct {
	Name, About string
	Make        func(seed uint64) *Set
}

// Builtin are the sets that have a name: NAME, or NAME:SEED.
var Builtin = []Generator{
	{"r2", "15 points in R², the paper's Figure 1 (0.15 read as a deviation)",
		func(seed uint64) *Set { return R2(seed, Deviation) }},
	{"r2var", "the same with 0.15 read as a variance: not always separable",
		func(seed uint64) *Set { return R2(seed, Variance) }},
	{"r100", "15 sparse points in R¹⁰⁰, the paper's tables", R100},
}

// ErrNotBuiltin says that there is no built-in set of a name, or that a file has that name and goes first.
var ErrNotBuiltin = errors.New("not a built-in set")

// BuiltinNames lists the names of the built-in sets.
func BuiltinNames() []string {
	names := make([]string, len(Builtin))
	for i, g := range Builtin {
		names[i] = g.Name
	}
	return names
}

// Generate makes the built-in set NAME or NAME:SEED; the seed is 1 if there is none. Its hash is that of the file
// that WriteSVM writes of it. The error is ErrNotBuiltin where there is no such set.
func Generate(spec string) (*Set, error) {
	name, text, hasSeed := strings.Cut(spec, ":")
	k := slices.IndexFunc(Builtin, func(g Generator) bool { return g.Name == name })
	if k < 0 {
		return nil, ErrNotBuiltin
	}
	if at, err := os.Stat(spec); err == nil && !at.IsDir() { // a folder is no table
		return nil, ErrNotBuiltin
	}
	seed := uint64(1)
	if hasSeed {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, &Error{Name: spec, Msg: fmt.Sprintf("%q is not a seed: write for example %s:7", text, name), err: err}
		}
	}
	s := Builtin[k].Make(seed)
	s.Name = fmt.Sprintf("%s:%d", name, seed)
	sum := sha256.New()
	if err := WriteSVM(sum, s); err != nil {
		return nil, err
	}
	s.Hash = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return s, nil
}
