package images

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

func npyFile(descr, shape string, values []byte) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(b, head...), values...)
}

func npzOf(t testing.TB, arrays ...entry) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, a := range arrays {
		w, err := z.Create(a.name + ".npy")
		must(t, err)
		_, err = w.Write(a.data)
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

// four is a whole archive of two training images and one test image of 2×2×1, with parts replaced.
func four(t testing.TB, replace ...entry) []byte {
	arrays := []entry{
		{"X_train", npyFile("|u1", "(2, 2, 2)", []byte{1, 2, 3, 4, 5, 6, 7, 8})},
		{"y_train", npyFile("<i8", "(2,)", binary.LittleEndian.AppendUint64(make([]byte, 8), 1))},
		{"X_test", npyFile("|u1", "(1, 2, 2)", []byte{9, 10, 11, 12})},
		{"y_test", npyFile("|u1", "(1, 1)", []byte{1})},
	}
	for _, r := range replace {
		for i := range arrays {
			if arrays[i].name == r.name {
				arrays[i].data = r.data
			}
		}
	}
	return npzOf(t, arrays...)
}

func TestNPZ(t *testing.T) {
	s, err := Load(write(t, four(t), t.TempDir(), "set.npz"), "")
	must(t, err)
	if s.Height != 2 || s.Width != 2 || s.Channels != 1 || fmt.Sprint(s.Classes) != "[0 1]" ||
		!bytes.Equal(pixels(s, 1, true), []byte{5, 6, 7, 8}) || !bytes.Equal(s.Train.Labels, []byte{0, 1}) ||
		!bytes.Equal(s.Test.Labels, []byte{1}) {
		t.Errorf("%+v", s)
	}
}

func TestNPZChannelsLast(t *testing.T) {
	for _, d := range [][]int{{2, 4, 4, 3}, {2, 3, 3, 3}, {2, 4, 4, 1}, {2, 3, 5, 3}, {2, 4, 3, 3}, {2, 32, 32, 3},
		{2, 1, 1, 1}, {2, 8, 8, 12}, {2, 1, 9, 4}} {
		if channelsFirst(d) {
			t.Errorf("%v was taken for channels first", d)
		}
	}
}

func TestNPZLabelsOfAnyIntegerType(t *testing.T) {
	for descr, b := range map[string][]byte{
		"<i2": {0, 0, 1, 0}, ">i2": {0, 0, 0, 1}, "|i1": {0, 1}, "<u4": {0, 0, 0, 0, 1, 0, 0, 0},
		">i4": {0, 0, 0, 0, 0, 0, 0, 1},
	} {
		f := four(t, entry{"y_train", npyFile(descr, "(2,)", b)})
		s, err := readNPZ(bytes.NewReader(f), int64(len(f)), "f")
		if err != nil || !bytes.Equal(s.Train.Labels, []byte{0, 1}) {
			t.Errorf("%s: %v", descr, err)
		}
	}
}

func TestBadNPZIsExplained(t *testing.T) {
	whole := four(t)
	for name, c := range map[string]struct {
		b     []byte
		words []string
	}{
		"not zip":      {[]byte("hello"), []string{"damaged", "not a valid zip file"}},
		"cut":          {whole[:len(whole)-30], []string{"damaged"}},
		"no arrays":    {npzOf(t), []string{"no array X_train", "numpy.savez", "has none"}},
		"other arrays": {npzOf(t, entry{"X", nil}), []string{"no array X_train", `"X"`}},
		"floats": {four(t, entry{"X_train", npyFile("<f4", "(2, 2, 2)", make([]byte, 32))}),
			[]string{"X_train has type f4", "uint8"}},
		"objects": {four(t, entry{"X_train", npyFile("|O", "(2, 2, 2)", nil)}),
			[]string{"X_train", "not read"}},
		"float labels": {four(t, entry{"y_train", npyFile("<f4", "(2,)", make([]byte, 8))}),
			[]string{"y_train has type f4"}},
		"flat": {four(t, entry{"X_train", npyFile("|u1", "(2, 4)", make([]byte, 8))}),
			[]string{"shape (2, 4)", "N × height × width"}},
		"channels first": {four(t, entry{"X_train", npyFile("|u1", "(1, 3, 8, 8)", make([]byte, 192))}),
			[]string{"transpose(0, 2, 3, 1)"}},
		"planes of four": {four(t, entry{"X_train", npyFile("|u1", "(2, 3, 4, 4)", make([]byte, 96))}),
			[]string{"(2, 3, 4, 4), channels first", "transpose(0, 2, 3, 1)"}},
		"not square": {four(t, entry{"X_train", npyFile("|u1", "(2, 3, 5, 4)", make([]byte, 120))}),
			[]string{"channels first"}},
		"one plane": {four(t, entry{"X_train", npyFile("|u1", "(2, 1, 2, 2)", make([]byte, 8))}),
			[]string{"channels first"}},
		"one plane, not square": {four(t, entry{"X_train", npyFile("|u1", "(2, 1, 2, 5)", make([]byte, 20))}),
			[]string{"channels first"}},
		"one class": {four(t, entry{"y_train", npyFile("|u1", "(2,)", []byte{1, 1})}),
			[]string{"only one class, 1, in y_train"}},
		"gap": {four(t, entry{"y_train", npyFile("|u1", "(2,)", []byte{0, 200})}),
			[]string{"no image of y_train has label 1", "200 is the last", "without gaps"}},
		"short": {four(t, entry{"X_train", npyFile("|u1", "(2, 2, 2)", make([]byte, 7))}),
			[]string{"X_train is cut short, 7 of 8"}},
		"long": {four(t, entry{"X_train", npyFile("|u1", "(2, 2, 2)", make([]byte, 9))}),
			[]string{"followed by 1 more"}},
		"promises": {four(t, entry{"X_train", npyFile("|u1", "(99999999, 9999, 9999)", nil)}),
			[]string{"does not fit"}},
		"promises too much": {four(t, entry{"X_train", npyFile("|u1", "(999999999, 999999999, 999999999)", nil)}),
			[]string{"X_train", "larger than any file"}},
		"nothing": {four(t, entry{"X_train", npyFile("|u1", "(0, 2, 2)", nil)}), []string{"nothing in it"}},
		"count": {four(t, entry{"y_train", npyFile("|u1", "(3,)", make([]byte, 3))}),
			[]string{"3 labels but X_train has 2 images"}},
		"other size": {four(t, entry{"X_test", npyFile("|u1", "(1, 2, 3)", make([]byte, 6))}),
			[]string{"(2, 2, 1)", "(2, 3, 1)"}},
		"negative": {four(t, entry{"y_train", npyFile("|i1", "(2,)", []byte{0, 255})}),
			[]string{"y_train[1] is -1", "out of range"}},
		"large": {four(t, entry{"y_train", npyFile("<u2", "(2,)", []byte{0, 0, 0, 1})}),
			[]string{"y_train[1] is 256", "out of range"}},
		"unseen": {four(t, entry{"y_test", npyFile("|u1", "(1,)", []byte{5})}),
			[]string{"y_test has label 5", "0 to 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readNPZ(bytes.NewReader(c.b), int64(len(c.b)), "f.npz")
			wantError(t, err, append(c.words, "f.npz: ")...)
		})
	}
}
