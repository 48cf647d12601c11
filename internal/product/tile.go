package product

// tile is a kernel: it computes rows × columns elements of a product and keeps them in registers meanwhile.
//
// The two kinds differ in how the left matrix lies. For gather the elements of a row follow each other, and rows are
// found by offsets: no copy of the left matrix is made. For outer the rows' elements of the same column follow each
// other. In both, the right matrix is packed in panels as wide as the tile.
type tile struct {
	rows, columns int
	cost          float64 // time per multiplication, relative
	gather        gatherKernel
	outer         outerKernel
	groups        groupsKernel // nil for wide tiles
}

// gatherKernel sets or adds to c[place[i]+j] the sum of a[from[t·stride+i]+k]·b[t][k][j] over t < taps and k < depth,
// for i < rows and j < columns. A negative from is a row of zeros. place and from have entries for all rows of the
// tile. What lies ahead floats further in a it fetches into the cache.
type gatherKernel func(c, a, zero, b []float32, place, from []int32, stride, taps, depth, ahead, rows, columns int,
	add bool)

// groupsKernel does what a gatherKernel does for several groups as wide as the tile: depth floats further in a each,
// columns in c, panel in b. There are 1 to mostTaps taps.
type groupsKernel func(c, a, zero, b []float32, place, from []int32, stride, taps, depth, rows, groups, panel int)

const mostTaps = 9

// outerKernel sets or adds to c[i·stride+j] the sum of a[n·image+y·line+x·pixel+i]·b[((n·high+y)·wide+x)·next+j] over n
// < images, y < high and x < wide, for i < rows and j < columns. It reads all rows and columns of the tile.
type outerKernel func(c, a, b []float32, stride, images, high, wide, image, line, pixel, next, rows, columns int,
	add bool)

// tileFor returns the tile that is fastest for so many columns and sums of so many terms.
func tileFor(columns, terms int) tile { return tileOf(columns, terms, 1) }

// tileOf is tileFor among the tiles whose width is a multiple.
func tileOf(columns, terms, multiple int) tile {
	var best tile
	least := 0.0
	for _, t := range tiles() {
		perRow := t.cost*float64(t.columns*terms) + startCost*8/float64(t.rows)
		cost := float64(t.panels(columns)) * perRow
		if t.columns%multiple == 0 && (best.gather == nil || cost < least) {
			best, least = t, cost
		}
	}
	return best
}

// startCost is what it takes to start a tile of eight rows and store its results, in multiplications of a row.
const startCost = 160

// panels is how many panels so many columns make.
func (t tile) panels(columns int) int { return (columns + t.columns - 1) / t.columns }

// strips is how many tiles so many rows make.
func (t tile) strips(rows int) int { return (rows + t.rows - 1) / t.rows }
