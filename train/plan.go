package train

import (
	"fmt"
	"time"

	"github.com/bregman-ml/bregman/optim"
)

// Plan is one training run on a session.
type Plan struct {
	P        float64
	LR       float64
	Seed     uint64
	Epochs   int
	HoldBack int            // training images to hold back, if that is more than the session does anyway
	Schedule optim.Schedule // of the shape that Settings.Optimizer has, which is compiled
	Init     *Init          // weights to start from; nil: drawn from the seed
	Prune    Pruning        // needs Settings.Prune
	Study    bool           // measure in the end what the weights allow
	Check    bool           // train every epoch twice, to see whether the weights are the same bits
	Patience int            // stop when so many epochs were not the best on the images held back; 0: never

	// Fingerprint is what a checkpoint of the run depends on besides P, LR and Seed, in words: one of other settings is
	// not resumed.
	Fingerprint map[string]string
	SaveEvery   time.Duration // how much work a killed run may lose, beside the epoch that runs; 0: every epoch
}

// check returns an error for a plan that no run can have.
func (p Plan) check() error {
	if p.Epochs < 1 {
		return fmt.Errorf("%d epochs: want at least 1", p.Epochs)
	}
	return p.Prune.Check()
}

// Observer follows the progress of a run. It is called from the goroutine of the run.
type Observer interface {
	Step(epoch, step int)   // of an epoch counted from 1, so many steps are done
	Epoch(Record)           // an epoch is done
	Studying(share float64) // of the study of the weights
	Say(text string)        // what the user should know
}

// Silent is an observer that does nothing. Embed it to observe only some events.
type Silent struct{}

// Step does nothing.
func (Silent) Step(int, int) {}

// Epoch does nothing.
func (Silent) Epoch(Record) {}

// Studying does nothing.
func (Silent) Studying(float64) {}

// Say does nothing.
func (Silent) Say(string) {}

var _ Observer = Silent{}

// Observers passes everything to several observers.
type Observers []Observer

var _ Observer = Observers(nil)

// Step passes it to all.
func (o Observers) Step(epoch, step int) {
	for _, one := range o {
		one.Step(epoch, step)
	}
}

// Epoch passes it to all.
func (o Observers) Epoch(r Record) {
	for _, one := range o {
		one.Epoch(r)
	}
}

// Studying passes it to all.
func (o Observers) Studying(share float64) {
	for _, one := range o {
		one.Studying(share)
	}
}

// Say passes it to all.
func (o Observers) Say(text string) {
	for _, one := range o {
		one.Say(text)
	}
}
