package suite

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// Settings of the differential tests, for longer runs than the suite's own.
const (
	tablesVariable  = "FLUSS_TEST_DIFF_TABLES"  // how many random tables
	seedVariable    = "FLUSS_TEST_DIFF_SEED"    // of the first; each table has its own
	formatsVariable = "FLUSS_TEST_DIFF_FORMATS" // file formats to choose from, by comma
)

func number(t *testing.T, variable string, def uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestReaderDifferential writes random tables with Flink and asks that the
// provider's Paimon reader gives, for the newest snapshot and an earlier one,
// exactly the rows that Flink reads, and the sums that Paimon keeps of each
// partition. A failure names the table's seed.
func TestReaderDifferential(t *testing.T) {
	e := need(t).small(t)
	db := e.database(t)
	cat := paimoncat(t)
	first, count := number(t, seedVariable, 1), int(number(t, tablesVariable, 8))
	var tables []*randomTable
	for i := range count {
		r := newRandomTable(db, first+uint64(i))
		tables = append(tables, r)
		t.Run(fmt.Sprintf("seed %d", r.seed), func(t *testing.T) {
			e.exec(t, r.create(e.Warehouse))
			for round := range 3 {
				e.exec(t, r.insert(round))
				e.exec(t, r.between(round)...)
			}
			e.exec(t, r.insert(3)) // with the last schema
			e.compareTable(t, cat, db, r.name, r.String())
		})
	}
	if !t.Failed() {
		e.comparePartitions(t, db, tables)
	}
}

// small is the stack with a session of its own, whose jobs are small: a slot
// each.
func (e *env) small(t *testing.T) *env {
	t.Helper()
	ctx := timeout(t, time.Minute)
	sql, err := flinksql.Open(ctx, e.GatewayURL, map[string]string{"parallelism.default": "1", "table.local-time-zone": "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sql.Close(timeout(t, time.Minute)); err != nil {
			t.Error(err)
		}
	})
	own := &env{Stack: e.Stack, sql: sql, generation: e.generation}
	own.exec(t, fmt.Sprintf("CREATE CATALOG lake WITH ('type'='paimon','warehouse'='%s')", e.Warehouse), "USE CATALOG lake")
	return own
}

// paimoncat builds the command that shows what the reader gives.
func paimoncat(t *testing.T) string {
	t.Helper()
	root, err := stack.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "paimoncat")
	cmd := exec.CommandContext(timeout(t, 5*time.Minute), "go", "build", "-o", exe, "./tools/paimoncat")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build paimoncat: %v\n%s", err, out)
	}
	return exe
}

// compareTable compares the newest snapshot and the first one under the same
// schema: of earlier ones Flink's SELECT takes the columns from today's.
func (e *env) compareTable(t *testing.T, cat, db, name, about string) {
	t.Helper()
	table := e.openPaimon(t, db, name)
	e.compareSnapshot(t, cat, table, db, name, about, 0)
	ctx := timeout(t, time.Minute)
	id, ok, err := table.EarliestSnapshotID(ctx)
	if err != nil || !ok {
		t.Fatalf("no snapshot: %v\n%s", err, about)
	}
	for ; ; id++ {
		snap, err := table.Snapshot(ctx, id)
		if err != nil {
			t.Fatalf("%v\n%s", err, about)
		}
		if snap.SchemaID == table.Schema().ID {
			break
		}
	}
	e.compareSnapshot(t, cat, table, db, name, about, id)
}

func (e *env) openPaimon(t *testing.T, db, name string) *paimon.Table {
	t.Helper()
	fs, root, err := storage.Open(e.Warehouse, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := paimon.OpenCatalog(fs, root).Table(timeout(t, time.Minute), db, name)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func (e *env) compareSnapshot(t *testing.T, cat string, table *paimon.Table, db, name, about string, id int64) {
	t.Helper()
	query := fmt.Sprintf("SELECT * FROM lake.`%s`.`%s`", db, name)
	args := []string{"-warehouse", e.Warehouse, "-table", db + "." + name}
	if id > 0 {
		query += fmt.Sprintf(" /*+ OPTIONS('scan.snapshot-id'='%d') */", id)
		args = append(args, "-snapshot", strconv.FormatInt(id, 10))
	}
	out, err := exec.CommandContext(timeout(t, time.Minute), cat, args...).Output()
	if err != nil {
		said := ""
		if ended, ok := err.(*exec.ExitError); ok {
			said = string(ended.Stderr)
		}
		t.Fatalf("snapshot %d: %v: %s\n%s", id, err, said, about)
	}
	got := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		got[canonicalText(t, lines.Bytes())]++
	}
	want := map[string]int{}
	for _, line := range e.rows(t, query) {
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		var values []any
		if err := dec.Decode(&values); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, f := range table.Schema().Fields {
			row[f.Name] = canonical(t, f.Type, values[i])
		}
		want[text(row)]++
	}
	for _, row := range slices.Sorted(maps.Keys(want)) {
		if got[row] != want[row] {
			t.Errorf("snapshot %d: Flink reads %d times, paimoncat prints %d times: %s\n%s", id, want[row], got[row], row, about)
			return
		}
	}
	for row, n := range got {
		if want[row] != n {
			t.Errorf("snapshot %d: paimoncat prints %d times, Flink reads %d times: %s\n%s", id, n, want[row], row, about)
			return
		}
	}
}

// canonicalText is a printed row with its columns in the order of their names.
func canonicalText(t *testing.T, line []byte) string {
	t.Helper()
	var row map[string]any
	if err := json.Unmarshal(line, &row); err != nil {
		t.Fatalf("paimoncat printed %s: %v", line, err)
	}
	return text(row)
}

// canonical turns a value as Flink's gateway gives it into the text form of
// testdata/paimon/README.md.
func canonical(t *testing.T, dt paimon.DataType, v any) any {
	t.Helper()
	if v == nil {
		return nil
	}
	switch dt.Kind {
	case paimon.Array:
		out := []any{}
		for _, x := range v.([]any) {
			out = append(out, canonical(t, *dt.Element, x))
		}
		return out
	case paimon.Map:
		out := []any{}
		m := v.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out = append(out, []any{k, canonical(t, *dt.Value, m[k])})
		}
		return out
	case paimon.Row:
		out := map[string]any{}
		for _, f := range dt.Fields {
			out[f.Name] = canonical(t, f.Type, v.(map[string]any)[f.Name])
		}
		return out
	case paimon.Binary, paimon.VarBinary:
		b, err := base64.StdEncoding.DecodeString(v.(string))
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(b)
	case paimon.Decimal:
		// Exact, but with trailing zeros as an exponent.
		n, ok := new(big.Rat).SetString(v.(json.Number).String())
		if !ok {
			t.Fatalf("the gateway gives the decimal %s", v)
		}
		return n.FloatString(dt.Scale)
	case paimon.Time:
		return padded(v.(string), 3)
	case paimon.Timestamp:
		return padded(strings.Replace(v.(string), "T", " ", 1), dt.Precision)
	case paimon.TimestampLTZ:
		return padded(strings.TrimSuffix(strings.Replace(v.(string), "T", " ", 1), "Z"), dt.Precision) + "Z"
	}
	return fmt.Sprint(v)
}

// padded gives a time that many digits after its seconds.
func padded(text string, digits int) string {
	whole, fraction, _ := strings.Cut(text, ".")
	if digits == 0 {
		return whole
	}
	return whole + "." + fraction + strings.Repeat("0", max(0, digits-len(fraction)))
}

// comparePartitions compares files, bytes and records of every partition with
// Paimon's system table.
func (e *env) comparePartitions(t *testing.T, db string, tables []*randomTable) {
	t.Helper()
	var queries []string
	got := map[string][]string{}
	for _, r := range tables {
		queries = append(queries, fmt.Sprintf("SELECT '%s', record_count, file_size_in_bytes, file_count FROM lake.`%s`.`%s$partitions`", r.name, db, r.name))
		table := e.openPaimon(t, db, r.name)
		snap, err := table.LatestSnapshot(timeout(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := table.Plan(timeout(t, time.Minute), snap)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plan.Partitions {
			got[r.name] = append(got[r.name], fmt.Sprintf("[%q,%d,%d,%d]", r.name, p.Records, p.Bytes, p.Files))
		}
	}
	want := map[string][]string{}
	for _, line := range e.rows(t, strings.Join(queries, " UNION ALL ")) {
		name := strings.Split(line, `"`)[1]
		want[name] = append(want[name], line)
	}
	for _, r := range tables {
		slices.Sort(got[r.name])
		if !slices.Equal(got[r.name], want[r.name]) {
			t.Errorf("partitions (records, bytes, files): %v, Paimon says %v\n%s", got[r.name], want[r.name], r)
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5eed)) }
