package row

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// randomType returns a type that nests up to depth further levels.
func randomType(r *rand.Rand, depth int) DataType {
	kinds := int(Row)
	if depth == 0 {
		kinds = int(TimestampLTZ)
	}
	t := DataType{Kind: Kind(1 + r.IntN(kinds)), Nullable: r.IntN(3) > 0}
	if depth > 0 && r.IntN(2) == 0 {
		t.Kind = Array + Kind(r.IntN(3))
	}
	switch t.Kind {
	case Char, Binary:
		t.Length = 1 + r.IntN(20)
	case Decimal:
		t.Precision = 1 + r.IntN(maxDecimalPrecision)
		t.Scale = r.IntN(t.Precision + 1)
	case Time:
		t.Precision = r.IntN(10)
	case Timestamp, TimestampLTZ:
		t.Precision = r.IntN(10)
	case Array:
		e := randomType(r, depth-1)
		t.Element = &e
	case Map:
		k, v := randomType(r, 0), randomType(r, depth-1)
		k.Nullable = false
		t.Key, t.Value = &k, &v
	case Row:
		for i := range r.IntN(12) {
			t.Fields = append(t.Fields, Field{Name: fmt.Sprintf("f`%d", i), Type: randomType(r, depth-1), Description: []string{"", "it's"}[r.IntN(2)]})
		}
	}
	return t
}

// randomInt returns a number of random width, so that every varint length occurs.
func randomInt(r *rand.Rand) int64 { return int64(r.Uint64()) >> r.IntN(64) }

func randomValue(r *rand.Rand, t DataType) any {
	if t.Nullable && r.IntN(4) == 0 {
		return nil
	}
	switch t.Kind {
	case Boolean:
		return r.IntN(2) == 0
	case TinyInt:
		return int8(r.Uint32())
	case SmallInt:
		return int16(r.Uint32())
	case Int:
		return int32(randomInt(r))
	case Date:
		return DateValue(randomInt(r))
	case Time:
		return TimeValue(r.IntN(86_400_000))
	case BigInt:
		return randomInt(r)
	case Float:
		return math.Float32frombits(r.Uint32())
	case Double:
		return math.Float64frombits(r.Uint64())
	case Char, String:
		return string(randomBytes(r))
	case Binary, Bytes:
		return randomBytes(r)
	case Decimal:
		x := new(big.Int).SetUint64(r.Uint64())
		x.Mul(x, new(big.Int).SetUint64(r.Uint64()))
		x.Mod(x, tenTo(1+r.IntN(t.Precision)))
		if r.IntN(2) == 0 {
			x.Neg(x)
		}
		return DecimalValue{x, t.Scale}
	case Timestamp, TimestampLTZ:
		v := TimestampValue{Millis: randomInt(r)}
		if t.Precision > 3 {
			v.Nanos = int32(r.IntN(1_000_000)) * int32(r.IntN(2))
		}
		return v
	case Array:
		list := []any{}
		for range r.IntN(5) * r.IntN(12) {
			list = append(list, randomValue(r, *t.Element))
		}
		return list
	case Map:
		m := MapValue{}
		for range r.IntN(5) {
			m = append(m, MapEntry{randomValue(r, *t.Key), randomValue(r, *t.Value)})
		}
		return m
	}
	fields := []any{}
	for _, f := range t.Fields {
		fields = append(fields, randomValue(r, f.Type))
	}
	return fields
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(20)*(1+r.IntN(20)*r.IntN(2)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestRoundTrip encodes random rows of random types, through vectors and one by
// one, and reads them back.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		r := newRand(seed)
		types := make([]DataType, 1+r.IntN(20))
		for i := range types {
			types[i] = randomType(r, r.IntN(4))
			parsed, err := ParseType(types[i].String())
			if err != nil || parsed.String() != types[i].String() {
				t.Fatalf("seed %d: ParseType(%q): %v %v", seed, types[i], parsed, err)
			}
		}
		rows := make([][]any, 1+r.IntN(6))
		for k := range rows {
			rows[k] = make([]any, len(types))
			for i := range types {
				rows[k][i] = randomValue(r, types[i])
			}
		}
		e, err := NewEncoder(types)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		cols, err := FromValues(types, rows)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := e.Bind(cols); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for k, values := range rows {
			data := e.Append(nil, k)
			back, err := Decode(types, data)
			if err != nil || !equalValue(back, values) {
				t.Fatalf("seed %d row %d of %v:\n%v\n%v %v", seed, k, types, values, back, err)
			}
			// A buffer that is full of something else, with any room left.
			dirty := bytes.Repeat([]byte{0xee}, 3+r.IntN(len(data)+1))
			if again, err := e.AppendValues(dirty[:3], values); err != nil || !bytes.Equal(again[3:], data) {
				t.Fatalf("seed %d row %d: AppendValues %x %v, want %x", seed, k, again[3:], err, data)
			}
			want := false
			for i := range types {
				want = want || hasUnreadable(values[i], types[i])
			}
			if c, got := e.Unreadable(k); got != want || got && !hasUnreadable(values[c], types[c]) {
				t.Fatalf("seed %d row %d of %v: Unreadable %d %v, want %v: %v", seed, k, types, c, got, want, values)
			}
		}
		testKeyRoundTrip(t, seed, types, rows)
	}
}

func testKeyRoundTrip(t *testing.T, seed uint64, types []DataType, rows [][]any) {
	t.Helper()
	for _, format := range []KeyFormat{KeyCompacted, KeyPaimon} {
		var keyTypes []DataType
		var columns []int
		for i, typ := range types {
			if typ.Kind < Array && (format == KeyPaimon || !typ.Nullable) {
				keyTypes, columns = append(keyTypes, typ), append(columns, i)
			}
		}
		if len(keyTypes) == 0 {
			continue
		}
		e, err := NewKeyEncoder(format, keyTypes)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		keys := make([][]any, len(rows))
		for k := range rows {
			for _, i := range columns {
				keys[k] = append(keys[k], rows[k][i])
			}
		}
		cols, err := FromValues(keyTypes, keys)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := e.Bind(cols); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for k, values := range keys {
			data := e.Append(nil, k)
			if back, err := DecodeKey(format, keyTypes, data); err != nil || !equalValue(back, values) {
				t.Fatalf("seed %d key %d of %v:\n%v\n%v %v", seed, k, keyTypes, values, back, err)
			}
		}
	}
}

// hasUnreadable is Unreadable over Go values.
func hasUnreadable(v any, t DataType) bool {
	switch x := v.(type) {
	case TimestampValue:
		return t.Precision > 3 && x.Millis < 0 && x.Nanos != 0
	case []any:
		for i, e := range x {
			if t.Kind == Array && hasUnreadable(e, *t.Element) || t.Kind == Row && hasUnreadable(e, t.Fields[i].Type) {
				return true
			}
		}
	case MapValue:
		for _, e := range x {
			if hasUnreadable(e.Key, *t.Key) || hasUnreadable(e.Value, *t.Value) {
				return true
			}
		}
	}
	return false
}
