package paimon

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// AppendJSONRow appends row pos of a batch as one JSON object, columns in
// order. Values are JSON strings of a fixed text form (numbers plain, FLOAT
// and DOUBLE as Java writes them, DECIMAL with all its digits, binary in hex,
// DATE yyyy-MM-dd, TIME HH:mm:ss.SSS, TIMESTAMP with its precision's digits,
// TIMESTAMP_LTZ in UTC with Z), ARRAY a JSON array, MAP an array of
// [key, value] ordered by the key's text, ROW an object; null is null.
func AppendJSONRow(dst []byte, fields []Field, batch []*vector.Vector, pos int) []byte {
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, f.Name)
		dst = append(dst, ':')
		dst = appendJSONValue(dst, f.Type, batch[i], pos)
	}
	return append(dst, '}')
}

func appendJSONValue(dst []byte, t DataType, v *vector.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch t.Kind {
	case Array:
		dst = append(dst, '[')
		for k := v.Offsets[i]; k < v.Offsets[i+1]; k++ {
			if k > v.Offsets[i] {
				dst = append(dst, ',')
			}
			dst = appendJSONValue(dst, *t.Element, v.Children[0], int(k))
		}
		return append(dst, ']')
	case Map:
		type entry struct {
			key []byte
			at  int
		}
		var entries []entry
		for k := int(v.Offsets[i]); k < int(v.Offsets[i+1]); k++ {
			entries = append(entries, entry{appendJSONValue(nil, *t.Key, v.Children[0], k), k})
		}
		slices.SortStableFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
		dst = append(dst, '[')
		for n, e := range entries {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, '[')
			dst = append(append(dst, e.key...), ',')
			dst = append(appendJSONValue(dst, *t.Value, v.Children[1], e.at), ']')
		}
		return append(dst, ']')
	case Row:
		return AppendJSONRow(dst, t.Fields, v.Children, i)
	case Char, VarChar:
		return appendJSONString(dst, string(v.BytesAt(i)))
	}
	dst = append(dst, '"')
	return append(appendScalar(dst, t, v, i), '"')
}

// appendScalar appends the text of a value that is not null and not nested.
func appendScalar(dst []byte, t DataType, v *vector.Vector, i int) []byte {
	switch t.Kind {
	case Boolean:
		return strconv.AppendBool(dst, v.Bools[i])
	case TinyInt, SmallInt, Int:
		return strconv.AppendInt(dst, int64(v.Int32s[i]), 10)
	case BigInt:
		return strconv.AppendInt(dst, v.Int64s[i], 10)
	case Float:
		return append(dst, javaFloat(float64(v.Float32s[i]), 32)...)
	case Double:
		return append(dst, javaFloat(v.Float64s[i], 64)...)
	case Decimal:
		return appendDecimal(dst, t, v, i)
	case Date:
		return appendDate(dst, int64(v.Int32s[i]))
	case Time:
		ms := int64(v.Int32s[i])
		return appendFraction(append(appendClock(dst, ms, ':'), '.'), ms%1000*1_000_000, 3)
	case Timestamp, TimestampLTZ:
		ts := TimestampValue{Millis: v.Int64s[i]}
		if v.Kind == vector.Timestamp {
			ts.Nanos = v.Nanos[i]
		}
		day, milli, nano := ts.split()
		dst = append(appendDate(dst, day), ' ')
		dst = appendClock(dst, milli, ':')
		if t.Precision > 0 {
			dst = appendFraction(append(dst, '.'), nano, t.Precision)
		}
		if t.Kind == TimestampLTZ {
			dst = append(dst, 'Z')
		}
		return dst
	case Char, VarChar:
		return append(dst, v.BytesAt(i)...)
	case Binary, VarBinary:
		return hex.AppendEncode(dst, v.BytesAt(i))
	}
	return append(dst, '?')
}

// KeyText is a row's key for messages: "(id=7, dt=2024-01-01)", cut where it
// is long.
func KeyText(fields []Field, batch []*vector.Vector, pos int) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.Name)
		b.WriteByte('=')
		switch {
		case batch[i].IsNull(pos):
			b.WriteString("null")
		case len(childTypes(f.Type)) > 0:
			b.WriteString(clip(string(appendJSONValue(nil, f.Type, batch[i], pos))))
		default:
			b.WriteString(clip(string(appendScalar(nil, f.Type, batch[i], pos))))
		}
	}
	b.WriteByte(')')
	return b.String()
}
