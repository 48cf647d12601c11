package pages

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/trials"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// run writes a run folder of a fit with three points.
func run(t *testing.T, name string, p float64, seed uint64, last float64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	r, err := runlog.CreateAt(dir, runlog.Info{Command: "fit", Seed: seed, Data: "r2:1", Engine: "go",
		Settings: map[string]any{"data": "r2", "p": p, "seed": seed, "runs": dir}})
	if err != nil {
		t.Fatal(err)
	}
	for k, loss := range []float64{1, 0.5, last} {
		r.Append(map[string]any{"step": math.Pow(10, float64(k)), "loss": loss})
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readAll(t *testing.T, dirs ...string) []*trials.Run {
	t.Helper()
	var out []*trials.Run
	for _, d := range dirs {
		f, err := runlog.OpenFolder(d)
		if err != nil {
			t.Fatal(err)
		}
		r, err := trials.Read(f, filepath.Base(d))
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestRunsThatDifferInTheirSeedAreTrialsOfOneGroup(t *testing.T) {
	runs := readAll(t, run(t, "a", 3, 1, 0.1), run(t, "b", 2, 1, 0.2), run(t, "c", 3, 2, 0.3))
	groups := trials.Groups(runs)
	if len(groups) != 2 || groups[0].Name != "p = 2" || len(groups[1].Curves) != 2 {
		t.Fatalf("%+v", groups)
	}
	b := groups[1].Band("loss")
	if n := len(b.X); n != 3 || math.Abs(b.Mean[2]-0.2) > 1e-15 || math.Abs(b.High[2]-0.2-0.1*math.Sqrt2) > 1e-15 {
		t.Errorf("%+v", b)
	}
	d := trials.Differences(runs)
	if len(d) != 2 || d[0].Name != "p" || d[1].Name != "seed" || strings.Join(d[0].Values, " ") != "3 2 3" {
		t.Errorf("differences %+v", d)
	}
}

// The same seed and settings give the same run: counting it twice would make the deviation too small.
func TestASeedCountsOnceInAMean(t *testing.T) {
	twice := []string{run(t, "a", 3, 1, 0.1), run(t, "again", 3, 1, 0.5)}
	g := trials.Groups(readAll(t, twice...))[0]
	if b := g.Band("loss"); len(g.Curves) != 2 || len(g.Trials()) != 1 || b.Mean[2] != 0.1 || b.High[2] != b.Low[2] {
		t.Errorf("%d trials of %d runs, %+v", len(g.Trials()), len(g.Curves), b)
	}
	if f, _ := Figure([]*trials.Group{g}, "loss"); f.Series[0].Low != nil {
		t.Error("one trial has a band")
	}
	g = trials.Groups(readAll(t, append(twice, run(t, "b", 3, 2, 0.3))...))[0]
	if b := g.Band("loss"); len(g.Trials()) != 2 || math.Abs(b.Mean[2]-0.2) > 1e-15 {
		t.Errorf("%d trials, %+v", len(g.Trials()), b)
	}
	if cell := FinalTables([]*trials.Group{g})[0].Rows[0][1].Text; cell != "0.20 ± 0.10 (n = 2)" {
		t.Errorf("the table says %s", cell)
	}
	p, err := NewPage(nil, readAll(t, twice...))
	if err != nil {
		t.Fatal(err)
	}
	want := "2 runs, different seeds among them: 1. Of each seed only the first run counts."
	if !strings.Contains(string(p.Bytes()), want) {
		t.Errorf("the page lacks %q", want)
	}
}

func TestARunThatEndsBeforeItsStartHasNoDuration(t *testing.T) {
	start := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	for shift, want := range map[time.Duration]string{-time.Hour: "NaN", 0: "0", 90 * time.Second: "90"} {
		r := &trials.Run{Info: runlog.Info{Started: start, Finished: start.Add(shift)}}
		if got := fmt.Sprint(r.Seconds()); got != want {
			t.Errorf("an end %v after the start: %s seconds, want %s", shift, got, want)
		}
	}
}

// A run that is not done is in no mean, whatever its run.json says.
func TestUnfinishedRunsAreNoTrials(t *testing.T) {
	dirs := []string{run(t, "a", 3, 1, 0.1), run(t, "b", 3, 2, 0.3), run(t, "c", 3, 3, 5), run(t, "d", 3, 4, 7)}
	for k, status := range map[int]string{2: runlog.Running, 3: runlog.Failed} { // no process writes c
		path := filepath.Join(dirs[k], "run.json")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Replace(data, []byte(`"done"`), []byte(`"`+status+`"`), 1), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	runs := readAll(t, dirs...)
	if runs[2].Status != runlog.Killed {
		t.Errorf("status %q of a run without a process", runs[2].Status)
	}
	groups := trials.Groups(runs)
	if len(groups) != 3 || groups[0].Name != "p = 3" || len(groups[0].Curves) != 2 ||
		groups[1].Name != "p = 3, seed 3, killed" || groups[2].Name != "p = 3, seed 4, failed" {
		for _, g := range groups {
			t.Errorf("group %q of %d", g.Name, len(g.Curves))
		}
		t.FailNow()
	}
	if mean := groups[0].Band("loss").Mean; mean[len(mean)-1] != 0.2 {
		t.Errorf("mean %v", mean)
	}
	p, err := NewPage(nil, runs)
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"0.1", "0.3", "5", "7", "killed", "failed"} { // every run's own number and status
		if !strings.Contains(string(p.Bytes()), "<td>"+own+"</td>") {
			t.Errorf("the page lacks %s", own)
		}
	}
}

// network writes a run folder of a network with two epochs.
func network(t *testing.T, p float64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), fmt.Sprintf("net-p%v", p))
	r, err := runlog.CreateAt(dir, runlog.Info{Command: "train", Data: "cifar10", Engine: "cpu",
		Settings: map[string]any{"model": "resnet18", "data": "cifar10", "p": []float64{p}}})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		r.Append(map[string]any{"epoch": k + 1, "loss": 1.0, "test_accuracy": 0.9, "norm_1": 12360.0, "norm": 2.0,
			"margin_low": -0.5, "margin_median": 0.5, "norm_2": 3.0, "norm_inf": 1.0, "divergence_start": 3.0, "elapsed": 1.0,
			"sizes": runlog.Sizes{Below: 2, From: -2 + float64(k)/2, Counts: []int{5, 3}}})
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

// On ResNet-18 the paper marks p = 2, 3 and 6 as best. A single row is not the best of anything.
func TestThePapersTiesAreKept(t *testing.T) {
	for _, c := range []struct{ ps, bold []float64 }{{[]float64{1.1, 2, 3}, []float64{2, 3}}, {[]float64{2}, nil}} {
		var dirs []string
		for _, p := range c.ps {
			dirs = append(dirs, network(t, p))
		}
		page, err := NewPage(nil, readAll(t, dirs...))
		if err != nil {
			t.Fatal(err)
		}
		var bold []float64
		for i, row := range page.paperAccuracy().Rows {
			if row[2].Best {
				bold = append(bold, c.ps[i])
			}
		}
		if !slices.Equal(bold, c.bold) {
			t.Errorf("of p = %v, %v are bold in the paper's column, want %v", c.ps, bold, c.bold)
		}
	}
}

func TestTheGeometryOfNetworksIsReportedAndExported(t *testing.T) {
	runs := readAll(t, network(t, 2), network(t, 3))
	p, err := NewPage(nil, runs)
	if err != nil {
		t.Fatal(err)
	}
	html := string(p.Bytes())
	for _, want := range []string{"geometry", "1-norm", "12360", "divergence from start", "The weights over time",
		"Output margin, 10 %", "What the paper says", "93.90 ± 0.14"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(html, "elapsed") {
		t.Error("a clock is drawn")
	}
	if got := PaperSays(runs[1]); !strings.Contains(got, "94.01 ± 0.13 % test accuracy") {
		t.Errorf("the paper says %q", got)
	}
	if got := PaperSays(readAll(t, run(t, "a", 3, 1, 0.1))[0]); !strings.Contains(got, "‖w‖ₚ grows as log t") {
		t.Errorf("the paper says %q", got)
	}
	var b bytes.Buffer
	if err := trials.Write(&b, runs[0].Log, "csv"); err != nil ||
		!strings.HasSuffix(strings.SplitN(b.String(), "\n", 2)[0], ",sizes_0,sizes_0.25,sizes_0.353553,sizes_0.5") ||
		!strings.Contains(b.String(), ",2,5,3,0\n") || !strings.Contains(b.String(), ",2,0,5,3\n") {
		t.Errorf("%s, %v", b.String(), err)
	}
	b.Reset()
	if err := trials.Write(&b, runs[0].Log, "npz"); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); !strings.HasSuffix(got, "sizes.npy sizes_edges.npy") {
		t.Errorf("files %s", got)
	}
}

// The lines of verify, of a sweep and of a reproduction are results with names; their exports keep these.
func TestResultsAreExportedWithTheirNames(t *testing.T) {
	var l runlog.Log
	text := `{"name":"Euler's identity","measured":1e-15,"pass":true}
{"name":"Homogeneity","measured":2e-15,"pass":true}
{"run":"p2-s1-ab","seed":1,"settings":{"p":"2"},"result":{"p":2,"test_accuracy":0.9,"run":"x"}}
`
	if err := l.Read(strings.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := trials.Write(&b, &l, "csv"); err != nil ||
		b.String() != "curve,name,p,measured,test_accuracy\n0,Euler's "+
			"identity,,1e-15,\n1,Homogeneity,,2e-15,\n2,\"p2-s1-ab, seed 1\",2,,0.9\n" {
		t.Errorf("%s, %v", b.String(), err)
	}
	b.Reset()
	if err := trials.Write(&b, &l, "npz"); err != nil || !bytes.Contains(b.Bytes(), []byte("name.npy")) {
		t.Error(err)
	}
}

// perform does a command as the command line does.
func perform(t *testing.T, c command.Command, out, said io.Writer) error {
	t.Helper()
	c, err := command.Ready(c)
	if err != nil {
		return err
	}
	return command.Run(t.Context(), &command.Env{Observer: command.Lines(said)}, c, out)
}

func TestTheReportHoldsWhatItPromises(t *testing.T) {
	out := t.TempDir()
	cmd := Report{Runs: []string{run(t, "a", 3, 1, 0.1), run(t, "b<script>", 2, 1, 0.2), run(t, "c", 3, 2, 0.3)},
		Out: filepath.Join(out, "r.html"), Tables: filepath.Join(out, "t")}
	var stdout, stderr bytes.Buffer
	if err := perform(t, &cmd, &stdout, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	html, _ := os.ReadFile(cmd.Out)
	for _, want := range []string{"Settings that differ", "Training loss", "0.20 ± 0.10 (n = 2)", "b&lt;script&gt;",
		"‖w‖ₚ grows as log t", "toprule"} {
		if !bytes.Contains(html, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "src=", "@import"} {
		if bytes.Contains(html, []byte(bad)) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, name := range []string{"final_1.tex", "final_1.csv", "final_1.md", "curves_1.svg", "curves_1.png"} {
		if _, err := os.Stat(filepath.Join(cmd.Tables, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestAFolderThatIsNoRunIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := perform(t, &Report{Runs: []string{dir}, Out: "-"}, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "no run.json") {
		t.Errorf("error %v", err)
	}
	if err := perform(t, &trials.Export{Folders: []string{dir}, To: "csv"}, io.Discard, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "no metrics.jsonl") {
		t.Errorf("error %v", err)
	}
}

// What a reader must know stands before the numbers: skipped folders, runs with warnings, duplicate seeds. A folder
// named twice counts once.
func TestThePageSaysWhatToKnowBeforeComparing(t *testing.T) {
	var out, said bytes.Buffer
	a, b, bad := network(t, 2), network(t, 2), t.TempDir()
	if err := runlog.WriteFile(filepath.Join(b, "tables", "result.json"),
		[]byte(`{"test_accuracy": 0.9, "warning": "in epoch 6 …"}`)); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "report.html")
	if err := perform(t, &Report{Runs: []string{a, bad, b, a + "/"}, Out: page}, &out, &said); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in epoch 6 …", "skipped: ", "2 runs, different seeds among them: 1"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(said.String(), "skipped: ") || !strings.Contains(said.String(), "in epoch 6 …") ||
		!strings.HasPrefix(out.String(), "2 runs in ") {
		t.Errorf("%s%s", said.String(), out.String())
	}
}

// Networks that were pruned and rounded are compared in that, too, row by row of what they differ in; settings that are
// off are in no name.
func TestPruningAndRoundingAreCompared(t *testing.T) {
	var dirs []string
	for k, decay := range []any{"", 5e-4, 5e-4, 0., 0.} {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("n", k))
		r, err := runlog.CreateAt(dir, runlog.Info{Command: "train", Seed: uint64(k), Data: "cifar10", Engine: "go",
			Settings: map[string]any{"model": "cnn", "p": 3, "seed": k, "weight_decay": decay}})
		if err != nil {
			t.Fatal(err)
		}
		if k != 4 { // the last has no curves: the study is read all the same
			r.Append(map[string]any{"epoch": 1, "loss": 0.5})
		}
		pruned := []train.Level{{At: 0, Accuracy: 0.9}, {At: 0.5, Accuracy: 0.1 * float64(k+1)}}
		study := train.Study{P: 3, Accuracy: 0.9, PrunedEach: pruned, PrunedAll: pruned,
			Rounded:   []train.Level{{At: 8, Accuracy: 0.9}},
			Histogram: train.Histogram{Limit: 1, Share: []float64{0.5, 0.5}}, ScaledHistogram: train.Histogram{Limit: 2,
				Share: []float64{0.5, 0.5}}}
		if k == 2 { // made at other levels: it counts in no mean of the others
			study.PrunedEach = study.PrunedEach[:1]
		}
		if k == 1 || k == 4 { // the others are of an older version: they have one scale per tensor, and old statistics
			again := 0.85
			study.RoundedChannels = []train.Level{{At: 8, Accuracy: 0.88, Recalibrated: &again}}
		}
		b, err := json.Marshal(study)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.WriteFile("tables/study.json", b), r.Finish(nil, false)); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	p, err := NewPage(nil, readAll(t, dirs...))
	if err != nil {
		t.Fatal(err)
	}
	html := string(p.Bytes())
	for _, want := range []string{"Pruning and rounding",
		`<th scope="row">p = 3, weight decay 0.0005</th><td>1</td><td>90.00</td><td>20.00</td>`,
		`<th scope="row">p = 3</th><td>2</td><td>90.00 ± 0.00</td><td>25.00 ± 15.00</td>`, "8 bits",
		`<th scope="row">n4</th><td>1</td><td>90.00</td><td>50.00</td>`, "skipped: n2.", "Rounded: a scale per channel",
		`>n4</th><td>90.00</td><td>88.00</td>`,
		`Rounded: a scale per channel, statistics recomputed`, `>n4</th><td>–</td><td>85.00</td>`,
		"The same with the batch-norm statistics recomputed"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(html, ">p = 3, weight decay 0.0005</th><td>90.00</td><td>88.00</td>") ||
		strings.Contains(html, ">p = 3</th><td>90.00</td><td>88.00</td>") {
		t.Error("a mean over trials that not all have the number")
	}
}

// Whatever is in a run folder, the rest is compared.
func TestDamagedRunsAreComparedAsFarAsTheyGo(t *testing.T) {
	dir := run(t, "a", 3, 1, 0.1)
	os.WriteFile(filepath.Join(dir, "metrics.jsonl"),
		[]byte("{\"step\":1,\"loss\":1}\nrubbish\n{\"step\":2,\"loss\":\"x\",\"漢字\":4}\n"), 0o666)
	os.WriteFile(filepath.Join(dir, "model.json"), []byte("{"), 0o666)
	os.MkdirAll(filepath.Join(dir, "tables"), 0o777)
	for _, study := range []string{"[]", "{}", `{"histogram":{"share":[]},"scaled_histogram":{"limit":0,"share":[1]}}`,
		`{"histogram":{"limit":0,"share":[1]},"scaled_histogram":{"limit":0,"share":[0]}}`} {
		os.WriteFile(filepath.Join(dir, "tables", "study.json"), []byte(study), 0o666)
		p, err := NewPage(nil, readAll(t, dir))
		if err != nil || !strings.Contains(string(p.Bytes()), "line 2 is not a JSON object") {
			t.Errorf("%s: %v", study, err)
		}
	}
}

func TestReadsAThousandTrials(t *testing.T) {
	var l []*trials.Run
	for k := range 1000 {
		log := &runlog.Log{}
		text := fmt.Sprintf("{\"step\":1,\"loss\":%d}\n", k)
		log.Read(strings.NewReader(text), int64(len(text)))
		l = append(l, &trials.Run{ID: fmt.Sprint(k), Status: runlog.Done, Log: log, Info: runlog.Info{Seed: uint64(k)},
			Settings: map[string]any{"p": 2.0, "seed": float64(k)}})
	}
	if g := trials.Groups(l); len(g) != 1 || g[0].Band("loss").N[0] != 1000 {
		t.Errorf("%d groups", len(g))
	}
}

func TestAReportIntoAFolderIsRefusedAsUsage(t *testing.T) {
	out := t.TempDir()
	_, err := command.Ready(&Report{Runs: []string{run(t, "a", 3, 1, 0.1)}, Out: out})
	var usage *command.UsageError // exit status 2
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "is a folder") ||
		!strings.Contains(err.Error(), filepath.Join(out, "report.html")) {
		t.Errorf("%v", err)
	}
}

// scaled writes a run folder of a fit whose model is scaled to margin 1 after the curve's end.
func scaled(t *testing.T, name string, seed uint64, result map[string]any) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	r, err := runlog.CreateAt(dir, runlog.Info{Command: "fit", Seed: seed, Data: "r100:1", Engine: "go",
		Settings: map[string]any{"data": "r100", "p": 3.0, "seed": seed}})
	if err != nil {
		t.Fatal(err)
	}
	r.Append(map[string]any{"step": 1, "loss": 0.5, "margin": 1.0, "norm": 1.0, "gap": 1.0})
	r.Append(map[string]any{"step": 9, "loss": 3.797e-113, "margin": 2.3, "norm": 148.6, "gap": 2.913e-6})
	if result != nil {
		if err := r.WriteJSON("tables/result.json", result); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
	return dir
}

// memory takes the files of a page.
type memory map[string]string

func (m memory) Save(name string, data []byte) { m[name] = string(data) }

// The curve of an accelerated fit ends at weights that are not those of its model: one table has numbers of one of
// them.
func TestTablesOfFitsHaveTheNumbersOfTheModelOrOfTheCurveNotBoth(t *testing.T) {
	model := map[string]any{"loss": 0.3673, "margin": 2.3, "norm": 0.4278, "gap": nil, "train_accuracy": 1.0}
	tables := func(dirs ...string) (runs, final string) {
		saved := memory{}
		if _, err := NewPage(saved, readAll(t, dirs...)); err != nil {
			t.Fatal(err)
		}
		runs, final = saved["tables/runs.md"], saved["tables/final_1.md"]
		return runs, final
	}
	runs, final := tables(scaled(t, "a", 1, model), scaled(t, "b", 2, model))
	for name, text := range map[string]string{"the runs": runs, "final numbers": final} {
		if !strings.Contains(text, "0.3673") || strings.Contains(text, "e-113") || strings.Contains(text, "148.6") {
			t.Errorf("%s are not those of the models:\n%s", name, text)
		}
		if strings.Contains(text, "gap") || strings.Contains(text, "2.913") { // the curve's is that of an objective
			t.Errorf("%s have a gap that the result does not have:\n%s", name, text)
		}
	}
	if !strings.Contains(final, "0.4278") || !strings.Contains(final, "scaled to margin 1") {
		t.Errorf("final numbers:\n%s", final)
	}
	_, final = tables(scaled(t, "a", 1, model), scaled(t, "b", 2, nil))
	if strings.Contains(final, "0.3673") || strings.Contains(final, "0.4278") || !strings.Contains(final, "148.6") ||
		!strings.Contains(final, "The end of each curve") {
		t.Errorf("one run has no result, so all numbers are the curves':\n%s", final)
	}
}
