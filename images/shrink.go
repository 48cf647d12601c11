package images

// shrinker resizes planes by area: a pixel of the result is the mean of what it covers of the source, in 14-bit fixed
// point. It only shrinks. Its buffers are reused: one goroutine has one.
type shrinker struct {
	rows, columns []weight
	wide          []uint32 // one row of the result, as wide as the source
}

// weight is a run of source pixels and their shares in one pixel of the result; the shares sum to 1 << shareBits.
type weight struct {
	first  int
	shares []uint32
}

const shareBits = 14

// weights appends those of out pixels, each of which covers scale pixels of the source, which has in.
func weights(list []weight, in, out int, scale float64) []weight {
	for len(list) < out {
		list = append(list, weight{})
	}
	list = list[:out]
	for i := range list {
		from, to := float64(i)*scale, float64(i+1)*scale
		first := min(int(from), in-1)
		last := max(first, min(int(to), in-1))
		if float64(last) >= to-1e-9 && last > first { // rounding, or it begins just there
			last--
		}
		w := &list[i]
		w.first, w.shares = first, w.shares[:0]
		total, largest := uint32(0), 0
		span := min(to, float64(in)) - min(from, float64(in))
		for k := first; k <= last; k++ {
			share := uint32(0)
			if span > 0 {
				covered := min(to, float64(k+1)) - max(from, float64(k))
				share = uint32(max(covered, 0)/span*(1<<shareBits) + 0.5)
			}
			w.shares = append(w.shares, share)
			total += share
			if share > w.shares[largest] {
				largest = k - first
			}
		}
		w.shares[largest] += 1<<shareBits - total // what rounding lost or added
	}
	return list
}

// plane resizes src, of h×w bytes with a stride, to dst, of dh×dw without one. A pixel of the result covers
// down × across pixels of the source.
func (s *shrinker) plane(dst []byte, dh, dw int, src []byte, stride, h, w int, down, across float64) {
	if dh == h && dw == w && down == 1 && across == 1 {
		for i := range h {
			copy(dst[i*w:(i+1)*w], src[i*stride:])
		}
		return
	}
	s.rows, s.columns = weights(s.rows, h, dh, down), weights(s.columns, w, dw, across)
	if cap(s.wide) < w {
		s.wide = make([]uint32, w)
	}
	wide := s.wide[:w]
	for i, row := range s.rows {
		from := src[row.first*stride:]
		share := row.shares[0]
		for x, v := range from[:w] {
			wide[x] = share * uint32(v)
		}
		for k, share := range row.shares[1:] {
			for x, v := range from[(k+1)*stride:][:w] {
				wide[x] += share * uint32(v)
			}
		}
		out := dst[i*dw : (i+1)*dw]
		for j := range out {
			column := &s.columns[j]
			sum := uint32(1) << (shareBits + 7) // a half
			part := wide[column.first:][:len(column.shares)]
			for k, share := range column.shares {
				sum += share * (part[k] >> (shareBits - 8)) // 16 bits and 14
			}
			out[j] = byte(sum >> (shareBits + 8))
		}
	}
}

// fitted is the size of an h×w picture whose long or short side is at most size. Pictures are never enlarged.
func fitted(h, w, size int, side string) (int, int) {
	bound := max(h, w)
	if side == ShortSide {
		bound = min(h, w)
	}
	if bound <= size {
		return h, w
	}
	scaled := func(v int) int { return max(1, (v*size+bound/2)/bound) }
	return scaled(h), scaled(w)
}

// shrink resizes a picture to dh×dw, 4:2:0 or grey, in dst, which has rawBytes(dh, dw).
func (s *shrinker) shrink(dst []byte, p planes, dh, dw int) planes {
	down, across := float64(p.h)/float64(dh), float64(p.w)/float64(dw)
	s.plane(dst[:dh*dw], dh, dw, p.y, p.ys, p.h, p.w, down, across)
	if p.cb == nil {
		return planes{y: dst[:dh*dw], ys: dw, h: dh, w: dw, sx: 1, sy: 1}
	}
	out := rawPlanes(dst, dh, dw)
	ch, cw := (dh+1)/2, (dw+1)/2
	sh, sw := (p.h+p.sy-1)/p.sy, (p.w+p.sx-1)/p.sx
	down, across = 2*down/float64(p.sy), 2*across/float64(p.sx)
	s.plane(out.cb, ch, cw, p.cb, p.cs, sh, sw, down, across)
	s.plane(out.cr, ch, cw, p.cr, p.cs, sh, sw, down, across)
	return out
}
