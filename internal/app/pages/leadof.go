package pages

import (
	"bytes"
	"encoding/json"

	"github.com/bregman-ml/bregman/internal/app/command"
	"github.com/bregman-ml/bregman/internal/app/linearmodel"
	"github.com/bregman-ml/bregman/runlog"
	"github.com/bregman-ml/bregman/train"
)

// maxRecords is more than the metrics of any network's run.
const maxRecords = 8 << 20

// LeadOf is what the page of a fit or a network says first. It is empty for other runs, and for one that has no result
// yet. It reads nothing outside the folder.
func LeadOf(folder *runlog.Folder, info runlog.Info) (l Lead) {
	f := opened{Folder: folder}
	switch info.Command {
	case "fit":
		var s linearmodel.Fit
		var r linearmodel.FitResult
		if settingsOf(info, &s) == nil && f.ReadJSON(command.ResultFile, maxFit, &r) == nil {
			return fitLead(&s, &r, info, f.Status(info))
		}
	case "train":
		var r command.TrainResult
		data, err := folder.ReadFile("metrics.jsonl", maxRecords)
		if err != nil || f.ReadJSON(command.ResultFile, maxJSON, &r) != nil {
			return l
		}
		answers, err := readAnswers(f)
		if err != nil {
			return l
		}
		var records []train.Record
		for line := range bytes.Lines(data) {
			var record train.Record
			if json.Unmarshal(line, &record) != nil {
				return l
			}
			records = append(records, record)
		}
		return trainLead(&r, records, answers, info, f.Status(info))
	}
	return l
}
