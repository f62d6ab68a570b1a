// Package avro reads chosen columns of one Avro object container file into
// column vectors (package vector), adapting the writer's types to the logical
// types the caller asks for. It knows nothing of Paimon tables.
//
// The writer's schema is parsed by hamba/avro. It is compiled once into a tree
// of decoders that append to the vectors, without a value of Go's interface
// types in between; what is not asked for is skipped. Container serves readers
// of metadata too: it walks the file's blocks with every size checked before
// memory is taken.
//
// Format: https://avro.apache.org/docs/1.11.1/specification/
package avro

import (
	"errors"
	"fmt"
	"io"
	"slices"

	lib "github.com/hamba/avro/v2"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// ErrCorrupt is matched by errors about a file whose bytes break the format:
// damaged, cut short, or not Avro.
var ErrCorrupt = errors.New("corrupt Avro file")

// ErrUnsupported is matched by errors about a valid file this package can't
// read as asked: an unknown codec, a recursive schema, or a column whose type
// can't be adapted to the one wanted.
var ErrUnsupported = errors.New("not supported")

// File is an opened Avro file: its decoded header. It holds no other resource,
// is safe for concurrent use, and may be read any number of times.
type File struct {
	*Container
	name   string
	fields map[string]lib.Schema
}

// Open reads and checks the header of the Avro file of size bytes in f. The
// name is used in error messages only. Blocks are not touched: a damaged one is
// reported by Reader.Next.
func Open(f io.ReaderAt, size int64, name string) (*File, error) {
	file := &File{name: name, fields: map[string]lib.Schema{}}
	err := safego.Do(func() (err error) {
		file.Container, err = OpenContainer(f, size)
		return err
	})
	if err != nil {
		return nil, file.errorf(contain(err))
	}
	for _, c := range file.Schema.Fields() {
		file.fields[c.Name()] = c.Type()
	}
	return file, nil
}

// NumRows is -1: an Avro file tells how many rows it has at its end only. A
// file that lost whole blocks at its end is a valid file of fewer rows, so the
// caller has to know how many there should be.
func (f *File) NumRows() int64 { return -1 }

// Has reports whether the file has a top-level column of that name.
func (f *File) Has(column string) bool { return f.fields[column] != nil }

// Columns lists the file's top-level columns in file order.
func (f *File) Columns() []string {
	names := make([]string, len(f.Schema.Fields()))
	for i, c := range f.Schema.Fields() {
		names[i] = c.Name()
	}
	return names
}

// Read starts reading the columns, in the order given. A column the file does
// not have is an error (ask Has); a missing field of a struct is all null.
// Batches are cut to about 64 MiB.
func (f *File) Read(columns []vector.Column, opt vector.ReadOptions) (*Reader, error) {
	batchRows, err := opt.Rows()
	if err != nil {
		return nil, f.errorf(err)
	}
	r := &Reader{file: f, batchRows: batchRows, blocks: f.Blocks(maxBlock)}
	if err := safego.Do(func() error { return r.bind(slices.Clone(columns)) }); err != nil {
		return nil, f.errorf(contain(err))
	}
	return r, nil
}

func (f *File) errorf(err error) error {
	return fmt.Errorf("paimon: reading Avro file %q: %w", f.name, err)
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
