package promotion

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// lake is the Paimon table of a spec, to be changed behind the promotion's back.
func (e *realEnv) lake(s Spec) lakeCopy {
	return lakeCopy{dir: filepath.Join(e.st.Warehouse, s.Name.Database+".db", s.Name.Table)}
}

// addColumn commits a schema version with one more column, and nothing else.
func (l lakeCopy) addColumn(t *testing.T, from, to string) {
	t.Helper()
	l.edit(t, "schema/schema-"+from, "schema/schema-"+to, `"fields"\s*:\s*\[`, `"fields" : [ { "id" : 77, "name" : "late", "type" : "INT" },`)
	l.edit(t, "schema/schema-"+to, "schema/schema-"+to, `"id"\s*:\s*`+from+`,\s*"fields"`, `"id" : `+to+`, "fields"`)
	l.edit(t, "schema/schema-"+to, "schema/schema-"+to, `"highestFieldId"\s*:\s*\d+`, `"highestFieldId" : 77`)
}

// A table that was rolled back and written again shows the pinned snapshot's ID.
func TestRealSourceRolledBack(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, gone)
	e.lake(s).edit(t, "snapshot/snapshot-8", "snapshot/snapshot-8", `"timeMillis" : \d+`, `"timeMillis" : 1795998999999`)
	e.refused(t, s, "moved on", "the same ID with another commit", "snapshot 8")
	s.OnSourceChange = "restart"
	if res := e.run(t, s); res.OperationID == old.op.id {
		t.Errorf("operation %s went on", res.OperationID)
	}
}

// A table that was dropped and made anew, with a snapshot of the same ID.
func TestRealSourceMadeAnew(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, gone)
	l := e.lake(s)
	if err := os.RemoveAll(l.dir); err != nil {
		t.Fatal(err)
	}
	e.refused(t, s, "does not exist")
	e.sample(t, "pk_levels", "t")
	l.edit(t, "schema/schema-0", "schema/schema-0", `"timeMillis" : \d+`, `"timeMillis" : 1795998999999`)
	e.refused(t, s, "moved on", "dropped and made anew")
	s.OnSourceChange = "restart"
	if res := e.run(t, s); res.OperationID == old.op.id {
		t.Errorf("operation %s went on", res.OperationID)
	}
}

// Schema versions come without a snapshot.
func TestRealSchemaAlone(t *testing.T) {
	e := real(t)
	// Between plan and apply: what counts is what apply finds.
	s := e.sample(t, "pk_levels", "judged")
	if rep, err := e.svc.Preview(deadline(t), s); err != nil || !rep.Compatible || rep.SchemaID != 0 {
		t.Fatalf("preview: %+v, %v", rep, err)
	}
	l := e.lake(s)
	l.addColumn(t, "0", "1")
	l.edit(t, "schema/schema-1", "schema/schema-1", `"options"\s*:\s*\{`, `"options" : { "sequence.field" : "late",`)
	e.refused(t, s, "sequence.field")

	s = e.sample(t, "pk_levels", "taken")
	if rep, err := e.svc.Preview(deadline(t), s); err != nil || !rep.Compatible {
		t.Fatalf("preview: %+v, %v", rep, err)
	}
	e.lake(s).addColumn(t, "0", "1")
	res := e.run(t, s)
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.client.GetTable(deadline(t), flussPath(s.Name))
	if err != nil {
		t.Fatal(err)
	}
	if names := columnNames(info.Descriptor.Columns); !strings.Contains(names, "late") || res.SourceSchemaID < 1 {
		t.Errorf("columns %s of schema %d; the one added after the plan is missing", names, res.SourceSchemaID)
	}

	// Behind the start: the operation does not go on.
	s = e.sample(t, "pk_levels", "begun")
	old := e.begun(t, s, gone)
	l = e.lake(s)
	from := "0"
	if _, err := os.Stat(filepath.Join(l.dir, "schema", "schema-1")); err == nil {
		from = "1" // prepared
	}
	l.addColumn(t, from, map[string]string{"0": "1", "1": "2"}[from])
	e.refused(t, s, "schema has changed", "late")
	s.OnSourceChange = "restart"
	if res := e.run(t, s); res.OperationID == old.op.id {
		t.Errorf("operation %s went on", res.OperationID)
	}
}

// Data files that vanish are named; with them back the promotion goes on.
func TestRealDataFileVanishes(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	l := e.lake(s)
	away := filepath.Join(l.dir, "away")
	if err := os.Rename(filepath.Join(l.dir, "bucket-0"), away); err != nil {
		t.Fatal(err)
	}
	res := e.refused(t, s, "Files of the source's snapshot are missing", "bucket-0/data-", "still the newest")
	if err := os.Rename(away, filepath.Join(l.dir, "bucket-0")); err != nil {
		t.Fatal(err)
	}
	if again := e.run(t, s); again.OperationID != res.OperationID || again.RowsLoaded == 0 {
		t.Errorf("operation %s with %d rows, want %s to go on", again.OperationID, again.RowsLoaded, res.OperationID)
	}
}

func columnNames(columns []fluss.Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}
