package promotion

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
	"github.com/google/uuid"
)

var (
	// errSuperseded ends an owner whose operation somebody else has taken over.
	errSuperseded = errors.New("promotion: this operation was taken over or is being dropped by another process")
	// errCancelRequested ends an owner that was asked to stop.
	errCancelRequested = errors.New("promotion: a stop of this operation was requested")
	// errLeaseLost ends an owner that could not write to the journal for too long.
	errLeaseLost = errors.New("promotion: the journal could not be written for far longer than the lease allows; another process may take this operation over")
)

const (
	silentIntervals = 3 // an owner without events for so many intervals is silent
	// leaseWaitIntervals is how long an owner whose lease has run out stands
	// still, waiting for the journal, before it gives up. Standing still is
	// safe: whoever takes over meanwhile makes the next append fail.
	leaseWaitIntervals = 20
	leasePoll          = 20 * time.Millisecond
)

// operation is this process's hold on an operation: its place in the journal,
// its lease, its heartbeat.
type operation struct {
	j        *journal
	id       string
	name     TableName
	owner    Owner
	interval time.Duration

	ctx    context.Context //nolint:containedctx // ends, with its cause, when this process must stop working on the operation
	cancel context.CancelCauseFunc

	appending sync.Mutex // one append at a time: each takes the next seq
	seq       int64      // of the newest event known; under appending
	lost      bool       // the operation is somebody else's for good; under appending

	lease atomic.Int64 // boot time (ns) until which nobody may call this owner silent

	mu       sync.Mutex
	progress Progress // under mu

	beatDone chan struct{}
	stopBeat context.CancelFunc
}

// hold makes this process the owner of the operation from seq on. Nothing is
// written yet; the first append does that.
func hold(ctx context.Context, j *journal, id string, name TableName, seq int64, interval time.Duration) *operation {
	o := &operation{j: j, id: id, name: name, owner: newOwner(uuid.NewString()), interval: interval, seq: seq}
	o.progress.OperationID = id
	o.ctx, o.cancel = context.WithCancelCause(ctx)
	return o
}

// append writes the next event of this operation. Losing a seq to somebody
// else's event is acted upon: a request to stop is noted and the append goes
// on behind it; anything else means that the operation is no longer ours.
func (o *operation) append(ctx context.Context, kind EventKind, d Detail) error {
	_, err := o.appendEvent(ctx, kind, d)
	return err
}

// appendEvent is append that gives the event as the journal has it now.
func (o *operation) appendEvent(ctx context.Context, kind EventKind, d Detail) (Event, error) {
	o.appending.Lock()
	defer o.appending.Unlock()
	// Behind the event that took the operation away the next seq may be free:
	// winning it would push the new owner out.
	if o.lost {
		return Event{}, errSuperseded
	}
	for {
		e := Event{OperationID: o.id, Seq: o.seq + 1, EntryID: uuid.NewString(), Kind: kind, Database: o.name.Database,
			Table: o.name.Table, Owner: o.owner, At: faultpoint.Now(), Detail: d}
		faultpoint.Reach(ctx, faultpoint.JournalBefore(string(kind)))
		sent := bootTime()
		holder, ours, err := o.j.append(ctx, e)
		faultpoint.Reach(ctx, faultpoint.JournalAfter(string(kind)))
		if err != nil {
			return Event{}, err
		}
		o.seq = holder.Seq
		if ours {
			// One interval less than observers wait, counted from before the
			// event was sent: the lease always ends first.
			o.lease.Store(int64(sent + (silentIntervals-1)*o.interval))
			return holder, nil
		}
		switch {
		case holder.Owner.Token == o.owner.Token && holder.Kind != EventCancelRequested:
			continue // an earlier append of ours that was thought lost
		case holder.Kind == EventCancelRequested:
			o.cancel(errCancelRequested)
			continue
		default:
			o.lost = true
			o.cancel(errSuperseded)
			return Event{}, errSuperseded
		}
	}
}

// check says whether this process may still act on the operation. It is asked
// before every send, retry, PREPARE, COMMIT and ALTER. While the lease has run
// out it waits: the heartbeat either renews it, or finds that the operation has
// been taken over.
func (o *operation) check(ctx context.Context) error {
	giveUp := bootTime() + leaseWaitIntervals*o.interval
	for {
		if err := context.Cause(o.ctx); err != nil {
			return err
		}
		now := bootTime()
		if int64(now) <= o.lease.Load() {
			return nil
		}
		if now > giveUp {
			o.cancel(errLeaseLost)
			return errLeaseLost
		}
		if err := wait.For(ctx, leasePoll); err != nil {
			return err
		}
	}
}

// start begins the heartbeat. report, which may be nil, is given the progress
// at every beat.
func (o *operation) start(report func(Progress)) {
	if o.stopBeat != nil {
		return
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(o.ctx))
	o.stopBeat, o.beatDone = stop, make(chan struct{})
	safego.Start(func() error { return o.beat(ctx, report) }, func(err error) {
		if err != nil {
			o.cancel(err)
		}
		close(o.beatDone)
	})
}

func (o *operation) beat(ctx context.Context, report func(Progress)) error {
	t := time.NewTicker(o.interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		p := o.snapshot()
		if report != nil {
			report(p)
		}
		// An append that fails is not fatal by itself: the lease runs out, and
		// work stands still until one succeeds.
		for ctx.Err() == nil {
			limit, done := context.WithTimeout(ctx, o.interval)
			err := o.append(limit, EventHeartbeat, Detail{Stage: p.Stage, Rows: p.Rows, Bytes: p.Bytes, TotalRows: p.TotalRows})
			done()
			if errors.Is(err, errSuperseded) {
				return err
			}
			if err == nil || wait.For(ctx, o.interval/10) != nil {
				break
			}
		}
	}
}

// end stops the heartbeat and waits for it.
func (o *operation) end() {
	if o.stopBeat != nil {
		o.stopBeat()
		<-o.beatDone
		o.stopBeat = nil
	}
	o.cancel(context.Canceled)
}

func (o *operation) setStage(s Stage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.progress.Stage = s
}

func (o *operation) setProgress(f func(*Progress)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(&o.progress)
}

func (o *operation) snapshot() Progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.progress
}
