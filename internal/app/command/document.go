package command

import (
	"github.com/bregman-ml/bregman/internal/app/render"
	"github.com/bregman-ml/bregman/runlog"
)

// Document writes a run's report: what goes onto the page also goes into the run folder,
// tables as CSV, Markdown and LaTeX, figures as SVG and PNG. A file that cannot be written costs that file and not the
// run.
type Document struct {
	*render.Page
	Run *runlog.Run
}

// NewDocument starts the report of a run.
func NewDocument(run *runlog.Run, title, subtitle string) Document {
	return Document{render.NewPage(title, subtitle), run}
}

// Named is a table with the name of its files.
type Named struct {
	Name  string
	Table render.Table
}

// AddTables puts tables on the page, side by side if there is room, and into tables/.
func (d Document) AddTables(ts ...Named) {
	var tables []render.Table
	for _, t := range ts {
		tables = append(tables, t.Table)
		d.SaveTable(t.Name, t.Table)
	}
	d.Tables(tables...)
}

// SaveTable puts a table into tables/ only.
func (d Document) SaveTable(name string, t render.Table) {
	d.Run.Save("tables/"+name+".csv", t.CSV())
	d.Run.Save("tables/"+name+".md", t.Markdown())
	d.Run.Save("tables/"+name+".tex", t.LaTeX())
}

// AddFigure puts figures, side by side, on the page and into figures/. An error is that of drawing them.
func (d Document) AddFigure(name, caption string, figs ...render.Figure) error {
	svg, err := render.SVG(figs...)
	if err != nil {
		return err
	}
	png, err := render.PNG(figs...)
	if err != nil {
		return err
	}
	if err := d.Page.Figure(caption, figs...); err != nil {
		return err
	}
	d.Run.Save("figures/"+name+".svg", svg)
	d.Run.Save("figures/"+name+".png", png)
	return nil
}

// Save writes report.html.
func (d Document) Save() { d.Run.Save("report.html", d.Page.Bytes()) }
