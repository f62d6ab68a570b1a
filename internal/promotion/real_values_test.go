package promotion

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// written makes a Paimon table with pypaimon and returns the spec of its
// promotion.
func (e *realEnv) written(t *testing.T, py *pyoracle.Python, table pyoracle.PaimonTable) Spec {
	t.Helper()
	if _, err := py.WritePaimon(deadline(t), table); err != nil {
		t.Fatal(err)
	}
	s := Spec{Name: TableName{e.db, strings.TrimPrefix(table.Table, e.db+".")}, PrepareSource: true, Verification: VerifyFull}
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.generation == generation09 {
		s.LakeLayout = layoutLegacy
	}
	return s
}

// TestRealTimestampBefore1970: a value that Fluss stores and nobody can read
// from its log is warned of by plan and ends the load; once it is corrected in
// Paimon, the promotion goes through.
func TestRealTimestampBefore1970(t *testing.T) {
	e := real(t)
	py, err := pyoracle.New(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	table := pyoracle.PaimonTable{
		Warehouse: e.st.Warehouse, Table: e.db + ".t",
		Fields:      []pyoracle.PaimonField{{Name: "id", Type: "INT"}, {Name: "ts", Type: "TIMESTAMP(6)"}, {Name: "v", Type: "STRING"}},
		PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"},
		Batches: [][]pyoracle.Row{{
			{"id": "1", "ts": "2024-02-29 01:02:03.000004", "v": "a"},
			{"id": "2", "ts": "1969-12-31 23:59:59.999999", "v": "b"},
			{"id": "3", "ts": "1969-12-31 23:59:59.999000", "v": "c"},
		}},
	}
	s := e.written(t, py, table)
	rep, err := e.svc.Preview(deadline(t), s)
	if err != nil || !rep.Compatible {
		t.Fatalf("preview: %v, %v", err, rep.Errors())
	}
	i := slices.IndexFunc(rep.Problems, func(p Problem) bool { return p.Rule == "type.before-1970" })
	if i < 0 || rep.Problems[i].Severity != SeverityWarning || !strings.Contains(rep.Problems[i].Found, `column "ts" TIMESTAMP(6): file `) ||
		!strings.Contains(rep.Problems[i].Found, "has no statistics of it") { // pypaimon writes none
		t.Errorf("the plan does not warn of the column: %v", rep.Problems)
	}

	res := e.refused(t, s, "The source holds a value that Fluss can store but not read back",
		`column "ts" of the row with id=2: a timestamp before 1970 with digits below the millisecond`, `on_source_change = "restart"`)
	if res.Stage != StageFailed || res.RegisteredSnapshotID != nil {
		t.Errorf("stage %s, registered %v", res.Stage, res.RegisteredSnapshotID)
	}
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, readable := range []bool{false, true} {
		if _, err := c.client.LakeSnapshot(deadline(t), flussPath(s.Name), readable); !errors.Is(err, fluss.ErrNoLakeSnapshot) {
			t.Errorf("a lake snapshot was registered: %v", err)
		}
	}
	if info, err := c.client.GetTable(deadline(t), flussPath(s.Name)); err != nil || info.Descriptor.Properties[enabledProperty] == "true" {
		t.Errorf("the table is enabled, or gone: %v", err)
	}

	table.Batches = [][]pyoracle.Row{{{"id": "2", "ts": "1969-12-31 23:59:59.998000", "v": "corrected"}}}
	if _, err := py.WritePaimon(deadline(t), table); err != nil {
		t.Fatal(err)
	}
	e.refused(t, s, "moved on", `on_source_change = "restart"`)
	s.OnSourceChange = "restart"
	if res := e.run(t, s); res.RowsLoaded != 3 || *res.RegisteredSnapshotID != 2 {
		t.Errorf("rows %d, registered %d", res.RowsLoaded, *res.RegisteredSnapshotID)
	}
	rows, err := py.Lookup(deadline(t), pyoracle.Fluss{Bootstrap: e.st.Bootstrap, Table: s.Name.String()}, []pyoracle.Row{{"id": "2"}, {"id": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	if rows[0]["ts"] != "1969-12-31 23:59:59.998000" || rows[0]["v"] != "corrected" || rows[1]["ts"] != "1969-12-31 23:59:59.999000" {
		t.Errorf("rows %v", rows)
	}
}

// TestRealReplicas: more replicas than live tablet servers are refused by the
// preview and by the run, and nothing is created.
func TestRealReplicas(t *testing.T) {
	e := real(t)
	s := e.sample(t, "compacted", "replicas")
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	_, alive, err := c.client.Servers(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	s.TableProperties = map[string]string{"table.replication.factor": "9"}
	rep, err := e.svc.Preview(deadline(t), s)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rep.Problems, func(p Problem) bool { return p.Rule == "property.replication" })
	if i < 0 || rep.Compatible || !slices.Equal(rep.Problems[i].Attribute, []string{"table_properties", "table.replication.factor"}) {
		t.Fatalf("compatible %t, problems %v", rep.Compatible, rep.Problems)
	}
	e.refused(t, s, "more replicas than the cluster has tablet servers", "table.replication.factor = 9", "live tablet servers")
	if _, err := c.client.GetTable(deadline(t), flussPath(s.Name)); !isNotExist(err) {
		t.Errorf("a table was created: %v", err)
	}
	s.TableProperties["table.replication.factor"] = "1"
	if res := e.run(t, s); len(alive) == 0 || res.Stage != StageEnabled {
		t.Errorf("stage %s, %d servers", res.Stage, len(alive))
	}
}

// TestRealComments: comments with quotes, line breaks and other scripts go
// through the comparison of each server generation, and no drift remains.
func TestRealComments(t *testing.T) {
	e := real(t)
	py, err := pyoracle.New(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	text := "it's \"quoted\" `back`\nsecond line\t表のコメント \\ 100%"
	for name, comment := range map[string]*string{"c_text": &text, "c_empty": ptr(""), "c_none": nil} {
		table := pyoracle.PaimonTable{
			Warehouse: e.st.Warehouse, Table: e.db + "." + name, Comment: comment,
			Fields:      []pyoracle.PaimonField{{Name: "id", Type: "INT", Description: text}, {Name: "v", Type: "STRING", Description: "値 'x'\n\"y\""}},
			PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"},
			Batches: [][]pyoracle.Row{{{"id": "1", "v": "a"}}},
		}
		s := e.written(t, py, table)
		res := e.run(t, s)
		c, err := e.svc.connect(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		info, err := c.client.GetTable(deadline(t), flussPath(s.Name))
		if err != nil {
			t.Fatal(err)
		}
		if comment != nil && deref(info.Descriptor.Comment) != *comment {
			t.Errorf("%s: comment %q, want %q", name, deref(info.Descriptor.Comment), *comment)
		}
		if got := deref(info.Descriptor.Columns[0].Comment); got != text {
			t.Errorf("%s: column comment %q, want %q", name, got, text)
		}
		ref := Ref{Name: s.Name, ClusterID: res.ClusterID, OperationID: res.OperationID, TableID: res.TableID}
		obs, err := e.svc.Observe(deadline(t), ref)
		if err != nil {
			t.Fatal(err)
		}
		if obs.Result.Stage != StageEnabled || len(obs.Warnings) > 0 {
			t.Errorf("%s: drift: stage %s, warnings %v", name, obs.Result.Stage, obs.Warnings)
		}
	}
}
