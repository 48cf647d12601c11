//go:build cgo && linux

package pjrt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	xla "github.com/gomlx/go-xla/pjrt"

	"github.com/bregman-ml/bregman/engine/internal/fakepjrt"
	"github.com/bregman-ml/bregman/engine/pjrt"
)

// A plugin is registered once a process, so the tests share one: they do not run side by side.
var shared struct {
	dir  string
	once sync.Once
}

func TestMain(m *testing.M) {
	if path := os.Getenv(compileChild); path != "" {
		compileUntilStopped(path)
	}
	var err error
	if shared.dir, err = os.MkdirTemp("", "fakepjrt"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(shared.dir)
	os.Exit(code)
}

// fake is the plugin, called through the table that Register made of its own. It must be as it was in the end.
func fake(t *testing.T, inFlight int) *fakepjrt.Plugin {
	t.Helper()
	fakepjrt.Compiler(t)
	path := filepath.Join(shared.dir, "plugin.so")
	shared.once.Do(func() { fakepjrt.Build(t, path) })
	return register(t, path, inFlight)
}

func register(t *testing.T, path string, inFlight int) *fakepjrt.Plugin {
	t.Helper()
	if err := pjrt.Register(path, inFlight); err != nil {
		t.Fatal(err)
	}
	p := fakepjrt.Load(t, path).Through(t, pjrt.Table(path))
	p.Hold(false)
	p.Record()
	t.Cleanup(func() {
		if left := p.Left(); left != "" {
			t.Errorf("left: %s", left)
		}
	})
	return p
}

// calls fails unless these were the calls of a program since it was asked last.
func calls(t *testing.T, p *fakepjrt.Plugin, x *fakepjrt.Program, want ...string) {
	t.Helper()
	for i, w := range want {
		want[i] = strings.Replace(w, "#", fmt.Sprintf("%d.", x.Name), 1)
	}
	if got := p.Record(); !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
}

// later runs f on another goroutine and returns where its result will be.
func later[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

func TestDeclarationsAreThoseOfTheHeader(t *testing.T) {
	fakepjrt.CC(t, "-fsyntax-only", "testdata/abi.c")
}

func TestExecutionsAreHandedOverAndTheOldestIsAwaited(t *testing.T) {
	p := fake(t, 2)
	x := p.NewClient().Compile("outputs=3")
	p.Hold(true)
	for range 2 {
		if got := x.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver {
			t.Fatal(got)
		}
	}
	calls(t, p, x, "execute #1", "execute #2")

	third := later(func() string { return x.Execute(fakepjrt.Device0) })
	p.Waiting(1)
	calls(t, p, x, "execute #3", "await #1")
	x.Finish(2) // another does not help
	select {
	case <-third:
		t.Fatal("it did not wait for the first")
	default:
	}
	x.Finish(1)
	if got := <-third; got != fakepjrt.HandedOver || x.Unfinished() != 1 {
		t.Fatalf("%s, %d unfinished", got, x.Unfinished())
	}
	if got := x.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver { // the second is finished
		t.Fatal(got)
	}
	calls(t, p, x, "execute #4", "await #2")

	ended := later(func() bool { x.Destroy(); return true })
	p.Waiting(1)
	calls(t, p, x, "await #3")
	x.Finish(3)
	x.Finish(4)
	<-ended
	calls(t, p, x, "await #4", fmt.Sprintf("destroy program %d", x.Name))
}

func TestAtMostSoManyAreInFlight(t *testing.T) {
	for _, n := range []int{1, 2, 5, 32} {
		p := fake(t, n)
		x := p.NewClient().Compile("outputs=1")
		p.Hold(true)
		for k := 1; k <= n+20; k++ {
			if k > n {
				x.Finish(k - n)
			}
			if got := x.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver {
				t.Fatal(got)
			}
			if got := x.Unfinished(); got != min(k, n) {
				t.Errorf("%d of at most %d in flight after step %d", got, n, k)
			}
		}
		x.Finish(0)
		x.Destroy()
	}
}

// With 0 in flight each execution is awaited, and so are those that were in flight before.
func TestZeroInFlightWaitsForEach(t *testing.T) {
	p := fake(t, 2)
	x := p.NewClient().Compile("outputs=1")
	defer x.Destroy()
	x.Execute(fakepjrt.Device0)
	x.Execute(fakepjrt.Device0)
	p.Record()
	fake(t, 0)
	if got := x.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver {
		t.Fatal(got)
	}
	calls(t, p, x, "execute #3", "await #1", "await #2", "await #3")
	x.Fail(4, false)
	if got := x.Execute(fakepjrt.Device0); !strings.HasPrefix(got, fmt.Sprintf("code 13, program %d: execution 4 failed [",
		x.Name)) {
		t.Error(got)
	}
}

// An execution that fails late is reported by the call that awaits it, which returns no outputs; one that fails in its
// call, by that call. The message names all that were in flight, and is followed by the plugin's own.
func TestErrorsNameTheExecutionsTheyCanBelongTo(t *testing.T) {
	for _, c := range []struct {
		fails, reported int
		inTheCall       bool
		want            string
	}{
		{1, 3, false, "code 13, executions 1 to 3 of this program were in flight and one of them failed (" + pjrt.Variable +
			"=0 waits for each and tells which): program %d: execution 1 failed [program %[1]d: execution 1 failed]"},
		{5, 7, false, "executions 5 to 7 of this program"},
		{5, 5, true, "executions 3 to 5 of this program"},
		{2, 2, true, "executions 1 to 2 of this program"},
		{1, 1, true, "code 13, program %d: call 1 failed [program %[1]d: call 1 failed]"},
	} {
		p := fake(t, 2)
		x := p.NewClient().Compile("outputs=4")
		x.Fail(c.fails, c.inTheCall)
		for k := 1; k <= 10; k++ {
			got := x.Execute(fakepjrt.Device0)
			if want := c.want; k == c.reported {
				if strings.Contains(want, "%") {
					want = fmt.Sprintf(want, x.Name)
				}
				if !strings.Contains(got, want) {
					t.Errorf("%+v: %q", c, got)
				}
			} else if got != fakepjrt.HandedOver {
				t.Errorf("%+v: execution %d: %s", c, k, got)
			}
		}
		x.Destroy()
		if left := p.Left(); left != "" {
			t.Errorf("%+v: left: %s", c, left)
		}
	}
}

// Errors of executions that end with their program are nobody's.
func TestDestroyingDrains(t *testing.T) {
	p := fake(t, 2)
	one, other := p.NewClient(), p.NewClient()
	x, y, z := one.Compile("outputs=1 fails=2"), one.Compile("outputs=1"), other.Compile("outputs=1")
	p.Hold(true)
	for _, g := range []*fakepjrt.Program{x, y, z} {
		g.Execute(fakepjrt.Device0)
		g.Execute(fakepjrt.Device0)
	}
	ended := later(func() bool { one.Destroy(); return true })
	p.Waiting(1)
	x.Finish(0)
	p.Waiting(1)
	y.Finish(0)
	<-ended
	if z.Unfinished() != 2 {
		t.Error("a client waited for another's programs")
	}
	x.Destroy() // after its client, as a garbage collector may
	y.Destroy()
	z.Finish(0)
	z.Destroy()
	other.Destroy()
	if got := p.Record(); !slices.Contains(got, "destroy client") ||
		slices.Index(got, fmt.Sprintf("await %d.2", y.Name)) > slices.Index(got, "destroy client") {
		t.Errorf("called %q", got)
	}
}

func TestProgramsDoNotWaitForEachOther(t *testing.T) {
	p := fake(t, 1)
	c := p.NewClient()
	x, y := c.Compile("outputs=1"), c.Compile("outputs=2")
	p.Hold(true)
	x.Execute(fakepjrt.Device0)
	blocked := later(func() string { return x.Execute(fakepjrt.Device0) })
	p.Waiting(1)
	for k := range 10 {
		y.Finish(k)
		if got := y.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver {
			t.Fatal(got)
		}
		if z := c.Compile(fmt.Sprintf("outputs=1 number %d", k)); z.Execute(fakepjrt.Device0) != fakepjrt.HandedOver {
			t.Fatal("another program waited")
		} else {
			z.Finish(0)
			z.Destroy()
		}
	}
	select {
	case <-blocked:
		t.Fatal("it did not wait")
	default:
	}
	x.Finish(0)
	<-blocked
	y.Finish(0)
	x.Destroy()
	y.Destroy()
}

// Equal programs of a client are one, which lives until its last user gives it back, also after its client.
func TestEqualProgramsAreCompiledOnce(t *testing.T) {
	p := fake(t, 2)
	one, other := p.NewClient(), p.NewClient()
	x, y, z, w := one.Compile("outputs=3"), one.Compile("outputs=3"), other.Compile("outputs=3"), one.Compile("outputs=2")
	if x.Name != y.Name || z.Name == x.Name || w.Name == x.Name {
		t.Errorf("programs %d, %d of one client, %d of another, %d with other text", x.Name, y.Name, z.Name, w.Name)
	}
	p.Record()
	x.Destroy()
	if got := p.Record(); len(got) > 0 {
		t.Errorf("called %q while it is in use", got)
	}
	if got := y.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver {
		t.Error(got)
	}
	again := one.Compile("outputs=3")
	if again.Name != y.Name {
		t.Error("compiled again")
	}
	one.Destroy()
	y.Destroy()
	again.Destroy()
	if got := p.Record(); !slices.Contains(got, fmt.Sprintf("destroy program %d", y.Name)) {
		t.Errorf("called %q", got)
	}
	for _, g := range []*fakepjrt.Program{z, w} {
		g.Destroy()
	}
	other.Destroy()
}

// Those who ask for a program while it is compiled wait for it.
func TestEqualProgramsAtOnce(t *testing.T) {
	p := fake(t, 2)
	c := p.NewClient()
	programs := make([]*fakepjrt.Program, 8)
	var all sync.WaitGroup
	for i := range programs {
		all.Go(func() { programs[i] = c.Compile("outputs=1") })
	}
	all.Wait()
	for _, g := range programs {
		if g.Name != programs[0].Name {
			t.Fatal("compiled twice")
		}
	}
	for _, g := range programs {
		all.Go(g.Destroy)
	}
	all.Wait()
}

// What does not fit a queue is awaited as before.
func TestOtherExecutionsAreAwaited(t *testing.T) {
	p := fake(t, 2)
	c := p.NewClient()
	x := c.Compile("outputs=2")
	for _, e := range []struct {
		where int
		want  string
	}{
		{fakepjrt.Both, fakepjrt.Waited},
		{fakepjrt.Device0, fakepjrt.HandedOver},
		{fakepjrt.Device1, fakepjrt.Waited}, // on another device than the queue
		{fakepjrt.Device0, fakepjrt.HandedOver},
		{fakepjrt.WithoutEvent, fakepjrt.HandedOver}, // as its caller wants it
	} {
		if got := x.Execute(e.where); got != e.want {
			t.Errorf("%+v: %s", e, got)
		}
	}
	x.Destroy()
	if c.Compile("nothing") != nil {
		t.Error("a program that does not compile")
	}
	own := fakepjrt.Load(t, filepath.Join(shared.dir, "plugin.so"))
	y := own.NewClient().Compile("outputs=1")
	if got := y.Execute(fakepjrt.Device0); got != fakepjrt.Waited { // the plugin's own table is as it was
		t.Error(got)
	}
	y.Destroy()
}

// Goroutines that share programs, and make and destroy their own, leave nothing.
func TestManyGoroutinesAtOnce(t *testing.T) {
	p := fake(t, 2)
	c := p.NewClient()
	x := c.Compile("outputs=3")
	x.Fail(50, false)
	var all sync.WaitGroup
	var mu sync.Mutex
	errors := 0
	for range 8 {
		all.Go(func() {
			y := c.Compile("outputs=1")
			for range 100 {
				if got := x.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver {
					mu.Lock()
					errors++
					mu.Unlock()
					if !strings.Contains(got, "execution 50 failed") || !strings.Contains(got, "to ") {
						t.Error(got)
					}
				}
				if got := y.Execute(fakepjrt.Device0); got != fakepjrt.HandedOver {
					t.Error(got)
				}
			}
			y.Destroy()
		})
	}
	all.Wait()
	if errors != 1 {
		t.Errorf("%d errors of one execution", errors)
	}
	x.Destroy()
	c.Destroy()
}

func TestTheCopyHasAllOfTheTable(t *testing.T) {
	newer, older := filepath.Join(shared.dir, "newer.so"), filepath.Join(shared.dir, "older.so")
	// The first has entries that go-xla's header does not know, the second ends with the last that go-xla calls.
	fakepjrt.Build(t, newer, "MINOR=115", "TABLE_SIZE=1144")
	fakepjrt.Build(t, older, "MINOR=60", "TABLE_SIZE=PJRT_STRUCT_SIZE(PJRT_Api,PJRT_Executable_GetCompiledMemoryStats)")
	for path, ours := range map[string]int{newer: 8, older: 7} { // older errors have no payload
		p := register(t, path, 1)
		if got := p.Differs(); got != ours {
			t.Errorf("%s: %d entries are not the plugin's, want %d", path, got, ours)
		}
		x := p.NewClient().Compile("outputs=1 fails=2")
		for k, want := range []string{fakepjrt.HandedOver, fakepjrt.HandedOver, "executions 2 to 3", fakepjrt.HandedOver} {
			if got := x.Execute(fakepjrt.Device0); !strings.Contains(got, want) {
				t.Errorf("%s: execution %d: %s", path, k+1, got)
			}
		}
		x.Destroy()
	}
}

func TestPluginsThatDoNotFitStayAsTheyAre(t *testing.T) {
	for name, c := range map[string]struct{ macro, want string }{
		"major":   {"MAJOR=1", "its PJRT version is 1."},
		"small":   {"TABLE_SIZE=504", "its PJRT table has 504 bytes, 512 are needed"},
		"tiny":    {"TABLE_SIZE=8", "its PJRT table has 8 bytes"},
		"await":   {"WITHOUT=PJRT_Event_Await", "it has no PJRT_Event_Await"},
		"destroy": {"WITHOUT=PJRT_Buffer_Destroy", "it has no PJRT_Buffer_Destroy"},
		"outputs": {"WITHOUT=PJRT_Executable_NumOutputs", "it has no PJRT_Executable_NumOutputs"},
		"none":    {"NO_TABLE", "it is no PJRT plugin"},
		"start":   {"UNSTARTABLE", "it does not start: "},
	} {
		path := filepath.Join(shared.dir, name+".so")
		fakepjrt.Build(t, path, c.macro)
		for range 2 { // the answer is remembered
			if err := pjrt.Register(path, 2); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if pjrt.Table(path) != 0 {
			t.Errorf("%s has a table", name)
		}
	}
	path := filepath.Join(shared.dir, "text.so")
	if err := os.WriteFile(path, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := pjrt.Register(path, 2); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if err := pjrt.Register("/nowhere/plugin.so", 0); err != nil { // nothing is asked for
		t.Error(err)
	}
}

// go-xla finds the table under the plugin's path and does not wait.
func TestGoXLADoesNotWait(t *testing.T) {
	p := fake(t, 2)
	plugin, err := xla.GetPlugin(filepath.Join(shared.dir, "plugin.so"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := plugin.NewClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := client.Compile().WithStableHLO([]byte("outputs=3 fails=4")).Done()
	if err != nil {
		t.Fatal(err)
	}
	step := func() error {
		out, err := x.Execute().Done()
		if err == nil && len(out) != 3 {
			t.Errorf("%d outputs", len(out))
		}
		for _, b := range out {
			if err := b.Destroy(); err != nil {
				t.Error(err)
			}
		}
		return err
	}
	p.Hold(true)
	for range 2 {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	third := later(step)
	p.Waiting(1)
	p.Finish()
	if err := <-third; err != nil {
		t.Fatal(err)
	}
	p.Hold(false)
	for k := 4; k <= 6; k++ {
		if err := step(); (k == 6) != (err != nil) {
			t.Errorf("execution %d: %v", k, err)
		} else if k == 6 && !strings.Contains(err.Error(), "executions 4 to 6 of this program") {
			t.Error(err)
		}
	}
	p.Finish()
	if err := x.Destroy(); err != nil {
		t.Error(err)
	}
	if err := client.Destroy(); err != nil {
		t.Error(err)
	}
}
