package engine

import (
	"cmp"
	"fmt"
	"sync"
)

// Pool opens each engine once and hands it out to all who ask. A GPU's memory is taken when its engine starts, so a
// second one of the same process would find none. The zero value is ready; a Pool is for use by several goroutines.
type Pool struct {
	mu     sync.Mutex
	asked  map[request]*Engine
	opened map[place]*Engine

	compiling sync.Mutex

	root *Pool // of a lane: the pool it belongs to, which has all of the above
	lane lane
}

// lane is one of several engines on one GPU.
type lane struct{ number, of int }

// request is an engine as it was asked for.
type request struct {
	name string
	lane lane
}

// place is where an engine was found.
type place struct {
	name, where string
	lane        lane // none for what is no GPU
}

// Lane returns lane number i of n, counted from 0, of the pool: engines on a GPU, each with its share of the memory,
// whose work overlaps. What is no GPU is one engine for all lanes. If a GPU has no memory for another lane, those after
// the first share the first one's engine.
func (p *Pool) Lane(i, n int) *Pool {
	if n < 2 {
		return p
	}
	return &Pool{root: p, lane: lane{i, n}}
}

// Open returns the engine that [Open] would. One that did not start is tried again when it is asked for again.
func (p *Pool) Open(name string) (*Engine, error) {
	root := p
	if p.root != nil {
		root = p.root
	}
	root.mu.Lock()
	defer root.mu.Unlock()
	return root.open(request{cmp.Or(name, Auto), p.lane})
}

func (p *Pool) open(r request) (*Engine, error) {
	if e := p.asked[r]; e != nil {
		return e, nil
	}
	e, err := openWith(func(f Finding) (*Engine, error) { return p.once(f, r.lane) }, r.name)
	if err != nil && r.lane.number > 0 {
		first, firstErr := p.open(request{r.name, lane{0, r.lane.of}})
		if firstErr != nil {
			return nil, err
		}
		same := *first
		same.Passed = []string{fmt.Sprintf("runs share an engine: there is no room for another: %s", firstLine(err))}
		e = &same
	} else if err != nil {
		return nil, err
	}
	if p.asked == nil {
		p.asked = map[request]*Engine{}
	}
	p.asked[r] = e
	return e, nil
}

// once opens what was found, or makes another Engine of the backend that is open already: what "auto" passed over is
// not for those who asked for an engine by its name.
func (p *Pool) once(f Finding, l lane) (*Engine, error) {
	at := place{f.Name, f.Where, lane{}}
	if isCUDA(f) {
		at.lane = l
	}
	if e := p.opened[at]; e != nil {
		same := *e
		same.Passed = nil
		return &same, nil
	}
	e, err := openShare(f, max(1, at.lane.of))
	if err != nil {
		return nil, err
	}
	e.compiling = &p.compiling
	if p.opened == nil {
		p.opened = map[place]*Engine{}
	}
	p.opened[at] = e
	return e, nil
}
