package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// readPaths reads the points of a run of path, and the margins that they tend to.
func readPaths(f opened, info runlog.Info, loss string) (*linearmodel.Paths, error) {
	out := &linearmodel.Paths{Data: info.Data, Loss: loss}
	var limits linearmodel.PathMargins
	if err := f.ReadJSON(command.ResultFile, maxJSON, &limits); err != nil {
		return nil, fmt.Errorf("the largest margins: %w", err)
	}
	for _, m := range limits.Paths {
		out.Paths = append(out.Paths, linearmodel.PathResult{P: m.P, Margin: m.Margin})
	}
	err := runlog.ReadMetrics(f.dir, func(line json.RawMessage) error {
		var l struct {
			P float64
			linearmodel.PathPoint
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		for k := range out.Paths {
			if out.Paths[k].P == l.P {
				out.Paths[k].Points = append(out.Paths[k].Points, l.PathPoint)
			}
		}
		return nil
	})
	for _, p := range out.Paths {
		if len(p.Points) == 0 && err == nil {
			err = errors.New("a path without points")
		}
	}
	return out, err
}

// pathPage writes the page of a path.
func pathPage(f opened, info runlog.Info, files render.Files) error {
	var s linearmodel.Path
	if err := settingsOf(info, &s); err != nil {
		return err
	}
	out, err := readPaths(f, info, s.Loss)
	if err != nil || len(out.Paths) == 0 {
		return err
	}
	results := out.Paths
	doc := NewDocument(files, named(f, filepath.Base(info.Data)+": the regularisation path"),
		fmt.Sprintf("bregman path · %s loss · %s", s.Loss, when(info)))
	lead := pathLead(results)
	lead.unfinished(info, f.Status(info))
	lead.Put(doc)
	doc.Say("w̄(B) minimises the loss over ‖w‖ₚ ≤ B. For a loss with an exponential tail its direction tends to u, " +
		"the direction of largest ℓₚ margin; each point is " +
		"certified by the duality gap.")
	doc.AddTables(render.Named{Name: "end", Table: out.Table()})
	div := render.Figure{Title: "Divergence to the max-margin direction", X: "radius B", Y: "D(u, w/B)", LogX: true,
		LogY: true}
	mar := render.Figure{Title: "Margin over the best possible", X: "radius B", Y: "share of the maximum margin",
		LogX: true}
	loss := render.Figure{Title: "Loss", X: "radius B", Y: "mean loss", LogX: true, LogY: true}
	points := render.Table{Header: []string{"p", "B", "loss", "gap", "margin", "divergence", "angle"}}
	for _, r := range results {
		var b, d, m, l []float64
		for _, pt := range r.Points {
			b, d, m, l = append(b, pt.B), append(d, pt.Divergence), append(m, pt.Margin/r.Margin), append(l, pt.Loss)
			points.Rows = append(points.Rows, []render.Cell{render.Text("%v", r.P), render.Short(pt.B, 8),
				render.Short(pt.Loss, 8), render.Short(pt.Gap, 3),
				render.Short(pt.Margin, 8), render.Short(pt.Divergence, 8), render.Short(pt.Angle, 8)})
		}
		name, c := fmt.Sprintf("p = %v", r.P), render.Color(r.P)
		div.Series = append(div.Series, render.Series{Name: name, X: b, Y: d, Color: c})
		mar.Series = append(mar.Series, render.Series{Name: name, X: b, Y: m, Color: c})
		loss.Series = append(loss.Series, render.Series{Name: name, X: b, Y: l, Color: c})
	}
	least := 1.0
	for _, s := range mar.Series {
		least = min(least, slices.Min(s.Y))
	}
	mar.Min[1], mar.Max[1] = max(0, 1-1.1*(1-least)), 1+0.02*(1-max(0, least))
	mar.Min[0], mar.Max[0] = results[0].Points[0].B, results[0].Points[0].B
	for _, r := range results {
		mar.Min[0], mar.Max[0] = min(mar.Min[0], r.Points[0].B), max(mar.Max[0], r.Points[len(r.Points)-1].B)
	}
	if err := doc.AddFigure("path", "(1) How far the direction is from the max-margin direction. (2) Its margin as a "+
		"share of the best. (3) The loss.", div, mar, loss); err != nil {
		return err
	}
	doc.SaveTable("points", points)
	doc.Save()
	return nil
}
