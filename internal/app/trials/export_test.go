package trials

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

// Legends and tables list rates by size, not by their first letter, and what has fewer settings first.
func TestNamesAreSortedByTheirNumbers(t *testing.T) {
	want := []string{"p = 2", "p = 2, lr 6.5e-06", "p = 2, lr 0.1", "p = 2, lr 6.4", "p = 2, lr 6.4, adaptive 0.999",
		"p = 2, lr 10", "p = 2, lr 10, batch 64", "p = 2, unit init"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, byWords)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Half a megabyte of metrics with two histograms far apart must not become a gigabyte in memory.
func TestPointsWithoutAHistogramTakeNoRoom(t *testing.T) {
	var log runlog.Log
	var b strings.Builder
	for k := range 1000 {
		fmt.Fprintf(&b, "{\"epoch\":%d}\n", k)
	}
	for _, from := range []int{-149, 149} {
		fmt.Fprintf(&b, "{\"epoch\":%d,\"sizes\":{\"below\":0,\"from\":%d,\"counts\":[1]}}\n", 2000+from, from)
	}
	if err := log.Read(strings.NewReader(b.String()), int64(b.Len())); err != nil {
		t.Fatal(err)
	}
	col, ok := sizesColumn(&log)
	if !ok || len(col.rows) != 1002 || &col.rows[0][0] != &col.rows[999][0] || !math.IsNaN(col.rows[0][0]) ||
		col.rows[1000][1] != 1 || col.rows[1001][len(col.edges)-1] != 1 {
		t.Errorf("%d rows, %d edges", len(col.rows), len(col.edges))
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
	if (10+n)%64 != 0 || !strings.HasPrefix(string(raw[10:]),
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }") || len(raw) != 10+n+16 ||
		math.Float64frombits(binary.LittleEndian.Uint64(raw[10+n+8:])) != 0.25 {
		t.Errorf("%q", raw)
	}
	if err := Write(&b, &l, "xls"); err == nil {
		t.Error("xls was written")
	}
}
