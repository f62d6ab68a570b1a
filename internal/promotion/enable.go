package promotion

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// enable checks once more that the source is what was loaded, switches datalake
// on, checks again that nobody else committed in between, and reads everything
// back. Only then is the promotion done.
func (r *run) enable(ctx context.Context) error {
	on := r.info.Descriptor.Properties[enabledProperty] == "true"
	if !on {
		if err := r.recheck(ctx); err != nil {
			return err
		}
		if err := r.j.there(ctx); err != nil {
			return err
		}
		if err := r.setDatalake(ctx, true); err != nil {
			return err
		}
	}
	if err := r.foreignCommit(ctx); err != nil {
		if p := isProblem(err); !p {
			return err
		}
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), windDown)
		defer done()
		if off := r.setDatalake(limit, false); off != nil {
			return errors.Join(err, fmt.Errorf("disabling datalake again: %w", off))
		}
		return err
	}
	if err := r.readBack(ctx); err != nil {
		return err
	}
	if err := r.j.there(ctx); err != nil {
		return err
	}
	if err := r.journaled(ctx, EventEnabled, Detail{SnapshotID: r.hist.registered.Detail.SnapshotID}); err != nil {
		return err
	}
	r.op.setStage(StageEnabled)
	return nil
}

// notEnabledYet makes sure that nobody has switched datalake on before the lake
// snapshot is registered: the tiering service would write the loaded rows into
// the Paimon table a second time. Datalake is then switched off again.
func (r *run) notEnabledYet(ctx context.Context) error {
	info, err := r.tableNow(ctx)
	if err != nil {
		return err
	}
	if info.Descriptor.Properties[enabledProperty] != "true" {
		return nil
	}
	if err := r.setDatalake(ctx, false); err != nil {
		return fmt.Errorf("disabling datalake, which somebody has enabled too early: %w", err)
	}
	return fatalError{Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Datalake was enabled on the Fluss table before the promotion was ready",
		Found: enabledProperty + " = true, set by somebody else", Required: "false until the promotion itself sets it",
		Why: "before the lake snapshot is registered, tiering writes the loaded rows into the Paimon table again; datalake was switched off again",
		Fix: "find out who enabled it; apply again drops the Fluss table and loads anew, with on_source_change = \"restart\" if the tiering service has committed meanwhile"}}
}

func snapshotID(s *paimon.Snapshot) *int64 {
	if s == nil {
		return nil
	}
	return ptr(s.ID)
}

// recheck reads the fingerprint and the schema content again.
func (r *run) recheck(ctx context.Context) error {
	d := r.hist.started.Detail
	base, err := r.src.table.SchemaByID(ctx, deref(d.SchemaID))
	if err != nil {
		return err
	}
	now, snap, err := readFingerprint(ctx, r.src.table)
	if err != nil {
		return err
	}
	if now != *d.Fingerprint {
		return movedOn(*d.Fingerprint, now, snap)
	}
	if err := r.src.table.Reload(ctx); err != nil {
		return err
	}
	return r.hist.sameSchema(base, r.src.table.Schema())
}

// planned is what the operation changes on the source: as foreseen at its start
// or, once prepared, as done.
func (h *history) planned() []SourceChange {
	switch {
	case h.prepared != nil:
		return h.prepared.Detail.Planned
	case h.started != nil:
		return h.started.Detail.Planned
	}
	return nil
}

// setDatalake alters table.datalake.enabled. A lost answer is looked up.
func (r *run) setDatalake(ctx context.Context, on bool) error {
	if on {
		if err := r.op.check(ctx); err != nil {
			return err
		}
	}
	return setDatalake(ctx, r.c.client, r.path, on)
}

func setDatalake(ctx context.Context, client *fluss.Client, path fluss.TablePath, on bool) error {
	before, after := faultpoint.DisableBefore, faultpoint.DisableAfter
	if on {
		before, after = faultpoint.EnableBefore, faultpoint.EnableAfter
	}
	value := fmt.Sprint(on)
	faultpoint.Reach(ctx, before)
	err := client.AlterTable(ctx, path, []fluss.ConfigChange{{Key: enabledProperty, Value: value, Op: fluss.ConfigSet}})
	faultpoint.Reach(ctx, after)
	if err != nil && !errors.Is(err, fluss.ErrUnknownOutcome) {
		var e *fluss.Error
		if on && errors.As(err, &e) && (errors.Is(err, fluss.ErrLakeTableAlreadyExist) || errors.Is(err, fluss.ErrInvalidAlterTable)) {
			return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The cluster refuses to enable datalake on the table",
				Found: e.Error(), Required: "a Paimon table that the coordinator takes for this Fluss table's",
				Why: "the coordinator keeps Paimon tables cached for 10 to 30 minutes; if it looked at this one before it was prepared, it still sees the old schema (the differences that its message lists are mostly harmless ones)",
				Fix: "wait 30 minutes without applying and apply again: the promotion goes on without loading again; datalake.paimon.cache-enabled: false in the coordinator's server.yaml avoids the cache"}
		}
		return err
	}
	info, getErr := client.GetTable(ctx, path)
	if getErr != nil {
		return errors.Join(err, getErr)
	}
	if got := info.Descriptor.Properties[enabledProperty] == "true"; got != on {
		return errors.Join(err, fmt.Errorf("promotion: %s: %s is still %t", path, enabledProperty, got))
	}
	return nil
}

// foreignCommit looks for snapshots behind the pinned one by anyone but the
// tiering service. The error names the first.
func (r *run) foreignCommit(ctx context.Context) error {
	var lost Problems
	same, err := sameHistory(ctx, r.src.table, *r.hist.started.Detail.Fingerprint, func(p Problem) { lost = append(lost, p) })
	if err != nil {
		return err
	}
	if !same {
		p := lost[0]
		p.Severity, p.Fix = SeverityError, `datalake was disabled again: stop whatever changes the Paimon table and apply again with on_source_change = "restart"`
		return p
	}
	return foreignCommits(ctx, r.src.table, *r.hist.started.Detail.Fingerprint, func(s *paimon.Snapshot) error {
		return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Another writer committed to the Paimon table while datalake was being enabled",
			Found: commitBy(s), Required: "no commit behind the pinned " + r.hist.started.Detail.Fingerprint.String(),
			Why: "its rows are in the lake and not in Fluss; datalake was disabled again and nothing of it was lost",
			Fix: `stop all writers and compaction jobs of the Paimon table and apply again with on_source_change = "restart"`}
	})
}

// foreignCommits calls found for every snapshot behind the pinned one that the
// tiering service did not make.
func foreignCommits(ctx context.Context, t *paimon.Table, pinned Fingerprint, found func(*paimon.Snapshot) error) error {
	latest, err := t.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	if latest == nil {
		if pinned.SnapshotID == 0 {
			return nil
		}
		return fmt.Errorf("promotion: %s: the table's snapshots are gone; %d was promoted", t.Name(), pinned.SnapshotID)
	}
	for id := pinned.SnapshotID + 1; id <= latest.ID; id++ {
		s, err := t.Snapshot(ctx, id)
		if errors.Is(err, paimon.ErrSnapshotNotExist) {
			continue // expired since
		}
		if err != nil {
			return err
		}
		if s.CommitUser == tieringUser {
			continue
		}
		if err := found(s); err != nil {
			return err
		}
	}
	return nil
}

// tableNow reads the Fluss table again and makes sure that it is still the one
// that this run works on.
func (r *run) tableNow(ctx context.Context) (*fluss.TableInfo, error) {
	info, err := r.c.client.GetTable(ctx, r.path)
	if err != nil {
		return nil, err
	}
	if info.TableID != r.info.TableID {
		return nil, fmt.Errorf("promotion: %s: the table ID is %d, it was %d: somebody dropped the table and made it anew", r.path, info.TableID, r.info.TableID)
	}
	return info, nil
}

// readBack compares what the cluster shows with the journal.
func (r *run) readBack(ctx context.Context) error {
	info, err := r.tableNow(ctx)
	if err != nil {
		return err
	}
	if info.Descriptor.Properties[enabledProperty] != "true" {
		return fmt.Errorf("promotion: %s: %s is %q after enabling", r.path, enabledProperty, info.Descriptor.Properties[enabledProperty])
	}
	r.info = info
	if r.hist.registered == nil || r.hist.registered.Detail.SnapshotID == nil {
		return nil
	}
	got, err := r.c.client.LakeSnapshot(ctx, r.path, false)
	if err != nil {
		return fmt.Errorf("reading the lake snapshot back: %w", err)
	}
	if want := *r.hist.registered.Detail.SnapshotID; got.SnapshotID < want {
		return fmt.Errorf("promotion: %s: the lake snapshot is %d, %d was registered", r.path, got.SnapshotID, want)
	}
	return nil
}

// complete handles an operation that the journal says is done.
func (r *run) complete(ctx context.Context) error {
	if r.spec.OperationID != r.hist.id {
		return r.promotedAlready()
	}
	removing := r.hist.ended == EventDropping
	if removing {
		end, err := r.ownerEnd(ctx)
		if err != nil {
			return err
		}
		if end == ownerAlive {
			return r.ownedBy("is being removed", &r.hist.owner)
		}
		if end != ownerEnded && r.spec.Takeover != "resume" {
			return r.notTerminal("keeping a promotion whose removal was begun")
		}
	}
	if r.info.Descriptor.Properties[enabledProperty] != "true" {
		if err := r.reenable(ctx); err != nil {
			return err
		}
	}
	r.res.Touched = true
	if removing {
		// In the journal the last word is still that the table is being dropped.
		r.op = hold(ctx, r.j, r.hist.id, r.spec.Name, r.hist.lastSeq, r.s.cfg.Heartbeat)
		defer r.op.end()
		if err := r.journaled(ctx, EventEnabled, r.hist.enabled.Detail); err != nil {
			return err
		}
	}
	r.fill()
	return nil
}

// promotedAlready is the answer to a promotion that this caller does not know of.
func (r *run) promotedAlready() error {
	p := Problem{Severity: SeverityError, Attribute: []string{"table"}, Rule: RulePromoted, Summary: "The table is promoted already",
		Found: fmt.Sprintf("operation %s, enabled %s", r.hist.id, r.hist.enabled.At.UTC().Format("2006-01-02 15:04:05Z")),
		Fix:   fmt.Sprintf("take it into state: terraform import fluss_lake_promotion.NAME %s", r.spec.Name)}
	if r.hist.ended != EventDropping {
		p.Fix += "; if another resource holds it there, remove this one"
	} else {
		p.Found += fmt.Sprintf("; its removal was begun by %s and is not finished", r.hist.owner)
		p.Fix += "; then apply to keep it, or destroy to finish the removal"
	}
	return p
}

// reenable switches datalake on again after somebody switched it off. What
// other writers committed to the lake meanwhile would be missing in Fluss.
func (r *run) reenable(ctx context.Context) error {
	refuse := func(s *paimon.Snapshot) error {
		if s.CommitKind == "COMPACT" {
			return nil
		}
		return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Datalake cannot be enabled again",
			Found: commitBy(s), Required: "no commit by anyone but the tiering service since the promotion",
			Why: "its rows are in the lake and not in Fluss",
			Fix: "destroy the promotion (the Paimon table stays) and promote the table anew"}
	}
	if err := foreignCommits(ctx, r.src.table, *r.hist.started.Detail.Fingerprint, refuse); err != nil {
		return err
	}
	if err := r.tierable(ctx); err != nil {
		return err
	}
	if err := setDatalake(ctx, r.c.client, r.path, true); err != nil {
		return err
	}
	info, err := r.c.client.GetTable(ctx, r.path)
	if err != nil {
		return err
	}
	r.info = info
	return nil
}

// tierable makes sure that the tiering service can go on where it stopped: that
// no log has lost, to table.log.ttl, records that are not in the lake.
func (r *run) tierable(ctx context.Context) error {
	lake, err := r.c.client.LakeSnapshot(ctx, r.path, false)
	if errors.Is(err, fluss.ErrNoLakeSnapshot) {
		lake, err = &fluss.LakeSnapshot{}, nil
	}
	if err != nil {
		return err
	}
	starts, err := allOffsets(ctx, r.c.client, r.info, fluss.OffsetEarliest)
	if err != nil {
		return err
	}
	for id, start := range starts {
		if tiered := lake.Offsets[id]; tiered < start {
			ttl := r.info.Descriptor.Properties["table.log.ttl"]
			if ttl == "" {
				ttl = "the cluster's default"
			}
			return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Datalake cannot be enabled again: log records are gone that were never tiered",
				Found:    fmt.Sprintf("bucket %d (partition ID %d): tiered up to offset %d, the log begins at offset %d (table.log.ttl: %s)", id.Bucket, id.PartitionID, tiered, start, ttl),
				Required: "a log that begins at or before the last tiered offset",
				Why:      "while datalake was off, the log's retention passed; what it dropped is in Fluss's key-value state and not in the lake, and the tiering service cannot restore it",
				Fix:      "copy the rows that are missing in the lake out of Fluss first; then destroy the promotion with allow_untiered_data_loss = true (the Paimon table stays) and promote the table anew"}
		}
	}
	return nil
}
