package command

import (
	"os"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// blocked is a run folder with a file in the place of a folder or a file.
func blocked(t *testing.T, name string) *runlog.Run {
	t.Helper()
	run, err := runlog.Create(t.TempDir(), "x", runlog.Info{Command: "train"})
	if err == nil {
		err = os.WriteFile(run.Path(name), nil, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestNumbersThatCannotBeWrittenFailARunOfASweepOnly(t *testing.T) {
	for _, whole := range []bool{false, true} {
		run := blocked(t, "tables")
		err := run.Finish((&Trainer{mustStore: whole}).store(run, ResultFile, 1), false)
		info, _ := runlog.ReadInfo(run.Dir)
		if (err != nil) != whole || (info.Status == runlog.Failed) != whole || (len(info.Warnings) == 1) == whole {
			t.Errorf("whole %v: %v, %+v", whole, err, info)
		}
	}
}

func TestATensorBoardFileThatCannotBeWrittenIsOneWarning(t *testing.T) {
	run := blocked(t, "place")
	inside := *run
	inside.Dir = run.Path("place")
	said := 0
	inside.Say = func(string, ...any) { said++ }
	b := train.NewEvents(&inside)
	b.Epoch(train.Record{})
	b.Epoch(train.Record{})
	b.Close()
	if said != 1 {
		t.Errorf("%d warnings", said)
	}
	if err := run.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
}
