package promotion

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// An owner whose lease has run out stands still until it is renewed, taken away
// for good, or not renewed for very long.
func TestLeaseIsWaitedFor(t *testing.T) {
	const interval = 20 * time.Millisecond
	after := func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	for name, c := range map[string]struct {
		then    func(*operation)
		want    error
		atLeast time.Duration
	}{
		"renewed": {func(o *operation) {
			after(100*time.Millisecond, func() { o.lease.Store(int64(bootTime() + time.Minute)) })
		}, nil, 80 * time.Millisecond},
		"superseded": {func(o *operation) { after(100*time.Millisecond, func() { o.cancel(errSuperseded) }) }, errSuperseded, 80 * time.Millisecond},
		"never":      {func(*operation) {}, errLeaseLost, leaseWaitIntervals * interval},
		"holds":      {func(o *operation) { o.lease.Store(int64(bootTime() + time.Minute)) }, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := hold(t.Context(), nil, "id", TableName{"d", "t"}, 0, interval)
			c.then(o)
			began := time.Now()
			if err := o.check(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if took := time.Since(began); took < c.atLeast {
				t.Errorf("after %s, too early", took)
			}
		})
	}
	t.Run("cancelled while waiting", func(t *testing.T) {
		o := hold(t.Context(), nil, "id", TableName{"d", "t"}, 0, time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		after(50*time.Millisecond, cancel)
		if err := o.check(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// A DROP whose effect is not seen may still be carried out, whatever ended the
// wait for it: the journal must not say that everything was answered.
func TestAwaitGone(t *testing.T) {
	here := func(id int64, err error) func() (*fluss.TableInfo, error) {
		return func() (*fluss.TableInfo, error) {
			if err != nil {
				return nil, err
			}
			return &fluss.TableInfo{TableID: id}, nil
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, get := range map[string]func() (*fluss.TableInfo, error){"gone": here(0, fluss.ErrTableNotExist), "made anew": here(8, nil)} {
		if err := awaitGone(cancelled, 7, get); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, get := range map[string]func() (*fluss.TableInfo, error){"still there": here(7, nil), "no answer": here(0, fluss.ErrNoAnswer)} {
		if err := awaitGone(cancelled, 7, get); !errors.Is(err, fluss.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
