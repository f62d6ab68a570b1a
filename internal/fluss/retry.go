package fluss

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

// Pauses between two tries: they double from the first to the last, and each is
// shortened by up to half at random, so that many buckets don't return at once.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 1 * time.Second
)

// backoff gives the pause before try number attempt+1, attempt counting from 0.
func backoff(attempt int) time.Duration {
	d := lastPause
	if attempt < 10 {
		d = min(firstPause<<attempt, lastPause)
	}
	return d/2 + rand.N(d/2)
}

// retry runs try until it succeeds, fails for good, or ctx or the retry timeout
// ends. try gets told to read the metadata again when the last error asks for
// that. Requests that must not be repeated when their outcome is unknown set
// once; such an error then matches ErrUnknownOutcome.
func (c *Client) retry(ctx context.Context, what string, once bool, try func(ctx context.Context, refresh bool) error) error {
	limited := false
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.RetryTimeout)
		defer cancel()
		limited = true
	}
	refresh := false
	var before error
	for attempt := 0; ; attempt++ {
		err := try(ctx, refresh)
		if err == nil {
			return nil
		}
		if once && maybeDone(err) {
			return fmt.Errorf("%w: %w", ErrUnknownOutcome, withContext(ctx, err))
		}
		act := actionFor(err)
		if act == giveUp {
			return withContext(ctx, err)
		}
		refresh = act == refreshAndTryAgain
		if before != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = before // this try was cut short; the one before tells more
		}
		before = err
		if wait.For(ctx, backoff(attempt)) != nil {
			if errors.Is(ctx.Err(), context.Canceled) {
				return withContext(ctx, err)
			}
			if limited {
				return fmt.Errorf("fluss: %s: given up after %d tries in %s, the last of which ended with: %w%s",
					what, attempt+1, c.cfg.RetryTimeout, withContext(ctx, err), whatToDo(err))
			}
			return fmt.Errorf("fluss: %s: given up after %d tries, the last of which ended with: %w%s", what, attempt+1, withContext(ctx, err), whatToDo(err))
		}
	}
}

// whatToDo is what can be done about an error that did not pass, "" where the
// error says it itself. Servers of Fluss 0.9 can hang while they shut down, after
// their disk was full: they take no connections, and the others go on to name
// them as leaders.
func whatToDo(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return " (start the server at this address; if its process runs, it hangs: end it and start it anew)"
	}
	return ""
}

// withContext makes err match the error of an ended context too.
func withContext(ctx context.Context, err error) error {
	cause := ctx.Err()
	if cause == nil {
		return err
	}
	return &endedError{err: err, ctx: cause}
}

type endedError struct{ err, ctx error }

func (e *endedError) Error() string   { return e.err.Error() }
func (e *endedError) Unwrap() []error { return []error{e.err, e.ctx} }
