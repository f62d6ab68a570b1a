package paimon

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
)

// Tables that old releases of Paimon wrote give the rows that Paimon 1.3.1
// reads from them, or are refused for the file format alone.
func TestOldTables(t *testing.T) {
	dirs, err := filepath.Glob("testdata/old/*/*/rows.jsonl")
	if err != nil || len(dirs) != 6 {
		t.Fatalf("%d tables of old releases, %v; want 6", len(dirs), err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(strings.TrimPrefix(filepath.ToSlash(dir), "testdata/old/"), func(t *testing.T) {
			table := openDir(t, filepath.Join(dir, "table"))
			plan := planOf(t, table)
			if format := table.Schema().FileFormat(); formats[format] == nil {
				checkRefusal(t, table, plan, `file format "`+format+`"`)
				return
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
				want = append(want, normalJSON(t, []byte(line)))
			}
			for _, p := range plan.Partitions {
				for _, row := range readPartition(t, table, plan, p, ReadOptions{}) {
					got = append(got, normalJSON(t, []byte(row)))
				}
			}
			sort.Strings(got)
			sort.Strings(want)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows:\n%s\nwant %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
			}
		})
	}
}

// Paimon reads null for a field whose name has a backtick in ORC, and fails for
// such a key: its rows can't be given, and theirs are not what was written.
func TestBacktickInORC(t *testing.T) {
	table := openDir(t, "testdata/orc_backtick/table")
	checkRefusal(t, table, planOf(t, table), "the name \"a`b\" in ORC")
	checkRefusal(t, table, planOf(t, table), "the name \"x`y\" in ORC")
}

// Old releases declared manifest records nullable at every level; a null in
// such a place is damage, and must neither crash nor be taken for an entry.
func TestNullableManifestRecords(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "py_pk/table/manifest/manifest-[0-9a-f]*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifest: %v", err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	in, err := ocf.NewDecoder(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(in.Metadata()["avro.schema"], &schema); err != nil {
		t.Fatal(err)
	}
	file := field(t, schema, "_FILE")
	for _, stats := range []string{"_KEY_STATS", "_VALUE_STATS"} {
		f := field(t, file["type"].(map[string]any), stats)
		f["type"] = []any{"null", f["type"]}
	}
	file["type"] = []any{"null", file["type"]}
	text, err := json.Marshal([]any{"null", schema})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := avro.ParseBytesWithCache(text, "", &avro.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(top int64) []byte {
		var out bytes.Buffer
		enc, err := ocf.NewEncoderWithSchema(parsed, &out)
		if err != nil {
			t.Fatal(err)
		}
		w := avro.NewWriter(nil, 256)
		w.WriteLong(top)
		if top == 1 {
			w.WriteInt(2)
			w.WriteInt(0)
			w.WriteBytes([]byte{0, 0, 0, 0})
			w.WriteInt(0)
			w.WriteInt(1)
			w.WriteLong(0) // a null _FILE
		}
		if _, err := enc.Write(w.Buffer()); err != nil {
			t.Fatal(err)
		}
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for what, top := range map[string]int64{"its _FILE is null": 1, "record 0 of the block is null": 0, "branch 2 of a union of 2": 2} {
		data := write(top)
		err := walkAvro("m", data, requiredOfEntry, func(schema avroSchema, count int64, block []byte) error {
			r := &entryReader{plan: &planner{}}
			if err := r.compile(schema.record); err != nil {
				return err
			}
			r.cursor.Reset(block)
			r.read(&r.cursor)
			return r.cursor.Err()
		})
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v; want %q", err, what)
		}
	}
}

// field is a field of an Avro record's schema.
func field(t *testing.T, record map[string]any, name string) map[string]any {
	t.Helper()
	for _, f := range record["fields"].([]any) {
		if f := f.(map[string]any); f["name"] == name {
			return f
		}
	}
	t.Fatalf("no field %s", name)
	return nil
}
