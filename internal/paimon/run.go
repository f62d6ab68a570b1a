package paimon

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// Kinds of records (_VALUE_KIND). Odd ones retract.
const (
	kindInsert       = 0
	kindUpdateBefore = 1
	kindUpdateAfter  = 2
	kindDeleteRow    = 3
)

// run is a sorted run being read: data files that follow one another, batch by
// batch. Fields are of the batch at hand and reused by the next.
type run struct {
	rows  *Rows
	files []DataFile
	next  int // file to open next

	file   DataFile
	opened openedFile
	reader fileReader
	proj   *projection
	row    int64 // rows of the file before the batch
	gone   *deletedRows

	n, pos   int
	loaded   int64            // number of the batch, unique among the Rows' runs
	columns  []*vector.Vector // wanted
	keys     []*vector.Vector
	sequence []int64 // nil: not read
	kinds    []int32 // nil: not read
	prefix   []uint64

	last       []*vector.Vector // key of the last row of the batch before, one row
	lastPrefix uint64
	hasLast    bool
	repeats    bool // some key of the batch was met before in this run
	carried    int  // rows before the batch that have the key of its first row
	tail       int  // rows up to the last one that have its key

	head  uint64 // prefix of the row at pos
	index int32  // in Refs.Batches
	stamp uint64 // group that this run gave a row to last
}

// load reads the next batch; false at the end of the run.
func (r *run) load(ctx context.Context) (bool, error) {
	for {
		if r.reader == nil {
			if r.next == len(r.files) {
				return false, nil
			}
			if err := r.open(ctx); err != nil {
				return false, err
			}
		}
		r.row += int64(r.n)
		r.n, r.pos = 0, 0
		columns, n, err := r.reader.Next()
		if errors.Is(err, io.EOF) {
			if err := r.closeFile(); err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, fmt.Errorf("paimon: table %q: %w", r.rows.table.name, err)
		}
		if n == 0 {
			continue
		}
		r.n = n
		r.rows.stats.RecordsIn += int64(n)
		return true, r.bind(columns, n)
	}
}

func (r *run) open(ctx context.Context) error {
	rows := r.rows
	r.file = r.files[r.next]
	r.next++
	r.row, r.n = 0, 0
	f, err := rows.table.openDataFile(ctx, rows.partition, rows.bucket.Bucket, r.file, &rows.bytes)
	if err != nil {
		return err
	}
	r.opened = f
	fail := func(err error) error {
		_ = r.closeFile()
		return fmt.Errorf("paimon: table %q: data file %s: %w", rows.table.name, r.file.Name, err)
	}
	fileSchema, err := rows.table.SchemaByID(ctx, r.file.SchemaID)
	if err != nil {
		return fail(err)
	}
	r.proj, err = newProjection(f, r.file, fileSchema, rows.schema, rows.wanted, rows.partition, rows.partsOf(r.file), rows.batchRows)
	if err != nil {
		return fail(err)
	}
	if r.reader, err = f.Read(r.proj.columns, rows.batchRows); err != nil {
		return fail(err)
	}
	r.gone = nil
	if ref, ok := rows.bucket.DeletionVectors[r.file.Name]; ok && rows.vectors {
		if r.gone, err = rows.table.readDeletionVector(ctx, ref, r.file.RowCount); err != nil {
			return fail(err)
		}
	}
	rows.stats.Files++
	return nil
}

func (r *run) closeFile() error {
	var err error
	if r.reader != nil {
		err = r.reader.Close()
	}
	if r.opened != nil {
		err = errors.Join(err, r.opened.Close())
	}
	r.reader, r.opened = nil, nil
	if err != nil {
		return fmt.Errorf("paimon: table %q: closing data file %s: %w", r.rows.table.name, r.file.Name, err)
	}
	return nil
}

// bind takes a batch of the file's columns apart.
func (r *run) bind(columns []*vector.Vector, n int) error {
	r.rows.loads++
	r.loaded = r.rows.loads
	r.columns = r.proj.apply(r.columns, columns, n)
	r.sequence, r.kinds = nil, nil
	if i := r.proj.sequence; i >= 0 {
		r.sequence = columns[i].Int64s[:n]
		if hasNull(columns[i]) {
			return corrupt(r.file.Name, "a record has no %s", sequenceColumn)
		}
	}
	if i := r.proj.kind; i >= 0 {
		r.kinds = columns[i].Int32s[:n]
		if hasNull(columns[i]) {
			return corrupt(r.file.Name, "a record has no %s", kindColumn)
		}
		for _, k := range r.kinds {
			if k < kindInsert || k > kindDeleteRow {
				return corrupt(r.file.Name, "a record has the %s %d; there are 0 to 3", kindColumn, k)
			}
		}
	}
	if r.proj.keys == nil {
		return nil
	}
	r.keys = r.keys[:0]
	for _, i := range r.proj.keys {
		if hasNull(columns[i]) {
			return corrupt(r.file.Name, "a record has a null in its key")
		}
		r.keys = append(r.keys, columns[i])
	}
	order := r.rows.order
	r.prefix = order.prefixes(r.prefix, r.keys, n)
	return r.checkOrder()
}

func hasNull(v *vector.Vector) bool {
	if v.Nulls == nil {
		return false
	}
	for _, null := range v.Nulls[:v.Len] {
		if null {
			return true
		}
	}
	return false
}

// checkOrder makes sure that the batch follows the one before in key order,
// without which a merge would silently be wrong, and finds repeated keys.
func (r *run) checkOrder() error {
	order := r.rows.order
	r.repeats, r.carried = false, 0
	if r.hasLast {
		c := compareOrdered(r.lastPrefix, r.prefix[0])
		if c == 0 && !order.exact {
			c = order.compare(r.last, 0, r.keys, 0)
		}
		switch {
		case c > 0:
			return r.unsorted(0)
		case c == 0:
			if err := r.duplicate(0); err != nil {
				return err
			}
			r.carried = r.tail
		}
	}
	p := r.prefix
	for i := 1; i < len(p); i++ {
		if p[i] > p[i-1] {
			continue
		}
		c := -1
		if p[i] == p[i-1] {
			if c = 0; !order.exact {
				c = order.compare(r.keys, i, r.keys, i-1)
			}
		}
		switch {
		case c < 0:
			return r.unsorted(i)
		case c == 0:
			if err := r.duplicate(i); err != nil {
				return err
			}
		}
	}
	r.keepLast()
	return nil
}

func (r *run) unsorted(i int) error {
	return corrupt(r.file.Name, "it is not sorted by key: the key %s follows a higher one (row %d)", KeyText(r.rows.schema.keyFields(), r.keys, i), r.row+int64(i))
}

func (r *run) duplicate(i int) error {
	r.repeats = true
	if r.rows.duplicates == FailOnDuplicates {
		return &DuplicateKeyError{Table: r.rows.table.name, File: r.file.Name, Key: KeyText(r.rows.schema.keyFields(), r.keys, i)}
	}
	return nil
}

// keepLast copies the last key of the batch, whose vectors will be reused.
func (r *run) keepLast() {
	i := r.n - 1
	r.lastPrefix, r.hasLast = r.prefix[i], true
	r.tail = r.generation(i) + 1
	if r.rows.order.exact {
		return
	}
	if r.last == nil {
		for range r.keys {
			r.last = append(r.last, &vector.Vector{})
		}
	}
	for c, k := range r.keys {
		copyValue(r.last[c], k, i)
	}
}

// generation is how many rows right before row i of the batch have its key.
func (r *run) generation(i int) int {
	if !r.repeats {
		return 0
	}
	n := 0
	for ; i > 0; i-- {
		if r.prefix[i] != r.prefix[i-1] || !r.rows.order.exact && r.rows.order.compare(r.keys, i, r.keys, i-1) != 0 {
			return n
		}
		n++
	}
	return n + r.carried
}

// copyValue makes dst a vector of one value, value i of src.
func copyValue(dst, src *vector.Vector, i int) {
	dst.Kind, dst.Len = src.Kind, 1
	switch src.Kind {
	case vector.Bool:
		dst.Bools = append(dst.Bools[:0], src.Bools[i])
	case vector.Int32:
		dst.Int32s = append(dst.Int32s[:0], src.Int32s[i])
	case vector.Int64:
		dst.Int64s = append(dst.Int64s[:0], src.Int64s[i])
	case vector.Float32:
		dst.Float32s = append(dst.Float32s[:0], src.Float32s[i])
	case vector.Float64:
		dst.Float64s = append(dst.Float64s[:0], src.Float64s[i])
	case vector.Timestamp:
		dst.Int64s = append(dst.Int64s[:0], src.Int64s[i])
		dst.Nanos = append(dst.Nanos[:0], src.Nanos[i])
	case vector.Bytes:
		dst.Data = append(dst.Data[:0], src.BytesAt(i)...)
		dst.Offsets = append(dst.Offsets[:0], 0, int32(len(dst.Data)))
	}
}
