package parquet

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// julianEpoch is the Julian day of 1970-01-01 (INT96).
	julianEpoch  = 2440588
	millisPerDay = 24 * 60 * 60 * 1000
	longDecimal  = vector.LongDecimal
)

func int32s(v *vector.Vector) *[]int32     { return &v.Int32s }
func int64s(v *vector.Vector) *[]int64     { return &v.Int64s }
func float32s(v *vector.Vector) *[]float32 { return &v.Float32s }
func float64s(v *vector.Vector) *[]float64 { return &v.Float64s }
func bools(v *vector.Vector) *[]bool       { return &v.Bools }

// width is the number of bytes of a PLAIN value of the leaf, 0 if it varies.
func (n *node) width() int {
	switch n.physical() {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return int(n.elem.TypeLength.V)
	default:
		return 0
	}
}

// newSink returns the sink that reads leaf n as t, or an error saying why the
// file's type can't be read as that.
func newSink(n *node, t Type) (sink, error) {
	if n.physical() == format.FixedLenByteArray && n.width() <= 0 {
		return nil, corruptf("column %q is FIXED_LEN_BYTE_ARRAY of length %d", n.path, n.width())
	}
	s, err := findSink(n, t)
	if err == nil && s == nil {
		return nil, unsupportedf("column %q is %s in the file, which can't be read as %s", n.path, n.describe(), t)
	}
	return s, err
}

func findSink(n *node, t Type) (sink, error) {
	kind, ann := n.physical(), n.annotation()
	switch t.Kind {
	case Boolean:
		if kind == format.Boolean {
			return &fixedSink[bool]{new(boolValues), bools}, nil
		}
	case Int8, Int16, Int32, Int64:
		if ann == plainValue || ann == integer || ann == unsigned {
			return intSink(n, t, ann == unsigned), nil
		}
	case Float:
		if kind == format.Float {
			return fixed(n, float32s, plainFloat), nil
		}
	case Double:
		switch kind {
		case format.Double:
			return fixed(n, float64s, plainDouble), nil
		case format.Float:
			return fixed(n, float64s, plainFloatAsDouble), nil
		}
	case String, Binary:
		if (kind == format.ByteArray || kind == format.FixedLenByteArray) &&
			(ann == plainValue || ann == textual || t.Kind == Binary && ann == other) {
			return &bytesSink{kind: kind, width: n.width()}, nil
		}
	case Decimal:
		return decimalSink(n, t)
	case Date:
		if kind == format.Int32 && (ann == date || ann == plainValue) {
			return fixed(n, int32s, plainInt32), nil
		}
	case Time:
		if ann == timeOfDay || ann == plainValue {
			return timeSink(n, t), nil
		}
	case Timestamp:
		if ann == timestamp || ann == plainValue {
			return timestampSink(n, t), nil
		}
	}
	return nil, nil
}

func fixed[T any](n *node, of func(*vector.Vector) *[]T, plain plainFunc[T]) sink {
	return &fixedSink[T]{&values[T]{kind: n.physical(), width: n.width(), plain: plain}, of}
}

// strided makes a plainFunc of a conversion of one fixed-size value.
func strided[T any](width int, one func([]byte) (T, error)) plainFunc[T] {
	return func(dst []T, src []byte) (int, error) {
		if len(dst)*width > len(src) {
			return 0, short(len(dst)*width, len(src))
		}
		for i := range dst {
			v, err := one(src[i*width : (i+1)*width])
			if err != nil {
				return 0, err
			}
			dst[i] = v
		}
		return len(dst) * width, nil
	}
}

func plainInt32(dst []int32, src []byte) (int, error) {
	if len(dst)*4 > len(src) {
		return 0, short(len(dst)*4, len(src))
	}
	b := src[:len(dst)*4]
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(b[i*4 : i*4+4]))
	}
	return len(b), nil
}

func plainInt64(dst []int64, src []byte) (int, error) {
	if len(dst)*8 > len(src) {
		return 0, short(len(dst)*8, len(src))
	}
	b := src[:len(dst)*8]
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(b[i*8 : i*8+8]))
	}
	return len(b), nil
}

func plainInt32AsInt64(dst []int64, src []byte) (int, error) {
	if len(dst)*4 > len(src) {
		return 0, short(len(dst)*4, len(src))
	}
	b := src[:len(dst)*4]
	for i := range dst {
		dst[i] = int64(int32(binary.LittleEndian.Uint32(b[i*4 : i*4+4])))
	}
	return len(b), nil
}

func plainFloat(dst []float32, src []byte) (int, error) {
	if len(dst)*4 > len(src) {
		return 0, short(len(dst)*4, len(src))
	}
	b := src[:len(dst)*4]
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[i*4 : i*4+4]))
	}
	return len(b), nil
}

func plainDouble(dst []float64, src []byte) (int, error) {
	if len(dst)*8 > len(src) {
		return 0, short(len(dst)*8, len(src))
	}
	b := src[:len(dst)*8]
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[i*8 : i*8+8]))
	}
	return len(b), nil
}

func plainFloatAsDouble(dst []float64, src []byte) (int, error) {
	if len(dst)*4 > len(src) {
		return 0, short(len(dst)*4, len(src))
	}
	for i := range dst {
		dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[i*4:])))
	}
	return len(dst) * 4, nil
}

func intSink(n *node, t Type, unsigned bool) sink {
	var low, high int64 = math.MinInt32, math.MaxInt32
	switch t.Kind {
	case Int8:
		low, high = math.MinInt8, math.MaxInt8
	case Int16:
		low, high = math.MinInt16, math.MaxInt16
	case Int64:
		switch {
		case n.physical() == format.Int32 && unsigned:
			return fixed(n, int64s, strided(4, func(b []byte) (int64, error) {
				return int64(binary.LittleEndian.Uint32(b)), nil
			}))
		case n.physical() == format.Int32:
			return fixed(n, int64s, plainInt32AsInt64)
		case n.physical() == format.Int64 && unsigned:
			return fixed(n, int64s, strided(8, func(b []byte) (int64, error) {
				v := binary.LittleEndian.Uint64(b)
				if v > math.MaxInt64 {
					return 0, unsupportedf("value %d does not fit the wanted range %d to %d", v, int64(math.MinInt64), int64(math.MaxInt64))
				}
				return int64(v), nil
			}))
		case n.physical() == format.Int64:
			return fixed(n, int64s, plainInt64)
		}
		return nil
	}
	if n.physical() != format.Int32 && n.physical() != format.Int64 {
		return nil
	}
	if t.Kind == Int32 && n.physical() == format.Int32 && !unsigned {
		return fixed(n, int32s, plainInt32)
	}
	return fixed(n, int32s, narrow(low, high, n.width(), unsigned))
}

// narrow reads integers of width bytes that must lie from low to high.
func narrow(low, high int64, width int, unsigned bool) plainFunc[int32] {
	return func(dst []int32, src []byte) (int, error) {
		if len(dst)*width > len(src) {
			return 0, short(len(dst)*width, len(src))
		}
		b := src[:len(dst)*width]
		for i := range dst {
			var v int64
			if width == 4 {
				w := binary.LittleEndian.Uint32(b[i*4 : i*4+4])
				if v = int64(int32(w)); unsigned {
					v = int64(w)
				}
			} else {
				v = int64(binary.LittleEndian.Uint64(b[i*8 : i*8+8]))
				if unsigned && v < 0 {
					v = math.MaxInt64 // out of every range this function is used for
				}
			}
			if v < low || v > high {
				return 0, unsupportedf("value %d does not fit the wanted range %d to %d", v, low, high)
			}
			dst[i] = int32(v)
		}
		return len(b), nil
	}
}

func timeSink(n *node, t Type) sink {
	unit, ok := n.unit()
	switch n.physical() {
	case format.Int32:
		if !ok || unit == time.Millisecond {
			return fixed(n, int32s, narrow(0, millisPerDay-1, 4, false))
		}
	case format.Int64:
		if !ok {
			unit = unitOf(t.Precision)
		}
		perMilli := int64(time.Millisecond / unit)
		return fixed(n, int32s, strided(8, func(b []byte) (int32, error) {
			v := floorDiv(int64(binary.LittleEndian.Uint64(b)), perMilli)
			if v < 0 || v >= millisPerDay {
				return 0, corruptf("time of day of %d milliseconds", v)
			}
			return int32(v), nil
		}))
	}
	return nil
}

// unitOf is the unit Paimon stores a time of that precision in.
func unitOf(precision int) time.Duration {
	switch {
	case precision <= 3:
		return time.Millisecond
	case precision <= 6:
		return time.Microsecond
	default:
		return time.Nanosecond
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func timestampSink(n *node, t Type) sink {
	long := t.Precision > 3
	switch n.physical() {
	case format.Int64:
		unit, ok := n.unit()
		if !ok {
			unit = unitOf(t.Precision)
		}
		perMilli, nanos := int64(time.Millisecond/unit), int64(unit)
		switch {
		case long:
			return stamps(n, func(b []byte) (stamp, error) {
				v := int64(binary.LittleEndian.Uint64(b))
				millis := floorDiv(v, perMilli)
				return stamp{millis, int32((v - millis*perMilli) * nanos)}, nil
			})
		case perMilli == 1:
			return fixed(n, int64s, plainInt64)
		default:
			return fixed(n, int64s, strided(8, func(b []byte) (int64, error) {
				return floorDiv(int64(binary.LittleEndian.Uint64(b)), perMilli), nil
			}))
		}
	case format.Int96:
		if long {
			return stamps(n, int96)
		}
		return fixed(n, int64s, strided(12, func(b []byte) (int64, error) {
			s, err := int96(b)
			return s.millis, err
		}))
	}
	return nil
}

func stamps(n *node, one func([]byte) (stamp, error)) sink {
	return &stampSink{decoder: &values[stamp]{kind: n.physical(), width: n.width(), plain: strided(n.width(), one)}}
}

// int96 reads nanoseconds of the day and the Julian day, as Impala, Hive and
// Paimon write them.
func int96(b []byte) (stamp, error) {
	nanos := int64(binary.LittleEndian.Uint64(b))
	day := int64(int32(binary.LittleEndian.Uint32(b[8:]))) - julianEpoch
	millis := floorDiv(nanos, int64(time.Millisecond))
	return stamp{day*millisPerDay + millis, int32(nanos - millis*int64(time.Millisecond))}, nil
}
