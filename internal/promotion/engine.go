package promotion

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
)

// Names of the engines in specs and journals.
const (
	engineNative = "native"
	engineFlink  = "flink"
)

// engine writes the source's rows into the Fluss table, which it never does
// twice at a time. Its progress is the operation's, its outcome is in the
// journal: every bucket's rows and log end offset.
type engine interface {
	// begin starts the load, or attaches to the one under way.
	begin(ctx context.Context) error
	// outcome waits until every row is written and journals the buckets. When ctx
	// ends before, what the engine cannot stop is left running, and the
	// journal says so.
	outcome(ctx context.Context) (rows, bytes int64, err error)
	// end lets go of what begin took in this process.
	end()
}

func (s Spec) engine() string {
	if s.Engine == "" {
		return engineNative
	}
	return s.Engine
}

func (r *run) newEngine() (engine, error) {
	switch r.spec.engine() {
	case engineNative:
		return &nativeEngine{r: r}, nil
	case engineFlink:
		return &flinkEngine{r: r}, nil
	}
	return nil, fmt.Errorf("promotion: unknown load engine %q; required: %q or %q", r.spec.Engine, engineNative, engineFlink)
}

// nativeEngine loads in this process: it attaches to nothing, and ends with the
// answer to every batch it sent.
type nativeEngine struct {
	r     *run
	l     *loader
	taken bool
}

func (n *nativeEngine) begin(ctx context.Context) error {
	r := n.r
	if err := r.takeSlot(ctx); err != nil {
		return err
	}
	n.taken = true
	if err := r.notEnabledYet(ctx); err != nil {
		return err
	}
	fresh := !r.hist.loadTouched()
	l, err := r.newLoader(ctx)
	if err != nil {
		return err
	}
	n.l = l
	if err := r.journaled(ctx, EventLoading, Detail{Stage: StageLoading, TotalRows: l.total()}); err != nil {
		return err
	}
	r.op.setStage(StageLoading)
	return l.startsEmpty(fresh)
}

func (n *nativeEngine) outcome(ctx context.Context) (int64, int64, error) {
	faultpoint.Reach(ctx, faultpoint.LoadBegin)
	err := n.l.run(ctx)
	faultpoint.Reach(ctx, faultpoint.LoadEnd)
	return n.l.rows.Load(), n.l.bytes.Load(), err
}

func (n *nativeEngine) end() {
	if n.taken {
		<-n.r.s.slots
	}
}

// jobPending says whether a job may still write into the table: it was, or was
// about to be, submitted, and its end is not in the journal.
func (h *history) jobPending() bool { return h.jobID != "" && h.jobEnded == "" }

// loadingEngine is the engine whose load is unfinished; "" when none is.
func (h *history) loadingEngine() string {
	switch {
	case h.loaded != nil || !h.loading:
		return ""
	case h.jobID != "":
		return engineFlink
	}
	return engineNative
}

// awaitOwner is ownerEnd that, for a load that goes on without its owner, waits
// beside an owner that is alive: what that one completes needs no attaching.
func (r *run) awaitOwner(ctx context.Context) (ownerState, error) {
	for {
		end, err := r.ownerEnd(ctx)
		if err != nil || end != ownerAlive || r.spec.engine() != engineFlink || r.hist.loadingEngine() != engineFlink || r.hist.enabled != nil {
			return end, err
		}
		if r.report != nil {
			events, err := r.j.read(ctx, r.hist.id)
			if err != nil {
				return end, err
			}
			r.report(progressOf(r.hist, events))
		}
	}
}

// decideJob applies the rules for an unfinished load by a job, once its owner
// does not work any more. The decision is nil where the general rules apply.
func (r *run) decideJob(ctx context.Context, moved error) (*decision, error) {
	h := r.hist
	if e := h.loadingEngine(); e != "" && e != r.spec.engine() && !h.over() && moved == nil && !h.jobOver() {
		return nil, Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "Another engine is loading this table",
			Found: fmt.Sprintf("operation %s, begun with engine %q", h.id, e), Required: fmt.Sprintf("the configured engine, %q", r.spec.engine()),
			Fix: fmt.Sprintf("apply with load.engine = %q, or cancel or remove the unfinished promotion first", e)}
	}
	if h.loaded != nil || h.jobID == "" {
		return nil, nil
	}
	state, why := h.jobEnded, ""
	if h.jobPending() {
		job, err := r.s.lookAtJob(ctx, h)
		switch {
		case errors.Is(err, flink.ErrJobNotFound) && !h.jobSubmitted && r.spec.engine() == engineFlink && !h.over() && moved == nil:
			// It may never have been submitted. A second submission under its ID is
			// refused by Flink where the first has arrived.
			return &decision{actionResume, "a job that may not have been submitted"}, nil
		case errors.Is(err, flink.ErrJobNotFound) && r.spec.Takeover == "resume":
			state = flink.StateFailed
		case err != nil:
			return nil, jobUnknown(h, err)
		default:
			if state = job.State; job.Cause != nil {
				why = ": " + firstLine(job.Cause.Error())
			}
		}
	}
	restart := moved != nil || h.over()
	switch {
	case !state.Terminal() && restart:
		return nil, jobRunning(h, state, "starting over")
	case restart:
		return nil, nil
	case !state.Terminal():
		return &decision{actionResume, fmt.Sprintf("Flink job %s is %s", h.jobID, state)}, nil
	case state == flink.StateFinished || state == stateNotSubmitted:
		return &decision{actionResume, fmt.Sprintf("Flink job %s has ended: %s", h.jobID, state)}, nil
	}
	return &decision{actionFence, fmt.Sprintf("Flink job %s has ended: %s%s", h.jobID, state, why)}, nil
}

// jobOver says whether the job is known to have ended without all rows.
func (h *history) jobOver() bool {
	return h.jobEnded == flink.StateFailed || h.jobEnded == flink.StateCanceled || h.jobEnded == stateNotSubmitted
}

// lookAtJob asks Flink about the operation's job.
func (s *Service) lookAtJob(ctx context.Context, h *history) (flink.Job, error) {
	jobs, err := s.flinkJobs(ctx)
	if err != nil {
		return flink.Job{}, err
	}
	defer jobs.Close()
	return jobs.Job(ctx, h.jobID)
}

// jobProvenEnded is nil when no job of the operation can write any more.
func (s *Service) jobProvenEnded(ctx context.Context, h *history, what string) error {
	if !h.jobPending() {
		return nil
	}
	job, err := s.lookAtJob(ctx, h)
	if errors.Is(err, flink.ErrJobNotFound) || err != nil {
		return jobUnknown(h, err)
	}
	if !job.State.Terminal() {
		return jobRunning(h, job.State, what)
	}
	return nil
}

func jobUnknown(h *history, err error) error {
	return Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "What became of the Flink job is not known",
		Found: fmt.Sprintf("operation %s, Flink job %s: %v", h.id, h.jobID, err), Required: "Flink's word that the job has ended, or runs",
		Why: "a job that nobody can be asked about may still be writing into the table",
		Fix: `name the Flink that the job was submitted to in the provider's flink block, with history_server_url where it has a history server; ` +
			`if that Flink is gone for good, make sure that its task managers are too, and apply with takeover = "resume": the table is then made anew and loaded again`}
}

func jobRunning(h *history, state flink.State, what string) error {
	return Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "The load is not over",
		Found: fmt.Sprintf("operation %s: Flink job %s is %s", h.id, h.jobID, state), Required: "a job that has ended, for " + what,
		Why: "it still writes into the table", Fix: "cancel the promotion, or the job in Flink, and try again"}
}

// stopJob cancels the job of an operation that has no owner any more and
// journals its end and the operation's. False: there was no job to stop.
func (s *Service) stopJob(ctx context.Context, j *journal, name TableName, h *history) (bool, error) {
	if !h.jobPending() {
		return false, nil
	}
	jobs, err := s.flinkJobs(ctx)
	if err != nil {
		return true, jobUnknown(h, err)
	}
	defer jobs.Close()
	job, err := jobs.Cancel(ctx, h.jobID)
	if err != nil {
		return true, jobUnknown(h, err)
	}
	op := hold(ctx, j, h.id, name, h.lastSeq, s.cfg.Heartbeat)
	defer op.end()
	if err := op.append(ctx, EventJobEnded, jobEnd(job)); err != nil {
		return true, err
	}
	return true, op.append(ctx, EventCancelled, Detail{Stage: StageLoading, Drained: true, Reason: "a stop was requested"})
}

// jobEnd is the journal's word on a job that has ended.
func jobEnd(job flink.Job) Detail {
	d := Detail{Stage: StageLoading, JobID: job.ID, JobState: string(job.State), Restarted: job.Restarted}
	if job.Cause != nil && job.State != flink.StateFinished {
		d.Reason = firstLine(job.Cause.Error())
	}
	return d
}
