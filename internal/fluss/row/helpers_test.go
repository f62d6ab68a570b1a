package row

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

// equalValue compares Go values of rows; floats by their bits, so that NaN and
// the sign of zero count.
func equalValue(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case MapValue:
		y, ok := b.(MapValue)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalValue(x[i].Key, y[i].Key) || !equalValue(x[i].Value, y[i].Value) {
				return false
			}
		}
		return true
	case []byte:
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	case DecimalValue:
		y, ok := b.(DecimalValue)
		return ok && x.Scale == y.Scale && x.Unscaled.Cmp(y.Unscaled) == 0
	case float32:
		y, ok := b.(float32)
		return ok && math.Float32bits(x) == math.Float32bits(y)
	case float64:
		y, ok := b.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	}
	return a == b
}

func mustParse(t *testing.T, texts ...string) []DataType {
	t.Helper()
	types := make([]DataType, len(texts))
	for i, s := range texts {
		var err error
		if types[i], err = ParseType(s); err != nil {
			t.Fatal(err)
		}
	}
	return types
}

func mustHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parseValues reads the vectors' text of values; a nil text is null.
func parseValues(t *testing.T, types []DataType, texts []*string) []any {
	t.Helper()
	values := make([]any, len(types))
	for i, s := range texts {
		if s == nil {
			continue
		}
		if k := types[i].Kind; k == Array || k == Map || k == Row {
			p := textParser{strings.TrimSuffix(*s, " (primitive int[])")}
			values[i] = p.value(t, types[i])
			if p.rest != "" {
				t.Fatalf("%q behind a value of %s", p.rest, types[i])
			}
			continue
		}
		values[i] = parseAtom(t, types[i], *s)
	}
	return values
}

func parseAtom(t *testing.T, typ DataType, s string) any {
	t.Helper()
	integer := func(bits int) int64 {
		x, err := strconv.ParseInt(s, 10, bits)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	float := func(bits int) float64 {
		x, err := strconv.ParseFloat(s, bits)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	switch typ.Kind {
	case Boolean:
		return s == "true"
	case TinyInt:
		return int8(integer(8))
	case SmallInt:
		return int16(integer(16))
	case Int:
		return int32(integer(32))
	case BigInt:
		return integer(64)
	case Date:
		return DateValue(integer(32))
	case Time:
		return TimeValue(integer(32))
	case Float:
		return float32(float(32))
	case Double:
		return float(64)
	case Binary, Bytes:
		return mustHex(t, s)
	case Decimal:
		unscaled, ok := new(big.Int).SetString(strings.Replace(s, ".", "", 1), 10)
		if !ok {
			t.Fatalf("decimal %q", s)
		}
		return DecimalValue{Unscaled: unscaled, Scale: typ.Scale}
	case Timestamp, TimestampLTZ:
		var v TimestampValue
		if _, err := fmt.Sscanf(s, "%dms+%dns", &v.Millis, &v.Nanos); err != nil {
			t.Fatal(err)
		}
		return v
	}
	return s
}

// textParser reads the vectors' text of nested values: [a,b], {"k":v}, (a,b).
type textParser struct{ rest string }

func (p *textParser) take(c string) bool {
	rest, ok := strings.CutPrefix(p.rest, c)
	p.rest = rest
	return ok
}

func (p *textParser) value(t *testing.T, typ DataType) any {
	t.Helper()
	if p.take("null") {
		return nil
	}
	switch typ.Kind {
	case Array:
		p.take("[")
		list := []any{}
		for !p.take("]") {
			list = append(list, p.value(t, *typ.Element))
			p.take(",")
		}
		return list
	case Row:
		p.take("(")
		var fields []any
		for _, f := range typ.Fields {
			fields = append(fields, p.value(t, f.Type))
			p.take(",")
		}
		p.take(")")
		return fields
	case Map:
		p.take("{")
		m := MapValue{}
		for !p.take("}") {
			e := MapEntry{Key: p.value(t, *typ.Key)}
			p.take(":")
			e.Value = p.value(t, *typ.Value)
			m = append(m, e)
			p.take(",")
		}
		return m
	}
	if strings.HasPrefix(p.rest, `"`) {
		end := strings.IndexByte(p.rest[1:], '"') + 1
		s := p.rest[1:end]
		p.rest = p.rest[end+1:]
		return parseAtom(t, typ, s)
	}
	end := strings.IndexAny(p.rest, ",])}:")
	s := p.rest[:end]
	p.rest = p.rest[end:]
	return parseAtom(t, typ, s)
}
