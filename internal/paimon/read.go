package paimon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// DuplicateKeys says what to do with a key that one sorted run holds several
// records of.
type DuplicateKeys uint8

const (
	// KeepDuplicates gives a row for each, as Paimon does.
	KeepDuplicates DuplicateKeys = iota
	// FailOnDuplicates ends with a *DuplicateKeyError.
	FailOnDuplicates
)

// ReadOptions says what ReadBucket reads. The zero value reads every column of
// the newest schema.
type ReadOptions struct {
	Columns       []string // of Schema, in the order wanted; nil: all, in its order
	Schema        *Schema  // nil: the newest
	BatchRows     int      // rows decoded of a run at once; 0: 4096
	DuplicateKeys DuplicateKeys
}

const (
	defaultBatchRows = 4096
	maxBatchRows     = 1 << 20
)

// Refs is result rows, as references into batches of decoded columns: row k is
// position Pos[k] of the columns Batches[Src[k]], or of Batches[0] where Src is
// nil. The columns are those asked for, in that order. Everything is valid
// until the following Rows.Next; a batch whose Loads number is the same as
// before has the same content still.
type Refs struct {
	Batches [][]*vector.Vector
	Loads   []int64 // for each batch a number that no other content has had
	Src     []int32
	Pos     []int32
}

// Len is the number of rows.
func (r *Refs) Len() int { return len(r.Pos) }

// ReadStats counts what was read so far.
type ReadStats struct {
	Files     int   // data files opened
	RecordsIn int64 // records decoded
	RowsOut   int64
	BytesRead int64 // of data files
}

// Rows gives the rows of one bucket. Rows of a primary-key table come in key
// order, save where no merge is needed for a reason other than key ranges
// (deletion vectors, first-row). It is not safe for concurrent use.
type Rows struct {
	ctx        context.Context //nolint:containedctx // an iterator: bounds every read of its files
	loads      int64           // batches loaded so far
	table      *Table
	schema     *Schema
	wanted     []Field
	partition  Partition
	bucket     *BucketFiles
	batchRows  int
	duplicates DuplicateKeys
	keyed      bool // a primary-key table
	vectors    bool // deletion vectors apply
	order      *keyOrder

	sections [][][]DataFile // runs of each group of overlapping files
	next     int
	runs     []*run
	merger   *merger // nil: the section is one run, passed through

	refs     Refs
	identity []int32
	stats    ReadStats
	bytes    atomic.Int64
	err      error
}

// ReadBucket starts reading the rows of a bucket of a plan, merged. It refuses,
// with the errors of CanRead, what it can't read exactly. The context is used
// by Next too.
func (t *Table) ReadBucket(ctx context.Context, plan *Plan, p *PartitionFiles, b *BucketFiles, opt ReadOptions) (*Rows, error) {
	schema := opt.Schema
	if schema == nil {
		schema = t.Schema()
	}
	if err := t.canRead(plan, schema, []*BucketFiles{b}); err != nil {
		return nil, err
	}
	rows := &Rows{ctx: ctx, table: t, schema: schema, partition: p.Partition, bucket: b, duplicates: opt.DuplicateKeys,
		batchRows: opt.BatchRows, keyed: len(schema.PrimaryKeys) > 0, vectors: t.vectorsEnabled()}
	if rows.batchRows <= 0 {
		rows.batchRows = defaultBatchRows
	}
	rows.batchRows = min(rows.batchRows, maxBatchRows)
	if opt.Columns == nil {
		rows.wanted = schema.Fields
	}
	for _, c := range opt.Columns {
		f, ok := schema.Field(c)
		if !ok {
			return nil, fmt.Errorf("paimon: table %q: schema %d has no column %q", t.name, schema.ID, c)
		}
		rows.wanted = append(rows.wanted, f)
	}
	files := t.visibleFiles(schema, b)
	if !rows.keyed {
		rows.sections = oneByOne(files)
		return rows, nil
	}
	var err error
	if rows.order, err = newKeyOrder(schema.keyFields()); err != nil {
		return nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	ranged, err := keyRanges(schema.keyFields(), files)
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	if rows.vectors || t.mergeEngine() == engineFirstRow {
		rows.sections = oneByOne(files)
	} else {
		rows.sections = sections(ranged)
	}
	return rows, nil
}

func oneByOne(files []DataFile) [][][]DataFile {
	s := make([][][]DataFile, len(files))
	for i, f := range files {
		s[i] = [][]DataFile{{f}}
	}
	return s
}

// visibleFiles leaves out the files that a batch read does not see.
func (t *Table) visibleFiles(schema *Schema, b *BucketFiles) []DataFile {
	if len(schema.PrimaryKeys) == 0 {
		return b.Files
	}
	if b.Bucket < 0 { // written, but not assigned to a bucket yet
		return nil
	}
	if !t.vectorsEnabled() && t.mergeEngine() != engineFirstRow {
		return b.Files
	}
	var files []DataFile
	for _, f := range b.Files {
		if f.Level > 0 {
			files = append(files, f)
		}
	}
	return files
}

// partsOf says which system columns of a file are needed.
func (r *Rows) partsOf(f DataFile) parts {
	if !r.keyed {
		return parts{}
	}
	merging := r.merger != nil
	return parts{
		key:      merging || r.duplicates == FailOnDuplicates,
		sequence: merging,
		kind:     f.DeleteRowCount == nil || *f.DeleteRowCount != 0,
	}
}

// Next gives the next rows, at least one; io.EOF at the end. After an error
// every further call returns it again.
func (r *Rows) Next() (*Refs, error) {
	for r.err == nil {
		var more bool
		if r.err = r.ctx.Err(); r.err != nil {
			r.err = fmt.Errorf("paimon: table %q: %w", r.table.name, r.err)
			break
		}
		if err := safego.Do(func() (err error) {
			more, err = r.fill()
			return err
		}); err != nil {
			r.err = err
			break
		}
		if !more {
			r.err = io.EOF
			break
		}
		if n := r.refs.Len(); n > 0 {
			r.stats.RowsOut += int64(n)
			return &r.refs, nil
		}
	}
	return nil, r.err
}

// fill gives the next rows, perhaps none; false at the end.
func (r *Rows) fill() (bool, error) {
	r.refs.Src, r.refs.Pos = r.refs.Src[:0], r.refs.Pos[:0]
	for {
		if r.runs == nil {
			if r.next == len(r.sections) {
				return false, nil
			}
			r.openSection(r.sections[r.next])
			r.next++
		}
		var more bool
		var err error
		if r.merger != nil {
			more, err = r.merger.fill(r.ctx, &r.refs)
		} else {
			more, err = r.pass()
		}
		if more || err != nil {
			return more, err
		}
		r.runs, r.merger = nil, nil
	}
}

func (r *Rows) openSection(files [][]DataFile) {
	for _, f := range files {
		r.runs = append(r.runs, &run{rows: r, files: f})
	}
	if len(r.runs) > 1 {
		r.merger = newMerger(r, r.runs)
	}
}

// pass gives the next batch of the only run, less retractions and the rows
// that a deletion vector names.
func (r *Rows) pass() (bool, error) {
	run := r.runs[0]
	more, err := run.load(r.ctx)
	if !more || err != nil {
		return false, err
	}
	for i := len(r.identity); i < run.n; i++ {
		r.identity = append(r.identity, int32(i))
	}
	refs := &r.refs
	refs.Batches, refs.Loads = append(refs.Batches[:0], run.columns), append(refs.Loads[:0], run.loaded)
	if run.kinds == nil && run.gone == nil {
		refs.Src, refs.Pos = nil, append(refs.Pos, r.identity[:run.n]...)
		return true, nil
	}
	refs.Src = nil
	for _, i := range r.identity[:run.n] {
		if run.kinds != nil && run.kinds[i]&1 != 0 || run.gone.has(run.row+int64(i)) {
			continue
		}
		refs.Pos = append(refs.Pos, i)
	}
	return true, nil
}

const (
	// unpacked is how many times their compressed bytes a file's values may take.
	unpacked = 4
	// usualPage is the size at which writers end a page or a compressed chunk of
	// a column, and pageRows the rows they write before they look.
	usualPage, pageRows = 1 << 20, 100
)

// Memory estimates how many bytes reading the rows takes at most: for each run
// that is merged at once, a page of every column and a batch. It is told by the
// manifest alone; a writer with larger pages takes more.
func (r *Rows) Memory() int64 {
	most := int64(0)
	for _, section := range r.sections {
		total := int64(0)
		for _, run := range section {
			of := int64(0)
			for _, f := range run {
				of = max(of, r.fileMemory(f))
			}
			total += of
		}
		most = max(most, total)
	}
	return most
}

func (r *Rows) fileMemory(f DataFile) int64 {
	all := unpacked * f.Size
	row := all / max(f.RowCount, 1)
	pages := min(all, int64(len(r.wanted))*usualPage+pageRows*row)
	batch := min(all, vector.BatchBytes, int64(r.batchRows)*row)
	return pages + batch
}

// Stats tells what was read so far.
func (r *Rows) Stats() ReadStats {
	s := r.stats
	s.BytesRead = r.bytes.Load()
	return s
}

// Close closes what is open. The last Refs is no longer valid.
func (r *Rows) Close() error {
	var errs []error
	for _, run := range r.runs {
		errs = append(errs, run.closeFile())
	}
	r.runs, r.merger = nil, nil
	if r.err == nil {
		r.err = fmt.Errorf("paimon: table %q: the rows are closed", r.table.name)
	}
	return errors.Join(errs...)
}
