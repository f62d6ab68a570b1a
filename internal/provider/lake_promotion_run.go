package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// timeLimit is one of the resource's time limits.
type timeLimit struct {
	option   string // "create", "update", "delete"
	duration time.Duration
}

func (l timeLimit) text() string {
	return fmt.Sprintf("The time limit of %s was reached. What to do: raise timeouts.%s, as in timeouts = { %s = \"24h\" }, and apply again.",
		l.duration, l.option, l.option)
}

// run is what Create and Update have in common: it promotes, or goes on, and
// makes of the outcome what Terraform must be told. prior is nil in Create. The
// state to write is nil if there is none (Create) or it stays (Update).
func (r *lakePromotionResource) run(ctx context.Context, plan, prior *promotionModel, limit timeLimit) (*promotionModel, diag.Diagnostics) {
	var diags diag.Diagnostics
	name := plan.name()
	if !r.data.ready() {
		diags.AddError(summaryOf(prior), r.data.unconfigured())
		return nil, diags
	}
	if !r.data.running.start(name) {
		diags.AddError(summaryOf(prior), busyText(name))
		return nil, diags
	}
	defer r.data.running.stop(name)

	ctx = r.data.secrets.context(ctx)
	runCtx, cancel := context.WithTimeout(ctx, limit.duration)
	defer cancel()
	var o outcome
	o.err = guard(ctx, func() (err error) {
		o.result, o.warnings, err = r.data.promoter.Run(runCtx, specFor(plan, prior), progressLog(ctx, name))
		return err
	})
	o.interrupted = ctx.Err() != nil
	o.timedOut = !o.interrupted && errors.Is(runCtx.Err(), context.DeadlineExceeded)
	diags.Append(warningDiagnostics(o.warnings, name, promotionAttributes, r.data.secrets)...)
	state, more := o.conclude(plan, prior, limit, r.data.secrets)
	diags.Append(more...)
	return state, diags
}

// outcome is how a run ended.
type outcome struct {
	result      promotion.Result
	warnings    promotion.Problems
	err         error
	interrupted bool // the user, or the end of Terraform, cancelled it
	timedOut    bool // its own time limit ended it
}

// conclude makes of an outcome the state and diagnostics that have the right
// effect in Terraform:
//
//   - done: the state, no diagnostic.
//   - interrupted after something was changed: the state as reached and a
//     warning. Terraform itself exits with an error and runs no dependents; the
//     next plan updates in place. An error would taint the resource, and the
//     next plan would destroy it.
//   - anything else in Create: an error and no state. A warning would let
//     dependents use a table that is still being loaded; an error with a state
//     would taint. The next Create finds the operation in the cluster.
//   - anything else in Update: an error and the true stage; updates never taint.
func (o outcome) conclude(plan, prior *promotionModel, limit timeLimit, s secrets) (*promotionModel, diag.Diagnostics) {
	var diags diag.Diagnostics
	err := o.err
	if err == nil {
		if err = o.contradiction(plan); err == nil {
			return stateAfter(plan, prior, o.result), nil
		}
	} else if o.interrupted && o.result.Touched && o.result.Stage != promotion.StageFailed {
		diags.AddWarning(named("Lake promotion interrupted", plan.name()), s.clean(joinParagraphs(
			fmt.Sprintf("It was interrupted at stage %s. What was reached is saved; the next terraform apply goes on from there.",
				stageText(o.result.Stage)),
			sentence(err.Error()))))
		return stateAfter(plan, prior, o.result), diags
	}

	summary := summaryOf(prior)
	tail := o.howToGoOn(plan.name(), prior)
	if o.timedOut {
		summary = "Lake promotion did not finish in time"
		tail = joinParagraphs(limit.text(), tail)
	}
	diags.Append(errorDiagnostics(summary, err, promotionAttributes, s, tail)...)
	if prior == nil || o.result.OperationID == "" && o.result.Stage == "" {
		return nil, diags
	}
	// The arguments stay as they were last applied; only the truth is updated.
	after := *prior
	after.setResult(o.result)
	return &after, diags
}

// stateAfter is the planned arguments with the results reached.
func stateAfter(plan, prior *promotionModel, res promotion.Result) *promotionModel {
	state := *plan
	pinned := !plan.SourceSnapshotID.IsNull() && !plan.SourceSnapshotID.IsUnknown()
	state.setResultsFrom(prior)
	state.setResult(res)
	if pinned {
		// Known in the plan, so it must come back, also where the run ended
		// before it had looked at the source.
		state.SourceSnapshotID = plan.SourceSnapshotID
	}
	return &state
}

// contradiction is an error for a success that is none. Saved as a success it
// would start dependents, or Terraform would find an inconsistent result and
// taint a promotion that is whole.
func (o outcome) contradiction(plan *promotionModel) error {
	if o.result.Stage != promotion.StageEnabled {
		return fmt.Errorf("internal error: the promotion ended without an error at stage %s", stageText(o.result.Stage))
	}
	if o.result.OperationID == "" {
		return errors.New("internal error: the promotion ended without an operation ID")
	}
	if pin := plan.spec().SourceSnapshotID; pin != nil && (o.result.SourceSnapshotID == nil || *o.result.SourceSnapshotID != *pin) {
		return fmt.Errorf("internal error: snapshot %d was asked for and another was promoted", *pin)
	}
	return nil
}

// howToGoOn is the last paragraph of an error: what is left in the cluster and
// how to reach it.
func (o outcome) howToGoOn(name promotion.TableName, prior *promotionModel) string {
	if prior != nil {
		return "The next terraform apply goes on from where it stands."
	}
	if !o.result.Touched && o.result.OperationID == "" {
		var panicked *safego.PanicError
		if !errors.As(o.err, &panicked) {
			return "Neither the Paimon table nor a Fluss table was changed."
		}
	}
	where := "An operation may have begun"
	if o.result.OperationID != "" {
		where = fmt.Sprintf("Operation %s stands at stage %s", o.result.OperationID, stageText(o.result.Stage))
	}
	return fmt.Sprintf("%s. It is not in Terraform's state; the next terraform apply finds it in the cluster and goes on. "+
		"To have it in the state without that, for example to destroy it, with NAME as in the configuration:\n\n    terraform import fluss_lake_promotion.NAME %s", where, name)
}

func summaryOf(prior *promotionModel) string {
	if prior == nil {
		return "Unable to create lake promotion"
	}
	return "Unable to continue lake promotion"
}

func stageText(s promotion.Stage) string {
	if s == "" {
		return "unknown"
	}
	return string(s)
}

func busyText(name promotion.TableName) string {
	return fmt.Sprintf("Another resource of this configuration is working on %s at this moment. "+
		"Required: one resource for a table.", name)
}

// progressInterval is the shortest time between two progress lines.
const progressInterval = 15 * time.Second

// progressLog writes progress to the log, at most one line each interval. It
// may be called from several goroutines.
func progressLog(ctx context.Context, name promotion.TableName) func(promotion.Progress) {
	var mu sync.Mutex
	var last time.Time
	return func(p promotion.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); last.IsZero() || now.Sub(last) >= progressInterval {
			last = now
		} else {
			return
		}
		fields := map[string]any{
			"table":     name.String(),
			"operation": p.OperationID,
			"stage":     string(p.Stage),
			"rows":      p.Rows,
			"bytes":     p.Bytes,
		}
		if p.TotalRows > 0 {
			fields["total_rows"] = p.TotalRows
		}
		if p.RowsPerSec > 0 {
			fields["rows_per_second"] = int64(p.RowsPerSec)
		}
		if p.Remaining > 0 {
			fields["remaining"] = p.Remaining.Round(time.Second).String()
		}
		if p.Note != "" {
			fields["note"] = p.Note
		}
		tflog.Info(ctx, "lake promotion progress", fields)
	}
}
