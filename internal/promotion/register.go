package promotion

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// register commits the pinned Paimon snapshot as the Fluss table's lake
// snapshot, with the journaled end offset of every bucket of every initialized
// partition: everything below those offsets is in the lake.
func (r *run) register(ctx context.Context) error {
	if r.hist.registered != nil {
		r.op.setStage(StageRegistered)
		return nil
	}
	if r.src.snapshot == nil {
		if err := r.journaled(ctx, EventRegistered, Detail{}); err != nil {
			return err
		}
		r.op.setStage(StageRegistered)
		return nil
	}
	if err := r.notEnabledYet(ctx); err != nil {
		return err
	}
	tasks, err := r.tasks(ctx)
	if err != nil {
		return err
	}
	want := r.journaledOffsets(tasks)
	if err := r.offsetsAre(ctx, tasks, want); err != nil {
		return err
	}
	if err := r.commitLakeSnapshot(ctx, want); err != nil {
		return err
	}
	if err := r.offsetsAre(ctx, tasks, want); err != nil {
		return err
	}
	if err := r.readBackLake(ctx, want); err != nil {
		return err
	}
	if err := r.journaled(ctx, EventRegistered, Detail{SnapshotID: &r.src.snapshot.ID}); err != nil {
		return err
	}
	r.op.setStage(StageRegistered)
	return nil
}

// journaledOffsets is what the load left: the journaled end offset of a loaded
// bucket, 0 where there was nothing to load.
func (r *run) journaledOffsets(tasks []bucketTask) map[fluss.BucketID]int64 {
	out := make(map[fluss.BucketID]int64, len(tasks))
	for _, t := range tasks {
		out[t.id] = r.hist.buckets[t.key()].EndOffset
	}
	return out
}

// offsetsAre compares the cluster's log end offsets with the journaled ones.
func (r *run) offsetsAre(ctx context.Context, tasks []bucketTask, want map[fluss.BucketID]int64) error {
	got, err := r.endOffsets(ctx, tasks)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if got[t.key()] != want[t.id] {
			return foreignWriter(t.key(), got[t.key()], fmt.Sprintf("the journaled offset %d", want[t.id]))
		}
	}
	return nil
}

// commitLakeSnapshot does a fresh PREPARE for its COMMIT. A COMMIT of unknown
// outcome is looked up and, if it did not take effect, made again with a PREPARE
// of its own: a repeated COMMIT of one file would delete that file.
func (r *run) commitLakeSnapshot(ctx context.Context, offsets map[fluss.BucketID]int64) error {
	for attempt := 0; ; attempt++ {
		if err := r.op.check(ctx); err != nil {
			return err
		}
		faultpoint.Reach(ctx, faultpoint.RegisterPrepareBefore)
		path, err := r.c.client.PrepareLakeSnapshot(ctx, r.path, r.info.TableID, offsets, true)
		faultpoint.Reach(ctx, faultpoint.RegisterPrepareAfter)
		if err != nil {
			return err
		}
		if err := r.op.check(ctx); err != nil {
			return err
		}
		faultpoint.Reach(ctx, faultpoint.RegisterCommitBefore)
		err = r.c.client.CommitLakeSnapshot(ctx, fluss.LakeCommit{TableID: r.info.TableID, SnapshotID: r.src.snapshot.ID,
			TieredPath: path, ReadablePath: path, EarliestToKeep: -1})
		faultpoint.Reach(ctx, faultpoint.RegisterCommitAfter)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fluss.ErrUnknownOutcome) || attempt == 2 {
			return err
		}
		if r.readBackLake(ctx, offsets) == nil {
			return nil
		}
	}
}

// readBackLake checks the registered snapshot as the cluster shows it, both as
// the newest and as the newest readable one.
func (r *run) readBackLake(ctx context.Context, want map[fluss.BucketID]int64) error {
	for _, readable := range []bool{false, true} {
		got, err := r.c.client.LakeSnapshot(ctx, r.path, readable)
		if err != nil {
			return fmt.Errorf("reading the registered lake snapshot back: %w", err)
		}
		if got.TableID != r.info.TableID || got.SnapshotID != r.src.snapshot.ID {
			return fmt.Errorf("promotion: %s: the registered lake snapshot is %d of table ID %d, it should be %d of table ID %d",
				r.path, got.SnapshotID, got.TableID, r.src.snapshot.ID, r.info.TableID)
		}
		for id, off := range want {
			if have, ok := got.Offsets[id]; !ok || have != off {
				return fmt.Errorf("promotion: %s: registered offset of bucket %d (partition ID %d) is %d, it should be %d",
					r.path, id.Bucket, id.PartitionID, have, off)
			}
		}
	}
	return nil
}
