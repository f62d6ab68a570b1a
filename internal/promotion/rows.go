package promotion

import (
	"context"
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// layout is how rows of the source become rows and keys of the Fluss table.
type layout struct {
	columns    []string       // read from the source, in the Fluss table's order
	types      []row.DataType // of those columns
	keys       []int          // positions of the physical primary key's columns
	bucketKeys []int          // positions of the bucket key's columns
	keyFormat  row.KeyFormat
	bktFormat  row.KeyFormat
	lakeFormat string
	buckets    int
	fields     []paimon.Field // of the columns, for error texts
}

func newLayout(info *fluss.TableInfo, schema *paimon.Schema) (*layout, error) {
	l := &layout{lakeFormat: info.LakeFormat(), buckets: info.Descriptor.BucketCount}
	at := map[string]int{}
	for i, c := range info.Descriptor.Columns {
		l.columns = append(l.columns, c.Name)
		l.types = append(l.types, c.Type)
		at[c.Name] = i
		f, ok := schema.Field(c.Name)
		if !ok {
			return nil, fmt.Errorf("promotion: column %q of Fluss table %s is not in schema %d of the source", c.Name, info.Path, schema.ID)
		}
		l.fields = append(l.fields, f)
	}
	physical, bucketKey := info.PhysicalPrimaryKey(), info.BucketKey()
	for _, k := range physical {
		l.keys = append(l.keys, at[k])
	}
	for _, k := range bucketKey {
		l.bucketKeys = append(l.bucketKeys, at[k])
	}
	same := len(physical) == len(bucketKey)
	for i := range physical {
		same = same && i < len(bucketKey) && physical[i] == bucketKey[i]
	}
	l.keyFormat, l.bktFormat = row.KeyFormatOf(l.lakeFormat, info.KvFormatVersion(), same)
	return l, nil
}

func (l *layout) pick(positions []int) []row.DataType {
	out := make([]row.DataType, len(positions))
	for i, p := range positions {
		out[i] = l.types[p]
	}
	return out
}

// encoders turns the rows of one source (sorted run) into bytes.
type encoders struct {
	l       *layout
	row     *row.Encoder
	key     *row.KeyEncoder
	bucket  *row.KeyEncoder
	vectors []row.Vector
	ptrs    []*row.Vector
	keyPtrs []*row.Vector
	bktPtrs []*row.Vector
	bound   int64 // the batch that the encoders are bound to; 0 none
}

func (l *layout) newEncoders() (*encoders, error) {
	e := &encoders{l: l, vectors: make([]row.Vector, len(l.columns))}
	var err error
	if e.row, err = row.NewEncoder(l.types); err != nil {
		return nil, err
	}
	if e.key, err = row.NewKeyEncoder(l.keyFormat, l.pick(l.keys)); err != nil {
		return nil, err
	}
	if e.bucket, err = row.NewKeyEncoder(l.bktFormat, l.pick(l.bucketKeys)); err != nil {
		return nil, err
	}
	for i := range e.vectors {
		e.ptrs = append(e.ptrs, &e.vectors[i])
	}
	for _, p := range l.keys {
		e.keyPtrs = append(e.keyPtrs, &e.vectors[p])
	}
	for _, p := range l.bucketKeys {
		e.bktPtrs = append(e.bktPtrs, &e.vectors[p])
	}
	return e, nil
}

// bind points the encoders at a batch of columns, sharing its memory.
func (e *encoders) bind(batch []*vector.Vector) error {
	if len(batch) != len(e.vectors) {
		return fmt.Errorf("promotion: %d columns read, %d wanted", len(batch), len(e.vectors))
	}
	for i, v := range batch {
		share(&e.vectors[i], v)
	}
	if err := e.row.Bind(e.ptrs); err != nil {
		return err
	}
	if err := e.key.Bind(e.keyPtrs); err != nil {
		return err
	}
	return e.bucket.Bind(e.bktPtrs)
}

// share makes dst the same column as src without copying values. Both packages
// have a vector type of their own, because neither may know the other.
func share(dst *row.Vector, src *vector.Vector) {
	dst.Kind, dst.Len, dst.Nulls = row.VectorKind(src.Kind), src.Len, src.Nulls
	dst.Bools, dst.Int32s, dst.Int64s, dst.Nanos = src.Bools, src.Int32s, src.Int64s, src.Nanos
	dst.Float32s, dst.Float64s, dst.Offsets, dst.Data = src.Float32s, src.Float64s, src.Offsets, src.Data
	if len(src.Children) == 0 {
		dst.Children = nil
		return
	}
	if len(dst.Children) != len(src.Children) {
		dst.Children = make([]*row.Vector, len(src.Children))
		for i := range dst.Children {
			dst.Children[i] = &row.Vector{}
		}
	}
	for i, c := range src.Children {
		share(dst.Children[i], c)
	}
}

// bucketTask is one bucket of one initialized partition.
type bucketTask struct {
	id        fluss.BucketID
	partition string // Fluss partition name, "" when unpartitioned
	files     *paimon.BucketFiles
	source    *paimon.PartitionFiles // nil with files nil: no rows in the source
}

func (t bucketTask) key() string { return bucketKey(t.partition, t.id.Bucket) }

// tasks lists every bucket of every initialized partition, with the source's
// files where it has any.
func (r *run) tasks(ctx context.Context) ([]bucketTask, error) {
	n := r.info.Descriptor.BucketCount
	if n <= 0 {
		return nil, fmt.Errorf("promotion: Fluss table %s has %d buckets", r.path, n)
	}
	if len(r.src.schema.PartitionKeys) == 0 {
		var pf *paimon.PartitionFiles
		if r.src.plan != nil && len(r.src.plan.Partitions) > 0 {
			pf = r.src.plan.Partitions[0]
		}
		return partitionTasks(nil, -1, "", n, pf), nil
	}
	ids, err := r.partitionIDs(ctx)
	if err != nil {
		return nil, err
	}
	var out []bucketTask
	for _, p := range r.jdg.Partitions {
		if !p.Selected {
			continue
		}
		id, ok := ids[p.FlussName]
		if !ok {
			return nil, fmt.Errorf("promotion: partition %s of Fluss table %s is missing", p.FlussName, r.path)
		}
		out = partitionTasks(out, id, p.FlussName, n, p.Files)
	}
	return out, nil
}

func partitionTasks(out []bucketTask, id int64, name string, buckets int, pf *paimon.PartitionFiles) []bucketTask {
	byBucket := map[int]*paimon.BucketFiles{}
	if pf != nil {
		for _, b := range pf.Buckets {
			byBucket[b.Bucket] = b
		}
	}
	for b := range buckets {
		t := bucketTask{id: fluss.BucketID{PartitionID: id, Bucket: int32(b)}, partition: name}
		if f := byBucket[b]; f != nil {
			t.files, t.source = f, pf
		}
		out = append(out, t)
	}
	return out
}

// rowReader walks the merged rows of one bucket.
type rowReader struct {
	l    *layout
	rows *paimon.Rows
	encs []*encoders
	free func()
}

// openBucket opens a bucket once there is memory for reading it and for extra
// bytes more. A bucket that takes all there may be is read alone.
func (r *run) openBucket(ctx context.Context, l *layout, t bucketTask, extra int64) (*rowReader, error) {
	rows, err := r.src.table.ReadBucket(ctx, r.src.plan, t.source, t.files, paimon.ReadOptions{
		Columns: l.columns, DuplicateKeys: paimon.FailOnDuplicates})
	if err != nil {
		return nil, err
	}
	n := min(rows.Memory()+extra, readMemory)
	if err := r.s.memory.Acquire(ctx, n); err != nil {
		return nil, fmt.Errorf("waiting for memory to read bucket %s: %w", t.key(), context.Cause(ctx))
	}
	return &rowReader{l: l, rows: rows, free: func() { r.s.memory.Release(n) }}, nil
}

// close gives the memory back. What reading can fail with it has said.
func (rr *rowReader) close() {
	_ = rr.rows.Close()
	rr.free()
}

// each calls f for every row with the encoders of its source and its position
// in them, until f fails or the rows end.
func (rr *rowReader) each(ctx context.Context, f func(e *encoders, pos int) error) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		refs, err := rr.rows.Next()
		if err != nil {
			return err
		}
		for i, b := range refs.Batches {
			if i >= len(rr.encs) {
				e, err := rr.l.newEncoders()
				if err != nil {
					return err
				}
				rr.encs = append(rr.encs, e)
			}
			if b == nil || rr.encs[i].bound == refs.Loads[i] {
				continue
			}
			if err := rr.encs[i].bind(b); err != nil {
				return err
			}
			rr.encs[i].bound = refs.Loads[i]
		}
		for k, pos := range refs.Pos {
			src := 0
			if refs.Src != nil {
				src = int(refs.Src[k])
			}
			if err := f(rr.encs[src], int(pos)); err != nil {
				return err
			}
		}
	}
}

// describeKey is a row's primary key for error messages.
func (e *encoders) describeKey(pos int) string {
	key := e.key.Append(nil, pos)
	values, err := row.DecodeKey(e.l.keyFormat, e.l.pick(e.l.keys), key)
	if err != nil {
		return fmt.Sprintf("%x", key)
	}
	out := ""
	for i, v := range values {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s=%v", e.l.columns[e.l.keys[i]], v)
	}
	return out
}
