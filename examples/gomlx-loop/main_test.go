package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/looplog"
	"github.com/bregman-ml/bregman/runlog"
)

// Both networks learn, and one that is interrupted goes on from where it was.
func TestTheDigitsAreLearned(t *testing.T) {
	root := t.TempDir()
	for _, p := range []float64{2, 3} {
		accuracy, err := run(t.Context(), t.Output(), hyper{P: p, Rate: 0.1, Steps: 400}, looplog.Settings{Root: root})
		if err != nil || accuracy < 0.8 {
			t.Errorf("p = %v: %v, %v", p, accuracy, err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	endless := hyper{P: 3, Rate: 0.1, Steps: 1 << 20}
	_, err := run(ctx, t.Output(), endless, looplog.Settings{Root: filepath.Join(root, "cut")})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	runs, err := os.ReadDir(filepath.Join(root, "cut"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "cut", runs[0].Name())
	if info, err := runlog.ReadInfo(dir); err != nil || info.Status != runlog.Interrupted {
		t.Errorf("%+v, %v", info, err)
	}
	ctx, stop = context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := resumed(ctx, t.Output(), dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil || len(log) == 0 {
		t.Error(err)
	}
	if info, err := runlog.ReadInfo(dir); err != nil || len(info.Resumed) != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}
