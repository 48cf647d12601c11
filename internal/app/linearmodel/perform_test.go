package linearmodel

import (
	"context"
	"io"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/settings"
)

// perform runs a command as the command line does, with defaults for what is not set.
func perform(ctx context.Context, c command.Command, out, said io.Writer) error {
	for _, f := range settings.Fields(c) {
		if f.Choices != nil && settings.Get(c, f.Key) == "" {
			if err := settings.Set(c, f.Key, f.Default); err != nil {
				return err
			}
		}
	}
	c, err := command.Ready(c)
	if err != nil {
		return err
	}
	return command.Run(ctx, &command.Env{Observer: command.Lines(said), Version: "test", Engines: new(engine.Pool)}, c,
		out)
}
