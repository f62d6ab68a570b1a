package flink

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/google/uuid"
)

// The tests below run against the real Flink of a stack that was started with a
// SQL gateway and a history server; FLUSS_TEST_STACK names its folder.
func realStack(t *testing.T) *stack.Stack {
	t.Helper()
	dir := os.Getenv("FLUSS_TEST_STACK")
	if dir == "" {
		t.Skip("FLUSS_TEST_STACK is not set: no real servers to test against")
	}
	st, err := stack.Attach(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if st.GatewayURL == "" || st.HistoryURL == "" {
		t.Fatal("found a stack without a SQL gateway or without a history server; required: both")
	}
	return st
}

func minutes(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// opened is a session on the stack with tables to read from and to write to.
func opened(t *testing.T, st *stack.Stack, settings map[string]string) (*Gateway, *Session, *Jobs) {
	t.Helper()
	ctx := minutes(t)
	g, err := Connect(ctx, st.GatewayURL+"/", Config{Secrets: []string{"hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]string{"execution.runtime-mode": "streaming", "table.dml-sync": "false"}
	for k, v := range settings {
		set[k] = v
	}
	s, err := g.Open(ctx, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conf, err := s.Config(ctx)
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJobs(JobManagerAddress(conf), st.HistoryURL, Config{})
	if err != nil || j.Address() != st.FlinkRest {
		t.Fatalf("job manager of the gateway's configuration: %v, want %s, %v", j, st.FlinkRest, err)
	}
	for _, q := range []string{
		"CREATE TEMPORARY TABLE endless (x INT) WITH ('connector'='datagen', 'rows-per-second'='100')",
		"CREATE TEMPORARY TABLE ten (x INT) WITH ('connector'='datagen', 'fields.x.kind'='sequence', 'fields.x.start'='0', 'fields.x.end'='9')",
		"CREATE TEMPORARY TABLE nowhere (x INT) WITH ('connector'='blackhole')",
	} {
		if err := s.Exec(ctx, "a table for tests", q); err != nil {
			t.Fatal(err)
		}
	}
	return g, s, j
}

func TestRealGateway(t *testing.T) {
	st := realStack(t)
	ctx := minutes(t)
	g, s, j := opened(t, st, nil)
	if g.APIVersion != "v3" || !strings.HasPrefix(g.Flink, "1.20.") {
		t.Errorf("API %s of Flink %s", g.APIVersion, g.Flink)
	}
	c, err := j.Cluster(ctx)
	if err != nil || c.Version != g.Flink || c.SlotsTotal < 4 || c.TaskManagers < 1 {
		t.Errorf("cluster %+v, %v", c, err)
	}
	r, err := s.Query(ctx, "list catalogs", "SHOW CATALOGS")
	if err != nil || r.Text(0, 0) != "default_catalog" || !slices.Equal(r.Columns, []string{"catalog name"}) {
		t.Errorf("catalogs %+v, %v", r, err)
	}
	for statement, want := range map[string]Kind{
		"CREATE CATALOG c WITH ('type'='paimon7', 's3.secret-key'='hunter2')":       KindMissingConnector,
		"CREATE CATALOG c WITH ('type'='fluss', 'bootstrap.servers'='127.0.0.1:1')": KindUnreachable,
		"CREATE CATALOG c WITH ('type'='paimon', 'warehouse'='s3://hunter2/w')":     KindMissingConnector,
		"SELECT * FROM nope":                       KindTableNotFound,
		"INSERT INTO nowhere SELECT 'a' FROM ten":  KindType,
		"SELECT hunter2 FROM":                      KindSyntax,
		"SELECT hunter2 FROM ten":                  KindOther,
		"SELECT CAST(x AS MAP<INT,INT>) FROM nope": KindTableNotFound,
	} {
		_, err := s.Query(ctx, "try it", statement)
		if KindOf(err) != want {
			t.Errorf("%s: kind %q, want %q: %v", statement, KindOf(err), want, err)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\tat ")) {
			t.Errorf("%s: error %v", statement, err)
		}
	}
	// The job manager's own REST service is taken for no gateway, nor the other
	// way round.
	if _, err := Connect(ctx, st.FlinkRest, Config{}); !errors.Is(err, ErrNotThisService) || !strings.Contains(err.Error(), "8083") {
		t.Errorf("a job manager as gateway: %v", err)
	}
	wrong, err := NewJobs(st.GatewayURL, "", Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Cluster(ctx); !errors.Is(err, ErrNotThisService) {
		t.Errorf("a gateway as job manager: %v", err)
	}
}

// Every version of the API that the gateway offers does the same.
func TestRealGatewayVersions(t *testing.T) {
	st := realStack(t)
	ctx := minutes(t)
	all := apiVersions
	t.Cleanup(func() { apiVersions = all })
	tried := 0
	for _, v := range all {
		apiVersions = []string{v}
		if _, err := Connect(ctx, st.GatewayURL, Config{}); errors.Is(err, ErrNotThisService) {
			continue // not offered by this release
		}
		tried++
		g, s, j := opened(t, st, nil)
		if g.APIVersion != strings.ToLower(v) {
			t.Errorf("API %s, want %s", g.APIVersion, v)
		}
		if r, err := s.Query(ctx, "list tables", "SHOW TABLES"); err != nil || len(r.Rows) != 3 || r.Text(2, 0) != "ten" {
			t.Errorf("%s: tables %+v, %v", v, r, err)
		}
		if _, err := s.Query(ctx, "try it", "SELECT * FROM nope"); KindOf(err) != KindTableNotFound {
			t.Errorf("%s: no such table: %v", v, err)
		}
		id, err := s.Submit(ctx, "submit", "INSERT INTO nowhere SELECT x FROM ten")
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		if job, err := j.Await(ctx, id, nil); err != nil || job.State != StateFinished {
			t.Errorf("%s: %+v, %v", v, job, err)
		}
	}
	if tried < 3 {
		t.Errorf("%d versions were tried; Flink 1.20 has three", tried)
	}
}

// A job whose ID was chosen before is submitted once, is found by ID and by
// name, and is cancelled; the session's end leaves it running.
func TestRealSubmitFindCancel(t *testing.T) {
	st := realStack(t)
	ctx := minutes(t)
	id := strings.ReplaceAll(uuid.NewString(), "-", "")
	name := "flink-test-" + id[:8]
	settings := map[string]string{FixedJobID: id, "pipeline.name": name}
	_, s, j := opened(t, st, settings)
	if _, err := j.Job(ctx, id); !errors.Is(err, ErrJobNotFound) {
		t.Fatalf("before it was submitted: %v", err)
	}
	const insert = "INSERT INTO nowhere SELECT x FROM endless"
	got, err := s.Submit(ctx, "submit", insert)
	if err != nil || got != id {
		t.Fatalf("job %s, %v; want %s", got, err, id)
	}
	if _, err := s.Submit(ctx, "submit again", insert); KindOf(err) != KindDuplicateJob {
		t.Errorf("a second submission: %v", err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	named, err := j.Named(ctx, name)
	if err != nil || len(named) != 1 || named[0].ID != id || named[0].State.Terminal() || named[0].Started.IsZero() {
		t.Errorf("by name: %+v, %v", named, err)
	}
	limit, done := context.WithTimeout(ctx, 2*time.Second)
	defer done()
	var seen Job
	if _, err := j.Await(limit, id, func(j Job) { seen = j }); !errors.Is(err, context.DeadlineExceeded) || seen.State.Terminal() || seen.Name != name || seen.Restarted {
		t.Errorf("while it runs: %+v, %v", seen, err)
	}
	job, err := j.Cancel(ctx, id)
	if err != nil || job.State != StateCanceled || job.Ended.IsZero() || job.Restarted || job.Cause != nil {
		t.Errorf("cancelled: %+v, %v", job, err)
	}
	if job, err = j.Cancel(ctx, id); err != nil || job.State != StateCanceled {
		t.Errorf("cancelled again: %+v, %v", job, err)
	}
	if _, err := j.Cancel(ctx, strings.Repeat("0", 32)); !errors.Is(err, ErrJobNotFound) {
		t.Errorf("cancel an unknown job: %v", err)
	}
	// Nothing may take the place of a job that has ended, either.
	_, s2, _ := opened(t, st, settings)
	if _, err := s2.Submit(ctx, "submit again", insert); KindOf(err) != KindDuplicateJob {
		t.Errorf("a submission after the end: %v", err)
	}
}

// A job that restarts is not over (Flink shows its states up to 3 s late); when it has failed for good its cause is the
// innermost one, at the job manager and at the history server.
func TestRealRestartsThenFails(t *testing.T) {
	st := realStack(t)
	ctx := minutes(t)
	_, s, j := opened(t, st, map[string]string{"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "2",
		"restart-strategy.fixed-delay.delay": "5s", "pipeline.name": "flink-test-fails"})
	id, err := s.Submit(ctx, "submit", "INSERT INTO nowhere SELECT 1 / (x - x) FROM ten")
	if err != nil {
		t.Fatal(err)
	}
	j.Poll = 200 * time.Millisecond
	states := map[State]bool{}
	job, err := j.Await(ctx, id, func(j Job) { states[j.State] = true })
	if err != nil || job.State != StateFailed || !job.Restarted || job.Cause == nil || !strings.Contains(job.Cause.Error(), "/ by zero") {
		t.Errorf("%+v, %v", job, err)
	}
	if !states[StateRestarting] {
		t.Errorf("states seen: %v; RESTARTING was not among them", states)
	}
	h, err := NewJobs(st.HistoryURL, "", Config{})
	if err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil { // it reads the archive every second
		if job, err = h.Job(ctx, id); err == nil {
			break
		}
		if !errors.Is(err, ErrJobNotFound) && !errors.Is(err, ErrNotThisService) {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err != nil || job.State != StateFailed || !job.Restarted || job.Cause == nil || !strings.Contains(job.Cause.Error(), "/ by zero") {
		t.Errorf("at the history server: %+v, %v", job, err)
	}
	// Only the history server is left to ask.
	gone, err := NewJobs("http://127.0.0.1:1", st.HistoryURL, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if job, err = gone.Job(ctx, id); err != nil || job.State != StateFailed || job.Source != "history server" {
		t.Errorf("without a job manager: %+v, %v", job, err)
	}
	if _, err = gone.Job(ctx, strings.Repeat("0", 32)); err == nil || errors.Is(err, ErrJobNotFound) {
		t.Errorf("unknown to the history server, no job manager: %v", err)
	}
}

// A job without slots restarts for ever, or fails; its cause names the slots.
func TestRealNoSlots(t *testing.T) {
	st := realStack(t)
	ctx := minutes(t)
	_, s, j := opened(t, st, map[string]string{"parallelism.default": "99", "slot.request.timeout": "1000",
		"restart-strategy.type": "none", "pipeline.name": "flink-test-no-slots"})
	id, err := s.Submit(ctx, "submit", "INSERT INTO nowhere SELECT x FROM endless")
	if err != nil {
		t.Fatal(err)
	}
	job, err := j.Await(ctx, id, nil)
	if err != nil || job.State != StateFailed || job.Cause == nil || job.Cause.Kind != KindNoSlots {
		t.Errorf("%+v, %v", job, err)
	}
}

// A statement in flight is cancelled with its caller, within a second.
func TestRealQueryCancelled(t *testing.T) {
	st := realStack(t)
	_, s, _ := opened(t, st, map[string]string{"execution.runtime-mode": "streaming", "sql-client.execution.result-mode": "table"})
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Second)
	defer stop()
	_, err := s.Query(ctx, "read", "SELECT x FROM endless")
	after := time.Now()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if d := time.Since(after); d > time.Second {
		t.Errorf("closing took %s", d)
	}
	if r, err := s.Query(context.Background(), "in a closed session", "SHOW CATALOGS"); KindOf(err) != KindSessionLost {
		t.Errorf("%+v, %v", r, err)
	}
}
