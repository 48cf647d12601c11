// Package bregman is a toolkit for mirror descent. It holds no code itself. The library, from the geometry up:
//
//   - mirror: potentials, mirror maps, Bregman divergences, norms, the step
//   - matrix: examples as dense or sparse rows, and products with them on all cores
//   - dataset: tables by name, or from svmlight, CSV, Parquet and NumPy files
//   - measure: how good predictions are: accuracy, AUC, log-loss, R²; softmax and sigmoid
//   - linear: problems, losses, methods that fit a linear model, traces and margin certificates
//   - margin: the exact largest ℓₚ margin with its certificate, least-norm interpolation, the regularisation path
//   - fit: a linear model from a table: scaling, many classes, soft margins, cross-validation, the model file
//   - engine: where GoMLX graphs run: a GPU, our engine for CPUs, or others
//   - images: labelled images as bytes: named sets, folders, archives, your own
//   - nets: networks for images as GoMLX graphs, and the layers to build others
//   - optim: mirror descent as a GoMLX optimizer, potentials, schedules
//   - train: a training run of a network: data on the device, the loop, evaluation, checkpoints
//   - looplog: the loop of GoMLX's trainer in a run folder, for programs of others
//   - runlog: run folders, written as a run goes and read back
//   - docs: the documentation, as files in the program
//
// The folder examples has small programs that use it from modules of their own. The command line is cmd/bregman.
package bregman
