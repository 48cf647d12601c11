package tfevents

import "io"

// Read calls each for every scalar of an event file, in the order of the file. wall is in seconds since 1970.
// Values of other kinds (histograms, images, tensors) are passed over.
//
// A last record that is cut short is passed over, as in the file of a run that is going on or was killed. A
// record that fails its checksum is an error that names its offset. An error of each ends the reading and is
// returned as it is.
func Read(r io.Reader, each func(step int64, wall float64, tag string, value float64) error) error {
	return eachRecord(r, func(data []byte) error {
		e, err := parseEvent(data)
		if err != nil {
			return err
		}
		for _, s := range e.values {
			if !s.known {
				continue
			}
			if err := each(e.step, e.wall, s.tag, float64(s.value)); err != nil {
				return err
			}
		}
		return nil
	})
}
