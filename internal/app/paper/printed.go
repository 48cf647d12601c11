package paper

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/paper/numbers"
	"github.com/bregman-ml/bregman/internal/app/sweep"
	"github.com/bregman-ml/bregman/nets"
)

// printed is a table of networks in the paper: what a report sets beside its runs, and says of them.
type printed struct {
	images string // as the paper calls them
	epochs int
	trials int // behind each accuracy
	rows   func() []numbers.Row
	intro  string
	// ours reports whether the pictures of a sweep are those of the table.
	ours func(r *networks) bool
	// test is the accuracy that stands beside the paper's.
	test func(command.TrainResult) float64
	// packed pictures: random crops, and tests with mirror images.
	packed bool
	// differences are those from the paper's runs, beside those of every table.
	differences func(r *networks) []string
	// claims adds what the paper says of a network; overall, of all networks, may be nil.
	claims  func(c *networkClaims)
	overall func(r *networks) []*paperClaim
}

func testAccuracy(x command.TrainResult) float64  { return 100 * x.TestAccuracy }
func flipAccuracy(x command.TrainResult) float64  { return 100 * x.FlipAccuracy }
func trainAccuracy(x command.TrainResult) float64 { return 100 * x.Accuracy }

// cifar10Table is Tables 3 and 6.
var cifar10Table = &printed{
	images: "CIFAR-10", epochs: 400, trials: numbers.Trials, rows: numbers.CIFAR10, test: testAccuracy,
	intro: "The paper (Sun, Ahn, Thrampoulidis and Azizan, NeurIPS 2022) makes 5 trials of 400 epochs on CIFAR-10 at a " +
		"peak rate of 0.1 for every p, and names no batch size. --reading scaled takes it for 0.1 for each 128 images, " +
		"printed for 0.1 at any batch. One rate means something different for every p, so --lr auto chooses one for " +
		"each by short runs." +
		" \"bregman reproduce imagenet\" is its experiment on ImageNet.",
	ours: func(r *networks) bool { return r.set == "cifar10" },
	differences: func(r *networks) []string {
		size := r.each(batch)
		if size == "batch 512" {
			size += ", that of the FFCV example it starts from"
		}
		rate := r.each(schedule)
		if rate == "a triangular learning rate with its peak at 5/24 of the run" {
			rate += ", as in that example"
		}
		return []string{"The paper names no batch size: here " + size + ".",
			"The paper says that its learning rate is cyclic, not its shape nor where it peaks: here " + rate + ".",
			"The paper does not say which forms of the networks for small pictures it takes; " +
				"here they are those of the pytorch-cifar collection."}
	},
	claims: cifar10Claims, overall: cifar10Overall,
}

// imageNetTable is Table 7.
var imageNetTable = &printed{
	images: "ImageNet", epochs: 120, trials: 1, rows: numbers.ImageNet, test: flipAccuracy, packed: true,
	intro: "The paper (Sun, Ahn, Thrampoulidis and Azizan, NeurIPS 2022) makes one run of 120 epochs on ImageNet for " +
		"each network and p, at a peak rate of 0.5, without momentum, decay and label smoothing. Its other settings are " +
		"not printed; here they are those of the FFCV example that it starts from, which tests with mirror images.",
	ours: func(r *networks) bool { return len(r.plan.File.Published) > 0 },
	differences: func(r *networks) []string {
		return []string{
			"The paper names no batch size, no resolution and no crops: here " + r.each(batch) + " and " + r.each(pictures) +
				". The FFCV example has batch 1024, blur pools, 160 to 192 pixels and tests at 256.",
			"The paper says that its learning rate is cyclic, not its shape nor where it peaks: here " + r.each(schedule) +
				". In the FFCV example it peaks after two epochs.",
			"The paper turned off what may regularise, and does not say whether that includes MobileNet-v2's dropout: here " +
				strings.ReplaceAll(r.each(dropout), " or ", ", ") + ".",
			"The paper does not say whether its accuracies are with mirror images, as in the FFCV example: beside them are " +
				"ours with mirror images, and the table has those without.",
		}
	},
	claims: imageNetClaims,
}

// dropout describes the rate of dropout before the last layer.
func dropout(settings map[string]string) string {
	model := settings["model"]
	if rate := settings["dropout"]; rate != "" {
		return rate + " in " + model
	}
	if net, err := nets.ByName(model); err == nil && net.Dropout > 0 {
		return fmt.Sprintf("%v in %s, as in torchvision", net.Dropout, model)
	}
	return "none in " + model
}

// pictures describes what a network is shown of packed pictures.
func pictures(settings map[string]string) string {
	text := "random crops and flips"
	if settings["no_augment"] == "true" {
		text = "no augmentation"
	}
	if side := settings["resolution"]; side != "" {
		text += ", " + side + " pixels"
	}
	if side := settings["test_resolution"]; side != "" {
		text += ", " + side + " in tests"
	}
	if settings["blur_pool"] == "true" {
		return text + ", blur pools"
	}
	return text + ", no blur pools"
}

// published returns the paper's accuracies for a group, nil if it has none: it has none of the variants, nor of other
// images than its own.
func (r *networks) published(g *group) map[float64]numbers.Accuracy {
	if !numbers.Plain(g.settings) || !r.paper.ours(r) {
		return nil
	}
	return numbers.Of(r.paper.rows(), g.model)
}

// published are rows of the paper as a sweep file has them.
func published(rows []numbers.Row) []map[string]any {
	var out []map[string]any
	for _, r := range rows {
		out = append(out, map[string]any{"model": r.Model, "p": r.P, "mean": r.Mean})
	}
	return out
}

// images names the pictures of the runs: a packed file by its name alone.
func (r *networks) images() string {
	if r.paper.packed && r.paper.ours(r) {
		return r.paper.images
	}
	return filepath.Base(r.set)
}

// column is the title of the paper's accuracies.
func (t *printed) column() string { return fmt.Sprintf("the paper, %d epochs", t.epochs) }

// asPaper reports whether the runs have as many epochs as the paper's.
func (r *networks) asPaper() bool { return r.each(epochs) == strconv.Itoa(r.paper.epochs)+" epochs" }

func newCifar10(f sweep.Folder, p *sweep.Plan) (sweep.View, error) {
	return newNetworks(f, p, cifar10Table)
}
func newImageNet(f sweep.Folder, p *sweep.Plan) (sweep.View, error) {
	return newNetworks(f, p, imageNetTable)
}
