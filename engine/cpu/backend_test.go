package cpu

import (
	"testing"

	"github.com/gomlx/compute/support/backendtest"
)

func engineFor(t testing.TB, config string) *Backend {
	t.Helper()
	b, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return b
}

func TestGoMLXsComplianceSuite(t *testing.T) { backendtest.RunAll(t, engineFor(t, ""), nil) }
