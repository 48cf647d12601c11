package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestBuiltInTablesAreWhatIsWellKnownOfThem(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, d    int
		classes []string // nil: numbers
		counts  []int    // examples by class
		column  string
		mean    float64 // of the column, as the documentation of scikit-learn rounds it
		within  float64
	}{
		{"iris", 150, 4, []string{"setosa", "versicolor", "virginica"}, []int{50, 50, 50}, "petal width (cm)", 1.20, 0.005},
		{"wine", 178, 13, []string{"class_0", "class_1", "class_2"}, []int{59, 71, 48}, "proline", 746, 1},
		{"breast_cancer", 569, 30, []string{"benign", "malignant"}, []int{357, 212}, "mean radius", 14.127, 0.001},
		{"digits", 1797, 64, nil, []int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}, "pixel_0_2", 5.2048, 0.0001},
		{"diabetes", 442, 10, nil, nil, "age", 48.5, 0.05},
	} {
		s := mustOpen(t, c.name, Options{Missing: MissingMean})
		n, d := s.X.Dims()
		if n != c.n || d != c.d || s.Name != c.name || !slices.Equal(s.Encoding.Classes, c.classes) || s.Notes != nil {
			t.Errorf("%s: %d × %d, %+v", c.name, n, d, s)
		}
		var counts []int
		if classes := s.Classes(); len(classes) < 20 {
			counts = make([]int, len(classes))
			for _, y := range s.Y {
				counts[int(y)]++
			}
		}
		if !slices.Equal(counts, c.counts) {
			t.Errorf("%s has %v examples by class, want %v", c.name, counts, c.counts)
		}
		fill := s.Encoding.Columns[slices.Index(s.Features, c.column)].Fill[0] // the mean
		if math.Abs(fill-c.mean) > c.within {
			t.Errorf("%s: the mean of %s is %v, want %v", c.name, c.column, fill, c.mean)
		}
		data, err := tables.ReadFile("tables/" + c.name + ".csv.gz")
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if want := "sha256:" + hex.EncodeToString(sum[:]); s.Hash != want || len(data) > 64<<10 {
			t.Errorf("%s: %d bytes of hash %s, read as %s", c.name, len(data), want, s.Hash)
		}
		sources, err := os.ReadFile("tables/SOURCES.md")
		if err != nil || !strings.Contains(string(sources), "\n## "+c.name+"\n") {
			t.Errorf("tables/SOURCES.md does not say where %s comes from: %v", c.name, err)
		}
	}
	if s := mustOpen(t, "diabetes", Options{}); s.Label != "progression" || s.Y[0] != 151 {
		t.Errorf("the target of the first example of diabetes is %v", s.Y[0])
	}
}

func TestBuiltInTablesTakeTheOptionsOfACSV(t *testing.T) {
	s := mustOpen(t, "iris", Options{Bias: true, Columns: []string{"1", "petal length (cm)"}})
	if want := []string{"sepal length (cm)", "petal length (cm)", "bias"}; !slices.Equal(s.Features, want) {
		t.Errorf("features %q, want %q", s.Features, want)
	}
	like := mustOpen(t, "iris", Options{Like: s.Encoding, Bias: true})
	if !sameRows(rowsOf(s), rowsOf(like)) || !slices.Equal(s.Y, like.Y) {
		t.Error("iris like itself is another table")
	}
	s = mustOpen(t, "iris", Options{Label: "4", Drop: []string{"species"}})
	if len(s.Features) != 3 || s.Label != "petal width (cm)" {
		t.Errorf("%+v", s)
	}
	for spec, want := range map[string]string{
		"iris:7": "iris:7: iris is a table and has no seed: write iris",
		"iris:":  "iris:: iris is a table and has no seed: write iris",
	} {
		if _, err := Generate(spec); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
	_, err := Generate("iris", Options{Label: "kind"})
	if err == nil || !strings.HasPrefix(err.Error(), `iris:1: no column "kind" for the label`) {
		t.Errorf("%v", err)
	}
	if _, err = Generate("iris", Options{NoHeader: true}); err == nil {
		t.Error("a table with a header is read without one")
	}
}
