package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/support/exceptions"
)

func TestTheGoEngineIsAlwaysThere(t *testing.T) {
	found := Look()
	if last := found[len(found)-1]; last.Name != "go" || !last.Usable {
		t.Errorf("%+v", found)
	}
	e, err := Open("go")
	if err != nil || e.Backend == nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !f.Usable && f.Why == "" {
			t.Errorf("%s is not usable, and nobody says why", f.Name)
		}
	}
}

// Open takes every name of the list and Look looks for each, in the same order.
func TestTheListIsWhatIsLookedFor(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "auto cuda cpu xla-cpu go" {
		t.Errorf("engines %s", got)
	}
	for _, e := range All {
		if err := CheckName(e.Name); err != nil || e.About == "" {
			t.Errorf("%+v: %v", e, err)
		}
	}
	var found []string
	for _, f := range Look() {
		found = append(found, f.Name)
	}
	if got := slices.Compact(found); !slices.Equal(got, Names()[1:]) { // several plugins may be there
		t.Errorf("looked for %v, want %v", got, Names()[1:])
	}
}

func TestEnginesThatAreNotThereAreRefusedInOneLine(t *testing.T) {
	for name, want := range map[string]string{"tpu": "choose auto", "/nowhere/plugin.so": "plugin"} {
		_, err := Open(name)
		if err != nil && want == "plugin" && strings.Contains(err.Error(), "without cgo") {
			want = "without cgo" // no C compiler when this was built
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, f := range Look() {
		if f.Name == "cuda" && f.Usable {
			return
		}
	}
	if _, err := Open("cuda"); err == nil || !strings.Contains(err.Error(), `no engine "cuda"`) {
		t.Errorf("cuda: %v", err)
	}
}

func TestPanicsOfGraphBuildingBecomeErrors(t *testing.T) {
	if err := Try(func() error { exceptions.Panicf("bad shape"); return nil }); err == nil ||
		!strings.Contains(err.Error(), "bad shape") {
		t.Errorf("error %v", err)
	}
	mine := errors.New("mine")
	if err := Try(func() error { return mine }); err != mine {
		t.Errorf("error %v", err)
	}
}

// Whatever graph building or an engine throws is an error of one line; a bug's stack is there for who asks.
func TestAnyPanicBecomesAnErrorOfOneLine(t *testing.T) {
	var none []int
	for want, f := range map[string]func(){
		"invalid argument to Int32N": func() { panic("invalid argument to Int32N") },
		"index out of range":         func() { _ = none[len(none)] },
		"7":                          func() { panic(7) },
	} {
		err := Try(func() error { f(); return nil })
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(fmt.Sprintf("%v", err), "\n") ||
			fmt.Sprintf("%v", err) != err.Error() {
			t.Errorf("%s: error %v", want, err)
		}
		if !strings.Contains(fmt.Sprintf("%+v", err), "engine_test.go") {
			t.Errorf("%s: no stack in %+v", want, err)
		}
	}
}
