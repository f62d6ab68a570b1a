package pyoracle_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
)

func open(t *testing.T) (context.Context, *pyoracle.Python) {
	t.Helper()
	if os.Getenv("STACK_TEST") == "" {
		t.Skip("STACK_TEST is not set: the Python environment is not made")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	p, err := pyoracle.New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, p
}

// allTypes is a key table with a column of every type pypaimon writes, and rows
// at the edges of the types.
func allTypes(warehouse string) pyoracle.PaimonTable {
	comment := "all types"
	return pyoracle.PaimonTable{
		Warehouse: warehouse,
		Table:     "d.types",
		Fields: []pyoracle.PaimonField{
			{Name: "id", Type: "INT NOT NULL"}, {Name: "p", Type: "STRING NOT NULL"}, {Name: "b", Type: "BOOLEAN"},
			{Name: "i1", Type: "TINYINT"}, {Name: "i2", Type: "SMALLINT"}, {Name: "i8", Type: "BIGINT"},
			{Name: "f4", Type: "FLOAT"}, {Name: "f8", Type: "DOUBLE"}, {Name: "n", Type: "DECIMAL(20, 3)"},
			{Name: "c", Type: "VARCHAR(20)", Description: "a text"}, {Name: "x", Type: "BYTES"}, {Name: "d", Type: "DATE"},
			{Name: "t3", Type: "TIMESTAMP(3)"}, {Name: "t6", Type: "TIMESTAMP(6)"},
			{Name: "l3", Type: "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
			{Name: "a", Type: map[string]any{"type": "ARRAY", "element": "STRING"}},
		},
		PrimaryKeys: []string{"id", "p"}, PartitionKeys: []string{"p"}, Comment: &comment,
		Options: map[string]string{"bucket": "2", "bucket-key": "id", "partition.legacy-name": "false"},
	}
}

func typesRow(id, p string) pyoracle.Row {
	return pyoracle.Row{
		"id": id, "p": p, "b": "true", "i1": "-128", "i2": "32767", "i8": "-9223372036854775808", "f4": "1.5", "f8": "-0.25",
		"n": "-12345678901234567.890", "c": "Ærø 雪", "x": "00ff", "d": "2024-02-29", "t3": "1969-12-31 23:59:59.123",
		"t6": "2024-02-29 12:00:00.000001", "l3": "2024-02-29 12:00:00.500Z", "a": []any{"x", nil},
	}
}

func nullRow(id, p string) pyoracle.Row {
	r := typesRow(id, p)
	for k := range r {
		if k != "id" && k != "p" {
			r[k] = nil
		}
	}
	return r
}

func sortRows(rows []pyoracle.Row) {
	slices.SortFunc(rows, func(a, b pyoracle.Row) int {
		return strings.Compare(a["p"].(string)+a["id"].(string), b["p"].(string)+b["id"].(string))
	})
}

func TestPaimonRoundTrip(t *testing.T) {
	ctx, p := open(t)
	table := allTypes(t.TempDir())
	updated := typesRow("1", "u")
	updated["c"] = "second"
	table.Batches = [][]pyoracle.Row{
		{typesRow("1", "u"), nullRow("2", "u"), typesRow("1", "v")},
		{updated},
	}
	snapshot, err := p.WritePaimon(ctx, table)
	if err != nil || snapshot != 2 {
		t.Fatalf("snapshot %d, %v; want 2", snapshot, err)
	}
	for id, want := range map[int64][]pyoracle.Row{
		0: {updated, nullRow("2", "u"), typesRow("1", "v")},
		1: {typesRow("1", "u"), nullRow("2", "u"), typesRow("1", "v")},
	} {
		got, err := p.ReadPaimon(ctx, table.Warehouse, table.Table, id)
		if err != nil {
			t.Fatal(err)
		}
		sortRows(got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("snapshot %d: rows\n%v\nwant\n%v", id, got, want)
		}
	}
}

// One process answers one question after another, also after a failure.
func TestServe(t *testing.T) {
	ctx, p := open(t)
	warehouse := t.TempDir()
	def := allTypes(warehouse)
	def.Batches = [][]pyoracle.Row{{typesRow("1", "a"), typesRow("2", "a")}}
	served, err := p.Serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := served.WritePaimon(ctx, def); err != nil {
		t.Fatal(err)
	}
	var failed *pyoracle.Error
	if _, err := served.ReadPaimon(ctx, warehouse, "d.missing", 0); !errors.As(err, &failed) {
		t.Errorf("reading a table that is not there: %v", err)
	}
	for range 2 {
		rows, err := served.ReadPaimon(ctx, warehouse, "d.types", 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 2 {
			t.Errorf("%d rows, 2 wanted", len(rows))
		}
	}
	if err := served.Close(); err != nil {
		t.Error(err)
	}
	if _, err := served.ReadPaimon(ctx, warehouse, "d.types", 0); err == nil {
		t.Error("a closed process answers")
	}
}

func TestPaimonRefusals(t *testing.T) {
	ctx, p := open(t)
	table := allTypes(t.TempDir())
	table.Batches = [][]pyoracle.Row{{typesRow("1", "u"), nullRow("1", "u")}}
	_, err := p.WritePaimon(ctx, table)
	var refused *pyoracle.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "holds a key twice") {
		t.Errorf("a key twice: %v", err)
	}
	if rows, err := p.ReadPaimon(ctx, table.Warehouse, table.Table, 0); err != nil || len(rows) != 0 {
		t.Errorf("a table without a snapshot: %v, %v", rows, err)
	}
	if _, err := p.ReadPaimon(ctx, table.Warehouse, "d.missing", 0); !errors.As(err, &refused) {
		t.Errorf("a missing table: %v", err)
	}
}

// What a reader finds is what the answer says, whatever the number of commits
// and whether the keys are written in one piece.
func TestPaimonBench(t *testing.T) {
	ctx, p := open(t)
	for name, c := range map[string]struct {
		table    pyoracle.PaimonBench
		stored   int64
		snapshot int64
	}{
		"two commits":   {pyoracle.PaimonBench{Rows: 20_000, Buckets: 3}, 22_000, 2},
		"three commits": {pyoracle.PaimonBench{Rows: 20_000, Buckets: 1, Commits: 3}, 24_000, 3},
		"in pieces":     {pyoracle.PaimonBench{Rows: 20_000, Buckets: 2, Piece: 8000}, 22_000, 6},
	} {
		t.Run(name, func(t *testing.T) {
			c.table.Warehouse, c.table.Table = t.TempDir(), "d.bench"
			made, err := p.WriteBench(ctx, c.table)
			if err != nil {
				t.Fatal(err)
			}
			if made.Rows != 20_000 || made.Stored != c.stored || made.Snapshot != c.snapshot {
				t.Errorf("made %+v", made)
			}
			read, err := p.PaimonDigest(ctx, c.table.Warehouse, c.table.Table)
			if err != nil {
				t.Fatal(err)
			}
			if read.Count != made.Rows {
				t.Errorf("read %d rows, made %d", read.Count, made.Rows)
			}
			for column, want := range made.Sums {
				if got := read.Columns[column].Sum; got != want {
					t.Errorf("column %s: read the sum %s, made %s", column, got, want)
				}
			}
		})
	}
}

func TestCancel(t *testing.T) {
	ctx, p := open(t)
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := p.WriteBench(ctx, pyoracle.PaimonBench{Warehouse: t.TempDir(), Table: "d.t", Rows: 5_000_000})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %s to stop", took)
	}
}
