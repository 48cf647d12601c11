// Package bregman is a toolkit for mirror descent. It holds no code itself; see
//
//   - mirror: potentials, mirror maps, Bregman divergences, norms, the step
//   - linear: problems, losses, descent, traces and margin certificates
//   - dataset: tables by name, or from svmlight, CSV and NumPy files
//   - cmd/bregman: the command line
package bregman
