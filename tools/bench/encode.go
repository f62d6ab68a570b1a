package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
	"golang.org/x/sys/unix"
)

// encoder makes records of column batches. The key is the first column.
type encoder struct {
	row  *row.Encoder
	key  *row.KeyEncoder
	cols []*row.Vector
}

func newEncoder(types []row.DataType, format row.KeyFormat) (*encoder, error) {
	e := &encoder{}
	var err error
	if e.row, err = row.NewEncoder(types); err != nil {
		return nil, err
	}
	if e.key, err = row.NewKeyEncoder(format, types[:1]); err != nil {
		return nil, err
	}
	for range types {
		e.cols = append(e.cols, &row.Vector{})
	}
	return e, nil
}

func (e *encoder) bind() error {
	if err := e.row.Bind(e.cols); err != nil {
		return err
	}
	return e.key.Bind(e.cols[:1])
}

// share binds columns of the reader, without copying them.
func (e *encoder) share(from []*vector.Vector) error {
	for i, v := range from {
		*e.cols[i] = row.Vector{Kind: row.VectorKind(v.Kind), Len: v.Len, Nulls: v.Nulls, Bools: v.Bools, Int32s: v.Int32s, Int64s: v.Int64s,
			Nanos: v.Nanos, Float32s: v.Float32s, Float64s: v.Float64s, Offsets: v.Offsets, Data: v.Data}
	}
	return e.bind()
}

// encodeTable reads the Paimon table of a folder and encodes all of it into
// batches for the Fluss table, by bucket.
func encodeTable(ctx context.Context, dir string, info *fluss.TableInfo) ([][]*row.Batch, error) {
	table, err := paimon.OpenTable(ctx, storage.Local{}, dir, info.Path.String())
	if err != nil {
		return nil, err
	}
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := table.Plan(ctx, snap)
	if err != nil {
		return nil, err
	}
	out := make([][]*row.Batch, info.Descriptor.BucketCount)
	for _, p := range plan.Partitions {
		for _, bucket := range p.Buckets {
			rows, err := table.ReadBucket(ctx, plan, p, bucket, paimon.ReadOptions{})
			if err != nil {
				return nil, err
			}
			out[bucket.Bucket], err = encodeBucket(rows, info)
			if err := errors.Join(err, rows.Close()); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func encodeBucket(rows *paimon.Rows, info *fluss.TableInfo) ([]*row.Batch, error) {
	var types []row.DataType
	for _, c := range info.Descriptor.Columns {
		types = append(types, c.Type)
	}
	format, _ := row.KeyFormatOf(info.LakeFormat(), info.KvFormatVersion(), true)
	var encs []*encoder
	var out []*row.Batch
	var window row.Window
	for {
		refs, err := rows.Next()
		if errors.Is(err, io.EOF) {
			// The provider's order.
			window.Sort()
			for left := window.Rows(); left > 0; {
				out = append(out, &row.Batch{})
				out[len(out)-1].Reset(int16(info.SchemaID))
				left = window.TakeInto(out[len(out)-1], limitBytes, limitRows)
			}
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i, batch := range refs.Batches {
			if i == len(encs) {
				e, err := newEncoder(types, format)
				if err != nil {
					return nil, err
				}
				encs = append(encs, e)
			}
			if batch == nil {
				continue
			}
			if err := encs[i].share(batch); err != nil {
				return nil, err
			}
		}
		for k, pos := range refs.Pos {
			src := 0
			if refs.Src != nil {
				src = int(refs.Src[k])
			}
			window.Add(encs[src].key, encs[src].row, int(pos), int(pos))
		}
	}
}

const (
	encodeRuns    = 7
	encodeBatches = 800 // of each run
	encodeColumns = 4096
)

// encode measures building batches of the 10-column table's rows on one thread,
// by its processor time.
func (b *bench) encode(ctx context.Context) error {
	e, err := tenColumns()
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var batch row.Batch
	for run := range encodeRuns + 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		rate, err := e.run(&batch, encodeBatches)
		if err != nil {
			return err
		}
		if run == 0 {
			continue // the processor's clock and caches settle
		}
		logf("encoding: %.0f rows a second of CPU", rate)
		b.results.encoded = append(b.results.encoded, rate)
	}
	return nil
}

// tenColumns is an encoder with columns as the 10-column table has them.
func tenColumns() (*encoder, error) {
	var types []row.DataType
	for _, text := range columnTypes {
		t, err := row.ParseType(text)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	e, err := newEncoder(types, row.KeyPaimon)
	if err != nil {
		return nil, err
	}
	fillColumns(e.cols, types)
	return e, nil
}

// run encodes and finishes batches, each of two bound batches of columns, and
// gives the rows a second of the thread's processor time. An allocation is an
// error: it would be one for many rows.
func (e *encoder) run(batch *row.Batch, batches int) (float64, error) {
	if err := e.fill(batch); err != nil { // its memory grows
		return 0, err
	}
	var from, until unix.Rusage
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &from); err != nil {
		return 0, err
	}
	rows := 0
	for range batches {
		if err := e.fill(batch); err != nil {
			return 0, err
		}
		rows += batch.Rows()
	}
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &until); err != nil {
		return 0, err
	}
	runtime.ReadMemStats(&after)
	// The runtime's own goroutines allocate now and then.
	if n := after.Mallocs - before.Mallocs; n >= uint64(batches)/2 {
		return 0, fmt.Errorf("found %d allocations for %d rows in %d batches; required: none", n, rows, batches)
	}
	return float64(rows) / (float64(until.Utime.Nano()+until.Stime.Nano()-from.Utime.Nano()-from.Stime.Nano()) / 1e9), nil
}

// fill builds and finishes one batch.
func (e *encoder) fill(batch *row.Batch) error {
	batch.Reset(1)
	for range 2 {
		if err := e.bind(); err != nil {
			return err
		}
		for i := range encodeColumns {
			if _, bad := e.row.Unreadable(i); bad {
				return fmt.Errorf("row %d can't be read back", i)
			}
			batch.Add(e.key, e.row, i, i)
		}
	}
	batch.Finish(1, 0)
	return nil
}

// columnTypes are those of the table that pyoracle.WriteBench makes.
var columnTypes = []string{"BIGINT NOT NULL", "BIGINT", "STRING", "STRING", "INT", "DOUBLE", "DECIMAL(12, 2)", "DATE", "TIMESTAMP(3)", "STRING"}

// fillColumns makes values as that table has them; one in 50 of the last column
// is null.
func fillColumns(cols []*row.Vector, types []row.DataType) {
	r := rand.New(rand.NewPCG(1, 2))
	cities := []string{"Oslo", "Bern", "Rome", "Lima", "Kyiv", "Pune", "Quito", "Hanoi", "Accra", "Turin", "Sofia", "Cairo"}
	states := []string{"new", "paid", "packed", "sent", "done", "returned"}
	for i, v := range cols {
		v.Kind, v.Len = types[i].VectorKind(), encodeColumns
		if types[i].Kind == row.String {
			v.Offsets = append(v.Offsets, 0)
		}
	}
	cols[9].Nulls = make([]bool, encodeColumns)
	text := func(v *row.Vector, s string) {
		v.Data = append(v.Data, s...)
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
	}
	for k := range encodeColumns {
		id := int64(k) * 4
		cols[0].Int64s = append(cols[0].Int64s, id)
		cols[1].Int64s = append(cols[1].Int64s, r.Int64N(200_000))
		text(cols[2], cities[r.IntN(len(cities))])
		text(cols[3], states[r.IntN(len(states))])
		cols[4].Int32s = append(cols[4].Int32s, 1+r.Int32N(99))
		cols[5].Float64s = append(cols[5].Float64s, r.Float64()*1000)
		cols[6].Int64s = append(cols[6].Int64s, r.Int64N(2_000_000_000)-1_000_000_000)
		cols[7].Int32s = append(cols[7].Int32s, 19000+r.Int32N(1000))
		cols[8].Int64s = append(cols[8].Int64s, 1_700_000_000_000+r.Int64N(10_000_000_000))
		if cols[9].Nulls[k] = r.IntN(50) == 0; cols[9].Nulls[k] {
			text(cols[9], "")
		} else {
			text(cols[9], fmt.Sprintf("v1-%d-%d", id%9973, id))
		}
	}
}
