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

// byNetwork lists a value of the recipes: "15 for cnn and 60 for the others".
func byNetwork(of func(nets.Recipe) any) string {
	count := map[any]int{}
	var usual any
	for _, n := range nets.All {
		v := of(n.Recipe)
		if count[v]++; usual == nil || count[v] > count[usual] {
			usual = v
		}
	}
	text := ""
	for _, n := range nets.All {
		if v := of(n.Recipe); v != usual {
			text += fmt.Sprintf("%v for %s, ", v, n.Name)
		}
	}
	if text == "" {
		return fmt.Sprint(usual)
	}
	return fmt.Sprintf("%s and %v for the others", strings.TrimSuffix(text, ", "), usual)
}
