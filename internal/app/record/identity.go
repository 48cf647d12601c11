// Package record keeps what training runs found, in files that outlive the run folders: a CSV file with a row for
// each run, and beside it the histograms of their weights. Rows are only ever added.
package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
)

// Version is the version of the numbers: it is raised when an algorithm changes them. Other rounding on a GPU is not a
// new version.
const Version = 1

// Identity is everything that makes the result of a run: what is run, its settings by key, the seed among them, and, if
// its learning rate is found by short runs, the seed that decides the rate.
type Identity struct {
	First    uint64            `json:"first"`
	Job      string            `json:"job"`
	Settings map[string]string `json:"settings"`
}

// ID is a hash of the identity.
func (i Identity) ID() string {
	sum := sha256.Sum256(i.json())
	return hex.EncodeToString(sum[:10])
}

// json is the canonical form: encoding/json sorts the keys of a map.
func (i Identity) json() []byte {
	b, err := json.Marshal(i)
	if err != nil {
		panic(err) // texts and a number
	}
	return b
}

// Portable is the identity on any machine: files that the settings name are without their folder.
func (i Identity) Portable() Identity {
	i.Settings = maps.Clone(i.Settings)
	for _, key := range []string{"data", "init"} {
		if path := i.Settings[key]; filepath.IsAbs(path) {
			i.Settings[key] = filepath.Base(path)
		}
	}
	return i
}

// Seed is the seed of the run.
func (i Identity) Seed() (uint64, error) { return strconv.ParseUint(i.Settings["seed"], 10, 64) }

// apart are the settings that do not change what a network learns: its seed, which makes it a trial of the same, and
// whether its weights were studied.
var apart = []string{"seed", "no_study"}

// Trials names the runs that differ in their seed alone, studied or not.
func (i Identity) Trials() string { return i.without(apart...) }

// Family names the runs that differ in p and their seed alone, studied or not.
func (i Identity) Family() string { return i.without(append([]string{"p"}, apart...)...) }

func (i Identity) without(keys ...string) string {
	one := i
	one.Settings = maps.Clone(i.Settings)
	for _, k := range keys {
		delete(one.Settings, k)
	}
	return string(one.json())
}

// parseIdentity reads what json writes.
func parseIdentity(text string) (i Identity, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&i); err != nil || d.More() {
		return i, fmt.Errorf("the identity is not what this program writes: %s", shorten(text))
	}
	if i.Job != job {
		return i, fmt.Errorf("the identity is that of a run of %q, not of %s", i.Job, job)
	}
	for _, key := range []string{"model", "data", "p"} {
		if i.Settings[key] == "" {
			return i, fmt.Errorf("the identity has no %s", key)
		}
	}
	if _, err := i.Seed(); err != nil {
		return i, fmt.Errorf("the identity has no seed")
	}
	return i, nil
}

// job is the only one whose runs have rows.
const job = "train"

// Keys are the settings of any of the identities that change what a network learns, but its seed; those that people
// name first before the others.
func Keys(all []Identity) []string {
	seen := map[string]bool{}
	for _, i := range all {
		for k := range i.Settings {
			seen[k] = !slices.Contains(apart, k)
		}
	}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(k string) bool { return !seen[k] })
	rank := func(k string) int {
		if n := slices.Index([]string{"model", "data", "epochs", "batch", "lr", "unit", "weight_decay", "p"}, k); n >= 0 {
			return n
		}
		return 100
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	return keys
}

// Differing are the keys whose values are not the same in all identities.
func Differing(all []Identity) []string {
	return slices.DeleteFunc(Keys(all), func(k string) bool {
		return !slices.ContainsFunc(all, func(i Identity) bool { return i.Settings[k] != all[0].Settings[k] })
	})
}

func shorten(text string) string {
	if letters := []rune(text); len(letters) > 60 {
		return strconv.Quote(string(letters[:60])) + "…"
	}
	return strconv.Quote(text)
}
