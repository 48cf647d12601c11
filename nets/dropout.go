package nets

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

// DropoutSeed is the name of a variable that a layer with dropout has beside its weights. It is an int64 and not
// trainable. [Net.Init] draws it; training does not change it. It belongs to a run, not to the network: files of
// weights leave it out.
const DropoutSeed = "dropout_seed"

// drop sets a random share of x, [batch, features], to 0, and divides the others by the share that stays.
//
// The mask follows from the layer's seed, the global step and the place in x alone, by a hash of 32-bit integers. There
// is no generator whose state could be lost: a resumed run has the same masks, and so has every engine.
func (b *Builder) drop(x *Node) *Node {
	g := x.Graph()
	v := b.scope.VariableWithShape(DropoutSeed, shapes.Make(dtypes.Int64)).SetTrainable(false)
	if !v.HasValue() {
		if err := b.draw.set(b.root, v, nil, 0); err != nil {
			panic(err)
		}
	}
	seed, step := v.NodeValue(g), optimizer.GetGlobalStepVar(b.scope).NodeValue(g)
	keep := GreaterOrEqual(uniform(x, seed, step), Const(g, float32(b.dropout)))
	return MulScalar(Where(keep, x, ZerosLike(x)), 1/(1-b.dropout))
}

// uniform has a number in [0, 1) of 24 random bits, float32, for every place of x.
//
// Two rounds of the hash with a key for each: with one, the numbers of two steps would be the same in another order if
// only low bits of their keys differed.
func uniform(x, seed, step *Node) *Node {
	low, high := words(seed)
	first := hash(BitwiseXor(low, hash(lowWord(step))))
	second := hash(BitwiseXor(high, first))
	place := Reshape(Iota(x.Graph(), shapes.Make(dtypes.Uint32, x.Shape().Size()), 0), x.Shape().Dimensions...)
	h := hash(BitwiseXor(hash(Add(place, first)), second))
	bits := BitwiseShiftRightLogicalScalar(h, uint32(8))
	return MulScalar(ConvertDType(bits, dtypes.Float32), 1.0/(1<<24))
}

// words are the low and the high half of an int64.
func words(v *Node) (low, high *Node) {
	return lowWord(v), lowWord(BitwiseShiftRightLogicalScalar(v, int64(32)))
}

// lowWord is the low half of an int64. The mask makes the conversion exact: what it does beyond is the engine's choice.
func lowWord(v *Node) *Node {
	return ConvertDType(BitwiseAnd(v, Const(v.Graph(), int64(1<<32-1))), dtypes.Uint32)
}

// hash is a bijection of 32-bit words by multiplications and shifts, lowbias32 of C. Wellons' hash-prospector: a change
// of one bit changes every other with a probability near a half.
func hash(x *Node) *Node {
	mixed := func(x *Node, shift uint32) *Node { return BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, shift)) }
	times := func(x *Node, factor uint32) *Node { return Mul(x, Const(x.Graph(), factor)) }
	x = times(mixed(x, 16), 0x7feb352d)
	x = times(mixed(x, 15), 0x846ca68b)
	return mixed(x, 16)
}
