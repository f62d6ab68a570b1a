package promotion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

// tieredTwice is how far apart the two looks at the tiered offsets are.
const tieredTwice = 2 * time.Second

// dropOld drops the Fluss table of an operation whose load is over, so that the
// promotion can start anew.
func (r *run) dropOld(ctx context.Context, reason string) error {
	d := &dropper{s: r.s, c: r.c, j: r.j, path: r.path, info: r.info, hist: r.hist, name: r.spec.Name}
	r.res.Touched = true
	if err := d.dropping(ctx, reason); err != nil {
		return err
	}
	return r.sourceUntouched(ctx)
}

// dropFenced drops the table of an operation that was just taken over: with the
// table ID gone, nothing that its former owner still sends can be stored.
func (r *run) dropFenced(ctx context.Context) error {
	if r.info.Descriptor.Properties[enabledProperty] == "true" {
		return fmt.Errorf("promotion: %s is enabled: it is not dropped", r.path)
	}
	d := &dropper{s: r.s, c: r.c, j: r.j, path: r.path, info: r.info, hist: r.hist, name: r.spec.Name, op: r.op}
	if err := d.dropTable(ctx); err != nil {
		return err
	}
	r.info = nil
	return r.sourceUntouched(ctx)
}

// sourceUntouched reads the Paimon table back after a drop.
func (r *run) sourceUntouched(ctx context.Context) error {
	now, snap, err := readFingerprint(ctx, r.src.table)
	if err != nil {
		return err
	}
	if now != r.src.pin {
		return movedOn(r.src.pin, now, snap)
	}
	return nil
}

// dropper drops a promotion's Fluss table by the rules: load over, the table
// still the operation's, dropping announced in the journal first.
type dropper struct {
	s    *Service
	c    *connection
	j    *journal
	path fluss.TablePath
	info *fluss.TableInfo
	hist *history
	name TableName
	op   *operation
}

// announce appends "dropping" behind the newest event. Losing the place to
// another process means that the operation is not over.
func (d *dropper) announce(ctx context.Context, reason string) error {
	d.op = hold(ctx, d.j, d.hist.id, d.name, d.hist.lastSeq, d.s.cfg.Heartbeat)
	err := d.op.append(ctx, EventDropping, Detail{Reason: reason})
	if errors.Is(err, errSuperseded) {
		return Problem{Severity: SeverityError, Summary: "The promotion is being worked on by another process",
			Found: fmt.Sprintf("a new event in the journal of operation %s", d.hist.id), Fix: "wait for it to end and apply again"}
	}
	return err
}

// dropping announces the drop, does the steps before it and the drop itself,
// and journals how that ended: an operation that is being dropped is not gone on
// with before the dropper's end is known.
func (d *dropper) dropping(ctx context.Context, reason string, before ...func(context.Context) error) error {
	if err := d.announce(ctx, reason); err != nil {
		return err
	}
	d.op.start(nil)
	defer d.op.end()
	var err error
	for _, step := range append(before, d.dropTable) {
		if err = step(d.op.ctx); err != nil {
			break
		}
	}
	limit, done := context.WithTimeout(context.WithoutCancel(ctx), windDown)
	defer done()
	if err == nil {
		return d.op.append(limit, EventDropped, Detail{Drained: true})
	}
	kind := EventFailed
	if d.hist.enabled != nil {
		kind = EventInterrupted // still promoted
	}
	// A DROP whose outcome is open may still be carried out.
	last := Detail{Reason: "dropping: " + firstLine(err.Error()), Drained: !errors.Is(err, fluss.ErrUnknownOutcome)}
	if jerr := d.op.append(limit, kind, last); jerr != nil {
		return errors.Join(err, jerr)
	}
	return err
}

// dropTable drops the table if it still carries the operation and the table ID.
// A lost answer is looked up.
func (d *dropper) dropTable(ctx context.Context) error {
	info, err := wholeTable(ctx, d.c.client, d.path)
	if isNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.TableID != d.info.TableID || info.Descriptor.CustomProperties[operationProperty] != d.hist.id {
		return fmt.Errorf("promotion: %s is no longer the table of operation %s: it is not dropped", d.path, d.hist.id)
	}
	if err := d.op.check(ctx); err != nil {
		return err
	}
	faultpoint.Reach(ctx, faultpoint.DropBefore)
	err = d.c.client.DropTable(ctx, d.path, true)
	faultpoint.Reach(ctx, faultpoint.DropAfter)
	if err != nil && !errors.Is(err, fluss.ErrUnknownOutcome) {
		return err
	}
	gone := awaitGone(ctx, d.info.TableID, func() (*fluss.TableInfo, error) { return d.c.client.GetTable(ctx, d.path) })
	if gone != nil {
		return errors.Join(err, fmt.Errorf("promotion: dropping %s: %w", d.path, gone))
	}
	return nil
}

// dropWait is how long a table may still be shown after a DROP, which is
// carried out behind its answer.
const dropWait = 10 * time.Second

// awaitGone waits until a table that was dropped is not shown any more. As long
// as it is, the DROP may still be carried out: the error matches
// fluss.ErrUnknownOutcome, whatever ended the wait.
func awaitGone(ctx context.Context, tableID int64, get func() (*fluss.TableInfo, error)) error {
	deadline := time.Now().Add(dropWait)
	for {
		now, err := get()
		if isNotExist(err) || err == nil && now.TableID != tableID {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%w: the table is still there", fluss.ErrUnknownOutcome), err)
		}
		if stopped := wait.For(ctx, 200*time.Millisecond); stopped != nil {
			return errors.Join(fmt.Errorf("%w: %w", fluss.ErrUnknownOutcome, stopped), err)
		}
	}
}

// removal is what Remove and CheckRemove found.
type removal struct {
	d       *dropper
	nothing bool // gone, or another operation's
	enabled bool
}

// CheckRemove says whether Remove would refuse now. It changes nothing.
func (s *Service) CheckRemove(ctx context.Context, ref Ref, opt RemoveOptions) error {
	rm, err := s.findRemoval(ctx, ref)
	if err != nil || rm.nothing {
		return err
	}
	return rm.allowed(ctx, opt, false)
}

// Remove drops the promotion's Fluss table; the Paimon table stays as it is. It
// decides from the cluster, refuses unless the load is provably over, and
// succeeds when there is nothing to remove.
func (s *Service) Remove(ctx context.Context, ref Ref, opt RemoveOptions) error {
	rm, err := s.findRemoval(ctx, ref)
	if err != nil || rm.nothing {
		return err
	}
	if err := rm.allowed(ctx, opt, true); err != nil {
		return err
	}
	table, before, err := rm.lakeTable(ctx)
	if err != nil {
		// It can't be compared. It may have become unreadable just now.
		if err := rm.withoutLake(ctx, opt, err); err != nil {
			return err
		}
		return rm.drop(ctx, opt, false)
	}
	if err := rm.drop(ctx, opt, true); err != nil {
		return err
	}
	after, snap, err := readFingerprint(ctx, table)
	if err != nil {
		return err
	}
	if before != after {
		return Problem{Severity: SeverityError, Summary: "The Paimon table has changed while the Fluss table was removed",
			Found: "the newest is " + newestText(snap), Required: "still " + before.String(),
			Fix: "the Fluss table is gone and the Paimon table readable; look at who committed"}
	}
	return nil
}

// drop switches datalake off, where it is on, and drops the Fluss table. With a
// lake that can't be read there is nothing to check between the two, and the
// coordinator itself may fail to switch it off.
func (rm *removal) drop(ctx context.Context, opt RemoveOptions, readable bool) error {
	if !rm.enabled || !readable {
		return rm.d.dropping(ctx, "removed")
	}
	return rm.d.dropping(ctx, "removed", func(ctx context.Context) error { return rm.disable(ctx, opt) })
}

func (s *Service) findRemoval(ctx context.Context, ref Ref) (*removal, error) {
	c, j, err := s.sameCluster(ctx, ref)
	if err != nil {
		return nil, err
	}
	info, hist, err := findOperation(ctx, c, j, flussPath(ref.Name))
	if err != nil {
		return nil, err
	}
	switch {
	case info == nil:
		return &removal{nothing: true}, nil
	case hist == nil && ref.OperationID == "":
		return nil, Problem{Severity: SeverityError, Summary: "The Fluss table was not made by a promotion", Found: info.Path.String(),
			Fix: "take it out of state with a removed block; it is not dropped"}
	case hist == nil, ref.OperationID != "" && hist.id != ref.OperationID:
		return &removal{nothing: true}, nil
	case ref.TableID != 0 && info.TableID != ref.TableID && (ref.OperationID == "" || hist.enabled != nil):
		// An unfinished operation gets another table ID when it is fenced: then
		// it is still the one to remove.
		return &removal{nothing: true}, nil
	}
	d := &dropper{s: s, c: c, j: j, path: flussPath(ref.Name), info: info, hist: hist, name: ref.Name}
	return &removal{d: d, enabled: info.Descriptor.Properties[enabledProperty] == "true" || hist.enabled != nil}, nil
}

// sameCluster connects and makes sure that this is the cluster of the state: a
// wrong address must not be taken for "the table is gone".
func (s *Service) sameCluster(ctx context.Context, ref Ref) (*connection, *journal, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	j, err := openJournal(ctx, c.client, s.cfg.Journal, false)
	if err != nil {
		return nil, nil, err
	}
	if ref.ClusterID == "" {
		return c, j, nil
	}
	found := "no journal " + s.cfg.Journal.String()
	if j != nil {
		if j.clusterID == ref.ClusterID {
			return c, j, nil
		}
		found = "cluster ID " + j.clusterID
	}
	return nil, nil, Problem{Severity: SeverityError, Summary: "This is not the cluster that the promotion was made on",
		Found: found, Required: "cluster ID " + ref.ClusterID + ", as in state",
		Fix: "correct bootstrap_servers (or the journal block); if the cluster or its journal is gone for good, take the resource out of state with a removed block"}
}

// allowed checks everything that can forbid the removal.
func (rm *removal) allowed(ctx context.Context, opt RemoveOptions, twice bool) error {
	h := rm.d.hist
	if h.started == nil {
		return journalMissing(rm.d.path, h.id, rm.d.s.cfg.Journal)
	}
	if (!rm.enabled || h.ended == EventDropping) && !ownerProvenEnded(h) {
		return notTerminal(h, "removing the table")
	}
	if err := rm.d.s.jobProvenEnded(ctx, h, "removing the table"); err != nil {
		return err
	}
	if !rm.enabled {
		return nil
	}
	if opt.DeletionProtection {
		return Problem{Severity: SeverityError, Attribute: []string{"deletion_protection"}, Summary: "The promotion is protected against deletion",
			Found: "deletion_protection = true in state", Required: "deletion_protection = false, applied",
			Why: "destroying drops the Fluss table; what was written through Fluss and is not tiered yet would be lost",
			Fix: "stop writers, set deletion_protection = false, apply, then destroy; or take the resource out of state with a removed block"}
	}
	if opt.AllowUntieredDataLoss {
		return nil
	}
	if _, _, err := rm.lakeTable(ctx); err != nil {
		return rm.withoutLake(ctx, opt, err)
	}
	if err := rm.tiered(ctx); err != nil {
		return err
	}
	if !twice {
		return nil
	}
	if err := wait.For(ctx, tieredTwice); err != nil {
		return err
	}
	return rm.tiered(ctx)
}

// lakeTable opens the Paimon table and looks at its newest snapshot.
func (rm *removal) lakeTable(ctx context.Context) (*paimon.Table, Fingerprint, error) {
	table, err := rm.d.c.catalog.Table(ctx, rm.d.name.Database, rm.d.name.Table)
	if err != nil {
		return nil, Fingerprint{}, err
	}
	now, _, err := readFingerprint(ctx, table)
	return table, now, err
}

// withoutLake says whether the Fluss table may be dropped although its Paimon
// table can't be read.
func (rm *removal) withoutLake(ctx context.Context, opt RemoveOptions, unreadable error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !rm.enabled || opt.AllowUntieredDataLoss {
		return nil
	}
	return Problem{Severity: SeverityError, Attribute: []string{"allow_untiered_data_loss"},
		Summary: "The Paimon table of this promotion cannot be read", Found: unreadable.Error(),
		Required: "a Paimon table that holds the rows once the Fluss table is dropped", Why: "what Fluss still holds may be the last copy",
		Fix: "restore the Paimon table and destroy again; or apply allow_untiered_data_loss = true first"}
}

// tiered checks that the lake holds every row up to the end of every log.
func (rm *removal) tiered(ctx context.Context) error {
	ends, err := rm.endOffsets(ctx)
	if err != nil {
		return err
	}
	lake, err := rm.d.c.client.LakeSnapshot(ctx, rm.d.path, false)
	if errors.Is(err, fluss.ErrNoLakeSnapshot) {
		lake, err = &fluss.LakeSnapshot{}, nil
	}
	if err != nil {
		return err
	}
	for id, end := range ends {
		if have := lake.Offsets[id]; have < end {
			return Problem{Severity: SeverityError, Attribute: []string{"allow_untiered_data_loss"}, Summary: "Rows of the Fluss table are not in the lake yet",
				Found:    fmt.Sprintf("bucket %d (partition ID %d): tiered up to offset %d, log end offset %d", id.Bucket, id.PartitionID, have, end),
				Required: "every row tiered", Why: "dropping the Fluss table would lose them",
				Fix: "stop writers, let the tiering service catch up, and destroy again; or apply allow_untiered_data_loss = true first"}
		}
	}
	return nil
}

func (rm *removal) endOffsets(ctx context.Context) (map[fluss.BucketID]int64, error) {
	return allEndOffsets(ctx, rm.d.c.client, rm.d.info)
}

// allEndOffsets lists the log end offset of every bucket of every partition.
func allEndOffsets(ctx context.Context, client *fluss.Client, info *fluss.TableInfo) (map[fluss.BucketID]int64, error) {
	return allOffsets(ctx, client, info, fluss.OffsetLatest)
}

func allOffsets(ctx context.Context, client *fluss.Client, info *fluss.TableInfo, which fluss.OffsetType) (map[fluss.BucketID]int64, error) {
	buckets := make([]int32, info.Descriptor.BucketCount)
	for i := range buckets {
		buckets[i] = int32(i)
	}
	out := map[fluss.BucketID]int64{}
	one := func(part *int64, id int64) error {
		got, err := client.ListOffsets(ctx, info, part, buckets, which)
		for b, off := range got {
			out[fluss.BucketID{PartitionID: id, Bucket: b}] = off
		}
		return err
	}
	if !info.IsPartitioned() {
		return out, one(nil, -1)
	}
	parts, err := client.ListPartitions(ctx, info.Path)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := one(&p.ID, p.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// disable switches datalake off and looks at the offsets once more: rows that
// came in between enable it again.
func (rm *removal) disable(ctx context.Context, opt RemoveOptions) error {
	if rm.d.info.Descriptor.Properties[enabledProperty] != "true" {
		return nil
	}
	if err := setDatalake(ctx, rm.d.c.client, rm.d.path, false); err != nil {
		return err
	}
	if opt.AllowUntieredDataLoss {
		return nil
	}
	if err := rm.tiered(ctx); err != nil {
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), windDown)
		defer done()
		if on := setDatalake(limit, rm.d.c.client, rm.d.path, true); on != nil {
			return errors.Join(err, fmt.Errorf("enabling datalake again: %w", on))
		}
		return err
	}
	return nil
}
