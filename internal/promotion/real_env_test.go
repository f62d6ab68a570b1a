package promotion

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/google/uuid"
)

// beat is the heartbeat of the real tests: an owner is silent after 3 of them,
// and loses its lease after 2, which a loaded machine must not take for pauses.
const beat = 2 * time.Second

type realEnv struct {
	svc *Service
	st  *stack.Stack
	db  string
}

func real(t *testing.T) *realEnv {
	t.Helper()
	dir := os.Getenv("FLUSS_TEST_STACK")
	if dir == "" {
		t.Skip("FLUSS_TEST_STACK is not set: no real servers to test against")
	}
	st, err := stack.Attach(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := New(Config{Bootstrap: []string{st.Bootstrap}, Heartbeat: beat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	e := &realEnv{svc: svc, st: st, db: "promotion_" + strings.ReplaceAll(uuid.NewString()[:8], "-", "")}
	t.Cleanup(func() { e.drop(t) })
	return e
}

// drop drops the Fluss tables of the test. The tiering service takes one table
// at each checkpoint: a hundred left behind are minutes that a later test waits.
func (e *realEnv) drop(t *testing.T) {
	t.Helper()
	ctx := deadline(t)
	client, err := fluss.Connect(ctx, fluss.Config{Bootstrap: []string{e.st.Bootstrap}})
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	tables, err := client.ListTables(ctx, e.db)
	if err != nil && !errors.Is(err, fluss.ErrDatabaseNotExist) {
		t.Error(err)
	}
	for _, table := range tables {
		if err := client.DropTable(ctx, fluss.TablePath{Database: e.db, Table: table}, true); err != nil {
			t.Error(err)
		}
	}
}

// sample copies a sample table into the warehouse and returns the spec of its
// promotion.
func (e *realEnv) sample(t *testing.T, sample, table string) Spec {
	t.Helper()
	root, err := stack.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(e.st.Warehouse, e.db+".db", table)
	if err := os.CopyFS(to, os.DirFS(filepath.Join(root, "testdata", "paimon", sample, "table"))); err != nil {
		t.Fatal(err)
	}
	s := Spec{Name: TableName{e.db, table}, PrepareSource: true, Verification: VerifyFull}
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if c.generation == generation09 {
		s.LakeLayout = layoutLegacy
	}
	return s
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (e *realEnv) run(t *testing.T, s Spec) Result {
	t.Helper()
	res, _, err := e.svc.Run(deadline(t), s, nil)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	if res.Stage != StageEnabled || !res.Touched {
		t.Fatalf("%s: stage %s, touched %t", s.Name, res.Stage, res.Touched)
	}
	return res
}

// refused runs and wants an error with all of the texts.
func (e *realEnv) refused(t *testing.T, s Spec, texts ...string) Result {
	t.Helper()
	res, _, err := e.svc.Run(deadline(t), s, nil)
	if err == nil {
		t.Fatalf("%s: went through; it should have been refused", s.Name)
	}
	for _, want := range texts {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error lacks %q: %v", s.Name, want, err)
		}
	}
	return res
}

// connections are what a run works with; the journal is made where there is none.
func (e *realEnv) connections(t *testing.T) (*connection, *journal) {
	t.Helper()
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(deadline(t), c.client, e.svc.cfg.Journal, true)
	if err != nil {
		t.Fatal(err)
	}
	return c, j
}

// newRun is a run that has done nothing yet.
func (e *realEnv) newRun(t *testing.T, s Spec) *run {
	t.Helper()
	c, j := e.connections(t)
	return &run{s: e.svc, c: c, j: j, spec: s, path: flussPath(s.Name), drained: true}
}

// begun makes an operation that has come to loading, with rows of the source in
// Fluss or without, by an owner that just stops.
func (e *realEnv) begun(t *testing.T, s Spec, owner func(*Owner)) *run {
	t.Helper()
	ctx := deadline(t)
	r := e.newRun(t, s)
	steps := []func(context.Context) error{r.look, r.startNew, r.create, r.prepare}
	for i, step := range steps {
		if err := step(ctx); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if r.op != nil && owner != nil {
			owner(&r.op.owner)
		}
		if r.op != nil {
			r.longLease()
		}
	}
	if err := r.journaled(ctx, EventLoading, Detail{Stage: StageLoading}); err != nil {
		t.Fatal(err)
	}
	r.longLease()
	return r
}

// longLease keeps the lease of an owner that has no heartbeat: on a loaded
// machine one step takes longer than it.
func (r *run) longLease() {
	r.op.lease.Store(int64(bootTime() + silentIntervals*60*beat))
}

// elsewhere makes an owner one of another machine: its end can't be proven here.
func elsewhere(o *Owner) { o.Host, o.HostBoot = "another-host", "elsewhere" }
