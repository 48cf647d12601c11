// Package docs holds the documentation, so that the program can show it offline. The data of docs/results are not in
// it.
package docs

import "embed"

// Files are the pages and their figures, by their paths below docs.
//
//go:embed *.md *.png measurements/*.md results/README.md
var Files embed.FS
