package images

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// Readers must never panic, and what they accept must be consistent.

func refused(t *testing.T, err error) bool {
	if err != nil && (strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "f: ")) {
		t.Errorf("error %q is not one line that starts with the file", err)
	}
	return err != nil
}

func FuzzIDX(f *testing.F) {
	good := idxFile([]byte{2, 2, 2}, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(good)
	f.Add(good[:9])
	f.Add(gz(f, good))
	f.Add(gz(f, good)[:25])
	f.Fuzz(func(t *testing.T, b []byte) {
		dst := make([]byte, 8)
		if !refused(t, readIDX(bytes.NewReader(b), "f", dst, "", 2, 2, 2)) && b[0] == 0 && !bytes.Equal(b[16:], dst) {
			t.Error("accepted, but other values")
		}
	})
}

func FuzzNPZ(f *testing.F) {
	f.Add(four(f))
	f.Add(four(f)[:200])
	f.Add(four(f, entry{"X_train", npyFile("|u1", "(99999999, 9999999999, 2)", nil)}))
	f.Add(four(f, entry{"y_test", npyFile(">i4", "(1,)", []byte{0, 0, 0, 1})}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := readNPZ(bytes.NewReader(b), int64(len(b)), "f")
		if refused(t, err) {
			return
		}
		s.Name = "f"
		if err := s.finish(); err != nil {
			t.Errorf("accepted, but %v", err)
		}
	})
}

// FuzzNPZArrays reaches what lies behind zip's checksums.
func FuzzNPZArrays(f *testing.F) {
	X, y := npyFile("|u1", "(2, 2, 2)", []byte{1, 2, 3, 4, 5, 6, 7, 8}), npyFile("<i2", "(2,)", []byte{0, 0, 1, 0})
	f.Add(X, y, X, y)
	f.Add(X, y, npyFile("|u1", "(1, 2, 2, 1)", []byte{1, 2, 3, 4}), npyFile(">i8", "(1, 1)", make([]byte, 8)))
	f.Add(X, []byte("\x93NUMPY\x03\x00\xff\xff\xff\xff{"), X, y)
	f.Fuzz(func(t *testing.T, X, y, X2, y2 []byte) {
		b := npzOf(t, entry{"X_train", X}, entry{"y_train", y}, entry{"X_test", X2}, entry{"y_test", y2})
		s, err := readNPZ(bytes.NewReader(b), int64(len(b)), "f")
		if refused(t, err) {
			return
		}
		s.Name = "f"
		if err := s.finish(); err != nil {
			t.Errorf("accepted, but %v", err)
		}
	})
}

func FuzzCIFAR(f *testing.F) {
	good := make([]byte, 2*cifarRecord)
	good[0], good[1], good[cifarRecord] = 3, 77, 9
	f.Add(good)
	f.Add(good[:cifarRecord])
	f.Add(append(good[:len(good):len(good)], 1))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Split{Images: make([]byte, 2*cifarPixels), Labels: make([]uint8, 2)}
		if refused(t, readBatch(bytes.NewReader(b), "f", s, "")) {
			return
		}
		var back bytes.Buffer
		must(t, writeBatch(&back, s))
		if !bytes.Equal(back.Bytes(), b) {
			t.Error("writing what was read gives another file")
		}
	})
}

// FuzzPack changes bytes behind the checksums: header, index and information are sealed again.
func FuzzPack(f *testing.F) {
	f.Add(handPack(f), false)
	f.Add(handPack(f), true)
	f.Add(handPack(f)[:5000], true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal {
			b = sealed(b)
		}
		p, err := openPack(bytes.NewReader(b), int64(len(b)), "f")
		if refused(t, err) || p.Slot() > 1<<20 {
			return
		}
		r, slot := p.NewReader(), make([]byte, p.Slot())
		for i, e := range p.Train {
			refused(t, r.Read(e, slot))
			p.PictureName(true, i)
		}
	})
}

// sealed writes right checksums over what a header says, as far as that lies within the file.
func sealed(b []byte) []byte {
	if len(b) < packHeaderBytes {
		return b
	}
	b = bytes.Clone(b)
	le := binary.LittleEndian
	for i := range 3 {
		at := b[24+24*i:]
		from, length := le.Uint64(at), le.Uint64(at[8:])
		if size := uint64(len(b)); from >= packHeaderBytes && from <= size && length <= size-from {
			le.PutUint32(at[16:], crc32.Checksum(b[from:from+length], castagnoli))
		}
	}
	le.PutUint32(b[packHeaderBytes-4:], crc32.Checksum(b[:packHeaderBytes-4], castagnoli))
	return b
}

// summed writes right checksums into the headers of a tar.
func summed(b []byte) []byte {
	b = bytes.Clone(b)
	for at := 0; at+512 <= len(b); at += 512 {
		if head := b[at : at+512]; string(head[257:262]) == "ustar" {
			copy(head[148:], "        ")
			sum := 0
			for _, c := range head {
				sum += int(c)
			}
			copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
		}
	}
	return b
}

// FuzzTar lists the bytes of a tar or a zip, also with checksums of the tar written again. Names and contents stay
// inside, and what is labelled has a class.
func FuzzTar(f *testing.F) {
	files := fileSet{}.with("train/a/1.jpg", "train/b/1.jpg", "val/a/2.jpg", "val/b/x.txt")
	f.Add(files.tarOf(f, ""), true)
	f.Add(files.tarOf(f, "../"), true)
	f.Add(files.tarOf(f, "")[:2000], false)
	f.Add(files.zipOf(f, ""), false)
	f.Add(fileSet{"a.tar": string(files.tarOf(f, "")), "b/2.jpg": "2"}.tarOf(f, ""), true)
	f.Fuzz(func(t *testing.T, b []byte, sum bool) {
		if sum {
			b = summed(b)
		}
		s := &Source{}
		l := &listing{path: "f"}
		if refused(t, s.tree.addBytes(t.Context(), l, bytes.NewReader(b), store{path: "f", size: int64(len(b))}, "")) {
			return
		}
		if len(l.files)+len(l.others) > len(b)/40 { // no header of a tar or a zip is smaller
			t.Errorf("%d files in %d bytes", len(l.files)+len(l.others), len(b))
		}
		for _, p := range l.files {
			if name, why := cleanName(p.Name); name != p.Name || why != "" {
				t.Errorf("accepted the name %q", p.Name)
			}
			if s.tree.stores[p.store].tar && (p.Size < 0 || p.place < 512 || p.Size > int64(len(b))-p.place) {
				t.Errorf("%q has %d bytes at %d of %d", p.Name, p.Size, p.place, len(b))
			}
		}
		s.tree.sort(l)
		files, err := sift(l)
		if refused(t, err) {
			return
		}
		a := arranger{Source: s, path: "f"}
		if err := a.arrange([]*sifted{files}); err != nil || len(s.Classes) < 2 || len(s.Train) == 0 || len(s.Test) == 0 {
			if err == nil {
				t.Errorf("accepted, but %+v", s)
			} else if strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q is not one line", err)
			}
			return
		}
		for _, p := range slices.Concat(s.Train, s.Test) {
			if int(p.Label) >= len(s.Classes) {
				t.Errorf("%q has label %d of %d", p.Name, p.Label, len(s.Classes))
			}
		}
	})
}
