package engine

import (
	"cmp"
	"sync"
)

// Pool opens each engine once and hands it out to all who ask. A GPU's memory is taken when its engine starts, so a
// second one of the same process would find none. The zero value is ready; a Pool is for use by several goroutines.
type Pool struct {
	mu     sync.Mutex
	byName map[string]*Engine // as they were asked for
	opened map[place]*Engine
}

// place is where an engine was found.
type place struct{ name, where string }

// Open returns the engine that [Open] would. One that did not start is tried again when it is asked for again.
func (p *Pool) Open(name string) (*Engine, error) {
	name = cmp.Or(name, Auto)
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.byName[name]; e != nil {
		return e, nil
	}
	e, err := openWith(p.once, name)
	if err != nil {
		return nil, err
	}
	if p.byName == nil {
		p.byName = map[string]*Engine{}
	}
	p.byName[name] = e
	return e, nil
}

// once opens what was found, or makes another Engine of the backend that is open already: what "auto" passed over is
// not for those who asked for an engine by its name.
func (p *Pool) once(f Finding) (*Engine, error) {
	at := place{f.Name, f.Where}
	if e := p.opened[at]; e != nil {
		same := *e
		same.Passed = nil
		return &same, nil
	}
	e, err := open(f)
	if err != nil {
		return nil, err
	}
	if p.opened == nil {
		p.opened = map[place]*Engine{}
	}
	p.opened[at] = e
	return e, nil
}
