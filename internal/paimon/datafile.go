package paimon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/parquet"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// fileColumn is a wanted column of a data file, with the type that the file's
// own schema gives it.
type fileColumn struct {
	Name string
	Type DataType
}

// fileReader gives a data file's columns batch by batch, in the order asked,
// whatever the file's format; io.EOF at the end. The vectors are reused by the
// following Next.
type fileReader interface {
	Next() (columns []*vector.Vector, rows int, err error)
	Close() error
}

// openedFile is an open data file.
type openedFile interface {
	Has(column string) bool
	NumRows() int64
	Read(columns []fileColumn, batchRows int) (fileReader, error)
	Close() error
}

// formats are the data-file formats this reader has. Opening takes the file
// over and closes it on failure.
var formats = map[string]func(f storage.File, name string) (openedFile, error){
	"parquet": openParquet,
}

var codecNames = map[string]bool{"none": true, "zstd": true, "snappy": true, "gzip": true, "lz4": true, "lzo": true, "brotli": true, "deflate": true, "zstandard": true, "bzip2": true, "xz": true, "zlib": true}

// fileFormat is the format that a data file's name tells: its last ending, or
// the one before it if that names a codec.
func fileFormat(name string) string {
	base, ext := cutExt(name)
	if codecNames[ext] {
		_, ext = cutExt(base)
	}
	return ext
}

func cutExt(name string) (base, ext string) {
	ext = path.Ext(name)
	return strings.TrimSuffix(name, ext), strings.ToLower(strings.TrimPrefix(ext, "."))
}

// openDataFile opens a data file of a partition's bucket. Bytes read from it
// are added to read. The error matches ErrFileMissing when it is not there.
func (t *Table) openDataFile(ctx context.Context, p Partition, bucket int, f DataFile, read *atomic.Int64) (openedFile, error) {
	file, err := t.locate(ctx, p, bucket, f)
	if err != nil {
		return nil, err
	}
	open := formats[fileFormat(f.Name)]
	if open == nil {
		return nil, t.unsupportedFormat(f)
	}
	in, err := t.fs.Open(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("paimon: table %q: %w: data file %s", t.name, ErrFileMissing, file)
	}
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	if in.Size() != f.Size {
		_ = in.Close()
		return nil, corrupt(file, "it has %d bytes, its manifest entry says %d", in.Size(), f.Size)
	}
	opened, err := open(countingFile{in, read}, file)
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	if opened.NumRows() != f.RowCount {
		_ = opened.Close()
		return nil, corrupt(file, "it has %d rows, its manifest entry says %d", opened.NumRows(), f.RowCount)
	}
	return opened, nil
}

type countingFile struct {
	storage.File
	read *atomic.Int64
}

func (f countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.read.Add(int64(n))
	return n, err
}

type parquetFile struct {
	in   io.Closer
	file *parquet.File
}

func openParquet(f storage.File, name string) (openedFile, error) {
	file, err := parquet.Open(f, f.Size(), name)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return parquetFile{f, file}, nil
}

func (f parquetFile) Has(column string) bool { return f.file.Has(column) }
func (f parquetFile) NumRows() int64         { return f.file.NumRows() }
func (f parquetFile) Close() error           { return f.in.Close() }

func (f parquetFile) Read(columns []fileColumn, batchRows int) (fileReader, error) {
	wanted := make([]parquet.Column, len(columns))
	for i, c := range columns {
		t, err := parquetType(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		wanted[i] = parquet.Column{Name: c.Name, Type: t}
	}
	r, err := f.file.Read(wanted, parquet.ReadOptions{BatchRows: batchRows})
	if err != nil {
		return nil, err // not r: a nil *parquet.Reader would be a fileReader that is not nil
	}
	return r, nil
}

var parquetKinds = map[Kind]parquet.Kind{
	Boolean: parquet.Boolean, TinyInt: parquet.Int8, SmallInt: parquet.Int16, Int: parquet.Int32, BigInt: parquet.Int64,
	Float: parquet.Float, Double: parquet.Double, Char: parquet.String, VarChar: parquet.String,
	Binary: parquet.Binary, VarBinary: parquet.Binary, Decimal: parquet.Decimal, Date: parquet.Date, Time: parquet.Time,
	Timestamp: parquet.Timestamp, TimestampLTZ: parquet.Timestamp, Array: parquet.List, Map: parquet.Map, Row: parquet.Struct,
}

func parquetType(t DataType) (parquet.Type, error) {
	kind, ok := parquetKinds[t.Kind]
	if !ok {
		return parquet.Type{}, fmt.Errorf("type %s can't be read from Parquet", t)
	}
	p := parquet.Type{Kind: kind, Precision: t.Precision, Scale: t.Scale}
	for _, c := range childTypes(t) {
		child, err := parquetType(c)
		if err != nil {
			return parquet.Type{}, err
		}
		p.Children = append(p.Children, child)
	}
	for _, f := range t.Fields {
		p.Names = append(p.Names, f.Name)
	}
	return p, nil
}

// childTypes are the element, the key and value, or the fields of a nested
// type.
func childTypes(t DataType) []DataType {
	switch t.Kind {
	case Array, Multiset, VectorType:
		return []DataType{*t.Element}
	case Map:
		return []DataType{*t.Key, *t.Value}
	case Row:
		return typesOf(t.Fields)
	}
	return nil
}
