package render

import "strconv"

// Count writes a number with its noun: 1 run, 2 runs. The noun's plural must end in s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
