package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mixedPictures is a folder of pictures of two classes and of many sizes, one of them broken.
func mixedPictures(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pictures")
	for class, level := range map[string]int{"dark": 40, "light": 180} {
		for k := range 40 {
			writePicture(t, filepath.Join(dir, class, fmt.Sprintf("%02d.png", k)), 12+k%7, 11+k%5, level+k)
		}
	}
	for k := range 25 {
		if err := os.WriteFile(filepath.Join(dir, "dark", fmt.Sprintf("cut%02d.png", k)), []byte("\x89PNG\r\n\x1a\n"),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A network is trained on a folder of many sizes with --size, and predict sees its test images as it did, without being
// told. Broken pictures are all listed, and are left out on request.
func TestAFolderOfManySizes(t *testing.T) {
	s := tiny(t)
	s.Data, s.Epochs = mixedPictures(t), 3
	if _, err := do(t.Context(), s); err == nil || !strings.Contains(err.Error(), "--size 32") ||
		strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	s.Size = 13
	said, err := do(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "25 of 105 pictures cannot be read") ||
		!strings.Contains(err.Error(), "--skip-broken") {
		t.Error(err)
	}
	if n := strings.Count(said.said.String(), "truncated"); n > 21 ||
		!strings.Contains(said.said.String(), "and 5 more") {
		t.Errorf("%d lines: %s", n, said.said.String())
	}
	s.SkipBroken = true
	dir, r := trainedTiny(t, s)
	a, _, err := predicted(t, PredictPictures{Run: dir, Pictures: []string{s.Data + ":test"}})
	if err != nil && !strings.Contains(err.Error(), "could not be predicted") { // those that are broken
		t.Fatal(err)
	}
	if a.labelled < 6 || a.accuracy(a.right) != r.TestAccuracy {
		t.Errorf("%d labels, accuracy %v, the run has %v", a.labelled, a.accuracy(a.right), r.TestAccuracy)
	}
	if s.Size = 2000; s.Check() == nil {
		t.Error("a side of 2000 is accepted")
	}
}
