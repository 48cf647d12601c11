package command

import (
	"os"
	"testing"

	"github.com/bregman-ml/bregman/runlog"
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
		err := run.Finish((&Trainer{whole: whole}).keep(run, resultFile, 1), false)
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
	b := newBoard(&inside)
	b.add(epochLine{})
	b.add(epochLine{})
	b.close()
	if said != 1 {
		t.Errorf("%d warnings", said)
	}
	if err := run.Finish(nil, false); err != nil {
		t.Fatal(err)
	}
}

func TestOldCheckpointsMakeRoomAndTheNewestStays(t *testing.T) {
	dir := t.TempDir()
	run := &runlog.Run{Dir: dir}
	for _, name := range []string{"epoch-00009", "epoch-00010", "epoch-00011"} {
		if err := run.WriteFile("checkpoints/"+name+".safetensors", nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := dropCheckpoints(dir, 1); n != 2 {
		t.Errorf("%d were removed", n)
	}
	if left := checkpoints(dir); len(left) != 1 || left[0].epoch != 11 {
		t.Errorf("left: %v", left)
	}
	if n := dropCheckpoints(dir, 1); n != 0 {
		t.Errorf("%d more were removed", n)
	}
}
