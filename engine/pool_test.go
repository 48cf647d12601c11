package engine

import (
	"strings"
	"sync"
	"testing"
)

// Whoever asks at the same time, under whatever name, gets the one engine that was opened.
func TestAPoolOpensEachEngineOnce(t *testing.T) {
	var p Pool
	var all sync.WaitGroup
	got := make([]*Engine, 16)
	for i := range got {
		all.Go(func() {
			e, err := p.Open([]string{CPU, Go}[i%2])
			if err != nil {
				t.Error(err)
			}
			got[i] = e
		})
	}
	all.Wait()
	for i, e := range got {
		if e == nil || e != got[i%2] || e.Name != []string{CPU, Go}[i%2] {
			t.Fatalf("engine %d is %+v, the first was %+v", i, e, got[i%2])
		}
	}
	if got[0].Backend == got[1].Backend {
		t.Error("cpu and go are one")
	}
	if _, err := p.Open("tpu"); err == nil || !strings.Contains(err.Error(), "choose auto") {
		t.Errorf("tpu: %v", err)
	}
}

// What auto found is what the name gives, in either order, with one backend; what auto passed over stays its own.
func TestAPoolSharesWhatAutoFound(t *testing.T) {
	found, err := Open(Auto)
	if err != nil {
		t.Fatal(err)
	}
	found.Backend.Finalize() // a GPU's memory is free again
	for _, order := range [][2]string{{"", "named"}, {"named", ""}} {
		var p Pool
		open := map[string]*Engine{}
		for _, as := range order {
			name := as
			if as == "named" {
				name = found.Name
			}
			if open[as], err = p.Open(name); err != nil {
				t.Fatal(err)
			}
		}
		if open[""].Backend != open["named"].Backend || open["named"].Passed != nil {
			t.Errorf("%v: auto is %+v, the name gives %+v", order, open[""], open["named"])
		}
		if again, err := p.Open(Auto); err != nil || again != open[""] {
			t.Errorf("%v: auto again is %+v, %v", order, again, err)
		}
		open[""].Backend.Finalize()
	}
}

// Lanes of what is no GPU are one engine.
func TestLanesOfACPUAreOneEngine(t *testing.T) {
	var p Pool
	one, err := p.Lane(0, 2).Open(CPU)
	if err != nil {
		t.Fatal(err)
	}
	two, err := p.Lane(1, 2).Open(CPU)
	if err != nil || one.Backend != two.Backend {
		t.Errorf("two engines, %v", err)
	}
	if whole, err := p.Lane(0, 1).Open(CPU); err != nil || whole.Backend != one.Backend {
		t.Errorf("another engine without lanes, %v", err)
	}
}
