package orc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
)

var typesColumns = []Column{
	{Name: "id", Type: kind(Int64)}, {Name: "bool", Type: kind(Boolean)}, {Name: "i8", Type: kind(Int8)}, {Name: "i16", Type: kind(Int16)},
	{Name: "i32", Type: kind(Int32)}, {Name: "i64", Type: kind(Int64)}, {Name: "few", Type: kind(Int64)}, {Name: "f32", Type: kind(Float)},
	{Name: "f64", Type: kind(Double)}, {Name: "f32", Type: kind(Double)}, {Name: "str", Type: kind(String)}, {Name: "uniq", Type: kind(String)},
	{Name: "bin", Type: kind(Binary)}, {Name: "fix", Type: kind(Binary)}, {Name: "d5", Type: Type{Kind: Decimal, Precision: 5, Scale: 2}},
	{Name: "d18", Type: Type{Kind: Decimal, Precision: 18, Scale: 6}}, {Name: "d20", Type: Type{Kind: Decimal, Precision: 20}},
	{Name: "d38", Type: Type{Kind: Decimal, Precision: 38, Scale: 10}}, {Name: "d5", Type: Type{Kind: Decimal, Precision: 30, Scale: 2}},
	{Name: "date", Type: kind(Date)}, {Name: "ts", Type: Type{Kind: Timestamp, Precision: 9}}, {Name: "ltz", Type: Type{Kind: Timestamp, Precision: 9}},
	{Name: "null", Type: kind(Int32)}, {Name: "nullstr", Type: kind(String)}, {Name: "ints", Type: listOf(kind(Int32))},
	{Name: "long", Type: listOf(kind(Int64))}, {Name: "lists", Type: listOf(listOf(kind(String)))}, {Name: "map", Type: mapOf(kind(String), kind(Int64))},
	{Name: "st", Type: Type{Kind: Struct, Names: []string{"a", "b", "in"}, Children: []Type{kind(Int32), kind(String), inner}}},
	{Name: "deep", Type: mapOf(kind(Int32), listOf(inner))},
}

var runsColumns = func() (columns []Column) {
	for _, name := range []string{"same", "step", "down", "short", "patched", "negpatched", "mixed", "rising", "falling", "random", "extreme", "nulls", "bytes"} {
		columns = append(columns, Column{Name: name, Type: kind(Int64)})
	}
	return append(columns, Column{Name: "bools", Type: kind(Boolean)})
}()

// TestPyarrow reads two tables that pyarrow, which writes with ORC's C++
// library, wrote in every codec, both file versions and many stripes.
func TestPyarrow(t *testing.T) { checkPyarrow(t, "testdata/pyarrow") }

// TestPyarrowFresh does it with other values, written now.
func TestPyarrowFresh(t *testing.T) {
	if os.Getenv("STACK_TEST") == "" {
		t.Skip("STACK_TEST is not set: the Python environment is not made")
	}
	py, err := pyoracle.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seed := range 3 {
		dir := t.TempDir()
		if out, err := exec.CommandContext(t.Context(), py.Executable(), "testdata/make_pyarrow.py", dir, strconv.Itoa(1000+seed)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		checkPyarrow(t, dir)
	}
}

func checkPyarrow(t *testing.T, dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.orc"))
	if len(files) != 11 {
		t.Fatalf("found %d files", len(files))
	}
	for table, columns := range map[string][]Column{"types": typesColumns, "runs": runsColumns} {
		var want []map[string]any
		readJSON(t, filepath.Join(dir, table+".json"), &want)
		for _, path := range files {
			if !strings.HasPrefix(filepath.Base(path), table) {
				continue
			}
			t.Run(filepath.Base(path), func(t *testing.T) {
				f := openFile(t, path)
				for _, batch := range []int{0, 7, 1} {
					rows := eachRow(t, f, columns, batch, func(i int, values []any) {
						for k, c := range columns {
							exp := want[i][c.Name]
							if c.Type.Kind == Double || c.Type.Kind == Float {
								exp = normalFloat(exp)
							}
							if g, w := asJSON(t, values[k]), asJSON(t, exp); g != w {
								t.Fatalf("batches of %d, row %d, column %s: got %s, want %s", batch, i, c.Name, g, w)
							}
						}
					})
					if rows != len(want) || f.NumRows() != int64(rows) {
						t.Errorf("%d rows read, %d said, want %d", rows, f.NumRows(), len(want))
					}
				}
			})
		}
	}
}

func normalFloat(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	f, _ := strconv.ParseFloat(s, 64)
	return strconv.FormatFloat(f, 'g', -1, 64)
}
