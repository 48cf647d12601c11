package sweep

import (
	"encoding/json"
	"fmt"

	"github.com/bregman-ml/bregman/internal/app/kinds"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// keys are the settings of a kind that a sweep may set.
func keys(k kinds.Kind) []string {
	var out []string
	for _, f := range settings.Fields(k.New()) {
		if f.Stored && f.Role == settings.Result {
			out = append(out, f.Key)
		}
	}
	return out
}

// instead returns what to do about a setting that a sweep may not set; "" if it may.
func instead(k kinds.Kind, key string) string {
	f, ok := settings.Find(k.New(), key)
	if !ok || !f.Stored {
		return ""
	}
	switch f.Role {
	case settings.Seed:
		return fmt.Sprintf("write %s = N at the top of the file: trials count on from it", key)
	case settings.Trials:
		return fmt.Sprintf("write %s = N at the top of the file", key)
	case settings.Output:
		return "what a run writes is in its folder"
	case settings.Place:
		if _, ok := settings.Find(new(Options), key); ok {
			return fmt.Sprintf("use --%s on the command line", f.Flag)
		}
		return "it changes where or how a run is made, not its result: a sweep decides it"
	}
	return ""
}

// canonicalJSON has its keys sorted, as encoding/json writes a map.
func canonicalJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts only
	}
	return b
}
