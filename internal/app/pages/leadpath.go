package pages

import (
	"fmt"
	"math"

	"github.com/bregman-ml/bregman/internal/app/linearmodel"
)

// pathLead states how close the ends of regularisation paths are to the largest margin.
func pathLead(paths []linearmodel.PathResult) (l Lead) {
	share := func(r linearmodel.PathResult) float64 { return r.Points[len(r.Points)-1].Margin / r.Margin }
	degrees := func(pt linearmodel.PathPoint) string { return fmt.Sprintf("%.2g°", pt.Angle*180/math.Pi) }
	worst, best := paths[0], paths[0]
	gap := 0.0
	for _, r := range paths {
		if share(r) < share(worst) {
			worst = r
		}
		if share(r) > share(best) {
			best = r
		}
		for _, pt := range r.Points {
			gap = max(gap, pt.Gap)
		}
	}
	end, start := worst.Points[len(worst.Points)-1], worst.Points[0]
	if len(paths) == 1 {
		l.Say("With p = %v and the norm bounded by %.4g the loss has its minimum at %.4g %% of the largest margin, %s from "+
			"its direction.", worst.P, end.B, 100*share(worst), degrees(end))
	} else {
		l.Say("At the end of their paths the solutions have from %.4g %% (p = %v) to %.4g %% (p = %v) of the largest margin.",
			100*share(worst), worst.P, 100*share(best), best.P)
	}
	of := ""
	if len(paths) > 1 {
		of = fmt.Sprintf(" of p = %v, the farthest from it,", worst.P)
	}
	switch {
	case end.Angle < start.Angle/2:
		l.Claim("The direction%s tends to that of the largest margin: the angle falls from %s to %s as the bound grows from "+
			"%.3g to %.4g.", of, degrees(start), degrees(end), start.B, end.B)
	default:
		l.Claim("The direction%s does not come much closer to that of the largest margin: the angle is %s at first and %s "+
			"at the end.", of, degrees(start), degrees(end))
	}
	l.Claim("Every point is certified: the duality gap is at most %.1g.", gap)
	if share(worst) < 1-looseGap {
		l.Claim("The path of p = %v ends before its limit: a larger bound would bring it closer, if it tends there at all.",
			worst.P)
	}
	return l
}
