package compare

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/job"
	"github.com/bregman-ml/bregman/runlog"
)

// run makes a run folder of a fit with three points.
func run(t *testing.T, name string, p float64, seed uint64, last float64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	r, err := runlog.CreateAt(dir, runlog.Info{Command: "fit", Seed: seed, Data: "r2:1", Engine: "go", Settings: map[string]any{"data": "r2", "p": p, "seed": seed, "runs": dir}})
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

func readAll(t *testing.T, dirs ...string) []*Run {
	t.Helper()
	var out []*Run
	for _, d := range dirs {
		f, err := runlog.OpenFolder(d)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(f, filepath.Base(d))
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
	groups := Groups(runs)
	if len(groups) != 2 || groups[0].Name != "p = 2" || len(groups[1].Curves) != 2 {
		t.Fatalf("%+v", groups)
	}
	b := groups[1].Band("loss")
	if n := len(b.X); n != 3 || math.Abs(b.Mean[2]-0.2) > 1e-15 || math.Abs(b.High[2]-0.2-0.1*math.Sqrt2) > 1e-15 {
		t.Errorf("%+v", b)
	}
	d := Differences(runs)
	if len(d) != 2 || d[0].Name != "p" || d[1].Name != "seed" || strings.Join(d[0].Values, " ") != "3 2 3" {
		t.Errorf("differences %+v", d)
	}
}

func TestTheReportHoldsWhatItPromises(t *testing.T) {
	out := t.TempDir()
	cmd := Report{Runs: []string{run(t, "a", 3, 1, 0.1), run(t, "b<script>", 2, 1, 0.2), run(t, "c", 3, 2, 0.3)}, Out: filepath.Join(out, "r.html"), Tables: filepath.Join(out, "t")}
	var stdout, stderr bytes.Buffer
	if err := cmd.Run(t.Context(), &job.Console{Out: &stdout, Err: &stderr}); err != nil {
		t.Fatal(err, stderr.String())
	}
	html, _ := os.ReadFile(cmd.Out)
	for _, want := range []string{"Settings that differ", "Training loss", "0.2 ± 0.14", "b&lt;script&gt;", "1/log^(p−1) t", "toprule"} {
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
	con := &job.Console{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	dir := t.TempDir()
	if err := (&Report{Runs: []string{dir}, Out: "-"}).Run(t.Context(), con); err == nil || !strings.Contains(err.Error(), "no run.json") {
		t.Errorf("error %v", err)
	}
	if err := (&Export{Folder: dir, To: "csv"}).Run(t.Context(), con); err == nil || !strings.Contains(err.Error(), "no metrics.jsonl") {
		t.Errorf("error %v", err)
	}
}

func TestExports(t *testing.T) {
	var l runlog.Log
	text := "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":0.25,\"../x\":7}\n"
	if err := l.Read(strings.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, &l, "csv"); err != nil || b.String() != "step,loss,../x\n1,0.5,\n2,0.25,7\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	b.Reset()
	if err := Write(&b, &l, "npz"); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(z.File) != 3 || z.File[1].Name != "loss.npy" || z.File[2].Name != ".._x.npy" {
		t.Fatalf("%v, %v", z, err)
	}
	f, _ := z.File[1].Open()
	var npy bytes.Buffer
	npy.ReadFrom(f)
	raw := npy.Bytes()
	n := int(binary.LittleEndian.Uint16(raw[8:]))
	if (10+n)%64 != 0 || !strings.HasPrefix(string(raw[10:]), "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }") || len(raw) != 10+n+16 ||
		math.Float64frombits(binary.LittleEndian.Uint64(raw[10+n+8:])) != 0.25 {
		t.Errorf("%q", raw)
	}
	if err := Write(&b, &l, "xls"); err == nil {
		t.Error("xls was written")
	}
}

// Whatever is in a run folder, a comparison is made of the rest.
func TestDamagedRunsAreComparedAsFarAsTheyGo(t *testing.T) {
	dir := run(t, "a", 3, 1, 0.1)
	os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte("{\"step\":1,\"loss\":1}\nrubbish\n{\"step\":2,\"loss\":\"x\",\"漢字\":4}\n"), 0o666)
	os.WriteFile(filepath.Join(dir, "model.json"), []byte("{"), 0o666)
	os.MkdirAll(filepath.Join(dir, "tables"), 0o777)
	for _, study := range []string{"[]", "{}", `{"histogram":{"share":[]},"scaled_histogram":{"limit":0,"share":[1]}}`, `{"histogram":{"limit":0,"share":[1]},"scaled_histogram":{"limit":0,"share":[0]}}`} {
		os.WriteFile(filepath.Join(dir, "tables", "study.json"), []byte(study), 0o666)
		p, err := NewPage(readAll(t, dir))
		if err != nil || !strings.Contains(string(p.Bytes()), "line 2 is not a JSON object") {
			t.Errorf("%s: %v", study, err)
		}
	}
}

func TestReadsAThousandTrials(t *testing.T) {
	var l []*Run
	for k := range 1000 {
		log := &runlog.Log{}
		text := fmt.Sprintf("{\"step\":1,\"loss\":%d}\n", k)
		log.Read(strings.NewReader(text), int64(len(text)))
		l = append(l, &Run{ID: fmt.Sprint(k), Log: log, Settings: map[string]any{"p": 2.0, "seed": float64(k)}})
	}
	if g := Groups(l); len(g) != 1 || g[0].Band("loss").N[0] != 1000 {
		t.Errorf("%d groups", len(g))
	}
}
