package render

// Files takes the files of a document, by their names in a run folder. It handles its own errors: if a file cannot be
// written, the run continues without it. A *runlog.Run implements it.
type Files interface {
	Save(name string, data []byte)
}

// Document is a page whose tables and figures also become files: tables as CSV, Markdown and LaTeX, figures as SVG and
// PNG.
type Document struct {
	*Page
	files Files
}

// NewDocument starts a document. Without files it is the page alone.
func NewDocument(f Files, title, subtitle string) *Document {
	return &Document{NewPage(title, subtitle), f}
}

// Named is a table with the name of its files.
type Named struct {
	Name  string
	Table Table
}

// AddTables puts tables on the page, side by side if there is room, and into tables/.
func (d *Document) AddTables(ts ...Named) {
	var tables []Table
	for _, t := range ts {
		tables = append(tables, t.Table)
		d.SaveTable(t.Name, t.Table)
	}
	d.Tables(tables...)
}

// SaveTable puts a table into tables/ only.
func (d *Document) SaveTable(name string, t Table) {
	if d.files == nil {
		return
	}
	d.files.Save("tables/"+name+".csv", t.CSV())
	d.files.Save("tables/"+name+".md", t.Markdown())
	d.files.Save("tables/"+name+".tex", t.LaTeX())
}

// SaveCSV puts a table that only programs read into tables/.
func (d *Document) SaveCSV(name string, t Table) {
	if d.files != nil {
		d.files.Save("tables/"+name+".csv", t.CSV())
	}
}

// mostPanels is how many figures side by side a file still shows well.
const mostPanels = 24

// AddFigure puts figures, side by side, on the page and into figures/. An error is about drawing them.
func (d *Document) AddFigure(name, caption string, figs ...Figure) error {
	if err := d.Figure(caption, figs...); err != nil || d.files == nil {
		return err
	}
	figs = figs[:min(len(figs), mostPanels)]
	svg, err := SVG(figs...)
	if err != nil {
		return err
	}
	png, err := PNG(figs...)
	if err != nil {
		return err
	}
	d.files.Save("figures/"+name+".svg", svg)
	d.files.Save("figures/"+name+".png", png)
	return nil
}

// Save writes report.html.
func (d *Document) Save() { d.files.Save("report.html", d.Bytes()) }
