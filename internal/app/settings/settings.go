// Package settings describes settings structs in one place: keys, flags, defaults, choices, help and what each setting
// is for. The command line, run.json, sweep files and the forms of the dashboard are views of it.
//
// A settings struct describes a field by its tags:
//
//	json         its key in files; "-": it is not stored
//	name         its flag; by default the key with dashes
//	default      the value if it is not set
//	placeholder  what stands for a value in the help
//	required     it must be set
//	role         what it is for: see Role
//	live         one compiled step serves every value
//	file         it may name a file
//	late         the value at which it is not part of an identity: see Identity
//
// The help texts and choices come from the method Texts of the struct.
package settings

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Role says what a setting is for.
type Role string

// The roles. Result is that of a field without the tag.
const (
	Result Role = ""       // it decides the result
	Seed   Role = "seed"   // it distinguishes trials of the same settings
	Trials Role = "trials" // the number of runs that differ in their seed alone
	Place  Role = "place"  // where a run runs and where its files are, which a resume may change
	Output Role = "output" // what is shown, or written beside the run
)

// Field is a setting.
type Field struct {
	Key, Flag   string
	Default     string
	Placeholder string
	Help        string
	Choices     []string // nil: any value of its type
	Known       []string // values with names; others are possible
	Kind        Kind
	Role        Role
	Required    bool
	Stored      bool // in run.json
	Live        bool // one compiled step serves every value
	File        bool // it may name a file

	late  *string
	index []int
}

// Kind is how a setting is entered.
type Kind string

// The kinds.
const (
	Text   Kind = "text"
	Number Kind = "number"
	List   Kind = "list"
	Switch Kind = "flag"
)

// Texts are the words for a command and its settings.
type Texts struct {
	About   string              // the command, in one line
	Help    map[string]string   // by key
	Choices map[string][]string // by key: the only values there are
	Known   map[string][]string // by key: values with names, if others are possible
}

// Described is a settings struct with texts. An embedded struct may have texts of its own.
type Described interface{ Texts() Texts }

// Fields are the settings of a struct, or of a pointer to one, in its order. Those of an embedded struct take its
// place.
func Fields(s any) []Field {
	v := reflect.Indirect(reflect.ValueOf(s))
	if v.Kind() != reflect.Struct {
		return nil
	}
	return fields(v.Type(), nil, nil)
}

func fields(t reflect.Type, index []int, out []Field) []Field {
	var texts Texts
	if d, ok := reflect.New(t).Interface().(Described); ok {
		texts = d.Texts()
	}
	begin := len(out)
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clip(index), i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			out = fields(f.Type, at, out)
		case f.IsExported() && f.Tag.Get("kong") != "-":
			out = append(out, newField(f, at))
		}
	}
	for k := begin; k < len(out); k++ {
		if help, ok := texts.Help[out[k].Key]; ok {
			out[k].Help = help
		}
		if choices, ok := texts.Choices[out[k].Key]; ok {
			out[k].Choices = choices
		}
		if known, ok := texts.Known[out[k].Key]; ok {
			out[k].Known = known
		}
	}
	return out
}

func newField(f reflect.StructField, index []int) Field {
	tag := f.Tag
	key, _, _ := strings.Cut(tag.Get("json"), ",")
	out := Field{Key: key, Flag: tag.Get("name"), Default: tag.Get("default"), Placeholder: tag.Get("placeholder"),
		Role: Role(tag.Get("role")), Stored: key != "" && key != "-", Kind: kindOf(f.Type), index: index}
	if !out.Stored {
		out.Key = snake(f.Name)
		if out.Flag != "" {
			out.Key = strings.ReplaceAll(out.Flag, "-", "_")
		}
	}
	if out.Flag == "" {
		out.Flag = flagOf(out.Key)
	}
	_, out.Required = tag.Lookup("required")
	_, out.Live = tag.Lookup("live")
	_, out.File = tag.Lookup("file")
	if late, ok := tag.Lookup("late"); ok {
		out.late = &late
	}
	return out
}

// snake writes DataDir as data_dir, and a run of capitals as one word.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 && !(name[i-1] >= 'A' && name[i-1] <= 'Z') {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}

func flagOf(key string) string { return strings.ReplaceAll(key, "_", "-") }

func kindOf(t reflect.Type) Kind {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return Switch
	case k == reflect.Slice:
		return List
	case k >= reflect.Int && k <= reflect.Float64 && t != reflect.TypeFor[time.Duration]():
		return Number
	}
	return Text
}

// Find returns the field of a key; ok is false if there is none.
func Find(s any, key string) (f Field, ok bool) {
	for _, f := range Fields(s) {
		if f.Key == key {
			return f, true
		}
	}
	return Field{}, false
}

// Parse sets a struct, given by its address, to its defaults and the values by key. The error of a setting is an
// *Error.
func Parse(s any, values map[string]string) error {
	v := reflect.ValueOf(s).Elem()
	all := Fields(s)
	for key := range values {
		if !slices.ContainsFunc(all, func(f Field) bool { return f.Key == key }) {
			return Errorf(key, "%s: no such setting", key)
		}
	}
	Defaults(s)
	for _, f := range all {
		text, said := values[f.Key]
		if f.Required && f.Stored && text == "" {
			return Errorf(f.Key, "missing setting: %s", f.Key)
		}
		if !said {
			continue
		}
		target := v.FieldByIndex(f.index)
		target.SetZero()
		if err := parseValue(target, text); err != nil {
			return Errorf(f.Key, "--%s: %w", f.Flag, err)
		}
	}
	return CheckChoices(s)
}

// Defaults sets a struct, given by its address, to its defaults.
func Defaults(s any) {
	v := reflect.ValueOf(s).Elem()
	for _, f := range Fields(s) {
		target := v.FieldByIndex(f.index)
		target.SetZero()
		if f.Default == "" {
			continue
		}
		if err := parseValue(target, f.Default); err != nil {
			panic(fmt.Sprintf("settings: the default of %s: %v", f.Key, err)) // of a struct of ours
		}
	}
}

// parseValue reads a text as the command line does.
func parseValue(v reflect.Value, text string) error {
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return t.UnmarshalText([]byte(text))
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		var b bool
		if b, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q: want true or false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		if v.Type() == reflect.TypeFor[time.Duration]() {
			var d time.Duration
			if d, err = time.ParseDuration(text); err != nil {
				return fmt.Errorf("%q: want a time such as 30s", text)
			}
			v.SetInt(int64(d))
			break
		}
		var n int64
		if n, err = strconv.ParseInt(text, 0, v.Type().Bits()); err != nil {
			return fmt.Errorf("%q: want a whole number", text)
		}
		v.SetInt(n)
	case reflect.Uint64:
		var n uint64
		if n, err = strconv.ParseUint(text, 0, 64); err != nil {
			return fmt.Errorf("%q: want a whole number from 0", text)
		}
		v.SetUint(n)
	case reflect.Float64:
		var x float64
		if x, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%q: want a number", text)
		}
		v.SetFloat(x)
	case reflect.Slice:
		for part := range strings.SplitSeq(text, ",") {
			one := reflect.New(v.Type().Elem()).Elem()
			if err := parseValue(one, part); err != nil {
				return err
			}
			v.Set(reflect.Append(v, one))
		}
	default:
		panic(fmt.Sprintf("settings: a field of type %v", v.Type())) // of a struct of ours
	}
	return nil
}

// Set sets the setting of a key from a text. A struct without the setting stays as it is.
func Set(s any, key, text string) error {
	f, ok := Find(s, key)
	if !ok {
		return nil
	}
	v := reflect.ValueOf(s).Elem().FieldByIndex(f.index)
	v.SetZero()
	if text == "" {
		return nil
	}
	return At(key, parseValue(v, text))
}

// Get returns the setting of a key as a text; "" if there is none.
func Get(s any, key string) string {
	f, ok := Find(s, key)
	if !ok {
		return ""
	}
	return format(reflect.Indirect(reflect.ValueOf(s)).FieldByIndex(f.index))
}

// Earlier sets a struct, given by its address, to what stored settings mean that lack all of them: its defaults, and
// for a setting that was added later the value that means what was done before.
func Earlier(s any) {
	Defaults(s)
	for key, text := range Late(s) {
		if err := Set(s, key, text); err != nil {
			panic(fmt.Sprintf("settings: late of %s: %v", key, err)) // of a struct of ours
		}
	}
}

// Late are the settings, by key, whose default is not what was done before they were added, with the values that mean
// that.
func Late(s any) map[string]string {
	out := map[string]string{}
	for _, f := range Fields(s) {
		if f.late != nil && f.Default != "" && f.Default != *f.late {
			out[f.Key] = *f.late
		}
	}
	return out
}

// Format writes a value as Parse reads it.
func Format(value any) string { return format(reflect.ValueOf(value)) }

func format(v reflect.Value) string {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	switch v.Kind() {
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, format(v.Index(i)))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v.Interface())
}

// Identity is every setting that makes the result, with the defaults, and the seed, as texts by key. Empty ones are
// omitted. So is a setting that was added later, at the value that means what was done before: earlier runs keep their
// identity.
func Identity(s any) map[string]string {
	v := reflect.Indirect(reflect.ValueOf(s))
	out := map[string]string{}
	for _, f := range Fields(s) {
		if !f.Stored || f.Role != Result && f.Role != Seed {
			continue
		}
		text := format(v.FieldByIndex(f.index))
		if text == "" || f.late != nil && text == *f.late {
			continue
		}
		out[f.Key] = text
	}
	return out
}

// Graph names what one compiled step serves: the settings that make the result and are not live.
func Graph(s any) string {
	id := Identity(s)
	var parts []string
	for _, f := range Fields(s) {
		if text, ok := id[f.Key]; ok && !f.Live && f.Role != Seed {
			parts = append(parts, strconv.Quote(f.Key+"="+text))
		}
	}
	return strings.Join(parts, " ")
}

// Value is a setting as on the command line.
type Value struct {
	Field
	Text string
}

// Changed are the stored settings of a struct that are not at their default, in its order.
func Changed(s any) []Value {
	v := reflect.Indirect(reflect.ValueOf(s))
	var out []Value
	for _, f := range Fields(s) {
		if !f.Stored {
			continue
		}
		text, usual := format(v.FieldByIndex(f.index)), f.Default
		switch {
		case f.Kind == Switch && usual == "":
			usual = "false"
		case f.Kind == Number && usual == "":
			usual = "0"
		}
		if !equalText(text, usual) {
			out = append(out, Value{f, text})
		}
	}
	return out
}

// equalText compares texts, and numbers to the digits of the default.
func equalText(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err == nil && err2 == nil {
		return math.Abs(x-y) <= 1e-6*math.Abs(y)
	}
	return a == b
}

// CommandLine is the command that has these settings.
func CommandLine(command string, s any) string {
	line := "bregman " + command
	for _, v := range Changed(s) {
		line += " --" + v.Flag
		if v.Kind != Switch {
			line += " " + Quote(v.Text)
		}
	}
	return line
}

// Quote quotes a word of a command line for a shell.
func Quote(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Resume copies into saved, the settings of a run that is resumed, the places that now names, and all that is not
// stored. Both are addresses of structs of one type.
func Resume(saved, now any) {
	to, from := reflect.ValueOf(saved).Elem(), reflect.ValueOf(now).Elem()
	for _, f := range Fields(saved) {
		value := from.FieldByIndex(f.index)
		if !f.Stored || f.Role == Place && !value.IsZero() {
			to.FieldByIndex(f.index).Set(value)
		}
	}
}

// Copy copies into to the settings of from that take chooses. Both are addresses of structs of one type.
func Copy(to, from any, take func(Field) bool) {
	into, out := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for _, f := range Fields(to) {
		if take(f) {
			into.FieldByIndex(f.index).Set(out.FieldByIndex(f.index))
		}
	}
}
