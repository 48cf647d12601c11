// Package pjrt lets steps on a GPU run without the host waiting for each.
//
// GoMLX reaches a PJRT plugin through go-xla, which waits for the end of every execution, so that the device is idle
// while the host prepares the next one. [Register] puts a copy of the plugin's function table in its place in which
// Execute returns at once: each program has a queue of unfinished executions, and only when there are more than a few
// is the oldest awaited. What an execution returns may be passed on before it is computed, and whoever reads it waits
// for it; that is PJRT's contract. Executions on several devices are awaited as before.
//
// Equal programs of one client are compiled once and share a queue, so that runs side by side on one engine need not
// compile again.
//
// Libraries that a plugin loads may put Go's handlers of signals back without the stacks that these need, and Ctrl-C
// would end the program with an error of Go's runtime. In a program with this package, C's signal and sigaction keep
// handlers on stacks of their own, and after a compilation SIGINT, SIGTERM and SIGHUP are Go's again.
//
// An error of an execution is reported by a later one of its program, or where its result is read. It names the
// executions it can belong to.
package pjrt

import (
	"fmt"
	"os"
	"strconv"
)

// Variable is the environment variable that says how many executions of a program may be unfinished when the next is
// prepared; 0 waits for each.
const Variable = "BREGMAN_GPU_INFLIGHT"

// How many executions of a program may be unfinished. One is enough to keep a GPU busy; XLA itself stops at 32.
const (
	byDefault = 2
	most      = 32
)

// InFlight returns what Variable says, or else the default.
func InFlight() (int, error) {
	text := os.Getenv(Variable)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s=%s: want how many steps may be in flight, 0 to %d; 0 waits for each", Variable, text, most)
	}
	return n, nil
}
