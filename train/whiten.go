package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/bregman-ml/bregman/nets"
)

const (
	whiteImages = 2000 // training images that a whitening is computed from, at most
	whiteFloor  = 5e-4 // is added to variances: what hardly varies is not blown up
)

// whiten sets the weight of the network's layer that whitens, if it has one: on the first training images that the run
// sees, the outputs of one half of its filters have mean square 1 and no correlation. The other half is their negative.
func (x *Session) whiten() error {
	v := x.modelScope().At("%s", nets.Whitened).GetVariable("weight")
	if v == nil {
		return nil
	}
	if x.set.Pack != nil {
		return fmt.Errorf("%s whitens the pixels of images of one size: %s is a packed file", x.net.Name, x.set.Name)
	}
	dims := v.Shape().Dimensions
	if x.white == nil {
		var err error
		if x.white, err = whitening(x.patchMoments(dims[0]), dims[3]); err != nil {
			return err
		}
	}
	return v.SetValue(tensors.FromFlatDataAndDimensions(x.white, dims...))
}

// patchMoments is the mean of vvᵀ over all square patches v of normalized images. The values of a patch are in the
// order of a kernel's: row, column, channel.
func (x *Session) patchMoments(side int) *mat.SymDense {
	s := x.set
	n, row := s.Channels*side*side, side*s.Channels
	sum, patches := make([]float64, n*n), 0
	picture, patch := make([]float64, s.Height*s.Width*s.Channels), make([]float64, n)
	for i := range min(whiteImages, x.seen()) {
		for k, b := range s.Train.Images[x.trained(i)*len(picture):][:len(picture)] {
			c := k % s.Channels
			picture[k] = (float64(b) - float64(s.Mean[c])) / float64(s.Deviation[c])
		}
		for top := range s.Height - side + 1 {
			for left := range s.Width - side + 1 {
				for r := range side {
					copy(patch[r*row:], picture[((top+r)*s.Width+left)*s.Channels:][:row])
				}
				for a, v := range patch {
					for b, w := range patch[a:] {
						sum[a*n+a+b] += v * w
					}
				}
				patches++
			}
		}
	}
	for k := range sum {
		sum[k] /= float64(patches)
	}
	return mat.NewSymDense(n, sum) // it reads the upper triangle
}

// whitening is a kernel [patch, filters] of the eigenvectors e of moments over √(λ + floor), and then their negatives.
// Of each e the largest entry is positive: the sign of an eigenvector is arbitrary.
func whitening(moments *mat.SymDense, filters int) ([]float32, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(moments, true) {
		return nil, errors.New("the whitening of the first layer was not found: are the images all alike?")
	}
	n := moments.SymmetricDim()
	if filters != 2*n {
		return nil, fmt.Errorf("a whitening layer of %d filters for patches of %d values: want twice as many", filters, n)
	}
	var e mat.Dense
	eigen.VectorsTo(&e)
	out := make([]float32, n*filters)
	for k, lambda := range eigen.Values(nil) {
		most := 0.0
		for a := range n {
			if math.Abs(e.At(a, k)) > math.Abs(most) {
				most = e.At(a, k)
			}
		}
		scale := math.Copysign(1/math.Sqrt(max(lambda, 0)+whiteFloor), most)
		for a := range n {
			w := float32(scale * e.At(a, k))
			out[a*filters+k], out[a*filters+n+k] = w, -w
		}
	}
	return out, nil
}
