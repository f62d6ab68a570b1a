package fluss

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// BucketWriter sends batches to one bucket, in order. It is safe for concurrent
// use, but the order of concurrent Sends is open.
//
// One goroutine, the loop, runs while batches are unanswered. It alone touches
// the fields from writerID on, so that numbering, retries and repair need no
// lock.
type BucketWriter struct {
	w     *Writer
	id    BucketID
	slots chan struct{} // one token per accepted, unanswered batch
	wake  chan struct{} // new batches, for the loop
	ended chan struct{} // closed when err is set

	mu       sync.Mutex
	incoming []*entry
	running  bool
	idle     chan struct{} // closed while nothing is unanswered
	err      error         // why the bucket takes no more batches
	trouble  error         // why batches are being sent again

	writerID int64
	next     int32 // sequence number of the next batch
	acked    int   // batches acknowledged under writerID
	repairs  int   // new writer IDs since the last acknowledgement
	attempt  int   // tries since the last acknowledgement
	queue    []*entry
	conn     *conn // where the batches in flight are
	inFlight int
	onConn   int   // batches sent since the bucket last changed its connection
	bytes    int64 // of the requests in flight
	answers  chan answer
	pause    time.Time // nothing is sent before
	retry    *retryState
	failure  error // why the bucket is about to end
}

// entry is one batch on its way.
type entry struct {
	batch    Batch
	done     func(Ack)
	data     []byte
	size     int64 // of its request
	sequence int32
	numbered bool
	sent     bool      // at least once
	first    time.Time // when
	inFlight bool
	// uncertain: an attempt ended without saying whether the batch was applied.
	uncertain bool
	applied   bool
	end       int64 // log end offset, once applied
}

// answer is what became of one attempt.
type answer struct {
	e    *entry
	conn *conn
	body []byte
	err  error
}

// retryState is set while batches are to be sent again: nothing is sent until
// none is in flight, then everything unanswered goes out again in order.
type retryState struct {
	err     error
	refresh bool // read the leader again
	renew   bool // take a new writer ID
	ready   bool // prepared: send when the pause is over
}

func newBucketWriter(w *Writer, id BucketID) *BucketWriter {
	b := &BucketWriter{w: w, id: id, writerID: w.writerID,
		slots: make(chan struct{}, w.cfg.MaxInFlight), answers: make(chan answer, w.cfg.MaxInFlight),
		wake: make(chan struct{}, 1), ended: make(chan struct{}), idle: make(chan struct{})}
	close(b.idle)
	return b
}

// Send hands a batch over. It blocks while MaxInFlight batches of the bucket are
// unanswered; ctx bounds only that. With a nil error, done is called exactly
// once, in the order of the batches and not concurrently for one bucket, and
// the batch must not be touched until then. With an error the batch was not
// taken. After a batch has failed the bucket takes no more: their rows would be
// missing in between.
func (b *BucketWriter) Send(ctx context.Context, batch Batch, done func(Ack)) error {
	select {
	case <-b.ended:
		return b.refusal()
	case <-b.w.stop:
		return fmt.Errorf("fluss: table %s, %s: %w", b.w.info.Path, b.id, ErrDraining)
	default:
	}
	select {
	case b.slots <- struct{}{}:
	case <-b.ended:
		return b.refusal()
	case <-b.w.stop:
		return fmt.Errorf("fluss: table %s, %s: %w", b.w.info.Path, b.id, ErrDraining)
	case <-ctx.Done():
		return b.late(ctx.Err())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		<-b.slots
		return fmt.Errorf("%w: %w", errBucketEnded, b.err)
	}
	if !b.running {
		if !b.w.loopStarted() {
			<-b.slots
			return fmt.Errorf("fluss: table %s, %s: %w", b.w.info.Path, b.id, ErrDraining)
		}
		b.running = true
		b.idle = make(chan struct{})
		safego.Start(b.loop, func(err error) {
			if err != nil {
				b.crashed(err)
			}
			b.w.loopEnded()
		})
	}
	b.incoming = append(b.incoming, &entry{batch: batch, done: done, end: -1})
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return nil
}

func (b *BucketWriter) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Errorf("%w: %w", errBucketEnded, b.err)
}

// Flush waits until every batch sent so far is answered; its error is that of
// the bucket, or of ctx.
func (b *BucketWriter) Flush(ctx context.Context) error {
	b.mu.Lock()
	idle := b.idle
	b.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		return b.late(ctx.Err())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// late is the error of a caller whose time is over while the bucket is busy; it
// says what keeps the bucket.
func (b *BucketWriter) late(cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble != nil {
		return fmt.Errorf("fluss: table %s, %s: %w while batches are being sent again, the last of which ended with: %w", b.w.info.Path, b.id, cause, b.trouble)
	}
	return fmt.Errorf("fluss: table %s, %s: %w while batches wait for their answers", b.w.info.Path, b.id, cause)
}

func (b *BucketWriter) setTrouble(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble = err
}

// loop runs until no batch is left.
func (b *BucketWriter) loop() error {
	stop, life := b.w.stop, b.w.life.Done()
	for {
		if !b.collect() {
			return nil
		}
		wait := b.advance()
		var timer <-chan time.Time
		var t *time.Timer
		if wait > 0 {
			t = time.NewTimer(wait)
			timer = t.C
		} else if wait == 0 {
			continue
		}
		select {
		case a := <-b.answers:
			b.answered(a)
		case <-b.wake:
		case <-timer:
		case <-stop:
			stop = nil
		case <-life:
			life = nil
		}
		if t != nil {
			t.Stop()
		}
	}
}

// collect takes new batches in; false means that there is nothing left and the
// loop has ended.
func (b *BucketWriter) collect() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, b.incoming...)
	clear(b.incoming)
	b.incoming = b.incoming[:0]
	if len(b.queue) > 0 {
		return true
	}
	b.retry, b.running = nil, false
	close(b.idle)
	return false
}

// forever as a result of advance: only an event can change anything.
const forever = time.Duration(math.MinInt64)

// advance does what can be done now. It gives how long to wait at most for the
// next event: forever, a pause that is to pass, or 0 to be called again.
func (b *BucketWriter) advance() time.Duration {
	if b.failure == nil && b.w.life.Err() != nil {
		b.failure = ErrClosed
	}
	if b.failure != nil || b.retry != nil || b.draining() {
		if b.inFlight > 0 {
			return forever
		}
		switch {
		case b.failure != nil:
			b.endAll(b.failure)
			return 0
		case b.draining() && !b.queue[0].uncertain:
			// What is not applied by now, and can't be any more, stays so.
			b.endAll(b.drained())
			return 0
		case b.retry != nil && !b.retry.ready:
			return b.prepareRetry()
		}
	}
	return b.sendReady()
}

func (b *BucketWriter) draining() bool {
	select {
	case <-b.w.stop:
		return true
	default:
		return false
	}
}

// drained is the error of a batch that was stopped before it was applied.
func (b *BucketWriter) drained() error {
	if b.retry != nil {
		return fmt.Errorf("fluss: table %s, %s: %w; the last answer was: %w", b.w.info.Path, b.id, ErrDraining, b.retry.err)
	}
	return fmt.Errorf("fluss: table %s, %s: %w", b.w.info.Path, b.id, ErrDraining)
}

// sendReady sends every batch that may be sent, in order.
func (b *BucketWriter) sendReady() time.Duration {
	for _, e := range b.queue {
		if e.inFlight || e.applied {
			continue
		}
		if b.draining() && !e.uncertain {
			return forever // after the uncertain ones have been resolved
		}
		if wait := time.Until(b.pause); wait > 0 {
			return wait
		}
		if b.inFlight > 0 && (!b.conn.usable() || b.mustMove() || b.w.pool.better(b.conn, b.bytes)) {
			return forever // until nothing is in flight
		}
		if err := b.sendOne(e); err != nil {
			b.refused(e, err)
			return 0
		}
	}
	b.retry = nil
	return forever
}

// moveEvery is the number of batches after which a bucket takes another
// connection. The server may serve two connections on one of its threads, which
// nothing here shows but the time that both take; so the ones who share a thread
// change.
const moveEvery = 8

// mustMove reports whether it is time for another connection.
func (b *BucketWriter) mustMove() bool { return b.onConn >= moveEvery && b.w.cfg.Connections > 1 }

// connection is where the next batches go, of a bucket with none in flight.
func (b *BucketWriter) connection(ctx context.Context, addr string) (*conn, error) {
	if b.mustMove() {
		b.onConn = 0
		return b.w.pool.other(ctx, addr, b.conn)
	}
	if c := b.conn; c != nil && c.addr == addr && c.usable() && !c.stale() && c.load.Load() == 0 {
		return c, nil
	}
	return b.w.pool.get(ctx, addr)
}

// sendOne sends a batch; its error means that nothing was sent.
func (b *BucketWriter) sendOne(e *entry) error {
	ctx, cancel := context.WithTimeout(b.w.life, b.w.c.cfg.RequestTimeout)
	defer cancel()
	if b.inFlight == 0 {
		refresh := b.retry != nil && b.retry.refresh
		n, err := b.w.c.leader(ctx, b.w.info, b.id, refresh)
		if err != nil {
			return &connectError{err}
		}
		if b.retry != nil {
			b.retry.refresh = false
		}
		if b.conn, err = b.connection(ctx, n.Addr()); err != nil {
			return &connectError{err}
		}
	}
	if f := b.w.cfg.BeforeSend; f != nil {
		if err := f(ctx); err != nil {
			return &hookError{err}
		}
	}
	if !e.numbered {
		e.sequence, e.numbered = b.next, true
		e.data = e.batch.Finish(b.writerID, e.sequence)
		if b.next == math.MaxInt32 {
			b.next = 0
		} else {
			b.next++
		}
	}
	req, err := b.w.c.putRequest(b.conn, b.w.info, b.id, b.w.cfg.Acks, b.w.c.putWait(), e.data)
	if err != nil {
		return err
	}
	cn := b.conn
	if _, err = cn.begin(ctx, req, func(body []byte, err error) { b.answers <- answer{e, cn, body, err} }); err != nil {
		return err
	}
	if !e.sent {
		e.sent, e.first = true, time.Now()
	}
	e.inFlight = true
	b.inFlight++
	b.onConn++
	e.size = int64(len(req.head) + len(req.tail))
	b.bytes += e.size
	return nil
}

// hookError is what BeforeSend said.
type hookError struct{ err error }

func (e *hookError) Error() string { return e.err.Error() }
func (e *hookError) Unwrap() error { return e.err }

// endAll ends every batch in the queue: those known to be applied with success,
// the others with cause. It is called with nothing in flight.
func (b *BucketWriter) endAll(cause error) {
	queue := b.queue
	b.queue = nil
	// The server applies a bucket's batches in the order of their numbers only:
	// once one is known not to be applied, none after it is.
	open := true
	for _, e := range queue {
		switch {
		case e.applied:
			b.finish(e, nil)
		case open && e.uncertain:
			b.w.lost(b.id)
			b.finish(e, fmt.Errorf("%w: %w", ErrUnknownOutcome, cause))
		default:
			open = false
			b.finish(e, cause)
		}
	}
	b.setErr(cause)
}

func (b *BucketWriter) setErr(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		close(b.ended)
	}
}

// finish tells the batch's owner and frees its slot.
func (b *BucketWriter) finish(e *entry, err error) {
	ack := Ack{Rows: e.batch.Rows(), Bytes: e.batch.Size(), LogEndOffset: e.end, Err: err}
	done := e.done
	e.done, e.batch, e.data = nil, nil, nil
	if panicked := safego.Do(func() error { done(ack); return nil }); panicked != nil && b.failure == nil {
		b.failure = panicked
	}
	<-b.slots
}

// crashed ends the bucket after a panic in its loop.
func (b *BucketWriter) crashed(cause error) {
	b.setErr(cause)
	b.mu.Lock()
	queue := append(b.queue, b.incoming...)
	b.queue, b.incoming, b.running = nil, nil, false
	b.mu.Unlock()
	for _, e := range queue {
		if e.done == nil {
			continue
		}
		if e.inFlight || e.uncertain {
			b.w.lost(b.id)
		}
		_ = safego.Do(func() error { e.done(Ack{LogEndOffset: -1, Err: cause}); return nil })
		<-b.slots
	}
	b.mu.Lock()
	close(b.idle)
	b.mu.Unlock()
}

// errNoProgress is a bucket for which new writer IDs don't help.
var errNoProgress = errors.New("the server refuses the first batch of new writer IDs too")
