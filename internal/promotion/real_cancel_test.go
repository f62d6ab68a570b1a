package promotion

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// A stop is asked of a running promotion from another process: it ends, says so
// with everything answered, and the table can be removed.
func TestRealCancelRunning(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	e.svc.slots <- struct{}{} // it stands at its load
	ended := make(chan error, 1)
	safego.Start(func() error { _, _, err := e.svc.Run(deadline(t), s, nil); return err }, func(err error) { ended <- err })
	e.reaches(t, s, StagePrepared)
	other, err := New(Config{Bootstrap: []string{e.st.Bootstrap}, Heartbeat: beat})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	looks := 0
	out, err := other.Cancel(deadline(t), s.Name, "a test", func(*Status) { looks++ })
	if err != nil || !out.Requested || !out.Terminal || out.Status.Ended != EventCancelled || looks == 0 {
		t.Errorf("%+v, status %+v, %d looks, %v", out, out.Status, looks, err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "cancelled on request") {
		t.Errorf("the owner ended with %v", err)
	}
	again, err := other.Cancel(deadline(t), s.Name, "a test", nil)
	if err != nil || again.Requested || !again.Terminal {
		t.Errorf("a second request: %+v, %v", again, err)
	}
	if err := other.Remove(deadline(t), Ref{Name: s.Name}, RemoveOptions{}); err != nil {
		t.Errorf("removing what was cancelled: %v", err)
	}
	if obs, err := other.Observe(deadline(t), Ref{Name: s.Name}); err != nil || !obs.Gone {
		t.Errorf("%+v, %v", obs, err)
	}
	<-e.svc.slots
}

// A silent owner: the request is there, its end is not proven, and that is said.
func TestRealCancelSilent(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, elsewhere)
	out, err := e.svc.Cancel(deadline(t), s.Name, "a test", nil)
	if err == nil || !strings.Contains(err.Error(), "not provably over") || !out.Requested || out.Terminal || out.Status.Liveness != LivenessSilent {
		t.Errorf("%+v, %v", out, err)
	}
	// The owner, when it comes back, obeys.
	if err := old.op.append(deadline(t), EventHeartbeat, Detail{}); err != nil {
		t.Fatal(err)
	}
	if err := old.op.check(context.Background()); !errors.Is(err, errCancelRequested) {
		t.Errorf("the owner goes on: %v", err)
	}
	limit, done := context.WithTimeout(deadline(t), beat)
	defer done()
	if _, err := e.svc.Cancel(limit, s.Name, "a test", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that is too short: %v", err)
	}
}

func TestRealCancelNothing(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	if _, err := e.svc.Cancel(deadline(t), s.Name, "", nil); !errors.Is(err, ErrNoPromotion) {
		t.Errorf("%v", err)
	}
	old := e.begun(t, s, gone)
	if out, err := e.svc.Cancel(deadline(t), s.Name, "", nil); err != nil || out.Requested || !out.Terminal {
		t.Errorf("an owner that is gone: %+v, %v", out, err)
	}
	e.run(t, s)
	if _, err := e.svc.Cancel(deadline(t), s.Name, "", nil); err == nil || !strings.Contains(err.Error(), "complete") {
		t.Errorf("a complete promotion: %v", err)
	}
	st, err := e.svc.Status(deadline(t), s.Name)
	if err != nil || st.Result.Stage != StageEnabled || st.Liveness != LivenessEnded || st.Since.IsZero() || st.Progress.Rows != 59 ||
		st.Result.OperationID != old.op.id || time.Since(st.LastSeen) > time.Minute {
		t.Errorf("%+v, %v", st, err)
	}
}
