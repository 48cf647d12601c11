package numbers

import (
	"math"
	"testing"
)

func TestEveryTableInR100HasARowPerPAndAColumnPerNorm(t *testing.T) {
	for k, rows := range R100() {
		if len(rows) != len(Ps) {
			t.Fatalf("trial %d has %d rows", k+1, len(rows))
		}
		for _, r := range rows {
			if len(r) != len(Norms) {
				t.Fatalf("trial %d: %d norms", k+1, len(r))
			}
			for j := 1; j < len(r); j++ { // ℓₚ norms fall with p
				if r[j] > r[j-1] {
					t.Errorf("trial %d: %v after %v", k+1, r[j], r[j-1])
				}
			}
		}
	}
}

func TestARowOfR100(t *testing.T) {
	row, ok := NormsOf(6)
	if !ok || row[0] != 13.115 || row[5] != 0.369 { // of trial 1
		t.Errorf("p = 6: %v, %v", row, ok)
	}
	if row, ok := NormsOf(4); ok {
		t.Errorf("p = 4: %v", row)
	}
}

func TestThePublishedAccuraciesAreAllThere(t *testing.T) {
	for _, net := range []string{"vgg11", "resnet18", "mobilenetv2", "regnetx200"} {
		best, all := 0.0, Accuracies(net)
		for _, p := range Ps {
			a, ok := all[p]
			if !ok || a.Mean < 88 || a.Mean > 95 || !(a.Deviation > 0) {
				t.Errorf("%s, p = %v: %v", net, p, a)
			}
			best = max(best, a.Mean)
		}
		if all[3].Mean != best {
			t.Errorf("%s: the paper's best is p = 3, with %v of %v", net, all[3].Mean, best)
		}
		for _, p := range Ps { // on ResNet-18 the paper marks three
			if want := p == 3 || net == "resnet18" && (p == 2 || p == 6); all[p].Best != want {
				t.Errorf("%s, p = %v: marked as best %v, want %v", net, p, all[p].Best, want)
			}
		}
	}
	if a := Accuracies("cnn"); a != nil {
		t.Errorf("cnn: %v", a)
	}
}

// Table 7: two networks, six p, one trial each, p = 3 in bold.
func TestTheImageNetTableIsThere(t *testing.T) {
	if rows := ImageNet(); len(rows) != 12 {
		t.Fatalf("%d rows", len(rows))
	}
	for model, want := range map[string][]float64{
		"resnet18-imagenet":    {64.08, 65.14, 66.76, 67.67, 66.69, 65.10},
		"mobilenetv2-imagenet": {63.41, 65.75, 67.91, 69.74, 67.05, 62.32},
	} {
		all := Of(ImageNet(), model)
		for k, p := range Ps {
			a := all[p]
			if a.Mean != want[k] || !math.IsNaN(a.Deviation) || a.Best != (p == 3) {
				t.Errorf("%s, p = %v: %+v, want %v", model, p, a, want[k])
			}
		}
	}
	if a := Of(ImageNet(), "resnet18"); a != nil {
		t.Errorf("resnet18: %v", a)
	}
}
