package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Error is a setting that makes no sense. Key lets a sweep file or a form say where it stands.
type Error struct {
	Key string
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns the *Error of a key.
func Errorf(key, format string, args ...any) error { return &Error{key, fmt.Errorf(format, args...)} }

// At returns an error as the *Error of a key; nil stays nil.
func At(key string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{key, err}
}

// CheckChoices returns an error for a value that is not one of its setting's choices.
func CheckChoices(s any) error {
	v := reflect.Indirect(reflect.ValueOf(s))
	for _, f := range Fields(s) {
		if f.Choices == nil {
			continue
		}
		value := v.FieldByIndex(f.index)
		if value.IsZero() && f.Default == "" {
			continue
		}
		texts := []string{format(value)}
		if f.Kind == List {
			texts = strings.Split(texts[0], ",")
		}
		for _, text := range texts {
			if !slices.Contains(f.Choices, text) {
				return Errorf(f.Key, "--%s %q: choose %s", f.Flag, text, Or(f.Choices))
			}
		}
	}
	return nil
}

// Or lists choices in words: a, b or c.
func Or(choices []string) string {
	if n := len(choices); n > 1 {
		return strings.Join(choices[:n-1], ", ") + " or " + choices[n-1]
	}
	return strings.Join(choices, "")
}

// CheckZero returns an error for a whole number without a default that was set to 0: if it is not set, something else
// decides. values are those that were set, by key.
func CheckZero(s any, values map[string]string) error {
	for _, f := range Fields(s) {
		text, said := values[f.Key]
		if !said || f.Kind != Number || f.Default != "" {
			continue
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil && n == 0 {
			return Errorf(f.Key, "--%s 0: want at least 1, or leave it out", f.Flag)
		}
	}
	return nil
}

// Extended is a settings struct whose finished runs can be extended by new runs. Extend says how, in a sentence without
// its full stop.
type Extended interface{ Extend() string }

// CheckResume returns an error for a setting that was set besides --resume and would be ignored: a run is resumed with
// its own settings. said are the keys.
func CheckResume(s any, said []string) error {
	if !slices.Contains(said, "resume") {
		return nil
	}
	more := ""
	if e, ok := s.(Extended); ok {
		more = ". " + e.Extend()
	}
	for _, f := range Fields(s) {
		if slices.Contains(said, f.Key) && f.Stored && f.Role != Place {
			return Errorf(f.Key, "--%s with --resume: a resumed run keeps its settings: drop --%[1]s%s", f.Flag, more)
		}
	}
	return nil
}

// Nearest suggests the name that was probably meant, if one is near: two letters added, removed or changed, or one is a
// prefix of the other.
func Nearest(name string, names []string) string {
	best, at := "", 3
	for _, n := range names {
		d := distance(name, n)
		if len(name) > 2 && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n)) {
			d = min(d, 2)
		}
		if d < at && d < len(n) {
			best, at = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance is the Levenshtein distance: letters to add, remove or change.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := last
			if a[i] != b[j] {
				d++
			}
			last = row[j+1]
			row[j+1] = min(d, row[j]+1, last+1)
		}
	}
	return row[len(b)]
}
