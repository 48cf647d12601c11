package dataset

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/matrix"
)

var negZero = math.Copysign(0, -1)

func pow10(e int) float64 { return math.Pow10(e) }

func TestTheLargerOfTwoLabelsIsPlusOne(t *testing.T) {
	for _, c := range []struct{ labels, y, classes []float64 }{
		{[]float64{2, 1, 2}, []float64{1, -1, 1}, []float64{1, 2}},
		{[]float64{-1, 1}, []float64{-1, 1}, []float64{-1, 1}},
		{[]float64{0, -3, negZero}, []float64{1, -1, 1}, []float64{-3, 0}},
		{[]float64{7, 7}, []float64{1, 1}, []float64{7}},    // labels already absorbed
		{[]float64{-1, -1}, []float64{1, 1}, []float64{-1}}, // whatever the one label is
	} {
		y, classes, err := (&Set{Y: c.labels}).Signs()
		if err != nil || !slices.Equal(y, c.y) || !slices.Equal(classes, c.classes) {
			t.Errorf("%v: %v %v %v, want %v %v", c.labels, y, classes, err, c.y, c.classes)
		}
	}
}

func TestMoreThanTwoLabelsAreAnErrorThatNamesThem(t *testing.T) {
	_, classes, err := (&Set{Name: "a.svm", Y: []float64{3, 1, 2, 1}}).Signs()
	if err == nil || err.Error() != "a.svm: 3 different labels (1, 2, 3), want two: keep the examples of two classes" ||
		len(classes) != 3 {
		t.Errorf("%v %v", classes, err)
	}
	_, _, err = (&Set{Name: "a.svm", Y: []float64{7, 6, 5, 4, 3, 2, 1.5}}).Signs()
	if err == nil || !strings.Contains(err.Error(), "7 different labels (1.5, 2, 3, 4, 5, …)") {
		t.Error(err)
	}
	if _, _, err = (&Set{Name: "a.svm"}).Signs(); err == nil {
		t.Error("a set without examples has signs")
	}
}

func TestASetNoFileCanHoldIsNotWritten(t *testing.T) {
	for _, c := range []struct {
		x    float64
		y    []float64
		want string
	}{
		{math.NaN(), []float64{1}, "s:1: feature 2: NaN is not finite: fill in missing values or drop the example"},
		{1, []float64{math.Inf(1)}, "s:1: label: +Inf is not finite: fill in missing values or drop the example"},
		{1, []float64{1, 2}, "s: 1 examples but 2 labels"},
	} {
		var e *Error
		err := WriteSVM(&strings.Builder{}, &Set{Name: "s", X: matrix.FromRows([][]float64{{1, c.x}}), Y: c.y})
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestAWriterThatFailsIsNoticed(t *testing.T) {
	full := errors.New("disk full")
	small, large := R100(1), mustRead(t, string(svmText(2*window, 100, valueKinds[3].value)), "a.svm", Options{})
	for _, s := range []*Set{small, large} {
		if err := WriteSVM(failing{full}, s); !errors.Is(err, full) {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
