package web

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/mirror"
)

// A run folder has only the last weights of a fit. The trajectory to them is computed again, for built-in data sets: a
// million steps in R² take a tenth of a second.

// replayable reports whether a fit can be computed again: by its data alone, so that no file is named.
func replayable(f linearmodel.Fit) bool {
	name, _, _ := strings.Cut(f.Data, ":")
	return slices.Contains([]string{"r2", "r2var", "r100"}, name) && !f.Bias && f.Loss != "square" && len(f.P) == 1 &&
		f.CV == 0
}

// replays caches the newest few.
type replays struct {
	mu   sync.Mutex
	made map[string]*fit.Trajectory
	keys []string
}

// replayTime is how long one may take.
const replayTime = 15 * time.Second

func (r *replays) get(ctx context.Context, f linearmodel.Fit, lr, soft float64, steps int) (*fit.Trajectory, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintln(string(data), lr, soft, steps)
	r.mu.Lock()
	defer r.mu.Unlock() // one at a time: each keeps a core busy
	if made := r.made[key]; made != nil {
		return made, nil
	}
	ctx, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	made, err := f.Replay(ctx, lr, soft, steps)
	if err != nil {
		return nil, err
	}
	if r.made == nil {
		r.made = map[string]*fit.Trajectory{}
	}
	r.made[key] = made
	if r.keys = append(r.keys, key); len(r.keys) > 16 {
		delete(r.made, r.keys[0])
		r.keys = r.keys[1:]
	}
	return made, nil
}

// heat is how sizes of weights are spread, over time.
type heat struct {
	Over  string    `json:"over"` // step or epoch
	At    numbers   `json:"at"`
	Limit float64   `json:"limit"` // the right end of the last bin
	Label string    `json:"label"`
	Share []numbers `json:"share"` // at each time, in each bin
}

// getWeights returns the trajectory of a fit's weights: in R² the weights themselves, else histograms of them.
func (s *Server) getWeights(r *http.Request) (any, error) {
	id := r.URL.Query().Get("id")
	run, err := s.head(id)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if fit, ok := run.Fit(); ok && replayable(fit) {
		steps, lr, soft := int(fit.Steps), run.Number("lr"), run.Number("soft")
		if v := run.Number("steps"); v > 0 {
			steps = int(v)
		} else if log, err := s.logs.get(id); err == nil { // still running: up to its last point
			log.mu.RLock()
			run.Log = log.log
			if v := run.Last("step"); v > 0 {
				steps = int(v)
			}
			log.mu.RUnlock()
		}
		if math.IsNaN(lr) {
			lr = fit.LR
		}
		if math.IsNaN(soft) {
			soft = fit.Soft
		}
		replay, err := s.replays.get(r.Context(), fit, lr, soft, steps)
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		if err != nil {
			out["note"] = err.Error()
		} else {
			addTrajectory(out, replay, fit.P[0])
		}
	}
	return out, nil
}

// addTrajectory adds a replay to an answer.
func addTrajectory(out map[string]any, r *fit.Trajectory, p float64) {
	var step, margin, divergence, angle numbers
	for _, pt := range r.Points {
		step, margin = append(step, float64(pt.Step)), append(margin, pt.Margin)
		divergence, angle = append(divergence, pt.Divergence), append(angle, pt.Angle)
	}
	out["step"], out["margin"], out["divergence"], out["angle"], out["stopped"], out["p"] = step, margin, divergence,
		angle, r.Stopped, p
	if len(r.W[0]) == 2 {
		rows := func(v [][]float64) (out []numbers) {
			for _, x := range v {
				out = append(out, x)
			}
			return out
		}
		out["w"], out["x"], out["u"] = rows(r.W), rows(r.X), numbers(r.U)
		return
	}
	out["heat"] = spread(r, p)
}

// bins of a heat map.
const bins = 40

// spread is the histogram of |w|/‖w‖ₚ at each step.
func spread(r *fit.Trajectory, p float64) *heat {
	h := &heat{Over: "step", Label: "|w| / ‖w‖"}
	var sizes [][]float64
	for k, w := range r.W {
		norm := mirror.Norm(w, p)
		if !(norm > 0) || math.IsInf(norm, 0) {
			continue
		}
		row := make([]float64, len(w))
		for j, v := range w {
			row[j] = math.Abs(v) / norm
			h.Limit = max(h.Limit, row[j])
		}
		sizes, h.At = append(sizes, row), append(h.At, float64(r.Points[k].Step))
	}
	for _, row := range sizes {
		share := make(numbers, bins)
		for _, v := range row {
			share[min(bins-1, int(bins*v/h.Limit))] += 1 / float64(len(row))
		}
		h.Share = append(h.Share, share)
	}
	return h
}
