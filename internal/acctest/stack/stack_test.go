package stack_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

// real skips a test that starts real servers unless that is asked for.
func real(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	if os.Getenv("STACK_TEST") == "" {
		t.Skip("STACK_TEST is not set: no real servers are started")
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func options(t *testing.T) stack.Options {
	return stack.Options{DieWithParent: true, Libs: os.Getenv("STACK_LIBS"), StartTimeout: 5 * time.Minute, Logf: t.Logf}
}

func start(ctx context.Context, t *testing.T, opt stack.Options) *stack.Stack {
	t.Helper()
	s, err := stack.Start(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Stop(stop); err != nil {
			t.Error(err)
		}
	})
	return s
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// commands lists the running processes whose command line names dir.
func commands(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, "list the processes", err)
	var out []string
	for _, f := range found {
		if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), dir) {
			out = append(out, f)
		}
	}
	return out
}

// until asks again and again until f answers true.
func until(ctx context.Context, t *testing.T, what string, f func() (bool, error)) {
	t.Helper()
	var last error
	for {
		ok, err := f()
		if ok && err == nil {
			return
		}
		last = err
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v (%v)", what, ctx.Err(), last)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func TestServers(t *testing.T) {
	ctx := real(t, 15*time.Minute)
	opt := options(t)
	opt.TabletServers, opt.Replication = 3, 3
	opt.Users = map[string]string{"alice": `s3 "cret`, "bob": "b"}
	opt.ServerProperties = map[string]string{"default.bucket.number": "2", "zookeeper.client.session-timeout": "10s"}
	s := start(ctx, t, opt)

	known, err := stack.FlussTabletServers(ctx, s.Bootstrap)
	check(t, "metadata", err)
	slices.Sort(known)
	want := slices.Sorted(slices.Values(s.Tablets))
	if !slices.Equal(known, want) {
		t.Errorf("tablet servers %v, want %v", known, want)
	}
	check(t, "stop tablet server 1", s.StopTablet(ctx, 1))
	if err := stack.FlussServing(ctx, s.Tablets[1]); err == nil {
		t.Error("a stopped tablet server serves")
	}
	if err := stack.FlussServing(ctx, s.Tablets[0]); err != nil {
		t.Errorf("the others should serve: %v", err)
	}
	check(t, "start tablet server 1", s.StartTablet(ctx, 1))
	if err := s.StartTablet(ctx, 1); err == nil || !strings.Contains(err.Error(), "is running") {
		t.Errorf("start a running one: %v", err)
	}
	check(t, "kill tablet server 0", s.KillTablet(ctx, 0))
	check(t, "start tablet server 0", s.StartTablet(ctx, 0))
	check(t, "stop the coordinator", s.StopCoordinator(ctx))
	check(t, "start the coordinator", s.StartCoordinator(ctx))
	check(t, "pause ZooKeeper", s.PauseZooKeeper())
	if err := stack.FlussServing(ctx, s.Bootstrap); err != nil {
		t.Errorf("the coordinator with ZooKeeper paused: %v", err)
	}
	check(t, "resume ZooKeeper", s.ResumeZooKeeper())

	p, err := pyoracle.New(ctx)
	check(t, "pyoracle", err)
	login := pyoracle.Fluss{Bootstrap: s.SASLBootstrap, Table: "d.none", Config: map[string]string{
		"security.protocol": "sasl", "security.sasl.mechanism": "PLAIN",
		"security.sasl.username": "alice", "security.sasl.password": opt.Users["alice"],
	}}
	_, err = p.LakeSnapshot(ctx, login)
	var refused *pyoracle.Error
	if !errors.As(err, &refused) || refused.Code != 7 {
		t.Errorf("a table that is not there, as alice: %v; want Fluss error 7", err)
	}
	login.Config["security.sasl.password"] = "wrong"
	if _, err = p.LakeSnapshot(ctx, login); !errors.As(err, &refused) || refused.Code == 7 {
		t.Errorf("a wrong password: %v", err)
	}

	// What another holder restarts is ended by the first one all the same.
	held, err := stack.Attach(s.Dir, t.Logf)
	check(t, "attach", err)
	check(t, "stop tablet server 2", held.StopTablet(ctx, 2))
	check(t, "start tablet server 2", held.StartTablet(ctx, 2))
	check(t, "stop", s.Stop(ctx))
	if left := commands(t, s.Dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

// A folder is started again with its data, on its ports, and is not started twice.
func TestAgainInTheSameFolder(t *testing.T) {
	ctx := real(t, 10*time.Minute)
	opt := options(t)
	opt.Dir = t.TempDir()
	s := start(ctx, t, opt)
	ports, first := s.Bootstrap, s.Status()
	if _, err := stack.Start(ctx, opt); !errors.Is(err, stack.ErrRunning) {
		t.Errorf("a second start: %v", err)
	}
	held, err := stack.Attach(opt.Dir, t.Logf)
	check(t, "attach", err)
	check(t, "stop", held.Stop(ctx))
	for _, p := range s.Status() {
		if p.Alive {
			t.Errorf("%s is running after Stop", p.Name)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Warehouse, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(ctx, t, opt)
	if again.Bootstrap != ports {
		t.Errorf("bootstrap %s, was %s", again.Bootstrap, ports)
	}
	for i, p := range again.Status() {
		if !p.Alive || p.PID == first[i].PID {
			t.Errorf("%s: process %d, alive %v, was %d", p.Name, p.PID, p.Alive, first[i].PID)
		}
	}
	check(t, "stop again", again.Stop(ctx))
	if _, err := os.Stat(filepath.Join(s.Warehouse, "kept")); err != nil {
		t.Errorf("the warehouse: %v", err)
	}
	check(t, "remove", again.Remove())
	if left, err := os.ReadDir(opt.Dir); err == nil && len(left) > 0 {
		t.Errorf("left in the folder: %v", left)
	}
}

func TestFailedStartCleansUp(t *testing.T) {
	ctx := real(t, 5*time.Minute)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	opt := options(t)
	opt.ServerProperties = map[string]string{"default.replication.factor": "many"}
	_, err := stack.Start(ctx, opt)
	if err == nil || !strings.Contains(err.Error(), "ended while starting") || !strings.Contains(err.Error(), "many") {
		t.Errorf("error %v; want one that ends with the server's own words", err)
	}
	short, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := stack.Start(short, options(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an interrupted start: %v", err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("an interrupted start took %s to end", took)
	}
	if left := commands(t, temp); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInterruptHelper is not a test of its own: it is run as the test process
// that gets a Ctrl-C.
func TestInterruptHelper(t *testing.T) {
	path := os.Getenv("STACK_INTERRUPT_HELPER")
	if path == "" {
		return
	}
	s := start(context.Background(), t, options(t))
	s.StopOnSignal()
	if err := os.WriteFile(path, []byte(s.Dir), 0o600); err != nil {
		t.Fatal(err)
	}
	select {}
}

func TestInterrupt(t *testing.T) {
	ctx := real(t, 5*time.Minute)
	temp := t.TempDir()
	path := filepath.Join(t.TempDir(), "dir")
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestInterruptHelper$")
	child.Env = append(os.Environ(), "STACK_INTERRUPT_HELPER="+path, "TMPDIR="+temp)
	check(t, "start the test process", child.Start())
	until(ctx, t, "a stack", func() (bool, error) {
		data, err := os.ReadFile(path)
		return len(data) > 0, err
	})
	if n := len(commands(t, temp)); n != 3 {
		t.Errorf("%d servers run, 3 expected", n)
	}
	check(t, "interrupt", child.Process.Signal(os.Interrupt))
	var ended *exec.ExitError
	if err := child.Wait(); !errors.As(err, &ended) || ended.ExitCode() != 130 {
		t.Errorf("the test process: %v, want exit status 130", err)
	}
	if left := commands(t, temp); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "fluss-stack-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTiering(t *testing.T) {
	ctx := real(t, 20*time.Minute)
	opt := options(t)
	opt.SQLGateway, opt.Tiering = true, true
	s := start(ctx, t, opt)
	sql, err := flinksql.Open(ctx, s.GatewayURL, nil)
	check(t, "open a session", err)
	check(t, "Paimon catalog", sql.CreatePaimonCatalog(ctx, "lake", s.Warehouse))
	check(t, "Fluss catalog", sql.CreateFlussCatalog(ctx, "fl", s.Bootstrap))
	check(t, "a Paimon table", sql.Exec(ctx,
		"CREATE DATABASE lake.d",
		"CREATE TABLE lake.d.t (id INT, v STRING, ts TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket'='2')",
		"INSERT INTO lake.d.t VALUES (1, 'a', TIMESTAMP '2024-01-01 01:02:03.456'), (2, CAST(NULL AS STRING), CAST(NULL AS TIMESTAMP(3)))",
	))
	got, err := sql.Query(ctx, "SELECT * FROM lake.d.t ORDER BY id")
	check(t, "read it", err)
	if want := [][]string{{"1", "a", "2024-01-01T01:02:03.456"}, {"2", "NULL", "NULL"}}; !slices.EqualFunc(got.Texts(), want, slices.Equal) {
		t.Errorf("Flink reads %v, want %v", got.Texts(), want)
	}
	p, err := pyoracle.New(ctx)
	check(t, "pyoracle", err)
	rows, err := p.ReadPaimon(ctx, s.Warehouse, "d.t", 0)
	check(t, "pypaimon", err)
	if len(rows) != 2 || rows[0]["v"] == rows[1]["v"] {
		t.Errorf("pypaimon reads %v", rows)
	}
	_, err = sql.Query(ctx, "SELECT nope FROM lake.d.t")
	var refused *flinksql.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Root(), "Column 'nope' not found") {
		t.Errorf("a wrong column: %v", err)
	}
	tiered(ctx, t, s, sql, p)
	check(t, "close the session", sql.Close(ctx))
	check(t, "stop", s.Stop(ctx))
	if left := commands(t, s.Dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// tiered writes to a Fluss table and finds the rows in Paimon, with every
// reader, across a stop and a new start of the tiering service and the loss of
// the job manager.
func tiered(ctx context.Context, t *testing.T, s *stack.Stack, sql *flinksql.Session, p *pyoracle.Python) {
	check(t, "a Fluss table", sql.Exec(ctx,
		"CREATE DATABASE fl.f",
		"CREATE TABLE fl.f.k (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket.num'='2', 'table.datalake.enabled'='true', 'table.datalake.freshness'='1s')",
		"INSERT INTO fl.f.k VALUES (1, 'one'), (2, 'two'), (3, 'three')",
	))
	table := pyoracle.Fluss{Bootstrap: s.Bootstrap, Table: "f.k"}
	found, err := p.Lookup(ctx, table, []pyoracle.Row{{"id": "2"}, {"id": "9"}})
	check(t, "pyfluss lookup", err)
	if len(found) != 2 || found[0]["v"] != "two" || found[1] != nil {
		t.Errorf("pyfluss looks up %v", found)
	}
	inPaimon := func(n int) {
		t.Helper()
		until(ctx, t, "tiered rows in Paimon", func() (bool, error) {
			rows, err := p.ReadPaimon(ctx, s.Warehouse, "f.k", 0)
			return len(rows) == n, err
		})
	}
	inPaimon(3)
	check(t, "stop tiering", s.StopTiering(ctx))
	check(t, "start tiering", s.StartTiering(ctx))
	check(t, "kill the job manager", s.KillJobManager(ctx))
	check(t, "start the job manager", s.StartJobManager(ctx))
	check(t, "more rows", sql.Exec(ctx, "INSERT INTO fl.f.k VALUES (2, 'two bis'), (4, 'four')"))
	inPaimon(4)
	if state, err := s.TieringState(ctx); err != nil || state != "RUNNING" {
		t.Errorf("tiering is %s, %v", state, err)
	}
	until(ctx, t, "registered lake snapshot", func() (bool, error) {
		lake, err := p.LakeSnapshot(ctx, table)
		sum := int64(0)
		for _, o := range lake.Offsets {
			sum += o.Offset
		}
		return lake.ID != nil && sum == 6, err // 3 inserts; 1 update of two records, 1 insert
	})
	for what, query := range map[string]string{"Paimon": "SELECT id, v FROM lake.f.k", "union read": "SELECT id, v FROM fl.f.k"} {
		got, err := sql.Query(ctx, query)
		check(t, what, err)
		texts := got.Texts()
		slices.SortFunc(texts, slices.Compare)
		want := [][]string{{"1", "one"}, {"2", "two bis"}, {"3", "three"}, {"4", "four"}}
		if !slices.EqualFunc(texts, want, slices.Equal) {
			t.Errorf("%s: %v, want %v", what, texts, want)
		}
	}
	rows, err := p.Scan(ctx, table)
	check(t, "pyfluss scan", err)
	digest, err := p.ScanDigest(ctx, table)
	check(t, "pyfluss digest", err)
	if len(rows) != 4 || digest.Count != 4 || digest.Columns["id"].Sum != "10" {
		t.Errorf("pyfluss scans %v, digest %+v", rows, digest)
	}
	log, err := p.Log(ctx, table)
	check(t, "pyfluss log", err)
	kinds := map[string]int{}
	for _, c := range log {
		kinds[c.Change]++
	}
	if kinds["+I"] != 4 || kinds["-U"] != 1 || kinds["+U"] != 1 {
		t.Errorf("change log %v", log)
	}
}
