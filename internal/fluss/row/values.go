package row

import (
	"fmt"
	"math/big"
)

// DecimalValue is a DECIMAL as a Go value: Unscaled × 10^-Scale.
type DecimalValue struct {
	Unscaled *big.Int
	Scale    int
}

// DateValue is a DATE as a Go value: days since 1970-01-01.
type DateValue int32

// TimeValue is a TIME as a Go value: milliseconds of the day.
type TimeValue int32

// TimestampValue is a TIMESTAMP or TIMESTAMP_LTZ as a Go value: milliseconds
// since 1970-01-01 00:00:00 (UTC for TIMESTAMP_LTZ), floored, and nanoseconds
// within that millisecond, 0 to 999999.
type TimestampValue struct {
	Millis int64
	Nanos  int32
}

// MapValue is a MAP as a Go value, in the order of its entries.
type MapValue []MapEntry

// MapEntry is one entry of a MapValue.
type MapEntry struct{ Key, Value any }

// FromValues makes the vectors of some rows of Go values, one vector a column,
// for Encoder.Bind and KeyEncoder.Bind. A nil is null; the other values are, by
// type: bool, int8 (TINYINT), int16, int32, int64, float32, float64, string
// (CHAR, STRING), []byte (BINARY, BYTES), DecimalValue, DateValue, TimeValue,
// TimestampValue, []any (ARRAY, and ROW with one value a field), MapValue. The
// error names the column, what was found and what is needed.
func FromValues(types []DataType, rows [][]any) ([]*Vector, error) {
	return fromValues("column", types, rows)
}

func fromValues(what string, types []DataType, rows [][]any) ([]*Vector, error) {
	for i, r := range rows {
		if len(r) != len(types) {
			return nil, fmt.Errorf("fluss: row: %d values in row %d, need one for each of %d %ss", len(r), i, len(types), what)
		}
	}
	cols := make([]*Vector, len(types))
	column := make([]any, len(rows))
	for i, t := range types {
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("%w (%s %d)", err, what, i)
		}
		for k, r := range rows {
			column[k] = r[i]
		}
		var err error
		if cols[i], err = vectorOf(t, column); err != nil {
			return nil, fmt.Errorf("fluss: row: %s %d (%s): %w", what, i, t, err)
		}
	}
	return cols, nil
}

// unboundCopy returns a root for the same columns without vectors.
func (n *node) unboundCopy() *node {
	c := &node{op: opStruct, children: make([]node, len(n.children))}
	for i := range n.children {
		c.children[i].init(n.children[i].typ)
	}
	c.setRoom()
	return c
}

// bindValues binds a root to one row of Go values.
func (n *node) bindValues(what string, values []any) error {
	types := make([]DataType, len(n.children))
	for i := range types {
		types[i] = n.children[i].typ
	}
	cols, err := fromValues(what, types, [][]any{values})
	if err != nil {
		return err
	}
	return n.bindRow(what, cols)
}

// as returns v as a T, or an error that says what it is instead.
func as[T any](v any) (T, error) {
	x, ok := v.(T)
	if !ok {
		return x, fmt.Errorf("found a value of Go type %T, need %T", v, x)
	}
	return x, nil
}

// fill converts every value that is not null to a T and hands it to set. set is
// called for nulls too, with the zero T, so that vectors keep their positions.
func fill[T any](values []any, set func(T) error) error {
	for _, v := range values {
		var x T
		var err error
		if v != nil {
			if x, err = as[T](v); err != nil {
				return err
			}
		}
		if err = set(x); err != nil {
			return err
		}
	}
	return nil
}

func vectorOf(t DataType, values []any) (*Vector, error) {
	v := &Vector{Kind: t.VectorKind(), Len: len(values)}
	for i, x := range values {
		if x == nil {
			if v.Nulls == nil {
				v.Nulls = make([]bool, len(values))
			}
			v.Nulls[i] = true
		}
	}
	int32s := func(x int32) error { v.Int32s = append(v.Int32s, x); return nil }
	data := func(x []byte) error {
		v.Data = append(v.Data, x...)
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
		return nil
	}
	if v.Kind == VBytes || v.Kind == VList || v.Kind == VMap {
		v.Offsets = []int32{0}
	}
	var err error
	switch t.Kind {
	case Boolean:
		err = fill(values, func(x bool) error { v.Bools = append(v.Bools, x); return nil })
	case TinyInt:
		err = fill(values, func(x int8) error { return int32s(int32(x)) })
	case SmallInt:
		err = fill(values, func(x int16) error { return int32s(int32(x)) })
	case Int:
		err = fill(values, int32s)
	case Date:
		err = fill(values, func(x DateValue) error { return int32s(int32(x)) })
	case Time:
		err = fill(values, func(x TimeValue) error { return int32s(int32(x)) })
	case BigInt:
		err = fill(values, func(x int64) error { v.Int64s = append(v.Int64s, x); return nil })
	case Float:
		err = fill(values, func(x float32) error { v.Float32s = append(v.Float32s, x); return nil })
	case Double:
		err = fill(values, func(x float64) error { v.Float64s = append(v.Float64s, x); return nil })
	case Char, String:
		err = fill(values, func(x string) error { return data([]byte(x)) })
	case Binary, Bytes:
		err = fill(values, data)
	case Decimal:
		err = decimals(t, v, values, data)
	case Timestamp, TimestampLTZ:
		err = timestamps(t, v, values)
	case Array:
		err = arrays(t, v, values)
	case Map:
		err = maps(t, v, values)
	case Row:
		err = structs(t, v, values)
	}
	return v, err
}

func decimals(t DataType, v *Vector, values []any, data func([]byte) error) error {
	return fill(values, func(x DecimalValue) error {
		if x.Unscaled == nil {
			x = DecimalValue{Unscaled: new(big.Int), Scale: t.Scale} // the place of a null
		}
		if x.Scale != t.Scale {
			return fmt.Errorf("found a decimal of scale %d, need %d", x.Scale, t.Scale)
		}
		if x.Unscaled.CmpAbs(tenTo(t.Precision)) >= 0 {
			return fmt.Errorf("found unscaled value %s, need at most %d digits", x.Unscaled, t.Precision)
		}
		if v.Kind == VBytes {
			return data(twosComplement(x.Unscaled))
		}
		v.Int64s = append(v.Int64s, x.Unscaled.Int64())
		return nil
	})
}

func timestamps(t DataType, v *Vector, values []any) error {
	return fill(values, func(x TimestampValue) error {
		if x.Nanos != 0 && v.Kind == VInt64 {
			return fmt.Errorf("found %d nanoseconds within the millisecond, need 0 at precision %d", x.Nanos, t.Precision)
		}
		v.Int64s = append(v.Int64s, x.Millis)
		v.Nanos = append(v.Nanos, x.Nanos)
		return nil
	})
}

func arrays(t DataType, v *Vector, values []any) error {
	var elements []any
	err := fill(values, func(x []any) error {
		elements = append(elements, x...)
		v.Offsets = append(v.Offsets, int32(len(elements)))
		return nil
	})
	if err != nil {
		return err
	}
	return child(v, "element", *t.Element, elements)
}

func maps(t DataType, v *Vector, values []any) error {
	var keys, entries []any
	err := fill(values, func(x MapValue) error {
		for _, e := range x {
			keys, entries = append(keys, e.Key), append(entries, e.Value)
		}
		v.Offsets = append(v.Offsets, int32(len(keys)))
		return nil
	})
	if err != nil {
		return err
	}
	if err := child(v, "key", *t.Key, keys); err != nil {
		return err
	}
	return child(v, "value", *t.Value, entries)
}

func structs(t DataType, v *Vector, values []any) error {
	fields := make([][]any, len(t.Fields))
	at := 0
	err := fill(values, func(x []any) error {
		null := values[at] == nil
		at++
		if !null && len(x) != len(fields) {
			return fmt.Errorf("found %d values in a row, need one for each of %d fields", len(x), len(fields))
		}
		for i := range fields {
			if null {
				fields[i] = append(fields[i], nil)
			} else {
				fields[i] = append(fields[i], x[i])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, f := range t.Fields {
		if err := child(v, fmt.Sprintf("field %q", f.Name), f.Type, fields[i]); err != nil {
			return err
		}
	}
	return nil
}

func child(v *Vector, part string, t DataType, values []any) error {
	c, err := vectorOf(t, values)
	if err != nil {
		return fmt.Errorf("%s (%s): %w", part, t, err)
	}
	v.Children = append(v.Children, c)
	return nil
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// twosComplement returns x in big-endian two's complement of least width.
func twosComplement(x *big.Int) []byte {
	size := x.BitLen()/8 + 1 // one bit more than the magnitude, for the sign
	b := make([]byte, size)
	if x.Sign() >= 0 {
		x.FillBytes(b)
	} else {
		new(big.Int).Add(x, new(big.Int).Lsh(big.NewInt(1), uint(8*size))).FillBytes(b)
	}
	return leastWidth(b)
}

// fromTwosComplement is the reverse of twosComplement, for any width.
func fromTwosComplement(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}
