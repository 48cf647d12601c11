package pages

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// kept are the files of a page.
type kept map[string][]byte

func (k kept) Save(name string, data []byte) { k[name] = data }

// answersOf are answers to ten images of each of n classes: image i of class k is right if i > k mod 10, else it is
// taken for the next class.
func answersOf(n int) *command.TestAnswers {
	a := &command.TestAnswers{Images: 10 * n}
	for k := range n {
		a.Classes = append(a.Classes, fmt.Sprintf("class <%d>", k))
		wrong := k % 10
		a.Counts = append(a.Counts, [3]int{k, k, 10 - wrong})
		if wrong > 0 {
			a.Counts = append(a.Counts, [3]int{k, (k + 1) % n, wrong})
		}
	}
	a.Wrong = []command.WrongAnswer{{Picture: "7", Class: 1, Answer: 2 % n, Probability: 0.987,
		Image: []byte("\x89PNG\r\n\x1a\n")}}
	return a
}

// answersPage writes the part of a page that is of these answers.
func answersPage(t *testing.T, data []byte) (string, kept, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(command.AnswersFile))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if data != nil {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := runlog.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	files := kept{}
	doc := render.NewDocument(files, "t", "")
	answers, err := readAnswers(opened{folder, dir})
	if err == nil {
		err = addAnswers(doc, answers)
	}
	return string(doc.Bytes()), files, err
}

func TestAPageShowsTheConfusionMatrixOrItsWorstPairs(t *testing.T) {
	for _, n := range []int{2, 15, 300} {
		a := answersOf(n)
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		page, files, err := answersPage(t, data)
		if err != nil {
			t.Fatalf("%d classes: %v", n, err)
		}
		right := 0
		for _, c := range a.Counts {
			if c[0] == c[1] {
				right += c[2]
			}
		}
		if want := fmt.Sprintf("%s of %s test images are classified correctly: %.2f %%", render.Thousands(right),
			render.Thousands(a.Images), 100*float64(right)/float64(a.Images)); !strings.Contains(page, want) {
			t.Errorf("%d classes: no %q", n, want)
		}
		rows, err := csv.NewReader(bytes.NewReader(files["tables/confusion.csv"])).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		diagonal, sum := 0, 0
		add := func(same bool, cell string) {
			v, err := strconv.Atoi(cell)
			if err != nil {
				t.Fatal(err)
			}
			if sum += v; same {
				diagonal += v
			}
		}
		for i, row := range rows[1:] {
			if n > mostWhole {
				add(row[0] == row[1], row[2])
				continue
			}
			for j, cell := range row[1:] {
				add(i == j, cell)
			}
		}
		if diagonal != right || sum != a.Images {
			t.Errorf("%d classes: %d of %d, want %d of %d", n, diagonal, sum, right, a.Images)
		}
		if got := strings.Contains(page, "The most confused pairs"); got != (n > mostWhole) {
			t.Errorf("%d classes: pairs %v", n, got)
		}
		if !strings.Contains(page, `src="data:image/png;base64,`) || strings.Contains(page, "class <") ||
			!strings.Contains(page, "98.7\u00a0%") || files["figures/classes.svg"] == nil {
			t.Errorf("%d classes: the wrong pictures or the figure are missing", n)
		}
		if size := len(page); size > 400_000 {
			t.Errorf("%d classes: a page of %d bytes", n, size)
		}
	}
}

func TestAPageOfAnOlderRunHasNoAnswers(t *testing.T) {
	if page, files, err := answersPage(t, nil); err != nil || len(files) > 0 || strings.Contains(page, "class by class") {
		t.Errorf("%v, %d files", err, len(files))
	}
	for _, text := range []string{"{", `{"images":3,"classes":["a","b"],"counts":[[0,2,3]]}`, `{"images":3,"counts":[]}`,
		`{"images":0,"classes":["a"],"wrong":[{"class":4}]}`} {
		if _, _, err := answersPage(t, []byte(text)); err == nil || !strings.Contains(err.Error(), command.AnswersFile) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What Check lets through can be summed up.
func FuzzAnswers(f *testing.F) {
	for _, n := range []int{2, 30} {
		data, err := json.Marshal(answersOf(n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a command.TestAnswers
		if json.Unmarshal(data, &a) != nil || a.Check() != nil {
			return
		}
		classes, right := byClass(&a)
		wrong := 0
		for _, pair := range confused(&a) {
			wrong += pair[2]
		}
		if right+wrong != a.Images {
			t.Errorf("%d right and %d wrong of %d", right, wrong, a.Images)
		}
		if len(a.Classes) <= mostWhole {
			a.Matrix()
		}
		eachClass(&a, classes)
	})
}
