package fluss_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

func loadVectors[T any](t testing.TB, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []T }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) == 0 {
		t.Fatalf("%s has no vectors", name)
	}
	return file.Vectors
}

type tableJSONVector struct {
	Table string
	JSON  json.RawMessage `json:"create_table_json"`
}

type tableInfoVector struct {
	Table   string
	Request json.RawMessage `json:"create_table_request_json"`
	Info    json.RawMessage `json:"get_table_info_json"`
}

var (
	tableJSONFiles = []string{"table-json-0.9.1-incubating.json", "table-json-1.0.0.json"}
	tableInfoFiles = []string{"table-info-0.9.1-incubating.json", "table-info-1.0.0.json"}
)

func sameJSON(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// Table JSON of the Java client, and what servers answer, survives being parsed
// and written again; column and field IDs, which are not kept, come out the
// same.
func TestTableJSONVectors(t *testing.T) {
	check := func(what string, data []byte) {
		d, err := fluss.ParseTableDescriptor(data)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		out, err := d.MarshalJSON()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		sameJSON(t, what, out, data)
	}
	for _, f := range tableJSONFiles {
		for _, v := range loadVectors[tableJSONVector](t, f) {
			check(f+" "+v.Table, v.JSON)
		}
	}
	for _, f := range tableInfoFiles {
		for _, v := range loadVectors[tableInfoVector](t, f) {
			check(f+" "+v.Table+" request", v.Request)
			check(f+" "+v.Table+" answer", v.Info)
		}
	}
}

// The bytes, too, are those of the Java client: the members come in its order.
func TestTableJSONOrder(t *testing.T) {
	comment := `less < more & "so on"`
	d := fluss.TableDescriptor{
		Columns:    []fluss.Column{{Name: "id", Type: row.DataType{Kind: row.Int, Nullable: true}}, {Name: "v", Type: row.DataType{Kind: row.String, Nullable: true}, Comment: &comment}},
		PrimaryKey: []string{"id"}, BucketCount: 3,
	}
	want := `{"version":1,"schema":{"version":1,"columns":[{"name":"id","data_type":{"type":"INTEGER","nullable":false},"id":0},{"name":"v","data_type":{"type":"STRING"},"comment":"less < more & \"so on\"","id":1}],"primary_key":["id"],"highest_field_id":1},"partition_key":[],"bucket_key":["id"],"bucket_count":3,"properties":{},"custom_properties":{}}`
	if got, err := d.MarshalJSON(); err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	// A log table with a bucket count needs a bucket key all the same.
	d.PrimaryKey, d.BucketKey = nil, nil
	if got, err := d.MarshalJSON(); err != nil || !bytes.Contains(got, []byte(`"bucket_key":[],"bucket_count":3`)) {
		t.Errorf("%v: %s", err, got)
	}
	d.BucketCount = 0
	if got, err := d.MarshalJSON(); err != nil || bytes.Contains(got, []byte("bucket")) {
		t.Errorf("%v: %s", err, got)
	}
}

func TestTableInfo(t *testing.T) {
	for _, v := range loadVectors[tableInfoVector](t, tableInfoFiles[0]) {
		d, err := fluss.ParseTableDescriptor(v.Info)
		if err != nil {
			t.Fatal(err)
		}
		info := fluss.TableInfo{Descriptor: *d}
		switch v.Table {
		case "vec.pk_default":
			if !info.HasPrimaryKey() || info.IsPartitioned() || info.LakeFormat() != "paimon" || info.KvFormatVersion() != 2 || !slices.Equal(info.BucketKey(), []string{"id"}) {
				t.Errorf("%s: %+v", v.Table, info)
			}
		case "vec.pk_lake_disabled":
			if !info.IsPartitioned() || !slices.Equal(info.PhysicalPrimaryKey(), []string{"id"}) || info.Descriptor.CustomProperties["owner"] != "team" {
				t.Errorf("%s: %+v", v.Table, info)
			}
		case "vec.log_all_types":
			if info.HasPrimaryKey() || len(info.BucketKey()) != 0 || info.KvFormatVersion() != 1 {
				t.Errorf("%s: %+v", v.Table, info)
			}
			c, ok := info.Descriptor.Column("c_row")
			if !ok || c.ID != 18 || c.Type.Fields[1].Description != "nested" {
				t.Errorf("%s: %+v", v.Table, c)
			}
		}
	}
	if (&fluss.TableInfo{Descriptor: fluss.TableDescriptor{PrimaryKey: []string{"a", "p"}, PartitionKeys: []string{"p"}}}).BucketKey()[0] != "a" {
		t.Error("the default bucket key is the primary key without the partition keys")
	}
}

func TestAggregationColumns(t *testing.T) {
	in := `{"version":1,"schema":{"version":1,"columns":[{"name":"id","data_type":{"type":"INTEGER","nullable":false},"id":0},{"name":"v","data_type":{"type":"BIGINT"},"agg_function":{"type":"listagg","parameters":{"delimiter":","}},"id":1}],"primary_key":["id"],"auto_increment_column":["id"],"highest_field_id":1,"future":true},"partition_key":[],"properties":{},"custom_properties":{}}`
	d, err := fluss.ParseTableDescriptor([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Columns[1]; c.Aggregate != "listagg" || !maps.Equal(c.AggregateParameters, map[string]string{"delimiter": ","}) || !slices.Equal(d.AutoIncrement, []string{"id"}) {
		t.Errorf("%+v", d)
	}
	out, err := d.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "aggregation", out, []byte(strings.Replace(in, `,"future":true`, "", 1)))
}

func TestTableJSONErrors(t *testing.T) {
	column := func(typ string) string {
		return `{"version":1,"schema":{"version":1,"columns":[{"name":"c","data_type":` + typ + `,"id":0}],"highest_field_id":0},"partition_key":[],"properties":{},"custom_properties":{}}`
	}
	deep := strings.Repeat(`{"type":"ARRAY","element_type":`, 200) + `{"type":"INTEGER"}` + strings.Repeat("}", 200)
	for in, text := range map[string]string{
		``:                                   "0 bytes",
		`[]`:                                 "table JSON",
		`{}`:                                 "no schema",
		column(`null`):                       `column "c": the type is missing`,
		column(`{"type":"VARIANT"}`):         `column "c": type "VARIANT" is not known`,
		column(`{"type":"CHAR"}`):            "CHAR has no length",
		column(`{"type":"CHAR","length":0}`): "CHAR has length 0",
		column(`{"type":"DECIMAL","precision":39,"scale":1}`):                      "precision 39",
		column(`{"type":"DECIMAL","precision":3,"scale":4}`):                       "scale 4",
		column(`{"type":"TIMESTAMP_WITHOUT_TIME_ZONE","precision":10}`):            "precision 10",
		column(`{"type":"ARRAY"}`):                                                 "element of ARRAY: the type is missing",
		column(`{"type":"MAP","key_type":{"type":"INTEGER"}}`):                     "value of MAP",
		column(`{"type":"ROW","fields":[{"name":"f","field_type":{"type":"X"}}]}`): `field "f": type "X"`,
		column(deep):                                        "deeper than",
		`{"version":2,"schema":{"version":1}}`:              "version 2",
		`{"version":1,"schema":{"version":1,"columns":[]}}`: "at least one column",
		strings.Replace(column(`{"type":"INTEGER"}`), `"partition_key":[]`, `"partition_key":["x"]`, 1):                `partition key names column "x"`,
		strings.Replace(column(`{"type":"INTEGER"}`), `"partition_key":[]`, `"partition_key":[],"bucket_count":-1`, 1): "bucket count of -1",
	} {
		_, err := fluss.ParseTableDescriptor([]byte(in))
		if err == nil || !strings.Contains(err.Error(), text) || !strings.HasPrefix(err.Error(), "fluss: ") {
			t.Errorf("%.100s: %v", in, err)
		}
	}
	for _, d := range []fluss.TableDescriptor{
		{},
		{Columns: []fluss.Column{{Name: "a", Type: row.DataType{Kind: row.Int}}, {Name: "a", Type: row.DataType{Kind: row.Int}}}},
		{Columns: []fluss.Column{{Name: "a", Type: row.DataType{Kind: row.Int}}}, PrimaryKey: []string{"b"}},
		{Columns: []fluss.Column{{Name: "a", Type: row.DataType{Kind: 99}}}},
		{Columns: []fluss.Column{{Name: "a", Type: row.DataType{Kind: row.Array}}}},
		{Columns: []fluss.Column{{Name: "a", Type: row.DataType{Kind: row.Map}}}},
	} {
		if out, err := d.MarshalJSON(); err == nil {
			t.Errorf("%+v became %s", d, out)
		}
	}
}

// What is parsed is written and parsed again to the same.
func FuzzParseTableDescriptor(f *testing.F) {
	for _, v := range loadVectors[tableJSONVector](f, tableJSONFiles[1]) {
		f.Add([]byte(v.JSON))
	}
	f.Add([]byte(`{"version":1,"schema":{"version":1,"columns":[{"name":"c","data_type":{"type":"MAP","key_type":{"type":"INTEGER"},"value_type":{"type":"ROW"}},"id":3}]},"bucket_key":null,"bucket_count":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := fluss.ParseTableDescriptor(data)
		if err != nil {
			return
		}
		first, err := d.MarshalJSON()
		if err != nil {
			t.Fatalf("parsed but not written: %v", err)
		}
		again, err := fluss.ParseTableDescriptor(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := again.MarshalJSON()
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%v\nfirst  %s\nsecond %s", err, first, second)
		}
	})
}
