package avro

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	lib "github.com/hamba/avro/v2"
)

const (
	// maxHeader bounds the file's metadata, which is its schema above all.
	maxHeader = 16 << 20
	// readAhead is how many bytes of a file are asked for at once.
	readAhead = 1 << 20
	syncSize  = 16
)

var magic = []byte{'O', 'b', 'j', 1}

func init() {
	// Java and Python write names that the specification does not know, such as
	// those with letters beyond ASCII: columns are named so.
	lib.SkipNameValidation = true
}

// Container is an opened Avro object container file: what its header says. It
// holds no other resource and is safe for concurrent use.
//
// The frames are walked here rather than by the library's own container reader,
// which takes memory by lengths it has not checked, does not bound what a block
// unpacks to, and takes a file cut within a block for a whole one.
type Container struct {
	// Schema is the writer's. It is a record, neither recursive nor nested too
	// deep to walk.
	Schema *lib.RecordSchema

	in    io.ReaderAt
	size  int64
	start int64 // of the first block
	null  int64 // place of null in the union that each record is; -1: it is none
	codec string
	sync  [syncSize]byte
}

// OpenContainer reads and checks the header of the container file of size
// bytes in f.
func OpenContainer(f io.ReaderAt, size int64) (*Container, error) {
	w := window{in: f, size: size}
	c := &Container{in: f, size: size}
	if b, err := w.peek(len(magic)); err != nil || !bytes.Equal(b, magic) {
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		return nil, corruptf("header: it does not begin as an Avro container does")
	}
	w.skip(len(magic))
	var schema []byte
	for {
		n, err := w.varint()
		if err != nil {
			return nil, fmt.Errorf("header: %w", err)
		}
		if n == 0 {
			break
		}
		if n < 0 { // and then the bytes of the entries
			if n = -n; n > 0 {
				_, err = w.varint()
			}
			if n < 0 || err != nil {
				return nil, corruptf("header: impossible count of entries")
			}
		}
		for ; n > 0; n-- { // each takes bytes, so the end of the file ends it
			key, err := w.bytes()
			if err != nil {
				return nil, fmt.Errorf("header: %w", err)
			}
			name := string(key)
			value, err := w.bytes()
			if err != nil {
				return nil, fmt.Errorf("header: entry %q: %w", clip(name), err)
			}
			switch name {
			case "avro.schema":
				schema = bytes.Clone(value)
			case "avro.codec":
				c.codec = string(value)
			}
			if w.offset() > maxHeader {
				return nil, unsupportedf("its header has more than %d bytes", maxHeader)
			}
		}
	}
	b, err := w.peek(syncSize)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	copy(c.sync[:], b)
	w.skip(syncSize)
	c.start = w.offset()
	// A cache of names for this file alone: files repeat record names for other
	// records.
	s, err := lib.ParseBytesWithCache(schema, "", &lib.SchemaCache{})
	if err != nil {
		return nil, corruptf("schema: %w", err)
	}
	c.null = -1
	if u, ok := s.(*lib.UnionSchema); ok && u.Nullable() { // as Paimon wrote it before 0.9
		at, other := u.Indices()
		s, c.null = u.Types()[other], int64(at)
	}
	rec, ok := s.(*lib.RecordSchema)
	if !ok {
		return nil, unsupportedf("its schema is not a record")
	}
	c.Schema = rec
	return c, checkSchema(rec)
}

// Blocks walks a container's blocks from the first one on.
type Blocks struct {
	// Limit bounds the bytes that the next block may unpack to.
	Limit int64

	c        *Container
	w        window
	unpacker unpacker
	records  []byte // of a block whose records are nullable, without their branches
}

// Blocks starts a walk. Several walks of one container are independent.
func (c *Container) Blocks(limit int64) *Blocks {
	return &Blocks{Limit: limit, c: c, w: window{in: c.in, size: c.size, off: c.start, end: c.start}}
}

// Offset is the place of the next block in the file.
func (b *Blocks) Offset() int64 { return b.w.offset() }

// Next returns the next block: how many records it says it has, never more
// than its bytes, and their bytes, unpacked and valid until the following Next.
// At the end of the file it returns io.EOF.
func (b *Blocks) Next() (count int64, block []byte, err error) {
	w := &b.w
	if w.offset() == b.c.size {
		return 0, nil, io.EOF
	}
	if count, err = w.varint(); err != nil {
		return 0, nil, fmt.Errorf("block header: %w", err)
	}
	size, err := w.varint()
	if err != nil {
		return 0, nil, fmt.Errorf("block header: %w", err)
	}
	if left := b.c.size - w.offset(); count < 0 || size < 0 || size > left {
		return 0, nil, corruptf("the file ends within a block, which says it has %d records in %d bytes; the file has %d bytes left", count, size, left)
	}
	data, err := w.peek(int(size) + syncSize)
	if err != nil {
		return 0, nil, fmt.Errorf("the file ends within a block: %w", err)
	}
	if !bytes.Equal(data[size:], b.c.sync[:]) {
		return 0, nil, corruptf("a block is not followed by the file's marker")
	}
	w.skip(len(data))
	if block, err = b.unpacker.unpack(b.c.codec, data[:size:size], min(b.Limit, maxBlock)); err != nil {
		return 0, nil, err
	}
	if count > int64(len(block)) {
		return 0, nil, corruptf("a block says it has %d records in %d bytes", count, len(block))
	}
	if b.c.null >= 0 {
		block, err = b.plain(count, block)
	}
	return count, block, err
}

// plain takes the branch of the union with null from the front of each record.
func (b *Blocks) plain(count int64, block []byte) ([]byte, error) {
	skip := skippers{}.of(b.c.Schema)
	cur := Cursor{b: block}
	b.records = b.records[:0]
	for i := range count {
		switch at := cur.Long(); {
		case cur.err != nil:
		case at == b.c.null:
			return nil, corruptf("record %d of the block is null", i)
		case at != 1-b.c.null:
			return nil, noBranch(at, 2)
		}
		from := cur.pos
		if skip != nil && cur.err == nil {
			skip(&cur)
		}
		if cur.err != nil {
			return nil, fmt.Errorf("record %d of the block: %w", i, cur.err)
		}
		b.records = append(b.records, block[from:cur.pos]...)
	}
	if cur.pos != len(block) {
		return nil, errLeft
	}
	return b.records, nil
}

// Close lets go of the buffers; the last block is no longer valid.
func (b *Blocks) Close() {
	b.unpacker.close()
	b.w.buf = nil
}

// window reads a file forward through a buffer. The buffer grows only to bytes
// that the file has.
type window struct {
	in   io.ReaderAt
	size int64
	buf  []byte // buf[pos:] are the file's bytes up to end
	pos  int
	off  int64 // where the walk began
	end  int64
}

func (w *window) offset() int64 { return w.end - int64(len(w.buf)-w.pos) }

func (w *window) skip(n int) { w.pos += n }

// peek returns the next n bytes, valid until the following call.
func (w *window) peek(n int) ([]byte, error) {
	if have := len(w.buf) - w.pos; have < n {
		if int64(n-have) > w.size-w.end {
			return nil, cut
		}
		if err := w.fill(n); err != nil {
			return nil, err
		}
	}
	return w.buf[w.pos : w.pos+n], nil
}

// fill reads ahead until at least n bytes are there, which the file has.
func (w *window) fill(n int) error {
	have := copy(w.buf, w.buf[w.pos:])
	want := int(min(int64(max(n, readAhead)), w.size-w.end+int64(have)))
	if cap(w.buf) < want {
		w.buf = append(make([]byte, 0, want), w.buf[:have]...)
	}
	w.buf, w.pos = w.buf[:want], 0
	got, err := w.in.ReadAt(w.buf[have:], w.end)
	w.end += int64(got)
	w.buf = w.buf[:have+got]
	if have+got >= n {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return cut
	}
	return err
}

// varint reads an Avro long: zigzag and of variable length, as
// encoding/binary has it.
func (w *window) varint() (int64, error) {
	b, err := w.peek(int(min(binary.MaxVarintLen64, w.size-w.offset())))
	if err != nil {
		return 0, err
	}
	v, n := binary.Varint(b)
	switch {
	case n == 0:
		return 0, cut
	case n < 0:
		return 0, errOverflow
	}
	w.skip(n)
	return v, nil
}

// bytes reads a length and so many bytes.
func (w *window) bytes() ([]byte, error) {
	n, err := w.varint()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > w.size-w.offset() {
		return nil, corruptf("%d bytes are said to follow, the file has %d", n, w.size-w.offset())
	}
	if n > maxHeader {
		return nil, unsupportedf("%d bytes, this reader takes up to %d", n, maxHeader)
	}
	b, err := w.peek(int(n))
	if err == nil {
		w.skip(int(n))
	}
	return b, err
}

var (
	cut         = corruptf("the file is cut short: %w", io.ErrUnexpectedEOF)
	errOverflow = corruptf("a number of more than 64 bits")
)

func clip(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
