// Command bregman-transformer trains a small transformer with GoMLX's own layers and trainer: two layers of width 128
// that predict the next character of a text, in windows of 64. The text is made here.
//
//	go run . -p 3 -steps 300
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/attention"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/looplog"
	"github.com/bregman-ml/bregman/optim"
)

// The network.
const (
	width  = 128
	heads  = 4
	depth  = 2
	window = 64 // characters
	batch  = 32
)

func main() {
	p := flag.Float64("p", 0, "geometry; 0: p = 2 and p = 3, one after the other")
	steps := flag.Int("steps", 300, "training steps")
	resume := flag.String("resume", "", "the run folder to go on with, whose -p and -steps are these")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	backend, err := engine.Default()
	if err != nil {
		log.Fatal(err)
	}
	geometries := []float64{2, 3}
	if *p != 0 {
		geometries = []float64{*p}
	}
	for _, p := range geometries {
		if _, err := run(ctx, os.Stdout, backend, p, *steps, looplog.Settings{Resume: *resume}); err != nil {
			log.Fatal(err)
		}
	}
}

// rate is what suits a p: p-GD moves a weight w at the rate η|w|^(2−p)/(p−1).
func rate(p float64) float64 {
	if p == 2 {
		return 0.05
	}
	return 0.003
}

// run trains the network and returns its loss, the mean over the last steps.
func run(ctx context.Context, out io.Writer, backend compute.Backend, p float64, steps int,
	s looplog.Settings) (float64, error) {
	text := newText(1)
	store := model.NewStore()
	store.SetParam("/"+model.ParamInitialSeed, int64(42))
	trainer := train.NewTrainer(backend, store, text.network, loss.SparseCategoricalCrossEntropyLogits,
		optim.Mirror().P(p).LearningRate(rate(p)).Momentum(0.9).Done(), nil, nil)
	var start time.Time
	var last []float64
	s.Name, s.Data = fmt.Sprintf("transformer-p%v", p), text.Name()
	s.Settings = map[string]any{"p": p, "lr": rate(p), "steps": steps}
	r, err := looplog.Start(ctx, trainer, s)
	if err != nil {
		return 0, err
	}
	r.Loop.OnStep("loss", 0, func(_ *train.Loop, metrics []*tensors.Tensor) error {
		if start.IsZero() {
			start = time.Now() // the first step compiles
		}
		last = append(last, float64(tensors.ToScalar[float32](metrics[0])))
		if n := len(last); n%100 == 0 {
			fmt.Fprintf(out, "p = %g, step %d: loss %.3f\n", p, n, mean(last[n-20:]))
		}
		return nil
	})
	_, err = r.Loop.RunToGlobalStep(text, steps)
	if err := r.Finish(err); err != nil {
		return 0, fmt.Errorf("%s: %w", r.Dir(), err)
	}
	result := mean(last[max(0, len(last)-20):])
	fmt.Fprintf(out, "p = %g: loss %.3f after %d steps of %.1f ms (a guess: %.3f); %s\n", p, result, steps,
		1e3*time.Since(start).Seconds()/float64(max(1, steps-1)), text.guess(), r.Dir())
	return result, nil
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// network maps characters [batch, window] to logits [batch, window, alphabet].
func (t *text) network(scope *model.Scope, _ any, inputs []*graph.Node) []*graph.Node {
	g := inputs[0].Graph()
	x := layers.Embedding(scope.In("characters"), graph.InsertAxes(inputs[0], -1), dtypes.Float32, len(t.alphabet), width)
	places := scope.In("places").VariableWithShape("embeddings", shapes.Make(dtypes.Float32, 1, window, width))
	x = graph.Add(x, places.NodeValue(g))
	for i := range depth {
		scope := scope.In("layer%d", i)
		y := norm.LayerNorm(scope.In("norm1"), x, -1).Done()
		y = attention.SelfAttention(scope.In("attention"), y, heads, width/heads).WithCausalMask(true).Done()
		x = graph.Add(x, y)
		y = norm.LayerNorm(scope.In("norm2"), x, -1).Done()
		y = activation.Gelu(layers.Dense(scope.In("wide"), y, true, 4*width))
		x = graph.Add(x, layers.Dense(scope.In("narrow"), y, true, width))
	}
	x = norm.LayerNorm(scope.In("norm"), x, -1).Done()
	return []*graph.Node{layers.Dense(scope.In("out"), x, true, len(t.alphabet))}
}

// text is sentences of made-up words, as a train.Dataset: windows that begin anywhere, and the next character of each.
type text struct {
	alphabet   []byte
	characters []int32 // numbers of the alphabet
	seed       uint64
}

// newText writes sentences such as "the grey fox saw a small bird near the old mill."
func newText(seed uint64) *text {
	parts := [][]string{{"the", "a", "one", "this"}, {"grey", "small", "old", "quick", "quiet"},
		{"fox", "bird", "mill", "river", "horse", "child"}, {"saw", "heard", "found", "left", "passed"},
		{"the", "a", "one", "this"}, {"red", "long", "young", "bright"}, {"tree", "road", "house", "boat", "stone"}}
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for b.Len() < 100_000 {
		for i, words := range parts {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[rng.IntN(len(words))])
		}
		b.WriteString(". ")
	}
	t := &text{seed: seed}
	t.alphabet = slices.Compact(slices.Sorted(slices.Values([]byte(b.String()))))
	for _, c := range []byte(b.String()) {
		i, _ := slices.BinarySearch(t.alphabet, c)
		t.characters = append(t.characters, int32(i))
	}
	return t
}

// guess is the loss of one who knows how often each character comes, and nothing else.
func (t *text) guess() float64 { return entropy(t.characters, len(t.alphabet)) }

// Name of the data set.
func (t *text) Name() string { return "sentences" }

// Iter yields batches without an end.
func (t *text) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		rng := rand.New(rand.NewPCG(t.seed, 2))
		for {
			var x, y []int32
			for range batch {
				at := rng.IntN(len(t.characters) - window)
				x = append(x, t.characters[at:at+window]...)
				y = append(y, t.characters[at+1:at+window+1]...)
			}
			b := train.Batch{Inputs: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(x, batch, window)},
				Labels: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(y, batch, window, 1)}}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// entropy of a sequence whose members come independently, in nats.
func entropy(x []int32, kinds int) float64 {
	count := make([]float64, kinds)
	for _, v := range x {
		count[v]++
	}
	h := 0.0
	for _, c := range count {
		if c > 0 {
			h -= c / float64(len(x)) * math.Log(c/float64(len(x)))
		}
	}
	return h
}
