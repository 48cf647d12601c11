package command

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/images"
)

// setting is a flag and its value, as one would type them.
type setting struct{ flag, value string }

var defaultOf = regexp.MustCompile(`default='([^']*)'`)

// differing lists the settings of a struct that are not at their default, in the struct's order, by the names they have in files.
func differing(settings any) []setting {
	v := reflect.Indirect(reflect.ValueOf(settings))
	var out []setting
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Tag.Get("toml")
		if name == "" || name == "-" {
			continue
		}
		usual := ""
		if m := defaultOf.FindStringSubmatch(f.Tag.Get("kong")); m != nil {
			usual = m[1]
		}
		value := written(v.Field(i))
		if !same(value, usual) {
			out = append(out, setting{strings.ReplaceAll(name, "_", "-"), value})
		}
	}
	return out
}

// written is a value as one would type it; false is nothing.
func written(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case fmt.Stringer:
		return x.String()
	case bool:
		if x {
			return "true"
		}
		return ""
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	if v.Kind() == reflect.Slice {
		var parts []string
		for i := range v.Len() {
			parts = append(parts, written(v.Index(i)))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v.Interface())
}

// same compares texts, and numbers as far as the text of a default says them.
func same(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err == nil && err2 == nil {
		return math.Abs(x-y) <= 1e-6*math.Abs(y)
	}
	return a == b
}

// commandLine is the command with these settings.
func commandLine(command string, settings any) string {
	line := "bregman " + command
	for _, s := range differing(settings) {
		switch {
		case s.value == "true":
			line += " --" + s.flag
		default:
			line += " --" + s.flag + " " + Quote(s.value)
		}
	}
	return line
}

// Quote writes a word of a command line as a shell reads it back.
func Quote(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// CheckZero returns an error for a number that was given as 0, where leaving it out would let the network decide.
func CheckZero(given []string, settings any) error {
	v := reflect.Indirect(reflect.ValueOf(settings))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, name := range []string{"Epochs", "Batch"} {
		flag := strings.ToLower(name)
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.Int && f.Int() == 0 && slices.Contains(given, flag) && v.FieldByName("Epochs").IsValid() {
			return &UsageError{fmt.Errorf("--%s 0: want at least 1, or leave it out", flag)}
		}
	}
	return nil
}

// CheckResume returns an error for a flag that was given beside --resume and would be ignored: a run goes on with its own settings.
func CheckResume(given []string) error {
	if !slices.Contains(given, "resume") {
		return nil
	}
	for _, name := range given {
		if !slices.Contains([]string{"resume", "engine", "data-dir", "runs", "json", "help", // and how a sweep is run, which is no part of it
			"nats", "creds", "nkey", "user", "password", "tlscert", "tlskey", "tlsca", "replicas", "jobs", "listen", "lost-after"}, name) {
			return &UsageError{fmt.Errorf("--%s with --resume: a resumed run keeps its settings: drop --%[1]s", name)}
		}
	}
	return nil
}

// AbsoluteData is a data set's name, or the absolute path of its file or folder: what a run folder keeps, because it may be gone on with from elsewhere.
func AbsoluteData(name string) string {
	for _, k := range images.List() {
		if k.Name == name {
			return name
		}
	}
	return Absolute(name)
}

// Absolute is a path that means the same everywhere; an empty one stays empty.
func Absolute(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
