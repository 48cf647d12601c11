package train

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/bregman-ml/bregman/runlog"
)

// StepsFile is the file of a run folder with a line for single steps. A run of any length writes a few thousand.
const StepsFile = "steps.jsonl"

// StepRecord is a line of StepsFile. A number that is not finite is null.
type StepRecord struct {
	Step     int      `json:"step"`  // of the run, counted from 1
	Epoch    float64  `json:"epoch"` // epochs that are done after it
	Loss     *float64 `json:"loss"`  // mean over its batch
	Gradient *float64 `json:"gradient_norm"`
	Seconds  float64  `json:"seconds"`        // of the run so far, as Record.Elapsed
	Left     *float64 `json:"left,omitempty"` // seconds from then to the end of the run, about
}

// Every step has a line at first. After each linesPerStride lines, the steps with a line are twice as far apart: a run
// of a million steps has about 4,500 lines.
const linesPerStride = 400

// hasLine reports whether a step, counted from 1, has a line.
func hasLine(step int) bool {
	stride := 1
	for end := linesPerStride; step > end; end += stride * linesPerStride {
		stride *= 2
	}
	return step%stride == 0
}

// How often the log of steps is read while an epoch runs. To read it is to wait for all steps that were handed over,
// which costs a GPU the time until it gets the next one, at most a few milliseconds. Engines that finish each step
// before the next have nothing to wait for.
const (
	readQueued  = 4 * time.Second
	readAwaited = 500 * time.Millisecond
)

// stepRecorder writes the losses of steps into the folder of a run, as they come. A nil one does nothing.
type stepRecorder struct {
	x      *Session
	plan   Plan
	folder *runlog.Run
	file   *os.File
	failed bool // the file cannot be written
	begin  time.Time
	before float64       // seconds of the legs before this one
	every  time.Duration // between two readings within an epoch

	last  int       // the newest step that was read, of the run
	at    time.Time // when, or when its epoch began
	pace  stepPace
	ended time.Time // when the steps of the epoch before were done
}

// newStepRecorder continues the file of a run folder after an epoch: lines of later steps are cut off.
func newStepRecorder(x *Session, p Plan, folder *runlog.Run, done int, before float64) *stepRecorder {
	if folder == nil {
		return nil
	}
	w := &stepRecorder{x: x, plan: p, folder: folder, begin: time.Now(), before: before, last: done * x.PerEpoch,
		every: readAwaited}
	if x.engine.InFlight > 0 {
		w.every = readQueued
	}
	if x.readEvery > 0 {
		w.every = x.readEvery
	}
	err := cutSteps(folder, w.last)
	if err == nil {
		w.file, err = os.OpenFile(folder.Path(StepsFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	}
	if err != nil {
		w.lose(err)
	}
	return w
}

// lose ends the recording: a run can do without.
func (w *stepRecorder) lose(err error) {
	w.failed = true
	w.folder.Lost(StepsFile, err)
}

// close ends the file.
func (w *stepRecorder) close() {
	if w != nil && w.file != nil {
		w.file.Close()
	}
}

// maxStepLine is more than any line of StepsFile.
const maxStepLine = 1 << 16

// cutSteps removes the lines of steps after the given one, and those that cannot be read.
func cutSteps(folder *runlog.Run, last int) error {
	f, err := os.Open(folder.Path(StepsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var kept bytes.Buffer
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxStepLine)
	for at := 0; lines.Scan(); {
		var r StepRecord
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Step <= at || r.Step > last {
			continue
		}
		at = r.Step
		kept.Write(append(lines.Bytes(), '\n'))
	}
	// A line that is too long ends what is read: this program did not write it.
	f.Close()
	return folder.WriteFile(StepsFile, kept.Bytes())
}

// start notes that the steps of an epoch, counted from 0, begin.
func (w *stepRecorder) start(epoch int) {
	if w == nil {
		return
	}
	w.at = time.Now()
	if !w.ended.IsZero() && epoch*w.x.PerEpoch >= w.last {
		w.pace.evaluation = w.at.Sub(w.ended).Seconds()
	}
}

// step reads the log if it is time to: so many steps of an epoch, counted from 0, were handed over.
func (w *stepRecorder) step(epoch, steps int) error {
	if w == nil || steps == w.x.PerEpoch || epoch*w.x.PerEpoch+steps <= w.last || time.Since(w.at) < w.every {
		return nil
	}
	return w.read(epoch, steps)
}

// read reads the log and writes its steps.
func (w *stepRecorder) read(epoch, steps int) error {
	if w == nil {
		return nil
	}
	rows, err := w.x.steps()
	if err == nil {
		w.write(epoch, rows[:steps])
	}
	return err
}

// write writes lines of the first steps of an epoch that have none yet. The last has an estimate of the time left. An
// epoch that is trained twice is written once.
func (w *stepRecorder) write(epoch int, rows [][]float32) {
	if w == nil {
		return
	}
	first, now := epoch*w.x.PerEpoch, time.Now()
	fresh := first + len(rows) - w.last
	if fresh <= 0 {
		return
	}
	took := now.Sub(w.at).Seconds()
	w.pace.add(pacedBlock{fresh, took, w.side(epoch)})
	left := w.left(epoch, len(rows))
	var b []byte
	for k := range fresh {
		step, ago := w.last+k+1, took*float64(fresh-k-1)/float64(fresh)
		if hasLine(step) || step == w.plan.Epochs*w.x.PerEpoch {
			b = appendStep(b, step, w.x.PerEpoch, rows[step-first-1], w.before+now.Sub(w.begin).Seconds()-ago, left+ago)
		}
	}
	w.last, w.at = first+len(rows), now
	if len(rows) == w.x.PerEpoch {
		w.ended = now
	}
	if w.failed || len(b) == 0 {
		return
	}
	if _, err := w.file.Write(b); err != nil {
		w.lose(err)
	}
}

// appendStep appends a line of StepsFile.
func appendStep(b []byte, step, perEpoch int, row []float32, seconds, left float64) []byte {
	number := func(name string, v float64, digits int) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		switch {
		case !finite(v):
			b = append(b, "null"...)
		case digits > 0:
			b = strconv.AppendFloat(b, v, 'g', digits, 64)
		default: // to a hundredth
			b = strconv.AppendFloat(b, v, 'f', 2, 64)
		}
	}
	b = strconv.AppendInt(append(b, `{"step":`...), int64(step), 10)
	number("epoch", float64(step)/float64(perEpoch), 8)
	number("loss", float64(row[0]), 7)
	number("gradient_norm", float64(row[len(row)-1]), 7)
	number("seconds", seconds, 0)
	if finite(left) {
		number("left", left, 0)
	}
	return append(b, "}\n"...)
}

// stepPace is how long the last steps took.
type stepPace struct {
	blocks     []pacedBlock // the newest last
	settled    bool         // the first one of the run was dropped
	evaluation float64      // seconds between the steps of two epochs; 0: not known yet
}

// pacedBlock is steps that were read together.
type pacedBlock struct {
	steps   int
	seconds float64
	side    int // of the pictures; 0 of sets without one
}

// pacedSteps is about how many seconds of steps an estimate rests on.
const pacedSteps = 20

// add adds a block. The first one of a run is dropped when there is another: it has what happens once.
func (p *stepPace) add(b pacedBlock) {
	if p.blocks = append(p.blocks, b); len(p.blocks) == 2 && !p.settled {
		p.blocks, p.settled = p.blocks[1:], true
	}
	rest := 0.0
	for _, o := range p.blocks[1:] {
		rest += o.seconds
	}
	if rest >= pacedSteps {
		p.blocks = p.blocks[1:]
	}
}

// step is how many seconds a step on pictures of a side takes. It grows as their area.
func (p *stepPace) step(side int) float64 {
	seconds, steps := 0.0, 0
	for _, b := range p.blocks {
		area := 1.0
		if b.side > 0 {
			area = float64(side*side) / float64(b.side*b.side)
		}
		seconds, steps = seconds+b.seconds*area, steps+b.steps
	}
	return seconds / float64(steps)
}

// side is that of the pictures of an epoch, counted from 0.
func (w *stepRecorder) side(epoch int) int { return w.x.settings.Resolution.At(epoch, w.plan.Epochs) }

// left is about how many seconds the run still takes after so many steps of an epoch: steps, and as soon as one was
// seen, evaluations, those of the trained network and its study.
func (w *stepRecorder) left(epoch, steps int) float64 {
	out := float64(w.x.PerEpoch-steps) * w.pace.step(w.side(epoch))
	for e := epoch + 1; e < w.plan.Epochs; e++ {
		out += float64(w.x.PerEpoch) * w.pace.step(w.side(e))
	}
	evaluations := float64(w.plan.Epochs-epoch) + 2 // at the end, pictures and their mirror images
	if w.plan.Study {
		evaluations += w.x.studyPasses()
	}
	return out + evaluations*w.pace.evaluation
}
