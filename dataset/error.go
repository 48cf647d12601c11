package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Error says where in a file the data are wrong, what is wrong, and what to do.
type Error struct {
	Name string // the file
	Line int    // counted from 1; 0 where the format has no lines
	Col  int    // byte column, counted from 1; 0 for the whole line
	Msg  string

	err error // the cause, nil if it is all said in Msg
}

// Error is one line: name:line:col: message, as editors and compilers write it.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Name + ": " + e.Msg
	case e.Col == 0:
		return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Col, e.Msg)
}

// Unwrap returns the cause, such as fs.ErrNotExist or ErrZeroIndex.
func (e *Error) Unwrap() error { return e.err }

// ErrZeroIndex is the cause of an Error about an index 0 in svmlight text that is read as counted from 1.
var ErrZeroIndex = errors.New("an index 0")

const (
	noExamples = "no examples: the file holds no data"
	noFeatures = "no features: every example has a label and nothing else"
)

// at is an error at a place in a text.
func at(name string, line, col int, format string, args ...any) *Error {
	return &Error{Name: name, Line: line, Col: col, Msg: fmt.Sprintf(format, args...)}
}

// failed reports that reading itself failed, at a line or, with line 0, somewhere.
func failed(name string, line int, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	msg := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) { // the name stands before the message already
		msg = path.Err.Error()
	}
	return &Error{Name: name, Line: line, Msg: "cannot read: " + msg, err: err}
}

// notNumber says why a token was refused where a finite number was wanted.
func notNumber(tok string) string {
	if tok == "" {
		return "a number is missing: fill it in or drop the example"
	}
	switch strings.ToLower(strings.TrimLeft(tok, "+-")) {
	case "nan", "inf", "infinity":
		return fmt.Sprintf("%s is not finite: fill in missing values or drop the example", tok)
	}
	if _, err := strconv.ParseFloat(tok, 64); errors.Is(err, strconv.ErrRange) && decimal(tok) {
		return fmt.Sprintf("%s is too large for a 64-bit float: scale the data", quoted(tok))
	}
	if decimalComma(tok) {
		return fmt.Sprintf("%s is not a number: write decimals with a point, such as 0.5, and thousands without a sign",
			quoted(tok))
	}
	return fmt.Sprintf("%s is not a number: write decimals such as 0.5 or 1e-3", quoted(tok))
}

// decimal tells 1e999, which is only too large, from 0x1p9999, which we do not read at all.
func decimal(tok string) bool { return strings.Trim(tok, "+-.0123456789eE") == "" }

// notLabel is notNumber for the place where most people first put a class name.
func notLabel(tok string) string {
	msg := notNumber(tok)
	if strings.Contains(msg, "not a number") {
		return fmt.Sprintf("label %s: labels must be numbers: replace class names by numbers such as -1 and 1",
			quoted(tok))
	}
	return "label: " + msg
}

// quoted is tok in quotes, cut where it is longer than anyone wants to read.
func quoted(tok string) string {
	const enough = 40
	if len(tok) > enough {
		return strconv.Quote(tok[:enough]) + "…"
	}
	return strconv.Quote(tok)
}
