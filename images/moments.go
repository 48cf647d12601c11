package images

import "math"

// colourSums are sums over pixels of luma, chroma and their products. Mean and deviation of red, green and blue follow,
// exactly but for the clipping of colours that JPEG cannot show: integers do not depend on the order of summation.
type colourSums struct {
	Pixels                 uint64 `json:"pixels"`
	Y, B, R                uint64
	YY, YB, YR, BB, BR, RR uint64
}

// add adds a 4:2:0 or grey picture.
func (s *colourSums) add(p planes) {
	s.Pixels += uint64(p.h) * uint64(p.w)
	for i := 0; i < p.h; i += 2 {
		rows := min(2, p.h-i)
		var chroma int
		if p.cb != nil {
			chroma = i / 2 * p.cs
		}
		for j := 0; j < p.w; j += 2 {
			columns := min(2, p.w-j)
			var y, yy uint64
			for k := range rows {
				for _, v := range p.y[(i+k)*p.ys+j:][:columns] {
					y += uint64(v)
					yy += uint64(v) * uint64(v)
				}
			}
			n, b, r := uint64(rows*columns), uint64(128), uint64(128)
			if p.cb != nil {
				b, r = uint64(p.cb[chroma+j/2]), uint64(p.cr[chroma+j/2])
			}
			s.Y, s.B, s.R = s.Y+y, s.B+n*b, s.R+n*r
			s.YY, s.YB, s.YR = s.YY+yy, s.YB+y*b, s.YR+y*r
			s.BB, s.BR, s.RR = s.BB+n*b*b, s.BR+n*b*r, s.RR+n*r*r
		}
	}
}

// plus adds another sum.
func (s *colourSums) plus(o colourSums) {
	s.Pixels += o.Pixels
	s.Y, s.B, s.R = s.Y+o.Y, s.B+o.B, s.R+o.R
	s.YY, s.YB, s.YR = s.YY+o.YY, s.YB+o.YB, s.YR+o.YR
	s.BB, s.BR, s.RR = s.BB+o.BB, s.BR+o.BR, s.RR+o.RR
}

// moments are the mean and the deviation of red, green and blue. A deviation of 0 becomes 1.
func (s colourSums) moments() (mean, deviation []float32) {
	n := float64(s.Pixels)
	y, b, r := float64(s.Y)/n, float64(s.B)/n, float64(s.R)/n
	covariance := func(product uint64, first, second float64) float64 { return float64(product)/n - first*second }
	for _, c := range [3][2]float64{{0, 1.402}, {-0.344136, -0.714136}, {1.772, 0}} { // of JPEG's conversion
		v := covariance(s.YY, y, y) + c[0]*c[0]*covariance(s.BB, b, b) + c[1]*c[1]*covariance(s.RR, r, r) +
			2*(c[0]*covariance(s.YB, y, b)+c[1]*covariance(s.YR, y, r)+c[0]*c[1]*covariance(s.BR, b, r))
		if v < 1e-6 { // one value, but for rounding
			v = 1
		}
		mean = append(mean, float32(y+c[0]*(b-128)+c[1]*(r-128)))
		deviation = append(deviation, float32(math.Sqrt(v)))
	}
	return mean, deviation
}
