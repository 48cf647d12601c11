package cpu

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Fallbacks is the environment variable that asks for a list of the operations that run on GoMLX's engine. It is read
// when an engine starts. With "1" each graph that has such operations writes a table to standard error, with time and
// count, after its first run and after 10, 100, 1000 and so on. With "all" every graph lists all of its steps.
const Fallbacks = "BREGMAN_CPU_FALLBACKS"

// label says what a step does.
type label struct {
	op        string
	shape     string
	elsewhere bool // on GoMLX's engine
}

// trace measures the steps of a graph.
type trace struct {
	out    io.Writer
	graph  string
	all    bool
	labels []label
	spent  []time.Duration
	total  time.Duration
	runs   int
	next   int // the run after which the table is written
}

// newTrace returns nil when there is nothing to tell.
func (b *Backend) newTrace(graph string, labels []label) *trace {
	if b.fallbacks == "" || b.fallbacks == "0" {
		return nil
	}
	all := b.fallbacks == "all"
	if !all && !slices.ContainsFunc(labels, func(l label) bool { return l.elsewhere }) {
		return nil
	}
	return &trace{out: b.traceOut, graph: graph, all: all, labels: labels, spent: make([]time.Duration, len(labels)),
		next: 1}
}

func readFallbacks() (string, error) {
	switch v := os.Getenv(Fallbacks); v {
	case "", "0", "1", "all":
		return v, nil
	default:
		return "", fmt.Errorf("%s=%s: want 1 for operations on GoMLX's engine, or all for every step", Fallbacks, v)
	}
}

// run measures a step.
func (t *trace) run(i int, s step, x *execution) error {
	start := time.Now()
	err := s.run(x)
	t.spent[i] += time.Since(start)
	return err
}

// finished counts a run of the graph, and writes the table if it is time.
func (t *trace) finished(took time.Duration) {
	t.total += took
	t.runs++
	if t.runs == t.next {
		t.next *= 10
		t.write()
	}
}

func (t *trace) write() {
	type row struct {
		label
		count int
		spent time.Duration
	}
	rows := map[label]*row{}
	var list []*row
	var elsewhere time.Duration
	count := 0
	for i, l := range t.labels {
		if l.elsewhere {
			elsewhere += t.spent[i]
			count++
		} else if !t.all {
			continue
		}
		r := rows[l]
		if r == nil {
			r = &row{label: l}
			rows[l], list = r, append(list, r)
		}
		r.count++
		r.spent += t.spent[i]
	}
	slices.SortStableFunc(list, func(a, b *row) int { return int(b.spent - a.spent) })
	per := func(d time.Duration) string { return fmt.Sprintf("%.3f ms", 1e3*d.Seconds()/float64(t.runs)) }
	var text strings.Builder
	fmt.Fprintf(&text, "engine %s: graph %q, %d runs of %s each, %s of it in %d operations on GoMLX's engine:\n", Name,
		t.graph, t.runs, per(t.total), per(elsewhere), count)
	w := tabwriter.NewWriter(&text, 2, 0, 2, ' ', 0)
	for _, r := range list {
		where := ""
		if t.all && r.elsewhere {
			where = "GoMLX's engine"
		}
		fmt.Fprintf(w, "  %s\t%s\t%d×\t%s\t%s\n", r.op, r.shape, r.count, per(r.spent), where)
	}
	_ = w.Flush()
	_, _ = io.WriteString(t.out, text.String())
}

// label names the operations of a program.
func (p *program) label(g *group) label {
	counts := map[string]int{}
	var names []string
	add := func(name string) {
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for i := range p.instrs {
		add(p.instrs[i].node.op.String())
	}
	for _, s := range p.sums {
		add(s.r.op.String())
	}
	slices.Sort(names)
	return label{op: "program: " + strings.Join(names, " "), shape: fmt.Sprintf("%d×%d×%d", p.outer, p.rows, p.inner)}
}
