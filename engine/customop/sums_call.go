package customop

// The geometry of kernels/sums.cu.

const (
	sumsThreads = 384
	// One block or two for each of an H200's 132 multiprocessors, which all run at once. One is as fast up to so many
	// numbers, and leaves fewer parts to add.
	sumsBlocks = 132
	sumsOne    = 1 << 26
	// A thread's rows on their way: eight of one tensor, four of two or of four.
	sumsShared = 8 * 16 * sumsThreads
	sumsJoined = "gradient_sums_joined" // of four
)

// sumsTaken reports whether the kernels take tensors of so many rows.
func sumsTaken(rows, channels int) bool {
	return rows > 0 && rows < 1<<30 && channels > 0 && channels%8 == 0 && channels < 1<<20
}

// SumsCall is the launch of a kernel that adds up rows, and in how many parts its output comes: [parts, 2, channels].
func SumsCall(kernel string, rows, channels int) (call Call, parts int) {
	groups := sumsGroups(channels / 8)
	across, lines := channels/8/groups, sumsThreads/groups
	// A thread that has fewer rows than this takes longer to add its sums to the others' than to read them.
	const fewest = 4
	blocks := sumsBlocks
	if rows*channels > sumsOne {
		blocks *= 2
	}
	parts = max(1, min(blocks/across, rows/(lines*fewest)))
	shared := sumsShared
	if kernel == sumsJoined {
		shared *= 2
	}
	return Call{
		Kernel: kernel,
		Dims:   []int{rows, channels, groups},
		GridX:  parts,
		GridY:  across,
		Block:  sumsThreads,
		Shared: shared,
	}, parts
}

// sumsGroups is how many groups of eight channels a block has: of the divisors of all, the largest up to 128 that
// leaves at most an eighth of the threads without work. One with fewer than four, whose rows would be read in short
// pieces, is only taken if there is no larger one.
func sumsGroups(groups int) int {
	best := 1
	for d := 2; d <= min(groups, sumsThreads); d++ {
		few := d <= 128 && sumsThreads/d*d >= sumsThreads*7/8
		if groups%d == 0 && (few || best < 4) {
			best = d
		}
	}
	return best
}
