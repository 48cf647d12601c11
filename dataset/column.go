package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// column is a column of a table that is used.
type column struct {
	name  string
	field int     // which of the file, from 0
	at    int     // which cell of a row; inY: it is the labels
	like  *Column // as it was read before; nil: it is read for the first time

	codes map[string]int32 // code of a text, also as it stands in the file; nil: the column has numbers
	texts []string         // by code
	first spot             // the first that is not a number
	near  spot             // the first that was meant as a number: inf, 1e999, 1,5

	missing  int
	missedAt place
	absent   string // the category of missing values; "": they have none
	unknown  int    // values that are none of the categories of like
	example  string // one of them
	fill     []float64
}

// spot is a text and where it stands.
type spot struct {
	place
	text string
}

// choose decides which column holds the labels and which are features.
func (p *frame) choose() error {
	opt, cols := p.opt, p.cols
	if len(cols) < 2 && !opt.Unlabeled {
		if !p.text {
			return p.wrong("only one column: want features and a label")
		}
		return p.wrong("only one column: a CSV has features and a label, parted by commas, semicolons or tabs")
	}
	if p.allNumbers() && !slices.Contains(cols, opt.Label) {
		return p.headerMissing()
	}
	drop, err := p.named("--drop", opt.Drop)
	if err != nil {
		return err
	}
	only, err := p.named("--columns", opt.Columns)
	if err != nil {
		return err
	}
	for i := range cols {
		if drop[i] && only[i] {
			return p.wrong("column %s is named by --columns and by --drop: choose one", quoted(cols[i]))
		}
	}
	label, err := p.findLabel(drop, only)
	if err != nil {
		return err
	}
	for i := range cols {
		if i == label {
			p.label = p.use(i, inY)
		} else if !drop[i] && (only == nil || only[i]) {
			p.feats = append(p.feats, p.use(i, len(p.feats)))
		}
	}
	for i, name := range cols {
		if label >= 0 && i != label && name != "" && name == cols[label] && p.used[i] != nil {
			return p.calledAlike(min(i, label), max(i, label))
		}
	}
	first := map[string]int{}
	for i, name := range cols { // who reads alike finds columns by name
		if j, ok := first[name]; ok && (p.used[i] == nil) != (p.used[j] == nil) {
			return p.calledAlike(j, i)
		}
		first[name] = i
	}
	if len(p.feats) == 0 {
		return p.wrong("no features: no column is left besides the label")
	}
	p.doubtHeader()
	return nil
}

// use makes a column of the file part of the table.
func (p *frame) use(field, at int) *column {
	c := &column{name: p.cols[field], field: field, at: at}
	p.used[field], p.uses[field] = c, use{numbers, int32(at)}
	return c
}

// find returns the columns of a name, else the one whose number it is.
func (p *frame) find(name string) (found []int) {
	for i, c := range p.cols {
		if c == name || c == "" && name == pandasIndex && !p.text {
			found = append(found, i)
		}
	}
	if k, err := strconv.Atoi(name); found == nil && err == nil && k >= 1 && k <= len(p.cols) {
		found = []int{k - 1}
	}
	return found
}

// named returns which columns an option names; nil for none.
func (p *frame) named(flag string, names []string) (map[int]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	is := map[int]bool{}
	for _, name := range names {
		found := p.find(name)
		if found == nil {
			return nil, p.wrong("%s: no column %s: choose among %s", flag, quoted(name), some(p.cols))
		}
		for _, i := range found {
			is[i] = true
		}
	}
	return is, nil
}

// findLabel returns the label's column: the one asked for, else the one called "label", else the last, or −1 for none.
func (p *frame) findLabel(drop, only map[int]bool) (int, error) {
	want := p.opt.Label
	if want != "" {
		return p.labelCalled(want, drop, only)
	}
	found := -1
	for i, c := range p.cols {
		if strings.EqualFold(c, "label") && !drop[i] && !only[i] {
			if found >= 0 {
				return 0, p.calledAlike(found, i)
			}
			found = i
		}
	}
	if found >= 0 || p.opt.Unlabeled {
		return found, nil
	}
	for found = len(p.cols) - 1; found >= 0; found-- {
		if !drop[found] && !only[found] {
			which := "the last one"
			if found < len(p.cols)-1 {
				which = "the last one that is no feature"
			}
			p.note("labels are in column %s, %s (--label NAME for another)", quoted(p.cols[found]), which)
			return found, nil
		}
	}
	return 0, p.wrong("no column is left for the label: name fewer with --columns or --drop")
}

// labelCalled returns the column of labels that --label names.
func (p *frame) labelCalled(want string, drop, only map[int]bool) (int, error) {
	found := p.find(want)
	switch {
	case found == nil:
		return 0, p.wrong("no column %s for the label: choose one of %s", quoted(want), some(p.cols))
	case len(found) > 1:
		return 0, p.calledAlike(found[0], found[1])
	case drop[found[0]]:
		return 0, p.wrong("column %s is named by --label and by --drop: choose one", quoted(want))
	case only[found[0]]:
		return 0, p.wrong("column %s is named by --label and by --columns: choose one", quoted(want))
	}
	if name := p.cols[found[0]]; name != want { // it is known by its name to who reads alike
		for i, c := range p.cols {
			if c == name && i != found[0] {
				return 0, p.calledAlike(min(i, found[0]), max(i, found[0]))
			}
		}
	}
	return found[0], nil
}

func (p *frame) calledAlike(i, j int) error {
	return p.wrong("fields %d and %d are both called %s: rename one", i+1, j+1, quoted(p.cols[i]))
}

// doubtHeader notes names that look like data. Numbers that count up are names, such as those of years or pixels.
func (p *frame) doubtHeader() {
	if p.opt.NoHeader || !p.text {
		return
	}
	var last, example string
	for _, c := range p.cols {
		if !isNumber([]byte(c)) {
			continue
		}
		k, err := strconv.Atoi(c)
		if before, _ := strconv.Atoi(last); err != nil || last != "" && k != before+1 {
			example = c
		}
		last = c
	}
	if example != "" {
		p.note("the first line, with names such as %s, is taken for the header (--no-header if it is data)", quoted(example))
	}
}

// chooseLike finds the columns of a table that was read before.
func (p *frame) chooseLike() error {
	e := p.opt.Like
	label, err := p.labelLike()
	if err != nil {
		return err
	}
	places := map[string][]int{}
	for i, name := range p.cols {
		if i != label {
			places[name] = append(places[name], i)
		}
	}
	if e.NoHeader {
		if places, err = p.numbered(label); err != nil {
			return err
		}
	}
	var missing []string
	for i := range e.Columns {
		name := e.Columns[i].Name
		found := places[name]
		if len(found) == 0 {
			missing = append(missing, name)
			continue
		}
		places[name] = found[1:]
		c := p.use(found[0], i)
		c.name, c.like, c.fill = name, &e.Columns[i], e.Columns[i].Fill
		c.learn(c.like.Categories)
		if c.texts != nil {
			p.uses[c.field].kind = texts
		}
		p.feats = append(p.feats, c)
	}
	switch {
	case len(missing) > 0 && p.allNumbers():
		return p.headerMissing()
	case len(missing) > 0 && label >= 0 && slices.Contains(missing, p.cols[label]):
		return p.wrong("column %s is a feature of the model: name another column of labels with --label",
			quoted(p.cols[label]))
	case len(missing) > 0:
		return p.wrong("no columns %s, which the model needs: the file has %s", some(missing), some(p.cols))
	}
	if label >= 0 {
		p.label = p.use(label, inY)
		p.label.like = &Column{Name: e.Label, Categories: e.Classes}
		if p.label.learn(e.Classes); p.label.texts != nil {
			p.uses[label].kind = texts
		}
	}
	return nil
}

// labelLike returns the column of labels of a table that is read like another, or −1 if it has none.
func (p *frame) labelLike() (int, error) {
	e := p.opt.Like
	switch {
	case p.opt.Unlabeled:
		return -1, nil
	case p.opt.Label != "":
		return p.labelCalled(p.opt.Label, nil, nil)
	case e.Label == "" || e.NoHeader && len(p.cols) < e.Width:
		return -1, nil
	}
	found := p.find(e.Label)
	if len(found) == 0 || !e.NoHeader && p.cols[found[0]] != e.Label && p.cols[found[0]] != "" { // "" has a number only
		return -1, nil
	}
	return found[len(found)-1], nil
}

// numbered returns the places of the columns of a table without a header, which may lack that of the labels.
func (p *frame) numbered(label int) (map[string][]int, error) {
	e := p.opt.Like
	places := map[string][]int{}
	shift := 0
	skip, _ := strconv.Atoi(e.Label)
	switch len(p.cols) {
	case e.Width:
		skip = 0
	case e.Width - 1:
		if shift = 1; skip == 0 || p.opt.Label != "" {
			shift = -1
		}
	default:
		shift = -1
	}
	if shift < 0 {
		return nil, p.wrong("%d columns, but the table of the model has %d: without a header columns are known by "+
			"their place", len(p.cols), e.Width)
	}
	for k := 1; k <= e.Width; k++ {
		i := k - 1
		switch {
		case k == skip:
			continue
		case skip > 0 && k > skip:
			i -= shift
		}
		if i != label {
			places[strconv.Itoa(k)] = []int{i}
		}
	}
	return places, nil
}

// learn makes texts the dictionary of the column.
func (c *column) learn(texts []string) {
	if len(texts) == 0 {
		return
	}
	c.texts, c.codes = texts, make(map[string]int32, len(texts))
	for i, s := range texts {
		c.codes[s] = int32(i)
	}
}

// knows reports whether a text is in the dictionary.
func (c *column) knows(tok []byte) bool {
	if _, ok := c.codes[string(tok)]; ok {
		return true
	}
	_, ok := c.codes[canonical(tok)]
	return ok
}

// strange counts a value that is none of the categories.
func (c *column) strange(tok []byte) {
	if c.unknown++; c.example == "" {
		c.example = canonical(tok)
	}
}

// canonical is the text of a category: a number in its shortest form, so that 1, 1.0 and "1" are one.
func canonical(tok []byte) string {
	if v, n, ok := scanFloat(tok); ok && n == len(tok) {
		return number(v)
	}
	return valid(string(tok))
}

func number(v float64) string { return strconv.FormatFloat(v+0, 'g', -1, 64) } // −0 is 0

// code returns the cell of a text that is not a number, or stands in a column of texts.
func (p *frame) code(c *column, tok []byte, where place) (float64, error) {
	if k, ok := c.codes[string(tok)]; ok {
		return float64(k), nil
	}
	if isMissing(tok) {
		if c.like != nil && c.like.Absent != "" {
			return float64(c.codes[c.like.Absent]), nil
		}
		p.missed(c, where)
		return nan, nil
	}
	if c.like != nil {
		return p.codeLike(c, tok, where)
	}
	text := canonical(tok)
	if !isNumber(tok) {
		if c.first.line == 0 {
			c.first = spot{where, text}
		}
		if c.near.line == 0 && nearNumber(text) {
			c.near = spot{where, text}
		}
	}
	if c.codes == nil {
		if err := p.toTexts(c); err != nil {
			return 0, err
		}
	}
	k := c.enter(text)
	if c.codes[string(tok)] = k; k >= maxTexts {
		return 0, p.settleNow(c)
	}
	return float64(k), nil
}

// maxTexts is how many texts a dictionary may hold. So many categories would make any table too large, as there are at
// least as many examples.
const maxTexts = 1 << 15

// settleNow is the error about a column with more texts than a table could have, from what has been read of it.
func (p *frame) settleNow(c *column) error {
	if err := p.settle(); err != nil {
		return err
	}
	return p.fail(c.first.place, c.field, "more than %d different texts, such as %s: --drop %s", maxTexts,
		quoted(c.first.text), p.dropped([]*column{c}))
}

// codeLike is code for a text that is new in a table that is read like another.
func (p *frame) codeLike(c *column, tok []byte, where place) (float64, error) {
	if c.texts == nil {
		msg := notNumber(string(tok))
		if c == p.label {
			msg = "label: " + msg
		}
		return 0, p.fail(where, c.field, "%s", msg)
	}
	text := canonical(tok)
	if k, ok := c.codes[text]; ok {
		c.codes[string(tok)] = k
		return float64(k), nil
	}
	switch {
	case c == p.label:
		return 0, p.fail(where, c.field, "label %s is none of the classes of the model: %s", quoted(text), some(c.texts))
	case c.fill == nil:
		return 0, p.fail(where, c.field, "%s is none of the categories of the model: %s", quoted(text), some(c.texts))
	}
	c.strange(tok)
	return nan, nil
}

// enter returns the code of a text, a new one if need be.
func (c *column) enter(text string) int32 {
	k, ok := c.codes[text]
	if !ok {
		k = int32(len(c.texts))
		c.texts = append(c.texts, text)
		c.codes[text] = k
	}
	return k
}

// toTexts makes a column of numbers one of codes.
func (p *frame) toTexts(c *column) error {
	c.codes = map[string]int32{}
	p.uses[c.field].kind = texts
	known := map[float64]float64{}
	recode := func(v float64) float64 {
		if v != v {
			return v
		}
		k, ok := known[v]
		if !ok {
			k = float64(c.enter(number(v)))
			known[v] = k
		}
		return k
	}
	if c == p.label {
		for i, v := range p.y {
			p.y[i] = recode(v)
			if len(c.texts) > maxTexts {
				return p.notNumbers(c, 1, p.n+1)
			}
		}
		return nil
	}
	for i, row := range p.rows.all() {
		if i < p.n { // the last is still being read
			row[c.at] = recode(row[c.at])
			if len(c.texts) > maxTexts {
				return p.notNumbers(c, 1, p.n+1-c.missing)
			}
		}
	}
	return nil
}

// missed counts a missing value.
func (p *frame) missed(c *column, where place) {
	if c.missing++; c.missing == 1 {
		c.missedAt = where
	}
	if p.lacks != p.line {
		p.lacks = p.line
		p.lacking++
	}
}

// nearNumber reports whether a text was meant as a number, but is not finite or has a decimal comma.
func nearNumber(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && v-v != 0 || errors.Is(err, strconv.ErrRange) && decimal(s) || decimalComma(s)
}

// decimalComma reports whether a text is a number with commas.
func decimalComma(s string) bool {
	return strings.Contains(s, ",") && isNumber([]byte(strings.ReplaceAll(s, ",", "")))
}

// note adds a sentence for the console and the report.
func (p *frame) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}
