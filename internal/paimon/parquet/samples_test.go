package parquet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sampleField is a field of a Paimon schema file.
type sampleField struct {
	ID   int
	Name string
	Type json.RawMessage
}

type sampleSchema struct {
	ID          int
	Fields      []sampleField
	PrimaryKeys []string
}

var typeArgs = regexp.MustCompile(`^([A-Z]+)(?:\((\d+)(?:, (\d+))?\))?`)

// sampleType turns a type of a Paimon schema into a wanted type; names maps
// field ids to the names the file has.
func sampleType(t *testing.T, raw json.RawMessage, names map[int]string) Type {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var nested struct {
			Type                string
			Element, Key, Value json.RawMessage
			Fields              []sampleField
		}
		if err := json.Unmarshal(raw, &nested); err != nil {
			t.Fatal(err)
		}
		switch strings.Fields(nested.Type)[0] {
		case "ARRAY":
			return Type{Kind: List, Children: []Type{sampleType(t, nested.Element, names)}}
		case "MAP":
			return Type{Kind: Map, Children: []Type{sampleType(t, nested.Key, names), sampleType(t, nested.Value, names)}}
		}
		s := Type{Kind: Struct}
		for _, f := range nested.Fields {
			s.Names = append(s.Names, fileName(names, f.ID))
			s.Children = append(s.Children, sampleType(t, f.Type, names))
		}
		return s
	}
	m := typeArgs.FindStringSubmatch(text)
	p, _ := strconv.Atoi(m[2])
	scale, _ := strconv.Atoi(m[3])
	kinds := map[string]Kind{"BOOLEAN": Boolean, "TINYINT": Int8, "SMALLINT": Int16, "INT": Int32, "BIGINT": Int64, "FLOAT": Float,
		"DOUBLE": Double, "CHAR": String, "VARCHAR": String, "STRING": String, "BINARY": Binary, "VARBINARY": Binary, "BYTES": Binary,
		"DECIMAL": Decimal, "DATE": Date, "TIME": Time, "TIMESTAMP": Timestamp}
	kind, ok := kinds[m[1]]
	if !ok {
		t.Fatalf("type %q", text)
	}
	return Type{Kind: kind, Precision: p, Scale: scale}
}

// fileName is a field's name in the file, or one it does not have.
func fileName(names map[int]string, id int) string {
	if name, ok := names[id]; ok {
		return name
	}
	return fmt.Sprintf("no field %d", id)
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// names collects the names of all fields by id.
func (s sampleSchema) names(t *testing.T) map[int]string {
	names := map[int]string{}
	var walk func([]sampleField)
	walk = func(fields []sampleField) {
		for _, f := range fields {
			names[f.ID] = f.Name
			for todo := []json.RawMessage{f.Type}; len(todo) > 0; todo = todo[1:] {
				var nested struct {
					Element, Key, Value json.RawMessage
					Fields              []sampleField
				}
				if len(todo[0]) == 0 || todo[0][0] != '{' {
					continue
				}
				if err := json.Unmarshal(todo[0], &nested); err != nil {
					t.Fatal(err)
				}
				todo = append(todo, nested.Element, nested.Key, nested.Value)
				walk(nested.Fields)
			}
		}
	}
	walk(s.Fields)
	return names
}

// TestSampleTables reads every data file of tables other writers made, keeps
// the newest record of each key, and compares with what Paimon Java reads. A
// file is read under the newest schema by field id.
func TestSampleTables(t *testing.T) {
	for _, table := range []string{"all_types", "nested", "thin_mode", "schema_evolution", "py_pk"} {
		t.Run(table, func(t *testing.T) {
			dir := "testdata/" + table
			var want struct {
				Rows  []map[string]any
				Parts []struct{ Records int } `json:"partitions"`
			}
			readJSON(t, dir+"/expected.json", &want)
			paths, _ := filepath.Glob(dir + "/schema-*.json")
			schemas := make([]sampleSchema, len(paths))
			for i, p := range paths {
				readJSON(t, p, &schemas[i])
			}
			newest := schemas[len(schemas)-1]
			merged, sequence := map[string]map[string]any{}, map[string]int{}
			files, _ := filepath.Glob(dir + "/*.parquet")
			for _, path := range files {
				f := openFile(t, strings.TrimPrefix(path, "testdata/"))
				for _, batch := range []int{1, 3, 0} {
					for _, row := range sampleRows(t, f, newest, schemaOf(t, f, schemas), batch) {
						var key []string
						for _, k := range newest.PrimaryKeys {
							key = append(key, row[k].(string))
						}
						id := strings.Join(key, "/")
						n, _ := strconv.Atoi(row["_SEQUENCE_NUMBER"].(string))
						if last, ok := sequence[id]; ok && n < last {
							continue
						}
						sequence[id] = n
						if kind := row["_VALUE_KIND"]; kind == "1" || kind == "3" {
							delete(merged, id)
							continue
						}
						delete(row, "_SEQUENCE_NUMBER")
						delete(row, "_VALUE_KIND")
						merged[id] = row
					}
				}
			}
			if len(merged) != len(want.Rows) {
				t.Errorf("%d rows, want %d", len(merged), len(want.Rows))
			}
			for _, row := range want.Rows {
				var key []string
				for _, k := range newest.PrimaryKeys {
					key = append(key, row[k].(string))
				}
				got := merged[strings.Join(key, "/")]
				for name, v := range row {
					if s, ok := v.(string); ok {
						row[name] = normal(name, s)
					}
				}
				if !reflect.DeepEqual(asJSON(t, got), asJSON(t, row)) {
					t.Errorf("key %v:\n got %s\nwant %s", key, asJSON(t, got), asJSON(t, row))
				}
			}
		})
	}
}

// normal drops what this package leaves to others: the zone mark, and Java's
// way to write floats.
func normal(name, s string) string {
	s = strings.TrimSuffix(s, "Z")
	if name == "f_float" || name == "f_double" || name == "c" {
		bits := 64
		if name == "f_float" {
			bits = 32
		}
		if f, err := strconv.ParseFloat(s, bits); err == nil {
			return strconv.FormatFloat(f, 'g', -1, bits)
		}
	}
	return s
}

// schemaOf finds the schema a file was written under by its columns.
func schemaOf(t *testing.T, f *File, schemas []sampleSchema) sampleSchema {
	for _, s := range schemas {
		fields := 0
		for _, c := range f.Columns() {
			if !strings.HasPrefix(c, "_") {
				fields++
			}
		}
		match := len(s.Fields) == fields
		for _, c := range s.Fields {
			n := f.root.child(c.Name)
			match = match && n != nil && (n.elem.FieldID == 0 || int(n.elem.FieldID) == c.ID)
		}
		if match {
			return s
		}
	}
	t.Fatalf("no schema has the columns %v", f.Columns())
	return sampleSchema{}
}

func sampleRows(t *testing.T, f *File, newest, old sampleSchema, batch int) []map[string]any {
	names := old.names(t)
	renamed, missing := map[string]string{}, []string{}
	columns := []Column{{Name: "_SEQUENCE_NUMBER", Type: Type{Kind: Int64}}, {Name: "_VALUE_KIND", Type: Type{Kind: Int8}}}
	nested := map[string]string{}
	for _, field := range newest.Fields {
		name, ok := names[field.ID]
		if !ok {
			missing = append(missing, field.Name)
			continue
		}
		renamed[name] = field.Name
		columns = append(columns, Column{Name: name, Type: sampleType(t, field.Type, names)})
		if f.Has("_KEY_" + name) {
			columns = append(columns, Column{Name: "_KEY_" + name, Type: sampleType(t, field.Type, names)})
		}
	}
	for id, name := range newest.names(t) {
		nested[fileName(names, id)] = name
	}
	rows := rowsOf(t, f, columns, batch)
	for _, row := range rows {
		for _, c := range columns {
			if key, ok := strings.CutPrefix(c.Name, "_KEY_"); ok {
				if !reflect.DeepEqual(row[c.Name], row[key]) {
					t.Errorf("key %v, value %v", row[c.Name], row[key])
				}
				delete(row, c.Name)
			}
		}
		out := map[string]any{}
		for k, v := range row {
			if name, ok := renamed[k]; ok {
				k = name
			}
			if fields, ok := v.(map[string]any); ok {
				back := map[string]any{}
				for name, v := range fields {
					back[nested[name]] = v
				}
				v = back
			}
			out[k] = v
		}
		clear(row)
		for k, v := range out {
			row[k] = v
		}
		for _, name := range missing {
			row[name] = nil
		}
	}
	return rows
}

func Example() {
	data, err := os.ReadFile("testdata/thin_mode/data-2.parquet")
	if err != nil {
		panic(err)
	}
	f, err := Open(strings.NewReader(string(data)), int64(len(data)), "data-2.parquet")
	if err != nil {
		panic(err)
	}
	r, err := f.Read([]Column{{Name: "k1", Type: Type{Kind: Int32}}, {Name: "b", Type: Type{Kind: String}}}, ReadOptions{})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	batch, rows, err := r.Next()
	if err != nil {
		panic(err)
	}
	for i := range rows {
		fmt.Println(batch[0].Int32s[i], string(batch[1].BytesAt(i)))
	}
	// Output:
	// 1 b1
	// 2 b2
	// 1 b3
}
