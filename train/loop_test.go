package train

import (
	"testing"

	"github.com/bregman-ml/bregman/runlog"
)

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
