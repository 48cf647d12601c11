package web

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bregman-ml/bregman/internal/app/settings"
)

// fieldLabels are what the form calls settings, by key. A key means the same in every command.
var fieldLabels = map[string]string{
	"p": "Geometry p", "data": "Data", "test": "Test data", "model": "Network", "epochs": "Epochs",
	"lr": "Learning rate", "trials": "Runs for each p", "unit": "Unit of weights", "tag": "Tags",
	"label": "Column of labels", "columns": "Columns of features", "drop": "Columns to leave out",
	"no_header": "The file has no line of names", "missing": "Missing values", "float32": "Keep sparse data in 32 bits",
	"zero_based": "svmlight columns count from 0", "cv": "Folds of cross-validation",
	"multiclass": "More than two classes", "class_weight": "Weight of classes", "no_intercept": "No intercept",
	"scale": "Scale of features", "top": "Largest weights to list", "gap": "Certified gap",
	"soft": "Share of worst margins", "steps": "Steps at most", "batch": "Batch size", "init": "Start from",
	"lp": "Penalty on the lp norm", "l2": "Penalty on the Euclidean norm", "bias": "Constant feature",
	"support": "List support vectors", "intercept": "Free intercept", "schedule": "Schedule of the rate",
	"peak": "Peak of the triangle", "nesterov": "Nesterov’s momentum", "dual_decay": "Decay of the dual weights",
	"adaptive": "Decay of the second moment", "no_augment": "No augmentation", "flips": "Flips of images",
	"resolution": "Pixels in training", "test_resolution": "Pixels in tests", "blur_pool": "Blur before strides",
	"prune_to": "Share of weights to prune to", "prune_during": "Part of the run that prunes",
	"validate": "Validation images", "patience": "Epochs of patience", "size": "Size of pictures",
	"skip_broken": "Leave out broken pictures", "no_study": "No study of the weights",
}

// labelOf is what the form calls a setting: its entry in the table, or else its key as words.
func labelOf(key string) string {
	if label, ok := fieldLabels[key]; ok {
		return label
	}
	words := strings.ReplaceAll(key, "_", " ")
	first, n := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[n:]
}

// basics are the settings that the form shows first, in this order; the others are folded.
var basics = map[string][]string{
	"fit":    {"data", "label", "test", "p", "objective", "penalty", "name", "tag", "note"},
	"margin": {"data", "label", "p", "intercept", "support"},
	"train":  {"model", "data", "p", "epochs", "lr", "trials", "unit", "name", "tag", "note"},
}

// unset says what a setting without a value and without a default means.
var unset = map[string]string{
	"schedule": "the network’s", "flips": "the network’s", "unit": "one", "epochs": "the network’s",
	"batch": "the network’s", "dropout": "the network’s", "data": "the network’s",
}

var (
	flagName = regexp.MustCompile(`--([a-z][a-z0-9-]*)`)
	missing  = regexp.MustCompile(`^missing setting: \w+$`)
)

// findFlag returns the flag of the first setting of the form that matches; "" if there is none.
func findFlag(fields []settings.Field, match func(f settings.Field) bool) string {
	if i := slices.IndexFunc(fields, func(f settings.Field) bool { return inForm(f) && match(f) }); i >= 0 {
		return fields[i].Flag
	}
	return ""
}

// flagsInWords writes labels for flags. One that the form does not have stays as it is.
func flagsInWords(fields []settings.Field, text string) string {
	begins := strings.HasPrefix(text, "--")
	return flagName.ReplaceAllStringFunc(text, func(m string) string {
		name := strings.TrimPrefix(m, "--")
		i := slices.IndexFunc(fields, func(f settings.Field) bool { return f.Flag == name && inForm(f) })
		switch {
		case i < 0:
			return m
		case begins:
			begins = false
			return labelOf(fields[i].Key)
		}
		return "“" + labelOf(fields[i].Key) + "”"
	})
}

// inWords is an error about settings in the form's words. It has the flag as its key, for the page to show it there.
func inWords(fields []settings.Field, err error) error {
	text, flag := err.Error(), ""
	var s *settings.Error
	if errors.As(err, &s) {
		flag = findFlag(fields, func(f settings.Field) bool { return f.Key == s.Key })
	} else if m := flagName.FindStringSubmatch(text); m != nil && strings.HasPrefix(text, m[0]) {
		flag = findFlag(fields, func(f settings.Field) bool { return f.Flag == m[1] })
	}
	if flag != "" && missing.MatchString(text) {
		text = "--" + flag + " is needed"
	}
	return bad("%w", &settings.Error{Key: flag, Err: errors.New(flagsInWords(fields, text))})
}
