package suite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
)

var python struct {
	once sync.Once
	py   *pyoracle.Python
	err  error
}

// py is the environment with pyfluss, which shares no code with this project.
func (e *env) py(t *testing.T) *pyoracle.Python {
	t.Helper()
	python.once.Do(func() { python.py, python.err = pyoracle.New(timeout(t, 5*time.Minute)) })
	if python.err != nil {
		t.Fatal(python.err)
	}
	return python.py
}

func (e *env) fluss(db, table string) pyoracle.Fluss {
	return pyoracle.Fluss{Bootstrap: e.Bootstrap, Table: db + "." + table}
}

// column is a column of a test table, and the SQL that renders it as pyfluss's
// text form.
type column struct {
	name string
	text string // "" is CAST(name AS STRING)
}

func columns(names ...string) []column {
	var out []column
	for _, n := range names {
		out = append(out, column{name: n})
	}
	return out
}

// lakeRows reads a Paimon table with Flink, as texts by column.
func (e *env) lakeRows(t *testing.T, db, table string, cols []column, where string) []map[string]any {
	t.Helper()
	var sel []string
	for _, c := range cols {
		text := c.text
		if text == "" {
			text = fmt.Sprintf("CAST(`%s` AS STRING)", c.name)
		}
		sel = append(sel, text)
	}
	q := fmt.Sprintf("SELECT %s FROM lake.`%s`.`%s` %s", strings.Join(sel, ", "), db, table, where)
	var out []map[string]any
	for _, line := range e.rows(t, q) {
		var values []any
		if err := json.Unmarshal([]byte(line), &values); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		for i, c := range cols {
			row[c.name] = values[i]
		}
		out = append(out, row)
	}
	return out
}

// compareLookups looks every source row up through Fluss by its key columns and
// compares the whole row.
func (e *env) compareLookups(t *testing.T, db, table string, key []string, source []map[string]any) {
	t.Helper()
	keys := make([]pyoracle.Row, len(source))
	for i, row := range source {
		keys[i] = pyoracle.Row{}
		for _, k := range key {
			keys[i][k] = row[k]
		}
	}
	got, err := e.py(t).Lookup(timeout(t, 2*time.Minute), e.fluss(db, table), keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(source) || len(source) == 0 {
		t.Fatalf("%d rows looked up, %d wanted", len(got), len(source))
	}
	bad := 0
	for i := range source {
		if a, b := text(source[i]), text(got[i]); a != b {
			if bad++; bad <= 5 {
				t.Errorf("key %v:\nPaimon %s\nFluss  %s", keys[i], a, b)
			}
		}
	}
	if bad > 0 {
		t.Fatalf("%d of %d rows differ", bad, len(source))
	}
}

// noRow checks that a key is not in Fluss.
func (e *env) noRow(t *testing.T, db, table string, key pyoracle.Row) {
	t.Helper()
	got, err := e.py(t).Lookup(timeout(t, time.Minute), e.fluss(db, table), []pyoracle.Row{key})
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != nil {
		t.Errorf("key %v: Fluss has %v, it should have no row", key, got[0])
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// registered compares the lake snapshot that pyfluss sees with the state: the
// snapshot, and the offset of every bucket. It returns the offsets' sum.
func (e *env) registered(t *testing.T, db, table string, state map[string]any, buckets int) int64 {
	t.Helper()
	snap, err := e.py(t).LakeSnapshot(timeout(t, time.Minute), e.fluss(db, table))
	if err != nil {
		t.Fatal(err)
	}
	if snap.ID == nil || float64(*snap.ID) != state["registered_snapshot_id"] || state["registered_snapshot_id"] != state["source_snapshot_id"] {
		t.Fatalf("registered snapshot: pyfluss sees %v, state says %v, source %v", snap.ID, state["registered_snapshot_id"], state["source_snapshot_id"])
	}
	if len(snap.Offsets) != buckets {
		t.Fatalf("%d buckets have a registered offset, %d wanted", len(snap.Offsets), buckets)
	}
	var sum int64
	for _, o := range snap.Offsets {
		sum += o.Offset
	}
	var inState float64
	if m, ok := state["bucket_offsets"].(map[string]any); ok {
		for _, v := range m {
			inState += v.(float64)
		}
	}
	if inState != float64(sum) {
		t.Errorf("registered offsets add up to %d, in state to %v", sum, inState)
	}
	return sum
}

// snapshot is what the tests read of a Paimon snapshot file.
type snapshot struct {
	ID         int64  `json:"id"`
	CommitUser string `json:"commitUser"`
	Kind       string `json:"commitKind"`
	Delta      int64  `json:"deltaRecordCount"`
}

func (e *env) snapshots(t *testing.T, db, table string) []snapshot {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(e.tableDir(db, table), "snapshot", "snapshot-*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []snapshot
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var s snapshot
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b snapshot) int { return int(a.ID - b.ID) })
	return out
}

// tiered waits until the tiering service has committed behind the snapshot and
// until done, and returns its APPEND commits.
func (e *env) tiered(t *testing.T, db, table string, behind float64, done func() bool) []snapshot {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for {
		var commits []snapshot
		for _, s := range e.snapshots(t, db, table) {
			if float64(s.ID) > behind {
				if s.CommitUser != "__fluss_lake_tiering" {
					t.Fatalf("snapshot %d was committed by %q", s.ID, s.CommitUser)
				}
				if s.Kind == "APPEND" {
					commits = append(commits, s)
				}
			}
		}
		if len(commits) > 0 && done() {
			return commits
		}
		if time.Now().After(deadline) {
			state, err := e.TieringState(timeout(t, 10*time.Second))
			t.Fatalf("not tiered after 3 minutes; tiering job: %s, %v", state, err)
		}
		time.Sleep(time.Second)
	}
}

// eventually repeats a comparison until it holds.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(time.Second)
	}
}
