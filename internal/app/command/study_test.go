package command

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheStudyAfterTrainingShowsItsProgress(t *testing.T) {
	settings := tiny(t)
	settings.Epochs, settings.NoStudy = 1, false
	var out, said bytes.Buffer
	if err := settings.Run(t.Context(), &Console{Out: &out, Err: &said, Version: "test", terminal: true}); err != nil {
		t.Fatal(err)
	}
	_, study, ok := strings.Cut(said.String(), "\rp = 2, seed 1: study of the weights")
	if !ok || !strings.Contains(study, "%") || strings.Contains(study, "\rp = 2, seed 1 ") {
		t.Errorf("the study has no bar, or not one of its own: %q", said.String())
	}
}
