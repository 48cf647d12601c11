package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestARunFolderIsReadBack(t *testing.T) {
	dir, err := write(t.Context(), t.TempDir(), 200)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := show(&b, dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"root, done", "200 points", "step = 200", "x = 1.41421"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// A run that is stopped says so, and keeps what it wrote.
func TestAnInterruptedRunSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir, err := write(ctx, t.TempDir(), 200)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := show(&b, dir); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "interrupted") || !strings.Contains(b.String(), "step = 1\n") {
		t.Error(b.String())
	}
}
