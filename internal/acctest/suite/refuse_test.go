package suite

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// unchanged runs f and checks that it left the table's files, and Fluss's table
// of that name, as they were.
func (e *env) unchanged(t *testing.T, db, table string, f func()) {
	t.Helper()
	before, tables := inventory(t, e.tableDir(db, table)), e.flussTables(t, db)
	f()
	sameFiles(t, before, inventory(t, e.tableDir(db, table)))
	if got := e.flussTables(t, db); got != tables {
		t.Errorf("tables in Fluss were %q, are %q", tables, got)
	}
}

// flussTables are the tables of a Fluss database, "" when it does not exist.
func (e *env) flussTables(t *testing.T, db string) string {
	t.Helper()
	for _, d := range e.rows(t, "SHOW DATABASES IN fluss") {
		if d == fmt.Sprintf("[%q]", db) {
			return strings.Join(e.rows(t, fmt.Sprintf("SHOW TABLES IN fluss.`%s`", db)), " ")
		}
	}
	return ""
}

func (e *env) smallTable(t *testing.T, db, table string) {
	t.Helper()
	tbl := fmt.Sprintf("lake.`%s`.`%s`", db, table)
	e.exec(t, fmt.Sprintf("CREATE TABLE %s (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='2')", tbl),
		fmt.Sprintf("INSERT INTO %s SELECT id, 'v' || CAST(id AS STRING) FROM default_catalog.default_database.numbers WHERE id <= 100", tbl))
}

func TestRefuseWrongSchema(t *testing.T) {
	e := need(t)
	db := e.database(t)
	for sample, want := range map[string][]string{
		"aggregation":         {"merge-engine", "aggregation"},
		"pk_part_date_legacy": {"partition.legacy-name"},
		"all_types":           {"TIME(3)"},
		"sequence_field":      {"sequence.field"},
		"dynamic_bucket":      {"bucket"},
		"null_partitions":     {"partition"},
	} {
		t.Run(sample, func(t *testing.T) {
			e.useSample(t, sample, db, sample)
			w := e.workspace(t, e.promotion(db, sample, ""))
			e.unchanged(t, db, sample, func() {
				w.fails([]string{"plan"}, want...)
				w.fails([]string{"apply", "-auto-approve"}, want...)
			})
		})
	}
}

func TestRefuseWithoutPreparation(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.smallTable(t, db, "t")
	block := strings.Replace(e.promotion(db, "t", ""), "prepare_source = true", "prepare_source = false", 1)
	w := e.workspace(t, block)
	e.unchanged(t, db, "t", func() { w.fails([]string{"apply", "-auto-approve"}, "bucket-key", "prepare_source = true") })
	if e.generation == fluss.Generation09 {
		w = e.workspace(t, strings.Replace(e.promotion(db, "t", ""), e.layout(), "", 1))
		e.unchanged(t, db, "t", func() { w.fails([]string{"plan"}, `lake_layout = "legacy"`) })
	}
}

func TestRefuseNotExistingTable(t *testing.T) {
	e := need(t)
	db := e.database(t)
	w := e.workspace(t, e.promotion(db, "nothing_here", ""))
	w.fails([]string{"plan"}, "The Paimon table does not exist", db+".nothing_here")
	w = e.workspace(t, e.promotion("no_such_database", "t", ""))
	w.fails([]string{"plan"}, "The Paimon table does not exist", "no_such_database")
}

func TestRefuseServerDown(t *testing.T) {
	e := need(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	w := newWorkspace(t, fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n}\n", closed)+e.promotion("db", "t", ""))
	w.fails([]string{"plan"}, "Unable to reach the Fluss cluster", closed)
}

// A server that accepts and says nothing, and one that is no Fluss server.
func TestRefuseServerSilentOrForeign(t *testing.T) {
	e := need(t)
	for name, serve := range map[string]func(net.Conn){
		"silent":  func(net.Conn) {},
		"garbage": func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"closes":  func(c net.Conn) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					defer c.Close()
					serve(c)
				}
			}()
			w := newWorkspace(t, fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n}\n", l.Addr())+e.promotion("db", "t", ""))
			w.fails([]string{"plan"}, "Unable to reach the Fluss cluster", l.Addr().String())
		})
	}
}

func TestRefuseOtherLake(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.smallTable(t, db, "t")
	other := t.TempDir()
	w := newWorkspace(t, fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n  lake = { warehouse = %q }\n}\n", e.Bootstrap, other)+
		e.promotion(db, "t", ""))
	e.unchanged(t, db, "t", func() {
		w.fails([]string{"plan"}, "The cluster's lake cannot be used", other, e.Warehouse)
		w.fails([]string{"apply", "-auto-approve"}, "The cluster's lake cannot be used")
	})
}

func TestRefuseForeignFlussTable(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.smallTable(t, db, "t")
	e.exec(t, fmt.Sprintf("CREATE DATABASE fluss.`%s`", db),
		fmt.Sprintf("CREATE TABLE fluss.`%s`.t (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='2')", db),
		fmt.Sprintf("INSERT INTO fluss.`%s`.t VALUES (1, 'mine')", db))
	w := e.workspace(t, e.promotion(db, "t", ""))
	e.unchanged(t, db, "t", func() {
		w.fails([]string{"plan"}, "was not made by a promotion")
		w.fails([]string{"apply", "-auto-approve"}, "was not made by a promotion")
	})
	if got := e.rows(t, fmt.Sprintf("SELECT v FROM fluss.`%s`.t WHERE id = 1", db)); text(got) != `["[\"mine\"]"]` {
		t.Errorf("the foreign table's row reads %v", got)
	}
}

func TestRefusePinnedElsewhere(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.smallTable(t, db, "t")
	w := e.workspace(t, e.promotion(db, "t", "  source_snapshot_id = 7"))
	e.unchanged(t, db, "t", func() { w.fails([]string{"plan"}, "another snapshot than the pinned one", "snapshot 7") })
}

// A damaged lake names the file; nothing is created.
func TestRefuseDamagedSource(t *testing.T) {
	e := need(t)
	db := e.database(t)
	for name, damage := range map[string]struct {
		glob string
		cut  int64 // bytes to keep; -1 removes the file
		want string
	}{
		"snapshot": {"snapshot/snapshot-*", 40, "snapshot-"},
		"schema":   {"schema/schema-0", 25, "schema-0"},
		"list":     {"manifest/manifest-list-*", 60, "manifest-list-"},
		"manifest": {"manifest/manifest-[0-9a-f]*", 90, "manifest-"},
		"gone":     {"manifest/manifest-[0-9a-f]*", -1, "manifest-"},
	} {
		t.Run(name, func(t *testing.T) {
			e.useSample(t, "compacted", db, name)
			damaged(t, e.tableDir(db, name), damage.glob, damage.cut)
			w := e.workspace(t, e.promotion(db, name, ""))
			e.unchanged(t, db, name, func() { w.fails([]string{"plan"}, damage.want) })
		})
	}
	for name, cut := range map[string]int64{"data_cut": 200, "data_gone": -1} {
		t.Run(name, func(t *testing.T) {
			e.useSample(t, "compacted", db, name)
			damaged(t, e.tableDir(db, name), "bucket-*/data-*.parquet", cut)
			w := e.workspace(t, e.promotion(db, name, "  deletion_protection = false"))
			w.fails([]string{"apply", "-auto-approve"}, ".parquet")
			if w.state(address) != nil {
				t.Error("a failed create is in the state")
			}
			// The journal knows of it: the leftover can be imported and destroyed.
			w.must("import", address, db+"."+name)
			w.must("destroy", "-auto-approve")
			if got := e.flussTables(t, db); strings.Contains(got, name) {
				t.Errorf("still in Fluss: %s", got)
			}
		})
	}
}
