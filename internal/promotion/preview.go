package promotion

import (
	"context"
	"errors"
	"fmt"
)

// Preview reads the source's metadata and the cluster, and says whether the
// promotion would work and what it would do. It reads no data file and writes
// nothing. An error means that it could not look; everything that speaks
// against the promotion is in the report.
func (s *Service) Preview(ctx context.Context, spec Spec) (*Report, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	j, err := openJournal(ctx, c.client, s.cfg.Journal, false)
	if err != nil {
		return nil, err
	}
	r := &run{s: s, c: c, j: j, spec: spec, path: flussPath(spec.Name)}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	rep := reportOf(spec.Name, r.src, r.jdg, c.generation)
	if r.hist == nil || r.hist.enabled == nil {
		rep.readable(r)
	}
	if err := r.checkPin(); err != nil {
		rep.add(err)
	}
	r.previewExisting(ctx, rep)
	r.previewFlink(ctx, rep)
	rep.Compatible = len(rep.Errors()) == 0
	return rep, nil
}

// reportOf is the judge's word on a source, as a report.
func reportOf(name TableName, src *source, jdg *Judgement, generation string) *Report {
	rep := &Report{Name: name, Problems: append(Problems{}, jdg.Problems...), Generation: generation, SnapshotID: snapshotID(src.snapshot),
		PinSnapshotID: snapshotID(src.snapshot), SchemaID: src.schema.ID, PrimaryKey: src.schema.PrimaryKeys, PartitionKeys: src.schema.PartitionKeys,
		Options: jdg.Options, Unvalidated: jdg.Unvalidated, SourceChanges: jdg.Changes, Statements: jdg.Statements}
	if jdg.Descriptor != nil {
		rep.Buckets = jdg.Descriptor.BucketCount
	}
	for _, p := range jdg.Partitions {
		pr := PartitionReport{Spec: p.Spec, Selected: p.Selected}
		if p.Files != nil {
			pr.Records, pr.Bytes, pr.Files = p.Files.Records, p.Files.Bytes, p.Files.Files
		}
		if p.Selected {
			rep.Records, rep.Bytes, rep.Files = rep.Records+pr.Records, rep.Bytes+pr.Bytes, rep.Files+pr.Files
		}
		rep.Partitions = append(rep.Partitions, pr)
	}
	rep.Compatible = len(rep.Errors()) == 0
	return rep
}

// readable adds what the reader cannot read, for tables whose rows are loaded.
func (rep *Report) readable(r *run) {
	if len(r.src.schema.PrimaryKeys) == 0 || r.src.plan == nil || len(rep.Errors()) > 0 {
		return
	}
	if err := r.src.table.CanRead(r.src.plan); err != nil {
		rep.Problems = append(rep.Problems, Problem{Severity: SeverityError, Attribute: []string{"table"}, Rule: "read",
			Summary: "The source's rows cannot be read by this release", Found: err.Error(),
			Fix: "rewrite the named files in a supported form (a full compaction after changing the option), or load the table by other means"})
	}
}

// add takes an error into the report: a Problem as it is, another one whole.
func (rep *Report) add(err error) {
	var one Problem
	var many Problems
	switch {
	case errors.As(err, &one):
		rep.Problems = append(rep.Problems, one)
	case errors.As(err, &many):
		rep.Problems = append(rep.Problems, many...)
	default:
		rep.Problems = append(rep.Problems, Problem{Severity: SeverityError, Summary: "Unable to look at the promotion", Found: err.Error()})
	}
}

// previewExisting says what apply would do about a Fluss table that is there.
// Unlike apply it does not watch a silent owner: whether that one still lives
// is found out when it matters.
func (r *run) previewExisting(ctx context.Context, rep *Report) {
	if r.info == nil {
		return
	}
	if err := r.recognise(); err != nil {
		rep.add(err)
		return
	}
	h := r.hist
	rep.Existing = &Existing{OperationID: h.id, Stage: h.stage()}
	warn := func(plan, summary, found string) {
		rep.Existing.Plan = plan
		rep.Problems = append(rep.Problems, Problem{Severity: SeverityWarning, Attribute: []string{"table"}, Summary: summary, Found: found})
	}
	// Once datalake is on, the tiering service moves the source on as it should;
	// commits of others are looked for when the operation is finished.
	var moved error
	if !r.datalakeOn() {
		moved = r.sourceMoved(ctx)
	}
	if pinned := h.started.Detail.Fingerprint; (h.enabled != nil || r.datalakeOn()) && pinned.FirstSchemaMilli == r.src.pin.FirstSchemaMilli {
		rep.Existing.Promoted = h.enabled != nil
		if rep.PinSnapshotID = nil; pinned.SnapshotID != 0 {
			rep.PinSnapshotID = ptr(pinned.SnapshotID)
		}
	}
	switch {
	case h.enabled != nil:
		rep.Existing.Plan = "nothing: complete"
		if !r.datalakeOn() {
			rep.Existing.Stage, rep.Existing.Plan = StageDisabled, "enable datalake again"
		}
		if r.spec.OperationID != h.id {
			rep.add(r.promotedAlready())
		}
	case moved != nil && r.spec.OnSourceChange == "restart":
		warn("drop and load again", "The unfinished promotion will be dropped and loaded again: the source has moved on", moved.Error())
	case moved != nil:
		rep.add(moved)
	case h.over():
		warn("drop and load again", fmt.Sprintf("The failed operation %s will be dropped and loaded again", h.id), h.endReason)
	case h.loadingEngine() == engineFlink:
		warn("resume", "An unfinished promotion of this table will be resumed", fmt.Sprintf(
			"operation %s, stage %s, by Flink job %s: apply attaches to it, or takes its result if it has ended; it waits beside %s while that one is alive", h.id, h.stage(), h.jobID, h.owner))
	case !ownerProvenEnded(h):
		warn("resume", "An unfinished promotion of this table exists", fmt.Sprintf(
			"operation %s, stage %s, by %s: apply refuses while it is alive, and takes it over when it has been silent", h.id, h.stage(), h.owner))
	default:
		warn("resume", "An unfinished promotion of this table will be resumed", fmt.Sprintf("operation %s, stage %s", h.id, h.stage()))
	}
}
