package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
)

// pyTypes are types that pypaimon writes, with random values in the project's
// text form. FLOAT and DOUBLE values are such that both sides print them alike.
var pyTypes = []struct {
	typ   any
	value func(r *rand.Rand) any
}{
	{"BOOLEAN", func(r *rand.Rand) any { return fmt.Sprint(r.IntN(2) == 0) }},
	{"TINYINT", func(r *rand.Rand) any { return fmt.Sprint(r.IntN(256) - 128) }},
	{"SMALLINT", func(r *rand.Rand) any { return fmt.Sprint(r.IntN(1<<16) - 1<<15) }},
	{"INT", func(r *rand.Rand) any { return fmt.Sprint(int32(r.Uint32())) }},
	{"BIGINT", func(r *rand.Rand) any { return fmt.Sprint(int64(r.Uint64())) }},
	{"FLOAT", func(r *rand.Rand) any { return fmt.Sprintf("%d.5", r.IntN(1000)-500) }},
	{"DOUBLE", func(r *rand.Rand) any { return fmt.Sprintf("%d.25", r.IntN(100_000)-50_000) }},
	{"DECIMAL(9, 2)", func(r *rand.Rand) any { return fmt.Sprintf("%d.%02d", 1+r.IntN(1_000_000), r.IntN(100)) }},
	{"DECIMAL(18, 0)", func(r *rand.Rand) any { return fmt.Sprint(r.Int64N(1_000_000_000_000_000_000)) }},
	{"DECIMAL(38, 5)", func(r *rand.Rand) any {
		return fmt.Sprintf("-%d%018d.%05d", 1+r.IntN(99), r.Int64N(1e18), r.IntN(100_000))
	}},
	{"STRING", func(r *rand.Rand) any {
		return pick(r, "", "a", "Ærø 雪 🙂", strings.Repeat("long ", 40), "it's \"quoted\"\n")
	}},
	{"VARCHAR(20)", func(r *rand.Rand) any { return pick(r, "", "x", "twenty letters here.") }},
	{"BYTES", func(r *rand.Rand) any { return pick(r, "", "00", "00ff10", strings.Repeat("ab", 100)) }},
	{"DATE", func(r *rand.Rand) any { return pick(r, "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31") }},
	{"TIMESTAMP(3)", func(r *rand.Rand) any { return fmt.Sprintf("%d-03-01 12:30:45.%03d", 1950+r.IntN(100), r.IntN(1000)) }},
	{"TIMESTAMP(6)", func(r *rand.Rand) any {
		return fmt.Sprintf("%d-11-30 23:59:59.%06d", 1950+r.IntN(100), r.IntN(1_000_000))
	}},
	{"TIMESTAMP(3) WITH LOCAL TIME ZONE", func(r *rand.Rand) any { return fmt.Sprintf("%d-03-01 12:30:45.%03dZ", 1950+r.IntN(100), r.IntN(1000)) }},
	{map[string]any{"type": "ARRAY", "element": "STRING"}, func(r *rand.Rand) any {
		return pick(r, []any{}, []any{"x", nil, "y"}, []any{"雪"})
	}},
}

// newPyTable is a random table of pypaimon and the rows it must hold: of a key
// table the last of each key.
func newPyTable(warehouse, db string, seed uint64) (pyoracle.PaimonTable, []pyoracle.Row) {
	r := newRand(seed)
	keyed := r.IntN(4) > 0
	t := pyoracle.PaimonTable{Warehouse: warehouse, Table: fmt.Sprintf("%s.py_%d", db, seed),
		Fields:  []pyoracle.PaimonField{{Name: "id", Type: "INT NOT NULL"}, {Name: "p", Type: "STRING NOT NULL"}},
		Options: map[string]string{"file.compression": pick(r, "zstd", "snappy", "lz4", "gzip", "none")}}
	partitioned := r.IntN(2) == 0
	if partitioned {
		t.PartitionKeys = []string{"p"}
	}
	if keyed {
		t.PrimaryKeys = []string{"id"}
		if partitioned {
			t.PrimaryKeys = append(t.PrimaryKeys, "p")
		}
		t.Options["bucket"], t.Options["bucket-key"] = fmt.Sprint(1+r.IntN(3)), "id"
	}
	values := map[string]func(*rand.Rand) any{}
	for i := range 3 + r.IntN(len(pyTypes)) {
		of := pyTypes[r.IntN(len(pyTypes))]
		name := fmt.Sprintf("%s%d", pick(r, "v", "größe", "列", "a b"), i)
		t.Fields = append(t.Fields, pyoracle.PaimonField{Name: name, Type: of.typ})
		values[name] = of.value
	}
	held := map[string]pyoracle.Row{}
	for batch := range 1 + r.IntN(5) {
		var rows []pyoracle.Row
		for _, id := range r.Perm(120)[:1+r.IntN(80)] {
			// Keys are unique in a batch: pypaimon does not merge one's rows.
			row := pyoracle.Row{"id": fmt.Sprint(id), "p": fmt.Sprint("p", id%3)}
			for _, f := range t.Fields[2:] {
				if row[f.Name] = values[f.Name](r); r.IntN(6) == 0 {
					row[f.Name] = nil
				}
			}
			rows = append(rows, row)
			key := fmt.Sprint(id)
			if !keyed {
				key = fmt.Sprint(batch, "/", id)
			}
			held[key] = row
		}
		t.Batches = append(t.Batches, rows)
	}
	return t, slices.Collect(maps.Values(held))
}

// TestReaderDifferentialPython writes random tables with pypaimon and asks that
// the reader gives what was written, what pypaimon reads, and what Flink reads.
func TestReaderDifferentialPython(t *testing.T) {
	e := need(t).small(t)
	db := e.database(t)
	cat := paimoncat(t)
	py, err := e.py(t).Serve(timeout(t, 5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer py.Close()
	multiset := func(t *testing.T, rows []pyoracle.Row) map[string]int {
		t.Helper()
		out := map[string]int{}
		for _, row := range rows {
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			out[canonicalText(t, line)]++
		}
		return out
	}
	first, count := number(t, seedVariable, 1), int(number(t, tablesVariable, 8))
	for i := range count {
		seed := first + uint64(i)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			table, held := newPyTable(e.Warehouse, db, seed)
			if _, err := py.WritePaimon(timeout(t, time.Minute), table); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(timeout(t, time.Minute), cat, "-warehouse", e.Warehouse, "-table", table.Table).Output()
			if err != nil {
				t.Fatalf("%v: %+v", err, table.Fields)
			}
			got := map[string]int{}
			for line := range strings.Lines(string(out)) {
				got[canonicalText(t, []byte(line))]++
			}
			read, err := py.ReadPaimon(timeout(t, time.Minute), e.Warehouse, table.Table, 0)
			if err != nil {
				t.Fatal(err)
			}
			for who, want := range map[string]map[string]int{"written": multiset(t, held), "read by pypaimon": multiset(t, read)} {
				if !maps.Equal(got, want) {
					t.Errorf("%s: %d different rows, paimoncat prints %d; options %v, fields %+v", who, len(want), len(got), table.Options, table.Fields)
					for row, n := range want {
						if got[row] != n {
							t.Fatalf("%s %d times, printed %d times: %s", who, n, got[row], row)
						}
					}
				}
			}
			_, name, _ := strings.Cut(table.Table, ".")
			e.compareTable(t, cat, db, name, fmt.Sprintf("options %v, fields %+v", table.Options, table.Fields))
		})
	}
}
