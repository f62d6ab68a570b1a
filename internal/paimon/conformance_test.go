package paimon

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// conformance are the formats of data files that read as all others do. Each
// has a folder of the same tables, written by Flink, in testdata/formats.
var conformance = []string{
	"avro",
	"orc",
	"parquet",
}

const formatSamples = "testdata/formats"

// TestFormatsAgree reads the same tables in every format: all rows in batches
// of several sizes, each column alone, and all columns backwards.
func TestFormatsAgree(t *testing.T) {
	tables, err := filepath.Glob(formatSamples + "/*.jsonl")
	if err != nil || len(tables) != 3 {
		t.Fatalf("%v, %v; want 3 tables", tables, err)
	}
	for _, file := range tables {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			want = append(want, normalJSON(t, line))
		}
		sort.Strings(want)
		for _, format := range conformance {
			t.Run(name+"/"+format, func(t *testing.T) { conforms(t, filepath.Join(formatSamples, format, name), format, want) })
		}
	}
}

func conforms(t *testing.T, dir, format string, want []string) {
	table := openDir(t, dir)
	plan := planOf(t, table)
	if err := table.CanRead(plan); err != nil {
		t.Fatal(err)
	}
	read := func(opt ReadOptions) []string {
		var rows []string
		for _, p := range plan.Partitions {
			for _, b := range p.Buckets {
				if f := b.Files[0].Name; !strings.HasSuffix(f, "."+format) {
					t.Fatalf("%s is not %s", f, format)
				}
			}
			rows = append(rows, readPartition(t, table, plan, p, opt)...)
		}
		return rows
	}
	var whole []string
	for _, batchRows := range []int{0, 1, 7} {
		whole = read(ReadOptions{BatchRows: batchRows})
		rows := make([]string, len(whole))
		for i, r := range whole {
			rows[i] = normalJSON(t, []byte(r))
		}
		sort.Strings(rows)
		if !slices.Equal(rows, want) {
			for i := range max(len(rows), len(want)) {
				if i >= len(rows) || i >= len(want) || rows[i] != want[i] {
					t.Fatalf("batches of %d: %d rows, want %d; the first that differ, sorted:\n%s\nwant\n%s", batchRows, len(rows), len(want), rows[min(i, len(rows)-1)], want[min(i, len(want)-1)])
				}
			}
		}
	}
	var names []string
	for _, f := range table.Schema().Fields {
		names = append(names, f.Name)
		alone := read(ReadOptions{Columns: []string{f.Name}, BatchRows: 7})
		if len(alone) != len(whole) {
			t.Fatalf("column %s alone: %d rows, want %d", f.Name, len(alone), len(whole))
		}
		for i, row := range alone {
			if part := strings.TrimSuffix(strings.TrimPrefix(row, "{"), "}"); !strings.Contains(whole[i], part) {
				t.Fatalf("column %s alone, row %d: %s is not in %s", f.Name, i, part, whole[i])
			}
		}
	}
	slices.Reverse(names)
	for i, row := range read(ReadOptions{Columns: names}) {
		if len(row) != len(whole[i]) {
			t.Fatalf("columns backwards, row %d: %s, want the parts of %s", i, row, whole[i])
		}
	}
}

// TestFormatsDamaged: a data file that lost its end, or that is another one, is
// an error in every format, even where what is left is a valid file.
func TestFormatsDamaged(t *testing.T) {
	for _, format := range conformance {
		for _, damage := range []string{"cut", "fewer rows", "other format"} {
			t.Run(format+"/"+damage, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(filepath.Join(formatSamples, format, "types"))); err != nil {
					t.Fatal(err)
				}
				table := openDir(t, dir)
				plan := planOf(t, table)
				p := plan.Partitions[0]
				file := &p.Buckets[0].Files[0]
				path := filepath.Join(dir, "bucket-0", file.Name)
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				switch damage {
				case "cut":
					data = data[:len(data)-20]
				case "fewer rows":
					file.RowCount++
				case "other format":
					data = []byte(strings.Repeat("none ", 100))
				}
				file.Size = int64(len(data))
				if err := os.WriteFile(path, data, fs.FileMode(0o600)); err != nil {
					t.Fatal(err)
				}
				_, err = readRows(table, plan, p, p.Buckets[0], ReadOptions{})
				if err == nil || !strings.Contains(err.Error(), file.Name) {
					t.Errorf("%v; want an error that names %s", err, file.Name)
				}
			})
		}
	}
}

// TestFormatsRefuse: a file's column of another type than its schema says is an
// error that names the file, the column, and both types.
func TestFormatsRefuse(t *testing.T) {
	for _, format := range conformance {
		table := openDir(t, filepath.Join(formatSamples, format, "evolved"))
		plan := planOf(t, table)
		for id, schema := range plan.schemas {
			changed := *schema
			changed.Fields = slices.Clone(schema.Fields)
			for i, f := range changed.Fields {
				if f.ID == 2 { // STRING
					changed.Fields[i].Type = DataType{Kind: Boolean, Nullable: true}
				}
			}
			plan.schemas[id] = &changed
			table.schemas[id] = &changed
		}
		newest := plan.schemas[table.Schema().ID]
		p := plan.Partitions[0]
		_, err := readRows(table, plan, p, p.Buckets[0], ReadOptions{Schema: newest})
		for _, want := range []string{p.Buckets[0].Files[0].Name, fmt.Sprintf("column %q", "b"), "BOOLEAN"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want it to name %s", format, err, want)
			}
		}
	}
}
