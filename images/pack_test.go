package images

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

// handPack lays out a packed file of raw pictures by hand, as docs/packed.md describes it.
func handPack(t testing.TB) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	info := &PackInfo{Version: packVersion, Classes: []string{"cat", "dog"}, Size: 8, Side: LongSide, Height: 8, Width: 8,
		Mean: []float32{1, 2, 3}, Deviation: []float32{1, 1, 1}}
	file := make([]byte, packHeaderBytes)
	var index []byte
	for i, size := range [][2]int{{8, 8}, {7, 5}, {1, 1}} {
		b := make([]byte, rawBytes(size[0], size[1]))
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		e := PackEntry{Offset: int64(len(file)), Length: uint32(len(b)), Sum: crc32.Checksum(b, castagnoli),
			Height: uint16(size[0]), Width: uint16(size[1]), Label: uint16(i % 2)}
		record := make([]byte, packRecordBytes)
		e.put(record)
		index, file = append(index, record...), append(file, b...)
	}
	text, err := info.bytes()
	if err != nil {
		t.Fatal(err)
	}
	header := packHeader{Train: 2, Test: 1}
	for _, part := range []struct {
		at    *packPart
		bytes []byte
	}{
		{&header.Index, index}, {&header.Names, appendNames(nil, []string{"cat/1.jpg", "dog/2.jpg", "cat/3.jpg"})},
		{&header.Info, text},
	} {
		*part.at = packPart{int64(len(file)), int64(len(part.bytes)), crc32.Checksum(part.bytes, castagnoli)}
		file = append(file, part.bytes...)
	}
	header.Hash = sha256.Sum256(append(index, text...))
	copy(file, header.bytes())
	return file
}

func openBytes(b []byte) (*Pack, error) {
	return openPack(bytes.NewReader(b), int64(len(b)), "hand.pack")
}

// A file laid out as the description says opens, and every picture lands in the corner of its slot.
func TestAPackLaidOutByHandOpens(t *testing.T) {
	file := handPack(t)
	p, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Train) != 2 || len(p.Test) != 1 || p.PictureName(true, 1) != "dog/2.jpg" ||
		p.PictureName(false, 0) != "cat/3.jpg" {
		t.Fatalf("%+v", p)
	}
	e := p.Train[1] // 7 × 5
	slot := make([]byte, p.Slot())
	if err := p.NewReader().Read(e, slot); err != nil {
		t.Fatal(err)
	}
	stored := file[e.Offset:]
	for y := range 7 {
		if !bytes.Equal(slot[y*8:y*8+5], stored[y*5:y*5+5]) {
			t.Fatalf("row %d is %v", y, slot[y*8:y*8+5])
		}
	}
	for y := range 4 { // chroma has 4 × 3
		if !bytes.Equal(slot[64+y*4:64+y*4+3], stored[35+y*3:35+y*3+3]) {
			t.Fatalf("row %d of Cb is %v", y, slot[64+y*4:64+y*4+3])
		}
	}
}

// A changed bit anywhere in the header, the index, the information or a picture is an error that says what to do.
func TestADamagedPackIsAnError(t *testing.T) {
	whole := handPack(t)
	p, err := openBytes(whole)
	if err != nil {
		t.Fatal(err)
	}
	names := p.header.Names
	for at := range whole {
		if int64(at) >= names.Offset && int64(at) < names.Offset+names.Length {
			continue // names only serve messages; they are checked by data info
		}
		file := bytes.Clone(whole)
		file[at] ^= 1 << (at % 8)
		err := readAll(file)
		if err == nil || !strings.Contains(err.Error(), "hand.pack") {
			t.Fatalf("byte %d changed: %v", at, err)
		}
	}
	for _, n := range []int{0, 7, 4095, 4096, len(whole) - 1} {
		if err := readAll(whole[:n]); err == nil {
			t.Errorf("a file cut after %d bytes opens", n)
		}
	}
}

func readAll(file []byte) error {
	p, err := openBytes(file)
	if err != nil {
		return err
	}
	r, slot := p.NewReader(), make([]byte, p.Slot())
	for _, part := range [][]PackEntry{p.Train, p.Test} {
		for i, e := range part {
			if err := r.Read(e, slot); err != nil {
				return err
			}
			p.PictureName(true, i)
		}
	}
	return nil
}
