package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// Reader reads a file's columns batch by batch. It is not safe for concurrent
// use; several Readers of one File are independent.
type Reader struct {
	file      *File
	wanted    []Column
	batchRows int // as asked
	rows      int // as the sizes seen allow
	row       int64
	columns   []columnReader
	batch     []*vector.Vector
	err       error
}

// columnReader reads one top-level column.
type columnReader interface {
	// read fills the vector with the next n rows.
	read(n int) error
	vector() *vector.Vector
	// size is about the bytes of the batch.
	size() int
	// finished checks that nothing is left behind the last row.
	finished() error
	// release gives up the page buffers.
	release()
}

func (r *Reader) bind() error {
	r.columns, r.batch = nil, nil
	size := int64(0)
	for _, c := range r.wanted {
		if err := c.Type.Validate(); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		n := r.file.root.child(c.Name)
		if n == nil {
			return r.file.missing(c.Name)
		}
		cr, err := r.file.newColumn(n, c.Type)
		if err != nil {
			return err
		}
		r.columns = append(r.columns, cr)
		r.batch = append(r.batch, cr.vector())
		size += r.file.uncompressed(n)
	}
	r.rows = vector.RowsThatFit(r.batchRows, size, r.file.meta.NumRows)
	return nil
}

// uncompressed is the number of bytes of all leaves of n in the whole file,
// dictionaries counted once.
func (f *File) uncompressed(n *node) int64 {
	if !n.group() {
		return f.bytes[n.leaf]
	}
	total := int64(0)
	for _, c := range n.children {
		total += f.uncompressed(c)
	}
	return total
}

// Next returns the next rows of every column asked for, in the order asked, and
// how many they are; at the end io.EOF. The vectors and their contents are
// reused by the following Next. After an error, which names the file, the
// column and the place, every further Next returns it again.
func (r *Reader) Next() (batch []*vector.Vector, rows int, err error) {
	if r.err != nil {
		return nil, 0, r.err
	}
	left := r.file.meta.NumRows - r.row
	if left == 0 {
		r.err = io.EOF
		return nil, 0, r.err
	}
	n := int(min(int64(r.rows), left))
	err = safego.Do(func() error { return r.fill(r.row, n) })
	for n > 1 && errors.Is(err, errBatchSize) {
		n = max(1, n/8)
		err = safego.Do(func() error { return r.again(n) })
	}
	if err != nil {
		r.err = r.file.errorf(contain(err))
		return nil, 0, r.err
	}
	r.row += int64(n)
	size := 0
	for _, c := range r.columns {
		size += c.size()
	}
	r.rows = vector.RowsThatFit(r.batchRows, int64(size), int64(n))
	return r.batch, n, nil
}

// again reads n rows after a try at more gave more bytes than a batch may
// have. There is no way back in a page, so it begins at the file's start: this
// happens only where rows are far larger than the file's average.
func (r *Reader) again(n int) error {
	r.release()
	r.batchRows = n // and of the rows to come, as large ones keep company
	if err := r.bind(); err != nil {
		return err
	}
	for row := int64(0); row < r.row; {
		k := int(min(int64(n), r.row-row))
		if err := r.fill(row, k); err != nil {
			return err
		}
		row += int64(k)
	}
	return r.fill(r.row, n)
}

func (r *Reader) release() {
	for _, c := range r.columns {
		c.release()
	}
}

// fill reads n rows from row on, which is where the columns stand.
func (r *Reader) fill(row int64, n int) error {
	last := row+int64(n) == r.file.meta.NumRows
	return eachColumn(len(r.columns), len(r.columns)*n, func(i int) error {
		c := r.columns[i]
		if err := c.read(n); err != nil {
			return err
		}
		if last {
			return c.finished()
		}
		return nil
	})
}

// Close lets go of the reader's buffers; it does not close the file's source.
// The vectors of the last batch are no longer valid.
func (r *Reader) Close() error {
	r.release()
	r.columns, r.batch = nil, nil
	if r.err == nil {
		r.err = r.file.errorf(errClosed)
	}
	return nil
}

var errClosed = fmt.Errorf("the reader is closed")

// newColumn returns the reader of a top-level field as t.
func (f *File) newColumn(n *node, t Type) (columnReader, error) {
	if t.Kind < List && !n.group() && !n.repeated() {
		s, err := newSink(n, t)
		if err != nil {
			return nil, err
		}
		return flatColumn{newLeafReader(f, n, s, t)}, nil
	}
	return f.newNested(n, t)
}

type flatColumn struct{ *leafReader }

func (c flatColumn) read(n int) error       { return c.where(c.flat(n)) }
func (c flatColumn) vector() *vector.Vector { return &c.v }
func (c flatColumn) size() int              { return leafSize(&c.v) }

func leafSize(v *vector.Vector) int { return len(v.Data) + 8*v.Len }
