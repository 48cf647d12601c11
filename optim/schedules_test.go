package optim

import (
	"math"
	"strings"
	"testing"
)

// A schedule by name is to the last bit the one that its function makes, at every step of a run.
func TestSchedulesByNameAreThoseOfTheirFunctions(t *testing.T) {
	for _, steps := range []int{1, 2, 3, 4, 24, 1140, 5820} {
		for _, peak := range []float64{0, 0.2083333, 0.5, 1} {
			want := map[string]Schedule{
				"triangular": Triangular(steps, min(int(math.Round(peak*float64(steps))), steps-1)),
				"cosine":     Cosine(steps),
				"constant":   Constant(),
				"step":       Step(max(1, (steps+2)/3), 0.1),
			}
			for _, info := range Schedules {
				s := info.New(steps, peak)
				if s != want[info.Name] || s.String() != info.Name {
					t.Errorf("%s of %d steps, peak %v: %+v, want %+v", info.Name, steps, peak, s, want[info.Name])
				}
				for k := range steps {
					if got, want := s.At(k), want[info.Name].At(k); math.Float64bits(got) != math.Float64bits(want) {
						t.Fatalf("%s of %d steps, peak %v: %v at step %d, want %v", info.Name, steps, peak, got, k, want)
					}
				}
			}
		}
	}
}

func TestSchedulesHaveNames(t *testing.T) {
	if got := strings.Join(ScheduleNames(), " "); got != "triangular cosine constant step" {
		t.Errorf("schedules %s", got)
	}
	for _, info := range Schedules {
		if found, err := ScheduleByName(info.Name); err != nil || found.Name != info.Name || info.About == "" {
			t.Errorf("%s: %+v, %v", info.Name, found, err)
		}
	}
	if _, err := ScheduleByName("cyclic"); err == nil ||
		!strings.Contains(err.Error(), "choose one of triangular, cosine") {
		t.Errorf("cyclic: %v", err)
	}
}
