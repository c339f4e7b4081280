package embed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A record of a DiskCache is, in little-endian order:
//
//	magic      uint32
//	dimension  uint32
//	key        32 bytes
//	vector     dimension float32
//	checksum   uint32: CRC-32C of all before it
const (
	recordMagic  = 0x31767364 // "dsv1"
	recordHeader = 4 + 4 + sha256.Size
	// maxCachedDimension bounds what is believed of a file.
	maxCachedDimension = 1 << 16
)

// errTorn is what reading a record ends with when no whole and sound one follows.
var errTorn = errors.New("no whole record")

// cacheKey is the SHA-256 of a fingerprint, a zero byte and a text's SHA-256.
type cacheKey [sha256.Size]byte

func keyOf(fingerprint, hash string) (cacheKey, error) {
	text, err := hex.DecodeString(hash)
	if err != nil || len(text) != sha256.Size {
		return cacheKey{}, fmt.Errorf("%q is no hash of a text", hash)
	}
	return sha256.Sum256(append(append([]byte(fingerprint), 0), text...)), nil
}

func recordSize(dimension int) int64 {
	return recordHeader + 4*int64(dimension) + crc32.Size
}

func appendRecord(b []byte, key cacheKey, vector []float32) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, recordMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(vector)))
	b = append(b, key[:]...)
	for _, x := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], crc32.MakeTable(crc32.Castagnoli)))
}

// record is one that was read; its vector is still bytes.
type record struct {
	key   cacheKey
	bytes []byte // of the vector
}

// readRecord reads the next record into buf, which it grows as needed. It fails
// with io.EOF at the end, errTorn when what follows is no whole record.
func readRecord(r io.Reader, buf []byte) (record, []byte, error) {
	buf = append(buf[:0], make([]byte, recordHeader)...)
	if _, err := io.ReadFull(r, buf); err != nil {
		return record{}, buf, torn(err)
	}
	dimension := binary.LittleEndian.Uint32(buf[4:])
	if binary.LittleEndian.Uint32(buf) != recordMagic || dimension == 0 || dimension > maxCachedDimension {
		return record{}, buf, errTorn
	}
	size := int(recordSize(int(dimension)))
	if cap(buf) < size {
		buf = append(make([]byte, 0, size), buf...)
	}
	buf = buf[:size]
	if _, err := io.ReadFull(r, buf[recordHeader:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return record{}, buf, torn(err)
	}
	end := size - crc32.Size
	if crc32.Checksum(buf[:end], crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(buf[end:]) {
		return record{}, buf, errTorn
	}
	return record{key: cacheKey(buf[8:recordHeader]), bytes: buf[recordHeader:end]}, buf, nil
}

func torn(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return err
}

func (r record) vector() []float32 {
	v := make([]float32, len(r.bytes)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.bytes[4*i:]))
	}
	return v
}
