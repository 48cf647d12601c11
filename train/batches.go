package train

import (
	"context"

	"github.com/gomlx/gomlx/core/tensors"
)

// ahead is how many more batches are handed to the engine before the answers to one are read: where executions do not
// wait for each other, the engine has work in the meantime.
const ahead = 2

// inBatches hands n images over in batches of b that begin at first, the last one with fewer new ones, and reads the
// answers in order. It calls each with the number of images of a batch that was handed over; an engine may still be
// busy with it and the one before. read gets tensors that are freed after it.
func inBatches(ctx context.Context, n, b int, handOver func(first int) ([]*tensors.Tensor, error),
	read func(first int, out []*tensors.Tensor) error, each func(images int)) error {
	type batch struct {
		first int
		out   []*tensors.Tensor
	}
	var unread []batch // the oldest first
	defer func() {     // after an error
		for _, u := range unread {
			_ = finalize(u.out)
		}
	}()
	readOldest := func() error {
		u := unread[0]
		if err := read(u.first, u.out); err != nil {
			return err
		}
		unread = unread[1:]
		return finalize(u.out)
	}
	for first := 0; first < n; first += b {
		if err := ctx.Err(); err != nil {
			return err
		}
		out, err := handOver(first)
		if err != nil {
			return err
		}
		unread = append(unread, batch{first, out})
		each(min(b, n-first))
		if len(unread) > ahead {
			if err := readOldest(); err != nil {
				return err
			}
		}
	}
	for len(unread) > 0 {
		if err := readOldest(); err != nil {
			return err
		}
	}
	return nil
}

// finalize frees tensors.
func finalize(all []*tensors.Tensor) error {
	for _, t := range all {
		if err := t.FinalizeAll(); err != nil {
			return err
		}
	}
	return nil
}
