package safetensors

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
)

// ChecksumKey names the metadata that WithChecksum adds.
const ChecksumKey = "checksum"

// WithChecksum returns f with the SHA-256 of its content in a copy of its metadata.
func (f File) WithChecksum() (File, error) {
	sum, err := f.checksum()
	if err != nil {
		return File{}, err
	}
	metadata := map[string]string{}
	maps.Copy(metadata, f.Metadata)
	metadata[ChecksumKey] = sum
	return File{Tensors: f.Tensors, Metadata: metadata}, nil
}

// Verify returns an error if f has no checksum, or not that of its content.
func (f File) Verify() error {
	want, ok := f.Metadata[ChecksumKey]
	if !ok {
		return errors.New("it lacks its checksum")
	}
	switch sum, err := f.checksum(); {
	case err != nil:
		return err
	case sum != want:
		return errors.New("its content does not match its checksum")
	}
	return nil
}

// checksum is the SHA-256 of what Encode writes for f without ChecksumKey.
func (f File) checksum() (string, error) {
	f.Metadata = maps.Clone(f.Metadata)
	delete(f.Metadata, ChecksumKey)
	h := sha256.New()
	if err := Encode(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
