package promotion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// rows is how many rows the tables below have: enough for a job that can be
// disturbed. FLUSS_TEST_FLINK_ROWS=2000000 is the size of the benchmarks.
func rows(t *testing.T) int {
	n := 400_000
	if text := os.Getenv("FLUSS_TEST_FLINK_ROWS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// large makes the benchmarks' table and returns the spec of its promotion.
func (e *realEnv) large(t *testing.T) (Spec, pyoracle.BenchTable) {
	t.Helper()
	return e.bench(t, rows(t))
}

func (e *realEnv) bench(t *testing.T, rows int) (Spec, pyoracle.BenchTable) {
	t.Helper()
	py, err := pyoracle.New(minutes(t))
	if err != nil {
		t.Fatal(err)
	}
	table, err := py.WriteBench(minutes(t), pyoracle.PaimonBench{Warehouse: e.st.Warehouse, Table: e.db + ".t", Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	s := Spec{Name: TableName{e.db, "t"}, PrepareSource: true, Verification: VerifySample, Engine: engineFlink,
		Flink: &FlinkLoad{Settings: restarts}}
	if c, _ := e.connections(t); c.generation == generation09 {
		s.LakeLayout = layoutLegacy
	}
	return s, table
}

// loading waits until Fluss holds rows that the job wrote, and returns the job.
func (e *realEnv) loading(t *testing.T, s Spec) string {
	t.Helper()
	c, j := e.connections(t)
	for ctx := minutes(t); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		info, h, err := findOperation(ctx, c, j, flussPath(s.Name))
		if err != nil {
			t.Fatal(err)
		}
		if h == nil || !h.jobSubmitted {
			continue
		}
		ends, err := allEndOffsets(ctx, c.client, info)
		if err != nil {
			continue // just created
		}
		for _, end := range ends {
			if end > 0 {
				return h.jobID
			}
		}
	}
	t.Fatal("the job has written nothing")
	return ""
}

func (e *realEnv) jobsNamed(t *testing.T, s Spec) []flink.Job {
	t.Helper()
	jobs, err := e.svc.flinkJobs(minutes(t))
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.Close()
	_, h := e.found(t, s)
	list, err := jobs.Named(minutes(t), jobNamePrefix+h.id)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// start runs in the background.
func (e *realEnv) start(ctx context.Context, s Spec) chan error {
	ended := make(chan error, 1)
	safego.Start(func() error { _, _, err := e.svc.Run(ctx, s, nil); return err }, func(err error) { ended <- err })
	return ended
}

// done runs to the end and checks the outcome.
func (e *realEnv) done(t *testing.T, s Spec, want pyoracle.BenchTable) Result {
	t.Helper()
	var seen Progress
	res, _, err := e.svc.Run(minutes(t), s, func(p Progress) { seen = p })
	if err != nil {
		t.Fatal(err)
	}
	if res.Stage != StageEnabled || res.RowsLoaded != want.Rows || res.LoadJobID == "" || seen.TotalRows != want.Stored {
		t.Errorf("%+v, want %+v, progress %+v", res, want, seen)
	}
	return res
}

// TestMain is also the provider's part in the tests that kill it.
func TestMain(m *testing.M) {
	table := os.Getenv("FLUSS_TEST_FLINK_CHILD")
	if table == "" {
		os.Exit(m.Run())
	}
	os.Exit(promoteAsChild(table))
}

func promoteAsChild(table string) int {
	st, err := stack.Attach(os.Getenv("FLUSS_TEST_STACK"), nil)
	if err != nil {
		return 2
	}
	svc, err := New(Config{Bootstrap: []string{st.Bootstrap}, Heartbeat: beat, Flink: &Flink{GatewayURL: st.GatewayURL, HistoryURL: st.HistoryURL}})
	if err != nil {
		return 3
	}
	db, name, _ := strings.Cut(table, ".")
	s := Spec{Name: TableName{db, name}, PrepareSource: true, Engine: engineFlink, Flink: &FlinkLoad{Settings: restarts}, LakeLayout: os.Getenv("FLUSS_TEST_FLINK_LAYOUT")}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	_, _, err = svc.Run(ctx, s, nil)
	fmt.Fprintln(os.Stderr, "it was to be killed:", err)
	return 4
}

// killed begins a promotion in a process of its own and kills that while the
// job writes.
func (e *realEnv) killed(t *testing.T, s Spec) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "FLUSS_TEST_FLINK_CHILD="+s.Name.String(), "FLUSS_TEST_FLINK_LAYOUT="+s.LakeLayout)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := e.loading(t, s)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return id
}

// The provider is killed while the job runs, the next apply attaches to it, is
// stopped as by a time limit, and a third one ends the promotion: one job.
func TestRealFlinkKilledAndAttached(t *testing.T) {
	e := flinkReal(t)
	s, want := e.large(t)
	id := e.killed(t, s)
	if err := e.st.Pause("flink-taskmanager"); err != nil { // so that the job does not end meanwhile
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(minutes(t))
	var res Result
	var err error
	ended := make(chan struct{})
	safego.Start(func() error { res, _, err = e.svc.Run(ctx, s, nil); return nil }, func(error) { close(ended) })
	for {
		if _, h := e.found(t, s); h.owner.PID == int64(os.Getpid()) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Second)
	stop()
	began := time.Now()
	<-ended
	if took := time.Since(began); !errors.Is(err, context.Canceled) || !res.Touched || res.Stage != StageLoading || res.LoadJobID != id || took > 10*time.Second {
		t.Errorf("after %s: %+v, %v", took, res, err)
	}
	if err := e.st.Resume("flink-taskmanager"); err != nil {
		t.Fatal(err)
	}
	if err := e.svc.Remove(minutes(t), Ref{Name: s.Name}, RemoveOptions{}); err == nil || !strings.Contains(err.Error(), "The load is not over") {
		t.Errorf("removing while the job runs: %v", err)
	}
	native := s
	native.Engine = engineNative
	if _, _, err := e.svc.Run(minutes(t), native, nil); err == nil || !strings.Contains(err.Error(), "Another engine is loading this table") {
		t.Errorf("another engine: %v", err)
	}
	got := e.done(t, s, want)
	if list := e.jobsNamed(t, s); got.LoadJobID != id || len(list) != 1 || list[0].ID != id || list[0].State != flink.StateFinished {
		t.Errorf("jobs %+v; required: %s alone", list, id)
	}
}

// Two applies at once: the second waits beside the first for the job's end, and
// finds the first at its last steps or done.
func TestRealFlinkTwoApplies(t *testing.T) {
	e := flinkReal(t)
	s := e.sample(t, "pk_levels", "t")
	s.Engine = engineFlink
	first := e.start(minutes(t), s)
	e.reaches(t, s, StageLoading)
	other := e.service(t, e.svc.cfg.Flink)
	_, _, err := other.Run(minutes(t), s, nil)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err == nil || !strings.Contains(err.Error(), "has just been completed") && !strings.Contains(err.Error(), "is being worked on by process") {
		t.Errorf("the second: %v", err)
	}
	if list := e.jobsNamed(t, s); len(list) != 1 {
		t.Errorf("jobs %+v", list)
	}
}

// The task manager is killed while the job writes. Flink restarts the tasks,
// rows are written twice, and the verification becomes a full one.
func TestRealFlinkTaskManagerKilled(t *testing.T) {
	e := flinkReal(t)
	s, want := e.large(t)
	ended := e.start(minutes(t), s)
	e.loading(t, s)
	if err := e.st.KillTaskManager(minutes(t)); err != nil {
		t.Fatal(err)
	}
	if err := e.st.StartTaskManager(minutes(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	_, h := e.found(t, s)
	twice := int64(0)
	for _, b := range h.buckets {
		twice += b.EndOffset - b.Rows
	}
	t.Logf("%d records more than rows", twice)
	if !h.jobRestarted || twice == 0 || h.verified.Detail.Verification != VerifyFull || h.verified.Detail.Compared != want.Rows {
		t.Errorf("restarted %t, %d records too many, verified %+v", h.jobRestarted, twice, h.verified.Detail)
	}
}

// Without a restart strategy the same loss fails the job. The journal says why;
// the next apply makes the table anew and loads it by a new job of the same
// operation.
func TestRealFlinkJobFails(t *testing.T) {
	e := flinkReal(t)
	s, want := e.large(t)
	s.Flink = &FlinkLoad{Settings: map[string]string{"restart-strategy.type": "none"}}
	ended := e.start(minutes(t), s)
	id := e.loading(t, s)
	if err := e.st.KillTaskManager(minutes(t)); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if err == nil || !strings.Contains(err.Error(), "is FAILED") {
		t.Fatalf("the apply: %v", err)
	}
	info, h := e.found(t, s)
	if h.jobID != id || h.jobEnded != flink.StateFailed || h.ended != EventInterrupted || !h.drained {
		t.Errorf("journal: job %s %s, %s, drained %t", h.jobID, h.jobEnded, h.ended, h.drained)
	}
	_, j := e.connections(t)
	events, err := j.read(minutes(t), h.id)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(ev Event) bool {
		return ev.Kind == EventJobEnded && strings.Contains(ev.Detail.Reason, "TaskManager")
	}) {
		t.Errorf("no cause of the failure in the journal: %+v", events)
	}
	if err := e.st.StartTaskManager(minutes(t)); err != nil {
		t.Fatal(err)
	}
	res := e.done(t, s, want)
	if res.OperationID != h.id || res.TableID == info.TableID || res.LoadJobID == id {
		t.Errorf("%+v; it was operation %s, table %d, job %s", res, h.id, info.TableID, id)
	}
}

// A stop is asked for while the owner watches the job, and after it was killed.
func TestRealFlinkCancel(t *testing.T) {
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("owner gone %t", dead), func(t *testing.T) {
			e := flinkReal(t)
			s, _ := e.large(t)
			ended := make(chan error, 1)
			if dead {
				e.killed(t, s)
				ended <- errors.New("cancelled on request")
			} else {
				ended = e.start(minutes(t), s)
				e.loading(t, s)
			}
			out, err := e.service(t, e.svc.cfg.Flink).Cancel(minutes(t), s.Name, "a test", nil)
			if err != nil || !out.Terminal || !out.Requested {
				t.Fatalf("%+v, %v", out, err)
			}
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "cancelled on request") {
				t.Errorf("the owner: %v", err)
			}
			_, h := e.found(t, s)
			if list := e.jobsNamed(t, s); len(list) != 1 || list[0].State != flink.StateCanceled || h.jobEnded != flink.StateCanceled || h.ended != EventCancelled || !h.drained {
				t.Errorf("jobs %+v; journal %s, %s, drained %t", list, h.jobEnded, h.ended, h.drained)
			}
			if err := e.svc.Remove(minutes(t), Ref{Name: s.Name}, RemoveOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// The benchmarks' table at its full size. The gateway dies with its sessions
// while the job goes on: nobody needs it.
func TestRealFlinkGatewayRestarted(t *testing.T) {
	e := flinkReal(t)
	s, want := e.bench(t, 2_000_000)
	began := time.Now()
	ended := e.start(minutes(t), s)
	e.loading(t, s)
	if err := e.st.KillGateway(minutes(t)); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if up := e.st.StartGateway(minutes(t)); up != nil {
		t.Fatal(up)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows after %s", want.Rows, time.Since(began))
	if res, err := e.svc.Observe(minutes(t), Ref{Name: s.Name}); err != nil || res.Result.RowsLoaded != want.Rows || want.Rows != 2_000_000 {
		t.Errorf("%+v, %v", res, err)
	}
}

// Flink has forgotten the job: that is no end, and nothing is touched before
// the user says that it is gone. One that had ended is known to the history server.
func TestRealFlinkJobManagerLost(t *testing.T) {
	e := flinkReal(t)
	past := e.finishedJob(t, "past")
	s, want := e.large(t)
	id := e.killed(t, s)
	if err := e.st.KillJobManager(minutes(t)); err != nil {
		t.Fatal(err)
	}
	if err := e.st.StartJobManager(minutes(t)); err != nil {
		t.Fatal(err)
	}
	e.takesResult(t, past)
	before, _ := e.found(t, s)
	for what, err := range map[string]error{
		"apply":  func() error { _, _, err := e.svc.Run(minutes(t), s, nil); return err }(),
		"remove": e.svc.Remove(minutes(t), Ref{Name: s.Name}, RemoveOptions{}),
		"cancel": func() error { _, err := e.svc.Cancel(minutes(t), s.Name, "a test", nil); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "What became of the Flink job is not known") || !strings.Contains(err.Error(), id) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, h := e.found(t, s); now.TableID != before.TableID || !h.jobPending() {
		t.Errorf("table %d, job pending %t; it was table %d", now.TableID, h.jobPending(), before.TableID)
	}
	s.Takeover = "resume"
	if res := e.done(t, s, want); res.TableID == before.TableID || res.LoadJobID == id {
		t.Errorf("%+v", res)
	}
}

// A submission of which nothing but the intent is in the journal: it is made
// again where Flink knows nothing of it, and attached to where it has arrived.
func TestRealFlinkLostSubmission(t *testing.T) {
	for _, arrived := range []bool{false, true} {
		t.Run(fmt.Sprintf("arrived %t", arrived), func(t *testing.T) {
			e := flinkReal(t)
			s := e.sample(t, "pk_levels", "t")
			s.Engine = engineFlink
			r := e.begun(t, s, func(o *Owner) { o.PIDStart++ })
			id := jobIDFor(r.op.id, r.info.TableID)
			if arrived {
				en := &flinkEngine{r: r}
				if err := en.begin(minutes(t)); err != nil {
					t.Fatal(err)
				}
				en.end()
			}
			if err := r.journaled(minutes(t), EventLoading, Detail{Stage: StageLoading, JobID: id}); err != nil {
				t.Fatal(err)
			}
			res, _, err := e.svc.Run(minutes(t), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			if list := e.jobsNamed(t, s); res.LoadJobID != id || res.OperationID != r.op.id || len(list) != 1 || list[0].ID != id {
				t.Errorf("%+v, jobs %+v", res, list)
			}
		})
	}
}

// Types that do not fit are refused before there is a job, and rows that are
// there before it end it.
func TestRealFlinkRefused(t *testing.T) {
	e := flinkReal(t)
	s := e.sample(t, "pk_levels", "t")
	s.Engine = engineFlink
	c, j := e.connections(t)
	r := &run{s: e.svc, c: c, j: j, spec: s, path: flussPath(s.Name), drained: true}
	wrong, err := row.ParseType("ARRAY<INT>")
	if err != nil {
		t.Fatal(err)
	}
	e.do(t, r.look, func(context.Context) error {
		for i, col := range r.jdg.Descriptor.Columns {
			if col.Type.String() == "STRING" {
				r.jdg.Descriptor.Columns[i].Type = wrong
			}
		}
		return nil
	}, r.startNew, r.create, r.prepare)
	en := &flinkEngine{r: r}
	err = en.begin(minutes(t))
	en.end()
	if err == nil || !strings.Contains(err.Error(), "Incompatible types for sink column") || strings.Contains(err.Error(), "\tat ") {
		t.Errorf("error %v", err)
	}
	if r.hist.jobEnded != stateNotSubmitted || len(e.jobsNamed(t, s)) != 0 {
		t.Errorf("journal %q, jobs %v", r.hist.jobEnded, e.jobsNamed(t, s))
	}
	r.op.end()
}

// What is wrong with Flink is said by the plan, and nothing is changed.
func TestRealFlinkBadInput(t *testing.T) {
	e := flinkReal(t)
	s := e.sample(t, "pk_levels", "t")
	s.Engine = engineFlink
	good := *e.svc.cfg.Flink
	for name, c := range map[string]struct {
		flink *Flink
		load  FlinkLoad
		want  string
	}{
		"no flink":        {nil, FlinkLoad{}, "No Flink is configured"},
		"gateway down":    {&Flink{GatewayURL: "http://127.0.0.1:1"}, FlinkLoad{}, "no answer"},
		"not a gateway":   {&Flink{GatewayURL: e.st.FlinkRest}, FlinkLoad{}, "knows no /api_versions"},
		"not an address":  {&Flink{GatewayURL: "gateway:8083"}, FlinkLoad{}, "http://host:port"},
		"no job manager":  {&Flink{GatewayURL: good.GatewayURL, RestURL: "http://127.0.0.1:1"}, FlinkLoad{}, "Unable to reach Flink's job manager"},
		"no such catalog": {&good, FlinkLoad{LakeCatalog: "nowhere"}, "Flink cannot use the Paimon catalog"},
		"wrong lake":      {&good, FlinkLoad{LakeCatalog: "default_catalog"}, "Flink cannot use the Paimon catalog"},
		"wrong fluss":     {&good, FlinkLoad{FlussCatalog: "default_catalog"}, "Flink cannot use the Fluss catalog"},
		"own setting":     {&good, FlinkLoad{Settings: map[string]string{"pipeline.name": "x"}}, "is set by the promotion itself"},
		"other setting":   {&good, FlinkLoad{Settings: map[string]string{"rest.port": "1"}}, "does not begin with one of"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			s.Flink = &c.load
			svc := e.service(t, c.flink)
			rep, err := svc.Preview(minutes(t), s)
			if err != nil || rep.Compatible || !strings.Contains(rep.Errors().Error(), c.want) || strings.Contains(rep.Errors().Error(), "\tat ") {
				t.Errorf("preview %v, %v; it lacks %q", err, rep, c.want)
			}
		})
	}
	// The same cluster is known by its journal, not by its name.
	f, err := e.svc.openFlink(minutes(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close(minutes(t))
	conn, _ := e.connections(t)
	if err := f.catalogs(minutes(t), conn, "another-cluster", s); err == nil || !strings.Contains(err.Error(), "another-cluster") {
		t.Errorf("another cluster: %v", err)
	}
	lacking := *conn
	lacking.warehouse = "s3://bucket/warehouse"
	if err := f.catalogs(minutes(t), &lacking, "x", s); err == nil || !strings.Contains(err.Error(), "Flink lacks a connector") || !strings.Contains(err.Error(), `"s3"`) {
		t.Errorf("no jar for the file system: %v", err)
	}
}
