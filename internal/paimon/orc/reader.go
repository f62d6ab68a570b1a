package orc

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
	batchRows int // as asked
	rows      int // as the sizes seen allow
	columns   []column
	names     []string
	batch     []*vector.Vector
	needed    []bool // columns of the file
	limits    batchLimits
	err       error

	stripe int // at hand, or -1
	row    int64
	left   int64 // rows of the stripe
	buf    []byte
}

func (r *Reader) bind(columns []Column) error {
	r.needed = make([]bool, r.file.columns)
	r.stripe = -1
	for _, c := range columns {
		if err := c.Type.Validate(); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		n := r.file.root.child(c.Name)
		if n == nil {
			return r.file.missing(c.Name)
		}
		cr, err := r.newColumn(n, c.Type)
		if err != nil {
			return err
		}
		r.columns = append(r.columns, cr)
		r.names = append(r.names, c.Name)
		r.batch = append(r.batch, cr.vector())
	}
	return nil
}

// Next returns the next rows of every column asked for, in the order asked, and
// how many they are; at the end io.EOF. The vectors and their contents are
// reused by the following Next. After an error, which names the file, the
// stripe and the column, every further Next returns it again.
func (r *Reader) Next() (batch []*vector.Vector, rows int, err error) {
	if r.err != nil {
		return nil, 0, r.err
	}
	err = safego.Do(func() error {
		for r.left == 0 {
			if r.stripe++; r.stripe == len(r.file.footer.GetStripes()) {
				return io.EOF
			}
			if err := r.open(); err != nil {
				return err
			}
		}
		return nil
	})
	if err == io.EOF { //nolint:errorlint // made here; that of a file is wrapped
		r.err = io.EOF
		return nil, 0, r.err
	}
	n := int(min(int64(r.rows), r.left))
	if err == nil {
		err = safego.Do(func() error { return r.fill(n) })
	}
	for n > 1 && errors.Is(err, errBatchSize) {
		n = max(1, n/8)
		err = safego.Do(func() error { return r.again(n) })
	}
	if err != nil {
		if r.stripe >= 0 {
			err = fmt.Errorf("stripe %d: %w", r.stripe, err)
		}
		r.err = r.file.errorf(contain(err))
		return nil, 0, r.err
	}
	r.row += int64(n)
	r.left -= int64(n)
	size := 0
	for _, c := range r.columns {
		size += c.size()
	}
	r.rows = vector.RowsThatFit(r.batchRows, int64(size), int64(n))
	return r.batch, n, nil
}

// open begins the stripe at hand.
func (r *Reader) open() error {
	s, err := r.file.openStripe(r.stripe, r.needed, r.buf)
	if err != nil {
		return err
	}
	if s.all != nil {
		r.buf = s.all
	}
	r.row, r.left = 0, int64(r.file.footer.GetStripes()[r.stripe].GetNumberOfRows())
	if r.left == 0 {
		return nil
	}
	for i, c := range r.columns {
		if err := c.begin(s); err != nil {
			return fmt.Errorf("column %q: %w", r.names[i], err)
		}
	}
	return nil
}

// fill reads the next n rows of the stripe.
func (r *Reader) fill(n int) error {
	r.limits = limitsOf(n)
	for i, c := range r.columns {
		if err := c.read(n, nil); err != nil {
			return fmt.Errorf("column %q, rows %d to %d: %w", r.names[i], r.row, r.row+int64(n)-1, err)
		}
	}
	return nil
}

// again reads n rows after a try at more gave more bytes than a batch may
// have. There is no way back in a stream, so it begins at the stripe's start:
// this happens only where rows are far larger than those before.
func (r *Reader) again(n int) error {
	r.batchRows = n // and of the rows to come, as large ones keep company
	r.rows = n
	to := r.row
	if err := r.open(); err != nil {
		return err
	}
	for r.row < to {
		k := int(min(int64(n), to-r.row))
		if err := r.fill(k); err != nil {
			return err
		}
		r.row += int64(k)
		r.left -= int64(k)
	}
	return r.fill(n)
}

// Close lets go of the reader's buffers; it does not close the file's source.
// The vectors of the last batch are no longer valid.
func (r *Reader) Close() error {
	for _, c := range r.columns {
		c.release()
	}
	r.columns, r.batch, r.buf = nil, nil, nil
	if r.err == nil {
		r.err = r.file.errorf(errClosed)
	}
	return nil
}

var errClosed = fmt.Errorf("the reader is closed")
