package promotion

import (
	"context"
	"strings"
	"testing"
)

// stagesInOrder are the places at which an owner can end.
var stagesInOrder = []Stage{StageCreated, StagePrepared, StageLoading, StageLoaded, StageRegistered, StageVerified, StageEnabled}

// at brings a new operation to a stage, by an owner that then does nothing more.
// Enabled means: datalake is on, and not journaled.
func (e *realEnv) at(t *testing.T, s Spec, stage Stage, owner func(*Owner)) *run {
	t.Helper()
	r := e.newRun(t, s)
	e.do(t, r.look, func(ctx context.Context) error {
		defer func() {
			if r.op != nil && owner != nil {
				owner(&r.op.owner)
			}
		}()
		return r.startNew(ctx)
	})
	steps := map[Stage]func(context.Context) error{
		StageCreated: r.create, StagePrepared: r.prepare,
		StageLoading:    func(ctx context.Context) error { return r.journaled(ctx, EventLoading, Detail{Stage: StageLoading}) },
		StageLoaded:     r.load,
		StageRegistered: r.register, StageVerified: r.verify,
		StageEnabled: func(ctx context.Context) error { return r.setDatalake(ctx, true) },
	}
	for _, st := range stagesInOrder {
		r.longLease()
		e.do(t, steps[st])
		if st == stage {
			return r
		}
	}
	t.Fatalf("no stage %q", stage)
	return nil
}

// Every stage at which a promotion can stop, by every way in which it can: what
// the next apply does. The rows are compared in full by the apply itself.
func TestRealStageByFailure(t *testing.T) {
	e := real(t)
	other, err := New(Config{Bootstrap: []string{e.st.Bootstrap}, Heartbeat: beat, Journal: TableName{e.db, "another_journal"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	goesOn := func(t *testing.T, s Spec, old *run, sameTable bool) {
		t.Helper()
		res := e.run(t, s)
		if res.OperationID != old.op.id || (res.TableID == old.info.TableID) != sameTable {
			t.Errorf("operation %s, table %d; it was %s, %d", res.OperationID, res.TableID, old.op.id, old.info.TableID)
		}
	}
	startsOver := func(t *testing.T, s Spec, old *run) {
		t.Helper()
		if res := e.run(t, s); res.OperationID == old.op.id || res.TableID == old.info.TableID {
			t.Errorf("the old operation went on: %+v", res)
		}
	}
	ended := func(kind EventKind) func(*testing.T, Spec, *run, Stage) {
		return func(t *testing.T, s Spec, old *run, stage Stage) {
			e.do(t, func(ctx context.Context) error {
				return old.op.append(ctx, kind, Detail{Drained: true, Reason: "a test"})
			})
			if stage == StageEnabled || kind == EventInterrupted {
				goesOn(t, s, old, true)
			} else {
				startsOver(t, s, old)
			}
		}
	}
	for _, f := range []struct {
		name  string
		owner func(*Owner)
		then  func(t *testing.T, s Spec, old *run, stage Stage)
	}{
		{"interrupted", nil, ended(EventInterrupted)},
		{"failed", nil, ended(EventFailed)},
		{"cancelled", nil, ended(EventCancelled)},
		{"process gone", gone, func(t *testing.T, s Spec, old *run, _ Stage) { goesOn(t, s, old, true) }},
		{"host lost", elsewhere, func(t *testing.T, s Spec, old *run, stage Stage) {
			loading := stage == StageCreated || stage == StagePrepared || stage == StageLoading
			goesOn(t, s, old, !loading)
		}},
		{"host lost, takeover = resume", elsewhere, func(t *testing.T, s Spec, old *run, _ Stage) {
			s.Takeover = "resume"
			goesOn(t, s, old, true)
		}},
		{"source moved on", gone, func(t *testing.T, s Spec, old *run, stage Stage) {
			e.commit(t, s, "somebody")
			if stage == StageEnabled {
				e.refused(t, s, "Another writer committed", "somebody")
			} else {
				e.refused(t, s, "moved on", "somebody")
			}
			s.OnSourceChange = "restart"
			startsOver(t, s, old)
		}},
		{"journal gone", gone, func(t *testing.T, s Spec, old *run, _ Stage) {
			_, _, err := other.Run(deadline(t), s, nil)
			if err == nil || !strings.Contains(err.Error(), "The journal of this promotion is missing") {
				t.Errorf("apply: %v", err)
			}
			if err := other.Remove(deadline(t), Ref{Name: s.Name}, RemoveOptions{}); err == nil || !strings.Contains(err.Error(), "The journal of this promotion is missing") {
				t.Errorf("destroy: %v", err)
			}
			goesOn(t, s, old, true) // nothing was touched
		}},
		{"Fluss table dropped by hand", gone, func(t *testing.T, s Spec, old *run, stage Stage) {
			e.do(t, func(ctx context.Context) error { return setDatalake(ctx, old.c.client, old.path, false) },
				func(ctx context.Context) error { return old.c.client.DropTable(ctx, old.path, false) })
			startsOver(t, s, old)
		}},
		{"removed", gone, func(t *testing.T, s Spec, old *run, stage Stage) {
			opt := RemoveOptions{DeletionProtection: true}
			if stage == StageEnabled {
				if err := e.svc.Remove(deadline(t), Ref{Name: s.Name}, opt); err == nil || !strings.Contains(err.Error(), "protected") {
					t.Errorf("protected: %v", err)
				}
				opt.DeletionProtection = false
			}
			e.do(t, func(ctx context.Context) error { return e.svc.Remove(ctx, Ref{Name: s.Name}, opt) })
			if _, err := old.c.client.GetTable(deadline(t), old.path); !isNotExist(err) {
				t.Errorf("the table is still there: %v", err)
			}
			startsOver(t, s, old)
		}},
		{"rows of another writer", gone, func(t *testing.T, s Spec, old *run, stage Stage) {
			writeForeign(t, old)
			switch stage {
			case StageCreated, StagePrepared, StageLoaded:
				e.refused(t, s, "Another writer has written into the Fluss table")
				startsOver(t, s, old)
			default:
				// While loading they cannot be told from the rows of an earlier
				// run, which are written again; behind the registration they
				// are rows of users, which tiering takes up.
				goesOn(t, s, old, true)
			}
		}},
	} {
		for _, stage := range stagesInOrder {
			t.Run(f.name+"/"+string(stage), func(t *testing.T) {
				t.Parallel()
				table := strings.Map(func(r rune) rune {
					if r >= 'a' && r <= 'z' {
						return r
					}
					return '_'
				}, strings.ToLower(f.name)) + "_" + string(stage)
				s := e.sample(t, "pk_levels", table)
				if f.name == "rows of another writer" {
					s.Verification = VerifyNone // counts that are another's
				}
				f.then(t, s, e.at(t, s, stage, f.owner), stage)
			})
		}
	}
}
