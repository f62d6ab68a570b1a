package paimon

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/RoaringBitmap/roaring/v2"
)

// Deletion vectors, as index files hold them; the magic tells the two forms
// apart. Both begin with the length L of magic and bitmap (int32, big-endian)
// and end with the CRC-32 of magic and bitmap (big-endian).
const (
	vectorMagic32 = 1581511376 // big-endian; one 32-bit roaring bitmap; an entry's length is L
	vectorMagic64 = 1681511377 // little-endian; several, each with its high word; an entry's length is L + 8

	indexFileVersion = 1
	maxVectorBytes   = 1 << 30
)

// deletedRows is the set of deleted rows of a file; nil has none.
type deletedRows struct {
	high map[uint32]*roaring.Bitmap
}

func (d *deletedRows) has(row int64) bool {
	if d == nil {
		return false
	}
	b := d.high[uint32(row>>32)]
	return b != nil && b.Contains(uint32(row))
}

func (d *deletedRows) count() (n uint64, highest int64) {
	highest = -1
	for high, b := range d.high {
		if b.IsEmpty() {
			continue
		}
		n += b.GetCardinality()
		highest = max(highest, int64(high)<<32|int64(b.Maximum()))
	}
	return n, highest
}

// readDeletionVector reads the vector of a data file of rows rows.
func (t *Table) readDeletionVector(ctx context.Context, ref DVRef, rows int64) (*deletedRows, error) {
	f, err := t.fs.Open(ctx, ref.IndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: index file %s", ErrFileMissing, ref.IndexFile)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	bad := func(format string, args ...any) error {
		return corrupt(ref.IndexFile, "deletion vector at offset %d: %s", ref.Offset, fmt.Sprintf(format, args...))
	}
	if ref.Offset < 1 || ref.Length < 4 || ref.Length > maxVectorBytes || ref.Offset+8 > f.Size() {
		return nil, bad("%d bytes in a file of %d", ref.Length, f.Size())
	}
	var version [1]byte
	if _, err := f.ReadAt(version[:], 0); err != nil {
		return nil, bad("%v", err)
	}
	if version[0] != indexFileVersion {
		return nil, bad("the file has version %d; this reader knows %d", version[0], indexFileVersion)
	}
	head := make([]byte, 8)
	if _, err := f.ReadAt(head, ref.Offset); err != nil {
		return nil, bad("%v", err)
	}
	length := int64(int32(binary.BigEndian.Uint32(head)))
	if length < 4 || ref.Offset+4+length+4 > f.Size() {
		return nil, bad("it says it has %d bytes, in a file of %d", length, f.Size())
	}
	body := make([]byte, length+4)
	if _, err := f.ReadAt(body, ref.Offset+4); err != nil && !errors.Is(err, io.EOF) {
		return nil, bad("%v", err)
	}
	body, sum := body[:length], binary.BigEndian.Uint32(body[length:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil, bad("its checksum is wrong")
	}
	rowsGone := &deletedRows{high: map[uint32]*roaring.Bitmap{}}
	want := length
	switch {
	case binary.BigEndian.Uint32(head[4:]) == vectorMagic32:
		err = rowsGone.add(0, bytes.NewReader(body[4:]))
	case binary.LittleEndian.Uint32(head[4:]) == vectorMagic64:
		want += 8
		err = rowsGone.addAll(body[4:])
	default:
		return nil, bad("it begins with %x, which is none of the known forms", head[4:])
	}
	if err != nil {
		return nil, bad("%v", err)
	}
	if ref.Length != want {
		return nil, bad("the index manifest says %d bytes, it has %d", ref.Length, want)
	}
	n, highest := rowsGone.count()
	if highest >= rows {
		return nil, bad("it deletes row %d of a data file of %d rows", highest, rows)
	}
	if ref.Cardinality != nil && uint64(*ref.Cardinality) != n {
		return nil, bad("the index manifest says %d rows are deleted, it deletes %d", *ref.Cardinality, n)
	}
	return rowsGone, nil
}

func (d *deletedRows) add(high uint32, r *bytes.Reader) error {
	b := roaring.New()
	if _, err := b.ReadFrom(r); err != nil {
		return err
	}
	if err := b.Validate(); err != nil {
		return err
	}
	if d.high[high] != nil {
		return fmt.Errorf("two bitmaps for the high word %d", high)
	}
	d.high[high] = b
	return nil
}

func (d *deletedRows) addAll(data []byte) error {
	if len(data) < 8 {
		return fmt.Errorf("there is no count of bitmaps")
	}
	n := binary.LittleEndian.Uint64(data)
	r := bytes.NewReader(data[8:])
	for range n {
		var high [4]byte
		if _, err := io.ReadFull(r, high[:]); err != nil {
			return fmt.Errorf("%d bitmaps: %w", n, err)
		}
		if err := d.add(binary.LittleEndian.Uint32(high[:]), r); err != nil {
			return err
		}
	}
	return nil
}
