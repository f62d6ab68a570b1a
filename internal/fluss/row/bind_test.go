package row

import (
	"bytes"
	"strings"
	"testing"
)

func TestBindErrors(t *testing.T) {
	ints := func(x ...int32) *Vector { return &Vector{Kind: VInt32, Len: len(x), Int32s: x} }
	text := &Vector{Kind: VBytes, Len: 2, Offsets: []int32{0, 1, 2}, Data: []byte("ab")}
	null := func(v Vector, at ...int) *Vector {
		v.Nulls = make([]bool, v.Len)
		for _, i := range at {
			v.Nulls[i] = true
		}
		return &v
	}
	list := func(offsets []int32, child *Vector) *Vector {
		return &Vector{Kind: VList, Len: len(offsets) - 1, Offsets: offsets, Children: []*Vector{child}}
	}
	millis := &Vector{Kind: VInt64, Len: 1, Int64s: []int64{1}}
	nanos := func(x int32) *Vector { return &Vector{Kind: VTimestamp, Len: 1, Int64s: []int64{1}, Nanos: []int32{x}} }
	for _, c := range []struct {
		name  string
		types []string
		cols  []*Vector
		want  string
	}{
		{"too few columns", []string{"INT", "INT"}, []*Vector{ints(1)}, "fluss: row: 1 vectors, need one for each of 2 columns"},
		{"no vector", []string{"INT"}, []*Vector{nil}, "fluss: row: column 0 (INT): no vector"},
		{"negative length", []string{"INT"}, []*Vector{{Kind: VInt32, Len: -1}}, "fluss: row: column 0 (INT): vector of -1 values"},
		{"lengths differ", []string{"INT", "DATE"}, []*Vector{ints(1, 2), ints(1)}, "fluss: row: column 1 (DATE): vector of 1 values, need 2 as in the first"},
		{"kind", []string{"BIGINT"}, []*Vector{ints(1)}, "fluss: row: column 0 (BIGINT): vector kind VInt32, need VInt64"},
		{"millis for TIMESTAMP(6)", []string{"TIMESTAMP(6)"}, []*Vector{millis}, "fluss: row: column 0 (TIMESTAMP(6)): vector kind VInt64, need VTimestamp"},
		{"nanos for TIMESTAMP(3)", []string{"TIMESTAMP(3)"}, []*Vector{nanos(0)}, "fluss: row: column 0 (TIMESTAMP(3)): vector kind VTimestamp, need VInt64"},
		{"short values", []string{"INT"}, []*Vector{{Kind: VInt32, Len: 2, Int32s: []int32{1}}}, "fluss: row: column 0 (INT): vector of 2 values with 1 entries in Int32s"},
		{"short nulls", []string{"INT"}, []*Vector{{Kind: VInt32, Len: 2, Int32s: []int32{1, 2}, Nulls: []bool{false}}}, "fluss: row: column 0 (INT): vector of 2 values with 1 entries in Nulls"},
		{"null in NOT NULL", []string{"INT NOT NULL"}, []*Vector{null(*ints(1, 2), 1)}, "fluss: row: column 0 (INT NOT NULL): null at position 1, need a value"},
		{"TINYINT range", []string{"TINYINT"}, []*Vector{ints(127, 128)}, "fluss: row: column 0 (TINYINT): value 128 at position 1, need -128 to 127"},
		{"SMALLINT range", []string{"SMALLINT"}, []*Vector{ints(-32769)}, "fluss: row: column 0 (SMALLINT): value -32769 at position 0, need -32768 to 32767"},
		{"nanoseconds", []string{"TIMESTAMP(9)"}, []*Vector{nanos(1_000_000)}, "fluss: row: column 0 (TIMESTAMP(9)): 1000000 nanoseconds within the millisecond at position 0, need 0 to 999999"},
		{"offsets missing", []string{"STRING"}, []*Vector{{Kind: VBytes, Len: 1, Offsets: []int32{0}}}, "fluss: row: column 0 (STRING): vector of 1 values with 1 entries in Offsets, need one more than values"},
		{"offsets fall", []string{"STRING"}, []*Vector{{Kind: VBytes, Len: 2, Offsets: []int32{0, 2, 1}, Data: []byte("ab")}}, "fluss: row: column 0 (STRING): offsets fall from 2 to 1"},
		{"offsets negative", []string{"STRING"}, []*Vector{{Kind: VBytes, Len: 1, Offsets: []int32{-1, 1}, Data: []byte("ab")}}, "fluss: row: column 0 (STRING): offset -1 at position 0, need 0 or more"},
		{"offsets beyond data", []string{"STRING"}, []*Vector{{Kind: VBytes, Len: 1, Offsets: []int32{0, 3}, Data: []byte("ab")}}, "fluss: row: column 0 (STRING): offset 3 at position 1, need at most 2"},
		{"decimal without bytes", []string{"DECIMAL(20, 2)"}, []*Vector{{Kind: VBytes, Len: 1, Offsets: []int32{0, 0}}}, "fluss: row: column 0 (DECIMAL(20, 2)): unscaled value of 0 bytes at position 0, need 1 to 16"},
		{"decimal too wide", []string{"DECIMAL(38, 2)"}, []*Vector{{Kind: VBytes, Len: 1, Offsets: []int32{0, 17}, Data: bytes.Repeat([]byte{1}, 17)}}, "fluss: row: column 0 (DECIMAL(38, 2)): unscaled value of 17 bytes at position 0, need 1 to 16"},
		{"list without child", []string{"ARRAY<INT>"}, []*Vector{{Kind: VList, Len: 1, Offsets: []int32{0, 0}}}, "fluss: row: column 0 (ARRAY<INT>): vector with 0 children, need 1"},
		{"list beyond child", []string{"ARRAY<INT>"}, []*Vector{list([]int32{0, 3}, ints(1, 2))}, "fluss: row: column 0 (ARRAY<INT>): element (INT): vector of 2 values, need 3"},
		{"null element", []string{"ARRAY<STRING NOT NULL>"}, []*Vector{list([]int32{0, 2}, null(*text, 1))}, "fluss: row: column 0 (ARRAY<STRING NOT NULL>): element (STRING NOT NULL): null at position 1, need a value"},
		{"null map key", []string{"MAP<INT, INT>"}, []*Vector{{Kind: VMap, Len: 1, Offsets: []int32{0, 1}, Children: []*Vector{null(*ints(1), 0), ints(1)}}}, "fluss: row: column 0 (MAP<INT NOT NULL, INT>): key (INT NOT NULL): null at position 0, need a value"},
		{"null field", []string{"ROW<a INT NOT NULL>"}, []*Vector{{Kind: VStruct, Len: 2, Nulls: []bool{true, false}, Children: []*Vector{null(*ints(1, 2), 0, 1)}}}, "fluss: row: column 0 (ROW<`a` INT NOT NULL>): field \"a\" (INT NOT NULL): null at position 1, need a value"},
		{"missing field vector", []string{"ROW<a INT>"}, []*Vector{{Kind: VStruct, Len: 1, Children: []*Vector{nil}}}, "fluss: row: column 0 (ROW<`a` INT>): field \"a\" (INT): no vector, need VInt32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := NewEncoder(mustParse(t, c.types...))
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Bind(c.cols); err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestBindIgnoresBelowNull checks that what stands in the slots of nulls, and
// anywhere below them, is not looked at.
func TestBindIgnoresBelowNull(t *testing.T) {
	types := mustParse(t, "TINYINT", "TIMESTAMP(6)", "DECIMAL(20, 2)", "ROW<a TINYINT NOT NULL, b ROW<c DECIMAL(30, 1) NOT NULL> NOT NULL>", "ARRAY<INT NOT NULL>")
	nulls := []bool{true, false}
	empty := &Vector{Kind: VBytes, Len: 2, Nulls: nulls, Offsets: []int32{0, 0, 1}, Data: []byte{5}}
	small := &Vector{Kind: VInt32, Len: 2, Nulls: nulls, Int32s: []int32{999, 1}}
	cols := []*Vector{
		small,
		{Kind: VTimestamp, Len: 2, Nulls: nulls, Int64s: []int64{-1, 1}, Nanos: []int32{-5, 1}},
		empty,
		{Kind: VStruct, Len: 2, Nulls: nulls, Children: []*Vector{small, {Kind: VStruct, Len: 2, Nulls: nulls, Children: []*Vector{empty}}}},
		{Kind: VList, Len: 2, Nulls: nulls, Offsets: []int32{2, 2, 3}, Children: []*Vector{{Kind: VInt32, Len: 3, Nulls: []bool{true, true, false}, Int32s: []int32{1, 2, 3}}}},
	}
	e, err := NewEncoder(types)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Bind(cols); err != nil {
		t.Fatal(err)
	}
	five := func(scale int) DecimalValue { return DecimalValue{fromTwosComplement([]byte{5}), scale} }
	for pos, want := range [][]any{
		{nil, nil, nil, nil, nil},
		{int8(1), TimestampValue{1, 1}, five(2), []any{int8(1), []any{five(1)}}, []any{int32(3)}},
	} {
		got, err := Decode(types, e.Append(nil, pos))
		if err != nil || !equalValue(got, want) {
			t.Errorf("row %d: %v %v, want %v", pos, got, err, want)
		}
		if c, bad := e.Unreadable(pos); bad {
			t.Errorf("row %d: unreadable in column %d", pos, c)
		}
	}
}

// TestWideDecimal checks that unscaled values with more bytes than needed, as in
// fixed-width files, are cut to Java's form.
func TestWideDecimal(t *testing.T) {
	wide := [][]byte{
		{0, 0, 0, 0}, {0, 0, 0x7f}, {0, 0, 0x80}, {0xff, 0xff, 0x80}, {0xff, 0x7f}, {0xff, 0xff, 0xff},
		append(make([]byte, 20), 1), append(bytes.Repeat([]byte{0xff}, 30), 0xfe),
	}
	least := [][]byte{{0}, {0x7f}, {0, 0x80}, {0x80}, {0xff, 0x7f}, {0xff}, {1}, {0xfe}}
	v := &Vector{Kind: VBytes, Len: len(wide), Offsets: []int32{0}}
	for _, w := range wide {
		v.Data = append(v.Data, w...)
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
	}
	types := mustParse(t, "DECIMAL(38, 0) NOT NULL")
	e, err := NewEncoder(types)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKeyEncoder(KeyPaimon, types)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Bind([]*Vector{v}); err != nil {
		t.Fatal(err)
	}
	if err := k.Bind([]*Vector{v}); err != nil {
		t.Fatal(err)
	}
	for i, want := range least {
		row := append([]byte{0, byte(len(want))}, want...)
		if got := e.Append(nil, i); !bytes.Equal(got, row) {
			t.Errorf("%x: row %x, want %x", wide[i], got, row)
		}
		key := append([]byte{7: 0, 8: byte(len(want)), 12: 16, 15: 0}, append(want, make([]byte, 16-len(want))...)...)
		if got := k.Append(nil, i); !bytes.Equal(got, key) {
			t.Errorf("%x: key %x, want %x", wide[i], got, key)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for _, c := range []struct {
		typ   string
		value any
		want  bool
	}{
		{"TIMESTAMP(6)", TimestampValue{-1, 1000}, true},
		{"TIMESTAMP_LTZ(9)", TimestampValue{-1, 999_999}, true},
		{"TIMESTAMP(6)", TimestampValue{-1, 0}, false},
		{"TIMESTAMP(6)", TimestampValue{0, 1000}, false},
		{"TIMESTAMP(3)", TimestampValue{-1, 0}, false},
		{"TIMESTAMP(6)", nil, false},
		{"ARRAY<TIMESTAMP(6)>", []any{TimestampValue{1, 1}, nil, TimestampValue{-1, 1}}, true},
		{"ARRAY<TIMESTAMP(6)>", []any{TimestampValue{1, 1}, nil}, false},
		{"MAP<TIMESTAMP(6), INT>", MapValue{{TimestampValue{-1, 1}, nil}}, true},
		{"MAP<INT, ROW<a INT, b ARRAY<TIMESTAMP_LTZ(4)>>>", MapValue{{int32(1), []any{nil, []any{TimestampValue{-5, 100_000}}}}}, true},
	} {
		types := mustParse(t, "TIMESTAMP(9)", c.typ)
		e, err := NewEncoder(types)
		if err != nil {
			t.Fatal(err)
		}
		// The rows beside it hold one in the other column, and none.
		bad := TimestampValue{-1, 1}
		cols, err := FromValues(types, [][]any{{bad, nil}, {nil, c.value}, {nil, nil}})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Bind(cols); err != nil {
			t.Fatal(err)
		}
		for pos, want := range []int{0, map[bool]int{true: 1, false: -1}[c.want], -1} {
			if got, ok := e.Unreadable(pos); got != want || ok != (want >= 0) {
				t.Errorf("%s %v: row %d: column %d %v, want %d", c.typ, c.value, pos, got, ok, want)
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	types := append(mustParse(t, "ARRAY<STRING>", "MAP<INT, ROW<a DECIMAL(30, 2), b TIMESTAMP(9)>>", "DECIMAL(38, 0)"), benchTypes...)
	r := newRand(3)
	rows := make([][]any, 100)
	for k := range rows {
		for _, typ := range types {
			rows[k] = append(rows[k], randomValue(r, typ))
		}
	}
	cols, err := FromValues(types, rows)
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(types)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []KeyFormat{KeyCompacted, KeyPaimon} {
		k, err := NewKeyEncoder(format, types[3:4])
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Bind(cols); err != nil {
			t.Fatal(err)
		}
		if err := k.Bind(cols[3:4]); err != nil {
			t.Fatal(err)
		}
		var b Batch
		n := testing.AllocsPerRun(5, func() {
			b.Reset(1)
			for i := range rows {
				e.Unreadable(i)
				b.Add(k, e, i, i)
			}
			b.Finish(1, 1)
		})
		if n != 0 {
			t.Errorf("%s key: %v allocations in %d rows, need none", format, n, len(rows))
		}
	}
}

func TestNewEncoderErrors(t *testing.T) {
	if _, err := NewEncoder(nil); err == nil {
		t.Error("no columns accepted")
	}
	for _, bad := range []DataType{
		{}, {Kind: 99}, {Kind: Decimal, Precision: 39}, {Kind: Decimal, Precision: 5, Scale: 6}, {Kind: Timestamp, Precision: 10},
		{Kind: Time, Precision: -1}, {Kind: Char}, {Kind: Array}, {Kind: Map, Key: &DataType{Kind: Int}},
		{Kind: Row, Fields: []Field{{Name: "x"}}},
	} {
		if _, err := NewEncoder([]DataType{{Kind: Int}, bad}); err == nil || !strings.HasSuffix(err.Error(), "(column 1)") {
			t.Errorf("%v: error %v", bad, err)
		}
		_ = bad.String() // must not panic
	}
	deep := DataType{Kind: Int}
	for range 100 {
		inner := deep
		deep = DataType{Kind: Array, Element: &inner}
	}
	if _, err := NewEncoder([]DataType{deep}); err == nil {
		t.Error("type of 100 levels accepted")
	}
	for _, typ := range []string{"ARRAY<INT>", "MAP<INT, INT>", "ROW<a INT>"} {
		if _, err := NewKeyEncoder(KeyPaimon, mustParse(t, typ)); err == nil {
			t.Errorf("key of %s accepted", typ)
		}
	}
	k, err := NewKeyEncoder(KeyCompacted, mustParse(t, "INT", "STRING"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "fluss: row: key column 1 (STRING NOT NULL): null at position 0, need a value"
	if _, err := k.AppendValues(nil, []any{int32(1), nil}); err == nil || err.Error() != want {
		t.Errorf("null in a compacted key: %v, want %s", err, want)
	}
	primary, bucket := KeyFormatOf("iceberg", 2, true)
	if _, err := NewKeyEncoder(bucket, mustParse(t, "INT")); err == nil || primary != 0 {
		t.Error("iceberg key accepted")
	}
	for _, n := range []int{Bucket("iceberg", nil, 4), Bucket("", nil, 0), Bucket("paimon", nil, -1)} {
		if n != -1 {
			t.Errorf("bucket %d, want -1", n)
		}
	}
}
