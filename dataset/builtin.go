package dataset

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Generator is a set that has a name: one that is made from a seed, or a table that is part of this program.
type Generator struct {
	Name, About string
	Make        func(seed uint64) *Set // nil: it is a table

	label string // of a table: the column of labels
}

// Seeded reports whether the set is made from a seed.
func (g Generator) Seeded() bool { return g.Make != nil }

// Builtin are the sets that have a name: NAME, or, if they are made from a seed, NAME:SEED.
var Builtin = []Generator{
	{Name: "r2", About: "15 points in R², the paper's Figure 1 (0.15 read as a deviation)",
		Make: func(seed uint64) *Set { return R2(seed, Deviation) }},
	{Name: "r2var", About: "the same with 0.15 read as a variance: not always separable",
		Make: func(seed uint64) *Set { return R2(seed, Variance) }},
	{Name: "r100", About: "15 sparse points in R¹⁰⁰, the paper's tables", Make: R100},
	{Name: "iris", About: "150 flowers of 3 species, 4 lengths in cm (Fisher 1936)", label: "species"},
	{Name: "wine", About: "178 wines of 3 growers, 13 measurements (Aeberhard & Forina 1991)", label: "class"},
	{Name: "breast_cancer", About: "569 tumours, benign or malignant, 30 measurements (Wolberg et al. 1995)",
		label: "diagnosis"},
	{Name: "digits", About: "1797 handwritten digits, 8×8 pixels from 0 to 16 (Alpaydin & Kaynak 1998)", label: "digit"},
	{Name: "diabetes", About: "442 patients, 10 measurements, progression of the disease to predict (Efron et al. 2004)",
		label: "progression"},
}

// tables are the built-in tables as gzipped CSV. tables/SOURCES.md says where they come from.
//
//go:embed tables/*.csv.gz
var tables embed.FS

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

// Generate returns the built-in set NAME or NAME:SEED; the seed is 1 if there is none. The hash of a set that is made
// from a seed is that of the file that WriteSVM writes of it. A table is read with the options, if they are given, and
// has the hash of its file. The error is ErrNotBuiltin if there is no such set.
func Generate(spec string, opt ...Options) (*Set, error) {
	name, text, hasSeed := strings.Cut(spec, ":")
	k := slices.IndexFunc(Builtin, func(g Generator) bool { return g.Name == name })
	if k < 0 {
		return nil, ErrNotBuiltin
	}
	if at, err := os.Stat(spec); err == nil && !at.IsDir() { // a folder is no table
		return nil, ErrNotBuiltin
	}
	g := Builtin[k]
	if !g.Seeded() {
		if hasSeed {
			return nil, &Error{Name: spec, Msg: fmt.Sprintf("%s is a table and has no seed: write %[1]s", name)}
		}
		return g.table(append(opt, Options{})[0])
	}
	seed := uint64(1)
	if hasSeed {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, &Error{Name: spec, Msg: fmt.Sprintf("%q is not a seed: write for example %s:7", text, name), err: err}
		}
	}
	s := g.Make(seed)
	s.Name = fmt.Sprintf("%s:%d", name, seed)
	sum := sha256.New()
	if err := WriteSVM(sum, s); err != nil {
		return nil, err
	}
	s.Hash = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// table reads a table that is part of this program.
func (g Generator) table(opt Options) (*Set, error) {
	if opt.NoHeader {
		return nil, &Error{Name: g.Name, Msg: "--no-header: this table has a header: leave it out"}
	}
	used := slices.Contains(opt.Drop, g.label) || slices.Contains(opt.Columns, g.label)
	if opt.Label == "" && opt.Like == nil && !used {
		opt.Label = g.label
	}
	data, err := tables.ReadFile("tables/" + g.Name + ".csv.gz")
	if err != nil {
		return nil, err
	}
	s, err := ReadFrom(bytes.NewReader(data), g.Name+".csv.gz", opt)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Name = g.Name
		}
		return nil, err
	}
	s.Name = g.Name
	return s, nil
}
