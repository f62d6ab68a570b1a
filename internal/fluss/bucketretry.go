package fluss

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
)

// maxPressurePause is how long a bucket rests after a server at its limit, and
// what a reported pressure of 1 amounts to; the Java client's numbers.
const maxPressurePause = 3 * time.Second

// maxRepairs bounds how often a bucket takes a new writer ID without any
// progress in between.
const maxRepairs = 3

// answered deals with the end of one attempt.
func (b *BucketWriter) answered(a answer) {
	e := a.e
	e.inFlight = false
	b.inFlight--
	b.bytes -= e.size
	err := a.err
	if err == nil {
		ans, ansErr := putAnswer(a.conn, b.id, a.body)
		if err = ansErr; err == nil {
			if p := float64(ans.GetPressure()); p > 0 && p <= 1 {
				b.pause = time.Now().Add(time.Duration(p * p * float64(maxPressurePause)))
			}
			b.succeeded(e, ans.GetLogEndOffset())
			return
		}
	}
	var se *Error
	if errors.As(err, &se) && se.Code == wire.CodeDuplicateSequence {
		b.succeeded(e, -1)
		return
	}
	b.refused(e, err)
}

// succeeded marks a batch as applied, and with it all before it: the server
// takes a bucket's batches in the order of their numbers only.
func (b *BucketWriter) succeeded(e *entry, end int64) {
	e.applied, e.end = true, end
	for _, earlier := range b.queue {
		if earlier == e {
			break
		}
		earlier.applied = true // its own answer, if one comes, still brings its offset
	}
	b.acked++
	if b.attempt > 0 {
		b.setTrouble(nil)
	}
	b.repairs, b.attempt = 0, 0
	for len(b.queue) > 0 && b.queue[0].applied && !b.queue[0].inFlight {
		e := b.queue[0]
		b.queue = slices.Delete(b.queue, 0, 1)
		b.finish(e, nil)
	}
}

// refused deals with an attempt that did not succeed. err is about e, which is
// not in flight any more or has not been sent.
func (b *BucketWriter) refused(e *entry, err error) {
	if e.applied { // known from a later batch
		b.succeeded(e, -1)
		return
	}
	if maybeDone(err) {
		e.uncertain = true
	}
	var hook *hookError
	switch {
	case errors.As(err, &hook):
		b.fail(err)
	case errors.Is(err, ErrTableNotExist), errors.Is(err, ErrPartitionNotExist):
		// Nothing can be applied any more under this table or partition ID.
		for _, q := range b.queue {
			q.uncertain = false
		}
		b.fail(err)
	case errors.Is(err, ErrSequence):
		b.outOfSequence(e, err)
	case actionFor(err) == giveUp && !b.worthAsking(err):
		b.fail(err)
	default:
		b.again(err)
	}
}

// worthAsking reports whether a batch that met garbage or a failing server is
// to be sent again, for the sake of learning what became of it.
func (b *BucketWriter) worthAsking(err error) bool {
	return b.attempt < maxRepairs && (errors.Is(err, ErrGarbage) || errors.Is(err, ErrServerFailure))
}

// outOfSequence deals with a batch whose number the server does not accept.
func (b *BucketWriter) outOfSequence(e *entry, err error) {
	if e != b.firstOpen() {
		// A batch before it was not applied; all go again in order.
		b.again(err)
		return
	}
	maybe := false
	// Whatever copies of this batch and of those after it are still under way,
	// the server refuses them too: their outcome is known.
	for _, q := range b.queue {
		maybe = maybe || q.uncertain
		q.uncertain = false
	}
	var se *Error
	unknown := errors.As(err, &se) && se.Code == wire.CodeUnknownWriterID
	switch {
	case !unknown && b.acked > 0:
		b.fail(fmt.Errorf("%w: the server does not know the batch before it any more, although it acknowledged it; rows of this bucket may be lost: load it again", err))
	case maybe:
		b.fail(fmt.Errorf("%w: an earlier attempt may have been applied, and the server has forgotten it; load the bucket again", err))
	case b.repairs >= maxRepairs:
		b.fail(fmt.Errorf("%w: %w", errNoProgress, err))
	default:
		b.again(err)
		b.retry.renew = true
	}
}

// firstOpen gives the first batch that is not known to be applied.
func (b *BucketWriter) firstOpen() *entry {
	for _, e := range b.queue {
		if !e.applied {
			return e
		}
	}
	return nil
}

func (b *BucketWriter) fail(err error) {
	if b.failure == nil {
		b.failure = fmt.Errorf("fluss: table %s, %s: %w", b.w.info.Path, b.id, err)
	}
}

// again arranges for everything unanswered to be sent again.
func (b *BucketWriter) again(err error) {
	if b.retry == nil {
		b.retry = &retryState{}
	}
	// Followers are refused for their number only; the first error tells more.
	if b.retry.err == nil || !errors.Is(err, ErrSequence) {
		b.retry.err = err
		b.setTrouble(err)
	}
	b.retry.ready = false
	if actionFor(err) == refreshAndTryAgain {
		b.retry.refresh = true
	}
	var se *Error
	if errors.As(err, &se) && se.Code == wire.CodeStorageBackpressure {
		b.pause = time.Now().Add(maxPressurePause)
	}
}

// prepareRetry waits out the pause before the next try and renews the writer ID
// if need be. Nothing is in flight.
func (b *BucketWriter) prepareRetry() time.Duration {
	r := b.retry
	first := b.firstOpen()
	if first == nil {
		b.retry = nil
		return 0
	}
	since := first.first
	if since.IsZero() {
		since = b.unsentSince(first)
	}
	if waited := time.Since(since); waited > b.w.cfg.DeliveryTimeout {
		b.fail(fmt.Errorf("given up after %s: %w%s", waited.Round(time.Second), r.err, whatToDo(r.err)))
		return 0
	}
	if r.renew {
		r.renew = false
		if err := b.renumber(); err != nil {
			b.fail(err)
			return 0
		}
	}
	r.ready = true
	until := time.Now().Add(backoff(b.attempt))
	b.attempt++
	if until.After(b.pause) {
		b.pause = until
	}
	return 0
}

// unsentSince starts the clock of a batch that could not be sent yet.
func (b *BucketWriter) unsentSince(e *entry) time.Time {
	e.first = time.Now()
	return e.first
}

// renumber takes a new writer ID and numbers what is left from 0. None of it
// has been applied: see outOfSequence and endAll.
func (b *BucketWriter) renumber() error {
	ctx, cancel := context.WithTimeout(b.w.life, b.w.c.cfg.RetryTimeout)
	defer cancel()
	id, err := b.w.c.initWriter(ctx, b.w.info.Path)
	if err != nil {
		return err
	}
	b.repairs++
	b.writerID, b.next, b.acked = id, 0, 0
	for _, e := range b.queue {
		e.numbered = false
	}
	return nil
}
