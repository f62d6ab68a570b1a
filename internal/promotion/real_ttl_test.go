package promotion

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// Datalake is switched off for longer than the log is kept: what the log has
// dropped was never tiered, and enabling again is refused with both offsets.
func TestRealEnabledAgainTooLate(t *testing.T) {
	real(t) // only where real servers are wanted
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	st, err := stack.Start(ctx, stack.Options{DieWithParent: true, ServerProperties: map[string]string{
		"log.segment.file-size": "1kb", "remote.log.task-interval-duration": "1s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	svc, err := New(Config{Bootstrap: []string{st.Bootstrap}, Heartbeat: beat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	e := &realEnv{svc: svc, st: st, db: "late"}
	s := e.sample(t, "pk_levels", "t")
	s.TableProperties = map[string]string{"table.log.ttl": "2s", "table.log.tiered.local-segments": "1"}
	old := e.at(t, s, StageVerified, gone)
	res := e.run(t, s)
	e.do(t, func(ctx context.Context) error { return setDatalake(ctx, old.c.client, old.path, false) })
	for ; ; time.Sleep(200 * time.Millisecond) {
		for range 10 {
			writeForeign(t, old)
		}
		starts, err := allOffsets(ctx, old.c.client, old.info, fluss.OffsetEarliest)
		if err != nil {
			t.Fatal(err)
		}
		past := false
		for _, start := range starts {
			past = past || start > res.RowsLoaded
		}
		if past {
			break
		}
	}
	s.OperationID = res.OperationID
	_, _, err = svc.Run(deadline(t), s, nil)
	for _, want := range []string{"log records are gone that were never tiered", "tiered up to offset 59", "table.log.ttl: 2s"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if obs, err := svc.Observe(deadline(t), Ref{Name: s.Name}); err != nil || obs.Result.Stage != StageDisabled {
		t.Errorf("%+v, %v", obs, err)
	}
}
