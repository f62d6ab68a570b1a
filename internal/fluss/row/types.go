// Package row encodes and decodes what travels inside Fluss requests: rows,
// keys, KV batches and buckets. Everything here is a pure function over bytes:
// no I/O, no knowledge of messages or of the lake.
package row

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the root of a Fluss data type.
type Kind uint8

const (
	Boolean Kind = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Char
	String
	Binary
	Bytes
	Decimal
	Date
	Time
	Timestamp
	TimestampLTZ
	Array
	Map
	Row
)

// DataType is a Fluss data type. Length is used by CHAR and BINARY, Precision
// by DECIMAL, TIME and the timestamps, Scale by DECIMAL, Element by ARRAY, Key
// and Value by MAP, Fields by ROW.
type DataType struct {
	Kind      Kind
	Nullable  bool
	Length    int
	Precision int
	Scale     int
	Element   *DataType
	Key       *DataType
	Value     *DataType
	Fields    []Field
}

// Field is one field of a ROW type.
type Field struct {
	Name        string
	Type        DataType
	Description string
}

// VectorKind says which of a Vector's slices hold its values.
type VectorKind uint8

const (
	// VBool values are in Bools.
	VBool VectorKind = iota + 1
	// VInt32 values are in Int32s: TINYINT, SMALLINT, INT, DATE (days since
	// 1970-01-01), TIME (milliseconds of the day).
	VInt32
	// VInt64 values are in Int64s: BIGINT, DECIMAL of precision up to 18
	// (unscaled), timestamps of precision up to 3 (epoch milliseconds).
	VInt64
	// VFloat32 values are in Float32s.
	VFloat32
	// VFloat64 values are in Float64s.
	VFloat64
	// VBytes values are Data[Offsets[i]:Offsets[i+1]]: strings (UTF-8), binary,
	// and DECIMAL of precision above 18 (big-endian two's complement).
	VBytes
	// VTimestamp values are Int64s (epoch milliseconds, floored) plus Nanos
	// (0 to 999999 within the millisecond): timestamps of precision above 3.
	VTimestamp
	// VList values are Children[0] positions Offsets[i] to Offsets[i+1].
	VList
	// VMap values are entries Offsets[i] to Offsets[i+1] of Children[0] (keys)
	// and Children[1] (values).
	VMap
	// VStruct values are position i of every child.
	VStruct
)

// Vector is one column of values handed to an encoder, in the caller's memory:
// Len values, of which those with Nulls[i] set are null (Nulls is nil when none
// is). Encoders read it and keep nothing of it.
type Vector struct {
	Kind     VectorKind
	Len      int
	Nulls    []bool
	Bools    []bool
	Int32s   []int32
	Int64s   []int64
	Nanos    []int32
	Float32s []float32
	Float64s []float64
	Offsets  []int32 // Len+1 entries
	Data     []byte
	Children []*Vector
}

// Limits of Fluss types.
const (
	maxDecimalPrecision   = 38
	maxTimePrecision      = 9
	maxTimestampPrecision = 9
	// maxInt64Decimal is the widest decimal kept as an int64; wider ones are
	// big-endian two's complement bytes.
	maxInt64Decimal = 18
	// maxMillisTimestamp is the highest timestamp precision stored as
	// milliseconds alone.
	maxMillisTimestamp = 3
	// maxNesting bounds how deep types may nest, so that a hostile type text
	// can't exhaust the stack.
	maxNesting = 64
)

var kindNames = [...]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT",
	Float: "FLOAT", Double: "DOUBLE", Char: "CHAR", String: "STRING", Binary: "BINARY", Bytes: "BYTES",
	Decimal: "DECIMAL", Date: "DATE", Time: "TIME", Timestamp: "TIMESTAMP", TimestampLTZ: "TIMESTAMP_LTZ",
	Array: "ARRAY", Map: "MAP", Row: "ROW",
}

// String returns the root's SQL name, such as "TIMESTAMP_LTZ".
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "unknown type " + strconv.Itoa(int(k))
	}
	return kindNames[k]
}

var vectorKindNames = [...]string{
	VBool: "VBool", VInt32: "VInt32", VInt64: "VInt64", VFloat32: "VFloat32", VFloat64: "VFloat64",
	VBytes: "VBytes", VTimestamp: "VTimestamp", VList: "VList", VMap: "VMap", VStruct: "VStruct",
}

// String returns the constant's name, such as "VInt64".
func (k VectorKind) String() string {
	if k == 0 || int(k) >= len(vectorKindNames) {
		return "unknown vector kind " + strconv.Itoa(int(k))
	}
	return vectorKindNames[k]
}

// VectorKind returns the kind of Vector that carries values of t, 0 when t's
// Kind is unknown.
func (t DataType) VectorKind() VectorKind {
	switch t.Kind {
	case Boolean:
		return VBool
	case TinyInt, SmallInt, Int, Date, Time:
		return VInt32
	case BigInt:
		return VInt64
	case Float:
		return VFloat32
	case Double:
		return VFloat64
	case Char, String, Binary, Bytes:
		return VBytes
	case Decimal:
		if t.Precision <= maxInt64Decimal {
			return VInt64
		}
		return VBytes
	case Timestamp, TimestampLTZ:
		if t.Precision <= maxMillisTimestamp {
			return VInt64
		}
		return VTimestamp
	case Array:
		return VList
	case Map:
		return VMap
	case Row:
		return VStruct
	}
	return 0
}

// String returns the SQL text of t: "DECIMAL(10, 2) NOT NULL", "ARRAY<INT>",
// "ROW<`a` INT, `b` STRING 'a comment'>". ParseType reads it back.
func (t DataType) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t DataType) write(b *strings.Builder) {
	b.WriteString(t.Kind.String())
	switch t.Kind {
	case Char, Binary:
		fmt.Fprintf(b, "(%d)", t.Length)
	case Decimal:
		fmt.Fprintf(b, "(%d, %d)", t.Precision, t.Scale)
	case Time, Timestamp, TimestampLTZ:
		fmt.Fprintf(b, "(%d)", t.Precision)
	case Array:
		b.WriteByte('<')
		t.Element.writeChild(b)
		b.WriteByte('>')
	case Map:
		b.WriteByte('<')
		t.Key.writeChild(b)
		b.WriteString(", ")
		t.Value.writeChild(b)
		b.WriteByte('>')
	case Row:
		b.WriteByte('<')
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("`" + strings.ReplaceAll(f.Name, "`", "``") + "` ")
			f.Type.write(b)
			if f.Description != "" {
				b.WriteString(" '" + strings.ReplaceAll(f.Description, "'", "''") + "'")
			}
		}
		b.WriteByte('>')
	}
	if !t.Nullable {
		b.WriteString(" NOT NULL")
	}
}

// writeChild is write for a part that a hand-made type may lack.
func (t *DataType) writeChild(b *strings.Builder) {
	if t == nil {
		b.WriteByte('?')
		return
	}
	t.write(b)
}

// Validate reports what makes t unusable: an unknown kind, a length, precision
// or scale outside Fluss' limits, a missing part of a nested type, or nesting
// deeper than 64.
func (t DataType) Validate() error { return t.validate(0) }

func (t DataType) validate(depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("fluss: row: type nested deeper than %d levels", maxNesting)
	}
	within := func(what string, v, low, high int) error {
		if v < low || v > high {
			return fmt.Errorf("fluss: row: type %s: %s %d, need %d to %d", t.Kind, what, v, low, high)
		}
		return nil
	}
	part := func(what string, p *DataType) error {
		if p == nil {
			return fmt.Errorf("fluss: row: type %s without %s type", t.Kind, what)
		}
		return p.validate(depth + 1)
	}
	switch t.Kind {
	case Char, Binary:
		return within("length", t.Length, 1, 1<<31-1)
	case Decimal:
		if err := within("precision", t.Precision, 1, maxDecimalPrecision); err != nil {
			return err
		}
		return within("scale", t.Scale, 0, t.Precision)
	case Time:
		return within("precision", t.Precision, 0, maxTimePrecision)
	case Timestamp, TimestampLTZ:
		return within("precision", t.Precision, 0, maxTimestampPrecision)
	case Array:
		return part("element", t.Element)
	case Map:
		if err := part("key", t.Key); err != nil {
			return err
		}
		return part("value", t.Value)
	case Row:
		for _, f := range t.Fields {
			if err := f.Type.validate(depth + 1); err != nil {
				return fmt.Errorf("%w (field %q)", err, f.Name)
			}
		}
		return nil
	}
	if t.VectorKind() == 0 {
		return fmt.Errorf("fluss: row: %s", t.Kind)
	}
	return nil
}
