package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/train"
)

// packedTiny are settings that train on a packed file in a moment.
func packedTiny(t *testing.T) Train {
	t.Helper()
	s := tiny(t)
	out := filepath.Join(t.TempDir(), "tiny.pack")
	var said bytes.Buffer
	p := &DataPack{Source: []string{s.Data}, Out: out, Size: 12, Side: images.ShortSide,
		Format: images.FormatJPEG, Quality: 90}
	if err := perform(t.Context(), p, new(bytes.Buffer), &said); err != nil {
		t.Fatalf("%v, %s", err, said.String())
	}
	s.Data = out
	return s
}

// Where pictures are makes no difference to a run, and each place is said. A streamed run says in every line of
// metrics.jsonl what limited it.
func TestTheFeedMakesNoDifferenceToARun(t *testing.T) {
	settings := packedTiny(t)
	var want string
	for _, feed := range []string{"resident", "streamed", "auto"} {
		s := settings
		s.Feed, s.Runs = feed, filepath.Join(t.TempDir(), "runs")
		r, err := do(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		said, dir := r.said.String(), r.answer(t).Runs[0].Run
		if want == "" {
			want = weightsOf(t, dir)
		} else if weightsOf(t, dir) != want {
			t.Errorf("%s: other weights", feed)
		}
		place := "of pictures are put on the cpu engine"
		if feed == "streamed" {
			place = "tiny.pack as they are needed"
		}
		if !strings.Contains(said, place) {
			t.Errorf("%s: said %s", feed, said)
		}
		b, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
			var l struct {
				Limit      string
				Waited     *float64
				Resolution int
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			if (l.Limit != "") != (feed == "streamed") || (l.Waited != nil) != (feed == "streamed") || l.Resolution != 32 ||
				l.Waited != nil && !(*l.Waited > 0 && *l.Waited <= 1) {
				t.Errorf("%s: %s", feed, line)
			}
		}
	}
}

func TestALimitThatIsNotTrainingIsShown(t *testing.T) {
	for limit, want := range map[string]string{train.LimitDecoding: ", waiting for decoding 25 % of the time",
		train.LimitDisk: ", waiting for disk 25 % of the time", train.LimitTraining: "", "": ""} {
		var b trainBars
		b.Epoch(train.Record{Epoch: train.Epoch{Limit: limit, Waited: 0.25, Rate: 100}})
		if !strings.HasSuffix(b.note, " 100 img/s"+want) {
			t.Errorf("%q: %q", limit, b.note)
		}
	}
}

// A run on a packed file that was interrupted, or killed after its newest checkpoint was damaged, ends with the weights
// of one that was not, also if its pictures are elsewhere now.
func TestAStoppedRunOnAPackEndsWithTheSameWeights(t *testing.T) {
	settings := packedTiny(t)
	settings.Epochs, settings.LR = 40, 0.1
	whole, err := do(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	want := weightsOf(t, whole.answer(t).Runs[0].Run)
	for _, c := range []struct {
		from, to string
		killed   bool
	}{{"streamed", "streamed", false}, {"streamed", "resident", true}, {"resident", "streamed", true}} {
		s := settings
		s.Feed, s.Runs = c.from, filepath.Join(t.TempDir(), "runs")
		dir, _ := stop(t, s)
		if c.killed {
			if err := os.Truncate(checkpoints(dir)[0], 1000); err != nil {
				t.Fatal(err)
			}
		}
		again, err := resume(t, dir, func(s *Train) { s.Feed = c.to })
		if err != nil {
			t.Fatal(err)
		}
		place := map[string]string{"streamed": "as they are needed", "resident": "are put on the cpu engine"}[c.to]
		if said := again.said.String(); !strings.Contains(said, place) || !strings.Contains(said, "resuming after epoch") {
			t.Errorf("%+v: said %s", c, said)
		}
		if weightsOf(t, dir) != want {
			t.Errorf("%+v: other weights", c)
		}
	}
}

// A run does not continue on a file that was packed differently.
func TestARunDoesNotContinueOnAnotherPack(t *testing.T) {
	settings := packedTiny(t)
	dir := broken(t, settings)
	source := picturesIn(t)
	if err := os.Remove(settings.Data); err != nil {
		t.Fatal(err)
	}
	p := &DataPack{Source: []string{source}, Out: settings.Data, Size: 10, Side: images.ShortSide,
		Format: images.FormatJPEG, Quality: 90}
	if err := perform(t.Context(), p, new(bytes.Buffer), new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, dir); err == nil || !strings.Contains(err.Error(), "the data have changed") {
		t.Errorf("error %v", err)
	}
}
