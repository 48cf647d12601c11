package optim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
)

// twoLayers makes a step of a network with the parameters of /a and /b/c and returns its store. The kernels start at 1
// and 2, the biases at 0, and each loss is linear: a step of SGD at the rate η moves a parameter by −η.
func twoLayers(t *testing.T, opt *Optimizer) (*model.Store, error) {
	t.Helper()
	store := model.NewStore()
	exec, err := model.NewExec(backend(t), store, func(scope *model.Scope, g *Graph) *Node {
		var loss *Node
		for k, layer := range []*model.Scope{scope.In("a"), scope.In("b").In("c")} {
			kernel := layer.VariableWithValue("weights", [][]float32{{float32(k + 1)}}).NodeValue(g)
			bias := layer.VariableWithValue("biases", []float32{0}).NodeValue(g)
			sum := Add(ReduceAllSum(kernel), ReduceAllSum(bias))
			if loss == nil {
				loss = sum
			} else {
				loss = Add(loss, sum)
			}
		}
		opt.UpdateGraph(scope, g, loss)
		return loss
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = exec.Call()
	return store, err
}

func TestGroupsTakeWhatTheyMatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		match Match
		want  string // the parameters that moved by 1
	}{{"kernels", Kernels, "/a/weights /b/c/weights"}, {"biases", Biases, "/a/biases /b/c/biases"},
		{"under a scope", Under("b"), "/b/c/weights /b/c/biases"},
		{"under a deep scope", Under("/b/c/"), "/b/c/weights /b/c/biases"},
		{"one parameter", Under("a/biases"), "/a/biases"},
		{"all", Under(""), "/a/weights /a/biases /b/c/weights /b/c/biases"}} {
		store, err := twoLayers(t, Mirror().LearningRate(0.25).Group("mine", c.match, Power(2), 1).Done())
		if err != nil {
			t.Fatal(err)
		}
		for path, start := range map[string]float32{"/a/weights": 1, "/a/biases": 0, "/b/c/weights": 2, "/b/c/biases": 0} {
			var moved float32
			tensors.ConstFlatData(store.GetVariable(path).MustValue(), func(flat []float32) { moved = start - flat[0] })
			want := float32(0.25)
			if strings.Contains(" "+c.want+" ", " "+path+" ") {
				want = 1
			}
			if moved != want {
				t.Errorf("%s: %s moved by %v, want %v", c.name, path, moved, want)
			}
		}
	}
}

func TestAGroupWithoutParametersIsAnErrorThatNamesThoseThereAre(t *testing.T) {
	for _, c := range []struct {
		config *Config
		want   []string
	}{
		{Mirror().Group("typo", Under("hiden"), Power(3), 0), []string{"group typo matches none", "/a/weights, /a/biases",
			"/b/c/weights"}},
		{Mirror().Group("part of a name", Under("b/"+"cc"), Power(3), 0), []string{"matches none"}},
		{Mirror().Group("first", Under("a"), Power(3), 0).Group("second", Under("a/weights"), Power(3), 0),
			[]string{"group second has no parameters", "/a/weights is in group first"}},
	} {
		_, err := twoLayers(t, c.config.Done())
		for _, w := range c.want {
			if said := fmt.Sprint(err); !strings.Contains(said, w) {
				t.Errorf("%q does not say %q", said, w)
			}
		}
	}
}

// What Done returned is an optimizer: it has no setters, and the builder that made it no longer changes it.
func TestDoneIsFinal(t *testing.T) {
	builder := Mirror().P(3)
	opt := builder.Group("k", Kernels, Power(2), 0).Done()
	builder.P(7).Momentum(0.5).Group("b", Biases, Power(2), 0)
	if opt.rest().potential.value != 3 || opt.momentum != 0 || len(opt.groups) != 2 || opt.groups[0].name != "k" {
		t.Errorf("%+v", opt.config)
	}
	methods := reflect.TypeOf(opt)
	for k := range methods.NumMethod() {
		if name := methods.Method(k).Name; name == "P" || name == "LearningRate" || name == "Group" || name == "Done" {
			t.Errorf("an optimizer has the method %s", name)
		}
	}
}
