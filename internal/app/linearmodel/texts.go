package linearmodel

import (
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/dataset"
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
	return "Loss: " + settings.Or(all) + "."
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
