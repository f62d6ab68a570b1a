package promotion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

func gone(o *Owner) { o.PIDStart++ } // a process of this host that has ended

// writeForeign writes the first source row of a bucket that has any again, past
// the promotion, and returns the bucket.
func writeForeign(t *testing.T, r *run) bucketTask {
	t.Helper()
	ctx := deadline(t)
	tasks, err := r.tasks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lay, err := newLayout(r.info, r.src.schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if task.files == nil {
			continue
		}
		rr, err := r.openBucket(ctx, lay, task, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer rr.close()
		var b row.Batch
		b.Reset(int16(r.info.SchemaID))
		enough := errors.New("enough")
		if err := rr.each(ctx, func(e *encoders, pos int) error {
			b.AddRaw(e.key.Append(nil, pos), e.row.Append(nil, pos))
			return enough
		}); !errors.Is(err, enough) {
			t.Fatal(err)
		}
		if _, err := r.c.client.PutKV(ctx, r.info, task.id, b.Finish(-1, -1), -1); err != nil {
			t.Fatal(err)
		}
		return task
	}
	t.Fatal("no bucket with rows")
	return bucketTask{}
}

// commit puts a snapshot behind the newest one of pk_levels: the same content,
// by another user.
func (e *realEnv) commit(t *testing.T, s Spec, user string) {
	t.Helper()
	dir := filepath.Join(e.st.Warehouse, e.db+".db", s.Name.Table, "snapshot")
	data, err := os.ReadFile(filepath.Join(dir, "snapshot-8"))
	if err != nil {
		t.Fatal(err)
	}
	next := strings.Replace(strings.Replace(string(data), `"id" : 8`, `"id" : 9`, 1), `"commitUser" : "samples"`, `"commitUser" : "`+user+`"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "snapshot-9"), []byte(next), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (e *realEnv) do(t *testing.T, steps ...func(context.Context) error) {
	t.Helper()
	for i, step := range steps {
		if err := step(deadline(t)); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
}

// An owner whose operation was taken over writes nothing more, although the
// place behind the event that took it over is free.
func TestRealSupersededIsForGood(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, elsewhere)
	other := hold(deadline(t), old.j, old.op.id, s.Name, old.op.seq, beat)
	if err := other.append(deadline(t), EventTakenOver, Detail{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := old.op.append(deadline(t), EventHeartbeat, Detail{}); !errors.Is(err, errSuperseded) {
			t.Errorf("the old owner's append: %v", err)
		}
	}
	if err := old.stopped(deadline(t), context.Canceled); !strings.Contains(err.Error(), "taken this promotion over") {
		t.Errorf("%v", err)
	}
	events, err := old.j.read(deadline(t), old.op.id)
	if err != nil || events[len(events)-1].Owner.Token != other.owner.Token {
		t.Errorf("the newest event is not the new owner's: %v, %v", events[len(events)-1], err)
	}
	if err := other.append(deadline(t), EventHeartbeat, Detail{}); err != nil {
		t.Errorf("the new owner was pushed out: %v", err)
	}
}

// A run that is cancelled says so in the journal, and the next one goes on with
// the same operation and table.
func TestRealInterruptedGoesOn(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	e.svc.slots <- struct{}{} // no load may begin
	ctx, cancel := context.WithCancel(deadline(t))
	type outcome struct {
		res Result
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		res, _, err := e.svc.Run(ctx, s, nil)
		ended <- outcome{res, err}
	}()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		obs, err := e.svc.Observe(deadline(t), Ref{Name: s.Name})
		if err == nil && !obs.Gone && obs.Result.Stage == StagePrepared {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("not prepared: %+v, %v", obs, err)
		}
	}
	cancel()
	began := time.Now()
	first := <-ended
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("stopping took %s", took)
	}
	if !errors.Is(first.err, context.Canceled) || !first.res.Touched || first.res.Stage != StagePrepared {
		t.Errorf("%+v, %v", first.res, first.err)
	}
	<-e.svc.slots
	rep, err := e.svc.Preview(deadline(t), s)
	if err != nil || rep.Existing == nil || rep.Existing.Plan != "resume" {
		t.Errorf("preview: %+v, %v", rep, err)
	}
	if res := e.run(t, s); res.OperationID != first.res.OperationID || res.TableID != first.res.TableID || res.RowsLoaded != 59 {
		t.Errorf("%+v, it was %+v", res, first.res)
	}
}

// The process ends after COMMIT and before its event.
func TestRealRegisteredNotJournaled(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, gone)
	e.do(t, old.load, func(ctx context.Context) error {
		tasks, err := old.tasks(ctx)
		if err != nil {
			return err
		}
		return old.commitLakeSnapshot(ctx, old.journaledOffsets(tasks))
	})
	if res := e.run(t, s); res.TableID != old.info.TableID || deref(res.RegisteredSnapshotID) != 8 {
		t.Errorf("%+v", res)
	}
}

// The process ends after datalake was enabled and before its event: what the
// tiering service commits then is no change of the source, for plan and apply.
func TestRealEnabledNotJournaled(t *testing.T) {
	for user, fine := range map[string]bool{tieringUser: true, "somebody": false} {
		t.Run(user, func(t *testing.T) {
			e := real(t)
			s := e.sample(t, "pk_levels", "t")
			s.SourceSnapshotID = ptr(int64(8))
			old := e.begun(t, s, gone)
			e.do(t, old.load, old.register, old.verify, func(ctx context.Context) error { return old.setDatalake(ctx, true) })
			e.commit(t, s, user)
			if rep, err := e.svc.Preview(deadline(t), s); err != nil || !rep.Compatible {
				t.Fatalf("preview: %v, %+v", err, rep)
			}
			if !fine {
				e.refused(t, s, "Another writer committed", user)
				if info, err := old.c.client.GetTable(deadline(t), old.path); err != nil || info.Descriptor.Properties[enabledProperty] == "true" {
					t.Errorf("still enabled: %v", err)
				}
				return
			}
			if res := e.run(t, s); res.TableID != old.info.TableID || res.OperationID != old.op.id {
				t.Errorf("%+v", res)
			}
		})
	}
}

// Rows of another writer are found by the offsets, before the load and after it.
func TestRealForeignWriter(t *testing.T) {
	e := real(t)
	for name, loaded := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			s := e.sample(t, "pk_levels", name)
			s.Verification = VerifyNone
			old := e.begun(t, s, nil)
			old.hist.loading = false // as on the way from prepared
			step := old.load
			if loaded {
				e.do(t, old.load)
				step = old.register
			}
			writeForeign(t, old)
			err := step(deadline(t))
			var fatal fatalError
			if !errors.As(err, &fatal) || !strings.Contains(err.Error(), "Another writer") {
				t.Fatalf("%v", err)
			}
			_ = old.stopped(deadline(t), err)
			obs, err := e.svc.Observe(deadline(t), Ref{Name: s.Name})
			if err != nil || obs.Result.Stage != StageFailed || obs.Result.RegisteredSnapshotID != nil {
				t.Errorf("%+v, %v", obs, err)
			}
			if res := e.run(t, s); res.OperationID == old.op.id {
				t.Error("the failed operation went on")
			}
		})
	}
}

// An operation that was fenced since its state was written is still the one to
// remove; a complete one with another table ID is not.
func TestRealRemoveAfterFence(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, gone)
	ref := Ref{Name: s.Name, OperationID: old.op.id, TableID: old.info.TableID + 1000}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := old.c.client.GetTable(deadline(t), old.path); !isNotExist(err) {
		t.Errorf("the unfinished table is still there: %v", err)
	}
	res := e.run(t, s)
	ref = Ref{Name: s.Name, OperationID: res.OperationID, TableID: res.TableID + 1000}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := old.c.client.GetTable(deadline(t), old.path); err != nil {
		t.Errorf("another table was removed: %v", err)
	}
}

// Rows that are not tiered hold a removal back, and a removal leaves the Paimon
// files as they are.
func TestRealRemoveUntiered(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, gone)
	res := e.run(t, s)
	writeForeign(t, old)
	ref := Ref{Name: s.Name, ClusterID: res.ClusterID, OperationID: res.OperationID, TableID: res.TableID}
	for _, err := range []error{e.svc.CheckRemove(deadline(t), ref, RemoveOptions{}), e.svc.Remove(deadline(t), ref, RemoveOptions{})} {
		if err == nil || !strings.Contains(err.Error(), "not in the lake yet") {
			t.Errorf("untiered rows: %v", err)
		}
	}
	if obs, err := e.svc.Observe(deadline(t), ref); err != nil || obs.Result.Stage != StageEnabled {
		t.Errorf("a refused removal changed something: %+v, %v", obs, err)
	}
	before := inventory(t, filepath.Join(e.st.Warehouse, e.db+".db", "t"))
	other := ref
	other.OperationID = "another"
	if err := e.svc.Remove(deadline(t), other, RemoveOptions{AllowUntieredDataLoss: true}); err != nil {
		t.Errorf("another operation's: %v", err)
	}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{AllowUntieredDataLoss: true}); err != nil {
		t.Fatal(err)
	}
	after := inventory(t, filepath.Join(e.st.Warehouse, e.db+".db", "t"))
	maps.DeleteFunc(after, func(path, _ string) bool { // disabling datalake adds a schema version
		_, old := before[path]
		return !old && strings.HasPrefix(path, "schema/")
	})
	if !maps.Equal(before, after) {
		t.Errorf("files before %d, after %d, or other content", len(before), len(after))
	}
	if _, err := old.c.client.GetTable(deadline(t), old.path); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("%v", err)
	}
}

func inventory(t *testing.T, dir string) map[string]string {
	t.Helper()
	out, err := acctest.Inventory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A drop that was begun and did not end is started over, and the plan says so.
func TestRealDroppingIsStartedOver(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, gone)
	e.do(t, func(ctx context.Context) error { return old.op.append(ctx, EventDropping, Detail{Reason: "a test"}) })
	rep, err := e.svc.Preview(deadline(t), s)
	if err != nil || rep.Existing == nil || rep.Existing.Plan != "drop and load again" {
		t.Errorf("preview: %+v, %v", rep, err)
	}
	if res := e.run(t, s); res.OperationID == old.op.id || res.TableID == old.info.TableID {
		t.Errorf("the operation that was being dropped went on: %+v", res)
	}
}

// A journal without the operation's beginning is an error, not a panic.
func TestRealJournalWithoutBeginning(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	id, err := newOperationID()
	if err != nil {
		t.Fatal(err)
	}
	r := e.newRun(t, s)
	r.op = hold(deadline(t), r.j, id, s.Name, 0, beat)
	r.longLease()
	e.do(t, r.look, func(ctx context.Context) error { return r.op.append(ctx, EventEnabled, Detail{}) }, r.createTable)
	if obs, err := e.svc.Observe(deadline(t), Ref{Name: s.Name}); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("%+v, %v", obs, err)
	}
	e.refused(t, s, id)
}

// A run that ends with a request whose outcome is open does not say that
// everything was answered: a fence's DROP, for example, would hit the table that
// the next run makes.
func TestRealOpenRequestIsNotDrained(t *testing.T) {
	e := real(t)
	for open, cause := range map[bool]error{true: fmt.Errorf("dropping: %w", fluss.ErrUnknownOutcome), false: context.Canceled} {
		s := e.sample(t, "pk_levels", fmt.Sprint("open_", open))
		old := e.begun(t, s, elsewhere)
		e.do(t, func(ctx context.Context) error { return old.journaled(ctx, EventTakenOver, Detail{Fenced: true}) })
		_ = old.stopped(deadline(t), cause)
		if !open {
			e.run(t, s)
			continue
		}
		e.refused(t, s, "not provably over", "dropping the table")
		if info, err := old.c.client.GetTable(deadline(t), old.path); err != nil || info.TableID != old.info.TableID {
			t.Errorf("the table was touched: %v, %v", info, err)
		}
	}
}
