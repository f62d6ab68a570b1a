package promotion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// TestWarehouseOf: which catalog the cluster uses, and where it differs.
func TestWarehouseOf(t *testing.T) {
	conf := func(pairs ...string) map[string]string {
		m := map[string]string{"datalake.format": "paimon", "datalake.paimon.warehouse": "s3://lake/w", "datalake.paimon.jdbc.password": "hush"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name            string
		conf            map[string]string
		lake            *Lake
		found, required string // of the problem; "" = none
	}{
		{name: "the default catalog", conf: conf()},
		{name: "named", conf: conf("datalake.paimon.metastore", "filesystem"), lake: &Lake{Warehouse: "s3://lake/w/"}},
		{name: "JDBC", conf: conf("datalake.paimon.metastore", "jdbc"), lake: &Lake{Warehouse: "s3://lake/w", Metastore: "filesystem"},
			found: `datalake.paimon.metastore is "jdbc"`, required: `"filesystem", the catalog that this provider looks tables up in`},
		{name: "another warehouse", conf: conf(), lake: &Lake{Warehouse: "s3://other"}, found: `"s3://lake/w"`, required: `"s3://other"`},
		{name: "no warehouse", conf: conf("datalake.paimon.warehouse", ""), found: "not set", required: "the warehouse"},
		{name: "another format", conf: conf("datalake.format", "iceberg"), found: `"iceberg"`, required: `"paimon"`},
		{name: "no lake", conf: map[string]string{}, found: `datalake.format is ""`, required: `"paimon"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := warehouseOf(c.conf, c.lake)
			if c.found == "" {
				if err != nil || w != "s3://lake/w" {
					t.Errorf("warehouse %q, %v", w, err)
				}
				return
			}
			var p Problem
			if !errors.As(err, &p) || !strings.Contains(p.Found, c.found) || !strings.Contains(p.Required, c.required) || p.Fix == "" {
				t.Errorf("got %v", err)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("a secret of the server's file: %v", err)
			}
		})
	}
}

// TestFoldersThatAreNoTables: files without a schema are not a table, and the
// error says where it looked.
func TestFoldersThatAreNoTables(t *testing.T) {
	warehouse := t.TempDir()
	for _, dir := range []string{"db.db/files/bucket-0", "db.db/empty/schema", "db.db/files/snapshot", "plain/t/schema"} {
		if err := os.MkdirAll(filepath.Join(warehouse, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(warehouse, "db.db/files/snapshot/snapshot-1"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	fs, root, err := storage.Open(warehouse, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &connection{catalog: paimon.OpenCatalog(fs, root), warehouse: warehouse}
	const none = "The Paimon table does not exist"
	for name, want := range map[TableName][2]string{
		{"db", "files"}: {"The Paimon table's schema files are missing", "there is no schema file in"}, {"db", "empty"}: {none, "there is no schema file in"},
		{"db", "none"}: {none, "there is no schema file in"}, {"plain", "t"}: {none, `database "plain"`},
	} {
		_, err := (&Service{}).openSource(context.Background(), c, name)
		var p Problem
		if !errors.As(err, &p) || p.Summary != want[0] || !strings.Contains(p.Found, want[1]) ||
			!strings.Contains(p.Required, warehouse) || !slices.Equal(p.Attribute, []string{"table"}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Snapshots without a schema are damage, not the absence of a table.
	_, err = (&Service{}).openSource(context.Background(), c, TableName{"db", "files"})
	if err == nil || errors.Is(err, paimon.ErrTableNotExist) || !strings.Contains(err.Error(), "there is no schema file in "+filepath.Join(warehouse, "db.db/files/schema")) ||
		!strings.Contains(err.Error(), "snapshot-1") {
		t.Errorf("snapshots without a schema: %v", err)
	}
}

// TestManyPartitionsFewSelected: what is loaded and what stays in the lake only.
func TestManyPartitionsFewSelected(t *testing.T) {
	in := plainInput(t)
	in.Plan.Partitions, in.MaxPartitions = nil, 300
	for day := range 400 {
		name := fmt.Sprintf("2025-%03d", day)
		in.Plan.Partitions = append(in.Plan.Partitions, plainPartition(name))
		if day >= 393 {
			in.Selection = append(in.Selection, map[string]string{"p": name})
		}
	}
	j := mustJudge(t, in)
	check(t, "rules", nil, rulesOf(j))
	rep := reportOf(in.Name, &source{schema: in.Schema, snapshot: in.Snapshot, plan: in.Plan}, j, in.Generation)
	selected := 0
	for _, p := range rep.Partitions {
		if p.Selected {
			selected++
		}
	}
	if selected != 7 || len(rep.Partitions) != 400 || rep.Records != 14 || rep.Files != 14 || !rep.Compatible {
		t.Errorf("selected %d of %d, records %d, files %d", selected, len(rep.Partitions), rep.Records, rep.Files)
	}

	in.Selection = nil
	j = mustJudge(t, in)
	check(t, "all of them", []string{"partition.limit"}, rulesOf(j))
	if found := j.Problems[0].Found; found != "400 partitions" {
		t.Errorf("found %q", found)
	}
}

// TestPrefixOfAPreparedTable: on Fluss 0.9 a table that only has the stamped
// options would be enabled by the server, and tiering fails. The provider
// refuses first, and its own preparation adds the columns.
func TestPrefixOfAPreparedTable(t *testing.T) {
	in := plainInput(t)
	on09(t, &in)
	for k, v := range map[string]string{"changelog-producer": "input", "fluss.table.datalake.enabled": "false", "fluss.table.replication.factor": "1",
		"fluss.table.datalake.format": "paimon", "fluss.table.kv.format-version": "2"} {
		in.Schema.Options[k] = v
	}
	in.PrepareAllowed = false
	j := mustJudge(t, in)
	if !slices.Contains(rulesOf(j), "column.system-missing") || len(j.Errors()) == 0 {
		t.Errorf("rules %v", rulesOf(j))
	}
	in.PrepareAllowed = true
	next, err := PreparedSchema(in.Schema, mustJudge(t, in), generation09, created09(mustJudge(t, in), "op"))
	if err != nil || !endsInSystemColumns(next.Fields) {
		t.Errorf("prepared %+v, %v", next, err)
	}
}

// TestOldColumns: length limits and nullable key columns of old tables, each at
// its own path with its way out.
func TestOldColumns(t *testing.T) {
	in := plainInput(t)
	in.PrepareAllowed = false
	in.Schema.Fields[0].Type = parseType(t, "INT")
	in.Schema.Fields[2].Type = parseType(t, "VARCHAR(50)")
	in.Schema.Fields = append(in.Schema.Fields, paimon.Field{ID: 3, Name: "raw", Type: parseType(t, "VARBINARY(16)")})
	j := mustJudge(t, in)
	want := map[string]string{
		`column "v" VARCHAR(50)`:     "ALTER TABLE `db`.`t` MODIFY `v` STRING;",
		`column "raw" VARBINARY(16)`: "ALTER TABLE `db`.`t` MODIFY `raw` BYTES;",
		`key column "id" INT`:        "copy the rows into a new table whose key columns are NOT NULL and promote that one",
	}
	for _, p := range j.Problems {
		if fix, ok := want[p.Found]; !ok || p.Fix != fix || !slices.Equal(p.Attribute, []string{"table"}) {
			t.Errorf("found %q at %v, fix %q", p.Found, p.Attribute, p.Fix)
		}
		delete(want, p.Found)
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
}
