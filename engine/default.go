package engine

import (
	"os"

	"github.com/gomlx/compute"
)

// Default returns a backend for a GoMLX program of your own: that of GOMLX_BACKEND if it is set, else a GPU if one
// starts, else our engine for CPUs. GoMLX's own default is XLA, which has to be installed first.
//
// As [Open], it may start the process again with library paths that a CUDA plugin needs: call it early.
func Default() (compute.Backend, error) {
	if config, ok := os.LookupEnv(compute.ConfigEnvVar); ok {
		var b compute.Backend
		err := Try(func() (err error) {
			b, err = compute.NewWithConfig(config)
			return err
		})
		return b, err
	}
	e, err := Open(Auto)
	if err != nil {
		return nil, err
	}
	return e.Backend, nil
}
