package promotion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

// Liveness is what is known of the process that worked on an operation last.
type Liveness string

const (
	// LivenessUnknown: its last event is all there is; it may work or be gone.
	LivenessUnknown Liveness = "unknown"
	// LivenessAlive: a new event has appeared while the journal was watched.
	LivenessAlive Liveness = "alive"
	// LivenessSilent: no event for three heartbeat intervals, its end not proven.
	LivenessSilent Liveness = "silent"
	// LivenessEnded: it has said so with everything answered, or its process is
	// gone as seen from this host.
	LivenessEnded Liveness = "ended"
)

// Status is an operation as its journal tells it.
type Status struct {
	Result   Result
	Owner    Owner
	Liveness Liveness
	Since    time.Time // the operation's start, by its first owner's clock
	LastSeen time.Time // the owner's newest event, by its own clock
	Progress Progress  // as of the newest heartbeat
	Ended    EventKind // the owner's last word, "" while there is none
	Reason   string    // with Ended
	// CancelRequested says that a stop was asked for and not answered yet.
	CancelRequested bool
	Events          []Event // in order, heartbeats included
}

// ErrNoPromotion is matched by errors about tables without a promotion.
var ErrNoPromotion = errors.New("promotion: the Fluss table does not exist or was not made by a promotion")

// Status reads the operation of a table from its journal, once. It changes
// nothing. The error matches ErrNoPromotion where there is none.
func (s *Service) Status(ctx context.Context, name TableName) (*Status, error) {
	_, st, err := s.status(ctx, name)
	return st, err
}

func (s *Service) status(ctx context.Context, name TableName) (*journal, *Status, error) {
	c, j, err := s.sameCluster(ctx, Ref{Name: name})
	if err != nil {
		return nil, nil, err
	}
	info, hist, err := findOperation(ctx, c, j, flussPath(name))
	if err != nil {
		return nil, nil, err
	}
	if hist == nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrNoPromotion, name)
	}
	if hist.started == nil {
		return nil, nil, journalMissing(flussPath(name), hist.id, s.cfg.Journal)
	}
	events, err := j.read(ctx, hist.id)
	if err != nil {
		return nil, nil, err
	}
	st := statusOf(events)
	st.Result = resultOf(j.clusterID, fold(hist.id, events), info)
	return j, st, nil
}

// statusOf is what an operation's events tell of its owner and its progress.
func statusOf(events []Event) *Status {
	h := fold(events[0].OperationID, events)
	st := &Status{Owner: h.owner, LastSeen: h.lastBeatAt, Ended: h.ended, Reason: h.endReason, CancelRequested: h.cancelAsk && h.ended == "",
		Liveness: LivenessUnknown, Events: events}
	if h.started != nil {
		st.Since = h.started.At
	}
	if ownerProvenEnded(h) || h.enabled != nil && h.ended == "" {
		st.Liveness = LivenessEnded
	}
	st.Progress = progressOf(h, events)
	return st
}

// progressOf computes the rate from the events of the load at hand: the times
// compared are one owner's.
func progressOf(h *history, events []Event) Progress {
	p := Progress{OperationID: h.id, Stage: h.stage(), Rows: h.rows, Bytes: h.bytes}
	var began, last *Event
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == EventLoading:
			began, last, p.TotalRows = e, e, e.Detail.TotalRows
		case began != nil && e.Owner.Token == began.Owner.Token:
			if e.Detail.Rows > 0 {
				last = e
			}
			if e.Detail.TotalRows > 0 {
				p.TotalRows = e.Detail.TotalRows
			}
		}
	}
	if began == nil {
		return p
	}
	if took := last.At.Sub(began.At).Seconds(); took > 0 && last.Detail.Rows > began.Detail.Rows {
		p.RowsPerSec = float64(last.Detail.Rows-began.Detail.Rows) / took
		if left := p.TotalRows - p.Rows; left > 0 && p.Stage == StageLoading {
			p.Remaining = time.Duration(float64(left) / p.RowsPerSec * float64(time.Second))
		}
	}
	return p
}

// CancelOutcome is how a request to stop ended.
type CancelOutcome struct {
	Status *Status
	// Requested says whether the request was written; false where nothing runs.
	Requested bool
	// Terminal says whether it is proven that nothing can write into the table
	// any more.
	Terminal bool
}

// Cancel asks the operation of a table to stop and waits, until ctx ends, for
// the proof that its load is over. It drops nothing: the next apply or destroy
// does that. Watch, which may be nil, is given what is seen while waiting.
// A complete promotion is an error, and so is an owner that is silent with
// nothing proving its end; the outcome is given beside it.
func (s *Service) Cancel(ctx context.Context, name TableName, reason string, watch func(*Status)) (CancelOutcome, error) {
	j, st, err := s.status(ctx, name)
	if err != nil {
		return CancelOutcome{}, err
	}
	out := CancelOutcome{Status: st}
	if st.Result.Stage == StageEnabled || st.Result.Stage == StageDisabled {
		return out, Problem{Severity: SeverityError, Summary: "The promotion is complete", Found: fmt.Sprintf("operation %s, stage %s", st.Result.OperationID, st.Result.Stage),
			Required: "a promotion that is under way", Fix: "to undo it, destroy the resource"}
	}
	if st.Liveness == LivenessEnded {
		out.Requested, err = s.stopJob(ctx, j, name, fold(st.Result.OperationID, st.Events))
		out.Terminal = err == nil
		return out, err
	}
	if !st.CancelRequested {
		if err := requestCancel(ctx, j, st, name, reason); err != nil {
			return out, err
		}
	}
	out.Requested, st.CancelRequested = true, true
	id := st.Result.OperationID
	seen, quietUntil := newestByOwner(st.Events), bootTime()+silentIntervals*s.cfg.Heartbeat
	for {
		if watch != nil {
			watch(st)
		}
		if err := wait.For(ctx, max(s.cfg.Heartbeat/5, 50*time.Millisecond)); err != nil {
			return out, fmt.Errorf("promotion: operation %s was asked to stop; waiting for its end: %w", id, err)
		}
		events, err := j.read(ctx, id)
		if err != nil {
			return out, err
		}
		now := statusOf(events)
		now.Result = st.Result
		now.Result.Stage = fold(id, events).stage()
		st, out.Status = now, now
		if n := newestByOwner(events); n > seen {
			seen, quietUntil = n, bootTime()+silentIntervals*s.cfg.Heartbeat
			st.Liveness = LivenessAlive
		}
		switch h := fold(id, events); {
		case h.enabled != nil:
			return out, Problem{Severity: SeverityError, Summary: "The promotion was completed before it could be stopped", Found: "operation " + id,
				Fix: "to undo it, destroy the resource"}
		case ownerProvenEnded(h):
			st.Liveness = LivenessEnded
			_, err := s.stopJob(ctx, j, name, h)
			out.Terminal = err == nil
			return out, err
		case bootTime() > quietUntil:
			st.Liveness = LivenessSilent
			if h.jobPending() {
				// An owner of a job only watches it, and the entries made here stop one
				// that comes back: what may still write is the job.
				_, err := s.stopJob(ctx, j, name, h)
				out.Terminal = err == nil
				return out, err
			}
			return out, notTerminal(h, "a cancellation that is over")
		}
	}
}

// requestCancel puts the request behind the newest event, whoever wrote that.
func requestCancel(ctx context.Context, j *journal, st *Status, name TableName, reason string) error {
	e := Event{OperationID: st.Result.OperationID, Seq: st.Events[len(st.Events)-1].Seq, EntryID: uuid.NewString(), Kind: EventCancelRequested,
		Database: name.Database, Table: name.Table, Owner: newOwner(uuid.NewString()), Detail: Detail{Reason: reason}}
	for {
		e.Seq, e.At = e.Seq+1, time.Now()
		holder, ours, err := j.append(ctx, e)
		if err != nil || ours {
			return err
		}
		if holder.Kind == EventCancelRequested {
			return nil
		}
	}
}
