package train

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/engine"
	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/nets"
)

// checkpointFormat marks the files that Save writes with all. They have a checksum; older ones have neither.
const checkpointFormat = "bregman-train"

// Save writes the session's state to one safetensors file, whole or not at all. With all, it is a checkpoint:
// everything a run needs to resume (weights, statistics, the optimizer's state, the step) and a checksum. Else it is
// the network alone, in PyTorch's names and layouts. The data set is not in it.
func (x *Session) Save(path string, all bool, metadata map[string]string) error {
	f, err := x.variables(all)
	f.Metadata = metadata
	if err == nil && all {
		f.Metadata = maps.Clone(metadata)
		if f.Metadata == nil {
			f.Metadata = map[string]string{}
		}
		f.Metadata["format"] = checkpointFormat
		f, err = f.WithChecksum()
	}
	if err != nil {
		return err
	}
	return writeTensors(path, f)
}

// variables copies what a file holds to the host.
func (x *Session) variables(all bool) (f safetensors.File, err error) {
	err = engine.Try(func() error {
		for v := range x.store.IterVariables() {
			if !stored(v, all) || !v.HasValue() {
				continue
			}
			t, err := v.Value()
			if err != nil {
				return err
			}
			st, err := encode(strings.TrimPrefix(v.Path(), "/"), t)
			if !all && err == nil {
				st, err = torchTensor(st)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", v.Path(), err)
			}
			f.Tensors = append(f.Tensors, st)
		}
		return nil
	})
	return f, err
}

// state is all that training changes, on the host.
func (x *Session) state() (safetensors.File, error) { return x.variables(true) }

// stored reports whether a file holds the variable.
func stored(v *model.Variable, all bool) bool {
	switch {
	case strings.HasPrefix(v.Path(), "/data/") || strings.HasPrefix(v.Path(), "/stats/") ||
		strings.Contains(v.Path(), "#"):
		return false
	case v.Name() == nets.DropoutSeed: // of a run, not of the network
		return all
	case strings.HasPrefix(v.Path(), "/"+modelScope+"/"):
		return true
	}
	return all
}

// torchName writes model/layer1/0/conv1/weight as layer1.0.conv1.weight.
func torchName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, modelScope+"/"), "/", ".")
}

// torchTensor gives a tensor of the network the name and layout it has in PyTorch.
func torchTensor(st safetensors.Tensor) (safetensors.Tensor, error) {
	v, err := safetensors.Float32s(st)
	return safetensors.FromFloat32s(torchName(st.Name), torchShape(st.Shape), toTorch(v, st.Shape)), err
}

func encode(name string, t *tensors.Tensor) (out safetensors.Tensor, err error) {
	shape := t.Shape().Dimensions
	switch t.DType() {
	case dtypes.Float32:
		v, err := tensors.CopyFlatData[float32](t)
		return safetensors.FromFloat32s(name, shape, v), err
	case dtypes.Float64:
		v, err := tensors.CopyFlatData[float64](t)
		return safetensors.FromFloat64s(name, shape, v), err
	case dtypes.Int64:
		v, err := tensors.CopyFlatData[int64](t)
		return safetensors.FromInt64s(name, shape, v), err
	}
	return out, fmt.Errorf("cannot store values of type %s", t.DType())
}

// Metadata reads what Save was given beside the state, and verifies the file. checked is false for a file of an older
// version: it has no checksum.
func Metadata(path string) (metadata map[string]string, checked bool, err error) {
	f, checked, err := readCheckpoint(path)
	return f.Metadata, checked, err
}

// readCheckpoint reads and verifies a checkpoint. A file with a format must have a checksum: otherwise damage to the
// checksum's name would make it look like a file of an older version.
func readCheckpoint(path string) (f safetensors.File, checked bool, err error) {
	f, err = safetensors.Read(path)
	if err != nil {
		return f, false, err
	}
	_, sum := f.Metadata[safetensors.ChecksumKey]
	if _, format := f.Metadata["format"]; !sum && !format {
		return f, false, nil
	}
	if err := f.Verify(); err != nil {
		return f, false, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return f, true, nil
}

// Load sets the session to a state that Save wrote with all. The file must have every variable, in its shape. Load
// refuses a damaged checkpoint and another network's, and then changes nothing.
func (x *Session) Load(path string) (metadata map[string]string, err error) {
	f, _, err := readCheckpoint(path)
	if err != nil {
		return nil, err
	}
	return f.Metadata, x.setState(f, path)
}

// setState sets the session to a state; path names it in errors.
func (x *Session) setState(f safetensors.File, path string) error {
	type change struct {
		v *model.Variable
		t *tensors.Tensor
	}
	var changes []change
	for v := range x.store.IterVariables() {
		if !stored(v, true) {
			continue
		}
		st, ok := f.Tensor(strings.TrimPrefix(v.Path(), "/"))
		if !ok {
			return fmt.Errorf("%s has no %s: it is a checkpoint of another network or optimizer", path, v.Path())
		}
		if !slices.Equal(st.Shape, v.Shape().Dimensions) {
			return fmt.Errorf("%s: %s has shape %v, this network's has %v", path, v.Path(), st.Shape, v.Shape().Dimensions)
		}
		t, err := decode(st)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, v.Path(), err)
		}
		if t.DType() != v.DType() {
			return fmt.Errorf("%s: %s holds numbers of type %s, this network's are %s", path, v.Path(), t.DType(),
				v.DType())
		}
		changes = append(changes, change{v, t})
	}
	return engine.Try(func() error {
		for _, c := range changes {
			if err := c.v.SetValue(c.t); err != nil {
				return err
			}
		}
		return nil
	})
}

func decode(st safetensors.Tensor) (*tensors.Tensor, error) {
	switch st.DType {
	case "F32":
		v, err := safetensors.Float32s(st)
		if err != nil {
			return nil, err
		}
		return tensors.FromFlatDataAndDimensions(v, st.Shape...), nil
	case "F64":
		v, err := safetensors.Float64s(st)
		if err != nil {
			return nil, err
		}
		return tensors.FromFlatDataAndDimensions(v, st.Shape...), nil
	case "I64":
		v, err := safetensors.Int64s(st)
		if err != nil {
			return nil, err
		}
		return tensors.FromFlatDataAndDimensions(v, st.Shape...), nil
	}
	return nil, fmt.Errorf("cannot read values of type %s", st.DType)
}

// CountWeights counts the trainable parameters in a file of weights that Save wrote: all but batch norm's statistics.
func CountWeights(path string) (int, error) {
	f, err := safetensors.Read(path)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, t := range f.Tensors {
		if strings.HasSuffix(t.Name, "running_mean") || strings.HasSuffix(t.Name, "running_var") {
			continue
		}
		size := 1
		for _, d := range t.Shape {
			size *= d
		}
		n += size
	}
	return n, nil
}
