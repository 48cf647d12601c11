package linearmodel

import (
	"github.com/bregman-ml/bregman/fit"
	"github.com/bregman-ml/bregman/mirror"
)

// FitResult is what `bregman fit --json` prints. Margin, Norm and Gap are null if the data is not separated, and if
// another point of the path than its end was chosen.
type FitResult struct {
	P         mirror.Exponent `json:"p"`
	Method    string          `json:"method"`
	LossName  string          `json:"loss_name"`
	LR        float64         `json:"lr"`
	L2        float64         `json:"l2,omitempty"`
	LP        float64         `json:"lp,omitempty"`      // the lambda that was used
	Penalty   float64         `json:"penalty,omitempty"` // the strength that was used, on a path
	MarginEnd bool            `json:"margin_end,omitempty"`
	Intercept bool            `json:"intercept,omitempty"`
	Scale     string          `json:"scale,omitempty"` // how columns were scaled
	Soft      float64         `json:"soft,omitempty"`
	Label     string          `json:"label,omitempty"` // the column of labels, if the data have names
	Classes   []string        `json:"classes,omitempty"`
	N         int             `json:"n"`
	D         int             `json:"d"`
	Steps     int             `json:"steps"`
	Loss      *float64        `json:"loss"` // null if it overflows
	// with a penalty: the loss and the penalty
	Objective *float64 `json:"objective,omitempty"`
	// with a penalty: the objective is at most this far above the least possible
	Excess *float64 `json:"excess,omitempty"`
	Margin *float64 `json:"margin"` // γ(w)/‖w‖ₚ
	Norm   *float64 `json:"norm"`   // ‖w‖ₚ after rescaling to margin 1
	Lower  *float64 `json:"lower"`
	Upper  *float64 `json:"upper"`
	Gap    *float64 `json:"gap"`
	// of several classes: the margin is that of the right class over every other, in one problem
	Joint bool `json:"joint,omitempty"`
	// proved either way, of each class against the rest, or jointly; absent: not known
	Separable *bool  `json:"separable,omitempty"`
	None      string `json:"none,omitempty"` // why the margin is soft, or none was found
	// weights above a thousandth of the largest, the mean over weight vectors
	Nonzero       int         `json:"nonzero"`
	TrainAccuracy *float64    `json:"train_accuracy"`
	HeldAccuracy  *float64    `json:"held_out_accuracy,omitempty"`
	HeldR2        *float64    `json:"held_out_r2,omitempty"`
	TestAccuracy  *float64    `json:"test_accuracy,omitempty"`
	TestLogLoss   *float64    `json:"test_log_loss,omitempty"`
	TestAUC       *float64    `json:"test_auc,omitempty"`
	TestLoss      *float64    `json:"test_loss,omitempty"` // of a regression
	TrainR2       *float64    `json:"train_r2,omitempty"`
	TestR2        *float64    `json:"test_r2,omitempty"`
	TestRMSE      *float64    `json:"test_rmse,omitempty"`
	Folds         int         `json:"folds,omitempty"`
	CV            []fit.Score `json:"cv,omitempty"`
	Seconds       float64     `json:"seconds"`
	TotalSeconds  float64     `json:"total_seconds"`
	Run           string      `json:"run,omitempty"`
	Model         string      `json:"model,omitempty"`

	Notes   []string     `json:"notes,omitempty"`    // what was done with the columns of the table
	HeldOut *fit.Quality `json:"held_out,omitempty"` // by the models of the folds, which have not seen the examples
	Test    *fit.Quality `json:"test,omitempty"`
	Effects []Effect     `json:"effects,omitempty"` // the largest of each class
}
