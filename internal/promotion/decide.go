package promotion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

type action int

const (
	actionStart   action = iota // nothing there: a new operation
	actionResume                // go on with the operation that is there
	actionFence                 // take it over and give the table a new ID first
	actionRestart               // drop what was loaded and start a new operation
)

type decision struct {
	action action
	reason string
}

// decide applies the "starting over" rules to what was found in Fluss. It asks
// and waits, but changes nothing.
func (r *run) decide(ctx context.Context) (decision, error) {
	if r.info == nil {
		return decision{action: actionStart}, nil
	}
	if err := r.recognise(); err != nil {
		return decision{}, err
	}
	enabled := r.info.Descriptor.Properties[enabledProperty] == "true"
	moved := r.sourceMoved(ctx)
	if moved != nil && !isProblem(moved) {
		return decision{}, moved
	}
	if moved != nil && !enabled && r.spec.OnSourceChange != "restart" {
		return decision{}, moved
	}
	end, err := r.awaitOwner(ctx)
	if err != nil {
		return decision{}, err
	}
	h := r.hist // ownerEnd may have read on
	var byJob *decision
	if end != ownerAlive && h.enabled == nil && !enabled && !h.dropPending() {
		if byJob, err = r.decideJob(ctx, moved); err != nil {
			return decision{}, err
		}
	}
	restart := moved != nil
	switch {
	case h.enabled != nil:
		return decision{}, r.ownedBy("has just been completed", nil)
	case end == ownerAlive:
		return decision{}, r.ownedBy("is being worked on", &h.owner)
	case h.dropPending() && end != ownerEnded && r.spec.Takeover != "resume":
		// A table is dropped by its name, so a drop that is still under way
		// would hit whatever is made anew: no fence helps.
		return decision{}, r.notTerminal("starting over while another process was dropping the table")
	case enabled:
		return decision{actionResume, "enabled, the journal is not complete"}, nil
	case byJob != nil:
		return *byJob, nil
	// Dropping is a fence by itself: "dropping" in the journal stops an owner
	// that comes back, and its late batches meet a table ID that is gone.
	case restart:
		return decision{actionRestart, "the source moved on"}, nil //nolint:nilerr // a reason here, no failure
	case h.over():
		return decision{actionRestart, "the earlier operation " + string(h.ended) + ": " + h.endReason}, nil
	case h.fencing:
		// Fenced, and not known to be created anew: whatever table is there may
		// still be the old one.
		return decision{actionFence, "an unfinished take-over"}, nil
	case h.loaded != nil:
		return decision{actionResume, "loaded before"}, nil
	case end == ownerEnded:
		return decision{actionResume, "the earlier owner has ended"}, nil
	case r.spec.Takeover == "resume":
		return decision{actionResume, `takeover = "resume": the earlier owner is silent, its end is not proven`}, nil
	default:
		return decision{actionFence, "the earlier owner is silent, its end is not proven"}, nil
	}
}

// recognise refuses tables that are not this promotion's.
func (r *run) recognise() error {
	h := r.hist
	if h == nil {
		return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "A Fluss table of this name exists and was not made by a promotion",
			Found:    fmt.Sprintf("table %s with ID %d, without the custom property %s", r.path, r.info.TableID, operationProperty),
			Required: "no table of that name, or one that an unfinished promotion of the same source left",
			Fix:      "rename or drop the Fluss table if it is not needed; it was not touched"}
	}
	if h.started == nil {
		return journalMissing(r.path, h.id, r.s.cfg.Journal)
	}
	if h.hasTable && h.tableID != r.info.TableID {
		return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The Fluss table is not the one that the operation created",
			Found: fmt.Sprintf("table ID %d", r.info.TableID), Required: fmt.Sprintf("table ID %d of operation %s", h.tableID, h.id),
			Fix: "somebody dropped the table and made it anew with a copy of its properties; check it, and drop it by hand if it is not needed"}
	}
	d := h.started.Detail
	if d.Fingerprint == nil {
		return fmt.Errorf("promotion: journal: operation %s: the started event has no fingerprint", h.id)
	}
	if a, b := selectionText(d.Selection), selectionText(r.spec.Partitions); a != b {
		return Problem{Severity: SeverityError, Attribute: []string{"partitions"}, Summary: "An unfinished promotion of this table has another selection of partitions",
			Found: fmt.Sprintf("operation %s: %s", h.id, a), Required: b,
			Fix: fmt.Sprintf("apply with that selection, or remove the unfinished promotion first: terraform import fluss_lake_promotion.NAME %s, then terraform destroy", r.spec.Name)}
	}
	return nil
}

// journalMissing is the refusal to touch a table whose operation the journal
// does not know.
func journalMissing(path fluss.TablePath, operationID string, journal TableName) Problem {
	return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The journal of this promotion is missing",
		Found:    fmt.Sprintf("table %s carries operation %s, of which the journal %s knows nothing", path, operationID, journal),
		Required: "the journal that the operation was written to",
		Why:      "without it nothing proves that no other process is still loading the table, so it is neither used nor dropped",
		Fix:      "set the provider's journal block (promotionctl: -journal) to the journal that was used; if it is lost, make sure that no promotion of this table is running anywhere, drop the Fluss table by hand and apply again"}
}

// sourceMoved compares the source with what the operation pinned: a Problem
// when it moved on. Schema content counts, not schema IDs.
func (r *run) sourceMoved(ctx context.Context) error {
	d := r.hist.started.Detail
	if r.src.pin != *d.Fingerprint {
		return movedOn(*d.Fingerprint, r.src.pin, r.src.snapshot)
	}
	base, err := r.src.table.SchemaByID(ctx, deref(d.SchemaID))
	if err != nil {
		return err
	}
	return r.hist.sameSchema(base, r.src.schema)
}

func isProblem(err error) bool {
	var p Problem
	return errors.As(err, &p)
}

type ownerState int

const (
	ownerAlive  ownerState = iota // a new event appeared
	ownerSilent                   // no event for three intervals, its end not proven
	ownerEnded                    // proven
)

// ownerEnd finds out whether the operation's last owner has ended. Where
// nothing proves it, the journal is watched for three intervals on this
// process's own clock.
func (r *run) ownerEnd(ctx context.Context) (ownerState, error) {
	if ownerProvenEnded(r.hist) {
		return ownerEnded, nil
	}
	seen := r.hist.lastSeq
	deadline := bootTime() + silentIntervals*r.s.cfg.Heartbeat
	pause := max(r.s.cfg.Heartbeat/5, 50*time.Millisecond)
	for {
		if err := wait.For(ctx, pause); err != nil {
			return ownerAlive, err
		}
		events, err := r.j.read(ctx, r.hist.id)
		if err != nil {
			return ownerAlive, err
		}
		r.hist = fold(r.hist.id, events)
		if ownerProvenEnded(r.hist) {
			return ownerEnded, nil
		}
		if newestByOwner(events) > seen {
			return ownerAlive, nil
		}
		if bootTime() > deadline {
			return ownerSilent, nil
		}
	}
}

// ownerProvenEnded says whether nothing of the last owner can still reach the
// table: it said so with everything answered, or its process is gone.
func ownerProvenEnded(h *history) bool {
	if h.events == 0 {
		return false
	}
	if h.ended != "" && h.ended != EventDropping && h.drained {
		return true
	}
	return h.owner.endProven()
}

// newestByOwner is the seq of the newest event that a working owner wrote.
func newestByOwner(events []Event) int64 {
	var n int64
	for _, e := range events {
		if e.Kind != EventCancelRequested {
			n = max(n, e.Seq)
		}
	}
	return n
}

func (r *run) ownedBy(what string, o *Owner) error {
	p := Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Another process is promoting this table",
		Found: fmt.Sprintf("operation %s %s", r.hist.id, what), Required: "one process at a time",
		Fix: "wait for it and apply again, or ask it to stop"}
	if o != nil {
		p.Found += fmt.Sprintf(" by %s", *o)
		if r.hist.started != nil {
			p.Found += fmt.Sprintf(" since %s", r.hist.started.At.UTC().Format(time.RFC3339))
		}
		p.Found += fmt.Sprintf("; last heartbeat %s, stage %s", r.hist.lastBeatAt.UTC().Format(time.RFC3339), r.hist.stage())
	}
	return p
}

func (r *run) notTerminal(what string) error {
	return notTerminal(r.hist, what)
}

// wayRound is what helps where the owner's host is lost.
func wayRound(h *history) string {
	if h.dropPending() {
		return ` make sure that the process is gone, and apply with takeover = "resume"`
	}
	return " let an apply go on with the promotion: it gives the table a new ID that late batches cannot reach, and what that apply leaves can be removed"
}

// notTerminal is the refusal to drop what may still be written to.
func notTerminal(h *history, what string) Problem {
	return Problem{Severity: SeverityError, Summary: "The load is not provably over",
		Found: fmt.Sprintf("operation %s, stage %s: %s has been silent since %s, and nothing proves that it has ended", h.id, h.stage(), h.owner,
			h.lastBeatAt.UTC().Format(time.RFC3339)),
		Required: "a proof of its end for " + what + ": an interrupted, failed or cancelled event in the journal with all answers received, or that process gone as seen from its own host",
		Why:      "batches that it still has under way would be written into a table that is being dropped or used",
		Fix:      fmt.Sprintf("run terraform on host %q, where the end of process %d can be seen; or%s", h.owner.Host, h.owner.PID, wayRound(h))}
}
