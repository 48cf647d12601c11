package command

import (
	"fmt"
	"strings"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/settings"
	"github.com/bregman-ml/bregman/nets"
	"github.com/bregman-ml/bregman/optim"
)

// Precisions are the choices for the arithmetic of a network.
var Precisions = []string{"auto", "bf16", "float32"}

// EngineHelp lists the engines.
func EngineHelp() string {
	return strings.Join(engine.Names(), ", ") + ", or the path of a PJRT plugin; see bregman doctor."
}

// scheduleHelp lists the schedules.
func scheduleHelp() string {
	var all []string
	for _, s := range optim.Schedules {
		all = append(all, fmt.Sprintf("%s (%s)", s.Name, s.About))
	}
	return "The rate over the run: " + settings.Or(all) + "; by default " +
		byNetwork(func(r nets.Recipe) any { return r.Schedule }) + "."
}

// byNetwork lists a value of the recipes: "15 for cnn, 16 for a and b, and 60 for the others".
func byNetwork(of func(nets.Recipe) any) string {
	names := map[any][]string{}
	var order []any
	var usual any
	for _, n := range nets.All {
		v := of(n.Recipe)
		if v == "" {
			v = "none"
		}
		if names[v] == nil {
			order = append(order, v)
		}
		if names[v] = append(names[v], n.Name); len(names[v]) > len(names[usual]) {
			usual = v
		}
	}
	if len(order) == 1 {
		return fmt.Sprint(usual)
	}
	text := ""
	for _, v := range order {
		if v != usual {
			text += fmt.Sprintf("%v for %s, ", v, and(names[v]))
		}
	}
	if len(order) == 2 {
		text = strings.TrimSuffix(text, ", ") + " "
	}
	return fmt.Sprintf("%sand %v for the others", text, usual)
}

// and lists names: "a, b and c".
func and(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
