package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

// decimalSink reads decimals of any physical type. Without an annotation, an
// integer is a decimal only at scale 0: its unscaled value would be a guess.
func decimalSink(n *node, t Type) (sink, error) {
	kind, ann := n.physical(), n.annotation()
	scale, annotated := n.decimal()
	bytes := kind == format.ByteArray || kind == format.FixedLenByteArray
	switch {
	case annotated && scale != t.Scale:
		return nil, unsupportedf("column %q has decimals of scale %d in the file, wanted %d", n.path, scale, t.Scale)
	case !annotated && ann != plainValue && ann != integer:
		return nil, nil
	case !annotated && !bytes && t.Scale != 0:
		return nil, nil
	}
	long := t.Precision > longDecimal
	switch kind {
	case format.Int32, format.Int64:
		if long {
			return &bytesSink{kind: kind, width: n.width(), convert: appendIntDecimal}, nil
		}
		if kind == format.Int32 {
			return fixed(n, int64s, plainInt32AsInt64), nil
		}
		return fixed(n, int64s, plainInt64), nil
	case format.FixedLenByteArray:
		if long {
			return &bytesSink{kind: kind, width: n.width(), convert: appendDecimal}, nil
		}
		return fixed(n, int64s, fixedDecimals(n.width())), nil
	case format.ByteArray:
		if long {
			return &bytesSink{kind: kind, convert: appendDecimal}, nil
		}
		return fixed(n, int64s, variableDecimals), nil
	default:
		return nil, nil
	}
}

// fixedDecimals reads big-endian two's complement of width bytes.
func fixedDecimals(width int) plainFunc[int64] {
	if width > 8 {
		return strided(width, decimal64)
	}
	shift := 64 - 8*width
	return func(dst []int64, src []byte) (int, error) {
		n := len(dst) * width
		if n > len(src) {
			return 0, short(n, len(src))
		}
		full := src[:len(src)+padding] // all readers' sources have padding
		for i := range dst {
			v := binary.BigEndian.Uint64(full[i*width : i*width+8])
			dst[i] = int64(v) >> shift
		}
		return n, nil
	}
}

func variableDecimals(dst []int64, src []byte) (int, error) {
	pos := 0
	for i := range dst {
		if len(src)-pos < 4 {
			return 0, short(pos+4, len(src))
		}
		l := int(binary.LittleEndian.Uint32(src[pos:]))
		if pos += 4; l > len(src)-pos {
			return 0, short(pos+l, len(src))
		}
		v, err := decimal64(src[pos : pos+l])
		if err != nil {
			return 0, err
		}
		dst[i] = v
		pos += l
	}
	return pos, nil
}

// decimal64 reads big-endian two's complement that must fit 64 bits.
func decimal64(b []byte) (int64, error) {
	if len(b) == 0 {
		return 0, corruptf("decimal without bytes")
	}
	b = leastWidth(b)
	if len(b) > 8 {
		return 0, unsupportedf("decimal of %d bytes does not fit the wanted precision of at most %d", len(b), longDecimal)
	}
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v, nil
}

// leastWidth cuts the leading bytes that only repeat the sign.
func leastWidth(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}

// appendDecimal appends big-endian two's complement in its least width.
func appendDecimal(dst, value []byte) ([]byte, error) {
	if len(value) == 0 {
		return dst, corruptf("decimal without bytes")
	}
	return append(dst, leastWidth(value)...), nil
}

// appendIntDecimal does so from a little-endian integer of 4 or 8 bytes.
func appendIntDecimal(dst, value []byte) ([]byte, error) {
	var v int64
	if len(value) == 4 {
		v = int64(int32(binary.LittleEndian.Uint32(value)))
	} else {
		v = int64(binary.LittleEndian.Uint64(value))
	}
	width := (bits.Len64(uint64(v^v>>63)) + 8) / 8 // its bits and the sign's, in bytes
	for i := width - 1; i >= 0; i-- {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst, nil
}
