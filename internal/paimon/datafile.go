package paimon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/avro"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc"
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

// openedFile is an open data file. NumRows is -1 where only reading to the end
// tells.
type openedFile interface {
	Has(column string) bool
	NumRows() int64
	Read(columns []fileColumn, batchRows int) (fileReader, error)
	Close() error
}

// FileFormats are the names of the data-file formats that this package reads,
// sorted, as the option file.format spells them.
func FileFormats() []string { return slices.Sorted(maps.Keys(formats)) }

// formats are the data-file formats this reader has. Opening takes the file
// over and closes it on failure.
var formats = map[string]func(f storage.File, name string) (openedFile, error){
	"avro":    format(avro.Open),
	"parquet": format(parquet.Open),
	"orc":     format(orc.Open),
}

var openLegacyORC = format(orc.OpenLegacy)

// opener opens a file of a format, nil if this reader does not have it. What
// ORC files hold as TIMESTAMP_LTZ is an option of the table.
func (t *Table) opener(format string) func(f storage.File, name string) (openedFile, error) {
	if format == "orc" && t.Schema().optionBool("orc.timestamp-ltz.legacy.type", true) {
		return openLegacyORC
	}
	return formats[format]
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
	open := t.opener(fileFormat(f.Name))
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
	switch opened.NumRows() {
	case f.RowCount:
		return opened, nil
	case unknownRows:
		return rowChecked{opened, file, f.RowCount}, nil
	default:
		_ = opened.Close()
		return nil, wrongRows(file, opened.NumRows(), f.RowCount)
	}
}

// unknownRows is the NumRows of a file of a format that does not say.
const unknownRows = -1

func wrongRows(file string, has, says int64) error {
	return corrupt(file, "it has %d rows, its manifest entry says %d", has, says)
}

// rowChecked makes sure, at the end, that a file has the rows it should have.
type rowChecked struct {
	openedFile
	name string
	says int64
}

func (f rowChecked) Read(columns []fileColumn, batchRows int) (fileReader, error) {
	r, err := f.openedFile.Read(columns, batchRows)
	if err != nil {
		return nil, err
	}
	return &rowCheckedReader{fileReader: r, file: f}, nil
}

type rowCheckedReader struct {
	fileReader
	file rowChecked
	rows int64
}

func (r *rowCheckedReader) Next() ([]*vector.Vector, int, error) {
	columns, n, err := r.fileReader.Next()
	r.rows += int64(n)
	if r.rows > r.file.says || errors.Is(err, io.EOF) && r.rows < r.file.says {
		return nil, 0, wrongRows(r.file.name, r.rows, r.file.says)
	}
	return columns, n, err
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

// decoder is an open file of a format's own package, which knows columns and
// types and nothing of tables.
type decoder[R fileReader] interface {
	Has(column string) bool
	NumRows() int64
	Read(columns []vector.Column, opt vector.ReadOptions) (R, error)
}

// format makes a format of its package's Open.
func format[D decoder[R], R fileReader](open func(in io.ReaderAt, size int64, name string) (D, error)) func(storage.File, string) (openedFile, error) {
	return func(f storage.File, name string) (openedFile, error) {
		file, err := open(f, f.Size(), name)
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		return decodedFile[R]{file, f}, nil
	}
}

type decodedFile[R fileReader] struct {
	decoder[R]
	in io.Closer
}

func (f decodedFile[R]) Close() error { return f.in.Close() }

func (f decodedFile[R]) Read(columns []fileColumn, batchRows int) (fileReader, error) {
	wanted := make([]vector.Column, len(columns))
	for i, c := range columns {
		t, err := logicalType(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		wanted[i] = vector.Column{Name: c.Name, Type: t}
	}
	r, err := f.decoder.Read(wanted, vector.ReadOptions{BatchRows: batchRows})
	if err != nil {
		return nil, err // not r: a nil pointer would be a fileReader that is not nil
	}
	return r, nil
}

var logicals = map[Kind]vector.Logical{
	Boolean: vector.LogicalBoolean, TinyInt: vector.LogicalInt8, SmallInt: vector.LogicalInt16, Int: vector.LogicalInt32, BigInt: vector.LogicalInt64,
	Float: vector.LogicalFloat, Double: vector.LogicalDouble, Char: vector.LogicalString, VarChar: vector.LogicalString,
	Binary: vector.LogicalBinary, VarBinary: vector.LogicalBinary, Decimal: vector.LogicalDecimal, Date: vector.LogicalDate, Time: vector.LogicalTime,
	Timestamp: vector.LogicalTimestamp, TimestampLTZ: vector.LogicalTimestamp, Array: vector.LogicalList, Map: vector.LogicalMap, Row: vector.LogicalStruct,
}

// logicalType is t as the packages of the formats know types.
func logicalType(t DataType) (vector.Type, error) {
	kind, ok := logicals[t.Kind]
	if !ok {
		return vector.Type{}, fmt.Errorf("type %s can't be read from data files", t)
	}
	l := vector.Type{Kind: kind, Precision: t.Precision, Scale: t.Scale}
	for _, c := range childTypes(t) {
		child, err := logicalType(c)
		if err != nil {
			return vector.Type{}, err
		}
		l.Children = append(l.Children, child)
	}
	for _, f := range t.Fields {
		l.Names = append(l.Names, f.Name)
	}
	return l, nil
}

// beyondAvro says that Avro files can't hold the type itself (its parts are not
// looked at): Paimon writes none of TIMESTAMP above precision 6 and TIME above
// 3. Highest is the precision that goes.
func beyondAvro(t DataType) (highest int, beyond bool) {
	switch t.Kind {
	case Timestamp, TimestampLTZ:
		highest = 6
	case Time:
		highest = 3
	default:
		return 0, false
	}
	return highest, t.Precision > highest
}

// findType gives the first of a type and all its parts that is sought.
func findType(t DataType, sought func(DataType) bool) (DataType, bool) {
	if sought(t) {
		return t, true
	}
	for _, c := range childTypes(t) {
		if found, ok := findType(c, sought); ok {
			return found, true
		}
	}
	return DataType{}, false
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
