package paper

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/linear"
	"github.com/bregman-ml/bregman/margin"
	"github.com/bregman-ml/bregman/matrix"
	"github.com/bregman-ml/bregman/mirror"
)

// wrongExponent is a potential whose mirror map and inverse have the exponents p and 1/p, not p − 1 and 1/(p−1).
type wrongExponent struct {
	mirror.Potential
	p float64
}

func (w wrongExponent) Mirror(dst, x []float64) { mirror.Power(w.p+1).Mirror(dst, x) }

func (w wrongExponent) Inverse(dst, z []float64) { mirror.Power(w.p+1).Inverse(dst, z) }

// halfWrong has the right mirror map and the wrong inverse.
type halfWrong struct{ mirror.Potential }

func (h halfWrong) Inverse(dst, z []float64) {
	h.Potential.Inverse(dst, z)
	for j := range dst {
		dst[j] *= 1.01
	}
}

// wrongSign climbs: its descent adds the gradient.
type wrongSign struct{ linear.Exponential }

func (wrongSign) Weights(dst, s []float64) {
	linear.Exponential{}.Weights(dst, s)
	negate(dst)
}

func (wrongSign) Normalized(dst, s []float64) {
	linear.Exponential{}.Normalized(dst, s)
	negate(dst)
}

type wrongSquare struct{ linear.Square }

func (wrongSquare) Weights(dst, s []float64) { copy(dst, s) }

func negate(x []float64) {
	for i := range x {
		x[i] = -x[i]
	}
}

// frozen never moves.
type frozen struct{ linear.Exponential }

func (frozen) Weights(dst, s []float64)    { clear(dst) }
func (frozen) Normalized(dst, s []float64) { clear(dst) }

// breakers break the algorithm on purpose, each in one way.
var breakers = map[string]func(*subject){
	"wrong exponent": func(s *subject) {
		s.potential = func(p float64) mirror.Potential { return wrongExponent{mirror.Power(p), p} }
	},
	"inverse 1 % off": func(s *subject) {
		s.potential = func(p float64) mirror.Potential { return halfWrong{mirror.Power(p)} }
	},
	"wrong sign": func(s *subject) { s.loss = wrongSign{} },
	"frozen":     func(s *subject) { s.loss = frozen{} },
	"wrong p": func(s *subject) {
		s.potential = func(p float64) mirror.Potential { return mirror.Power(1 + 3*(p-1)) }
	},
	"wrong square": func(s *subject) { s.square = wrongSquare{} },
	"wrong norm": func(s *subject) {
		s.norm = func(x []float64, p float64) float64 { return mirror.Norm(x, p) / 10 }
	},
	"wrong divergence": func(s *subject) {
		s.divergence = func(psi mirror.Potential, x, y []float64) float64 { return mirror.Divergence(psi, y, x) }
	},
	"degree of divergence": func(s *subject) {
		s.divergence = func(psi mirror.Potential, x, y []float64) float64 { return math.Sqrt(mirror.Divergence(psi, x, y)) }
	},
	"wrong powers": func(s *subject) {
		s.powers = func(p, x float64) (float64, float64) { return math.Pow(x, p), math.Pow(x, p-0.5) }
	},
	"powers swapped": func(s *subject) {
		s.powers = func(p, x float64) (float64, float64) { return math.Pow(x, p), math.Pow(x, p-1.5) }
	},
	"wrong squared norm": func(s *subject) {
		s.squared = func(p float64) mirror.Potential { return mirror.SquaredNorm(p + 1) }
	},
	"wrong form": func(s *subject) {
		s.quadratic = func(a []float64) mirror.Potential { return mirror.Quadratic(scaled(1, ones(len(a)))) }
	},
	"polynomial path": func(s *subject) {
		s.pathLoss = func(margin.Curved) margin.Curved { return linear.PolynomialTail{} }
	},
	"exponential path": func(s *subject) {
		s.pathLoss = func(l margin.Curved) margin.Curved { return linear.Exponential{} }
	},
	"wrong direction": func(s *subject) {
		right := s.direction
		s.direction = func(prob linear.Problem, p float64) ([]float64, float64, error) {
			u, m, err := right(prob, p)
			if err != nil {
				return nil, 0, err
			}
			v := make([]float64, len(u)) // turned by a right angle, pairwise
			for j := range v {
				v[j] = u[(j+1)%len(u)]
			}
			v[0] = -v[0]
			return scaled(1/mirror.Norm(v, p), v), m, nil
		}
	},
	"first row for a direction": func(s *subject) {
		s.direction = func(prob linear.Problem, p float64) ([]float64, float64, error) {
			_, d := prob.Dims()
			u := make([]float64, d)
			prob.X.AddMulTRows(u, []int{0}, []float64{1})
			return scaled(1/mirror.Norm(u, p), u), 1, nil
		}
	},
	"least norm in another p": func(s *subject) {
		right := s.interpolate
		s.interpolate = func(prob linear.Problem, p float64) ([]float64, error) { return right(prob, p+1) }
	},
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// Every statement must fail under at least one of the breakers named beside it.
var failsUnder = map[string]string{
	"Equation (4a), Euler's identity":                          "wrong exponent",
	"Dual norm of the mirror map":                              "wrong exponent",
	"Definition 1, Bregman divergence":                         "wrong divergence",
	"Divergence from 0":                                        "wrong divergence",
	"Equation (4b), homogeneity":                               "degree of divergence",
	"Divergence of unit vectors":                               "wrong exponent",
	"Lemma 19, law of cosines":                                 "wrong divergence",
	"Inverse mirror map":                                       "inverse 1 % off",
	"Scalar inequality I":                                      "wrong powers",
	"Scalar inequality II":                                     "powers swapped",
	"Lemma 2, first form":                                      "wrong exponent",
	"Lemma 2, second form":                                     "wrong exponent",
	"Argmin form of the update":                                "inverse 1 % off",
	"Lemma 3":                                                  "wrong sign",
	"Inequality (5), the moving target":                        "wrong direction",
	"Inequality (6), the summed moving target":                 "wrong direction",
	"Growth of the cross term":                                 "wrong direction",
	"Lemma 18, lower bound on ⟨−η∇L(w_t), w_t⟩":                "wrong sign",
	"Rate of the loss":                                         "frozen",
	"Lemma 11, the reference vector":                           "wrong direction",
	"Corollary 12, the cross term":                             "wrong direction",
	"Lemma 16, step to the upper bound":                        "wrong sign",
	"Lemma 16, step to the lower bound":                        "frozen",
	"Margin and norm":                                          "wrong norm",
	"Lemma 4: loss":                                            "wrong sign",
	"Lemma 4: norm":                                            "frozen",
	"Theorem 13: limit direction, constant step":               "wrong direction",
	"Theorem 13: limit direction":                              "wrong p",
	"Corollary 15: rate in the norm":                           "wrong direction",
	"Corollary 17: rate in t":                                  "wrong direction",
	"Uniqueness of the max-margin direction":                   "first row for a direction",
	"Proposition 14, exponential loss":                         "polynomial path",
	"Proposition 14, logistic loss":                            "polynomial path",
	"Beyond the paper: regularised direction, polynomial tail": "exponential path",
	"Beyond the paper: ½‖·‖ₚ² and (1/p)‖·‖ₚᵖ":                  "wrong squared norm",
	"Beyond the paper: quadratic potential":                    "wrong form",
	"Regression: divergence never rises":                       "wrong square",
	"Regression: limit":                                        "least norm in another p",
}

func TestEveryStatementHoldsAndFailsWhenTheAlgorithmIsBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("some twenty runs of verify")
	}
	ps := []float64{1.5, 3}
	outcomes := func(ctx context.Context, breaker string) map[string]Finding {
		sub := ours(ctx)
		if breaker != "" {
			breakers[breaker](&sub)
		}
		findings, _, err := verify(ctx, sub, ps, 1, func(int) {})
		if err != nil {
			t.Fatalf("%s: %v", breaker, err)
		}
		out := map[string]Finding{}
		for _, f := range findings {
			out[f.Name] = f
		}
		return out
	}
	whole := outcomes(t.Context(), "")
	for name, f := range whole {
		if !f.Pass {
			t.Errorf("%s: measured %v, bound %v (%s)", name, f.Measured, f.Bound, f.Worst)
		}
		if _, ok := failsUnder[name]; !ok {
			t.Errorf("%s has no breaker: say what makes it fail", name)
		}
	}
	needed := map[string]bool{}
	for name, b := range failsUnder {
		if _, ok := whole[name]; !ok {
			t.Errorf("there is no statement %q", name)
		}
		needed[b] = true
	}
	for b := range breakers {
		if !needed[b] {
			t.Errorf("the breaker %q breaks nothing", b)
			continue
		}
		broken := outcomes(t.Context(), b)
		for name, by := range failsUnder {
			if by == b && broken[name].Pass {
				t.Errorf("%s still passes with %s: measured %v, bound %v", name, b, broken[name].Measured, broken[name].Bound)
			}
		}
	}
}

func TestAStatementThatWasNeverTestedDoesNotPass(t *testing.T) {
	st := statement[setting]{Bound: 1}
	if st.judge(newTally(false)).Pass {
		t.Error("no cases, and it passes")
	}
	r := newTally(false)
	r.here = setting{name: "R²", p: 2}
	r.record(math.NaN())
	r.here = setting{name: "R¹⁰⁰", p: 2}
	r.record(0)
	if f := st.judge(r); f.Pass || f.Worst != "R², p = 2" {
		t.Errorf("NaN was forgotten: %+v", f)
	}
	r = newTally(false)
	r.here = setting{name: "R²", p: 2}
	r.record(0)
	r.countIf(false)
	if st.judge(r).Pass {
		t.Error("the condition never held, and it passes")
	}
}

// No margin is the best possible if no w separates the data: the report says so instead of showing 0.
func TestAHyperbolicLimitThatIsNotMeasuredSaysWhy(t *testing.T) {
	prob := linear.Problem{X: matrix.FromRows([][]float64{{1, 0}, {-1, 0}})}
	l := &potentialLimit{t.Context(), ours(t.Context()), "two opposite points", prob}
	if h := l.hyperbolic(1); h.Error == "" {
		t.Errorf("%+v", h)
	}
}

func TestVerifyPrintsOneLinePerStatementOrJSON(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out, errs bytes.Buffer
		v := Verify{P: []float64{2}, Seeds: 1, Runs: t.TempDir(), Printed: command.Printed{JSON: asJSON}}
		if err := command.Run(t.Context(), &command.Env{Observer: command.Lines(&errs)}, &v, &out); err != nil {
			t.Fatal(err)
		}
		if asJSON {
			var got struct{ Statements []Finding }
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Statements) != len(failsUnder) {
				t.Errorf("%v, %d statements", err, len(got.Statements))
			}
			beyond := 0
			for _, f := range got.Statements {
				if f.Beyond {
					beyond++
				}
			}
			if beyond != 3 {
				t.Errorf("%d statements beyond the paper, want 3: other potentials and the polynomial tail", beyond)
			}
		} else if want := "\n35 statements of the paper and 3 beyond it hold, 0 fail"; !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		} else if n := strings.Count(out.String(), " pass "); n != len(failsUnder) {
			t.Errorf("%d lines pass, want %d:\n%s", n, len(failsUnder), out.String())
		}
	}
}
