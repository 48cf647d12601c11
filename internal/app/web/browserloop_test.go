package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"

	"github.com/bregman-ml/bregman/looplog"
	"github.com/bregman-ml/bregman/optim"
	"github.com/bregman-ml/bregman/runlog"
)

// sine is a trainer of GoMLX and its data, as a program of a user's has them.
func sine(t *testing.T) (*train.Trainer, train.Dataset) {
	t.Helper()
	backend, err := compute.NewWithConfig("go:ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	const n = 64
	x, y := make([]float32, n), make([]float32, n)
	for k := range n {
		x[k] = float32(k) / n
		y[k] = float32(math.Sin(6 * float64(x[k])))
	}
	data, err := dataset.InMemoryFromData(backend, "sine", []any{tensors.FromFlatDataAndDimensions(x, n, 1)},
		[]any{tensors.FromFlatDataAndDimensions(y, n, 1)})
	if err != nil {
		t.Fatal(err)
	}
	data.BatchSize(n, true).Infinite(true)
	network := func(scope *model.Scope, _ any, in []*graph.Node) []*graph.Node {
		h := graph.Tanh(layers.Dense(scope.In("hidden"), in[0], true, 16))
		return []*graph.Node{layers.Dense(scope.In("readout"), h, true, 1)}
	}
	return train.NewTrainer(backend, model.NewStore(), network, loss.MeanSquaredError,
		optim.Mirror().P(3).LearningRate(0.01).Done(), nil, nil), data
}

// The curve of a program with GoMLX's trainer grows in the page while it trains; the program is stopped, another one
// resumes the run, and the page has the rest.
func TestBrowserALoopOfGoMLXGrowsAndGoesOn(t *testing.T) {
	ctx := tab(t, 1300, 900)
	srv, h := newServer(t)
	follow := func(ctx context.Context, s looplog.Settings, steps int) error {
		trainer, data := sine(t)
		s.Root, s.Name, s.Every, s.Settings = srv.settings.Runs, "sine", 5, map[string]any{"p": 3, "steps": 400}
		run, err := looplog.Start(ctx, trainer, s)
		if err != nil {
			return err
		}
		run.Loop.OnStep("slowly", 0, func(*train.Loop, []*tensors.Tensor) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		_, err = run.Loop.RunToGlobalStep(data, steps)
		return run.Finish(err)
	}
	training, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- follow(training, looplog.Settings{}, 1<<30) }()
	ids := []string{}
	for deadline := time.Now().Add(time.Minute); len(ids) == 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		ids = runIDs(t, srv.settings.Runs)
	}
	if len(ids) != 1 {
		t.Fatalf("runs %v", ids)
	}
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id="+ids[0]))
	number := `Number([...document.querySelectorAll('dl.numbers div')].find(d => d.textContent.startsWith('step'))?.
		textContent.slice(4).replace(/\D/g, ''))`
	until(t, ctx, `[...document.querySelectorAll('dl.numbers div')].some(d => d.textContent.startsWith('step'))`)
	first := eval[float64](t, ctx, number)
	until(t, ctx, fmt.Sprintf("%s >= 50 && %s > %v", number, number, first))
	until(t, ctx, `document.body.textContent.includes('hidden/dense/weights')`)
	if now := eval[float64](t, ctx, number); now <= first {
		t.Errorf("step %v, then %v", first, now)
	}
	shot(t, ctx, "loop")
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	until(t, ctx, `document.querySelector('#state').innerText === 'interrupted'`)
	folder, err := runlog.OpenFolder(filepath.Join(srv.settings.Runs, ids[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	metrics, err := folder.Log()
	if err != nil {
		t.Fatal(err)
	}
	at := metrics.Curves[0].At("step", metrics.Curves[0].Rows-1)
	until(t, ctx, fmt.Sprintf(`%s === %v`, number, at))
	again := looplog.Settings{Resume: filepath.Join(srv.settings.Runs, ids[0])}
	if err := follow(t.Context(), again, int(at)+40); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.Navigate(h.URL+"/run?id="+ids[0]))
	until(t, ctx, `document.querySelector('#state').innerText === 'done'`)
	until(t, ctx, fmt.Sprintf(`%s === %v`, number, at+40))
	if text := eval[string](t, ctx, `document.body.textContent`); !strings.Contains(text, "Training loss") {
		t.Error(text)
	}
}
