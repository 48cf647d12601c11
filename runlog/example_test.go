package runlog_test

import (
	"fmt"
	"os"

	"github.com/bregman-ml/bregman/runlog"
)

// A run folder, written by a loop and read back.
func Example() {
	root, err := os.MkdirTemp("", "runs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	run, err := runlog.Create(root, "halving", runlog.Info{Command: "mine", Settings: map[string]any{"rate": 0.5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	loss := 8.0
	for step := range 4 {
		if err = run.Append(map[string]any{"step": step, "loss": loss}); err != nil {
			break
		}
		loss /= 2
	}
	if err := run.Finish(err, false); err != nil {
		fmt.Println(err)
		return
	}

	folder, err := runlog.OpenFolder(run.Dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folder.Close()
	info, err := folder.Info()
	if err != nil {
		fmt.Println(err)
		return
	}
	log, err := folder.Log()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Command, folder.Status(info), log.Curves[0].Column("loss"))
	// Output: mine done [8 4 2 1]
}
