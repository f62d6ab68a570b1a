package paimon

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

func TestConversions(t *testing.T) {
	dec := func(s string, scale int) DecimalValue {
		n, ok := new(big.Int).SetString(s, 10)
		if !ok {
			t.Fatal(s)
		}
		return DecimalValue{n, scale}
	}
	for _, c := range []struct {
		old, new string
		values   []any
		want     string
	}{
		{"TINYINT", "SMALLINT", []any{int8(-128), nil}, `-128 null`},
		{"SMALLINT", "INT", []any{int16(300)}, `300`},
		{"INT", "BIGINT", []any{int32(-2147483648), nil, int32(7)}, `-2147483648 null 7`},
		{"INT", "FLOAT", []any{int32(16777217)}, `1.6777216E7`},
		{"BIGINT", "DOUBLE", []any{int64(1 << 60)}, `1.152921504606847E18`},
		{"FLOAT", "DOUBLE", []any{float32(1.1), nil}, `1.100000023841858 null`},
		{"INT", "STRING", []any{int32(-5), nil}, `-5 null`},
		{"BIGINT", "STRING", []any{int64(9223372036854775807)}, `9223372036854775807`},
		{"BOOLEAN", "STRING", []any{true, false, nil}, `true false null`},
		{"DATE", "STRING", []any{DateValue(-1)}, `1969-12-31`},
		{"DECIMAL(5, 2)", "STRING", []any{dec("-5", 2)}, `-0.05`},
		{"DECIMAL(30, 2)", "STRING", []any{dec("-500", 2), dec("12345678901234567890", 2)}, `-5.00 123456789012345678.90`},
		{"DECIMAL(5, 2)", "DECIMAL(9, 4)", []any{dec("-12345", 2), nil}, `-123.4500 null`},
		{"DECIMAL(5, 2)", "DECIMAL(7, 2)", []any{dec("1", 2)}, `0.01`},
		{"DECIMAL(18, 6)", "DECIMAL(20, 6)", []any{dec("-999999999999999999", 6), dec("0", 6), dec("-128000000", 6), nil}, `-999999999999.999999 0.000000 -128.000000 null`},
		{"DECIMAL(20, 4)", "DECIMAL(38, 10)", []any{dec("-12345678901234567890", 4), dec("255", 4)}, `-1234567890123456.7890000000 0.0255000000`},
		{"VARCHAR(5)", "STRING", []any{"x", nil}, `x null`},
		{"CHAR(3)", "VARCHAR(3)", []any{"a  "}, `a  `},
		{"BINARY(2)", "BYTES", []any{[]byte{1, 255}}, `01ff`},
		{"TIMESTAMP(3)", "TIMESTAMP(9)", []any{TimestampValue{Millis: -1}, nil}, `1969-12-31 23:59:59.999000000 null`},
		{"TIMESTAMP(6)", "TIMESTAMP(9)", []any{TimestampValue{0, 1000}}, `1970-01-01 00:00:00.000001000`},
		{"TIMESTAMP(0)", "TIMESTAMP(3)", []any{TimestampValue{Millis: 1000}}, `1970-01-01 00:00:01.000`},
		{"TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)", []any{TimestampValue{Millis: 1}}, `1970-01-01 00:00:00.001000Z`},
	} {
		old, new := parseTypeText(t, c.old), parseTypeText(t, c.new)
		convert, err := newConverter(old, new)
		if err != nil {
			t.Errorf("%s to %s: %v", c.old, c.new, err)
			continue
		}
		// Twice, and shorter the second time: buffers are reused.
		for n := len(c.values); n >= len(c.values)-1 && n > 0; n-- {
			parts := make([]*vector.Vector, n)
			for i := range parts {
				parts[i] = constant(old, c.values[i], 1)
			}
			src := concat(old, parts)
			for i, v := range c.values[:n] {
				if v == nil {
					if src.Nulls == nil {
						src.Nulls = make([]bool, n)
					}
					src.Nulls[i] = true
				}
			}
			if convert != nil {
				src = convert(src)
			}
			if src.Kind != vectorKind(new) || src.Len != n {
				t.Errorf("%s to %s: kind %d, length %d; want %d, %d", c.old, c.new, src.Kind, src.Len, vectorKind(new), n)
				continue
			}
			var got []string
			for i := range n {
				if src.IsNull(i) {
					got = append(got, "null")
				} else {
					got = append(got, string(appendScalar(nil, new, src, i)))
				}
			}
			if want := strings.Join(strings.Split(c.want, " "), " "); n == len(c.values) && strings.Join(got, " ") != want {
				t.Errorf("%s to %s: %s, want %s", c.old, c.new, strings.Join(got, " "), want)
			}
		}
	}
}

func TestConversionsRefused(t *testing.T) {
	for _, pair := range []string{"BIGINT>INT", "INT>SMALLINT", "DOUBLE>FLOAT", "FLOAT>STRING", "STRING>INT", "STRING>VARCHAR(5)", "VARCHAR(9)>CHAR(9)", "CHAR(3)>CHAR(5)", "BYTES>STRING", "BINARY(2)>BINARY(3)",
		"DECIMAL(9, 2)>DECIMAL(9, 3)", "DECIMAL(9, 2)>DECIMAL(8, 2)", "DECIMAL(9, 2)>INT", "INT>DECIMAL(9, 2)", "DATE>TIMESTAMP(3)", "TIMESTAMP(6)>TIMESTAMP(3)", "TIMESTAMP(6)>TIMESTAMP_LTZ(6)", "TIME(3)>TIME(0)", "INT>VARCHAR(20)", "BOOLEAN>INT"} {
		a, b, _ := strings.Cut(pair, ">")
		old, new := parseTypeText(t, a), parseTypeText(t, b)
		if _, err := newConverter(old, new); err == nil || !strings.Contains(err.Error(), "change of type from "+old.String()+" to "+new.String()) {
			t.Errorf("%s: %v", pair, err)
		}
	}
	// Paimon can't read across a change of a map key, not even of its nullability.
	m := func(key string) DataType {
		k, v := parseTypeText(t, key), DataType{Kind: Int}
		return DataType{Kind: Map, Key: &k, Value: &v}
	}
	if _, err := newConverter(m("STRING"), m("STRING NOT NULL")); err == nil {
		t.Error("a changed map key was accepted")
	}
	if _, err := newConverter(m("STRING"), m("STRING")); err != nil {
		t.Error(err)
	}
	row := DataType{Kind: Row, Fields: []Field{{ID: 1, Name: "x", Type: DataType{Kind: BigInt}}}}
	row2 := DataType{Kind: Row, Fields: []Field{{ID: 1, Name: "y", Type: DataType{Kind: Int}}}}
	arr, arr2 := DataType{Kind: Array, Element: &row}, DataType{Kind: Array, Element: &row2}
	if _, err := newConverter(arr, arr2); err == nil || !strings.Contains(err.Error(), `field "y": change of type from BIGINT NOT NULL to INT NOT NULL`) {
		t.Errorf("%v", err)
	}
}

// TestNestedEvolution maps fields of a row inside an array inside a map by id.
func TestNestedEvolution(t *testing.T) {
	null := func(k Kind) DataType { return DataType{Kind: k, Nullable: true} }
	rowType := func(fields ...Field) DataType {
		r := DataType{Kind: Row, Nullable: true, Fields: fields}
		a := DataType{Kind: Array, Nullable: true, Element: &r}
		k := DataType{Kind: Int}
		return DataType{Kind: Map, Nullable: true, Key: &k, Value: &a}
	}
	old := rowType(Field{ID: 1, Name: "a", Type: null(Int)}, Field{ID: 2, Name: "b", Type: null(Boolean)}, Field{ID: 3, Name: "c", Type: null(Date)})
	new := rowType(Field{ID: 3, Name: "a", Type: null(Date)}, Field{ID: 9, Name: "n", Type: DataType{Kind: Row, Nullable: true, Fields: []Field{{ID: 10, Name: "x", Type: null(Int)}}}}, Field{ID: 1, Name: "was_a", Type: null(BigInt)})
	convert, err := newConverter(old, new)
	if err != nil || convert == nil {
		t.Fatal(err)
	}
	rows := &vector.Vector{Kind: vector.Struct, Len: 2, Nulls: []bool{false, true}, Children: []*vector.Vector{
		{Kind: vector.Int32, Len: 2, Int32s: []int32{7, 0}}, {Kind: vector.Bool, Len: 2, Bools: []bool{true, false}}, {Kind: vector.Int32, Len: 2, Int32s: []int32{1, 0}},
	}}
	src := &vector.Vector{Kind: vector.Map, Len: 1, Offsets: []int32{0, 1}, Children: []*vector.Vector{
		{Kind: vector.Int32, Len: 1, Int32s: []int32{5}}, {Kind: vector.List, Len: 1, Offsets: []int32{0, 2}, Children: []*vector.Vector{rows}},
	}}
	got := string(appendJSONValue(nil, new, convert(src), 0))
	if want := `[["5",[{"a":"1970-01-02","n":null,"was_a":"7"},null]]]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSignedBigs(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 127, 128, 255, 256, -127, -128, -129, -255, -256, -257, 32767, 32768, -32768, -32769, 1 << 40, -1 << 40, 1<<63 - 1, -1 << 63} {
		b := appendSignedBig(nil, big.NewInt(n))
		if back := signedBig(b); back.Int64() != n {
			t.Errorf("%d: %x gives %d", n, b, back)
		}
		if len(b) > 1 && (b[0] == 0 && b[1]&0x80 == 0 || b[0] == 0xff && b[1]&0x80 != 0) {
			t.Errorf("%d: %x is not of least width", n, b)
		}
	}
	for a := int64(-70000); a < 70000; a += 997 {
		for b := int64(-700); b < 700; b += 97 {
			want := compareOrdered(a, b)
			if got := compareSigned(appendSignedBig(nil, big.NewInt(a)), appendSignedBig(nil, big.NewInt(b))); got != want {
				t.Fatalf("%d and %d compare %d", a, b, got)
			}
		}
	}
}

func TestCanReadNamesEverything(t *testing.T) {
	dir := copySample(t, "pk_levels")
	table := openDir(t, dir)
	next := table.Schema().Clone()
	next.ID++
	for k, v := range map[string]string{"merge-engine": "partial-update", "sequence.field": "n", "scan.snapshot-id": "3", "type": "object-table", "data-evolution.enabled": "TRUE", "ignore-delete": "true",
		"manifest.format": "orc", "scan.mode": "latest", "pk-clustering-override": "true", "query-auth.enabled": "true"} {
		next.Options[k] = v
	}
	next.HighestFieldID = 50
	next.Fields = append(next.Fields, Field{ID: 50, Name: "vv", Type: DataType{Kind: Variant, Nullable: true}})
	for i, f := range next.Fields {
		if f.Name == "amount" {
			next.Fields[i].Type = DataType{Kind: Date, Nullable: true}
		}
	}
	if err := table.CommitSchema(context.Background(), next); err != nil {
		t.Fatal(err)
	}
	err := table.CanRead(planOf(t, table))
	var found UnsupportedErrors
	if !errors.As(err, &found) {
		t.Fatal(err)
	}
	for _, want := range []string{`option "merge-engine=partial-update"`, `option "sequence.field=n"`, `option "scan.snapshot-id=3"`, `option "type=object-table"`, `option "data-evolution.enabled=TRUE"`, `option "ignore-delete=true"`,
		`option "manifest.format=orc"`, `option "scan.mode=latest"`, `option "pk-clustering-override=true"`, `option "query-auth.enabled=true"`, `table "samples.t", column "vv": type VARIANT`, `column "amount", data file data-`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}
	if len(found) != 12 {
		t.Errorf("%d things named, want 12:\n%v", len(found), err)
	}
	var one *UnsupportedError
	if !errors.As(fmt.Errorf("wrapped: %w", err), &one) || one.Where == "" || one.Why == "" {
		t.Errorf("errors.As gives %+v", one)
	}
}

func TestMergeOnReadOfVectorsIsRefused(t *testing.T) {
	table := openDir(t, copySample(t, "dv_pk"))
	next := table.Schema().Clone()
	next.ID++
	next.Options["deletion-vectors.merge-on-read"] = "true"
	if err := table.CommitSchema(context.Background(), next); err != nil {
		t.Fatal(err)
	}
	checkRefusal(t, table, planOf(t, table), `option "deletion-vectors.merge-on-read=true"`)
	next = next.Clone()
	next.ID++
	next.Options = map[string]string{"bucket": "1"}
	if err := table.CommitSchema(context.Background(), next); err != nil {
		t.Fatal(err)
	}
	checkRefusal(t, table, planOf(t, table), "deletion vectors of live files with deletion-vectors.enabled unset")
}

func TestReadOptions(t *testing.T) {
	table := openSample(t, "pk_part_string")
	plan := planOf(t, table)
	p := plan.Partitions[0]
	b := p.Buckets[0]
	if _, err := table.ReadBucket(context.Background(), plan, p, b, ReadOptions{Columns: []string{"nope"}}); err == nil || !strings.Contains(err.Error(), `no column "nope"`) {
		t.Errorf("%v", err)
	}
	// A partition column alone, and columns in another order and twice.
	for _, columns := range [][]string{{"dt"}, {"dt", "id", "dt"}, {}} {
		rows, err := readRows(table, plan, p, b, ReadOptions{Columns: columns})
		all, err2 := readRows(table, plan, p, b, ReadOptions{})
		if err != nil || err2 != nil || len(rows) != len(all) || len(rows) == 0 {
			t.Errorf("%v: %v, %v, %v; %d rows without", columns, rows, err, err2, len(all))
		}
		for _, r := range rows {
			if len(columns) > 0 && !strings.HasPrefix(r, `{"dt":"2025-01-01"`) {
				t.Errorf("%v: %s", columns, r)
			}
		}
	}
}

// TestPartitionFolderOfAnotherWriter reads a date table whose computed folders
// are not there, as after another writer or a change of the option.
func TestPartitionFolderOfAnotherWriter(t *testing.T) {
	for _, name := range []string{"true", "false"} {
		dir := copySample(t, map[string]string{"true": "pk_part_date", "false": "pk_part_date_legacy"}[name])
		table := openDir(t, dir)
		next := table.Schema().Clone()
		next.ID++
		next.Options["partition.legacy-name"] = name
		if err := table.CommitSchema(context.Background(), next); err != nil {
			t.Fatal(err)
		}
		plan := planOf(t, table)
		var rows []string
		for _, p := range plan.Partitions {
			rows = append(rows, readPartition(t, table, plan, p, ReadOptions{})...)
		}
		if len(rows) != 3 {
			t.Errorf("legacy-name %s: %d rows, want 3", name, len(rows))
		}
	}
}

// TestTypesbeyondAvro: no Avro file holds them, so a file that is said to is
// refused by name.
func TestTypesbeyondAvro(t *testing.T) {
	for text, want := range map[string]string{
		"TIMESTAMP(9)": "type TIMESTAMP(9) in Avro",
		"TIME(6)":      "type TIME(6) in Avro",
		`ARRAY`:        "type TIMESTAMP(7) WITH LOCAL TIME ZONE in Avro",
		"TIMESTAMP(6)": "",
		"TIME(3)":      "",
	} {
		typ := []byte(`"` + text + `"`)
		if text == "ARRAY" {
			typ = []byte(`{"type":"ARRAY","element":"TIMESTAMP(7) WITH LOCAL TIME ZONE"}`)
		}
		dt, err := ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		schema := &Schema{Version: 3, Fields: []Field{{ID: 0, Name: "c", Type: dt}}}
		table := &Table{path: "/t", name: "db.t", schemas: map[int64]*Schema{0: schema}}
		table.newest.Store(schema)
		for _, file := range []string{"data-1.avro", "data-1.parquet"} {
			plan := &Plan{schemas: table.schemas, Partitions: []*PartitionFiles{{Buckets: []*BucketFiles{{Files: []DataFile{{Name: "data-0.parquet"}, {Name: file}}}}}}}
			err := table.CanRead(plan)
			if want == "" || file == "data-1.parquet" {
				if err != nil {
					t.Errorf("%s in %s: %v", text, file, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s in %s: %v, want %q", text, file, err, want)
			}
		}
	}
}
