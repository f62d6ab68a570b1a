package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// layout is what the server's generation needs in a configuration.
func (e *env) layout() string {
	if e.generation == fluss.Generation09 {
		return "  lake_layout = \"legacy\"\n"
	}
	return ""
}

// promotion is a resource block.
func (e *env) promotion(db, table, more string) string {
	return fmt.Sprintf("resource \"fluss_lake_promotion\" \"t\" {\n  database = %q\n  table = %q\n  prepare_source = true\n%s%s\n"+
		"  table_properties = { \"table.datalake.freshness\" = \"3s\" }\n}\n", db, table, e.layout(), more)
}

const address = "fluss_lake_promotion.t"

// ordersColumns are those of the table that most tests use.
var ordersColumns = columns("id", "name", "amount", "n", "ts", "d", "ltz", "flag")

func init() {
	ordersColumns[7].text = "CASE `flag` WHEN TRUE THEN 'true' WHEN FALSE THEN 'false' END"
	ordersColumns[6].text = "CONCAT(DATE_FORMAT(`ltz`, 'yyyy-MM-dd HH:mm:ss.SSS'), 'Z')"
}

// orders makes a key table as Flink users have them: options left to default, a
// VARCHAR with a length, several commits with updates and deletes.
func (e *env) orders(t *testing.T, db, table, keyColumns, key, with string) {
	t.Helper()
	name := fmt.Sprintf("lake.`%s`.`%s`", db, table)
	e.exec(t,
		"SET 'table.local-time-zone' = 'UTC'",
		fmt.Sprintf("CREATE TABLE %s (%s, name VARCHAR(30), amount DECIMAL(12,2), n INT, ts TIMESTAMP(3), d DATE, ltz TIMESTAMP_LTZ(3), flag BOOLEAN, "+
			"PRIMARY KEY (%s) NOT ENFORCED) COMMENT 'a ''quoted'' comment' %s", name, keyColumns, key, with))
}

// ordersSelect makes rows of ordersColumns out of numbers.
const ordersSelect = "id, CASE WHEN MOD(id, 13) = 0 THEN CAST(NULL AS STRING) ELSE 'name-' || CAST(id AS STRING) END, " +
	"CAST(MOD(id * 3571, 100000) / 100.0 AS DECIMAL(12,2)), CAST(MOD(id, 97) AS INT), " +
	"TIMESTAMPADD(MINUTE, CAST(id * 37 AS INT), TIMESTAMP '1969-12-20 00:00:00.123'), " +
	"CAST(TIMESTAMPADD(DAY, CAST(MOD(id, 900) AS INT), TIMESTAMP '1969-01-01 00:00:00') AS DATE), " +
	"CAST(TIMESTAMPADD(SECOND, CAST(id AS INT), TIMESTAMP '2024-02-29 23:59:59.999') AS TIMESTAMP_LTZ(3)), MOD(id, 2) = 0"

func TestPromotePrimaryKeyTable(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.orders(t, db, "orders", "id BIGINT", "id", "WITH ('bucket'='3')")
	tbl := fmt.Sprintf("lake.`%s`.orders", db)
	e.exec(t,
		fmt.Sprintf("INSERT INTO %s SELECT %s FROM default_catalog.default_database.numbers", tbl, ordersSelect),
		fmt.Sprintf("INSERT INTO %s SELECT id, 'updated', -amount, n, ts, d, ltz, flag FROM %s WHERE MOD(id, 7) = 0", tbl, tbl),
		fmt.Sprintf("DELETE FROM %s WHERE MOD(id, 50) = 3", tbl))
	before := inventory(t, e.tableDir(db, "orders"))
	source := e.lakeRows(t, db, "orders", ordersColumns, "")
	if len(source) != 980 {
		t.Fatalf("the source has %d rows, 980 wanted", len(source))
	}

	w := e.workspace(t, e.promotion(db, "orders", "  verification = \"full\""))
	plan := flatten(w.must("plan"))
	for _, want := range []string{"column name type: VARCHAR(30) -> STRING", "option bucket-key: unset -> id", "nothing else may write to the Paimon table"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %q:\n%s", want, plan)
		}
	}
	sameFiles(t, before, inventory(t, e.tableDir(db, "orders"))) // a plan writes nothing
	w.apply()

	state := w.state(address)
	if state["stage"] != "enabled" || state["rows_loaded"] != float64(980) {
		t.Fatalf("stage %v, rows_loaded %v", state["stage"], state["rows_loaded"])
	}
	sameFiles(t, before, inventory(t, e.tableDir(db, "orders")), "schema/schema-")
	e.compareLookups(t, db, "orders", []string{"id"}, source)
	e.noRow(t, db, "orders", pyoracle.Row{"id": "53"})
	if sum := e.registered(t, db, "orders", state, 3); sum != 980 {
		t.Errorf("registered offsets add up to %d, 980 rows were loaded", sum)
	}
	if out := w.must("plan", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
		t.Errorf("the plan after apply is not empty:\n%s", out)
	}

	// Rows written through Fluss reach Paimon as a small delta.
	e.exec(t, fmt.Sprintf("INSERT INTO fluss.`%s`.orders VALUES (1, 'through fluss', 1.25, 1, TIMESTAMP '2030-01-01 00:00:00', DATE '2030-01-01', CAST(TIMESTAMP '2030-01-01 00:00:00' AS TIMESTAMP_LTZ(3)), TRUE), "+
		"(5000, 'new', 2.50, 2, CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS DATE), CAST(NULL AS TIMESTAMP_LTZ(3)), FALSE)", db))
	changed := func() []map[string]any {
		return e.lakeRows(t, db, "orders", ordersColumns, "WHERE id IN (1, 5000)")
	}
	commits := e.tiered(t, db, "orders", state["source_snapshot_id"].(float64), func() bool { return len(changed()) == 2 && changed()[0]["name"] != "name-1" })
	var delta int64
	for _, c := range commits {
		delta += c.Delta
	}
	if delta > 4 {
		t.Errorf("tiering wrote %d records for 2 changed rows: loaded rows were written again (%v)", delta, commits)
	}
	want := slices.DeleteFunc(slices.Clone(source), func(r map[string]any) bool { return r["id"] == "1" })
	want = append(want, changed()...)
	w.config(fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n}\n", e.Bootstrap) +
		e.promotion(db, "orders", "  verification = \"full\"\n  deletion_protection = false"))
	w.apply()
	eventually(t, "destroy", func() error { // until everything is tiered
		out, err := w.try("destroy", "-auto-approve")
		if err != nil && !strings.Contains(out, "not in the lake yet") {
			t.Fatalf("destroy: %v\n%s", err, out)
		}
		return err
	})
	if tables := e.rows(t, fmt.Sprintf("SHOW TABLES IN fluss.`%s`", db)); len(tables) != 0 {
		t.Errorf("tables left in Fluss: %v", tables)
	}
	if got := e.lakeRows(t, db, "orders", ordersColumns, ""); !sameRows(got, want) {
		t.Errorf("the Paimon table reads differently after destroy: %d rows, %d wanted", len(got), len(want))
	}
	after := inventory(t, e.tableDir(db, "orders"))
	for path, sum := range before {
		if strings.Contains(path, "/data-") && after[path] != sum {
			t.Errorf("data file %s has changed or is gone", path)
		}
	}
}

func sameRows(a, b []map[string]any) bool {
	texts := func(rows []map[string]any) []string {
		var out []string
		for _, r := range rows {
			out = append(out, text(r))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(texts(a), texts(b))
}

func TestPromotePartitionsSelected(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.orders(t, db, "events", "id BIGINT, dt STRING", "dt, id", "PARTITIONED BY (dt) WITH ('bucket'='2')")
	tbl := fmt.Sprintf("lake.`%s`.events", db)
	for _, dt := range []string{"2024-01-01", "2024-01-02", "2024-01-03"} {
		e.exec(t, fmt.Sprintf("INSERT INTO %s (id, name, amount, n, ts, d, ltz, flag, dt) SELECT %s, '%s' FROM default_catalog.default_database.numbers WHERE id <= 200",
			tbl, ordersSelect, dt))
	}
	e.exec(t, fmt.Sprintf("DELETE FROM %s WHERE dt = '2024-01-02' AND id > 150", tbl))
	cols := append(columns("dt"), ordersColumns...)
	before := inventory(t, e.tableDir(db, "events"))
	selected := e.lakeRows(t, db, "events", cols, "WHERE dt <> '2024-01-03'")
	all := e.lakeRows(t, db, "events", cols, "")

	w := e.workspace(t, e.promotion(db, "events", `  partitions = [{ dt = "2024-01-01" }, { dt = "2024-01-02" }]`))
	w.apply()
	state := w.state(address)
	if got := text(state["initialized_partitions"]); got != `[{"dt":"2024-01-01"},{"dt":"2024-01-02"}]` {
		t.Errorf("initialized_partitions = %s", got)
	}
	sameFiles(t, before, inventory(t, e.tableDir(db, "events")), "schema/schema-")
	e.compareLookups(t, db, "events", []string{"dt", "id"}, selected)
	if sum := e.registered(t, db, "events", state, 4); sum != 350 {
		t.Errorf("registered offsets add up to %d, 350 rows were loaded", sum)
	}
	parts := e.rows(t, fmt.Sprintf("SHOW PARTITIONS fluss.`%s`.events", db))
	if got := strings.Join(parts, " "); strings.Contains(got, "2024-01-03") || len(parts) != 2 {
		t.Errorf("partitions in Fluss: %s", got)
	}

	e.exec(t, fmt.Sprintf("INSERT INTO fluss.`%s`.events (id, dt, name) VALUES (1, '2024-01-01', 'through fluss')", db))
	one := func() []map[string]any {
		return e.lakeRows(t, db, "events", columns("dt", "name"), "WHERE id = 1 AND dt = '2024-01-01'")
	}
	e.tiered(t, db, "events", state["source_snapshot_id"].(float64), func() bool { return len(one()) == 1 && one()[0]["name"] == "through fluss" })
	rest := e.lakeRows(t, db, "events", cols, "WHERE NOT (id = 1 AND dt = '2024-01-01')")
	if len(rest) != len(all)-1 {
		t.Errorf("%d other rows in the lake, %d wanted", len(rest), len(all)-1)
	}

	// An import at this stage gives the same, and then an empty plan.
	imported := e.workspace(t, e.promotion(db, "events", `  partitions = [{ dt = "2024-01-01" }, { dt = "2024-01-02" }]`))
	imported.must("import", address, db+".events")
	got := imported.state(address)
	for _, k := range []string{"operation_id", "table_id", "cluster_id", "stage", "initialized_partitions", "bucket_offsets", "registered_snapshot_id"} {
		if text(got[k]) != text(state[k]) {
			t.Errorf("imported %s = %s, it was %s", k, text(got[k]), text(state[k]))
		}
	}
	imported.must("plan", "-detailed-exitcode") // status 2 when anything would change
}

func TestPromoteAppendTables(t *testing.T) {
	e := need(t)
	db := e.database(t)
	for name, with := range map[string]string{"keyed": "WITH ('bucket'='2','bucket-key'='id')", "unaware": ""} {
		tbl := fmt.Sprintf("lake.`%s`.`%s`", db, name)
		e.exec(t, fmt.Sprintf("CREATE TABLE %s (id BIGINT, v STRING) %s", tbl, with),
			fmt.Sprintf("INSERT INTO %s SELECT id, 'v' || CAST(id AS STRING) FROM default_catalog.default_database.numbers", tbl))
	}
	for _, name := range []string{"keyed", "unaware"} {
		t.Run(name, func(t *testing.T) {
			before := inventory(t, e.tableDir(db, name))
			w := e.workspace(t, e.promotion(db, name, "  deletion_protection = false"))
			w.apply()
			state := w.state(address)
			if state["stage"] != "enabled" || state["rows_loaded"] != float64(0) {
				t.Fatalf("stage %v, rows_loaded %v", state["stage"], state["rows_loaded"])
			}
			sameFiles(t, before, inventory(t, e.tableDir(db, name)), "schema/schema-")
			snap, err := e.py(t).LakeSnapshot(timeout(t, time.Minute), e.fluss(db, name))
			if err != nil {
				t.Fatal(err)
			}
			if snap.ID == nil || float64(*snap.ID) != state["source_snapshot_id"] || len(snap.Offsets) == 0 {
				t.Fatalf("registered: %+v", snap)
			}
			for _, o := range snap.Offsets {
				if o.Offset != 0 {
					t.Errorf("bucket %d is registered at offset %d, 0 wanted", o.Bucket, o.Offset)
				}
			}
			e.exec(t, fmt.Sprintf("INSERT INTO fluss.`%s`.`%s` VALUES (7, 'through fluss'), (8, 'through fluss')", db, name))
			count := func(where string) string {
				return strings.Join(e.rows(t, fmt.Sprintf("SELECT COUNT(*) FROM lake.`%s`.`%s` %s", db, name, where)), "")
			}
			commits := e.tiered(t, db, name, state["source_snapshot_id"].(float64), func() bool { return count("WHERE v = 'through fluss'") == "[2]" })
			var delta int64
			for _, c := range commits {
				delta += c.Delta
			}
			if delta != 2 || count("") != "[1002]" {
				t.Errorf("tiering wrote %d records for 2 rows; %s rows in all", delta, count(""))
			}
			eventually(t, "destroy", func() error {
				out, err := w.try("destroy", "-auto-approve")
				if err != nil && !strings.Contains(out, "not in the lake yet") {
					t.Fatalf("destroy: %v\n%s", err, out)
				}
				return err
			})
			if count("") != "[1002]" {
				t.Errorf("%s rows in the lake after destroy, 1002 wanted", count(""))
			}
		})
	}
}
