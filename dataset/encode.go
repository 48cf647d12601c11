package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/twofold"
)

const (
	// A column of numbers with some texts is one of categories if it has few values.
	fewValues = 30
	// A column of more texts than this is refused if they are more than a tenth of the examples, as names are.
	manyTexts = 100
	// Labels of more texts than this are refused if they are more than a quarter of the examples.
	manyClasses = 20
	// A table whose categories make it larger than this, in values, is refused.
	maxExpanded = 1 << 28
)

// set makes the set of all that was read.
func (p *frame) set() (*Set, error) {
	if p.n == 0 {
		return nil, &Error{Name: p.name, Msg: p.noExamples()}
	}
	s := &Set{Name: p.name, Y: p.y}
	if p.label != nil && p.label.missing == p.n && (p.opt.Like != nil || p.opt.Unlabeled) {
		p.label = nil
		clear(p.y)
	}
	s.Unlabeled = p.label == nil
	if p.label != nil {
		s.Label = p.cols[p.label.field]
	}
	check := p.settle
	if p.opt.Like != nil {
		check = p.settleLike
	}
	if err := check(); err != nil {
		return nil, err
	}
	if s.Encoding = p.opt.Like; s.Encoding == nil {
		s.Encoding = p.encoding()
	}
	if err := p.fits(s.Encoding); err != nil {
		return nil, err
	}
	p.expand(s)
	s.Features = p.rows.names(s.Encoding.Features())
	s.Notes = p.notes
	return s, nil
}

func (p *frame) noExamples() string {
	switch {
	case p.cols == nil:
		return noExamples
	case len(p.left) > 0:
		return fmt.Sprintf("no examples: each of the %d has a missing value: fill them in with --missing mean, or --drop "+
			"columns", len(p.left))
	}
	if !p.text {
		return "no examples: the file has columns and no rows"
	}
	return "no examples: there is a header and nothing below it"
}

// settle decides what columns hold that are read for the first time.
func (p *frame) settle() error {
	if p.label != nil {
		if err := p.settleLabels(); err != nil {
			return err
		}
	}
	var many, empty []*column
	for _, c := range p.feats {
		if p.uses[c.field].kind == texts {
			lots, err := p.settleTexts(c)
			if err != nil {
				return err
			}
			if lots {
				many = append(many, c)
			}
		}
		if c.missing == p.n {
			empty = append(empty, c)
		}
	}
	if len(many) > 0 {
		return p.tooManyTexts(many)
	}
	p.indexes()
	p.tellCategories()
	if len(empty) > 0 && (p.missing == MissingMean || len(empty) == len(p.feats)) {
		return &Error{Name: p.name, Msg: fmt.Sprintf("no values at all in %s %s: --drop %s", plural(len(empty), "column"),
			names(empty), p.dropped(empty))}
	}
	if p.missing == MissingMean || p.missing == MissingDrop {
		for _, c := range p.feats {
			c.fill = p.mean(c)
		}
	}
	return p.tellMissing()
}

// settleLabels decides what the labels are.
func (p *frame) settleLabels() error {
	c := p.label
	if c.missing > 0 {
		what := ""
		if p.opt.Label == "" && !strings.EqualFold(c.name, "label") {
			what = fmt.Sprintf("column %s was taken for the labels (--label NAME for another), and ", quoted(c.name))
		}
		return p.fail(c.missedAt, c.field, "%s%s missing: fill in labels, or leave out those examples with --missing drop",
			what, isAre(c.missing, "label"))
	}
	if c.codes == nil {
		return nil
	}
	words, all := 0, 0
	for _, y := range p.y {
		if all++; !isNumber([]byte(c.texts[int(y)])) {
			words++
		}
	}
	if c.near.line > 0 && !slices.ContainsFunc(c.texts, isWord) {
		return p.fail(c.near.place, c.field, "label: %s", notNumber(c.near.text))
	}
	if len(c.texts) > fewValues && all-words > words {
		return p.notNumbers(c, words, all)
	}
	if k := len(c.texts); k > max(manyClasses, len(p.y)/4) {
		return &Error{Name: p.name, Msg: fmt.Sprintf("column %s looks like no label: it has %d different texts in %s: "+
			"choose another with --label NAME, of %s", quoted(c.name), k, plural(len(p.y), "example"), some(p.cols))}
	}
	order := c.sort()
	for i, y := range p.y {
		p.y[i] = float64(order[int(y)])
	}
	return nil
}

// isWord reports whether a text was never meant as a number.
func isWord(s string) bool { return !isNumber([]byte(s)) && !nearNumber(s) }

// settleTexts decides whether a column with texts is one of categories. It reports whether there are too many.
func (p *frame) settleTexts(c *column) (many bool, err error) {
	count := make([]int, len(c.texts))
	for _, row := range p.rows.all() {
		if v := row[c.at]; v == v {
			count[int(v)]++
		}
	}
	words, all := 0, 0
	for k, text := range c.texts {
		if all += count[k]; !isNumber([]byte(text)) {
			words += count[k]
		}
	}
	if c.near.line > 0 && !slices.ContainsFunc(c.texts, isWord) {
		return false, p.fail(c.near.place, c.field, "%s", notNumber(c.near.text))
	}
	many = len(c.texts) > manyTexts && 10*len(c.texts) > p.n
	if few := 10*words <= all; len(c.texts) > fewValues && all-words > words && (few || !many) {
		return false, p.notNumbers(c, words, all)
	}
	if many {
		return true, nil
	}
	if p.missing == MissingMean && c.missing > 0 {
		p.makeAbsent(c)
	}
	order := c.sort()
	for _, row := range p.rows.all() {
		if v := row[c.at]; v == v {
			row[c.at] = float64(order[int(v)])
		}
	}
	return false, nil
}

// makeAbsent gives the missing values of a column of texts a category of their own: that they are missing may say much.
func (p *frame) makeAbsent(c *column) {
	c.absent = "missing"
	for _, ok := c.codes[c.absent]; ok; _, ok = c.codes[c.absent] {
		c.absent = "(" + c.absent + ")"
	}
	code := float64(c.enter(c.absent))
	for _, row := range p.rows.all() {
		if v := row[c.at]; v != v {
			row[c.at] = code
		}
	}
	p.note("%s in text column %s became a category", plural(c.missing, "missing value"), names([]*column{c}))
	c.missing = 0
}

// notNumbers is the error of a few texts in a column of numbers.
func (p *frame) notNumbers(c *column, words, all int) error {
	fix := "correct it"
	if decimalComma(c.first.text) {
		fix += ", decimals with a point"
	}
	if c == p.label {
		return p.fail(c.first.place, c.field, "label: %s is not a number in a column of numbers, where %d of %d are none: %s",
			quoted(c.first.text), words, all, fix)
	}
	return p.fail(c.first.place, c.field, "%s is not a number in a column of numbers, where %d of %d are none: %s, "+
		"or --drop %s", quoted(c.first.text), words, all, fix, p.dropped([]*column{c}))
}

// sort puts the texts in order and returns the place of each code in it.
func (c *column) sort() []int32 {
	by := make([]int32, len(c.texts))
	for k := range by {
		by[k] = int32(k)
	}
	slices.SortFunc(by, func(a, b int32) int { return strings.Compare(c.texts[a], c.texts[b]) })
	order, sorted := make([]int32, len(by)), make([]string, len(by))
	for place, k := range by {
		order[k], sorted[place] = int32(place), c.texts[k]
	}
	c.texts = sorted
	return order
}

// tooManyTexts is the error about columns that are names rather than categories.
func (p *frame) tooManyTexts(many []*column) error {
	var b strings.Builder
	for i, c := range many[:min(len(many), 5)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%d texts, such as %s)", quoted(c.name), len(c.texts), quoted(c.first.text))
	}
	return p.at(many[0].first.place, "%s with too many different texts for %s, %s, to be categories: leave out "+
		"with --drop %s", plural(len(many), "column"), plural(p.n, "example"), b.String(), p.dropped(many))
}

// indexes finds columns that count the examples. One without a name, which comes first when a program writes its row
// numbers, is taken out.
func (p *frame) indexes() {
	for k, c := range slices.Clone(p.feats) {
		if p.uses[c.field].kind != numbers || slices.Contains(p.opt.Columns, c.name) || !p.counts(c) {
			continue
		}
		switch {
		case k == 0 && c.field == 0 && (c.name == "" || c.name == "Unnamed: 0") && len(p.feats) > 1 &&
			!slices.Contains(p.cols[1:], c.name): // which could not be told from it
			if !p.text {
				p.note("column %s, the row numbers of pandas, is left out", pandasIndex)
			} else {
				p.note("the first column, which has no name and counts the examples, is left out")
			}
			p.feats = p.feats[1:]
		case p.n > 2:
			p.note("column %s counts the examples: --drop %s if that is no feature", quoted(c.name), p.dropped([]*column{c}))
		}
	}
}

// counts reports whether a column is 0, 1, … or 1, 2, … in the lines of the file.
func (p *frame) counts(c *column) bool {
	from := 0.0
	left := p.left
	line := 0
	for i, row := range p.rows.all() {
		for ; len(left) > 0 && left[0] == line; left = left[1:] {
			line++
		}
		v := row[c.at] - float64(line)
		if i == 0 {
			from = v
		}
		if v != from || from != 0 && from != 1 {
			return false
		}
		line++
	}
	return true
}

// tellCategories notes how many features the texts became.
func (p *frame) tellCategories() {
	var made []*column
	d := 0
	for _, c := range p.feats {
		if c.codes != nil {
			made = append(made, c)
			d += (&Column{Categories: c.texts}).width()
		}
	}
	switch {
	case len(made) == 1:
		p.note("text column %s became %s", names(made), plural(d, "feature"))
	case len(made) > 1:
		p.note("%d text columns (%s) became %s", len(made), names(made), plural(d, "feature"))
	}
}

// mean returns what stands for missing values: one number for each feature of a column.
func (p *frame) mean(c *column) []float64 {
	features := Column{Categories: c.texts}
	fill := make([]float64, features.width())
	n := float64(p.n - c.missing)
	if c.codes != nil {
		one := make([]float64, len(fill))
		for _, row := range p.rows.all() {
			if v := row[c.at]; v == v {
				features.put(one, v)
				for k := range fill {
					fill[k] += one[k]
				}
			}
		}
		for k := range fill {
			fill[k] /= n
		}
		return fill
	}
	var sum, small twofold.Sum // twice the precision: the order of the lines does not show
	for _, row := range p.rows.all() {
		if v := row[c.at]; v == v {
			sum.Add(v)
			small.Add(v / n)
		}
	}
	if fill[0] = sum.Value() / n; fill[0]-fill[0] != 0 { // the sum has overflowed
		fill[0] = small.Value()
	}
	return fill
}

// tellMissing notes what was done about missing values, or says what can be done.
func (p *frame) tellMissing() error {
	if len(p.left) > 0 {
		verb := "have missing values and are"
		if len(p.left) == 1 {
			verb = "has missing values and is"
		}
		p.note("%d of %s %s left out", len(p.left), plural(p.n+len(p.left), "example"), verb)
	}
	var lack []*column
	total, unfilled := 0, false
	var where *column
	for _, c := range p.feats {
		if c.missing == 0 {
			continue
		}
		lack = append(lack, c)
		total += c.missing
		if c.fill == nil {
			unfilled = true
			if where == nil || c.missedAt.line < where.missedAt.line {
				where = c
			}
		}
	}
	of := names(lack)
	by := "column " + of
	if of = by; len(lack) > 1 {
		of = fmt.Sprintf("%d columns (%s)", len(lack), names(lack))
		by = fmt.Sprintf("%d columns (%s)", len(lack), counted(lack))
	}
	switch {
	case total == 0:
		return nil
	case !unfilled:
		p.note("%s in %s %s filled in with the mean", plural(total, "missing value"), of, are(total))
		return nil
	case p.opt.Like != nil:
		return p.fail(where.missedAt, where.field,
			"%s in %s, and the model does not say what stands for them: fill them in, or "+
				"fit it with --missing mean", plural(total, "missing value"), of)
	}
	return p.fail(where.missedAt, where.field,
		"%s in %s: --missing mean fills them in, --missing drop leaves out %d of %s",
		plural(total, "missing value"), by, p.lacking, plural(p.n, "example"))
}

// settleLike checks what was read like another table.
func (p *frame) settleLike() error {
	if c := p.label; c != nil && c.missing > 0 && p.missing != MissingDrop {
		return p.fail(c.missedAt, c.field, "%s missing: fill in labels, or leave those lines out", isAre(c.missing, "label"))
	}
	for _, c := range p.feats {
		if c.unknown > 0 {
			p.note("%s in column %s, such as %s, not seen in training: the mean of the training data stands for %s",
				plural(c.unknown, "value"), names([]*column{c}), quoted(c.example),
				map[bool]string{true: "it", false: "them"}[c.unknown == 1])
		}
	}
	if c := p.label; c != nil && c.missing > 0 {
		if c.missing == p.n {
			return &Error{Name: p.name, Msg: p.noExamples()}
		}
		p.note("%s without a label %s left out", plural(c.missing, "example"), are(c.missing))
	}
	return p.tellMissing()
}

// encoding says what became of the columns.
func (p *frame) encoding() *Encoding {
	e := &Encoding{NoHeader: p.opt.NoHeader, Missing: p.missing}
	if e.Missing == MissingError {
		e.Missing = ""
	}
	if e.NoHeader {
		e.Width = len(p.cols)
	}
	if c := p.label; c != nil {
		e.Label, e.Classes = c.name, c.texts
		if e.Label == "" {
			e.Label = strconv.Itoa(c.field + 1)
		}
	}
	for _, c := range p.feats {
		e.Columns = append(e.Columns, Column{Name: c.name, Categories: c.texts, Absent: c.absent, Fill: c.fill})
	}
	return e
}

// fits refuses tables that categories would make larger than a memory.
func (p *frame) fits(e *Encoding) error {
	d := e.width()
	if d <= 2*len(p.feats) || p.n <= maxExpanded/d {
		return nil
	}
	widest := slices.MaxFunc(p.feats, func(a, b *column) int { return len(a.texts) - len(b.texts) })
	return &Error{Name: p.name, Msg: fmt.Sprintf("%s with %d features are too many, and %d are the texts in column %s: "+
		"--drop %s", plural(p.n, "example"), d, len(widest.texts), quoted(widest.name), p.dropped([]*column{widest}))}
}

// expand makes the matrix of the cells. Where they are the features already, nothing is copied.
func (p *frame) expand(s *Set) {
	e := s.Encoding
	same := len(p.feats) == p.rows.features && (p.label == nil || p.label.missing == 0)
	for _, c := range p.feats {
		same = same && len(c.texts) != 1 && len(c.texts) < 3 && c.missing == 0 && c.unknown == 0
	}
	if same {
		s.X = p.rows.dense()
		return
	}
	out := newTable(e.width(), p.opt)
	y := p.y[:0]
	for i, row := range p.rows.all() {
		if p.y[i] != p.y[i] {
			continue
		}
		y = append(y, p.y[i])
		dst := out.row()
		for k, c := range p.feats {
			w := e.Columns[k].width()
			e.Columns[k].put(dst[:w], row[c.at])
			dst = dst[w:]
		}
	}
	p.rows, s.Y = out, y
	s.X = out.dense()
}

// names lists columns in a sentence.
func names(columns []*column) string {
	var list []string
	for i, c := range columns {
		if i == 5 {
			list = append(list, "…")
			break
		}
		list = append(list, plain(c.name))
	}
	return strings.Join(list, ", ")
}

// counted lists columns with the numbers of their missing values.
func counted(columns []*column) string {
	var list []string
	for i, c := range columns {
		if i == 5 {
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprintf("%s %d", plain(c.name), c.missing))
	}
	return strings.Join(list, ", ")
}

// plain is a name as it is if it can stand in a sentence, else in quotes.
func plain(name string) string {
	odd := func(r rune) bool { return strings.ContainsRune(" ,;:()'\"`", r) || r < ' ' || !strconv.IsPrint(r) }
	if name == "" || len(name) > 40 || strings.ContainsFunc(name, odd) {
		return quoted(name)
	}
	return name
}

// dropped is what to write after --drop, as a shell takes it.
func (p *frame) dropped(columns []*column) string {
	list := make([]string, len(columns))
	quotes := ""
	for i, c := range columns {
		list[i] = c.name
		if odd := func(r rune) bool {
			return strings.ContainsRune(",\"'`$!\\", r) || !strconv.IsPrint(r)
		}; c.name == "" || strings.ContainsFunc(c.name, odd) {
			list[i] = strconv.Itoa(c.field + 1)
		}
		if strings.ContainsAny(list[i], " ;&|<>()[]{}*?#~") {
			quotes = `"`
		}
	}
	return quotes + strings.Join(list, ",") + quotes
}

// plural is a number and its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func isAre(n int, noun string) string { return plural(n, noun) + " " + are(n) }
