package paimon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// keyOrder compares keys held in vectors, as Paimon sorts them: column by
// column, ascending; text and binary by unsigned byte, decimals by value,
// FLOAT and DOUBLE as Java compares them (-0.0 before 0.0, NaN last).
//
// Each key also has a 64-bit prefix whose unsigned order never contradicts the
// order of the keys, so that most comparisons are of one number. Where exact
// is true, equal prefixes mean equal keys.
type keyOrder struct {
	types   []DataType
	decimal []bool // decimals kept as bytes
	widths  []uint // bits of the prefix that each column takes, of the highest it has
	exact   bool
}

func newKeyOrder(keys []Field) (*keyOrder, error) {
	o := &keyOrder{types: typesOf(keys), exact: true}
	left := uint(64)
	for _, t := range o.types {
		kind := vectorKind(t)
		if kind >= vector.List {
			return nil, fmt.Errorf("key column of type %s", t)
		}
		bigDecimal := t.Kind == Decimal && kind == vector.Bytes
		full := map[vector.Kind]uint{vector.Bool: 8, vector.Int32: 32, vector.Float32: 32}[kind]
		if full == 0 {
			full = 64
		}
		width := min(full, left)
		if !o.exact || bigDecimal {
			width = 0
		}
		if kind == vector.Bytes {
			width = width / 8 * 8
		}
		if kind == vector.Bytes || kind == vector.Timestamp || width < full {
			o.exact = false // what follows an incomplete column must not be looked at
		}
		o.widths = append(o.widths, width)
		o.decimal = append(o.decimal, bigDecimal)
		left -= width
	}
	return o, nil
}

// prefixes fills dst with the prefixes of the n keys of a batch.
func (o *keyOrder) prefixes(dst []uint64, keys []*vector.Vector, n int) []uint64 {
	dst = resize(dst, n)
	for i := range dst {
		dst[i] = 0
	}
	for c, v := range keys {
		w := o.widths[c]
		if w == 0 {
			break
		}
		switch v.Kind {
		case vector.Bool:
			for i, b := range v.Bools[:n] {
				dst[i] <<= w
				if b {
					dst[i]++
				}
			}
		case vector.Int32:
			for i, x := range v.Int32s[:n] {
				dst[i] = dst[i]<<w | uint64(uint32(x)^(1<<31))>>(32-w)
			}
		case vector.Int64, vector.Timestamp:
			for i, x := range v.Int64s[:n] {
				dst[i] = dst[i]<<w | (uint64(x)^(1<<63))>>(64-w)
			}
		case vector.Float32:
			for i, x := range v.Float32s[:n] {
				dst[i] = dst[i]<<w | uint64(floatOrder32(x))>>(32-w)
			}
		case vector.Float64:
			for i, x := range v.Float64s[:n] {
				dst[i] = dst[i]<<w | floatOrder64(x)>>(64-w)
			}
		case vector.Bytes:
			for i := range dst {
				dst[i] = dst[i]<<w | bytesPrefix(v.BytesAt(i))>>(64-w)
			}
		}
	}
	return dst
}

func bytesPrefix(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var p [8]byte
	copy(p[:], b)
	return binary.BigEndian.Uint64(p[:])
}

// floatOrder32 maps a float to a number that orders as Float.compare does.
func floatOrder32(f float32) uint32 {
	b := math.Float32bits(f)
	if f != f {
		b = 0x7fc00000
	}
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

func floatOrder64(f float64) uint64 {
	b := math.Float64bits(f)
	if f != f {
		b = 0x7ff8000000000000
	}
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// compare compares key i of a with key j of b.
func (o *keyOrder) compare(a []*vector.Vector, i int, b []*vector.Vector, j int) int {
	for c, x := range a {
		y, r := b[c], 0
		switch x.Kind {
		case vector.Bool:
			r = compareBool(x.Bools[i], y.Bools[j])
		case vector.Int32:
			r = compareOrdered(x.Int32s[i], y.Int32s[j])
		case vector.Int64:
			r = compareOrdered(x.Int64s[i], y.Int64s[j])
		case vector.Float32:
			r = compareOrdered(floatOrder32(x.Float32s[i]), floatOrder32(y.Float32s[j]))
		case vector.Float64:
			r = compareOrdered(floatOrder64(x.Float64s[i]), floatOrder64(y.Float64s[j]))
		case vector.Timestamp:
			if r = compareOrdered(x.Int64s[i], y.Int64s[j]); r == 0 {
				r = compareOrdered(x.Nanos[i], y.Nanos[j])
			}
		case vector.Bytes:
			if o.decimal[c] {
				r = compareSigned(x.BytesAt(i), y.BytesAt(j))
			} else {
				r = bytes.Compare(x.BytesAt(i), y.BytesAt(j))
			}
		}
		if r != 0 {
			return r
		}
	}
	return 0
}

func compareOrdered[T int32 | int64 | uint32 | uint64 | int8 | int16 | DateValue | TimeValue](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareSigned compares big-endian two's complement numbers of least width.
func compareSigned(a, b []byte) int {
	negA, negB := len(a) > 0 && a[0]&0x80 != 0, len(b) > 0 && b[0]&0x80 != 0
	switch {
	case negA != negB:
		return compareBool(negB, negA)
	case len(a) != len(b):
		if (len(a) < len(b)) != negA {
			return -1
		}
		return 1
	}
	return bytes.Compare(a, b)
}

// compareKeys compares keys as DecodeBinaryRow gives them.
func compareKeys(a, b []any) int {
	for i := range a {
		if r := compareValue(a[i], b[i]); r != 0 {
			return r
		}
	}
	return 0
}

// compareValue compares two values of one type; null comes first.
func compareValue(a, b any) int {
	if a == nil || b == nil {
		return compareBool(a != nil, b != nil)
	}
	switch x := a.(type) {
	case bool:
		return compareBool(x, b.(bool))
	case int8:
		return compareOrdered(x, b.(int8))
	case int16:
		return compareOrdered(x, b.(int16))
	case int32:
		return compareOrdered(x, b.(int32))
	case int64:
		return compareOrdered(x, b.(int64))
	case float32:
		return compareOrdered(floatOrder32(x), floatOrder32(b.(float32)))
	case float64:
		return compareOrdered(floatOrder64(x), floatOrder64(b.(float64)))
	case string:
		return strings.Compare(x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case DateValue:
		return compareOrdered(x, b.(DateValue))
	case TimeValue:
		return compareOrdered(x, b.(TimeValue))
	case DecimalValue:
		return x.Unscaled.Cmp(b.(DecimalValue).Unscaled)
	case TimestampValue:
		y := b.(TimestampValue)
		if r := compareOrdered(x.Millis, y.Millis); r != 0 {
			return r
		}
		return compareOrdered(x.Nanos, y.Nanos)
	}
	return 0
}

// rangedFile is a data file with its key range.
type rangedFile struct {
	DataFile
	min, max []any
}

// keyRanges decodes the key ranges of files.
func keyRanges(keys []Field, files []DataFile) ([]rangedFile, error) {
	types := typesOf(keys)
	ranged := make([]rangedFile, len(files))
	for i, f := range files {
		r := rangedFile{DataFile: f}
		var err error
		if r.min, err = DecodeBinaryRow(types, f.MinKey); err == nil {
			r.max, err = DecodeBinaryRow(types, f.MaxKey)
		}
		if err != nil {
			return nil, fmt.Errorf("key range of data file %s: %w", f.Name, err)
		}
		if compareKeys(r.min, r.max) > 0 {
			return nil, fmt.Errorf("data file %s: its lowest key is above its highest", f.Name)
		}
		ranged[i] = r
	}
	return ranged, nil
}

// sections splits files into groups whose key ranges do not meet, in key
// order, and each group into sorted runs: files that follow one another
// without overlap. A group of one run holds each key once and needs no merge.
func sections(files []rangedFile) [][][]DataFile {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b rangedFile) int {
		if r := compareKeys(a.min, b.min); r != 0 {
			return r
		}
		return compareKeys(a.max, b.max)
	})
	var result [][][]DataFile
	var ends [][]any // highest key of each run of the open group
	var highest []any
	for _, f := range files {
		if highest == nil || compareKeys(f.min, highest) > 0 {
			result, ends, highest = append(result, nil), nil, f.max
		} else if compareKeys(f.max, highest) > 0 {
			highest = f.max
		}
		group := &result[len(result)-1]
		// The run that ends first: if it overlaps, all do.
		first := -1
		for i, end := range ends {
			if first < 0 || compareKeys(end, ends[first]) < 0 {
				first = i
			}
		}
		if first >= 0 && compareKeys(f.min, ends[first]) > 0 {
			(*group)[first] = append((*group)[first], f.DataFile)
			ends[first] = f.max
		} else {
			*group = append(*group, []DataFile{f.DataFile})
			ends = append(ends, f.max)
		}
	}
	return result
}
