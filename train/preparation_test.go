package train

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/bregman-ml/bregman/images"
)

func TestAPreparationIsReadBackAsItWas(t *testing.T) {
	set, err := images.Load("fashion-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	want := PreparationOf(set, 0)
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Preparation
	if err := json.Unmarshal(data, &got); err != nil || got.Check() != nil || !slices.Equal(got.Mean, want.Mean) ||
		!slices.Equal(got.Deviation, want.Deviation) || !slices.Equal(got.Classes, want.Classes) || got.Height != 28 {
		t.Errorf("%v, %v, %+v", err, got.Check(), got)
	}
}

// What Check lets through has room for every picture, and a number for each channel.
func FuzzPreparation(f *testing.F) {
	f.Add([]byte(`{"classes":["a","b"],"height":2,"width":3,"channels":1,"mean":[1],"deviation":[2]}`))
	f.Add([]byte(`{"classes":["a","b"],"channels":3,"mean":[1,2,3],"deviation":[2,2,2],"packed":{"resolution":32,` +
		`"size":64,"side":"short","window":[58,58]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Preparation
		if json.Unmarshal(data, &p) != nil || p.Check() != nil {
			return
		}
		size := p.Height * p.Width * p.Channels
		if c := p.Packed; c != nil {
			size = window{c.Window[0], c.Window[1]}.slot()
		}
		if size < 1 || size > 1<<29 || len(p.Mean) != p.Channels || len(p.Deviation) != p.Channels {
			t.Errorf("%d bytes a picture, %d channels", size, p.Channels)
		}
	})
}

func TestProbabilitiesAreSortedAndSumToOne(t *testing.T) {
	probabilities, order := Probabilities([]float32{1, 3, 3, -200, 2}, 3)
	sum := 0.0
	for _, v := range probabilities {
		sum += v
	}
	if !slices.Equal(order, []int{1, 2, 4}) || !(sum > 1-1e-15 && sum < 1+1e-15) || probabilities[1] != probabilities[2] {
		t.Errorf("%v, %v, sum %v", order, probabilities, sum)
	}
	if _, order := Probabilities([]float32{0, 1}, 5); !slices.Equal(order, []int{1, 0}) {
		t.Error(order)
	}
}
