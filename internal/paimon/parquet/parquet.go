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

// Kind is the root of a wanted type.
type Kind uint8

// The kinds and the vector kind each is read into.
const (
	Boolean   Kind = iota + 1 // vector.Bool
	Int8                      // vector.Int32
	Int16                     // vector.Int32
	Int32                     // vector.Int32
	Int64                     // vector.Int64
	Float                     // vector.Float32
	Double                    // vector.Float64
	String                    // vector.Bytes
	Binary                    // vector.Bytes
	Decimal                   // vector.Int64 up to precision 18, vector.Bytes above
	Date                      // vector.Int32, days since 1970-01-01
	Time                      // vector.Int32, milliseconds of the day
	Timestamp                 // vector.Int64 (milliseconds) up to precision 3, vector.Timestamp above
	List                      // vector.List; Children[0] is the element
	Map                       // vector.Map; Children[0] is the key, Children[1] the value
	Struct                    // vector.Struct; one child a name
)

var kindNames = [...]string{"", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "STRING", "BINARY",
	"DECIMAL", "DATE", "TIME", "TIMESTAMP", "LIST", "MAP", "STRUCT"}

func (k Kind) String() string {
	if int(k) < len(kindNames) && k != 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("KIND(%d)", uint8(k))
}

// Type is a wanted type. Precision is used by Decimal (1 to 38), Time and
// Timestamp (0 to 9), Scale by Decimal, Children by List (1), Map (2) and
// Struct (one a name), Names by Struct.
type Type struct {
	Kind      Kind
	Precision int
	Scale     int
	Children  []Type
	Names     []string
}

func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Timestamp:
		return fmt.Sprintf("TIMESTAMP(%d)", t.Precision)
	default:
		return t.Kind.String()
	}
}

// validate checks the caller's side: a wrong Type is a programming error and
// must not surface as a complaint about the file.
func (t Type) validate(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("wanted type is nested deeper than %d levels", maxDepth)
	}
	children := 0
	switch t.Kind {
	case Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return fmt.Errorf("wanted type %s: precision must be 1 to 38 and scale 0 to precision", t)
		}
	case Timestamp, Time:
		if t.Precision < 0 || t.Precision > 9 {
			return fmt.Errorf("wanted type %s: precision must be 0 to 9", t)
		}
	case List:
		children = 1
	case Map:
		children = 2
	case Struct:
		children = len(t.Names)
	default:
		if t.Kind < Boolean || t.Kind > Struct {
			return fmt.Errorf("wanted type has the unknown kind %d", t.Kind)
		}
	}
	if len(t.Children) != children {
		return fmt.Errorf("wanted type %s has %d child types, required %d", t, len(t.Children), children)
	}
	for _, c := range t.Children {
		if err := c.validate(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

// Column is a wanted column: the name of a top-level field of the file, and
// the type to read it as.
type Column struct {
	Name string
	Type Type
}

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

func (f *File) missing(column string) error {
	names := f.Columns()
	const shown = 20
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	return fmt.Errorf("column %q is not in the file; it has %s%s", column, strings.Join(names, ", "), more)
}

// contain turns a caught panic into a plain statement about the file: every
// slice here is bounds-checked by Go, so what panics is input no check foresaw.
func contain(err error) error {
	var p *safego.PanicError
	if errors.As(err, &p) {
		return fmt.Errorf("%w: unforeseen content: %w", ErrCorrupt, err)
	}
	return err
}

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

// errShort says that the bytes of a page, of levels or of values end before
// what they should hold.
var errShort = corruptf("the page's contents end too early: %w", io.ErrUnexpectedEOF)

func unsupportedf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnsupported, fmt.Errorf(format, args...))
}

// ReadOptions tune File.Read.
type ReadOptions struct {
	// BatchRows is the most rows Next returns at once; 0 means 4096. Next
	// returns fewer when the rows are large (it aims at 32 MiB a column).
	BatchRows int
}

const defaultBatchRows = 4096

// Read starts reading the columns, in the order given. A column the file does
// not have is an error (ask Has); a missing field of a Struct is all null.
func (f *File) Read(columns []Column, opt ReadOptions) (*Reader, error) {
	if opt.BatchRows < 0 {
		return nil, f.errorf(fmt.Errorf("BatchRows is %d, required at least 1, or 0 for the default", opt.BatchRows))
	}
	if opt.BatchRows == 0 {
		opt.BatchRows = defaultBatchRows
	}
	r := &Reader{file: f, wanted: slices.Clone(columns), batchRows: opt.BatchRows}
	err := safego.Do(r.bind)
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
