package paimon

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"strconv"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// converter turns a vector of a file's type into one of the type wanted now.
// The result is valid until the next call, and may share memory with src.
type converter func(src *vector.Vector) *vector.Vector

// newConverter returns how values written as old are read as want, by Paimon's
// rules of schema evolution; nil when they are the same. The error says what
// change of type is not known here. Nullability is not looked at, save that of
// map keys, which Paimon itself can't read across.
func newConverter(old, want DataType) (converter, error) {
	refuse := func() (converter, error) {
		return nil, fmt.Errorf("change of type from %s to %s", old, want)
	}
	switch {
	case isInteger(old.Kind):
		return convertInteger(old, want)
	case old.Kind == Float && want.Kind == Double:
		return primitive(vector.Float64, func(src, dst *vector.Vector) {
			dst.Float64s = resize(dst.Float64s, src.Len)
			for i, v := range src.Float32s[:src.Len] {
				dst.Float64s[i] = float64(v)
			}
		}), nil
	case old.Kind == Decimal && want.Kind == Decimal:
		return convertDecimal(old, want)
	case old.Kind == Char && want.Kind == Char && old.Length == want.Length,
		old.Kind == Binary && want.Kind == Binary && old.Length == want.Length,
		(old.Kind == Char || old.Kind == VarChar) && want.Kind == VarChar && old.Length <= want.Length,
		(old.Kind == Binary || old.Kind == VarBinary) && want.Kind == VarBinary && old.Length <= want.Length:
		return nil, nil
	case (old.Kind == Timestamp || old.Kind == TimestampLTZ) && old.Kind == want.Kind && old.Precision <= want.Precision:
		if old.Precision > 3 || want.Precision <= 3 {
			return nil, nil
		}
		return primitive(vector.Timestamp, func(src, dst *vector.Vector) {
			dst.Int64s = src.Int64s
			dst.Nanos = resize(dst.Nanos, src.Len) // never written: all zero
		}), nil
	case want.Kind == VarChar && want.Length == MaxLength && old.Kind == Boolean:
		return toText(func(dst []byte, src *vector.Vector, i int) []byte { return strconv.AppendBool(dst, src.Bools[i]) }), nil
	case want.Kind == VarChar && want.Length == MaxLength && old.Kind == Date:
		return toText(func(dst []byte, src *vector.Vector, i int) []byte { return appendDate(dst, int64(src.Int32s[i])) }), nil
	case want.Kind == VarChar && want.Length == MaxLength && old.Kind == Decimal:
		return toText(func(dst []byte, src *vector.Vector, i int) []byte { return appendDecimal(dst, old, src, i) }), nil
	case old.Kind != want.Kind:
		return refuse()
	}
	switch old.Kind {
	case Boolean, Float, Double, Date:
		return nil, nil
	case Time:
		if old.Precision == want.Precision {
			return nil, nil
		}
	case Array:
		return convertChildren([]DataType{*old.Element}, []DataType{*want.Element})
	case Map:
		if !sameType(*old.Key, *want.Key) {
			return refuse()
		}
		return convertChildren([]DataType{*old.Key, *old.Value}, []DataType{*want.Key, *want.Value})
	case Row:
		return convertRow(old, want)
	}
	return refuse()
}

func isInteger(k Kind) bool { return k >= TinyInt && k <= BigInt }

// sameType compares whole types, nullability too, leaving out names' comments.
func sameType(a, b DataType) bool { return a.String() == b.String() }

func convertInteger(old, want DataType) (converter, error) {
	at := func(src *vector.Vector) func(i int) int64 {
		if src.Kind == vector.Int32 {
			return func(i int) int64 { return int64(src.Int32s[i]) }
		}
		return func(i int) int64 { return src.Int64s[i] }
	}
	switch {
	case isInteger(want.Kind) && want.Kind >= old.Kind:
		if want.Kind < BigInt || old.Kind == BigInt {
			return nil, nil
		}
		return primitive(vector.Int64, func(src, dst *vector.Vector) {
			dst.Int64s = resize(dst.Int64s, src.Len)
			for i, v := range src.Int32s[:src.Len] {
				dst.Int64s[i] = int64(v)
			}
		}), nil
	case want.Kind == Float:
		return primitive(vector.Float32, func(src, dst *vector.Vector) {
			dst.Float32s = resize(dst.Float32s, src.Len)
			for i, get := 0, at(src); i < src.Len; i++ {
				dst.Float32s[i] = float32(get(i))
			}
		}), nil
	case want.Kind == Double:
		return primitive(vector.Float64, func(src, dst *vector.Vector) {
			dst.Float64s = resize(dst.Float64s, src.Len)
			for i, get := 0, at(src); i < src.Len; i++ {
				dst.Float64s[i] = float64(get(i))
			}
		}), nil
	case want.Kind == VarChar && want.Length == MaxLength:
		return toText(func(dst []byte, src *vector.Vector, i int) []byte {
			return strconv.AppendInt(dst, at(src)(i), 10)
		}), nil
	}
	return nil, fmt.Errorf("change of type from %s to %s", old, want)
}

// primitive makes a converter that fills the value slices of a reused vector;
// nulls are shared.
func primitive(kind vector.Kind, fill func(src, dst *vector.Vector)) converter {
	dst := &vector.Vector{}
	return func(src *vector.Vector) *vector.Vector {
		dst.Kind, dst.Len, dst.Nulls = kind, src.Len, src.Nulls
		fill(src, dst)
		return dst
	}
}

// toText makes a converter to STRING.
func toText(text func(dst []byte, src *vector.Vector, i int) []byte) converter {
	return primitive(vector.Bytes, func(src, dst *vector.Vector) {
		dst.Data = dst.Data[:0]
		dst.Offsets = append(dst.Offsets[:0], 0)
		for i := range src.Len {
			if !src.IsNull(i) {
				dst.Data = text(dst.Data, src, i)
			}
			dst.Offsets = append(dst.Offsets, int32(len(dst.Data)))
		}
	})
}

// convertDecimal widens: no digit before or after the point may get lost.
func convertDecimal(old, want DataType) (converter, error) {
	shift := want.Scale - old.Scale
	if shift < 0 || want.Precision-want.Scale < old.Precision-old.Scale {
		return nil, fmt.Errorf("change of type from %s to %s", old, want)
	}
	factor := new10(shift)
	switch {
	case shift == 0 && (old.Precision <= 18) == (want.Precision <= 18):
		return nil, nil
	case want.Precision <= 18:
		f := factor.Int64()
		return primitive(vector.Int64, func(src, dst *vector.Vector) {
			dst.Int64s = resize(dst.Int64s, src.Len)
			for i, v := range src.Int64s[:src.Len] {
				dst.Int64s[i] = v * f
			}
		}), nil
	}
	var n big.Int
	return toText(func(dst []byte, src *vector.Vector, i int) []byte {
		if src.Kind == vector.Int64 {
			n.SetInt64(src.Int64s[i])
		} else {
			n.Set(signedBig(src.BytesAt(i)))
		}
		return appendSignedBig(dst, n.Mul(&n, factor))
	}), nil
}

func new10(exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
}

// appendSignedBig appends big-endian two's complement of least width.
func appendSignedBig(dst []byte, n *big.Int) []byte {
	if n.Sign() >= 0 {
		b := n.Bytes()
		if len(b) == 0 || b[0]&0x80 != 0 {
			dst = append(dst, 0)
		}
		return append(dst, b...)
	}
	// -n-1 has the inverted bits of n.
	b := new(big.Int).Not(n).Bytes()
	if len(b) == 0 || b[0]&0x80 != 0 {
		dst = append(dst, 0xff)
	}
	for _, c := range b {
		dst = append(dst, ^c)
	}
	return dst
}

// convertChildren makes a converter of a list or map from those of its parts.
func convertChildren(old, want []DataType) (converter, error) {
	parts := make([]converter, len(old))
	changed := false
	for i := range old {
		var err error
		if parts[i], err = newConverter(old[i], want[i]); err != nil {
			return nil, err
		}
		changed = changed || parts[i] != nil
	}
	if !changed {
		return nil, nil
	}
	dst := &vector.Vector{Children: make([]*vector.Vector, len(parts))}
	return func(src *vector.Vector) *vector.Vector {
		dst.Kind, dst.Len, dst.Nulls, dst.Offsets = src.Kind, src.Len, src.Nulls, src.Offsets
		for i, c := range src.Children {
			dst.Children[i] = c
			if parts[i] != nil {
				dst.Children[i] = parts[i](c)
			}
		}
		return dst
	}, nil
}

// convertRow matches fields by id: each may have been renamed, moved, retyped,
// dropped or added.
func convertRow(old, want DataType) (converter, error) {
	type part struct {
		from    int // -1: added since, null
		convert converter
	}
	parts := make([]part, len(want.Fields))
	same := len(old.Fields) == len(want.Fields)
	for i, f := range want.Fields {
		parts[i].from = -1
		for j, o := range old.Fields {
			if o.ID != f.ID {
				continue
			}
			c, err := newConverter(o.Type, f.Type)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", f.Name, err)
			}
			parts[i] = part{j, c}
		}
		same = same && parts[i].from == i && parts[i].convert == nil
	}
	if same {
		return nil, nil
	}
	dst := &vector.Vector{Children: make([]*vector.Vector, len(parts))}
	return func(src *vector.Vector) *vector.Vector {
		dst.Kind, dst.Len, dst.Nulls = src.Kind, src.Len, src.Nulls
		for i, p := range parts {
			switch {
			case p.from < 0:
				if have := dst.Children[i]; have == nil || have.Len != src.Len {
					dst.Children[i] = constant(want.Fields[i].Type, nil, src.Len)
				}
			case p.convert != nil:
				dst.Children[i] = p.convert(src.Children[p.from])
			default:
				dst.Children[i] = src.Children[p.from]
			}
		}
		return dst
	}, nil
}

// resize returns a slice of length n, of s's memory if it has the room.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// vectorKind is the form in which values of a type are kept.
func vectorKind(t DataType) vector.Kind {
	switch t.Kind {
	case Boolean:
		return vector.Bool
	case TinyInt, SmallInt, Int, Date, Time:
		return vector.Int32
	case BigInt:
		return vector.Int64
	case Float:
		return vector.Float32
	case Double:
		return vector.Float64
	case Decimal:
		if t.Precision <= 18 {
			return vector.Int64
		}
		return vector.Bytes
	case Timestamp, TimestampLTZ:
		if t.Precision <= 3 {
			return vector.Int64
		}
		return vector.Timestamp
	case Array:
		return vector.List
	case Map, Multiset:
		return vector.Map
	case Row:
		return vector.Struct
	}
	return vector.Bytes
}

// constant is a vector of n times the same value (nil: null), which must be of
// the Go type that DecodeBinaryRow gives for t.
func constant(t DataType, value any, n int) *vector.Vector {
	v := &vector.Vector{Kind: vectorKind(t), Len: n}
	if value == nil {
		v.Nulls = fill(n, true)
	}
	switch v.Kind {
	case vector.Bool:
		b, _ := value.(bool)
		v.Bools = fill(n, b)
	case vector.Int32:
		var i int32
		switch x := value.(type) {
		case int8:
			i = int32(x)
		case int16:
			i = int32(x)
		case int32:
			i = x
		case DateValue:
			i = int32(x)
		case TimeValue:
			i = int32(x)
		}
		v.Int32s = fill(n, i)
	case vector.Int64:
		var i int64
		switch x := value.(type) {
		case int64:
			i = x
		case DecimalValue:
			i = x.Unscaled.Int64()
		case TimestampValue:
			i = x.Millis
		}
		v.Int64s = fill(n, i)
	case vector.Float32:
		f, _ := value.(float32)
		v.Float32s = fill(n, f)
	case vector.Float64:
		f, _ := value.(float64)
		v.Float64s = fill(n, f)
	case vector.Timestamp:
		x, _ := value.(TimestampValue)
		v.Int64s, v.Nanos = fill(n, x.Millis), fill(n, x.Nanos)
	case vector.Bytes:
		var b []byte
		switch x := value.(type) {
		case string:
			b = []byte(x)
		case []byte:
			b = x
		case DecimalValue:
			b = appendSignedBig(nil, x.Unscaled)
		}
		v.Offsets = make([]int32, n+1)
		for i := range n {
			v.Data = append(v.Data, b...)
			v.Offsets[i+1] = int32(len(v.Data))
		}
	case vector.List, vector.Map:
		v.Offsets = make([]int32, n+1)
		for _, c := range childTypes(t) {
			v.Children = append(v.Children, constant(c, nil, 0))
		}
	case vector.Struct:
		for _, c := range childTypes(t) {
			v.Children = append(v.Children, constant(c, nil, n))
		}
	}
	return v
}

func fill[T any](n int, value T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = value
	}
	return s
}

// appendDecimal appends the plain text of a decimal: always t.Scale digits
// after the point.
func appendDecimal(dst []byte, t DataType, v *vector.Vector, i int) []byte {
	if v.Kind == vector.Int64 {
		return appendUnscaled(dst, strconv.FormatInt(v.Int64s[i], 10), t.Scale)
	}
	b := v.BytesAt(i)
	if len(b) == 8 { // common, and needs no big.Int
		return appendUnscaled(dst, strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10), t.Scale)
	}
	return appendUnscaled(dst, signedBig(b).String(), t.Scale)
}
