package row

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"strings"
	"testing"
)

func TestAppendValuesErrors(t *testing.T) {
	dec := func(x int64, scale int) DecimalValue { return DecimalValue{big.NewInt(x), scale} }
	for _, c := range []struct {
		typ   string
		value any
		want  string // the error behind "fluss: row: column 1 "
	}{
		{"INT", "x", "(INT): found a value of Go type string, need int32"},
		{"INT", 1, "(INT): found a value of Go type int, need int32"},
		{"STRING", []byte("x"), "(STRING): found a value of Go type []uint8, need string"},
		{"DECIMAL(4, 2)", dec(1, 3), "(DECIMAL(4, 2)): found a decimal of scale 3, need 2"},
		{"DECIMAL(4, 2)", dec(-10000, 2), "(DECIMAL(4, 2)): found unscaled value -10000, need at most 4 digits"},
		{"TIMESTAMP(3)", TimestampValue{1, 1}, "(TIMESTAMP(3)): found 1 nanoseconds within the millisecond, need 0 at precision 3"},
		{"TIMESTAMP(6)", TimestampValue{1, -1}, "(TIMESTAMP(6)): -1 nanoseconds within the millisecond at position 0, need 0 to 999999"},
		{"BOOLEAN NOT NULL", nil, "(BOOLEAN NOT NULL): null at position 0, need a value"},
		{"ARRAY<DATE>", []any{DateValue(1), TimeValue(1)}, "(ARRAY<DATE>): element (DATE): found a value of Go type row.TimeValue, need row.DateValue"},
		{"MAP<INT, INT>", MapValue{{int32(1), int64(1)}}, "(MAP<INT NOT NULL, INT>): value (INT): found a value of Go type int64, need int32"},
		{"MAP<INT, INT>", MapValue{{nil, int32(1)}}, "(MAP<INT NOT NULL, INT>): key (INT NOT NULL): null at position 0, need a value"},
		{"ROW<a INT>", []any{}, "(ROW<`a` INT>): found 0 values in a row, need one for each of 1 fields"},
		{"ROW<a INT>", []any{"x"}, "(ROW<`a` INT>): field \"a\" (INT): found a value of Go type string, need int32"},
	} {
		types := mustParse(t, "INT", c.typ)
		e, err := NewEncoder(types)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.AppendValues([]byte("kept"), []any{nil, c.value})
		if err == nil || err.Error() != "fluss: row: column 1 "+c.want || string(got) != "kept" {
			t.Errorf("%s %v: %q, error %v\nwant %s", c.typ, c.value, got, err, c.want)
		}
	}
	e, err := NewEncoder(mustParse(t, "INT"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.AppendValues(nil, nil); err == nil {
		t.Error("no values for one column accepted")
	}
}

func TestAppendValuesKeepsBatch(t *testing.T) {
	types := mustParse(t, "STRING")
	e, err := NewEncoder(types)
	if err != nil {
		t.Fatal(err)
	}
	cols, err := FromValues(types, [][]any{{"bound"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Bind(cols); err != nil {
		t.Fatal(err)
	}
	if _, err := e.AppendValues(nil, []any{"other"}); err != nil {
		t.Fatal(err)
	}
	if got := e.Append(nil, 0); string(got) != "\x00\x05bound" {
		t.Errorf("row %q", got)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ typ, hex, want string }{
		{"INT", "", "null bits: found 0 bytes, need 1"},
		{"INT", "00", "column 0 (INT): found 0 bytes, need a variable-length number"},
		{"INT", "00ffffffff1f", "column 0 (INT): found a variable-length number beyond 32 bits"},
		{"BIGINT", "00ffffffffffffffffff02", "column 0 (BIGINT): found a variable-length number beyond 64 bits"},
		{"INT", "000100", "1 bytes behind the last column"},
		{"INT NOT NULL", "01", "column 0 (INT NOT NULL): found null, need a value"},
		{"STRING", "000561", "column 0 (STRING): found 1 bytes, need 5"},
		{"STRING", "00ffffffff0f61", "column 0 (STRING): found a variable-length number beyond 31 bits"},
		{"DOUBLE", "0000000000", "column 0 (DOUBLE): found 4 bytes, need 8"},
		{"DECIMAL(4, 2)", "00a08d06", "column 0 (DECIMAL(4, 2)): found unscaled value 100000, need at most 4 digits"},
		{"DECIMAL(20, 2)", "0000", "column 0 (DECIMAL(20, 2)): found an unscaled value of 0 bytes, need 1 to 16"},
		{"TIMESTAMP(6)", "0000ffff7f", "column 0 (TIMESTAMP(6)): found 2097151 nanoseconds within the millisecond, need 0 to 999999"},
		{"ARRAY<INT>", "0003000000", "column 0 (ARRAY<INT>): array: found 3 bytes, need 4 for its size"},
		{"ARRAY<INT>", "0004ffffff7f", "column 0 (ARRAY<INT>): array of 2147483647 elements in 4 bytes"},
		{"ARRAY<INT>", "0004ffffffff", "column 0 (ARRAY<INT>): array of -1 elements in 4 bytes"},
		{"ARRAY<BOOLEAN>", "000800000000" + "00000000", ""},
		{"ARRAY<BOOLEAN>", "000804000000" + "00000000", "column 0 (ARRAY<BOOLEAN>): array of 4 elements: found 8 bytes, need 16"},
		{"ARRAY<STRING>", "0010" + "0100000000000000" + "0000000000000088", "column 0 (ARRAY<STRING>): element 0 (STRING): found an inline value of 8 bytes, need at most 7"},
		{"ARRAY<STRING>", "0010" + "0100000000000000" + "0100000008000000", "column 0 (ARRAY<STRING>): element 0 (STRING): found a reference to 1 bytes at 8, need them within 16 to 16"},
		{"MAP<INT, INT>", "0004ffffffff", "column 0 (MAP<INT NOT NULL, INT>): keys: found 0 bytes, need -1"},
		{"MAP<INT, INT>", "001c" + "10000000" + "0100000000000000" + "0100000000000000" + "0000000000000000", "column 0 (MAP<INT NOT NULL, INT>): found 1 keys and 0 values"},
		{"ROW<a INT>", "0000", "column 0 (ROW<`a` INT>): null bits: found 0 bytes, need 1"},
		{"ROW<a INT>", "000100", "column 0 (ROW<`a` INT>): field \"a\" (INT): found 0 bytes, need a variable-length number"},
	} {
		data := mustHex(t, c.hex)
		got, err := Decode(mustParse(t, c.typ), data)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s %s: %v", c.typ, c.hex, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "fluss: row: decoding ") || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%s %s: %v, error %v\nwant %s", c.typ, c.hex, got, err, c.want)
		}
	}
}

// TestDecodeSharedReference checks that array elements can't refer to the same
// bytes, which would let a small row unfold into a large one.
func TestDecodeSharedReference(t *testing.T) {
	types := mustParse(t, "ARRAY<STRING>")
	e, err := NewEncoder(types)
	if err != nil {
		t.Fatal(err)
	}
	data, err := e.AppendValues(nil, []any{[]any{"eight by", "eight by"}})
	if err != nil {
		t.Fatal(err)
	}
	second := data[2+8+8:] // null bits and length, header, first slot
	binary.LittleEndian.PutUint64(second, 24<<32|8)
	if _, err := Decode(types, data); err == nil {
		t.Error("two elements with the same bytes accepted")
	}
}

func TestDecodeKeyErrors(t *testing.T) {
	for _, c := range []struct {
		format KeyFormat
		typ    string
		data   []byte
	}{
		{KeyPaimon, "INT", make([]byte, 15)},
		{KeyPaimon, "INT", append([]byte{1}, make([]byte, 15)...)},
		{KeyPaimon, "INT NOT NULL", append([]byte{0, 1}, make([]byte, 14)...)},
		{KeyCompacted, "INT", []byte{0, 0}},
		{KeyCompacted, "INT", nil},
		{KeyCompacted, "ARRAY<INT>", []byte{0}},
		{0, "INT", []byte{0}},
	} {
		if got, err := DecodeKey(c.format, mustParse(t, c.typ), c.data); err == nil {
			t.Errorf("%s %s %x: %v", c.format, c.typ, c.data, got)
		}
	}
}

func TestDecodeBatchErrors(t *testing.T) {
	var b Batch
	b.Reset(1)
	b.AddRaw([]byte{1}, []byte("row"))
	whole := bytes.Clone(b.Finish(1, 0))
	for name, damage := range map[string]func([]byte) []byte{
		"short":    func(d []byte) []byte { return d[:20] },
		"cut":      func(d []byte) []byte { return d[:len(d)-1] },
		"longer":   func(d []byte) []byte { return append(d, 0) },
		"magic":    func(d []byte) []byte { d[offsetMagic] = 1; return d },
		"bit flip": func(d []byte) []byte { d[len(d)-1] ^= 1; return d },
	} {
		if got, err := DecodeBatch(damage(bytes.Clone(whole))); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := DecodeBatch(whole); err != nil {
		t.Error(err)
	}
}

// TestBatchWidths checks keys and rows on both sides of the one-byte length.
func TestBatchWidths(t *testing.T) {
	types := mustParse(t, "STRING NOT NULL")
	for _, format := range []KeyFormat{KeyCompacted, KeyPaimon} {
		k, err := NewKeyEncoder(format, types)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEncoder(types)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]any
		for _, n := range []int{0, 7, 8, 15, 16, 17, 103, 104, 126, 127, 128, 129, 16383, 16384, 70000} {
			rows = append(rows, []any{strings.Repeat("x", n)})
		}
		cols, err := FromValues(types, rows)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Bind(cols); err != nil {
			t.Fatal(err)
		}
		if err := e.Bind(cols); err != nil {
			t.Fatal(err)
		}
		var b Batch // the zero Batch is of schema 0
		for i := range rows {
			b.Add(k, e, i, i)
		}
		back, err := DecodeBatch(b.Finish(NoWriter, NoSequence))
		if err != nil || len(back.Records) != len(rows) {
			t.Fatalf("%v %v", back, err)
		}
		for i, r := range back.Records {
			key, err := DecodeKey(format, types, r.Key)
			if err != nil || !equalValue(key, rows[i]) {
				t.Errorf("%s key %d: %v", format, i, err)
			}
			row, err := Decode(types, r.Row)
			if err != nil || !equalValue(row, rows[i]) {
				t.Errorf("row %d: %v", i, err)
			}
		}
	}
	var empty Batch
	if back, err := DecodeBatch(empty.Finish(1, 2)); err != nil || len(back.Records) != 0 || empty.Size() != batchHeader {
		t.Errorf("empty batch: %+v %v", back, err)
	}
}

func TestPutVarint(t *testing.T) {
	for shift := range 65 {
		for _, d := range []uint64{0, 1, ^uint64(0)} {
			u := uint64(1)<<shift + d
			var got, want [16]byte
			n := putVarint(got[:], 0, u)
			m := binary.PutUvarint(want[:], u)
			if n != m || !bytes.Equal(got[:n], want[:m]) {
				t.Errorf("%d: %x, want %x", u, got[:n], want[:m])
			}
		}
	}
}

func TestParseTypeErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `found "" at position 0, need a type name`},
		{"VARCHAR(3)", `found "VARCHAR(3)" at position 0, need a type name`},
		{"INT NOT", `found " NOT" at position 3, need NOT NULL`},
		{"INT INT", `found "INT" at position 4, need the end of the type`},
		{"CHAR(x)", `found "x)" at position 5, need a number up to 2147483647`},
		{"CHAR(3", `found "" at position 6, need a closing parenthesis`},
		{"ARRAY INT", `found "INT" at position 6, need '<'`},
		{"MAP<INT>", `found ">" at position 7, need ','`},
		{"ROW<`a INT>", "need a closing '`'"},
		{"ROW<a INT b INT>", `found "b INT>" at position 10, need ',' or '>'`},
		{"DECIMAL(39, 2)", "type DECIMAL: precision 39, need 1 to 38 in \"DECIMAL(39, 2)\""},
		{"ROW<a CHAR(0)>", "type CHAR: length 0, need 1 to 2147483647 (field \"a\") in \"ROW<a CHAR(0)>\""},
		{strings.Repeat("ARRAY<", 100), "type nested deeper than 64 levels"},
	} {
		got, err := ParseType(c.text)
		if err == nil || !strings.HasPrefix(err.Error(), "fluss: row: ") || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%q: %v, error %v\nwant %s", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"decimal":                          "DECIMAL(10, 0)",
		"TIMESTAMP null":                   "TIMESTAMP(6)",
		" TIME NOT NULL ":                  "TIME(0) NOT NULL",
		"MAP<CHAR,BINARY(2)>":              "MAP<CHAR(1) NOT NULL, BINARY(2)>",
		"ROW<a INT 'it''s', `b``c` ROW<>>": "ROW<`a` INT 'it''s', `b``c` ROW<>>",
	} {
		if got, err := ParseType(text); err != nil || got.String() != want {
			t.Errorf("%q: %v %v, want %s", text, got, err, want)
		}
	}
}
