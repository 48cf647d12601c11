package pages

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/render"
)

// A page has the confusion matrix and every class of up to mostWhole classes; of more the most confused pairs and the
// worst classes, mostShown of each.
const (
	mostWhole = 20
	mostShown = 20
)

// classAnswers are the answers to the test images of one class.
type classAnswers struct {
	class, images, right int
	rival, rivals        int // the class that most of the others were taken for, and how many
}

func (c classAnswers) share() float64 { return float64(c.right) / float64(c.images) }

// byClass sums up a confusion matrix, without classes that have no images.
func byClass(a *command.TestAnswers) (out []classAnswers, right int) {
	all := make([]classAnswers, len(a.Classes))
	for _, c := range a.Counts {
		one := &all[c[0]]
		one.class, one.images = c[0], one.images+c[2]
		if c[0] == c[1] {
			one.right, right = one.right+c[2], right+c[2]
		} else if c[2] > one.rivals {
			one.rival, one.rivals = c[1], c[2]
		}
	}
	return slices.DeleteFunc(all, func(c classAnswers) bool { return c.images == 0 }), right
}

// confused are the pairs of different classes that have images, those with most images first.
func confused(a *command.TestAnswers) [][3]int {
	out := slices.DeleteFunc(slices.Clone(a.Counts), func(c [3]int) bool { return c[0] == c[1] || c[2] == 0 })
	slices.SortStableFunc(out, func(x, y [3]int) int { return cmp.Compare(y[2], x[2]) })
	return out
}

// readAnswers reads what the trained network answers to its test images; nil if the run has not stored it.
func readAnswers(f opened) (*command.TestAnswers, error) {
	var a command.TestAnswers
	err := f.ReadJSON(command.AnswersFile, maxStudy, &a)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command.AnswersFile, err)
	}
	return &a, nil
}

// addAnswers shows what the trained network answers to its test images, if that is known.
func addAnswers(d *render.Document, a *command.TestAnswers) error {
	if a == nil {
		return nil
	}
	classes, right := byClass(a)
	if len(classes) == 0 {
		return nil
	}
	d.Section("Test images, class by class")
	pairs := confused(a)
	text := fmt.Sprintf("%s of %s test images are classified correctly: %.2f %%.", render.Thousands(right),
		render.Thousands(a.Images), 100*float64(right)/float64(a.Images))
	if len(pairs) > 0 {
		top := pairs[0]
		k := slices.IndexFunc(classes, func(c classAnswers) bool { return c.class == top[0] })
		text += fmt.Sprintf(" The most frequent error: %s taken for %s, %d of %d.", a.Classes[top[0]], a.Classes[top[1]],
			top[2], classes[k].images)
	}
	d.Say("%s", text)
	worst := slices.Clone(classes)
	slices.SortStableFunc(worst, func(x, y classAnswers) int { return cmp.Compare(x.share(), y.share()) })
	each := render.Named{Name: "classes", Table: eachClass(a, worst[:min(len(worst), mostShown)])}
	if len(a.Classes) > mostWhole {
		d.SaveCSV("confusion", confusedTable(a, a.Counts)) // without its zeros
		each.Table.Title = fmt.Sprintf("The %d of %d classes with the lowest accuracy", len(each.Table.Rows),
			len(classes))
		table := confusedTable(a, pairs[:min(len(pairs), mostShown)])
		table.Title = "The most confused pairs"
		d.AddTables(render.Named{Name: "confused", Table: table}, each)
	} else {
		const title = "Predictions on the test images"
		matrix := render.Named{Name: "confusion", Table: confusionTable(title, a.Matrix(), a.Classes)}
		matrix.Table.Note = "Rows: true class. Columns: prediction. The stronger the colour, the larger the share of the " +
			"true class."
		if len(a.Classes) <= mostInTable {
			d.AddTables(matrix)
		} else {
			d.SaveTable(matrix.Name, matrix.Table)
			if err := d.AddFigure(matrix.Name, "Predictions on the images of each class: the stronger the colour of a square, "+
				"the larger its share.", confusionFigure(title, a.Matrix(), a.Classes)); err != nil {
				return err
			}
		}
		d.AddTables(each)
	}
	if err := d.AddFigure("classes", "Accuracy by class, the lowest first.", classFigure(a, worst)); err != nil {
		return err
	}
	addWrong(d, a)
	return nil
}

// eachClass has a row for each class.
func eachClass(a *command.TestAnswers, classes []classAnswers) render.Table {
	t := render.Table{Title: "Each class, the lowest accuracy first", Left: 2,
		Header: []string{"class", "most often taken for", "times", "images", "accuracy, %"}}
	for _, c := range classes {
		row := []render.Cell{render.Text("%s", a.Classes[c.class]), render.Text("–"), render.Text("–"),
			render.Number(float64(c.images), 0), render.Number(100*c.share(), 1)}
		if c.rivals > 0 {
			row[1], row[2] = render.Text("%s", a.Classes[c.rival]), render.Number(float64(c.rivals), 0)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// confusedTable has a row for each pair of a true class and an answer.
func confusedTable(a *command.TestAnswers, pairs [][3]int) render.Table {
	t := render.Table{Header: []string{"true class", "prediction", "images"}, Left: 2}
	for _, c := range pairs {
		t.Rows = append(t.Rows, []render.Cell{render.Text("%s", a.Classes[c[0]]), render.Text("%s", a.Classes[c[1]]),
			render.Number(float64(c[2]), 0)})
	}
	return t
}

// classFigure shows the accuracy by class: bars, or of many classes a curve.
func classFigure(a *command.TestAnswers, classes []classAnswers) render.Figure {
	if len(classes) > mostShown {
		var s render.Series
		for k, c := range classes {
			s.X, s.Y = append(s.X, float64(k+1)), append(s.Y, 100*c.share())
		}
		return render.Figure{Title: "Accuracy by class", X: "class, the lowest first", Y: "%",
			Series: []render.Series{s}}
	}
	fig := render.Figure{Title: "Accuracy by class", X: "%"}
	for _, c := range classes {
		fig.Bars = append(fig.Bars, render.Bar{Name: a.Classes[c.class], Value: 100 * c.share()})
	}
	return fig
}

// addWrong shows the wrong answers that the network was most sure of.
func addWrong(d *render.Document, a *command.TestAnswers) {
	var pictures []render.Picture
	for _, w := range a.Wrong {
		if len(w.Image) == 0 {
			continue
		}
		pictures = append(pictures, render.Picture{Title: "test image " + w.Picture, Data: w.Image, Lines: []string{
			fmt.Sprintf("%s, %.1f\u00a0%%", a.Classes[w.Answer], 100*w.Probability), "is " + a.Classes[w.Class]}})
	}
	if len(pictures) > 0 {
		d.Pictures("The most confident errors: the prediction with its probability, and the true class.", pictures...)
	}
}
