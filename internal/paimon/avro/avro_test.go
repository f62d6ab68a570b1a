package avro

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	lib "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
	"github.com/klauspost/compress/snappy"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// TestTypes reads one column of every pair of a writer's type and a wanted one
// that goes together.
func TestTypes(t *testing.T) {
	long := func(values ...int64) func(w *lib.Writer) {
		return func(w *lib.Writer) {
			for _, v := range values {
				w.WriteLong(v)
			}
		}
	}
	text := func(values ...string) func(w *lib.Writer) {
		return func(w *lib.Writer) {
			for _, v := range values {
				w.WriteString(v)
			}
		}
	}
	logical := func(kind, name string) string {
		return fmt.Sprintf(`{"type":"%s","logicalType":"%s","precision":30,"scale":2}`, kind, name)
	}
	wide := strings.Repeat("\xff", 15) + "\x00" // -256 in 16 bytes
	for _, c := range []struct {
		name, writer string
		t            vector.Type
		count        int64
		write        func(w *lib.Writer)
		want         []string
	}{
		{"boolean", `"boolean"`, of(vector.LogicalBoolean), 2, func(w *lib.Writer) { w.WriteBool(true); w.WriteBool(false) }, []string{"true", "false"}},
		{"tinyint", `"int"`, of(vector.LogicalInt8), 2, long(-128, 127), []string{"-128", "127"}},
		{"smallint", `"int"`, of(vector.LogicalInt16), 2, long(-32768, 32767), []string{"-32768", "32767"}},
		{"int", `"int"`, of(vector.LogicalInt32), 4, long(math.MinInt32, math.MaxInt32, 0, -1), []string{"-2147483648", "2147483647", "0", "-1"}},
		{"long as int", `"long"`, of(vector.LogicalInt32), 1, long(5), []string{"5"}},
		{"long", `"long"`, of(vector.LogicalInt64), 6, long(math.MinInt64, math.MaxInt64, 63, -64, 64, 1<<48),
			[]string{"-9223372036854775808", "9223372036854775807", "63", "-64", "64", "281474976710656"}},
		{"int as long", `"int"`, of(vector.LogicalInt64), 1, long(-7), []string{"-7"}},
		{"float", `"float"`, of(vector.LogicalFloat), 2, func(w *lib.Writer) { w.WriteFloat(1.5); w.WriteFloat(float32(math.Inf(-1))) }, []string{`"1.5"`, `"-Inf"`}},
		{"double", `"double"`, of(vector.LogicalDouble), 2, func(w *lib.Writer) { w.WriteDouble(math.NaN()); w.WriteDouble(math.Copysign(0, -1)) }, []string{`"NaN"`, `"-0"`}},
		{"float as double", `"float"`, of(vector.LogicalDouble), 1, func(w *lib.Writer) { w.WriteFloat(0.25) }, []string{`"0.25"`}},
		{"string", `"string"`, of(vector.LogicalString), 3, text("", "é日本😀", "a\x00b"), []string{`""`, `"é日本😀"`, `"a\u0000b"`}},
		{"bytes as string", `"bytes"`, of(vector.LogicalString), 1, text("x"), []string{`"x"`}},
		{"uuid", logical("string", "uuid"), of(vector.LogicalString), 1, text("u"), []string{`"u"`}},
		{"bytes", `"bytes"`, of(vector.LogicalBinary), 2, text("", "\x00\xff"), []string{`""`, `"00ff"`}},
		{"fixed", `{"type":"fixed","name":"f","size":2}`, of(vector.LogicalBinary), 1, func(w *lib.Writer) { w.Write([]byte{1, 2}) }, []string{`"0102"`}},
		{"decimal", logical("bytes", "decimal"), decimalOf(18, 2), 4, text("\x7f", "\x80", "\x00\x80", wide), []string{`"127e-2"`, `"-128e-2"`, `"128e-2"`, `"-256e-2"`}},
		{"long decimal", logical("bytes", "decimal"), decimalOf(38, 2), 3, text("\x01"+strings.Repeat("\x00", 15), wide, "\x00\x00\x05"),
			[]string{`"1329227995784915872903807060280344576e-2"`, `"-256e-2"`, `"5e-2"`}},
		{"fixed decimal", `{"type":"fixed","name":"f","size":4,"logicalType":"decimal","precision":9,"scale":2}`, decimalOf(9, 2), 1,
			func(w *lib.Writer) { w.Write([]byte{0xff, 0xff, 0xff, 0xfe}) }, []string{`"-2e-2"`}},
		{"int decimal", `"int"`, decimalOf(10, 0), 1, long(-3), []string{`"-3e-0"`}},
		{"long as long decimal", `"long"`, decimalOf(20, 0), 3, long(-129, 0, math.MaxInt64), []string{`"-129e-0"`, `"0e-0"`, `"9223372036854775807e-0"`}},
		{"date", logical("int", "date"), of(vector.LogicalDate), 2, long(-1, 19844), []string{`"1969-12-31"`, `"2024-05-01"`}},
		{"time", logical("int", "time-millis"), timeOf(3), 2, long(0, 86_399_999), []string{`"00:00:00.000"`, `"23:59:59.999"`}},
		{"time in micros", logical("long", "time-micros"), timeOf(6), 1, long(1_999), []string{`"00:00:00.001"`}},
		{"timestamp(3)", logical("long", "timestamp-millis"), timestampOf(3), 2, long(-1, 1), []string{`"1969-12-31 23:59:59.999000"`, `"1970-01-01 00:00:00.001000"`}},
		{"timestamp(6)", logical("long", "timestamp-micros"), timestampOf(6), 3, long(-1, 1_001, math.MinInt64/1_000_000),
			[]string{`"1969-12-31 23:59:59.999999"`, `"1970-01-01 00:00:00.001001"`, `"1969-09-16 05:57:07.963146"`}},
		{"timestamp_ltz", logical("long", "local-timestamp-micros"), timestampOf(6), 1, long(-1_000_001), []string{`"1969-12-31 23:59:58.999999"`}},
		{"millis as timestamp(6)", logical("long", "local-timestamp-millis"), timestampOf(6), 1, long(-1), []string{`"1969-12-31 23:59:59.999000"`}},
		{"micros as timestamp(0)", logical("long", "timestamp-micros"), timestampOf(0), 1, long(-1), []string{`"1969-12-31 23:59:59.999000"`}},
		{"nullable", `["null","long"]`, of(vector.LogicalInt64), 3, long(1, 5, 0, 1, 6), []string{"5", "null", "6"}},
		{"null last", `["long","null"]`, of(vector.LogicalInt64), 3, long(0, 5, 1, 0, 6), []string{"5", "null", "6"}},
		{"union of one", `["long"]`, of(vector.LogicalInt64), 1, long(0, 5), []string{"5"}},
		{"array", `{"type":"array","items":["null","int"]}`, listOf(of(vector.LogicalInt32)), 4,
			// two runs, of which the second says its bytes; none; a null; one
			long(2, 1, 7, 0, -1, 2, 1, 8, 0 /**/, 0 /**/, 1, 0, 0 /**/, 1, 1, 9, 0), []string{"[7,null,8]", "[]", "[null]", "[9]"}},
		{"map", `{"type":"map","values":["null","long"]}`, mapOf(of(vector.LogicalString), of(vector.LogicalInt64)), 2,
			func(w *lib.Writer) {
				w.WriteLong(2)
				w.WriteString("a")
				w.WriteLong(1)
				w.WriteLong(5)
				w.WriteString("")
				w.WriteLong(0)
				w.WriteLong(0)
				w.WriteLong(0)
			}, []string{`[["a",5],["",null]]`, "[]"}},
		{"map of any key", `["null",{"type":"array","items":{"type":"record","name":"kv","fields":[{"name":"key","type":["null","int"]},{"name":"value","type":["null","long"]}]},"logicalType":"map"}]`,
			mapOf(of(vector.LogicalInt32), of(vector.LogicalInt64)), 3, long(1, 2, 1, 3, 1, 30, 0, 0, 0 /**/, 0 /**/, 1, 0), []string{"[[3,30],[null,null]]", "null", "[]"}},
		{"row", `["null",{"type":"record","name":"r","fields":[{"name":"b","type":"long"},{"name":"gone","type":"string"},{"name":"a","type":["null","int"]}]}]`,
			structOf(col("a", of(vector.LogicalInt32)), col("new", listOf(of(vector.LogicalDate))), col("b", of(vector.LogicalInt64))), 3,
			func(w *lib.Writer) {
				for _, v := range []int64{1, 2, 3} {
					w.WriteLong(1)
					w.WriteLong(v)
					w.WriteString("skipped")
					w.WriteLong(v & 1)
					if v&1 == 1 {
						w.WriteLong(10 * v)
					}
					if v == 2 {
						w.WriteLong(0)
					}
				}
			}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			block := values(c.write)
			if c.want == nil { // three rows and a null between them
				wantRows(t, file(recordOf(c.writer), "null", 4, block), []string{"[[10,null,1]]", "[[null,null,2]]", "[null]", "[[30,null,3]]"}, col("x", c.t))
				return
			}
			for i := range c.want {
				c.want[i] = "[" + c.want[i] + "]"
			}
			wantRows(t, file(recordOf(c.writer), "null", c.count, block), c.want, col("x", c.t))
			// Two blocks of it, and nothing read of them.
			wantRows(t, file(recordOf(c.writer), "null", c.count, block, block), append(c.want, c.want...), col("x", c.t))
			if rows, err := readText(file(recordOf(c.writer), "null", c.count, block, block), 0); err != nil || int64(len(rows)) != 2*c.count {
				t.Errorf("no column: %d rows, %v", len(rows), err)
			}
		})
	}
}

// TestMismatches makes sure that what does not go together is refused, naming
// file, column, what was found and what is wanted.
func TestMismatches(t *testing.T) {
	timestamp9, dec := timestampOf(9), decimalOf(10, 3)
	for _, c := range []struct {
		writer string
		t      vector.Type
		has    []string
	}{
		{`"string"`, of(vector.LogicalInt32), []string{`column "x" is string`, "INT32"}},
		{`["null","string"]`, of(vector.LogicalInt64), []string{"is string", "INT64"}},
		{`"int"`, of(vector.LogicalString), []string{"is int", "STRING"}},
		{`"long"`, of(vector.LogicalBoolean), []string{"is long", "BOOLEAN"}},
		{`"double"`, of(vector.LogicalFloat), []string{"is double", "FLOAT"}},
		{`{"type":"int","logicalType":"date"}`, of(vector.LogicalInt32), []string{"int (date)", "INT32"}},
		{`{"type":"long","logicalType":"timestamp-millis"}`, of(vector.LogicalInt64), []string{"long (timestamp-millis)", "INT64"}},
		{`{"type":"long","logicalType":"timestamp-nanos"}`, timestampOf(6), []string{"long (timestamp-nanos)", "TIMESTAMP(6)"}},
		{`{"type":"long","logicalType":"timestamp-micros"}`, timestamp9, []string{"long (timestamp-micros)", "TIMESTAMP(9)"}},
		{`"long"`, timestampOf(3), []string{"is long", "TIMESTAMP(3)"}},
		{`{"type":"int","logicalType":"time-millis"}`, timeOf(6), []string{"int (time-millis)", "TIME(6)"}},
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, dec, []string{"scale 2", "wanted 3"}},
		{`{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, of(vector.LogicalBinary), []string{"bytes (decimal(10, 2))", "BINARY"}},
		{`"bytes"`, decimalOf(10, 0), []string{"is bytes", "DECIMAL(10, 0)"}},
		{`["null","int","string"]`, of(vector.LogicalInt32), []string{"a union of null, int, string", "INT32"}},
		{`["null"]`, of(vector.LogicalInt32), []string{"a union of null", "INT32"}},
		{`"null"`, of(vector.LogicalInt32), []string{"is null", "INT32"}},
		{`{"type":"enum","name":"e","symbols":["A"]}`, of(vector.LogicalString), []string{"is enum", "STRING"}},
		{`{"type":"array","items":"int"}`, of(vector.LogicalInt32), []string{"array of int", "INT32"}},
		{`{"type":"array","items":"string"}`, listOf(of(vector.LogicalInt32)), []string{`"x.element" is string`, "INT32"}},
		{`{"type":"array","items":"int"}`, mapOf(of(vector.LogicalInt32), of(vector.LogicalInt32)), []string{"array of int", "MAP"}},
		{`{"type":"map","values":"int"}`, mapOf(of(vector.LogicalInt32), of(vector.LogicalInt32)), []string{`"x.key" is string`, "INT32"}},
		{`{"type":"map","values":"int"}`, structOf(), []string{"map of int", "STRUCT"}},
		{`{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}`, structOf(col("a", of(vector.LogicalString))), []string{`"x.a" is int`, "STRING"}},
		{`"int"`, vector.Type{Kind: 99}, []string{"unknown kind 99"}},
	} {
		_, err := readText(file(recordOf(c.writer), "null", 0), 0, col("x", c.t))
		for _, text := range append(c.has, `reading Avro file "some.avro"`) {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s as %s: %v, want %q", c.writer, c.t, err, text)
			}
		}
	}
}

// TestBadValues makes sure that a value that the wanted type can't hold, and
// bytes that are no value, are errors that name the column and the block.
func TestBadValues(t *testing.T) {
	long := func(v ...int64) []byte {
		return values(func(w *lib.Writer) {
			for _, v := range v {
				w.WriteLong(v)
			}
		})
	}
	for name, c := range map[string]struct {
		writer string
		t      vector.Type
		block  []byte
		is     error
		has    string
	}{
		"tinyint of 128":    {`"int"`, of(vector.LogicalInt8), long(128), ErrUnsupported, "value 128 does not fit the wanted range -128 to 127"},
		"int of 2^31":       {`"int"`, of(vector.LogicalInt32), long(1 << 31), ErrUnsupported, "does not fit"},
		"time of a day":     {`"int"`, timeOf(0), long(86_400_000), ErrUnsupported, "does not fit"},
		"boolean of 2":      {`"boolean"`, of(vector.LogicalBoolean), []byte{2}, ErrCorrupt, "boolean of the byte 2"},
		"branch 2 of 2":     {`["null","int"]`, of(vector.LogicalInt32), long(2, 0), ErrCorrupt, "branch 2 of a union of 2"},
		"branch -1":         {`["null","int"]`, of(vector.LogicalInt32), long(-1, 0), ErrCorrupt, "branch -1"},
		"branch 1 of 1":     {`["int"]`, of(vector.LogicalInt32), long(1, 0), ErrCorrupt, "branch 1 of a union of 1"},
		"number too long":   {`"long"`, of(vector.LogicalInt64), bytes.Repeat([]byte{0xff}, 12), ErrCorrupt, "more than 64 bits"},
		"string cut":        {`"string"`, of(vector.LogicalString), long(1 << 40), ErrCorrupt, "end too early"},
		"negative length":   {`"string"`, of(vector.LogicalString), long(-1), ErrCorrupt, "end too early"},
		"double cut":        {`"double"`, of(vector.LogicalDouble), []byte{1, 2}, ErrCorrupt, "end too early"},
		"no decimal":        {`{"type":"bytes","logicalType":"decimal","precision":4}`, decimalOf(4, 0), long(0), ErrCorrupt, "decimal without bytes"},
		"no long decimal":   {`{"type":"bytes","logicalType":"decimal","precision":20}`, decimalOf(20, 0), long(0), ErrCorrupt, "decimal without bytes"},
		"decimal too large": {`{"type":"bytes","logicalType":"decimal","precision":20}`, decimalOf(18, 0), append([]byte{18, 1}, make([]byte, 8)...), ErrUnsupported, "decimal of 9 bytes"},
		"decimal of 17":     {`{"type":"bytes","logicalType":"decimal","precision":38}`, decimalOf(38, 0), append([]byte{34, 1}, make([]byte, 16)...), ErrUnsupported, "decimal of 17 bytes"},
		"array of 2^60":     {`{"type":"array","items":"int"}`, listOf(of(vector.LogicalInt32)), long(1<<60, 0), ErrCorrupt, "more elements than the block has bytes"},
		"array of -2^63":    {`{"type":"array","items":"int"}`, listOf(of(vector.LogicalInt32)), long(math.MinInt64, 1), ErrCorrupt, "impossible count"},
		"bytes left":        {`"int"`, of(vector.LogicalInt32), long(1, 2), ErrCorrupt, "bytes after its last record"},
	} {
		_, err := readText(file(recordOf(c.writer), "null", 1, c.block), 0, col("x", c.t))
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.has) || !strings.Contains(err.Error(), "block at offset") {
			t.Errorf("%s: %v, want %q", name, err, c.has)
		}
		if name != "bytes left" && !strings.Contains(err.Error(), `column "x"`) {
			t.Errorf("%s: %v does not name the column", name, err)
		}
		// A skipped column is walked with the same care, save for the meaning.
		if _, err := readText(file(recordOf(c.writer), "null", 1, c.block), 0); c.is == ErrCorrupt && c.has != "decimal without bytes" && c.has != "boolean of the byte 2" && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s, skipped: %v", name, err)
		}
	}
}

// TestOneRowTooLarge makes sure that elements that are tiny in the file and not
// in memory do not take all of it.
func TestOneRowTooLarge(t *testing.T) {
	var fields []vector.Column
	for i := range 2000 {
		fields = append(fields, col(fmt.Sprint("f", i), timestampOf(6)))
	}
	block := values(func(w *lib.Writer) {
		w.WriteLong(1 << 20)
		w.Write(make([]byte, 1<<20+1))
	})
	_, err := readText(file(recordOf(`{"type":"array","items":["null",{"type":"record","name":"r","fields":[]}]}`), "null", 1, block), 0, col("x", listOf(structOf(fields...))))
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "one row takes more than") {
		t.Error(err)
	}
}

// TestBatchesOfLargeRows makes sure that batches are cut by their bytes too.
func TestBatchesOfLargeRows(t *testing.T) {
	block := values(func(w *lib.Writer) { w.WriteBytes(make([]byte, 5<<19)) })
	data := file(recordOf(`"bytes"`), "null", 1, block, block, block, block, block)
	f, err := Open(bytes.NewReader(data), int64(len(data)), "large")
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Read([]vector.Column{col("x", of(vector.LogicalBinary))}, vector.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{4, 1} {
		if _, n, err := r.Next(); err != nil || n != want {
			t.Errorf("%d rows, %v, want %d", n, err, want)
		}
	}
	if _, _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Read(nil, vector.ReadOptions{BatchRows: -1}); err == nil {
		t.Error("batches of -1 rows")
	}
	r, _ = f.Read(nil, vector.ReadOptions{})
	r.Close()
	if _, _, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
}

func TestColumns(t *testing.T) {
	data := file(`{"type":"record","name":"r","fields":[{"name":"größe-1","type":"int"},{"name":"_VALUE_KIND","type":"int"}]}`, "null", 1, []byte{2, 4})
	f, err := Open(bytes.NewReader(data), int64(len(data)), "f")
	if err != nil {
		t.Fatal(err)
	}
	if !f.Has("größe-1") || f.Has("x") || fmt.Sprint(f.Columns()) != "[größe-1 _VALUE_KIND]" || f.NumRows() != -1 {
		t.Errorf("%v, %d rows", f.Columns(), f.NumRows())
	}
	wantRows(t, data, []string{"[2,1]"}, col("_VALUE_KIND", of(vector.LogicalInt8)), col("größe-1", of(vector.LogicalInt32)))
	for _, columns := range [][]vector.Column{{col("x", of(vector.LogicalInt8))}, {col("_VALUE_KIND", of(vector.LogicalInt8)), col("_VALUE_KIND", of(vector.LogicalInt8))}} {
		if _, err := f.Read(columns, vector.ReadOptions{}); err == nil || !strings.Contains(err.Error(), columns[0].Name) {
			t.Errorf("%v: %v", columns, err)
		}
	}
}

// codecs packs a block by each codec but bzip2, which nothing here writes.
func codecs(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		var b bytes.Buffer
		e, err := ocf.NewEncoder(recordOf(`"string"`), &b, ocf.WithCodec(codec), ocf.WithBlockLength(2))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if err := e.Encode(map[string]any{"x": strings.Repeat("x", 100*i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		out[string(codec)] = b.Bytes()
	}
	// "x" five times, by Python's bz2.
	out["bzip2"] = file(recordOf(`"string"`), "bzip2", 5, []byte("\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xa7\x2a\x38\x0a\x00\x00\x02\x40\x80\x10\x00\x00\x40\x20\x00\x21\x00\x82\x49\x31\x77\x24\x53\x85\x09\x0a\x72\xa3\x80\xa0"))
	return out
}

func TestCodecs(t *testing.T) {
	for codec, data := range codecs(t) {
		rows, err := readText(data, 0, col("x", of(vector.LogicalString)))
		if err != nil || len(rows) != 5 {
			t.Errorf("%s: %q, %v", codec, rows, err)
			continue
		}
		for i, row := range rows {
			want := strings.Repeat("x", 100*i)
			if codec == "bzip2" {
				want = "x"
			}
			if row != `["`+want+`"]` {
				t.Errorf("%s: row %d is %s", codec, i, row)
			}
		}
	}
	for _, codec := range []string{"xz", "lzma", "lz4"} {
		if _, err := readText(file(recordOf(`"int"`), codec, 1, []byte{0}), 0, col("x", of(vector.LogicalInt32))); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), codec) {
			t.Errorf("%s: %v", codec, err)
		}
	}
}

// TestBombs makes sure that a block that unpacks to far more than it should is
// an error that did not take its memory first.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var deflated bytes.Buffer
	w, err := flate.NewWriter(&deflated, 9)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		w.Write(zeros)
	}
	w.Close()
	u := unpacker{}
	if _, err := u.unpack("deflate", deflated.Bytes(), 10<<20); !errors.Is(err, ErrUnsupported) || cap(u.out) > 32<<20 {
		t.Errorf("deflate: %v, %d bytes taken", err, cap(u.out))
	}
	if _, err := u.unpack("snappy", append(snappy.Encode(nil, zeros), 0, 0, 0, 0), 1<<10); !errors.Is(err, ErrUnsupported) {
		t.Errorf("snappy: %v", err)
	}
	lie := append([]byte{0xff, 0xff, 0xff, 0x7f}, make([]byte, 8)...) // 256 MiB, it says
	if _, err := u.unpack("snappy", lie, 1<<30); !errors.Is(err, ErrCorrupt) {
		t.Errorf("snappy that lies: %v", err)
	}
	zstdLie := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0x0f, 0, 0, 0, 0, 1, 0, 0} // a frame of 240 MiB, it says
	if _, err := u.unpack("zstandard", zstdLie, 1<<30); !errors.Is(err, ErrCorrupt) {
		t.Errorf("zstandard that lies: %v", err)
	}
}

// TestPypaimon reads what pypaimon wrote, value by value (testdata/README.md).
func TestPypaimon(t *testing.T) {
	want, err := os.ReadFile("testdata/pypaimon.json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/pypaimon.avro")
	if err != nil {
		t.Fatal(err)
	}
	columns := []vector.Column{
		col("b", of(vector.LogicalBoolean)), col("i8", of(vector.LogicalInt8)), col("i16", of(vector.LogicalInt16)), col("i32", of(vector.LogicalInt32)),
		col("i64", of(vector.LogicalInt64)), col("f", of(vector.LogicalFloat)), col("d", of(vector.LogicalDouble)), col("s", of(vector.LogicalString)),
		col("bin", of(vector.LogicalBinary)), col("dec9", decimalOf(9, 2)), col("dec38", decimalOf(38, 10)), col("day", of(vector.LogicalDate)),
		col("t", timeOf(0)), col("ts3", timestampOf(3)), col("ts6", timestampOf(6)), col("ltz6", timestampOf(6)),
		col("arr", listOf(of(vector.LogicalInt32))), col("st", structOf(col("x", of(vector.LogicalString)), col("y", of(vector.LogicalInt64)))),
	}
	rows, err := readText(data, 0, columns...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(want)), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d rows, want %d", len(rows), len(lines))
	}
	for i, line := range lines {
		if line = strings.ReplaceAll(line, ", ", ","); rows[i] != line {
			t.Errorf("row %d is\n%s\nwant\n%s", i, rows[i], line)
		}
	}
}
