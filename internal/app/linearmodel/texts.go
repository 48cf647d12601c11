package linearmodel

import (
	"encoding"
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/images"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/linear"
)

// lossHelp lists the losses.
func lossHelp() string {
	var all []string
	for _, l := range linear.Losses {
		all = append(all, fmt.Sprintf("%s (%s)", l.Name, l.About))
	}
	return "Loss: " + settings.Or(all) + ". auto: logistic, square for targets of a regression, of a margin exp."
}

// objectiveHelp lists the objectives.
func objectiveHelp() string {
	var all []string
	for _, o := range fit.Objectives {
		all = append(all, fmt.Sprintf("%s: %s", o.Name, o.About))
	}
	return strings.Join(all, "; ") + "."
}

// methodHelp says what auto chooses, and lists the methods.
func methodHelp() string {
	var all []string
	for _, m := range linear.Methods {
		all = append(all, fmt.Sprintf("%s: %s", m.Name, m.About))
	}
	return "auto: newton with --l2 or --lp, pgd with another loss, --lr, --batch or --init, else accelerated. " +
		strings.Join(all, "; ") + "."
}

// tables are the names of data that are not files: built-in tables, and image sets as tables.
func tables() []string { return append(dataset.BuiltinNames(), images.Names()...) }

// Geometry are one or several p, or auto: those of fit.Geometries.
type Geometry settings.Floats

var _ encoding.TextUnmarshaler = (*Geometry)(nil)

// String is how they are written on the command line.
func (g Geometry) String() string { return settings.Floats(g).String() }

// UnmarshalText reads auto, or numbers.
func (g *Geometry) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*g = fit.Geometries
		return nil
	}
	return (*settings.Floats)(g).UnmarshalText(text)
}

// MarshalJSON writes the numbers.
func (g Geometry) MarshalJSON() ([]byte, error) { return settings.Floats(g).MarshalJSON() }

// UnmarshalJSON reads them.
func (g *Geometry) UnmarshalJSON(data []byte) error { return (*settings.Floats)(g).UnmarshalJSON(data) }
