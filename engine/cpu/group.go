package cpu

import "slices"

// group is element-wise values and reductions over one shape, computed in one pass: a fused program in the making.
type group struct {
	at                 int // step
	size               int
	outer, rows, inner int // of its reductions; 0 if it has none
	roots              []*node
	leaves             map[*node]bool // full-size tensors it reads
}

// use is how an expression reads a stored value.
type use struct {
	n      *node
	spread bool // over a larger shape
}

// leavesOf lists what the expression of a root reads.
func (c *compiler) leavesOf(root *node) []use {
	var out []use
	seen := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		for _, in := range c.reads(n) {
			same := in.shape.Size() == n.shape.Size() || c.reduction(n) != nil
			if same && c.fused(in) {
				if !seen[in] {
					seen[in] = true
					visit(in)
				}
				continue
			}
			out = append(out, use{in, !same})
		}
	}
	visit(root)
	return out
}

// addToGroup puts a root into a group that can hold it, or starts one.
func (c *compiler) addToGroup(n *node) error {
	size := n.shape.Size()
	var r *reduction
	if op := c.reduction(n); op != nil {
		r, size = op.reduce, sourceOf(n.inputs[0]).shape.Size()
	}
	leaves := c.leavesOf(n)
	earliest := -1
	for _, l := range leaves {
		earliest = max(earliest, c.stepOf[l.n])
	}
	g := c.findGroup(size, r, leaves, earliest)
	if g == nil {
		g = &group{at: len(c.steps), size: size, leaves: map[*node]bool{}}
		c.groups[g.at] = g
		c.append(nil, label{op: "fused program"}) // made in finish, when all roots are known
	}
	if r != nil {
		g.outer, g.rows, g.inner = r.outer, r.rows, r.inner
	}
	g.roots = append(g.roots, n)
	for _, l := range leaves {
		c.read(l.n, g.at)
		if !l.spread && l.n.shape.Size() == size {
			g.leaves[l.n] = true
		}
	}
	g.leaves[n] = true
	c.stepOf[n] = g.at
	c.store(n, inArena).def = g.at
	return nil
}

const (
	maxRoots  = 24
	smallSize = 4096
	searched  = 64 // steps back
)

// findGroup returns the last group that a root can join: everything it reads is there before the group runs, or is a
// value of the group at the same place; and joining saves reading a tensor again.
func (c *compiler) findGroup(size int, r *reduction, leaves []use, earliest int) *group {
	for at := len(c.steps) - 1; at >= max(earliest, 0, len(c.steps)-searched); at-- {
		g := c.groups[at]
		if g == nil || g.size != size || len(g.roots) >= maxRoots {
			continue
		}
		if r != nil && g.outer != 0 && (g.outer != r.outer || g.rows != r.rows || g.inner != r.inner) {
			continue
		}
		if r != nil && r.outer > 1 && size > smallSize && g.outer == 0 {
			continue // would cut the others into short rows
		}
		fits, shares := true, size <= smallSize
		for _, l := range leaves {
			if c.stepOf[l.n] == at && (l.spread || c.reduction(l.n) != nil || !slices.Contains(g.roots, l.n)) {
				fits = false
				break
			}
			shares = shares || g.leaves[l.n]
		}
		if fits && shares {
			return g
		}
	}
	return nil
}
