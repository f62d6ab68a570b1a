package paimon

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
)

// Values of partitions, keys and statistics, as Go values: bool, int8, int16,
// int32, int64, float32, float64, string (CHAR, VARCHAR), []byte (BINARY,
// VARBINARY), DecimalValue, DateValue, TimeValue, TimestampValue; nil is null.
type (
	// DecimalValue is Unscaled / 10^Scale.
	DecimalValue struct {
		Unscaled *big.Int
		Scale    int
	}
	// DateValue is days since 1970-01-01.
	DateValue int32
	// TimeValue is milliseconds of the day.
	TimeValue int32
	// TimestampValue is milliseconds since the epoch, floored, and the
	// nanoseconds (0 to 999999) within that millisecond.
	TimestampValue struct {
		Millis int64
		Nanos  int32
	}
)

// DecodeBinaryRow decodes a BinaryRow that carries its arity in front, as
// manifests hold partitions, keys and statistics. It keeps no reference to
// data. Nested types, which do not occur there, are refused.
func DecodeBinaryRow(types []DataType, data []byte) ([]any, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("binary row has %d bytes, required are at least 4", len(data))
	}
	if n := binary.BigEndian.Uint32(data); int64(n) != int64(len(types)) {
		return nil, fmt.Errorf("binary row has %d fields, required are %d", n, len(types))
	}
	return decodeRow(types, data[4:])
}

// decodeRow decodes a BinaryRow without arity.
func decodeRow(types []DataType, row []byte) ([]any, error) {
	if err := checkRow(row, len(types)); err != nil {
		return nil, err
	}
	values := make([]any, len(types))
	for i, t := range types {
		var err error
		if values[i], err = decodeField(t, row, i, len(types)); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// checkRow makes sure that the row has room for its fields.
func checkRow(row []byte, fields int) error {
	if need := rowHeader(fields) + 8*fields; len(row) < need {
		return fmt.Errorf("binary row has %d bytes, required are at least %d", len(row), need)
	}
	return nil
}

// rowHeader is the length of a row's null bits.
func rowHeader(fields int) int { return (fields + 63 + 8) / 64 * 8 }

// decodeField decodes field i of a BinaryRow without arity.
func decodeField(t DataType, row []byte, i, fields int) (any, error) {
	if err := checkRow(row, fields); err != nil {
		return nil, err
	}
	if bit := 8 + i; row[bit/8]&(1<<(bit%8)) != 0 {
		return nil, nil
	}
	v, err := decodeSlot(t, row, row[rowHeader(fields)+8*i:][:8])
	if err != nil {
		return nil, fmt.Errorf("binary row, field %d (%s): %w", i, t, err)
	}
	return v, nil
}

func decodeSlot(t DataType, row, slot []byte) (any, error) {
	n := binary.LittleEndian.Uint64(slot)
	switch t.Kind {
	case Boolean:
		return slot[0] != 0, nil
	case TinyInt:
		return int8(slot[0]), nil
	case SmallInt:
		return int16(n), nil
	case Int:
		return int32(n), nil
	case BigInt:
		return int64(n), nil
	case Float:
		return math.Float32frombits(uint32(n)), nil
	case Double:
		return math.Float64frombits(n), nil
	case Date:
		return DateValue(int32(n)), nil
	case Time:
		return TimeValue(int32(n)), nil
	case Char, VarChar:
		b, err := varBytes(row, slot)
		return string(b), err
	case Binary, VarBinary:
		b, err := varBytes(row, slot)
		return append([]byte{}, b...), err
	case Decimal:
		if t.Precision <= 18 {
			return DecimalValue{big.NewInt(int64(n)), t.Scale}, nil
		}
		b, err := at(row, n>>32, n&math.MaxUint32)
		if err != nil {
			return nil, err
		}
		if len(b) > 16 {
			return nil, fmt.Errorf("decimal of %d bytes, at most 16 are possible", len(b))
		}
		return DecimalValue{signedBig(b), t.Scale}, nil
	case Timestamp, TimestampLTZ:
		if t.Precision <= 3 {
			return TimestampValue{Millis: int64(n)}, nil
		}
		b, err := at(row, n>>32, 8)
		if err != nil {
			return nil, err
		}
		nanos := n & math.MaxUint32
		if nanos > 999_999 {
			return nil, fmt.Errorf("%d nanoseconds within a millisecond", nanos)
		}
		return TimestampValue{int64(binary.LittleEndian.Uint64(b)), int32(nanos)}, nil
	}
	return nil, fmt.Errorf("the type can't occur in a partition, key or statistic")
}

// varBytes is a value of variable length: up to 7 bytes lie in the slot.
func varBytes(row, slot []byte) ([]byte, error) {
	if mark := slot[7]; mark&0x80 != 0 {
		n := int(mark & 0x7f)
		if n > 7 {
			return nil, fmt.Errorf("%d bytes in a slot of 7", n)
		}
		return slot[:n], nil
	}
	n := binary.LittleEndian.Uint64(slot)
	return at(row, n>>32, n&math.MaxUint32)
}

func at(row []byte, offset, length uint64) ([]byte, error) {
	if offset > uint64(len(row)) || length > uint64(len(row))-offset {
		return nil, fmt.Errorf("%d bytes at offset %d of a row of %d bytes", length, offset, len(row))
	}
	return row[offset:][:length], nil
}

// signedBig reads big-endian two's complement; no bytes are zero.
func signedBig(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

func typesOf(fields []Field) []DataType {
	types := make([]DataType, len(fields))
	for i, f := range fields {
		types[i] = f.Type
	}
	return types
}
