package trials

import (
	"maps"
	"slices"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/render"
)

// explained is a measure and the names that it has: in metrics and results, at the heads of columns, over figures. The
// first is what people call it.
type explained struct {
	names []string
	text  string
}

// explanations has one plain sentence or two for each measure that a page shows.
var explanations = []explained{
	{[]string{"accuracy", "training accuracy", "train_accuracy", "accuracy by class"},
		"The share of examples whose predicted class is the true one; of a network in training, over the " +
			"batches of an epoch, as the weights changed."},
	{[]string{"test accuracy", "test_accuracy"},
		"The share of the test examples whose predicted class is the true one. Nothing was trained on them."},
	{[]string{"validation accuracy", "validation_accuracy"},
		"The share of correct predictions on training examples that were held back from training."},
	{[]string{"held-out accuracy", "held_out_accuracy", "accuracy on held-out data",
		"accuracy on held-out examples", "accuracy by lambda"},
		"The share of examples predicted correctly by models that did not train on them, in cross-validation."},
	{[]string{"on training examples", "training", "train"},
		"Measured on the examples that the model was trained on: new ones are harder."},
	{[]string{"on test examples", "test"}, "Measured on test examples: nothing was trained on them."},
	{[]string{"on validation examples", "validation"},
		"Measured on training examples that were held back from training."},
	{[]string{"on held-out examples", "held out"},
		"Measured in cross-validation: each example is predicted by a model that did not train on it."},
	{[]string{"test accuracy with flips", "with flips", "test with flips", "test_accuracy_flip"},
		"Test accuracy when the answers to a picture and to its mirror image are averaged."},
	{[]string{"test accuracy with shifts", "with shifts", "test_accuracy_shift"},
		"Test accuracy when the answers to shifted copies of a picture and their mirror images are averaged."},
	{[]string{"top 5", "test_top5", "validation_top5", "validation top 5", "test accuracy, first five",
		"validation accuracy, first five", "test_top5_flip"},
		"The share of examples whose true class is among the five that the network finds most probable."},
	{[]string{"balanced accuracy"},
		"The mean over the classes of the share predicted correctly: rare classes count as much as frequent ones."},
	{[]string{"largest class"},
		"The accuracy of always predicting the most frequent class: what a useful model must exceed."},
	{[]string{"precision"},
		"Of the examples predicted to be of a class, the share that are."},
	{[]string{"recall"},
		"Of the examples of a class, the share predicted to be of it."},
	{[]string{"F1"},
		"The harmonic mean of precision and recall: high only if both are."},
	{[]string{"AUC", "test_auc"},
		"The probability that an example of a class scores higher than one of another: 1 at best, 0.5 for " +
			"guessing."},
	{[]string{"log-loss", "test_log_loss", "log-loss on held-out examples", "log-loss of the best penalty"},
		"The mean of −log of the probability that the model gave to the true class; 0 at best, and confident " +
			"errors cost most."},
	{[]string{"Brier score"},
		"The mean squared difference between the predicted probabilities and the truth, 0 at best."},
	{[]string{"calibration error"},
		"How far predicted probabilities are from the shares that come true, on average; 0 if of the answers " +
			"given with 80 % just 80 % are right."},
	{[]string{"R²", "held_out_r2", "test_r2", "train_r2"},
		"The share of the target's variance that the model explains: 1 at best, 0 for always answering the mean, " +
			"below 0 if it is worse than that."},
	{[]string{"RMSE", "test_rmse"},
		"The root of the mean squared error, in the unit of the target; large errors count most."},
	{[]string{"MAE"},
		"The mean absolute error, in the unit of the target."},
	{[]string{"examples", "images"},
		"How many examples the numbers are of: the fewer, the less certain they are."},
	{[]string{"loss", "train_loss", "training loss", "mean_loss", "mean loss", "training loss, moving mean"},
		"What training minimises, as a mean over examples: the lower, the better the training examples are " +
			"fitted."},
	{[]string{"gradient norm", "gradient_norm", "‖gradient‖₂"},
		"The length of the gradient of the loss: how steep the loss is at these weights."},
	{[]string{"test loss", "test_loss"},
		"The loss on the test examples, which were not trained on."},
	{[]string{"validation loss", "validation_loss"},
		"The loss on training examples that were held back from training."},
	{[]string{"objective"},
		"What the fit minimises: the mean loss and the penalty on the size of the weights."},
	{[]string{"excess"},
		"How far the objective is above the least possible, at most; proved, not estimated."},
	{[]string{"penalty", "lambda", "λ", "best lambda"},
		"How strongly large weights are punished; the smaller, the closer the training examples are fitted."},
	{[]string{"steps", "step", "iterations"},
		"How many updates of the weights were made."},
	{[]string{"margin", "margin of the direction", "max margin", "max_margin", "lower", "upper"},
		"The distance of the example closest to the decision boundary, in the norm dual to ℓₚ: positive if every " +
			"training example is on its side."},
	{[]string{"share of the largest margin", "margin over the best possible"},
		"The margin of the direction divided by the largest that any direction has: 1 at best."},
	{[]string{"output margins", "margin_low", "margin_median", "output margin, 10 %", "output margin, median",
		"margin, 10 %", "margin, median", "smallest",
		"output margins on the training images, over the norm of the last layer"},
		"The network's output for the right class less the largest other one, over the norm of the last layer: " +
			"negative if the answer is wrong."},
	{[]string{"gap", "certified gap", "worst gap"},
		"By how much the best possible could be better, at most, as a share: proved by a bound from the dual " +
			"problem."},
	{[]string{"divergence", "divergence to the max margin", "divergence to the max-margin direction", "D(u, w/B)"},
		"The Bregman divergence from the direction to the one of largest ℓₚ margin: 0 if they are the same."},
	{[]string{"divergence from start", "divergence_start"},
		"The Bregman divergence of the p-th power of the p-norm between the weights and those at the start: how " +
			"far training has moved them."},
	{[]string{"angle", "angle to u", "angle to the max margin"},
		"The angle between the weights and the direction of largest ℓₚ margin: 0 if they are parallel."},
	{[]string{"norm", "p-norm", "norm_p", "norm of the weights", "‖W‖ₚ"},
		"The ℓₚ norm of the weights, (Σ|w|ᵖ)^(1/p); of a classifier with a margin, at margin 1, so that less is " +
			"better."},
	{[]string{"1-norm", "norm_1", "1-norm of the weights"},
		"The sum of the absolute weights."},
	{[]string{"2-norm", "norm_2", "2-norm of the weights", "‖W‖₂"},
		"The Euclidean length of the weights, the root of their sum of squares."},
	{[]string{"largest weight", "max", "norm_inf", "max |w|", "largest weight of a kernel"},
		"The largest absolute weight."},
	{[]string{"root mean square", "rms", "root mean square of the weights"},
		"The root of the mean squared weight: the size of a typical one."},
	{[]string{"weights that are 0", "zeros"},
		"The share of the weights that pruning has set to 0."},
	{[]string{"nonzero weights", "nonzero"},
		"How many weights are larger than a thousandth of the largest."},
	{[]string{"weights near 0", "sparsity"},
		"The share of the weights below a thousandth of the largest: how sparse the model is."},
	{[]string{"sizes of the weights", "|w|", "median", "max/median", "below 0.001", "below 0.01",
		"sizes over the rms of their layer", "|w| over the rms of its layer", "max/median over rms"},
		"How the absolute weights are spread: many small ones can be pruned, a large maximum makes rounding " +
			"coarse."},
	{[]string{"pruned", "pruned at", "pruning", "% of the weights set to 0"},
		"Test accuracy after the smallest weights, this share of all, were set to 0, without training after it."},
	{[]string{"bits", "rounded", "rounding"},
		"Test accuracy after the weights were rounded to so many bits, without training after it."},
	{[]string{"effect", "effect of one standard deviation"},
		"How much the prediction changes if the feature grows by one standard deviation and the others stay."},
	{[]string{"support"},
		"How many examples decide the margin: without the others it would be the same."},
	{[]string{"learning rate", "lr"},
		"How far one step of training moves the weights."},
	{[]string{"p"},
		"The exponent of the geometry: training by mirror descent with ‖w‖ₚᵖ; 2 is gradient descent, towards 1 " +
			"weights become sparse, larger p makes them equal in size."},
	{[]string{"speed", "img/s", "img_per_second"},
		"How many training images are processed a second."},
	{[]string{"waited", "time that steps waited for pictures"},
		"The share of the time in which training waited for pictures to be read."},
	{[]string{"resolution"},
		"The side of the training images in pixels, at this time of the run."},
	{[]string{"seconds", "total_seconds"},
		"How long the run took."},
	{[]string{"standard error", "± standard error", "± between folds", "error"},
		"± is how far such a mean is from the true one, typically: the deviation of the runs over √n, n being " +
			"how many runs with different seeds there are. Two deviate by chance alone; three are the least for a " +
			"test."},
	{[]string{"n"},
		"How many runs with different seeds a mean is of; a seed that was run twice counts once."},
	{[]string{"difference", "from the best", "pair", "ours"},
		"The difference of two means ± its standard error; p is the probability of one as large by chance alone, " +
			"corrected for the number of comparisons."},
	{[]string{"diverged"},
		"How many runs ended because their loss was not finite any more; they are in no mean."},
	{[]string{"measured"},
		"What was found; of a statement that is checked, the worst value over all its cases."},
	{[]string{"bound"},
		"What the measured value must not exceed, or must reach, for the statement to hold."},
	{[]string{"condition held"},
		"The share of the steps on which the statement's assumption was true: only they test it."},
	{[]string{"cases"},
		"How many cases were checked: points, or trajectories of a descent."},
	{[]string{"undecided p"},
		"The p for which the cases are too short, or numbers too coarse, to tell."},
}

var byName = func() map[string]render.Explanation {
	out := map[string]render.Explanation{}
	for _, e := range explanations {
		for _, n := range e.names {
			out[strings.ToLower(n)] = render.Explanation{Name: e.names[0], Text: e.text}
		}
	}
	return out
}()

// Explain finds the explanation of a measure by any of its names, with or without a unit.
func Explain(name string) (render.Explanation, bool) {
	name = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(name, "_", " ")))
	plain, _, _ := strings.Cut(name, ":") // pruned: of all layers together
	for _, n := range []string{name, strings.TrimSuffix(name, ", %"), plain} {
		for _, n := range []string{n, strings.ReplaceAll(n, " ", "_")} {
			if e, ok := byName[n]; ok {
				return e, true
			}
		}
	}
	return render.Explanation{}, false
}

// Explain is one plain sentence about the metric, "" of one that is not known.
func (m Metric) Explain() string {
	for _, name := range []string{m.Name, m.Title, m.Column} {
		if e, ok := Explain(name); ok {
			return e.Text
		}
	}
	return ""
}

// Explanations are the sentences by the names of metrics.
func Explanations() map[string]string {
	out := map[string]string{}
	for name, e := range maps.All(byName) {
		out[name] = e.Text
	}
	return out
}

// Explained are the names of all measures with an explanation, sorted.
func Explained() []string { return slices.Sorted(maps.Keys(byName)) }
