package paper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/internal/app/sweep"
)

// reproduction is one of the paper's tables of networks as a command: a sweep with values of its own.
type reproduction struct {
	name    string // of the command and of its sweep file
	report  string // the name of its report
	resume  string // the folder to resume, "" for a new one
	runs    string
	dryRun  bool
	options sweep.Options
	plan    func(version string) (*sweep.Plan, error)
}

// check returns the first thing wrong with the settings.
func (r reproduction) check() error {
	if err := engine.CheckName(r.options.Engine); err != nil {
		return err
	}
	if err := r.options.Check(); err != nil {
		return err
	}
	if r.resume != "" {
		return nil // its settings are in its folder
	}
	_, err := r.plan("")
	return err
}

// do trains what is not done yet and writes the report.
func (r reproduction) do(ctx context.Context, env *command.Env) (command.Result, error) {
	if r.resume == "" {
		plan, err := r.plan(env.Version)
		if err != nil {
			return nil, err
		}
		if err := command.CheckFolder("--runs", r.runs); err != nil {
			return nil, err
		}
		dir := r.folder()
		sweep.Announce(ctx, env, plan, dir, r.options, r.runs)
		if r.dryRun {
			return sweep.DryRun(plan), nil
		}
		return sweep.RunPlan(ctx, env, plan, dir, r.options, Library())
	}
	plan, err := sweep.ReadPlan(r.resume)
	if err == nil && plan.File.Report != r.report {
		err = fmt.Errorf("%s: not a folder of \"bregman reproduce %s\"; resume it with: bregman sweep resume %s", r.resume,
			r.name, settings.Quote(r.resume))
	}
	if err != nil {
		return nil, fmt.Errorf("--resume %w", err)
	}
	return sweep.RunPlan(ctx, env, plan, r.resume, r.options, Library())
}

// folder returns a new folder, named by the time.
func (r reproduction) folder() string {
	base := filepath.Join(r.runs, time.Now().Format("20060102-150405")+"-reproduce-"+r.name)
	dir := base
	for k := 2; ; k++ {
		if _, err := os.Lstat(dir); err != nil {
			return dir
		}
		dir = fmt.Sprintf("%s-%d", base, k)
	}
}

// file is the built-in sweep file with these networks, p and rates, and other overrides.
func (r reproduction) file(models []string, p []float64, rates []settings.Rate, overrides ...any) (*sweep.File, error) {
	if len(models) == 0 || len(p) == 0 || len(rates) == 0 {
		return nil, settings.Errorf("models", "--models, --p and --lr: name at least one of each")
	}
	for i, lr := range rates {
		if slices.Contains(rates[:i], lr) {
			return nil, settings.Errorf("lr", "--lr: %v is listed twice; --trials sets the number of runs of each", lr)
		}
	}
	all := []string{"model=" + list(models), "p=" + list(p)}
	for k := 0; k+1 < len(overrides); k += 2 {
		all = append(all, fmt.Sprint(overrides[k])+"="+fmt.Sprint(overrides[k+1]))
	}
	return sweep.ReadFile(r.name+".toml", Sweeps()[r.name], all)
}

// variant is a table of its own: a learning rate, a decay, the adaptive variant, or units.
type variant struct {
	lr              settings.Rate
	decay, adaptive float64
	unit            string
}

// setVariants makes each variant a table of the sweep.
func setVariants(f *sweep.File, all []variant) {
	values := map[string][]any{} // by setting: its value in each table
	used := map[string]bool{"lr": true}
	for _, v := range all {
		unit := v.unit
		if unit == "" {
			unit = "one"
		}
		for key, value := range map[string]any{"lr": v.lr.String(), "weight_decay": v.decay, "adaptive": v.adaptive,
			"unit": unit} {
			values[key] = append(values[key], value)
		}
		used["weight_decay"] = used["weight_decay"] || v.decay != 0
		used["adaptive"] = used["adaptive"] || v.adaptive != 0
		used["unit"] = used["unit"] || unit != "one"
	}
	for _, key := range []string{"lr", "unit", "weight_decay", "adaptive"} { // as titles name them
		switch {
		case used[key] && len(all) == 1:
			f.Set("settings", key, values[key][0])
		case used[key]:
			f.Set("zip", key, values[key])
		}
	}
}

// list writes values as flags and overrides take them.
func list(v any) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ",") }
