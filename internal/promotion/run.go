package promotion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

const (
	operationProperty = "promotion.operation-id"
	sourceProperty    = "promotion.source-hash"
	enabledProperty   = "table.datalake.enabled"

	// windDown bounds everything that is still done after a stop: waiting for
	// the answers in flight and the last journal entry.
	windDown = 20 * time.Second
)

// run is one call of Run.
type run struct {
	s    *Service
	c    *connection
	j    *journal
	spec Spec
	path fluss.TablePath

	src  *source
	jdg  *Judgement
	info *fluss.TableInfo // the Fluss table; nil: none
	hist *history         // of the operation that the table carries; nil: none

	op       *operation
	res      Result
	warnings Problems
	report   func(Progress)
	drained  bool // no request of the load is unanswered
}

// Run promotes the table, or goes on with a promotion that is already under
// way. The result says how far it came, also beside an error. Warnings are for
// the user. A context that is cancelled or runs out stops the work within a
// second or so and leaves the journal true; it undoes nothing.
func (s *Service) Run(ctx context.Context, spec Spec, report func(Progress)) (Result, Problems, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return Result{}, nil, err
	}
	j, err := openJournal(ctx, c.client, s.cfg.Journal, true)
	if err != nil {
		return Result{}, nil, err
	}
	r := &run{s: s, c: c, j: j, spec: spec, path: flussPath(spec.Name), report: report, drained: true}
	r.res.ClusterID = j.clusterID
	err = r.do(ctx)
	return r.res, r.warnings, err
}

func flussPath(n TableName) fluss.TablePath {
	return fluss.TablePath{Database: n.Database, Table: n.Table}
}

func (r *run) do(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	if err := r.checkPin(); err != nil {
		return err
	}
	if r.hist != nil && r.hist.enabled != nil {
		return r.complete(ctx)
	}
	if errs := r.jdg.Errors(); len(errs) > 0 {
		return errs
	}
	if err := r.take(ctx); err != nil {
		if r.op != nil && r.hist != nil && r.hist.owner.Token == r.op.owner.Token {
			// Taken, and then stopped: the journal has to tell.
			err = r.stopped(ctx, err)
			r.op.end()
			r.fill()
		}
		return err
	}
	r.res.Touched = true
	r.op.start(r.report)
	err := r.stages(r.op.ctx)
	if err != nil {
		err = r.stopped(ctx, err)
	}
	r.op.end()
	r.fill()
	return err
}

// look reads the source, the Fluss table and its operation's journal, and
// judges the source.
func (r *run) look(ctx context.Context) error {
	info, hist, err := findOperation(ctx, r.c, r.j, r.path)
	if err != nil {
		return err
	}
	r.info, r.hist = info, hist
	if r.src, err = r.s.openSource(ctx, r.c, r.spec.Name); err != nil {
		return err
	}
	in := judgeInput(r.c, r.spec, r.src, r.hist)
	if r.info == nil { // afterwards a server that is down for a while is no reason to refuse
		_, tablets, err := r.c.client.Servers(ctx)
		if err != nil {
			return fmt.Errorf("promotion: tablet servers of the cluster: %w", err)
		}
		in.TabletServers, in.Replication = len(tablets), intOr(r.c.defaults["default.replication.factor"], 0)
	}
	if r.jdg, err = Judge(ctx, in); err != nil {
		return err
	}
	return nil
}

func judgeInput(c *connection, spec Spec, src *source, hist *history) JudgeInput {
	in := JudgeInput{
		Name: spec.Name, Schema: src.schema, Snapshot: src.snapshot, Plan: src.plan, Table: src.table,
		Generation: c.generation, Layout: spec.LakeLayout, Selection: spec.Partitions, TableProperties: spec.TableProperties,
		PrepareAllowed: spec.PrepareSource, DenyUnvalidated: spec.DenyUnvalidated, Acknowledged: spec.Acknowledged,
		MaxPartitions: c.maxParts, MaxBuckets: c.maxBuckets, FileDir: src.table.FileDir,
	}
	if hist != nil {
		in.OperationID = hist.id
	}
	return in
}

// findOperation looks a Fluss table up and, if it carries an operation, reads
// that operation's journal.
func findOperation(ctx context.Context, c *connection, j *journal, path fluss.TablePath) (*fluss.TableInfo, *history, error) {
	info, err := wholeTable(ctx, c.client, path)
	if isNotExist(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("promotion: table %s: %w", path, err)
	}
	id := info.Descriptor.CustomProperties[operationProperty]
	if id == "" {
		return info, nil, nil
	}
	if j == nil {
		return info, &history{id: id, buckets: map[string]LoadedBucket{}}, nil
	}
	events, err := j.read(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	hist := fold(id, events)
	if hist.events > 0 && (hist.started == nil || hist.started.Detail.Fingerprint == nil) {
		return nil, nil, fmt.Errorf("promotion: journal %s: operation %s has %d events and no whole %q event among them; was the journal changed by hand?",
			j.path, id, hist.events, EventStarted)
	}
	return info, hist, nil
}

// datalakeOn says whether the Fluss table is enabled, journaled or not.
func (r *run) datalakeOn() bool {
	return r.info != nil && r.info.Descriptor.Properties[enabledProperty] == "true"
}

func (r *run) checkPin() error {
	pin := r.spec.SourceSnapshotID
	if pin == nil {
		return nil
	}
	found := "no snapshot"
	if r.src.snapshot != nil {
		if r.src.snapshot.ID == *pin {
			return nil
		}
		found = commitBy(r.src.snapshot)
	}
	if r.hist != nil && (r.hist.enabled != nil || r.datalakeOn()) {
		return nil // the lake has gone on since, as it should
	}
	return Problem{Severity: SeverityError, Attribute: []string{"source_snapshot_id"}, Summary: "The source is at another snapshot than the pinned one",
		Found: found, Required: fmt.Sprintf("snapshot %d", *pin),
		Fix: "plan again and review; then pin the snapshot that the plan shows, or leave source_snapshot_id out"}
}

// take makes this process the owner of an operation at the point where the
// stages can go on: a new one, or the one that is there.
func (r *run) take(ctx context.Context) error {
	d, err := r.decide(ctx)
	if err != nil {
		return err
	}
	if d.action == actionStart || d.action == actionRestart {
		if err := r.engineReady(ctx); err != nil {
			return err
		}
	}
	switch d.action {
	case actionStart:
		return r.startNew(ctx)
	case actionResume:
		return r.claim(ctx, false, d.reason)
	case actionFence:
		if err := r.claim(ctx, true, d.reason); err != nil {
			return err
		}
		r.op.start(r.report)
		return r.dropFenced(r.op.ctx)
	case actionRestart:
		if err := r.dropOld(ctx, d.reason); err != nil {
			return err
		}
		if err := r.look(ctx); err != nil {
			return err
		}
		// The source may have changed between the two looks.
		if err := r.checkPin(); err != nil {
			return err
		}
		if errs := r.jdg.Errors(); len(errs) > 0 {
			return errs
		}
		return r.startNew(ctx)
	}
	return fmt.Errorf("promotion: unknown decision %d", d.action)
}

func (r *run) startNew(ctx context.Context) error {
	id, err := newOperationID()
	if err != nil {
		return err
	}
	r.info = nil
	r.op = hold(ctx, r.j, id, r.spec.Name, 0, r.s.cfg.Heartbeat)
	d := Detail{Fingerprint: &r.src.pin, Selection: sortedSelection(r.spec.Partitions), Engine: r.spec.engine(), Generation: r.c.generation,
		SchemaID: ptr(r.src.schema.ID), Planned: r.jdg.Changes, Unvalidated: r.jdg.Unvalidated,
		PrepareSource: r.spec.PrepareSource, TableProperties: r.spec.TableProperties, LakeLayout: r.spec.LakeLayout}
	started, err := r.op.appendEvent(ctx, EventStarted, d)
	if err != nil {
		return err
	}
	r.hist = fold(id, []Event{started})
	r.res.OperationID = id
	return nil
}

// claim takes an existing operation over. Of two processes that try, the
// journal lets one win.
func (r *run) claim(ctx context.Context, fenced bool, reason string) error {
	r.op = hold(ctx, r.j, r.hist.id, r.spec.Name, r.hist.lastSeq, r.s.cfg.Heartbeat)
	e, err := r.op.appendEvent(ctx, EventTakenOver, Detail{Fenced: fenced, Reason: reason})
	if err != nil {
		if errors.Is(err, errSuperseded) {
			return r.ownedBy("has just been taken over by another process", nil)
		}
		return err
	}
	r.res.Touched = true
	r.hist.add(e)
	r.res.OperationID = r.hist.id
	return nil
}

// stages does what is left to do, in order.
func (r *run) stages(ctx context.Context) error {
	for _, st := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"create", r.create}, {"prepare", r.prepare}, {"load", r.load}, {"register", r.register},
		{"verify", r.verify}, {"enable", r.enable},
	} {
		if err := st.do(ctx); err != nil {
			if errors.Is(err, paimon.ErrFileMissing) {
				_, err = missingFile(ctx, r.src.table, *r.hist.started.Detail.Fingerprint, err)
			}
			var p Problem
			var ps Problems
			if errors.As(err, &p) || errors.As(err, &ps) {
				return err
			}
			return fmt.Errorf("promotion: %s: %s: %w", r.spec.Name, st.name, err)
		}
	}
	return nil
}

// fatalError is a failure that going on cannot mend: the operation is failed,
// and a later apply drops the Fluss table and starts anew.
type fatalError struct{ Problem }

func (e fatalError) Unwrap() error { return e.Problem }

// stopped writes the operation's last word for this run, on a context of its
// own, and makes the error for the user.
func (r *run) stopped(ctx context.Context, cause error) error {
	why := context.Cause(r.op.ctx)
	superseded := Problem{Severity: SeverityError, Summary: "Another process has taken this promotion over",
		Found: errSuperseded.Error(), Fix: "let the other one finish; nothing more was written by this one"}
	if errors.Is(why, errSuperseded) || errors.Is(cause, errSuperseded) {
		return superseded
	}
	limit, done := context.WithTimeout(context.WithoutCancel(ctx), windDown)
	defer done()
	p := r.op.snapshot()
	d := Detail{Stage: p.Stage, Rows: p.Rows, Bytes: p.Bytes, Drained: r.drained && !errors.Is(cause, fluss.ErrUnknownOutcome), Reason: firstLine(cause.Error())}
	kind := EventInterrupted
	var fatal fatalError
	switch {
	case errors.As(cause, &fatal):
		kind = EventFailed
	case errors.Is(why, errCancelRequested):
		kind = EventCancelled
		d.Reason = "a stop was requested"
		cause = Problem{Severity: SeverityError, Summary: "The promotion was cancelled on request",
			Found: "a cancel-requested event in the journal", Fix: "apply again to drop what was loaded and start anew"}
	case errors.Is(why, errLeaseLost):
		cause = fmt.Errorf("%w (%w)", errLeaseLost, cause)
	}
	if e, err := r.op.appendEvent(limit, kind, d); errors.Is(err, errSuperseded) {
		return superseded
	} else if err != nil {
		r.warnings = append(r.warnings, Problem{Severity: SeverityWarning, Summary: "The journal's last entry could not be written",
			Found: firstLine(err.Error()), Why: "the next apply cannot read from the journal how this run ended and finds it out from the process and the cluster"})
	} else {
		r.hist.add(e)
	}
	return cause
}

func firstLine(s string) string {
	for i, c := range s {
		if c == '\n' {
			return s[:i]
		}
	}
	return s
}

// journaled appends an event of the running operation and adds it to the
// history this run works with.
func (r *run) journaled(ctx context.Context, kind EventKind, d Detail) error {
	e, err := r.op.appendEvent(ctx, kind, d)
	if err != nil {
		return err
	}
	r.hist.add(e)
	return nil
}

// fill brings the result up to what is known now.
func (r *run) fill() {
	touched := r.res.Touched
	r.res = resultOf(r.j.clusterID, r.hist, r.info)
	r.res.Touched = touched
}
