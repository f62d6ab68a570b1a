package paimon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// TestSchemaJSONIsPaimons writes every sample schema back: those of Paimon
// Java byte for byte, those of pypaimon, which lays JSON out otherwise, to the
// same meaning.
func TestSchemaJSONIsPaimons(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*", "table", "schema", "schema-*"))
	if err != nil || len(files) < 31 {
		t.Fatalf("%d schema files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSchema(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		back, err := s.JSON()
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if strings.Contains(file, "py_") {
			again, err := ParseSchema(back)
			if err != nil || !reflect.DeepEqual(s, again) {
				t.Errorf("%s: read back as %+v, %v; want %+v", file, again, err, s)
			}
			continue
		}
		if !bytes.Equal(back, data) {
			t.Errorf("%s: written as\n%s\nwant\n%s", file, back, data)
		}
	}
}

func TestSchemaRoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"nulls":    `{"version":3,"id":1,"fields":[{"id":0,"name":"a","type":"INT","description":null,"defaultValue":null}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{},"comment":null,"timeMillis":5}`,
		"texts":    `{"version":3,"id":1,"fields":[{"id":0,"name":"a\"b","type":"STRING NOT NULL","description":"d\n中\u0001","defaultValue":"x"}],"highestFieldId":7,"partitionKeys":[],"primaryKeys":[],"options":{"z":"1","a":"</>&"},"comment":"c","timeMillis":5}`,
		"unknown":  `{"version":3,"id":1,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":5,"later":{"a":[1,2.5e3,null]},"more":"x"}`,
		"nested":   `{"version":3,"id":0,"fields":[{"id":0,"name":"m","type":{"type":"MAP NOT NULL","key":"STRING NOT NULL","value":{"type":"ARRAY","element":{"type":"ROW","fields":[{"id":1,"name":"x","type":"VECTOR_"}]}}}}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":0}`,
		"vector":   `{"version":3,"id":0,"fields":[{"id":0,"name":"m","type":{"type":"MULTISET","element":"INT"}},{"id":1,"name":"v","type":{"type":"VECTOR","element":"FLOAT NOT NULL","length":3}}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":0}`,
		"version1": `{"id":0,"fields":[{"id":0,"name":"a","type":"INT NOT NULL"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":["a"],"options":{},"timeMillis":0}`,
	} {
		s, err := ParseSchema([]byte(text))
		if name == "nested" {
			if err == nil || !strings.Contains(err.Error(), `field "m": value of MAP: element of ARRAY: field "x": type "VECTOR_": unknown type`) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := s.JSON()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var a, b any
		if err := errors.Join(json.Unmarshal([]byte(text), &a), json.Unmarshal(back, &b)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "version1" {
			a.(map[string]any)["version"] = 1.0
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: written as\n%s\nwant\n%s", name, back, text)
		}
	}
}

func TestSchemaDefaultsByVersion(t *testing.T) {
	for _, c := range []struct {
		version, bucket int
		format          string
	}{{1, 1, "orc"}, {2, -1, "orc"}, {3, -1, "parquet"}} {
		s := &Schema{Version: c.version}
		if b, err := s.Bucket(); err != nil || b != c.bucket || s.FileFormat() != c.format {
			t.Errorf("version %d: bucket %d, %v, format %s; want %d, %s", c.version, b, err, s.FileFormat(), c.bucket, c.format)
		}
	}
	for _, bad := range []string{"0", "-3", "x", ""} {
		s := &Schema{Version: 3, Options: map[string]string{"bucket": bad}}
		if _, err := s.Bucket(); err == nil {
			t.Errorf("bucket=%q was accepted", bad)
		}
	}
	s := &Schema{PrimaryKeys: []string{"c", "p", "a"}, PartitionKeys: []string{"p"}}
	if k := s.BucketKeys(); !reflect.DeepEqual(k, []string{"c", "a"}) {
		t.Errorf("bucket keys %v, want the trimmed key in its order", k)
	}
	s.Options = map[string]string{"bucket-key": "a, c"}
	if k := s.BucketKeys(); !reflect.DeepEqual(k, []string{"a", "c"}) {
		t.Errorf("bucket keys %v, want those of the option", k)
	}
}

func TestSchemaRefusals(t *testing.T) {
	base := `"version":3,"id":1,"fields":[{"id":0,"name":"a","type":"INT"},{"id":1,"name":"b","type":"INT"}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{},"timeMillis":5`
	for text, has := range map[string]string{
		``:                                   "not JSON",
		`[]`:                                 "not a JSON object",
		`{` + base:                           "not JSON",
		`{` + base + `}{}`:                   "something follows",
		`{"id":1}`:                           "no fields",
		`{` + base + `,"version":4}`:         "version is 4; this reader knows 1 to 3",
		`{` + base + `,"id":-1}`:             "no id",
		`{` + base + `,"primaryKeys":["c"]}`: `primaryKeys names "c", which is not a column`,
		`{` + base + `,"partitionKeys":["a","a"]}`:                                                                                                           "twice",
		`{` + base + `,"options":{"a":1}}`:                                                                                                                   `"options": "a"`,
		`{` + base + `,"fields":[{"id":0,"name":"a","type":"INT"},{"id":0,"name":"b","type":"INT"}]}`:                                                        "two fields with the id 0",
		`{` + base + `,"fields":[{"id":0,"name":"a","type":"INT"},{"id":1,"name":"a","type":"INT"}]}`:                                                        `two fields "a"`,
		`{` + base + `,"fields":[{"id":0,"name":"a","type":{"type":"ROW","fields":[{"id":0,"name":"x","type":"INT"}]}}]}`:                                    "two fields with the id 0",
		`{` + base + `,"fields":[{"id":0,"name":"a"}]}`:                                                                                                      "lacks id, name or type",
		`{` + base + `,"fields":[{"id":0,"name":"a","type":` + strings.Repeat(`{"type":"ARRAY","element":`, 200) + `"INT"` + strings.Repeat("}", 201) + `]}`: "nested more than",
	} {
		if _, err := ParseSchema([]byte(text)); err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %v, want %q", clip(text), err, has)
		}
	}
}

func TestTypes(t *testing.T) {
	for text, want := range map[string]string{
		"int": "INT", " Integer  NOT  NULL ": "INT NOT NULL", "INT NULL": "INT", "DEC": "DECIMAL(10, 0)", "numeric(5)": "DECIMAL(5, 0)", "DECIMAL( 38 ,10)": "DECIMAL(38, 10)",
		"CHAR": "CHAR(1)", "VARCHAR": "VARCHAR(1)", "VARCHAR(2147483647)": "STRING", "BINARY": "BINARY(1)", "VARBINARY": "VARBINARY(1)", "VARBINARY(2147483647)": "BYTES", "string": "STRING",
		"DOUBLE PRECISION": "DOUBLE", "TIME": "TIME(0)", "TIME(3) WITHOUT TIME ZONE": "TIME(3)", "TIMESTAMP": "TIMESTAMP(6)", "TIMESTAMP(0)": "TIMESTAMP(0)", "TIMESTAMP_LTZ(3)": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
		"timestamp with local time zone not null": "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP(9) WITHOUT TIME ZONE": "TIMESTAMP(9)", "VARIANT": "VARIANT", "BLOB": "BLOB",
	} {
		raw, _ := json.Marshal(text)
		got, err := ParseType(raw)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
			continue
		}
		js, err := json.Marshal(got)
		if again, err2 := ParseType(js); err != nil || err2 != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q: %s does not read back: %v %v", text, js, err, err2)
		}
	}
	for _, text := range []string{"", "NOT NULL", "INTERVAL", "INT(3)", "CHAR(0)", "CHAR(x)", "CHAR(3", "DECIMAL(39, 1)", "DECIMAL(0)", "DECIMAL(3, 4)", "TIMESTAMP(10)", "STRING(3)", "CHAR(99999999999)", "DECIMAL(3, 1, 1)"} {
		raw, _ := json.Marshal(text)
		if got, err := ParseType(raw); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
	nested, err := ParseType([]byte("{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"name\":\"a`b\",\"type\":{\"type\":\"MAP\",\"key\":\"INT NOT NULL\",\"value\":{\"type\":\"ARRAY NOT NULL\",\"element\":\"STRING\",\"nullable\":true}},\"description\":\"it's\"}]}"))
	if want := "ROW<`a``b` MAP<INT NOT NULL, ARRAY<STRING> NOT NULL> 'it''s'>"; err != nil || nested.String() != want {
		t.Errorf("%s, %v; want %s", nested, err, want)
	}
}

func TestCommitSchema(t *testing.T) {
	ctx := context.Background()
	dir := copySample(t, "pk_levels")
	table := openDir(t, dir)
	next := table.Schema().Clone()
	next.ID++
	next.Options["partition.legacy-name"] = "false"
	next.Options["bucket-key"] = "id"
	if err := table.CommitSchema(ctx, next); err != nil {
		t.Fatal(err)
	}
	if s := table.Schema(); s.ID != 1 || s.Option("bucket-key", "") != "id" {
		t.Errorf("the table's schema is now %d with %v", s.ID, s.Options)
	}
	other := openDir(t, dir)
	if s := other.Schema(); !reflect.DeepEqual(s.Options, next.Options) || !reflect.DeepEqual(s.Fields, next.Fields) {
		t.Errorf("read anew: %+v, want %+v", s, next)
	}
	if old, err := other.SchemaByID(ctx, 0); err != nil || len(old.Options) != 3 {
		t.Errorf("schema 0 is now %+v, %v", old, err)
	}
	if err := table.CommitSchema(ctx, next); !errors.Is(err, ErrSchemaExists) {
		t.Errorf("committing again: %v, want ErrSchemaExists", err)
	}
	gap := next.Clone()
	gap.ID = 7
	if err := table.CommitSchema(ctx, gap); err == nil || errors.Is(err, ErrSchemaExists) {
		t.Errorf("committing 7: %v", err)
	}
	bad := next.Clone()
	bad.ID, bad.PrimaryKeys = 2, []string{"none"}
	if err := table.CommitSchema(ctx, bad); err == nil {
		t.Error("a schema that contradicts itself was committed")
	}

	// Many at once: one wins, and no other overwrites it.
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			mine := next.Clone()
			mine.ID = 2
			mine.Options["who"] = string(rune('a' + i))
			errs[i] = openDir(t, dir).CommitSchema(ctx, mine)
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			s := openDir(t, dir).Schema()
			if who := s.Option("who", ""); who != string(rune('a'+i)) {
				t.Errorf("writer %d won, the file is %q's", i, who)
			}
		} else if !errors.Is(err, ErrSchemaExists) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d writers won", won)
	}
}

// liarFS hands out other content than was written, as a store would whose
// create-if-absent does not hold.
type liarFS struct{ storage.FS }

func (l liarFS) CreateExclusive(ctx context.Context, path string, data []byte) error {
	return l.FS.CreateExclusive(ctx, path, bytes.Replace(data, []byte(`"id" : 1`), []byte(`"id" : 1 `), 1))
}

func TestCommitSchemaReadsBack(t *testing.T) {
	dir := copySample(t, "pk_levels")
	table, err := OpenTable(context.Background(), liarFS{storage.Local{}}, dir, "db.t")
	if err != nil {
		t.Fatal(err)
	}
	next := table.Schema().Clone()
	next.ID++
	if err := table.CommitSchema(context.Background(), next); err == nil || !strings.Contains(err.Error(), "does not hold what was just written") {
		t.Errorf("%v", err)
	}
}
