// Package parquet reads chosen columns of one Parquet file into column vectors
// (package vector), adapting the file's physical types to the logical types the
// caller asks for. It knows nothing of Paimon tables.
//
// The file's metadata structures and their Thrift encoding, and the unpacking
// of bit-packed integers, come from parquet-go. The page loop is this
// package's own, for what a loader of foreign files needs and parquet-go's page
// reader does not promise: memory in proportion to what a file really holds
// (one page a column plus the batch, every size checked before memory is
// taken), an error where a page holds fewer values than it says, values decoded
// straight into the vectors, and the codec taken from each column chunk.
//
// Format: https://github.com/apache/parquet-format (Encodings.md,
// Compression.md, LogicalTypes.md).
package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
	"github.com/parquet-go/parquet-go/format"
)

// ErrCorrupt is matched by errors about a file whose bytes break the format:
// damaged, cut short, or not Parquet.
var ErrCorrupt = errors.New("corrupt Parquet file")

// ErrUnsupported is matched by errors about a valid file this package can't
// read as asked: an unknown codec or encoding, encryption, or a column whose
// type can't be adapted to the one wanted.
var ErrUnsupported = errors.New("not supported")

// The wanted types are those of package vector.
type (
	Kind        = vector.Logical
	Type        = vector.Type
	Column      = vector.Column
	ReadOptions = vector.ReadOptions
)

// The kinds of wanted types.
const (
	Boolean   = vector.LogicalBoolean
	Int8      = vector.LogicalInt8
	Int16     = vector.LogicalInt16
	Int32     = vector.LogicalInt32
	Int64     = vector.LogicalInt64
	Float     = vector.LogicalFloat
	Double    = vector.LogicalDouble
	String    = vector.LogicalString
	Binary    = vector.LogicalBinary
	Decimal   = vector.LogicalDecimal
	Date      = vector.LogicalDate
	Time      = vector.LogicalTime
	Timestamp = vector.LogicalTimestamp
	List      = vector.LogicalList
	Map       = vector.LogicalMap
	Struct    = vector.LogicalStruct
)

// File is an opened Parquet file: its decoded footer. It holds no other
// resource, is safe for concurrent use, and may be read any number of times.
type File struct {
	in     io.ReaderAt
	size   int64
	name   string
	meta   *format.FileMetaData
	root   *node
	leaves []*node
	bytes  []int64 // uncompressed bytes of each leaf, over all row groups
}

// Open reads and checks the footer of the Parquet file of size bytes in f. The
// name is used in error messages only. Pages are not touched: a damaged page is
// reported by Reader.Next.
func Open(f io.ReaderAt, size int64, name string) (*File, error) {
	file := &File{in: f, size: size, name: name}
	err := safego.Do(func() error {
		if err := file.readFooter(); err != nil {
			return err
		}
		return file.buildSchema()
	})
	if err != nil {
		return nil, file.errorf(contain(err))
	}
	return file, nil
}

// NumRows is the number of rows of the file.
func (f *File) NumRows() int64 { return f.meta.NumRows }

// Has reports whether the file has a top-level column of that name.
func (f *File) Has(column string) bool { return f.root.child(column) != nil }

// Columns lists the file's top-level columns in file order.
func (f *File) Columns() []string {
	names := make([]string, len(f.root.children))
	for i, c := range f.root.children {
		names[i] = c.name
	}
	return names
}

func (f *File) errorf(err error) error {
	return fmt.Errorf("paimon: reading Parquet file %q: %w", f.name, err)
}

func (f *File) missing(column string) error { return vector.NoColumn(column, f.Columns()) }

// contain says of a caught panic that the file is damaged.
func contain(err error) error { return safego.BlameInput(err, ErrCorrupt) }

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

// errShort says that the bytes of a page, of levels or of values end before
// what they should hold.
var errShort = corruptf("the page's contents end too early: %w", io.ErrUnexpectedEOF)

func unsupportedf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnsupported, fmt.Errorf(format, args...))
}

// Read starts reading the columns, in the order given. A column the file does
// not have is an error (ask Has); a missing field of a Struct is all null. Batches
// are cut to about vector.BatchBytes.
func (f *File) Read(columns []Column, opt ReadOptions) (*Reader, error) {
	batchRows, err := opt.Rows()
	if err != nil {
		return nil, f.errorf(err)
	}
	r := &Reader{file: f, wanted: slices.Clone(columns), batchRows: batchRows}
	err = safego.Do(r.bind)
	if err != nil {
		return nil, f.errorf(contain(err))
	}
	return r, nil
}

// typeNames lists an enumeration's names for messages about what is accepted.
func typeNames[T fmt.Stringer](values ...T) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.String()
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
