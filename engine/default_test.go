package engine_test

import (
	"fmt"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/bregman-ml/bregman/engine"
)

// A GoMLX program of one's own: a GPU if there is one, else our engine for CPUs.
func ExampleDefault() {
	backend, err := engine.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := graph.MustNewExec(backend, func(x *graph.Node) *graph.Node {
		return graph.MaxPool(graph.Reshape(x, 1, 4, 1)).Window(2).Done()
	})
	y, err := pool.Call1([]float32{1, 5, 2, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y.Value())
	// Output: [[[5] [3]]]
}

func TestTheDefaultIsWhatTheEnvironmentAsksFor(t *testing.T) {
	t.Setenv(compute.ConfigEnvVar, "go:ops_sequential")
	backend, err := engine.Default()
	if err != nil || backend.Name() == "cpu" {
		t.Errorf("%v, %v", backend, err)
	}
	t.Setenv(compute.ConfigEnvVar, "cpu:threads=3")
	if backend, err = engine.Default(); err != nil || backend.Name() != "cpu" {
		t.Errorf("%v, %v", backend, err)
	}
	t.Setenv(compute.ConfigEnvVar, "nothing")
	if _, err = engine.Default(); err == nil {
		t.Error("an engine that is not there was opened")
	}
}
