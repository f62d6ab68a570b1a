package avro

import (
	"errors"
	"fmt"
	"io"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// maxUsed bounds the bytes of a batch, which are those of one row above
// BatchBytes; offsets are 32 bits.
const maxUsed = 1 << 30

// Reader reads a file's columns batch by batch. It is not safe for concurrent
// use; several Readers of one File are independent.
type Reader struct {
	file      *File
	batchRows int
	blocks    *Blocks
	record    *record
	rowBytes  int
	batch     []*vector.Vector

	cur   Cursor
	begun bool  // a block is at hand
	left  int64 // records of the block to come
	at    int64 // where the block is in the file
	row   int64
	err   error
}

func (r *Reader) bind(columns []vector.Column) error {
	b := builder{skip: skippers{}}
	wanted := make([]wantedField, len(columns))
	decoders := make([]decoder, len(columns))
	for i, c := range columns {
		if err := c.Type.Validate(); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		s := r.file.fields[c.Name]
		if s == nil {
			return r.file.missing(c.Name)
		}
		d, err := b.build(s, c.Type, c.Name)
		if err != nil {
			return err
		}
		wanted[i], decoders[i] = wantedField{c.Name, d}, d
		r.batch = append(r.batch, d.vector())
		r.rowBytes += slotBytes(c.Type)
	}
	var err error
	r.record, err = b.record(r.file.Schema, wanted)
	r.record.decoders = decoders
	return err
}

// Next returns the next rows of every column asked for, in the order asked, and
// how many they are; at the end io.EOF. The vectors and their contents are
// reused by the following Next. After an error, which names the file, the
// column and the place, every further Next returns it again.
func (r *Reader) Next() (batch []*vector.Vector, rows int, err error) {
	if r.err != nil {
		return nil, 0, r.err
	}
	err = safego.Do(func() (err error) {
		rows, err = r.fill()
		return err
	})
	switch {
	case errors.Is(err, io.EOF):
		r.err = io.EOF
	case err != nil:
		r.err = r.file.errorf(contain(err))
	default:
		return r.batch, rows, nil
	}
	r.release()
	return nil, 0, r.err
}

// fill decodes the rows of a batch; io.EOF if there are none.
func (r *Reader) fill() (rows int, err error) {
	for _, d := range r.record.decoders {
		d.begin()
	}
	r.cur.used = 0
	for rows < r.batchRows && r.cur.used < vector.BatchBytes {
		for r.left == 0 {
			if err := r.nextBlock(); err != nil {
				if rows > 0 && errors.Is(err, io.EOF) {
					return r.finish(rows), nil
				}
				return 0, err
			}
		}
		if at := r.record.read(&r.cur); r.cur.err != nil {
			return 0, r.where(at)
		}
		r.left--
		rows++
		r.cur.used += r.rowBytes
	}
	return r.finish(rows), nil
}

func (r *Reader) finish(rows int) int {
	for _, d := range r.record.decoders {
		d.finish()
	}
	r.row += int64(rows)
	return rows
}

func (r *Reader) nextBlock() (err error) {
	if r.begun && r.cur.pos != len(r.cur.b) {
		return fmt.Errorf("block at offset %d: %w", r.at, errLeft)
	}
	r.at = r.blocks.Offset()
	count, block, err := r.blocks.Next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return err
		}
		return fmt.Errorf("block at offset %d: %w", r.at, err)
	}
	r.cur.Reset(block)
	r.begun, r.left = true, count
	return nil
}

// where names the place of the cursor's error: the field of the record, and
// the block.
func (r *Reader) where(field int) error {
	return fmt.Errorf("column %q, block at offset %d, %d records before its end: %w", r.record.steps[field].name, r.at, r.left, r.cur.err)
}

func (r *Reader) release() {
	r.blocks.Close()
	r.cur.Reset(nil)
	r.begun, r.left = false, 0
}

// Close lets go of the reader's buffers; it does not close the file's source.
// The vectors of the last batch are no longer valid.
func (r *Reader) Close() error {
	r.release()
	r.record, r.batch = nil, nil
	if r.err == nil {
		r.err = r.file.errorf(errClosed)
	}
	return nil
}

var errClosed = errors.New("the reader is closed")
