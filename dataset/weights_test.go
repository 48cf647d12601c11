package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWeightsComeBackFromNpy(t *testing.T) {
	for _, w := range [][][]float64{{{1.5, -2, 1e-300}}, {{1, 2}, {3, 4}, {5, 6}}} {
		path := filepath.Join(t.TempDir(), "w.npy")
		data := EncodeWeights(w)
		if bytes.IndexByte(data, '\n')%64 != 63 {
			t.Errorf("the data start at byte %d, want a multiple of 64", bytes.IndexByte(data, '\n')+1)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := ReadWeights(path)
		if err != nil || !slices.EqualFunc(got, w, slices.Equal) {
			t.Errorf("%v (%v), want %v", got, err, w)
		}
	}
}

func TestOtherFilesAreNoWeights(t *testing.T) {
	cut := EncodeWeights([][]float64{{1, 2, 3}})
	for text, want := range map[string]string{
		"hello":                  "w.npy",
		string(cut[:len(cut)-3]): "cut short",
		string(cut) + "x":        "more data",
		strings.Replace(string(cut), "(3,)", "(0,)", 1): "no weights",
	} {
		path := filepath.Join(t.TempDir(), "w.npy")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWeights(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if _, err := ReadWeights(filepath.Join(t.TempDir(), "none.npy")); err == nil {
		t.Error("a missing file was read")
	}
}

func FuzzWeights(f *testing.F) {
	f.Add(EncodeWeights([][]float64{{1, 2, 3}}))
	f.Add(EncodeWeights([][]float64{{1, 2}, {3, 4}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := decodeWeights(bytes.NewReader(data), "w.npy")
		if err != nil {
			return
		}
		again, err := decodeWeights(bytes.NewReader(EncodeWeights(w)), "w.npy")
		if err != nil || !slices.EqualFunc(again, w, slices.Equal) {
			t.Fatalf("%v came back as %v (%v)", w, again, err)
		}
	})
}
