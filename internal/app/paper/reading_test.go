package paper

import (
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// The default reading is 0.1 for each 128 images, at every number of epochs; a rate that is set wins.
func TestTheReadingOfThePapersRate(t *testing.T) {
	for _, c := range []struct {
		reading       string
		lr            []settings.Rate
		epochs, batch int
		want, label   string
	}{
		{"", nil, 60, 512, "0.4", "learning rate 0.4 (reading: scaled, 0.1 for each 128 images)"},
		{"scaled", nil, 400, 512, "0.4", "400 epochs, learning rate 0.4 (reading: scaled"},
		{"scaled", nil, 60, 1024, "0.8", "learning rate 0.8 (reading: scaled"},
		{"scaled", nil, 60, 128, "0.1", "learning rate 0.1 (reading: printed)"}, // there both are the same
		{"printed", nil, 60, 512, "0.1", "60 epochs, learning rate 0.1 (reading: printed)"},
		{"printed", nil, 400, 128, "0.1", "learning rate 0.1 (reading: printed)"},
		{"printed", []settings.Rate{0.3}, 60, 512, "0.3", "60 epochs, learning rate 0.3\n"},
		{"scaled", []settings.Rate{0.1}, 60, 512, "0.1", "learning rate 0.1 (reading: printed)"},
		{"scaled", []settings.Rate{settings.Auto}, 60, 512, "auto", "learning rate by short runs\n"},
	} {
		cmd := Cifar10{Models: []string{"resnet18"}, P: []float64{2, 3}, Trials: 1, Epochs: c.epochs, Batch: c.batch,
			Reading: c.reading, LR: c.lr, Seed: 1, Data: "cifar10", Precision: "auto"}
		p, err := cmd.plan("test")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Runs[0].Settings["lr"]; got != c.want {
			t.Errorf("%+v: lr %s", c, got)
		}
		r := &networks{paper: cifar10Table, plan: p, set: "cifar10"}
		if label := r.label(r.group(p.Runs[0])) + "\n"; !strings.Contains(label, c.label) {
			t.Errorf("%+v: %s", c, label)
		}
		want := "--reading " + c.reading
		if len(c.lr) > 0 {
			want = "--lr " + c.want
		}
		if !strings.Contains(p.Command, want) {
			t.Errorf("%+v: %s", c, p.Command)
		}
	}
	bad := Cifar10{Models: []string{"resnet18"}, P: []float64{2}, Trials: 1, Epochs: 1, Batch: 512, Reading: "loud"}
	if _, err := bad.plan("test"); err == nil || err.Error() != "--reading loud: want scaled or printed" {
		t.Error(err)
	}
}
