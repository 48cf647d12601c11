package nets

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/internal/safetensors"
)

// The files of testdata, and those that the flag names, are written by scripts/torch_imagenet.py.
var torchFolder = flag.String("nets.torch", "", "folder of torchvision's weights, pictures and logits to compare with")

func imageNetNames() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return !strings.HasSuffix(name, "-imagenet") })
}

func torchPath(v *model.Variable) string {
	return strings.ReplaceAll(strings.TrimPrefix(v.Path(), "/model/"), "/", ".")
}

// torchDims is the shape that PyTorch gives to a weight [height, width, in, out] or [in, out].
func torchDims(d []int) []int {
	switch len(d) {
	case 2:
		return []int{d[1], d[0]}
	case 4:
		return []int{d[3], d[2], d[0], d[1]}
	}
	return d
}

// setTorch gives a variable values in PyTorch's layout.
func setTorch(t *testing.T, v *model.Variable, torch []float32) {
	t.Helper()
	d := v.Shape().Dimensions
	values := slices.Clone(torch)
	if len(d) > 1 {
		in, out := d[len(d)-2], d[len(d)-1]
		pixels := len(torch) / (in * out)
		for p := range pixels {
			for i := range in {
				for o := range out {
					values[(p*in+i)*out+o] = torch[(o*in+i)*pixels+p]
				}
			}
		}
	}
	value := tensors.FromFlatDataAndDimensions(values, d...)
	if v.DType() == dtypes.Float64 {
		wide := make([]float64, len(values))
		for i, w := range values {
			wide[i] = float64(w)
		}
		value = tensors.FromFlatDataAndDimensions(wide, d...)
	}
	if err := v.SetValue(value); err != nil {
		t.Fatal(err)
	}
}

func TestNamesAndShapesAreThoseOfTorchvision(t *testing.T) {
	for _, name := range imageNetNames() {
		text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(text)), "\n")
		scope, _ := buildOnly(t, name, true, 2, 64, 64, 3)
		var got []string
		for v := range scope.IterVariables() {
			if v.Name() == DropoutSeed {
				continue
			}
			dims := strings.Trim(strings.ReplaceAll(fmt.Sprint(torchDims(v.Shape().Dimensions)), " ", "x"), "[]")
			got = append(got, torchPath(v)+" "+dims)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the variables are\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// formula has numbers in [0, 1) of 24 bits by a hash of the name and the place. The script has the same.
func formula(name string, count int) []float64 {
	u := make([]float64, count)
	start := crc32.ChecksumIEEE([]byte(name))
	for i := range u {
		u[i] = float64(hashed(uint32(i)+start)>>8) / (1 << 24)
	}
	return u
}

// torchFormula is the value of a tensor of the network, in PyTorch's layout.
func torchFormula(name string, dims []int, trivial bool) []float32 {
	size, fan := 1, 1
	for i, d := range dims {
		if size *= d; i > 0 {
			fan *= d
		}
	}
	values := make([]float32, size)
	for i, u := range formula(name, size) {
		v := 0.4*u - 0.2
		switch {
		case len(dims) > 1:
			v = (2*u - 1) * math.Sqrt(6/float64(fan))
		case strings.HasSuffix(name, "running_var"):
			if v = 0.5 + u; trivial {
				v = 1
			}
		case strings.HasSuffix(name, "running_mean"):
			if trivial {
				v = 0
			}
		case strings.HasSuffix(name, "weight"):
			v = 0.5 + 0.5*u
		}
		values[i] = float32(v)
	}
	return values
}

// apart is the largest difference of logits, relative to 1 + |want|.
func apart(t *testing.T, what string, got, want []float64) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d logits, want %d", what, len(got), len(want))
	}
	most := 0.0
	for i := range got {
		if d := math.Abs(got[i]-want[i]) / (1 + math.Abs(want[i])); !(d <= most) {
			most = d
		}
	}
	return most
}

// torchTolerance is of logits in float32 after up to 53 convolutions, whose sums PyTorch adds in another order. We saw
// at most 3e-5.
const torchTolerance = 1e-4

// Weights by a formula: both sides compute them, and only PyTorch's logits, in float64, are in a file. The modes are
// evaluation with means of 0 and variances of 1, with others, and training, that is with the statistics of the batch.
//
// Training is compared in float64. The last batch norms see as few as 12 values a channel, which enlarges rounding: in
// float32 ResNet-50 was 1.5e-4 from PyTorch.
func TestLogitsAreThoseOfTorchvision(t *testing.T) {
	text, err := os.ReadFile("testdata/torchvision.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Net, Mode     string
			Height, Width int
			Logits        []float64
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 18 {
		t.Fatalf("%d cases, want 18", len(file.Cases))
	}
	for _, c := range file.Cases {
		if testing.Short() && c.Height > 64 {
			continue
		}
		const batch, classes = 3, 11
		u := formula(fmt.Sprintf("pictures %dx%d", c.Height, c.Width), batch*c.Height*c.Width*3)
		x := make([]float32, len(u))
		for i := range x {
			x[i] = float32(4*u[i] - 2)
		}
		dtype, tolerance := dtypes.Float32, torchTolerance
		if c.Mode == "training" {
			dtype, tolerance = dtypes.Float64, 1e-9
		}
		store := model.NewStore()
		scope := store.Scope("/model")
		exec := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
			x = ConvertDType(x, dtype)
			return mustNet(t, c.Net).With(Options{}).Logits(scope, x, classes, c.Mode == "training")
		})
		call := func() []float64 {
			return flat(t, exec.MustCall(tensors.FromFlatDataAndDimensions(x, batch, c.Height, c.Width, 3))[0])
		}
		call() // makes the variables
		for v := range scope.IterVariables() {
			setTorch(t, v, torchFormula(torchPath(v), torchDims(v.Shape().Dimensions), c.Mode == "trivial"))
		}
		what := fmt.Sprintf("%s, %d x %d, %s", c.Net, c.Height, c.Width, c.Mode)
		d := apart(t, what, call(), c.Logits)
		t.Logf("%s, %s: %.1e", what, dtype, d)
		if !(d <= tolerance) {
			t.Errorf("%s: logits are %.1e apart", what, d)
		}
		exec.Finalize()
		store.Finalize()
	}
}

// Weights as torchvision draws them, with 1000 classes, before and after its running statistics have moved.
func TestLogitsOfTorchvisionsFiles(t *testing.T) {
	if *torchFolder == "" {
		t.Skip("-nets.torch DIR: a folder that scripts/torch_imagenet.py wrote")
	}
	read := func(name string) map[string]safetensors.Tensor {
		f, err := safetensors.Read(filepath.Join(*torchFolder, name+".safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]safetensors.Tensor{}
		for _, st := range f.Tensors {
			all[st.Name] = st
		}
		return all
	}
	floats := func(st safetensors.Tensor) []float32 {
		v, err := safetensors.Float32s(st)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, name := range imageNetNames() {
		for _, statistics := range []string{"trivial", "moved"} {
			weights := read(name + "-" + statistics)
			for _, size := range []string{"64x64", "96x80"} {
				file := read(name + "-" + statistics + "-" + size)
				store := model.NewStore()
				scope := store.Scope("/model")
				exec := model.MustNewExec(testBackend(t), store, func(_ *model.Scope, x *Node) *Node {
					return mustNet(t, name).Logits(scope, x, 1000, false)
				})
				x := tensors.FromFlatDataAndDimensions(floats(file["pictures"]), file["pictures"].Shape...)
				exec.MustCall(x)
				for v := range scope.IterVariables() {
					setTorch(t, v, floats(weights[torchPath(v)]))
				}
				var want []float64
				for _, v := range floats(file["logits"]) {
					want = append(want, float64(v))
				}
				what := name + ", " + size + ", " + statistics
				d := apart(t, what, flat(t, exec.MustCall(x)[0]), want)
				t.Logf("%s: %.1e, the largest logit is %.1e", what, d, max(slices.Max(want), -slices.Min(want)))
				if !(d <= torchTolerance) {
					t.Errorf("%s: logits are %.1e apart", what, d)
				}
				exec.Finalize()
				store.Finalize()
			}
		}
	}
}

func TestInitIsTorchvisions(t *testing.T) {
	scope, _ := buildOnly(t, "mobilenetv2-imagenet", true, 2, 64, 64, 3)
	all := initialised(t, mustNet(t, "mobilenetv2-imagenet"), scope, 3)
	fresh, _ := buildOnly(t, "resnet50-imagenet", true, 2, 64, 64, 3)
	resnet := values(t, fresh)
	for _, c := range []struct {
		values map[string][]float64
		path   string
		want   float64 // deviation
	}{
		{all, "features/0/0/weight", math.Sqrt(2.0 / (9 * 32))},
		{all, "features/2/conv/0/0/weight", math.Sqrt(2.0 / 96)},
		{all, "features/17/conv/1/0/weight", math.Sqrt(2.0 / (9 * 960))}, // depthwise
		{all, "features/18/0/weight", math.Sqrt(2.0 / 1280)},
		{all, "classifier/1/weight", 0.01},
		{resnet, "conv1/weight", math.Sqrt(2.0 / (49 * 64))},
		{resnet, "layer3/0/conv2/weight", math.Sqrt(2.0 / (9 * 256))},
		{resnet, "layer3/0/downsample/0/weight", math.Sqrt(2.0 / 1024)},
		{resnet, "fc/weight", math.Sqrt(1.0 / (3 * 2048))},
		{resnet, "fc/bias", math.Sqrt(1.0 / (3 * 2048))},
	} {
		v := c.values["/model/"+c.path]
		var sum, squares float64
		for _, x := range v {
			sum, squares = sum+x, squares+x*x
		}
		n := float64(len(v))
		// The deviation of n normal draws is off by a share of about 1/√(2n), their mean by 1/√n deviations: five of each.
		if got := math.Sqrt(squares / n); math.Abs(got/c.want-1) > 5/math.Sqrt(2*n) {
			t.Errorf("%s: deviation %g, want %g", c.path, got, c.want)
		}
		if math.Abs(sum/n) > 5*c.want/math.Sqrt(n) {
			t.Errorf("%s: mean %g", c.path, sum/n)
		}
	}
	for _, x := range resnet["/model/fc/weight"] {
		if math.Abs(x) > 1/math.Sqrt(2048)*(1+1e-6) {
			t.Fatalf("fc.weight has %g, not uniform up to 1/√2048", x)
		}
	}
	for path, want := range map[string]float64{"classifier/1/bias": 0, "features/1/conv/2/weight": 1,
		"features/1/conv/2/bias": 0, "features/18/1/running_mean": 0, "features/18/1/running_var": 1} {
		for _, x := range all["/model/"+path] {
			if x != want {
				t.Errorf("%s holds %g, want %g", path, x, want)
			}
		}
	}
}

func TestImageNetFormsTakeAnySizeAndNumberOfClasses(t *testing.T) {
	for _, name := range imageNetNames() {
		for _, c := range []struct{ height, width, classes int }{{64, 64, 2}, {160, 192, 200}, {256, 256, 22_000}} {
			g := NewGraph(testBackend(t), name)
			x := Zeros(g, shapes.Make(dtypes.BFloat16, 2, c.height, c.width, 3))
			y := mustNet(t, name).With(Options{BlurPool: true}).Logits(model.NewStore().Scope("/model"), x, c.classes, true)
			if err := y.Shape().Check(dtypes.Float32, 2, c.classes); err != nil {
				t.Errorf("%s, %+v: %v", name, c, err)
			}
		}
	}
}
