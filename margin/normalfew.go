package margin

import "github.com/bregman-ml/bregman/internal/vec"

// factorFew is the end of factor if the equations are solved by M = ADAᵀ + Θ alone.
func (k *normal) factorFew(rest float64) {
	if k.kappa != 0 {
		copy(k.xh, k.h)
		choleskySolve(k.m, k.size, k.xh)
		k.down = k.kappa / (1 + k.kappa*vec.Dot(k.h, k.xh))
		if k.kappa < 0 { // see factor: what is left of 1/|κ| is at least rest, its share 1/(q−1)
			k.down = -1 / max(-1/k.kappa-vec.Dot(k.h, k.xh), rest)
		}
	}
	if !k.free {
		k.lineFew(k.xb, k.b, 0)
		k.bxb = vec.Dot(k.b, k.xb)
	}
}

// lineFew solves (M + κhhᵀ)x = r − κh·gf.
func (k *normal) lineFew(x, r []float64, gf float64) {
	copy(x, r)
	choleskySolve(k.m, k.size, x)
	if k.down != 0 {
		vec.Axpy(-k.down*(vec.Dot(k.h, x)+gf), k.xh, x)
	}
}

// setFew sets ADf, which solveFew needs.
func (k *normal) setFew(f []float64) {
	vec.Mul(k.small, f, k.diag)
	k.mul(k.adf, k.small)
}

// solveFew is solve without z, which it leaves to stepFew. What x lacks is found from M.
func (k *normal) solveFew(x, f, r []float64) float64 {
	right := k.spare[:k.n]
	copy(right, r)
	var gf float64
	if f != nil {
		vec.Axpy(-1, k.adf, right)
		gf = vec.Dot(k.g, f)
	}
	k.lineFew(x, right, gf)
	dg := 0.0
	border := func(x []float64, e float64) float64 {
		if k.free {
			return 0
		}
		t := (e - vec.Dot(k.b, x)) / k.bxb
		vec.Axpy(t, k.xb, x)
		return t
	}
	dg += border(x, 0)
	last := 0.0
	for try := range mostRefinements {
		c := k.kappa * (vec.Dot(k.h, x) + gf)
		vec.MulDense(k.rn, k.products, x)
		var size float64
		for i, v := range k.rn {
			k.rn[i] = right[i] + dg*k.b[i] - v - c*k.h[i]
			if t := k.theta[i]; t > 0 {
				size += k.rn[i] * k.rn[i] / t
			}
		}
		if try > 0 && !(size < 0.1*last) || size == 0 {
			break
		}
		last = size
		missing := -vec.Dot(k.b, x)
		if k.free {
			missing = 0
		}
		k.lineFew(k.xn, k.rn, 0)
		dg += border(k.xn, missing) - k.rho*missing
		vec.Axpy(1, k.xn, x)
	}
	return dg
}

// stepFew sets z = (D + κggᵀ)(Aᵀx + f), and k.fd to the second factor.
func (k *normal) stepFew(z, x, f []float64) {
	c := vec.Dot(k.h, x)
	k.mulT(k.fd, x)
	if f != nil {
		c += vec.Dot(k.g, f)
		vec.Axpy(1, f, k.fd)
	}
	vec.Mul(z, k.diag, k.fd)
	vec.Axpy(c*k.kappa, k.g, z)
}
