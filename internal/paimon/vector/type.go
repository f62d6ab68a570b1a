package vector

import (
	"fmt"
	"strings"
)

// Logical is the root of a wanted type: what the values of a column mean,
// whatever the file's format.
type Logical uint8

// The logical types and the kind of vector each is read into.
const (
	LogicalBoolean   Logical = iota + 1 // Bool
	LogicalInt8                         // Int32
	LogicalInt16                        // Int32
	LogicalInt32                        // Int32
	LogicalInt64                        // Int64
	LogicalFloat                        // Float32
	LogicalDouble                       // Float64
	LogicalString                       // Bytes
	LogicalBinary                       // Bytes
	LogicalDecimal                      // Int64 up to precision 18, Bytes above
	LogicalDate                         // Int32, days since 1970-01-01
	LogicalTime                         // Int32, milliseconds of the day
	LogicalTimestamp                    // Int64 (milliseconds) up to precision 3, Timestamp above
	LogicalList                         // List; Children[0] is the element
	LogicalMap                          // Map; Children[0] is the key, Children[1] the value
	LogicalStruct                       // Struct; one child a name
)

var logicalNames = [...]string{"", "BOOLEAN", "INT8", "INT16", "INT32", "INT64", "FLOAT", "DOUBLE", "STRING", "BINARY",
	"DECIMAL", "DATE", "TIME", "TIMESTAMP", "LIST", "MAP", "STRUCT"}

func (l Logical) String() string {
	if int(l) < len(logicalNames) && l != 0 {
		return logicalNames[l]
	}
	return fmt.Sprintf("KIND(%d)", uint8(l))
}

// Type is a wanted type. Precision is used by decimals (1 to 38), times and
// timestamps (0 to 9), Scale by decimals, Children by lists (1), maps (2) and
// structs (one a name), Names by structs.
type Type struct {
	Kind      Logical
	Precision int
	Scale     int
	Children  []Type
	Names     []string
}

// maxTypeDepth bounds the nesting of a wanted type.
const maxTypeDepth = 64

// LongDecimal is the precision above which a decimal does not fit an int64.
const LongDecimal = 18

func (t Type) String() string {
	switch t.Kind {
	case LogicalDecimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case LogicalTime, LogicalTimestamp:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Precision)
	default:
		return t.Kind.String()
	}
}

// Vector is the kind of vector that the type is read into.
func (t Type) Vector() Kind {
	switch t.Kind {
	case LogicalBoolean:
		return Bool
	case LogicalInt8, LogicalInt16, LogicalInt32, LogicalDate, LogicalTime:
		return Int32
	case LogicalInt64:
		return Int64
	case LogicalFloat:
		return Float32
	case LogicalDouble:
		return Float64
	case LogicalDecimal:
		if t.Precision > LongDecimal {
			return Bytes
		}
		return Int64
	case LogicalTimestamp:
		if t.Precision > 3 {
			return Timestamp
		}
		return Int64
	case LogicalList:
		return List
	case LogicalMap:
		return Map
	case LogicalStruct:
		return Struct
	default: // strings, binaries
		return Bytes
	}
}

// Validate checks the caller's side: a wrong Type is a programming error and
// must not surface as a complaint about the file.
func (t Type) Validate() error { return t.validate(0) }

func (t Type) validate(depth int) error {
	if depth > maxTypeDepth {
		return fmt.Errorf("wanted type is nested deeper than %d levels", maxTypeDepth)
	}
	children := 0
	switch t.Kind {
	case LogicalDecimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return fmt.Errorf("wanted type %s: precision must be 1 to 38 and scale 0 to precision", t)
		}
	case LogicalTimestamp, LogicalTime:
		if t.Precision < 0 || t.Precision > 9 {
			return fmt.Errorf("wanted type %s: precision must be 0 to 9", t)
		}
	case LogicalList:
		children = 1
	case LogicalMap:
		children = 2
	case LogicalStruct:
		children = len(t.Names)
	default:
		if t.Kind < LogicalBoolean || t.Kind > LogicalStruct {
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

// ReadOptions tune the reading of a file.
type ReadOptions struct {
	// BatchRows is the most rows a batch has; 0 means DefaultBatchRows. Batches
	// are smaller when the rows are large.
	BatchRows int
}

// DefaultBatchRows is used where ReadOptions says nothing.
const DefaultBatchRows = 4096

// BatchBytes is about how many bytes the columns of a batch hold together.
// Readers lower the rows of a batch to keep to it, seen from the sizes that the
// file tells and from the batch before.
const BatchBytes = 8 << 20

// RowsThatFit lowers rows, of which so many as given hold size bytes, to what
// keeps to BatchBytes, but not below 1.
func RowsThatFit(rows int, size, given int64) int {
	if size <= 0 || given <= 0 {
		return rows
	}
	return max(1, int(min(float64(rows), BatchBytes*float64(given)/float64(size)))) // a product of integers could overflow
}

// Rows is BatchRows or its default.
func (o ReadOptions) Rows() (int, error) {
	switch {
	case o.BatchRows < 0:
		return 0, fmt.Errorf("BatchRows is %d, required at least 1, or 0 for the default", o.BatchRows)
	case o.BatchRows == 0:
		return DefaultBatchRows, nil
	}
	return o.BatchRows, nil
}

// SetNull makes v n nulls of type t, of its memory where it has the room. A
// vector that this made once must hold nothing else later: slots that were
// never written are not looked at again.
func (v *Vector) SetNull(t Type, n int) {
	v.Kind, v.Len = t.Vector(), n
	old := len(v.Nulls)
	v.Nulls = grow(v.Nulls, n)
	for i := min(old, n); i < n; i++ {
		v.Nulls[i] = true
	}
	below := 0
	switch v.Kind {
	case Bool:
		v.Bools = grow(v.Bools, n)
	case Int32:
		v.Int32s = grow(v.Int32s, n)
	case Int64:
		v.Int64s = grow(v.Int64s, n)
	case Float32:
		v.Float32s = grow(v.Float32s, n)
	case Float64:
		v.Float64s = grow(v.Float64s, n)
	case Timestamp:
		v.Int64s, v.Nanos = grow(v.Int64s, n), grow(v.Nanos, n)
	case Bytes, List, Map:
		v.Offsets = grow(v.Offsets, n+1) // zero: never written otherwise
	case Struct:
		below = n
	}
	if v.Children == nil {
		for range t.Children {
			v.Children = append(v.Children, new(Vector))
		}
	}
	for i, c := range v.Children {
		c.SetNull(t.Children[i], below)
	}
}

// grow returns s with n elements, keeping those it has. New ones are zero or
// what was there.
func grow[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	t := make([]T, n, n+n/4)
	copy(t, s)
	return t
}

// NoColumn is the error about a column that a file does not have, with some of
// those it has.
func NoColumn(column string, names []string) error {
	const shown = 20
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	return fmt.Errorf("column %q is not in the file; it has %s%s", column, strings.Join(names, ", "), more)
}
