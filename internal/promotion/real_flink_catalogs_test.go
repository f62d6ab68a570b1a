package promotion

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
)

// otherGateway is a SQL gateway with settings, or without jars, of its own.
func (e *realEnv) otherGateway(t *testing.T, settings map[string]string, without ...string) string {
	t.Helper()
	url, err := e.st.StartOtherGateway(minutes(t), e.db, settings, without...)
	t.Cleanup(func() {
		if err := e.st.StopOtherGateway(minutes(t), e.db); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// sql runs statements in a session of a gateway, with the catalog lake.
func (e *realEnv) sql(t *testing.T, url string, statements ...string) {
	t.Helper()
	s, err := flinksql.Open(minutes(t), url, map[string]string{"table.local-time-zone": "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(minutes(t))
	if err := s.Exec(minutes(t), statements...); err != nil {
		t.Fatal(err)
	}
}

// get is what a URL answers.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(data)
}

// Flink logs in to Fluss with the provider's user, and gets the provider's
// options of the lake. None of the secrets is in the journal, in Flink's logs,
// nor in what its REST services tell of the job.
func TestRealFlinkSecrets(t *testing.T) {
	e := flinkReal(t)
	users := e.st.Users()
	if len(users) == 0 {
		t.Fatal("found a stack without users; required: one, for a login with SASL")
	}
	s := e.sample(t, "pk_levels", "t")
	s.Engine = engineFlink
	name := slices.Sorted(maps.Keys(users))[0]
	cfg := e.svc.cfg
	cfg.Bootstrap = []string{e.st.SASLBootstrap}
	cfg.SASL = &SASL{Mechanism: "PLAIN", Username: name, Password: users[name]}
	cfg.Lake = &Lake{Options: map[string]string{"s3.access-key": "planted-access-key", "s3.secret-key": "it's a planted 'secret'"}}
	svc, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	rep, err := svc.Preview(minutes(t), s)
	if err != nil || !rep.Compatible {
		t.Fatalf("preview: %v, %v", err, rep.Errors())
	}
	res, _, err := svc.Run(minutes(t), s, nil)
	if err != nil || res.LoadJobID == "" {
		t.Fatalf("%+v, %v", res, err)
	}

	// A login that is refused is told without it.
	cfg.SASL = &SASL{Mechanism: "PLAIN", Username: name, Password: "planted-wrong-password"}
	wrong := &Service{cfg: cfg, conn: svc.conn, slots: svc.slots}
	conn, j := e.connections(t)
	f, err := wrong.openFlink(minutes(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	refused := f.catalogs(minutes(t), conn, j.clusterID, s)
	f.close(minutes(t))
	if refused == nil || !strings.Contains(refused.Error(), "Fluss catalog") || !strings.Contains(strings.ToLower(refused.Error()), "authenticat") {
		t.Errorf("a wrong password: %v", refused)
	}

	texts := map[string]string{"error": fmt.Sprint(refused)}
	events, err := j.read(minutes(t), res.OperationID)
	if err != nil {
		t.Fatal(err)
	}
	texts["journal"] = fmt.Sprintf("%+v", events)
	for _, ev := range events {
		texts["journal"] += ev.Detail.encode()
	}
	for _, what := range []string{"", "/config", "/exceptions", "/plan", "/jobmanager/config"} {
		texts["job"+what] = get(t, e.st.FlinkRest+"/jobs/"+res.LoadJobID+what)
	}
	logs, err := e.st.FlinkLogs()
	if err != nil {
		t.Fatal(err)
	}
	for process, log := range logs { // a Fluss server's has its own settings, the users' passwords too
		texts["log of "+process] = log
	}
	for where, text := range texts {
		for _, secret := range append(cfg.Secrets(), users[name]) {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s holds %q: …%s…", where, secret, text[max(0, at-200):min(len(text), at+80)])
			}
		}
	}
}

// Catalogs that the gateway's sessions have are used; where none is named, those
// that the promotion makes are gone afterwards, also from a store on disk.
func TestRealFlinkOwnCatalogs(t *testing.T) {
	e := flinkReal(t)
	store := t.TempDir()
	url := e.otherGateway(t, map[string]string{"table.catalog-store.kind": "file", "table.catalog-store.file.path": store})
	e.sql(t, url, "CREATE CATALOG `the ``lake``` WITH ('type'='paimon','warehouse'='"+e.st.Warehouse+"')",
		"CREATE CATALOG fluss_of_theirs WITH ('type'='fluss','bootstrap.servers'='"+e.st.Bootstrap+"')")
	stored := func() []string {
		files, err := filepath.Glob(filepath.Join(store, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	before := stored()
	if len(before) != 2 {
		t.Fatalf("catalogs in the store: %q", before)
	}
	svc := e.service(t, &Flink{GatewayURL: url})
	for table, load := range map[string]*FlinkLoad{
		"named":     {LakeCatalog: "the `lake`", FlussCatalog: "fluss_of_theirs"},
		"not_named": nil,
	} {
		s := e.sample(t, "pk_part_date", table)
		s.Engine, s.Flink = engineFlink, load
		rep, err := svc.Preview(minutes(t), s)
		if err != nil || !rep.Compatible {
			t.Fatalf("%s: preview: %v, %v", table, err, rep.Errors())
		}
		if res, _, err := svc.Run(minutes(t), s, nil); err != nil || res.Stage != StageEnabled || res.LoadJobID == "" {
			t.Errorf("%s: %+v, %v", table, res, err)
		}
	}
	if after := stored(); !slices.Equal(after, before) {
		t.Errorf("catalogs in the store: %q, before the promotions %q", after, before)
	}
}

// A Flink without the jars of a connector is told so by the plan, which names
// the jar; nothing is made.
func TestRealFlinkWithoutJars(t *testing.T) {
	e := flinkReal(t)
	s := e.sample(t, "pk_levels", "t")
	s.Engine = engineFlink
	for jar, identifier := range map[string]string{"fluss-flink-1": "fluss", "paimon-flink": "paimon"} {
		t.Run(jar, func(t *testing.T) {
			svc := e.service(t, &Flink{GatewayURL: e.otherGateway(t, nil, jar)})
			rep, err := svc.Preview(minutes(t), s)
			if err != nil || rep.Compatible {
				t.Fatalf("preview: %v, compatible %t", err, rep.Compatible)
			}
			text := rep.Errors().Error()
			for _, want := range []string{"Flink lacks a connector", fmt.Sprintf("%q", identifier), "fluss-flink and paimon-flink"} {
				if !strings.Contains(text, want) {
					t.Errorf("the plan lacks %q: %s", want, text)
				}
			}
			if strings.Contains(text, "\tat ") {
				t.Errorf("a stack trace: %s", text)
			}
		})
	}
	c, _ := e.connections(t)
	if info, err := wholeTable(minutes(t), c.client, flussPath(s.Name)); !isNotExist(err) {
		t.Errorf("a plan made %+v, %v", info, err)
	}
}

// Partitions of every type that can be promoted are selected by exactly their
// value: the load holds their rows and no others'.
func TestRealFlinkPartitionTypes(t *testing.T) {
	e := flinkReal(t)
	e.sql(t, e.st.GatewayURL,
		"CREATE CATALOG lake WITH ('type'='paimon','warehouse'='"+e.st.Warehouse+"')",
		"CREATE DATABASE lake."+flink.Identifier(e.db),
		"CREATE TABLE lake."+flink.Identifier(e.db)+".t (id INT, s STRING, `the ``char``` CHAR(4), b BOOLEAN, ti TINYINT, i INT, l BIGINT, f FLOAT, g DOUBLE, d DATE, ts TIMESTAMP(3), tm TIME(0), v STRING, "+
			"PRIMARY KEY (id, s, `the ``char```, b, ti, i, l, f, g, d, ts, tm) NOT ENFORCED) PARTITIONED BY (s, `the ``char```, b, ti, i, l, f, g, d, ts, tm) "+
			"WITH ('bucket'='2','bucket-key'='id','partition.legacy-name'='false')",
		"INSERT INTO lake."+flink.Identifier(e.db)+".t VALUES "+
			"(1, 'a-b_c', 'ab_d', TRUE, CAST(-1 AS TINYINT), -7, 9000000000, CAST(0.1 AS FLOAT), 1e0, DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03.004', TIME '01:02:03', 'selected'), "+
			"(2, 'a-b_c', 'ab_d', TRUE, CAST(-1 AS TINYINT), -7, 9000000000, CAST(0.1 AS FLOAT), 1e0, DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03.004', TIME '01:02:03', 'selected'), "+
			"(3, 'x', 'wxyz', FALSE, CAST(127 AS TINYINT), 0, 0, CAST(-2.5 AS FLOAT), -0.125e0, DATE '1970-01-01', TIMESTAMP '1970-01-01 00:00:00', TIME '23:59:59', 'selected too'), "+
			"(4, 'a-b_c', 'ab_d', TRUE, CAST(-1 AS TINYINT), -7, 9000000000, CAST(0.1 AS FLOAT), 1e0, DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03.005', TIME '01:02:03', 'a millisecond later'), "+
			"(5, 'a-b_c', 'ab_d', FALSE, CAST(-1 AS TINYINT), -7, 9000000000, CAST(0.1 AS FLOAT), 1e0, DATE '2024-02-29', TIMESTAMP '2024-02-29 01:02:03.004', TIME '01:02:03', 'another truth')")
	s := Spec{Name: TableName{e.db, "t"}, PrepareSource: true, Verification: VerifyFull, Engine: engineFlink}
	if c, _ := e.connections(t); c.generation == generation09 {
		s.LakeLayout = layoutLegacy
	}
	rep, err := e.svc.Preview(minutes(t), s)
	if err != nil || !rep.Compatible || len(rep.Partitions) != 4 {
		t.Fatalf("preview: %v, %v, %d partitions", err, rep.Errors(), len(rep.Partitions))
	}
	for _, p := range rep.Partitions {
		if p.Records == 2 || p.Spec["s"] == "x" {
			s.Partitions = append(s.Partitions, p.Spec)
		}
	}
	if len(s.Partitions) != 2 {
		t.Fatalf("selected %v of %+v", s.Partitions, rep.Partitions)
	}
	t.Logf("selected %v", s.Partitions)
	res, _, err := e.svc.Run(minutes(t), s, nil)
	if err != nil || res.RowsLoaded != 3 || len(res.InitializedPartitions) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}

// A selection of more partitions than one SELECT of the load names.
func TestRealFlinkManyPartitions(t *testing.T) {
	e := flinkReal(t)
	py, err := pyoracle.New(minutes(t))
	if err != nil {
		t.Fatal(err)
	}
	table := pyoracle.PaimonTable{
		Warehouse: e.st.Warehouse, Table: e.db + ".t", Fields: []pyoracle.PaimonField{{Name: "id", Type: "INT"}, {Name: "p", Type: "INT"}, {Name: "v", Type: "STRING"}},
		PrimaryKeys: []string{"id", "p"}, PartitionKeys: []string{"p"}, Options: map[string]string{"bucket": "1"}, Batches: [][]pyoracle.Row{nil},
	}
	for p := range partitionsPerSelect + 12 {
		table.Batches[0] = append(table.Batches[0], pyoracle.Row{"id": "1", "p": fmt.Sprint(p), "v": "a"}, pyoracle.Row{"id": "2", "p": fmt.Sprint(p), "v": "b"})
	}
	s := e.written(t, py, table)
	s.Engine, s.Parallelism = engineFlink, 2
	for p := range partitionsPerSelect + 2 {
		s.Partitions = append(s.Partitions, map[string]string{"p": fmt.Sprint(p)})
	}
	res, _, err := e.svc.Run(minutes(t), s, nil)
	if err != nil || res.RowsLoaded != 2*int64(len(s.Partitions)) || len(res.InitializedPartitions) != len(s.Partitions) {
		t.Errorf("%+v, %v", res, err)
	}
	if list := e.jobsNamed(t, s); len(list) != 1 || list[0].ID != res.LoadJobID {
		t.Errorf("jobs %+v", list)
	}
}
