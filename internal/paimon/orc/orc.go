// Package orc reads chosen columns of one ORC file into column vectors (package
// vector), adapting the file's types to the logical types the caller asks for.
// It knows nothing of Paimon tables.
//
// It is our own because no established Go module reads ORC column by column:
// those there are hand out boxed rows. It reads the files of ORC's Java and C++
// writers of file versions 0.11 and 0.12, by stripes, in bounded memory: of
// each stream in use a window of the file and one decompressed chunk, of a
// string column the stripe's dictionary. Indexes, bloom filters and statistics
// are never read.
//
// Limits, besides those of 32-bit offsets: metadata of 64 MiB and dictionaries
// of 512 MiB decompressed, chunks of 8 MiB, 65536 columns, types nested 64
// deep, 2^26 elements in a batch. The number of rows has no limit: a few bytes
// can stand for very many.
//
// Format: https://orc.apache.org/specification/ORCv1/.
package orc

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc/orcpb"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// ErrCorrupt is matched by errors about a file whose bytes break the format:
// damaged, cut short, or not ORC.
var ErrCorrupt = errors.New("corrupt ORC file")

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

// The kinds of wanted types. TIME is an INT in the file.
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

// File is an opened ORC file: its decoded tail. It holds no other resource, is
// safe for concurrent use, and may be read any number of times.
type File struct {
	in      io.ReaderAt
	size    int64
	name    string
	codec   codec
	block   int // most bytes of a decompressed chunk
	footer  *orcpb.Footer
	root    *node
	columns int // nodes of the schema
	rows    int64

	clockInstants bool
}

// Open reads and checks the tail of the ORC file of size bytes in f. The name
// is used in error messages only. Stripes are not touched: a damaged one is
// reported by Reader.Next.
//
// A TIMESTAMP column is read as the writer's local time, which its stripes name
// the zone of (UTC if they do not), a TIMESTAMP_INSTANT column as UTC.
func Open(f io.ReaderAt, size int64, name string) (*File, error) {
	return open(f, size, name, false)
}

// OpenLegacy is Open for files of Paimon tables with
// orc.timestamp-ltz.legacy.type=true: their instants hold what the clocks show
// in UTC as if they had shown it in the writer's zone. The difference is that
// of the zone to UTC.
func OpenLegacy(f io.ReaderAt, size int64, name string) (*File, error) {
	return open(f, size, name, true)
}

func open(f io.ReaderAt, size int64, name string, clockInstants bool) (*File, error) {
	file := &File{in: f, size: size, name: name, clockInstants: clockInstants}
	err := safego.Do(func() error {
		if err := file.readTail(); err != nil {
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
func (f *File) NumRows() int64 { return f.rows }

// Has reports whether the file has a top-level column of that name.
func (f *File) Has(column string) bool { return f.root.child(column) != nil }

// Columns lists the file's top-level columns in file order.
func (f *File) Columns() []string { return slices.Clone(f.root.names) }

func (f *File) errorf(err error) error {
	return fmt.Errorf("paimon: reading ORC file %q: %w", f.name, err)
}

func (f *File) missing(column string) error { return vector.NoColumn(column, f.Columns()) }

// contain says of a caught panic that the file is damaged.
func contain(err error) error { return safego.BlameInput(err, ErrCorrupt) }

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

func unsupportedf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnsupported, fmt.Errorf(format, args...))
}

// unpacked is how many times as many bytes as the file has its columns may be,
// for the size of the first batch; a file does not say.
const unpacked = 4

// Read starts reading the columns, in the order given. A column the file does
// not have is an error (ask Has); a missing field of a Struct is all null. Batches
// are cut to about vector.BatchBytes.
func (f *File) Read(columns []Column, opt ReadOptions) (*Reader, error) {
	batchRows, err := opt.Rows()
	if err != nil {
		return nil, f.errorf(err)
	}
	r := &Reader{file: f, batchRows: batchRows, rows: vector.RowsThatFit(batchRows, unpacked*f.size, f.rows)}
	if err := safego.Do(func() error { return r.bind(columns) }); err != nil {
		return nil, f.errorf(contain(err))
	}
	return r, nil
}
