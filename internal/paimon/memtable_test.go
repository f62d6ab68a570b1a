package paimon

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// memTable is a table whose data files are columns in memory, of the made-up
// format "mem", so that a test can give the merge any records.
type memTable struct {
	*Table
	files map[string]*memFile
}

type memFile struct {
	columns map[string]*vector.Vector
	rows    int
	batch   int // at most so many rows a batch, whatever is asked for
}

// memFS holds the mem files as empty files.
type memFS struct {
	storage.FS
	files map[string]*memFile
}

type emptyFile struct{ io.ReaderAt }

func (emptyFile) Close() error { return nil }
func (emptyFile) Size() int64  { return 0 }

func (m memFS) Open(_ context.Context, file string) (storage.File, error) {
	if m.files[path.Base(file)] == nil {
		return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	return emptyFile{strings.NewReader("")}, nil
}

func (m memFS) Stat(_ context.Context, file string) (storage.Info, error) {
	if m.files[path.Base(file)] == nil {
		return storage.Info{}, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	return storage.Info{Name: path.Base(file)}, nil
}

func newMemTable(t testing.TB, schema *Schema) *memTable {
	t.Helper()
	m := &memTable{Table: &Table{path: "/t", name: "mem.t", schemas: map[int64]*Schema{schema.ID: schema}}, files: map[string]*memFile{}}
	m.fs = memFS{files: m.files}
	m.newest.Store(schema)
	before := formats["mem"]
	formats["mem"] = func(_ storage.File, name string) (openedFile, error) { return m.files[path.Base(name)], nil }
	t.Cleanup(func() {
		delete(formats, "mem")
		if before != nil {
			formats["mem"] = before
		}
	})
	return m
}

func (f *memFile) Has(column string) bool { return f.columns[column] != nil }
func (f *memFile) NumRows() int64         { return int64(f.rows) }
func (f *memFile) Close() error           { return nil }

func (f *memFile) Read(columns []fileColumn, batchRows int) (fileReader, error) {
	r := &memReader{file: f, columns: columns, batch: batchRows}
	if f.batch > 0 {
		r.batch = min(r.batch, f.batch)
	}
	for _, c := range columns {
		if f.columns[c.Name] == nil {
			return nil, fmt.Errorf("no column %s", c.Name)
		}
		r.out = append(r.out, &vector.Vector{})
	}
	return r, nil
}

// memReader hands out copies that it overwrites at the next call, as a real
// reader does.
type memReader struct {
	file    *memFile
	columns []fileColumn
	batch   int
	row     int
	out     []*vector.Vector
}

func (r *memReader) Close() error { return nil }

func (r *memReader) Next() ([]*vector.Vector, int, error) {
	n := min(r.batch, r.file.rows-r.row)
	if n == 0 {
		for _, v := range r.out {
			*v = vector.Vector{}
		}
		return nil, 0, io.EOF
	}
	for i, c := range r.columns {
		src, dst := r.file.columns[c.Name], r.out[i]
		from, to := r.row, r.row+n
		dst.Kind, dst.Len = src.Kind, n
		dst.Nulls = append(dst.Nulls[:0], tail(src.Nulls, from, to)...)
		if len(dst.Nulls) == 0 {
			dst.Nulls = nil
		}
		dst.Bools = append(dst.Bools[:0], tail(src.Bools, from, to)...)
		dst.Int32s = append(dst.Int32s[:0], tail(src.Int32s, from, to)...)
		dst.Int64s = append(dst.Int64s[:0], tail(src.Int64s, from, to)...)
		dst.Nanos = append(dst.Nanos[:0], tail(src.Nanos, from, to)...)
		dst.Float32s = append(dst.Float32s[:0], tail(src.Float32s, from, to)...)
		dst.Float64s = append(dst.Float64s[:0], tail(src.Float64s, from, to)...)
		if src.Offsets != nil {
			dst.Data, dst.Offsets = dst.Data[:0], append(dst.Offsets[:0], 0)
			for k := from; k < to; k++ {
				dst.Data = append(dst.Data, src.BytesAt(k)...)
				dst.Offsets = append(dst.Offsets, int32(len(dst.Data)))
			}
		}
	}
	r.row += n
	return r.out, n, nil
}

func tail[T any](s []T, from, to int) []T {
	if s == nil {
		return nil
	}
	return s[from:to]
}

// memRecord is a record of a mem file: key values, sequence number, kind, and
// the number that tells it apart (column "v" BIGINT).
type memRecord struct {
	key  []any
	seq  int64
	kind int32
	v    int64
}

// add makes a data file of records, which are written as they come.
func (m *memTable) add(t testing.TB, name string, level int, records []memRecord, batch int) DataFile {
	t.Helper()
	keys := m.Schema().keyFields()
	f := &memFile{columns: map[string]*vector.Vector{}, rows: len(records), batch: batch}
	for c, k := range keys {
		parts := make([]*vector.Vector, len(records))
		for i, r := range records {
			parts[i] = constant(k.Type, r.key[c], 1)
		}
		f.columns[keyPrefix+k.Name] = concat(k.Type, parts)
		f.columns[k.Name] = f.columns[keyPrefix+k.Name]
	}
	seq, kind, v := &vector.Vector{Kind: vector.Int64, Len: f.rows}, &vector.Vector{Kind: vector.Int32, Len: f.rows}, &vector.Vector{Kind: vector.Int64, Len: f.rows}
	deletes := int64(0)
	lowest, highest := records[0].key, records[0].key
	for _, r := range records {
		seq.Int64s, kind.Int32s, v.Int64s = append(seq.Int64s, r.seq), append(kind.Int32s, r.kind), append(v.Int64s, r.v)
		deletes += int64(r.kind & 1)
		if compareKeys(r.key, lowest) < 0 {
			lowest = r.key
		}
		if compareKeys(r.key, highest) > 0 {
			highest = r.key
		}
	}
	f.columns[sequenceColumn], f.columns[kindColumn], f.columns["v"] = seq, kind, v
	name += ".mem"
	m.files[name] = f
	return DataFile{Name: name, RowCount: int64(f.rows), DeleteRowCount: &deletes, MinKey: encodeRow(t, lowest), MaxKey: encodeRow(t, highest),
		SchemaID: m.Schema().ID, Level: level}
}

func concat(dt DataType, parts []*vector.Vector) *vector.Vector {
	out := constant(dt, nil, 0)
	out.Nulls, out.Len = nil, len(parts)
	for _, p := range parts {
		out.Bools, out.Int32s, out.Int64s = append(out.Bools, p.Bools...), append(out.Int32s, p.Int32s...), append(out.Int64s, p.Int64s...)
		out.Nanos, out.Float32s, out.Float64s = append(out.Nanos, p.Nanos...), append(out.Float32s, p.Float32s...), append(out.Float64s, p.Float64s...)
		if out.Offsets != nil {
			out.Data = append(out.Data, p.Data...)
			out.Offsets = append(out.Offsets, int32(len(out.Data)))
		}
	}
	return out
}

// encodeRow writes a BinaryRow with arity.
func encodeRow(t testing.TB, values []any) []byte {
	t.Helper()
	header := (len(values) + 63 + 8) / 64 * 8
	row := make([]byte, header+8*len(values))
	variable := func(slot, b []byte) {
		if len(b) <= 7 {
			copy(slot, b)
			slot[7] = 0x80 | byte(len(b))
			return
		}
		binary.LittleEndian.PutUint64(slot, uint64(len(row))<<32|uint64(len(b)))
		row = append(row, b...)
		row = append(row, make([]byte, (8-len(b)%8)%8)...)
	}
	for i, v := range values {
		slot := row[header+8*i:][:8]
		put := func(n uint64) { binary.LittleEndian.PutUint64(slot, n) }
		switch v := v.(type) {
		case nil:
			row[(8+i)/8] |= 1 << ((8 + i) % 8)
		case bool:
			if v {
				slot[0] = 1
			}
		case int8:
			put(uint64(uint8(v)))
		case int16:
			put(uint64(uint16(v)))
		case int32:
			put(uint64(uint32(v)))
		case int64:
			put(uint64(v))
		case DateValue:
			put(uint64(uint32(v)))
		case TimeValue:
			put(uint64(uint32(v)))
		case float32:
			put(uint64(math.Float32bits(v)))
		case float64:
			put(math.Float64bits(v))
		case string:
			variable(slot, []byte(v))
		case []byte:
			variable(slot, v)
		case DecimalValue:
			if v.Unscaled.IsInt64() && len(v.Unscaled.String()) <= 18 && v.Scale != 10 {
				put(uint64(v.Unscaled.Int64()))
				break
			}
			b := appendSignedBig(nil, v.Unscaled)
			put(uint64(len(row))<<32 | uint64(len(b)))
			row = append(row, append(b, make([]byte, 16-len(b))...)...)
		case TimestampValue:
			put(uint64(len(row))<<32 | uint64(v.Nanos))
			row = binary.LittleEndian.AppendUint64(row, uint64(v.Millis))
		default:
			t.Fatalf("encodeRow: %T", v)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(values))), row...)
}
