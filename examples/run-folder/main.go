// Command bregman-run-folder writes the run folder of a loop that is no concern of bregman's, and reads it back. Then
//
//	bregman report DIR
//
// makes a page of it, and bregman serve shows it while the loop runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"

	"github.com/bregman-ml/bregman/runlog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := write(ctx, "runs", 200)
	if dir != "" { // what was written can be read, however the run ended
		err = errors.Join(err, show(os.Stdout, dir))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// write runs Newton's iteration for √2 with a small step, in a new folder below root, and returns the folder.
func write(ctx context.Context, root string, steps int) (dir string, err error) {
	run, err := runlog.Create(root, "root-of-two", runlog.Info{
		Command: "root", Settings: map[string]any{"steps": steps, "rate": 0.1}, Engine: "go",
	})
	if err != nil {
		return "", err
	}
	x := 5.0
	for step := 1; step <= steps && err == nil; step++ {
		x -= 0.1 * (x*x - 2) / (2 * x)
		if err = run.Append(map[string]any{"step": step, "x": x, "error": math.Abs(x - math.Sqrt2)}); err == nil {
			err = ctx.Err()
		}
	}
	return run.Dir, run.Finish(err, errors.Is(err, context.Canceled))
}

// show prints what a run folder says: of any run, also one of bregman train.
func show(w io.Writer, dir string) error {
	folder, err := runlog.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	info, err := folder.Info()
	if err != nil {
		return err
	}
	metrics, err := folder.Log()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s, %s\n", dir, info.Command, folder.Status(info))
	for _, c := range metrics.Curves {
		fmt.Fprintf(w, "curve %q has %d points, the last:\n", c.Name, c.Rows)
		for _, name := range c.Names {
			fmt.Fprintf(w, "  %s = %.6g\n", name, c.At(name, c.Rows-1))
		}
	}
	return nil
}
