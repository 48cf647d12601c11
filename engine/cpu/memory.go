package cpu

import "slices"

// layOut gives every stored tensor of the arena an offset such that tensors that live at the same time do not overlap,
// the largest first, each at the lowest place that is free during its life. It returns the size of the arena.
func layOut(all []*storage) int {
	const align = 64
	var placed []*storage
	order := slices.DeleteFunc(slices.Clone(all), func(s *storage) bool { return s.kind != inArena })
	slices.SortStableFunc(order, func(a, b *storage) int { return b.size - a.size })
	total := 0
	for _, s := range order {
		s.offset = 0
		for _, o := range placed { // in order of offset
			if o.def > s.last || o.last < s.def {
				continue
			}
			if s.offset+s.size <= o.offset {
				break
			}
			s.offset = max(s.offset, (o.offset+o.size+align-1)/align*align)
		}
		at, _ := slices.BinarySearchFunc(placed, s.offset, func(o *storage, offset int) int { return o.offset - offset })
		placed = slices.Insert(placed, at, s)
		total = max(total, s.offset+s.size)
	}
	return total
}
