package cpu

import "github.com/gomlx/compute"

// OnGoMLXsEngine lists the operations of an executable that run there.
func OnGoMLXsEngine(e compute.Executable) []string {
	ours, ok := e.(*executable)
	if !ok {
		return []string{"the whole graph"}
	}
	var out []string
	for _, l := range ours.labels {
		if l.elsewhere {
			out = append(out, l.op+" "+l.shape)
		}
	}
	return out
}

// Programs counts the programs of an executable over tensors of a size, and the mirror steps in them.
func Programs(e compute.Executable, size int) (programs, mirrorSteps int) {
	for _, s := range e.(*executable).steps {
		p, ok := s.(*program)
		if !ok || p.size != size {
			continue
		}
		programs++
		for _, in := range p.instrs {
			if in.special == mirrorStep {
				mirrorSteps++
			}
		}
	}
	return programs, mirrorSteps
}
