package paimon

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hamba/avro/v2"
)

// manifestSchema is a writer's schema of entries: its own fields of an entry
// and of a file come after the required ones.
func manifestSchema(ofEntry, ofFile string) string {
	return `{"type":"record","name":"r","fields":[{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},` +
		`{"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},{"name":"_FILE","type":{"type":"record","name":"f","fields":[` +
		`{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},{"name":"_SCHEMA_ID","type":"long"},` +
		`{"name":"_LEVEL","type":"int"}` + ofFile + `]}}` + ofEntry + `]}`
}

// manifestOf is a manifest of one entry, whose own fields are written by more.
func manifestOf(t testing.TB, schema string, more func(w *avro.Writer)) []byte {
	t.Helper()
	w := avro.NewWriter(nil, 64)
	w.WriteInt(2)
	w.WriteInt(kindAdd)
	w.WriteBytes([]byte{0, 0, 0, 0})
	w.WriteInt(3)
	w.WriteInt(4)
	w.WriteString("data-1.parquet")
	w.WriteLong(77)
	w.WriteLong(5)
	w.WriteLong(0)
	w.WriteInt(2)
	more(w)
	return container(t, schema, 1, w.Buffer())
}

func readEntries(data []byte, opts PlanOptions) ([]entry, error) {
	table := &Table{name: "db.t", fs: oneFileFS{data: data}, schemas: map[int64]*Schema{0: fuzzSchema}}
	table.newest.Store(fuzzSchema)
	p := &planner{table: table, opts: opts, statsColumns: fuzzSchema.Fields[:len(opts.Stats)], keyed: true, partitions: map[string]string{}}
	pieces, err := p.readManifest(context.Background(), "m")
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, p := range pieces {
		all = append(all, p...)
	}
	return all, nil
}

// TestManifestFields reads entries of writers that order, type and add fields
// in other ways.
func TestManifestFields(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	text := func(s string) *string { return &s }
	base := DataFile{Name: "data-1.parquet", Size: 77, RowCount: 5, Level: 2, TotalBuckets: 4}
	with := func(change func(f *DataFile)) DataFile {
		f := base
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		ofEntry, ofFile string
		more            func(w *avro.Writer)
		want            DataFile
	}{
		"the least": {more: func(*avro.Writer) {}, want: base},
		"nulls": {ofFile: `,{"name":"_DELETE_ROW_COUNT","type":["null","long"]},{"name":"_EXTERNAL_PATH","type":["null","string"]},{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}]}`,
			more: func(w *avro.Writer) { w.WriteInt(0); w.WriteInt(0); w.WriteInt(0) }, want: base},
		"values": {ofFile: `,{"name":"_DELETE_ROW_COUNT","type":["null","long"]},{"name":"_EXTERNAL_PATH","type":["null","string"]},{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}]},{"name":"_FIRST_ROW_ID","type":["null","long"]}`,
			more: func(w *avro.Writer) {
				w.WriteInt(1)
				w.WriteLong(9)
				w.WriteInt(1)
				w.WriteString("file:/x")
				w.WriteInt(1)
				w.WriteLong(-2) // with the block's size in bytes
				w.WriteLong(4)
				w.WriteString("a")
				w.WriteString("b")
				w.WriteLong(1)
				w.WriteString("c")
				w.WriteLong(0)
				w.WriteInt(1)
				w.WriteLong(-4)
			},
			want: with(func(f *DataFile) {
				f.DeleteRowCount, f.ExternalPath, f.WriteCols, f.HasWriteCols, f.FirstRowID = number(9), text("file:/x"), []string{"a", "b", "c"}, true, number(-4)
			})},
		"null last, empty list": {ofFile: `,{"name":"_DELETE_ROW_COUNT","type":["long","null"]},{"name":"_WRITE_COLS","type":[{"type":"array","items":"string"},"null"]},{"name":"_MIN_KEY","type":"bytes"}`,
			more: func(w *avro.Writer) {
				w.WriteInt(0)
				w.WriteLong(0)
				w.WriteInt(0)
				w.WriteLong(0)
				w.WriteBytes([]byte{1, 2})
			},
			want: with(func(f *DataFile) {
				f.DeleteRowCount, f.WriteCols, f.HasWriteCols, f.MinKey = number(0), []string{}, true, []byte{1, 2}
			})},
		"later fields of every type": {ofFile: `,{"name":"a","type":{"type":"map","values":"double"}},{"name":"b","type":{"type":"fixed","name":"x","size":3}},{"name":"c","type":{"type":"enum","name":"e","symbols":["A","B"]}},` +
			`{"name":"d","type":["null","float","boolean",{"type":"array","items":{"type":"record","name":"in","fields":[{"name":"n","type":"null"},{"name":"v","type":"x"}]}}]},{"name":"e","type":"in"}`,
			ofEntry: `,{"name":"_LATER","type":"string"}`,
			more: func(w *avro.Writer) {
				w.WriteLong(1)
				w.WriteString("k")
				w.WriteDouble(1.5)
				w.WriteLong(0)
				_, _ = w.Write([]byte("abc"))
				w.WriteInt(1)
				w.WriteInt(3)
				w.WriteLong(2)
				_, _ = w.Write([]byte("abcdef"))
				w.WriteLong(0)
				_, _ = w.Write([]byte("ghi"))
				w.WriteString("end")
			}, want: base},
	} {
		entries, err := readEntries(manifestOf(t, manifestSchema(c.ofEntry, c.ofFile), c.more), PlanOptions{})
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
			continue
		}
		e := entries[0]
		if !reflect.DeepEqual(e.file, c.want) || e.bucket != 3 || e.delete || e.partition != "\x00\x00\x00\x00" {
			t.Errorf("%s: %+v, want %+v", name, e, c.want)
		}
	}
}

// TestManifestDamage: what can't be true is an error that says what, at once.
func TestManifestDamage(t *testing.T) {
	none := func(*avro.Writer) {}
	list := `,{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}}`
	foreign := `,{"name":"x","type":{"type":"array","items":{"type":"array","items":"null"}}}`
	long := func(n ...int64) func(w *avro.Writer) {
		return func(w *avro.Writer) {
			for _, n := range n {
				w.WriteLong(n)
			}
		}
	}
	good := manifestOf(t, manifestSchema("", ""), none)
	for name, c := range map[string]struct {
		data []byte
		has  string
	}{
		"list of 2^62":            {manifestOf(t, manifestSchema("", list), long(1<<62)), "more elements than the block has bytes"},
		"list of -2^63":           {manifestOf(t, manifestSchema("", list), long(-1<<63, 0)), "an array with an impossible count"},
		"nothings, again":         {manifestOf(t, manifestSchema("", foreign), long(1, 30, 30, 30, 30, 0, 0)), "more elements than the block has bytes"},
		"text of 2^40":            {manifestOf(t, manifestSchema("", `,{"name":"x","type":"string"}`), long(1<<40)), "contents end too early"},
		"text of -1":              {manifestOf(t, manifestSchema("", `,{"name":"x","type":"string"}`), long(-1)), "contents end too early"},
		"choice 7":                {manifestOf(t, manifestSchema("", `,{"name":"_EXTERNAL_PATH","type":["null","string"]}`), long(7)), "choice 7"},
		"choice 7, skipped":       {manifestOf(t, manifestSchema("", `,{"name":"x","type":["null","string"]}`), long(7)), "branch 7 of a union of 2"},
		"a number that is a text": {manifestOf(t, strings.Replace(manifestSchema("", ""), `"_LEVEL","type":"int"`, `"_LEVEL","type":"string"`, 1), none), "field _LEVEL is of type"},
		"a list of numbers":       {manifestOf(t, strings.Replace(manifestSchema("", list), `"items":"string"`, `"items":"long"`, 1), none), "_EXTRA_FILES: its elements are of type"},
		"a file that is none":     {manifestOf(t, `{"type":"record","name":"r","fields":[{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},{"name":"_FILE","type":"int"}]}`, none), "required is a record"},
		"no level":                {manifestOf(t, strings.Replace(manifestSchema("", ""), `"_LEVEL"`, `"LEVEL"`, 1), none), "no field _LEVEL"},
		"bytes left":              {manifestOf(t, manifestSchema("", ""), long(1)), "bytes after its last record"},
		"2^20 entries":            {container(t, manifestSchema("", ""), 1<<20, make([]byte, 1<<20)), "1048576 entries in 1048576 bytes"},
		"a name with a slash":     {[]byte(strings.Replace(string(good), "data-1.parquet", "../../../x.abc", 1)), "not a file name"},
		"kind 2":                  {[]byte(strings.Replace(string(good), "\x04\x00\x08\x00\x00\x00\x00", "\x04\x04\x08\x00\x00\x00\x00", 1)), "kind 2"},
		"version 3":               {[]byte(strings.Replace(string(good), "\x04\x00\x08\x00\x00\x00\x00", "\x06\x00\x08\x00\x00\x00\x00", 1)), "version 3"},
	} {
		from := time.Now()
		if _, err := readEntries(c.data, PlanOptions{}); err == nil || !strings.Contains(err.Error(), c.has) {
			t.Errorf("%s: %v, want %q", name, err, c.has)
		}
		if took := time.Since(from); took > 5*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

// TestSchemaWithoutEnd has records that name one another twice, 60 deep: a few
// lines that describe 2^60 values.
func TestSchemaWithoutEnd(t *testing.T) {
	deep := `{"name":"x0","type":{"type":"record","name":"r0","fields":[{"name":"n","type":"null"}]}}`
	for i := 1; i < 60; i++ {
		deep += fmt.Sprintf(`,{"name":"x%d","type":{"type":"record","name":"r%d","fields":[{"name":"a","type":"r%d"},{"name":"b","type":"r%d"}]}}`, i, i, i-1, i-1)
	}
	schema := manifestSchema("", ","+deep)
	if _, err := readEntries(manifestOf(t, schema, func(*avro.Writer) {}), PlanOptions{}); err == nil || !strings.Contains(err.Error(), "more than 1000 values") {
		t.Errorf("manifest: %v", err)
	}
	if _, err := readAvro[avroManifestMeta]("f", container(t, schema, 0, nil), "_VERSION"); err == nil || !strings.Contains(err.Error(), "more than 1000 values") {
		t.Errorf("list: %v", err)
	}
}
