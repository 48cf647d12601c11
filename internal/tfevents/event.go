package tfevents

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// The keys of the protobuf fields that scalars and histograms need, field number << 3 | wire type:
//
//	message Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
//	message Summary { repeated Value value = 1; }
//	message Value   { string tag = 1; float simple_value = 2; HistogramProto histo = 5; }
//	message HistogramProto { double min = 1; double max = 2; double num = 3; double sum = 4; double sum_squares = 5;
//	                         repeated double bucket_limit = 6 [packed]; repeated double bucket = 7 [packed]; }
const (
	wireVarint, wireFixed64, wireBytes, wireFixed32 = 0, 1, 2, 5

	eventWallTime    = 1<<3 | wireFixed64
	eventStep        = 2<<3 | wireVarint
	eventFileVersion = 3<<3 | wireBytes
	eventSummary     = 5<<3 | wireBytes
	summaryValue     = 1<<3 | wireBytes
	valueTag         = 1<<3 | wireBytes
	valueSimple      = 2<<3 | wireFixed32
	valueHisto       = 5<<3 | wireBytes
	histoMin         = 1<<3 | wireFixed64
	histoMax         = 2<<3 | wireFixed64
	histoNum         = 3<<3 | wireFixed64
	histoSum         = 4<<3 | wireFixed64
	histoSquares     = 5<<3 | wireFixed64
	histoLimits      = 6<<3 | wireBytes
	histoCounts      = 7<<3 | wireBytes
)

func appendVersion(dst []byte, wall float64) []byte {
	dst = appendFixed64(dst, eventWallTime, wall)
	return appendBytes(dst, eventFileVersion, []byte("brain.Event:2"))
}

func appendScalars(dst []byte, wall float64, step int64, values map[string]float64) []byte {
	var summary, value []byte
	for _, tag := range slices.Sorted(maps.Keys(values)) {
		value = appendBytes(value[:0], valueTag, []byte(tag))
		value = append(value, valueSimple) // also for 0: it says which of the kinds of value this is
		value = binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(values[tag])))
		summary = appendBytes(summary, summaryValue, value)
	}
	return appendSummary(dst, wall, step, summary)
}

func appendHistogram(dst []byte, wall float64, step int64, tag string, h Histogram) []byte {
	var num float64
	for _, n := range h.Counts {
		num += n
	}
	var histo []byte
	for _, f := range []struct {
		key byte
		v   float64
	}{{histoMin, h.Min}, {histoMax, h.Max}, {histoNum, num}, {histoSum, h.Sum}, {histoSquares, h.SumSquares}} {
		if f.v != 0 {
			histo = appendFixed64(histo, f.key, f.v)
		}
	}
	for _, f := range []struct {
		key byte
		v   []float64
	}{{histoLimits, h.Limits}, {histoCounts, h.Counts}} {
		var packed []byte
		for _, v := range f.v {
			packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(v))
		}
		histo = appendBytes(histo, f.key, packed)
	}
	value := appendBytes(nil, valueTag, []byte(tag))
	value = appendBytes(value, valueHisto, histo)
	return appendSummary(dst, wall, step, appendBytes(nil, summaryValue, value))
}

func appendSummary(dst []byte, wall float64, step int64, summary []byte) []byte {
	dst = appendFixed64(dst, eventWallTime, wall)
	if step != 0 { // proto3 leaves zeros out
		dst = append(dst, eventStep)
		dst = binary.AppendUvarint(dst, uint64(step))
	}
	return appendBytes(dst, eventSummary, summary)
}

func appendFixed64(dst []byte, key byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, key), math.Float64bits(v))
}

func appendBytes(dst []byte, key byte, b []byte) []byte {
	dst = binary.AppendUvarint(append(dst, key), uint64(len(b)))
	return append(dst, b...)
}
