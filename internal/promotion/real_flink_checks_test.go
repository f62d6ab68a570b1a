package promotion

import (
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
)

// An apply asks Flink before it makes anything: also what its plan could not
// know, as the first promotion of a cluster has no journal to know the cluster by.
func TestRealFlinkApplyAsksFirst(t *testing.T) {
	e := flinkReal(t)
	s := e.sample(t, "pk_levels", "t")
	s.Engine = engineFlink
	files := func() map[string]string {
		out, err := acctest.Inventory(e.st.Warehouse + "/" + e.db + ".db")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := files()
	for name, c := range map[string]struct {
		flink Flink
		load  *FlinkLoad
		plan  bool // the plan knows it already
		want  string
	}{
		"gateway down":  {Flink{GatewayURL: "http://127.0.0.1:1"}, nil, true, "Unable to use the Flink SQL Gateway"},
		"wrong catalog": {*e.svc.cfg.Flink, &FlinkLoad{FlussCatalog: "default_catalog"}, false, "Flink cannot use the Fluss catalog"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := e.svc.cfg
			cfg.Flink, cfg.Journal = &c.flink, TableName{e.db, "journal_" + name[:5]}
			svc, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer svc.Close()
			s := s
			s.Flink = c.load
			if rep, err := svc.Preview(minutes(t), s); err != nil || rep.Compatible == c.plan {
				t.Errorf("preview %v, compatible %t, %v", err, rep.Compatible, rep.Errors())
			}
			res, _, err := svc.Run(minutes(t), s, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || res.Touched {
				t.Errorf("the apply: %+v, %v", res, err)
			}
			conn, _ := e.connections(t)
			if info, err := wholeTable(minutes(t), conn.client, flussPath(s.Name)); !isNotExist(err) {
				t.Errorf("it made %+v, %v", info, err)
			}
		})
	}
	if after := files(); len(after) != len(before) {
		t.Errorf("%d files of the table, there were %d", len(after), len(before))
	}
}

// Log end offsets that do not fit the source: rows before the job, others' rows
// beside it, and rows that are missing.
func TestRealFlinkOffsetsChecked(t *testing.T) {
	e := flinkReal(t)
	foreign := func(t *testing.T, s Spec) {
		e.sql(t, e.st.GatewayURL, "CREATE CATALOG fluss WITH ('type'='fluss','bootstrap.servers'='"+e.st.Bootstrap+"')",
			"INSERT INTO fluss."+flink.Identifier(s.Name.Database)+"."+flink.Identifier(s.Name.Table)+" VALUES (DATE '2024-02-29', 100000, 'not of the source')")
	}
	for name, c := range map[string]struct {
		before, during func(t *testing.T, r *run, en *flinkEngine)
		want           string
	}{
		"rows before": {before: func(t *testing.T, r *run, _ *flinkEngine) { foreign(t, r.spec) },
			want: "Another writer has written into the Fluss table"},
		"rows beside": {during: func(t *testing.T, r *run, _ *flinkEngine) { foreign(t, r.spec) },
			want: "no task of the Flink job was restarted"},
		// The job is given less than what it is then held to.
		"rows missing": {
			before: func(_ *testing.T, r *run, _ *flinkEngine) {
				r.spec.Partitions = []map[string]string{{"d": "2024-02-29"}}
				for i := range r.jdg.Partitions {
					r.jdg.Partitions[i].Selected = r.jdg.Partitions[i].Spec["d"] == "2024-02-29"
				}
			},
			during: func(t *testing.T, r *run, en *flinkEngine) {
				for i := range r.jdg.Partitions {
					r.jdg.Partitions[i].Selected = true
				}
				var err error
				if en.tasks, err = r.tasks(minutes(t)); err != nil {
					t.Fatal(err)
				}
			},
			want: "The Flink job has written fewer rows than the source holds"},
	} {
		t.Run(name, func(t *testing.T) {
			s := e.sample(t, "pk_part_date", strings.ReplaceAll(name, " ", "_"))
			s.Engine = engineFlink
			r := e.begun(t, s, nil)
			defer r.op.end()
			en := &flinkEngine{r: r}
			defer en.end()
			if c.before != nil {
				c.before(t, r, en)
			}
			err := en.begin(minutes(t))
			if err == nil && c.during != nil {
				if _, err := en.jobs.Await(minutes(t), en.id, nil); err != nil {
					t.Fatal(err)
				}
				c.during(t, r, en)
				r.longLease()
				_, _, err = en.outcome(minutes(t))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
			if len(r.hist.buckets) > 0 {
				t.Errorf("journaled as loaded: %v", r.hist.buckets)
			}
		})
	}
}

// The owner of a load by Flink is lost with its machine: a cancellation from
// elsewhere ends the job and with it the load.
func TestRealFlinkCancelOfSilentOwner(t *testing.T) {
	e := flinkReal(t)
	s := e.sample(t, "pk_levels", "t")
	s.Engine = engineFlink
	r := e.begun(t, s, elsewhere)
	en := &flinkEngine{r: r}
	defer en.end()
	if err := en.begin(minutes(t)); err != nil {
		t.Fatal(err)
	}
	out, err := e.service(t, nil).Cancel(minutes(t), s.Name, "a test", nil)
	if err == nil || out.Terminal || !strings.Contains(err.Error(), "What became of the Flink job is not known") || !strings.Contains(err.Error(), "-flink-rest") {
		t.Errorf("without a Flink to ask: %+v, %v", out, err)
	}
	out, err = e.service(t, &Flink{RestURL: e.st.FlinkRest}).Cancel(minutes(t), s.Name, "a test", nil)
	if err != nil || !out.Terminal {
		t.Errorf("%+v, %v", out, err)
	}
	if _, h := e.found(t, s); !h.jobEnded.Terminal() || h.ended != EventCancelled || !h.drained {
		t.Errorf("job %q, %s, drained %t", h.jobEnded, h.ended, h.drained)
	}
	if err := e.svc.Remove(minutes(t), Ref{Name: s.Name}, RemoveOptions{}); err != nil {
		t.Error(err)
	}
}

// finishedJob is a promotion whose owner is gone and whose job has finished,
// which the history server knows.
func (e *realEnv) finishedJob(t *testing.T, table string) Spec {
	t.Helper()
	s := e.sample(t, "pk_levels", table)
	s.Engine = engineFlink
	r := e.begun(t, s, func(o *Owner) { o.PIDStart++ })
	en := &flinkEngine{r: r}
	defer en.end()
	if err := en.begin(minutes(t)); err != nil {
		t.Fatal(err)
	}
	history, err := flink.NewJobs(e.st.HistoryURL, "", flink.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer history.Close()
	for ctx := minutes(t); ; time.Sleep(200 * time.Millisecond) { // it reads the archive every second
		if job, err := history.Job(ctx, en.id); err == nil && job.State == flink.StateFinished {
			return s
		}
		if ctx.Err() != nil {
			t.Fatal("the history server does not know the job")
		}
	}
}

// takesResult ends a promotion whose job the job manager has forgotten, without
// another one.
func (e *realEnv) takesResult(t *testing.T, s Spec) {
	t.Helper()
	if list := e.jobsNamed(t, s); len(list) != 0 {
		t.Errorf("the job manager knows %+v", list)
	}
	before, h := e.found(t, s)
	res, _, err := e.svc.Run(minutes(t), s, nil)
	if err != nil || res.Stage != StageEnabled || res.TableID != before.TableID || res.LoadJobID != h.jobID || res.RowsLoaded == 0 {
		t.Errorf("%+v, %v; it was table %d, job %s", res, err, before.TableID, h.jobID)
	}
	if list := e.jobsNamed(t, s); len(list) != 0 {
		t.Errorf("loaded again by %+v", list)
	}
}
