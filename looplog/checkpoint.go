package looplog

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/bregman-ml/bregman/internal/safetensors"
	"github.com/bregman-ml/bregman/runlog"
)

// checkpointFile holds all variables of the store, with a checksum.
const checkpointFile = "checkpoint.safetensors"

// types are those of safetensors by GoMLX's.
var types = map[dtypes.DType]string{dtypes.Float64: "F64", dtypes.Float32: "F32", dtypes.Float16: "F16",
	dtypes.BFloat16: "BF16", dtypes.Int64: "I64", dtypes.Int32: "I32", dtypes.Int16: "I16", dtypes.Int8: "I8",
	dtypes.Uint64: "U64", dtypes.Uint32: "U32", dtypes.Uint16: "U16", dtypes.Uint8: "U8", dtypes.Bool: "BOOL"}

// save writes a checkpoint, whole or not at all.
func (r *Run) save(step int) error {
	f := safetensors.File{Metadata: map[string]string{"format": "bregman-loop", "step": strconv.Itoa(step)}}
	for v := range r.store.IterVariables() {
		if !v.HasValue() {
			continue
		}
		value, err := v.Value()
		if err != nil {
			return err
		}
		t := safetensors.Tensor{Name: strings.TrimPrefix(v.Path(), "/"), DType: types[v.DType()],
			Shape: v.Shape().Dimensions}
		if t.DType == "" {
			return fmt.Errorf("%s: a checkpoint cannot hold values of type %s: set Save to a negative time", v.Path(), v.DType())
		}
		if err := value.ConstBytes(func(data []byte) { t.Data = bytes.Clone(data) }); err != nil {
			return err
		}
		f.Tensors = append(f.Tensors, t)
	}
	f, err := f.WithChecksum()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := safetensors.Encode(&b, f); err != nil {
		return err
	}
	if err := errors.Join(r.folder.Sync(), runlog.WriteFile(r.folder.Path(checkpointFile), b.Bytes())); err != nil {
		return err
	}
	r.saved = time.Now()
	return nil
}

// restore gives the store's variables their values of a checkpoint, those to come through the store's loader, and
// returns its step.
func (r *Run) restore(path string) (step int, err error) {
	f, err := safetensors.Read(path)
	if err != nil {
		return 0, err
	}
	if err := f.Verify(); err != nil {
		return 0, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if step, err = strconv.Atoi(f.Metadata["step"]); err != nil || f.Metadata["format"] != "bregman-loop" {
		return 0, fmt.Errorf("%s is not the checkpoint of a loop", path)
	}
	l := &loader{before: r.store.Loader(), values: map[string]*tensors.Tensor{}}
	for _, st := range f.Tensors {
		t, err := tensorOf(st)
		if err != nil {
			return 0, fmt.Errorf("%s: %s: %w", path, st.Name, err)
		}
		l.values["/"+st.Name] = t
	}
	for v := range r.store.IterVariables() {
		t := l.values[v.Path()]
		switch {
		case t == nil:
			continue
		case !t.Shape().Equal(v.Shape()):
			return 0, fmt.Errorf("%s: %s has the shape %s, this network's has %s", path, v.Path(), t.Shape(), v.Shape())
		}
		if err := v.SetValue(t); err != nil {
			return 0, err
		}
		delete(l.values, v.Path())
	}
	r.store.SetLoader(l)
	return step, nil
}

func tensorOf(st safetensors.Tensor) (*tensors.Tensor, error) {
	for dtype, name := range types {
		if name != st.DType {
			continue
		}
		t := tensors.FromShape(shapes.Make(dtype, st.Shape...))
		size := 0
		err := t.MutableBytes(func(data []byte) { size = copy(data, st.Data) })
		if err == nil && size != len(st.Data) {
			err = fmt.Errorf("%d bytes for a tensor of %d", len(st.Data), size)
		}
		return t, err
	}
	return nil, fmt.Errorf("values of type %q", st.DType)
}

// loader has the values of variables that do not exist yet.
type loader struct {
	before model.Loader // of the program; may be nil
	values map[string]*tensors.Tensor
}

func (l *loader) LoadVariable(store *model.Store, path string) (*tensors.Tensor, bool) {
	if t, found := l.values[path]; found {
		delete(l.values, path)
		return t, true
	}
	if l.before != nil {
		return l.before.LoadVariable(store, path)
	}
	return nil, false
}

func (l *loader) DeleteVariable(store *model.Store, path string) error {
	delete(l.values, path)
	if l.before != nil {
		return l.before.DeleteVariable(store, path)
	}
	return nil
}
