package cpu

import "github.com/gomlx/compute"

// What native steps need to know of an operation beside its inputs.
type (
	convAttr struct {
		axes                               compute.ConvolveAxesConfig
		strides                            []int
		paddings                           [][2]int
		inputDilations, kernelDilations    []int
		channelGroupCount, batchGroupCount int
	}
	dotAttr struct {
		xContract, xBatch, yContract, yBatch []int
		config                               compute.DotGeneralConfig
	}
	gatherAttr struct {
		indexVectorAxis                                 int
		offsetAxes, collapsedAxes, startIndexMap, sizes []int
	}
	sliceAttr struct{ starts, limits, strides []int }
)
