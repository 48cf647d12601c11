package images

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fileSet is a source's files, by path. Their content is any text.
type fileSet map[string]string

// with adds files whose content is their path.
func (s fileSet) with(names ...string) fileSet {
	for _, n := range names {
		s[n] = n
	}
	return s
}

// several returns n names, the format's number counting from 0.
func several(n int, format string) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	return names
}

func (s fileSet) folder(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "set")
	for name, b := range s {
		write(t, []byte(b), dir, filepath.FromSlash(name))
	}
	return dir
}

// tarOf writes members in reverse order of their names: an archive's order does not matter.
func (s fileSet) tarOf(t testing.TB, before string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(s))) {
		must(t, w.WriteHeader(&tar.Header{Name: before + name, Size: int64(len(s[name])), Mode: 0o644}))
		_, err := w.Write([]byte(s[name]))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func (s fileSet) zipOf(t testing.TB, before string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, name := range slices.Sorted(maps.Keys(s)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: before + name, Method: []uint16{zip.Store, zip.Deflate}[i%2]})
		must(t, err)
		_, err = f.Write([]byte(s[name]))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func openSource(t testing.TB, paths ...string) *Source {
	t.Helper()
	s, err := OpenSource(t.Context(), paths...)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func sourceError(t *testing.T, paths []string, words ...string) {
	t.Helper()
	s, err := OpenSource(t.Context(), paths...)
	if err == nil {
		s.Close()
	}
	wantError(t, err, words...)
}

func labels(pictures []SourcePicture) string {
	var b strings.Builder
	for _, p := range pictures {
		fmt.Fprintf(&b, "%s=%d ", p.Name, p.Label)
	}
	return strings.TrimSpace(b.String())
}

func others(s *Source) string {
	var b strings.Builder
	for _, o := range s.Others {
		fmt.Fprintf(&b, "%s: %s\n", o.Name, o.Why)
	}
	return b.String()
}

func wantOther(t *testing.T, s *Source, name, why string) {
	t.Helper()
	if !slices.ContainsFunc(s.Others, func(o SourceProblem) bool {
		return o.Name == name && strings.Contains(o.Why, why)
	}) {
		t.Errorf("no line %q: %q among:\n%s", name, why, others(s))
	}
}

// everywhere opens the files as a folder, as a tar and as a zip, each also below other folders, checks that the sources
// are the same and that all pictures can be read, and returns one of them.
func (s fileSet) everywhere(t *testing.T) *Source {
	t.Helper()
	dir := t.TempDir()
	deeper := fileSet{}
	for name, b := range s {
		deeper["some/where/"+name] = b
	}
	first := openSource(t, s.folder(t))
	for what, path := range map[string]string{
		"deeper folder": deeper.folder(t),
		"tar":           write(t, s.tarOf(t, ""), dir, "a.tar"),
		"tar with ./":   write(t, s.tarOf(t, "./"), dir, "b.tar"),
		"deeper tar":    write(t, s.tarOf(t, "some/where/"), dir, "c.bin"),
		"zip":           write(t, s.zipOf(t, ""), dir, "d.zip"),
		"deeper zip":    write(t, s.zipOf(t, "some/where/"), dir, "e.bin"),
	} {
		other := openSource(t, path)
		if other.Name != filepath.Base(path) {
			t.Errorf("%s is named %s", what, other.Name)
		}
		if other.Hash != first.Hash || other.Layout != first.Layout || other.HeldOut != first.HeldOut ||
			!slices.Equal(other.Classes, first.Classes) || labels(other.Train) != labels(first.Train) ||
			labels(other.Test) != labels(first.Test) || others(other) != others(first) {
			t.Errorf("%s is another source than the folder:\n%+v\n%+v\n%s\n%s", what, other, first, others(other),
				others(first))
		}
		for _, p := range slices.Concat(other.Train, other.Test) {
			b, err := other.Read(p, nil)
			must(t, err)
			if string(b) != s[p.Name] || int64(len(b)) != p.Size {
				t.Errorf("%s: %s reads %q", what, p.Name, b)
			}
		}
	}
	return first
}

func TestClassFoldersInTrainAndVal(t *testing.T) {
	for _, val := range []string{"val", "valid", "validation", "test"} {
		s := fileSet{}.with("train/dog/2.JPG", "train/dog/1.png", "train/cat/a/b/3.jpeg", "train/cat-b/1.gif",
			val+"/dog/9.jpg", "train/dog/notes.txt", "train/dog/x.zip", "train/loose.jpg", "train/dog/.DS_Store",
			"train/dog/._1.png", ".cache/x/1.png", "README.md", "noisy_imagenette.csv", "list.csv", "extra/1.jpg",
			"extra/2.jpg").everywhere(t)
		if s.Layout != "class folders in train and "+val || s.HeldOut || fmt.Sprint(s.Classes) != "[cat cat-b dog]" {
			t.Errorf("%+v", s)
		}
		if got := labels(s.Train); got != "train/cat/a/b/3.jpeg=0 train/cat-b/1.gif=1 train/dog/1.png=2 train/dog/2.JPG=2" {
			t.Errorf("train is %s", got)
		}
		if got := labels(s.Test); got != val+"/dog/9.jpg=2" {
			t.Errorf("test is %s", got)
		}
		if got := others(s); got != "extra/: 2 pictures not packed: "+val+" is the test set\n"+
			"list.csv: not a picture by its name\n"+
			"train/dog/notes.txt: not a picture by its name\n"+
			"train/dog/x.zip: an archive in the source: unpack it\n"+
			"train/loose.jpg: not in a class folder\n" {
			t.Errorf("others:\n%s", got)
		}
	}
}

func TestOfValAndTestOneIsTheTestSet(t *testing.T) {
	s := fileSet{}.with("train/a/1.jpg", "train/b/1.jpg", "val/a/2.jpg", "test/b/3.jpg", "test/b/4.jpg").everywhere(t)
	if labels(s.Test) != "val/a/2.jpg=0" || others(s) != "test/: 2 pictures not packed: val is the test set\n" {
		t.Errorf("%s\n%s", labels(s.Test), others(s))
	}
	s = fileSet{}.with("train/a/1.jpg", "train/b/1.jpg", "val/2.jpg", "test/b/3.jpg").everywhere(t)
	if labels(s.Test) != "test/b/3.jpg=1" || others(s) != "val/: 1 picture not packed: test is the test set\n" {
		t.Errorf("%s\n%s", labels(s.Test), others(s))
	}
}

func TestTinyImageNet(t *testing.T) {
	files := fileSet{"val/val_annotations.txt": "val_0.JPEG\tn02\t0\t1\t2\t3\r\nval_2.JPEG\tn01\t0\t0\t0\t0\n" +
		"val_7.JPEG\tn01\t0\t0\t0\t0\n"}.with("train/n01/images/n01_0.JPEG", "train/n02/images/n02_0.JPEG",
		"train/n01/n01_boxes.txt", "val/images/val_0.JPEG", "val/images/val_1.JPEG", "val/images/val_2.JPEG",
		"test/images/test_0.JPEG", "wnids.txt", "words.txt")
	s := files.everywhere(t)
	if s.Layout != "Tiny-ImageNet" || labels(s.Train) != "train/n01/images/n01_0.JPEG=0 train/n02/images/n02_0.JPEG=1" ||
		labels(s.Test) != "val/images/val_0.JPEG=1 val/images/val_2.JPEG=0" {
		t.Errorf("%s\n%s\n%s", s.Layout, labels(s.Train), labels(s.Test))
	}
	if got := others(s); got != "test/: 1 picture not packed: val is the test set\n"+
		"val/images/val_1.JPEG: not in val_annotations.txt\n"+
		"val/val_annotations.txt: the picture val_7.JPEG is not there\n" {
		t.Errorf("others:\n%s", got)
	}
	for notes, words := range map[string][]string{
		"val_0.JPEG\tn02\nval_1.JPEG\tn99\n": {"val_annotations.txt:2: ", `"n99"`},
		"val_0.JPEG\tn02\nval_0.JPEG\tn01\n": {"val_annotations.txt:2: ", "a second class for val_0.JPEG"},
		"val_0.JPEG n02\n":                   {"val_annotations.txt:1: ", "a tab"},
		"":                                   {"no picture of val has a label"},
	} {
		files["val/val_annotations.txt"] = notes
		sourceError(t, []string{files.folder(t)}, words...)
	}
}

// ilsvrc is a training set of one picture a class, and some validation pictures.
func ilsvrc(t *testing.T) (train, val fileSet) {
	table, err := valWNIDs()
	must(t, err)
	train, val = fileSet{}, fileSet{}
	for _, c := range table {
		train.with(c + "/" + c + "_1.JPEG")
	}
	return train, val.with("ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000293.JPEG", "ILSVRC2012_val_00050000.JPEG")
}

func under(dir string, s fileSet) fileSet {
	r := fileSet{}
	for name, b := range s {
		r[dir+"/"+name] = b
	}
	return r
}

// nested packs every folder as a tar of its own.
func (s fileSet) nested(t testing.TB) fileSet {
	parts, r := map[string]fileSet{}, fileSet{}
	for name, b := range s {
		dir, base, _ := strings.Cut(name, "/")
		if parts[dir] == nil {
			parts[dir] = fileSet{}
		}
		parts[dir][base] = b
	}
	for dir, files := range parts {
		r[dir+".tar"] = string(files.tarOf(t, ""))
	}
	return r
}

func TestILSVRC2012InAllItsForms(t *testing.T) {
	train, val := ilsvrc(t)
	kaggle := under("train", train)
	maps.Copy(kaggle, under("val", val))
	first := kaggle.folder(t)
	s := openSource(t, first)
	if s.Layout != "ILSVRC2012" || len(s.Classes) != 1000 || len(s.Train) != 1000 || len(s.Test) != 3 ||
		len(s.Others) > 0 {
		t.Fatalf("%s, %d classes, %d and %d pictures, others:\n%s", s.Layout, len(s.Classes), len(s.Train), len(s.Test),
			others(s))
	}
	// From the file of the challenge: picture 1 is a sidewinder or rock python, picture 293 a tench.
	if got := s.Classes[s.Test[0].Label]; got != "n01751748" || s.Test[0].Name != "val/ILSVRC2012_val_00000001.JPEG" {
		t.Errorf("picture 1 is %s", got)
	}
	if got := s.Test[1].Label; got != 0 || s.Classes[0] != "n01440764" {
		t.Errorf("picture 293 is of class %d", got)
	}

	dir := t.TempDir()
	trainTar := write(t, train.nested(t).tarOf(t, ""), dir, "both", "ILSVRC2012_img_train.tar")
	valTar := write(t, val.tarOf(t, ""), dir, "both", "ILSVRC2012_img_val.tar")
	write(t, []byte("\x1f\x8b"), dir, "both", "ILSVRC2012_devkit_t12.tar.gz")
	for what, paths := range map[string][]string{
		"Kaggle's folders":          {under("ILSVRC/Data/CLS-LOC", kaggle).folder(t)},
		"Kaggle's zip":              {write(t, under("ILSVRC/Data/CLS-LOC", kaggle).zipOf(t, ""), dir, "k.zip")},
		"two tars":                  {trainTar, valTar},
		"two tars, val first":       {valTar, trainTar},
		"a folder of the two tars":  {filepath.Join(dir, "both")},
		"two folders":               {filepath.Join(first, "train"), filepath.Join(first, "val")},
		"tars of tars in a folder":  {under("x", train.nested(t)).folder(t), valTar},
		"a tar of train, and val":   {write(t, under("train", train).tarOf(t, ""), dir, "t.tar"), valTar},
		"class tars in train, val/": {both(under("train", train.nested(t)), under("val", val)).folder(t)},
		"both tars in a tar, unpacked class tars": {write(t, fileSet{"ILSVRC2012_img_train.tar": string(train.tarOf(t, "")),
			"ILSVRC2012_img_val.tar": string(val.tarOf(t, ""))}.tarOf(t, ""), dir, "all.tar")},
	} {
		o := openSource(t, paths...)
		if o.Hash != s.Hash || len(o.Others) > 0 {
			t.Errorf("%s: %s, %d and %d pictures, others:\n%s", what, o.Layout, len(o.Train), len(o.Test), others(o))
			continue
		}
		for _, p := range []SourcePicture{o.Train[0], o.Train[777], o.Test[1]} {
			b, err := o.Read(p, nil)
			must(t, err)
			if _, want, _ := strings.Cut(p.Name, "/"); string(b) != want {
				t.Errorf("%s: %s reads %q", what, p.Name, b)
			}
		}
	}

	sourceError(t, []string{valTar}, "without the training pictures", "ILSVRC2012_img_train.tar")
	sourceError(t, []string{under("val", val).folder(t)}, "without the training pictures")
	sourceError(t, []string{valTar, valTar}, "both paths")
	some := both(under("train", fileSet{}.with("n01440764/1.JPEG", "n01751748/1.JPEG")), under("val", val))
	part := openSource(t, some.with("val/ILSVRC2012_val_00050001.JPEG", "val/x.JPEG").folder(t))
	if labels(part.Test) != "val/ILSVRC2012_val_00000001.JPEG=1 val/ILSVRC2012_val_00000293.JPEG=0" {
		t.Errorf("test is %s", labels(part.Test))
	}
	wantOther(t, part, "val/", "1 picture not packed: train lacks their classes")
	wantOther(t, part, "val/ILSVRC2012_val_00050001.JPEG", "not the name")
	wantOther(t, part, "val/x.JPEG", "not the name")
	other := both(under("train", fileSet{}.with("a/1.JPEG", "b/1.JPEG")), under("val", val))
	sourceError(t, []string{other.folder(t)}, "not those of ILSVRC2012", "a, b")
}

func both(a, b fileSet) fileSet {
	r := maps.Clone(a)
	maps.Copy(r, b)
	return r
}

func TestATenthOfClassesAloneIsHeldOut(t *testing.T) {
	files := fileSet{}.with(several(30, "b/%02d.jpg")...).with(several(4, "a/%02d.jpg")...).with("top.jpg", "b/x.pdf")
	s := files.everywhere(t)
	count := map[uint16]int{}
	for _, p := range s.Test {
		count[p.Label]++
	}
	if !s.HeldOut || len(s.Train) != 30 || count[0] != 1 || count[1] != 3 || s.Layout != "class folders" {
		t.Errorf("%+v", s)
	}
	if others(s) != "b/x.pdf: not a picture by its name\ntop.jpg: not in a class folder\n" {
		t.Errorf("others:\n%s", others(s))
	}
	// The same pictures as for a folder that is loaded as a whole.
	dir := t.TempDir()
	for name := range files {
		if strings.HasSuffix(name, ".jpg") && name != "top.jpg" {
			write(t, pngOf(t, grey(1, 1, name[3])), dir, name)
		}
	}
	whole, err := Load(dir, "")
	must(t, err)
	for i, p := range s.Test {
		if int(p.Label) != whole.Test.Label(i) || p.Name[3] != pixels(whole, i, false)[0] {
			t.Errorf("test picture %d is %s, and another one of the loaded set", i, p.Name)
		}
	}
}

func TestClassesThatAreNumbersAreSortedAsNumbers(t *testing.T) {
	s := fileSet{}.with(several(12, "%d/1.png")...).with(several(12, "%d/2.png")...).everywhere(t)
	if fmt.Sprint(s.Classes) != "[0 1 2 3 4 5 6 7 8 9 10 11]" || s.Train[11].Label != 11 {
		t.Errorf("%v\n%s", s.Classes, labels(s.Train))
	}
	s = fileSet{}.with("9/1.png", "9/2.png", "10/1.png", "10/2.png", "x/1.png", "x/2.png").everywhere(t)
	if fmt.Sprint(s.Classes) != "[10 9 x]" {
		t.Errorf("%v", s.Classes)
	}
}

func TestTwoPathsOfClassFolders(t *testing.T) {
	one, two := fileSet{}.with("a/1.jpg", "b/1.jpg", "b/x.txt"), fileSet{}.with("b/2.jpg")
	dir := t.TempDir()
	folders := openSource(t, one.folder(t), two.folder(t))
	tars := openSource(t, write(t, one.tarOf(t, "photos/"), dir, "1.tar"), write(t, two.tarOf(t, "val/"), dir, "2.tar"))
	if folders.Hash != tars.Hash || others(folders) != others(tars) {
		t.Errorf("%+v\n%+v", folders, tars)
	}
	if labels(folders.Train) != "train/a/1.jpg=0 train/b/1.jpg=1" || labels(folders.Test) != "test/b/2.jpg=1" ||
		!strings.Contains(folders.Layout, "two paths") || others(folders) != "train/b/x.txt: not a picture by its name\n" {
		t.Errorf("%s\n%s\n%s\n%s", labels(folders.Train), labels(folders.Test), folders.Layout, others(folders))
	}
	for _, s := range []*Source{folders, tars} {
		b, err := s.Read(s.Test[0], nil)
		if err != nil || string(b) != "b/2.jpg" {
			t.Errorf("%q, %v", b, err)
		}
	}
	sourceError(t, []string{two.folder(t), one.folder(t)}, "only one class, b")
	wrong := fileSet{}.with("c/1.jpg", "b/1.jpg").folder(t)
	sourceError(t, []string{one.folder(t), wrong}, wrong+": test/c is a class with no training")
	sourceError(t, []string{one.folder(t), under("train", one).with("val/a/1.jpg").folder(t)}, "folder train", "alone")
	sourceError(t, []string{one.folder(t), fileSet{}.with("1.jpg").folder(t)}, "no picture of test has a label")
	sourceError(t, []string{fileSet{}.with("1.jpg").folder(t), one.folder(t)}, "not in class folders")
}

func TestSourcesThatCannotBeLabelledSayWhy(t *testing.T) {
	for _, c := range []struct {
		files fileSet
		words []string
	}{
		{fileSet{}, []string{"no pictures", "it is empty", "class folders in train and val"}},
		{fileSet{}.with("a/x.txt", "b/x.pdf"), []string{"no pictures", "a/x.txt, b/x.pdf"}},
		{fileSet{}.with(several(9, "%d.jpg")...), []string{"9 pictures", "0.jpg, 1.jpg, 2.jpg, 3.jpg …", "Tiny-ImageNet"}},
		{fileSet{}.with("1\n2.jpg"), []string{`"1\n2.jpg"`}},
		{fileSet{}.with("cat/1.jpg", "cat/2.jpg"), []string{"only one class, cat"}},
		{fileSet{}.with("set/cat/1.jpg", "set/cat/2.jpg"), []string{"only one class, cat"}},
		{fileSet{}.with("train/a/1.jpg", "train/b/1.jpg"), []string{"only one of train and val", "give the folder train"}},
		{fileSet{}.with("val/a/1.jpg", "val/b/1.jpg"), []string{"no folder train"}},
		{fileSet{}.with("train/1.jpg", "val/1.jpg"), []string{"not in class folders", "train/1.jpg, val/1.jpg"}},
		{fileSet{}.with("train/a/1.jpg", "val/a/1.jpg"), []string{"only one class, a"}},
		{fileSet{}.with("train/a/1.jpg", "train/b/1.jpg", "val/c/1.jpg"), []string{"val/c is a class with no training"}},
		{fileSet{}.with("train/a/1.jpg", "train/b/1.jpg", "val/1.jpg"), []string{"pictures of val have no labels"}},
		{fileSet{}.with("train/a/1.jpg", "train/b/1.jpg", "test/1.jpg"), []string{"pictures of test have no labels"}},
		{fileSet{}.with("a/1.jpg", "b/1.jpg"), []string{"one picture per class"}},
		{fileSet{}.with("x/train/a/1.jpg", "x/val/a/1.jpg", "y/1.jpg"), []string{"x has a folder train of its own"}},
		{fileSet{}.with(several(packMostClasses+1, "%d/1.jpg")...), []string{"22001 classes", "22000"}},
	} {
		for _, b := range [][]byte{c.files.tarOf(t, ""), c.files.zipOf(t, "")} {
			sourceError(t, []string{write(t, b, t.TempDir(), "set")}, c.words...)
		}
		if len(c.files) > 0 && len(c.files) < 100 {
			sourceError(t, []string{c.files.folder(t)}, c.words...)
		}
	}
	dir := t.TempDir()
	sourceError(t, []string{filepath.Join(dir, "none")}, "none: cannot read")
	sourceError(t, nil, "0 paths")
	sourceError(t, []string{write(t, []byte("hello"), dir, "file")}, "neither a folder nor a tar nor a zip")
}

func TestLinksInFoldersAreFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	there := fileSet{}.with("cats/1.jpg", "cats/2.jpg", "one.jpg").folder(t)
	dir := fileSet{}.with("dog/1.jpg", "dog/2.jpg").folder(t)
	must(t, os.Symlink(filepath.Join(there, "cats"), filepath.Join(dir, "cat")))
	must(t, os.Symlink(filepath.Join(there, "one.jpg"), filepath.Join(dir, "dog", "3.jpg")))
	must(t, os.Symlink(filepath.Join(there, "gone.jpg"), filepath.Join(dir, "dog", "4.jpg")))
	must(t, os.Symlink(dir, filepath.Join(dir, "dog", "loop")))
	s := openSource(t, dir)
	if len(s.Train)+len(s.Test) != 5 || fmt.Sprint(s.Classes) != "[cat dog]" {
		t.Errorf("%+v", s)
	}
	wantOther(t, s, "dog/4.jpg", "cannot be read: no such file")
	wantOther(t, s, "dog/loop", "a link to a folder that it is in")
}

func TestHostileNamesInArchivesAreNeverOpened(t *testing.T) {
	good := fileSet{}.with("a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg")
	dir := t.TempDir()
	for _, bad := range []string{"/etc/x.jpg", "../x.jpg", "a/../../x.jpg", "a/.."} {
		files := maps.Clone(good).with(bad)
		for _, path := range []string{write(t, files.tarOf(t, ""), dir, "s.tar"),
			write(t, files.zipOf(t, ""), dir, "s.zip")} {
			s := openSource(t, path)
			if len(s.Train)+len(s.Test) != 4 || len(s.Others) != 1 || s.Others[0].Name != bad ||
				!strings.Contains(s.Others[0].Why, "not opened") {
				t.Errorf("%q: %s", bad, others(s))
			}
		}
	}
	odd := "b/\xff\n.jpg"
	s := openSource(t, write(t, maps.Clone(good).with(odd).tarOf(t, ""), dir, "s.tar"))
	all := slices.Concat(s.Train, s.Test)
	i := slices.IndexFunc(all, func(p SourcePicture) bool { return p.Name == odd })
	if i < 0 {
		t.Fatalf("%s", labels(all))
	}
	if b, err := s.Read(all[i], nil); err != nil || string(b) != odd {
		t.Errorf("%q, %v", b, err)
	}
}

func TestMembersOfATarThatAreNotFilesAreListed(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	long := "a/" + strings.Repeat("long", 60) + ".jpg"
	add := func(h tar.Header, content string) {
		h.Size = int64(len(content))
		must(t, w.WriteHeader(&h))
		_, err := w.Write([]byte(content))
		must(t, err)
	}
	add(tar.Header{Name: "a/", Typeflag: tar.TypeDir}, "")
	add(tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}, "")
	add(tar.Header{Name: "a/1.jpg"}, "old")
	add(tar.Header{Name: "a/2.jpg", Typeflag: tar.TypeSymlink, Linkname: "1\n.jpg"}, "")
	add(tar.Header{Name: "a/3.jpg", Typeflag: tar.TypeLink, Linkname: "a/1.jpg"}, "")
	add(tar.Header{Name: "a/4.jpg", Typeflag: tar.TypeChar}, "")
	add(tar.Header{Name: long, Format: tar.FormatGNU}, "gnu")
	add(tar.Header{Name: "b" + long[1:], Format: tar.FormatPAX}, "pax")
	add(tar.Header{Name: "b/1.jpg"}, "one")
	add(tar.Header{Name: "./a//1.jpg"}, "newer")
	inner := fileSet{"2.jpg": "", "inner.tar": string(fileSet{}.with("deep.jpg").tarOf(t, ""))}
	add(tar.Header{Name: "b/in.tar"}, string(inner.tarOf(t, "")))
	must(t, w.Close())
	s := openSource(t, write(t, b.Bytes(), t.TempDir(), "s.tar"))
	contents := map[string]string{}
	for _, p := range slices.Concat(s.Train, s.Test) {
		got, err := s.Read(p, nil)
		must(t, err)
		contents[p.Name] = string(got)
	}
	want := map[string]string{"a/1.jpg": "newer", long: "gnu", "b" + long[1:]: "pax", "b/1.jpg": "one", "b/in/2.jpg": ""}
	if !maps.Equal(contents, want) {
		t.Errorf("pictures %q", contents)
	}
	wantOther(t, s, "a/1.jpg", "a later file of the archive has the same name")
	wantOther(t, s, "a/2.jpg", `a link to "1\n.jpg"`)
	wantOther(t, s, "a/3.jpg", "a link to a/1.jpg")
	wantOther(t, s, "a/4.jpg", "neither a file nor a folder")
	wantOther(t, s, "b/in/inner.tar", "a tar in a tar in a tar")
	if len(s.Others) != 5 {
		t.Errorf("others:\n%s", others(s))
	}
}

// A sparse file, as GNU tar --sparse writes it in its own format: the map of the pieces stands in the header.
func TestSparseMembersAreListed(t *testing.T) {
	file := fileSet{}.with("a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg").tarOf(t, "")
	head := fileSet{"a/0.jpg": ""}.tarOf(t, "")[:512]
	copy(head[257:], "ustar  \x00")
	head[156] = tar.TypeGNUSparse
	copy(head[124:], "00000000000\x00")
	copy(head[386:], "00000000000\x0000000000000\x00") // one piece, from 0, of no bytes
	copy(head[483:], "00000010000\x00")                // the size of the whole
	copy(head[148:], "        ")
	sum := 0
	for _, c := range head {
		sum += int(c)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	s := openSource(t, write(t, append(head, file...), t.TempDir(), "s.tar"))
	wantOther(t, s, "a/0.jpg", "sparse")
	if len(s.Train)+len(s.Test) != 4 {
		t.Errorf("%+v", s)
	}
}

func TestATarThatIsCutShortIsAnError(t *testing.T) {
	files := fileSet{"a/1.jpg": strings.Repeat("x", 700), "b/1.jpg": strings.Repeat("y", 700)}
	whole := files.tarOf(t, "") // b first: 512 + 1024 bytes each, and 1024 zeros
	for n := 512; n <= len(whole)-1024; n += 100 {
		after := "its start"
		if n >= 512+700 { // contents are whole without the zeros that fill the block
			after = "b/1.jpg"
		}
		if n >= 512+1024+512+700 {
			after = "a/1.jpg"
		}
		sourceError(t, []string{write(t, whole[:n], t.TempDir(), "s.tar")}, "s.tar: the tar is cut short after "+after)
	}
	sourceError(t, []string{write(t, whole[:len(whole)-1024], t.TempDir(), "s.tar")}, "cut short after a/1.jpg")
	broken := bytes.Clone(whole)
	copy(broken[512+1024:], "nonsense")
	sourceError(t, []string{write(t, broken, t.TempDir(), "s.tar")}, "damaged after b/1.jpg")
	for _, outer := range []fileSet{{"n01.tar": string(whole[:1000])}, {"n01.tar": string(whole[:10])}} {
		sourceError(t, []string{write(t, outer.tarOf(t, ""), t.TempDir(), "s.tar")}, "s.tar: n01.tar: the tar is cut short")
		sourceError(t, []string{outer.folder(t)}, "n01.tar")
	}
	cut := files.zipOf(t, "")
	sourceError(t, []string{write(t, cut[:len(cut)-30], t.TempDir(), "s.zip")}, "cannot be read as a zip")
}

func TestCompressedTarsSayHowToUnpackThem(t *testing.T) {
	dir := t.TempDir()
	files := fileSet{}.with("a/1.jpg", "b/1.jpg")
	for name, c := range map[string]struct{ start, command string }{
		"s.tgz":     {string(gz(t, files.tarOf(t, ""))), "`tar -xzf "},
		"s.tar":     {string(gz(t, files.tarOf(t, ""))), "`tar -xzf "},
		"s.tar.xz":  {"\xfd7zXZ\x00\x00", "`tar -xJf "},
		"s.tar.bz2": {"BZh91AY", "`tar -xjf "},
		"s.tar.zst": {"\x28\xb5\x2f\xfd", "`tar --zstd -xf "},
		"s.rar":     {"Rar!\x1a\x07\x00", "`unrar x "},
	} {
		sourceError(t, []string{write(t, []byte(c.start), dir, name)}, "unpack it first", c.command, name)
	}
	inner := fileSet{"n01.tar": string(gz(t, files.tarOf(t, "")))}
	sourceError(t, []string{write(t, inner.tarOf(t, ""), dir, "outer.tar")}, "n01.tar: compressed with gzip", "`tar -xzf")
}

func TestATarNextToItsFolderIsNotOpened(t *testing.T) {
	files := fileSet{}.with("train/a/1.jpg", "train/b/1.jpg", "val/a/1.jpg")
	files["train.tar"] = "anything"
	s := openSource(t, files.folder(t))
	if others(s) != "train.tar: not opened: the folder train is next to it\n" {
		t.Errorf("others:\n%s", others(s))
	}
}

func TestPicturesThatChangedSinceTheyWereListed(t *testing.T) {
	files := fileSet{}.with("a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg")
	dir := files.folder(t)
	s := openSource(t, dir)
	p := s.Train[0]
	path := filepath.Join(dir, filepath.FromSlash(p.Name))
	for _, b := range []string{"longer than it was", "short"} {
		must(t, os.WriteFile(path, []byte(b), 0o666))
		_, err := s.Read(p, nil)
		wantError(t, err, path+": ", "size changed")
	}
	must(t, os.Remove(path))
	_, err := s.Read(p, nil)
	if wantError(t, err, path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
	archive := write(t, files.tarOf(t, ""), t.TempDir(), "s.tar")
	s = openSource(t, archive)
	must(t, os.Truncate(archive, 1000))
	_, err = s.Read(s.Train[0], nil)
	wantError(t, err, "s.tar/"+s.Train[0].Name, "size changed")
}

func TestReadUsesTheBufferAndCanRunConcurrently(t *testing.T) {
	files := fileSet{}
	for i := range 200 {
		files[fmt.Sprintf("%d/%d.jpg", i%2, i)] = strings.Repeat("x", i)
	}
	dir := t.TempDir()
	for _, path := range []string{files.folder(t), write(t, files.tarOf(t, ""), dir, "t"),
		write(t, files.zipOf(t, ""), dir, "z"), files.nested(t).folder(t)} {
		s := openSource(t, path)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				buf := make([]byte, 100)
				for _, p := range s.Train {
					b, err := s.Read(p, buf)
					if err != nil || string(b) != files[p.Name] {
						t.Errorf("%s: %d bytes, %v", p.Name, len(b), err)
					}
					if p.Size > 0 && p.Size <= 100 && &b[0] != &buf[0] {
						t.Errorf("%s is not in the buffer", p.Name)
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestListingStopsWhenItIsCancelled(t *testing.T) {
	files := fileSet{}.with("a/1.jpg", "b/1.jpg")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{files.folder(t), write(t, files.tarOf(t, ""), t.TempDir(), "s.tar")} {
		if _, err := OpenSource(ctx, path); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// More tars in a folder than are kept open are read as well.
func TestAFolderOfManyTars(t *testing.T) {
	files := fileSet{}.with(several(3*openTars, "c%d/1.jpg")...).with(several(3*openTars, "c%d/2.jpg")...)
	s, whole := openSource(t, files.nested(t).folder(t)), openSource(t, files.folder(t))
	if s.Hash != whole.Hash || len(s.tree.open) != openTars {
		t.Errorf("%d open files, %d and %d pictures", len(s.tree.open), len(s.Train), len(s.Test))
	}
	for _, p := range s.Train {
		if b, err := s.Read(p, nil); err != nil || string(b) != p.Name[strings.IndexByte(p.Name, 'c'):] {
			t.Errorf("%s: %q, %v", p.Name, b, err)
		}
	}
}

var listPictures = flag.Int("list.pictures", 0, "list a generated folder and a generated tar of so many pictures")

// go test ./images -run Millions -list.pictures 1281167 -v
func TestListingMillions(t *testing.T) {
	if *listPictures == 0 {
		t.Skip("wants -list.pictures")
	}
	n, dir := *listPictures, t.TempDir()
	folder := filepath.Join(dir, "folder")
	name := func(i int) string { return fmt.Sprintf("n%08d/n%08d_%d.JPEG", i%1000, i%1000, i/1000) }
	path := filepath.Join(dir, "pictures.tar")
	f, err := os.Create(path)
	must(t, err)
	w := tar.NewWriter(f)
	var one string
	for i := range n {
		at := filepath.Join(folder, name(i))
		if i < 1000 {
			must(t, os.MkdirAll(filepath.Dir(at), 0o777))
		}
		if i%50_000 == 0 { // file systems bound the links to a file
			one = write(t, []byte("picture"), at)
		} else {
			must(t, os.Link(one, at))
		}
		must(t, w.WriteHeader(&tar.Header{Name: name(i), Size: 7, Mode: 0o644}))
		_, err := w.Write([]byte("picture"))
		must(t, err)
	}
	must(t, w.Close())
	must(t, f.Close())
	var hash string
	for _, p := range []string{folder, path} {
		start := time.Now()
		s := openSource(t, p)
		took := time.Since(start)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		t.Logf("%s: %d pictures in %.1f s, %d MB kept, %d MB from the system", p, len(s.Train)+len(s.Test), took.Seconds(),
			m.HeapAlloc>>20, m.HeapSys>>20)
		if hash != "" && hash != s.Hash {
			t.Error("the folder and the tar are different sources")
		}
		hash = s.Hash
	}
}
