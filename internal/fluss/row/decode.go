package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
)

// Decode reads a COMPACTED row of the given columns into Go values (see
// FromValues), nil for null. It refuses bytes that no row of these columns has,
// with an error that names the column; memory use is bounded by a multiple of
// data's length.
func Decode(types []DataType, data []byte) ([]any, error) {
	if err := validateAll(types); err != nil {
		return nil, err
	}
	d := decoder{data}
	values, err := d.row(len(types),
		func(i int) DataType { return types[i] },
		func(i int) string { return fmt.Sprintf("column %d", i) })
	if err == nil && len(d.rest) > 0 {
		err = fmt.Errorf("%d bytes behind the last column", len(d.rest))
	}
	if err != nil {
		return nil, fmt.Errorf("fluss: row: decoding %d bytes: %w", len(data), err)
	}
	return values, nil
}

// DecodeKey reads key bytes as KeyEncoder writes them into Go values.
func DecodeKey(f KeyFormat, types []DataType, data []byte) ([]any, error) {
	types, err := keyTypes(f, types)
	if err != nil {
		return nil, err
	}
	if err := validateAll(types); err != nil {
		return nil, err
	}
	values := make([]any, len(types))
	if f == KeyPaimon {
		err = decodeBinaryRow(types, data, values)
	} else {
		d := decoder{data}
		for i, t := range types {
			if values[i], err = d.value(t); err != nil {
				err = fmt.Errorf("column %d (%s): %w", i, t, err)
				break
			}
		}
		if err == nil && len(d.rest) > 0 {
			err = fmt.Errorf("%d bytes behind the last column", len(d.rest))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fluss: row: decoding a %s key of %d bytes: %w", f, len(data), err)
	}
	return values, nil
}

func validateAll(types []DataType) error {
	for i, t := range types {
		if err := t.Validate(); err != nil {
			return fmt.Errorf("%w (column %d)", err, i)
		}
	}
	return nil
}

// decoder takes values off the front of rest.
type decoder struct{ rest []byte }

func (d *decoder) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.rest) {
		return nil, fmt.Errorf("found %d bytes, need %d", len(d.rest), n)
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b, nil
}

// varint reads an unsigned LEB128 number of at most size bytes and bits bits.
func (d *decoder) varint(size, bits int) (uint64, error) {
	u, n := binary.Uvarint(d.rest)
	switch {
	case n == 0:
		return 0, fmt.Errorf("found %d bytes, need a variable-length number", len(d.rest))
	case n < 0 || n > size || bits < 64 && u>>bits != 0:
		return 0, fmt.Errorf("found a variable-length number beyond %d bits", bits)
	}
	d.rest = d.rest[n:]
	return u, nil
}

// counted reads a length and that many bytes.
func (d *decoder) counted() ([]byte, error) {
	n, err := d.varint(maxVarint32, 31)
	if err != nil {
		return nil, err
	}
	return d.take(int(n))
}

// row reads null bits and the fields that are not null. typeOf and name tell a
// field's type and how errors call it.
func (d *decoder) row(fields int, typeOf func(int) DataType, name func(int) string) ([]any, error) {
	nulls, err := d.take((fields + 7) / 8)
	if err != nil {
		return nil, fmt.Errorf("null bits: %w", err)
	}
	values := make([]any, fields)
	for i := range values {
		t := typeOf(i)
		if nulls[i/8]>>(i%8)&1 == 0 {
			values[i], err = d.value(t)
		} else if !t.Nullable {
			err = errNull
		}
		if err != nil {
			return nil, fmt.Errorf("%s (%s): %w", name(i), t, err)
		}
	}
	return values, nil
}

var errNull = errors.New("found null, need a value")

// value reads one value in COMPACTED form.
func (d *decoder) value(t DataType) (any, error) {
	switch t.Kind {
	case Int, Date, Time:
		u, err := d.varint(maxVarint32, 32)
		if err != nil {
			return nil, err
		}
		return int32Value(t, int32(uint32(u))), nil
	case BigInt:
		u, err := d.varint(maxVarint64, 64)
		return int64(u), err
	case Decimal:
		if t.Precision <= maxInt64Decimal {
			u, err := d.varint(maxVarint64, 64)
			if err != nil {
				return nil, err
			}
			return decimalValue(t, big.NewInt(int64(u)))
		}
		b, err := d.counted()
		if err != nil {
			return nil, err
		}
		return bigDecimalValue(t, b)
	case Timestamp, TimestampLTZ:
		u, err := d.varint(maxVarint64, 64)
		if err != nil || t.Precision <= maxMillisTimestamp {
			return TimestampValue{Millis: int64(u)}, err
		}
		nanos, err := d.varint(maxVarint32, 32)
		if err != nil {
			return nil, err
		}
		return timestampValue(int64(u), uint32(nanos))
	case Char, String, Binary, Bytes:
		b, err := d.counted()
		if err != nil {
			return nil, err
		}
		return bytesValue(t, b), nil
	case Array, Map, Row:
		b, err := d.counted()
		if err != nil {
			return nil, err
		}
		return decodeBlock(t, b)
	}
	b, err := d.take(fixedWidth(t))
	if err != nil {
		return nil, err
	}
	return fixedValue(t, b)
}

// fixedWidth is the width of t in an ARRAY block, and in a COMPACTED row where
// that is not of variable length.
func fixedWidth(t DataType) int {
	switch t.Kind {
	case Boolean, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, Date, Time, Float:
		return 4
	}
	return slotSize
}

// fixedValue reads the value of a type that fits its width.
func fixedValue(t DataType, b []byte) (any, error) {
	le := binary.LittleEndian
	switch t.Kind {
	case Boolean:
		return b[0] != 0, nil
	case TinyInt:
		return int8(b[0]), nil
	case SmallInt:
		return int16(le.Uint16(b)), nil
	case Int, Date, Time:
		return int32Value(t, int32(le.Uint32(b))), nil
	case Float:
		return math.Float32frombits(le.Uint32(b)), nil
	case Double:
		return math.Float64frombits(le.Uint64(b)), nil
	case Decimal:
		return decimalValue(t, big.NewInt(int64(le.Uint64(b))))
	case Timestamp, TimestampLTZ:
		return TimestampValue{Millis: int64(le.Uint64(b))}, nil
	}
	return int64(le.Uint64(b)), nil
}

func int32Value(t DataType, x int32) any {
	switch t.Kind {
	case Date:
		return DateValue(x)
	case Time:
		return TimeValue(x)
	}
	return x
}

func bytesValue(t DataType, b []byte) any {
	if t.Kind == Char || t.Kind == String {
		return string(b)
	}
	return append([]byte{}, b...)
}

func bigDecimalValue(t DataType, b []byte) (any, error) {
	if len(b) == 0 || len(b) > bigDecimalSize {
		return nil, fmt.Errorf("found an unscaled value of %d bytes, need 1 to %d", len(b), bigDecimalSize)
	}
	return decimalValue(t, fromTwosComplement(b))
}

func decimalValue(t DataType, unscaled *big.Int) (any, error) {
	if unscaled.CmpAbs(tenTo(t.Precision)) >= 0 {
		return nil, fmt.Errorf("found unscaled value %s, need at most %d digits", unscaled, t.Precision)
	}
	return DecimalValue{Unscaled: unscaled, Scale: t.Scale}, nil
}

func timestampValue(millis int64, nanos uint32) (any, error) {
	if nanos > 999_999 {
		return nil, fmt.Errorf("found %d nanoseconds within the millisecond, need 0 to 999999", nanos)
	}
	return TimestampValue{Millis: millis, Nanos: int32(nanos)}, nil
}
