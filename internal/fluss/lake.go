package fluss

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// LakeSnapshot is a lake snapshot registered for a table.
type LakeSnapshot struct {
	TableID    int64
	SnapshotID int64
	// Offsets gives for each bucket the log offset below which everything is in
	// the snapshot; buckets whose offset is not known are left out.
	Offsets map[BucketID]int64
}

// LakeSnapshot gives the snapshot committed last, from which tiering goes on;
// with readable set the newest one that readers may use. Errors match
// ErrNoLakeSnapshot.
func (c *Client) LakeSnapshot(ctx context.Context, path TablePath, readable bool) (*LakeSnapshot, error) {
	req := &flusspb.GetLakeSnapshotRequest{TablePath: path.message()}
	if readable {
		req.Readable = proto.Bool(true)
	}
	return c.lakeSnapshot(ctx, req)
}

// LakeSnapshotByID gives one registered snapshot; errors match
// ErrNoLakeSnapshot.
func (c *Client) LakeSnapshotByID(ctx context.Context, path TablePath, id int64) (*LakeSnapshot, error) {
	return c.lakeSnapshot(ctx, &flusspb.GetLakeSnapshotRequest{TablePath: path.message(), SnapshotId: proto.Int64(id)})
}

func (c *Client) lakeSnapshot(ctx context.Context, req *flusspb.GetLakeSnapshotRequest) (*LakeSnapshot, error) {
	var res flusspb.GetLakeSnapshotResponse
	if err := c.read(ctx, wire.GetLakeSnapshot, req, &res); err != nil {
		return nil, err
	}
	s := &LakeSnapshot{TableID: res.GetTableId(), SnapshotID: res.GetSnapshotId(), Offsets: map[BucketID]int64{}}
	for _, b := range res.GetBucketSnapshots() {
		if b.LogOffset == nil || b.GetLogOffset() < 0 {
			continue
		}
		id := BucketID{PartitionID: -1, Bucket: b.GetBucketId()}
		if b.PartitionId != nil {
			id.PartitionID = b.GetPartitionId()
		}
		s.Offsets[id] = b.GetLogOffset()
	}
	return s, nil
}

// PrepareLakeSnapshot makes the servers write a file with the offsets, merged
// over those of the snapshot registered last unless ignorePrevious is set, and
// gives its path, to be used in one CommitLakeSnapshot only. Give every bucket
// of every partition an offset: 0 for an empty one.
func (c *Client) PrepareLakeSnapshot(ctx context.Context, path TablePath, tableID int64, offsets map[BucketID]int64, ignorePrevious bool) (string, error) {
	table := &flusspb.PrepareTable{TableId: proto.Int64(tableID), TablePath: path.message()}
	ids := make([]BucketID, 0, len(offsets))
	for id := range offsets {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareBuckets)
	for _, id := range ids {
		if offsets[id] < 0 {
			return "", fmt.Errorf("fluss: table %s, %s: offset %d cannot be registered", path, id, offsets[id])
		}
		table.BucketOffsets = append(table.BucketOffsets, &flusspb.PrepareBucketOffset{
			PartitionId: id.partition(), BucketId: proto.Int32(id.Bucket), LogEndOffset: proto.Int64(offsets[id])})
	}
	req := &flusspb.PrepareLakeSnapshotRequest{TablesReq: []*flusspb.PrepareTable{table}}
	if ignorePrevious {
		req.IgnorePreviousTableOffsets = proto.Bool(true)
	}
	var file string
	// A repeated PREPARE leaves a file behind that nothing refers to; no harm.
	err := c.retry(ctx, wire.PrepareLakeTableSnapshot.String(), false, func(ctx context.Context, refresh bool) error {
		cn, err := c.coordinator(ctx, refresh)
		if err != nil {
			return err
		}
		var res flusspb.PrepareLakeSnapshotResponse
		if err := cn.call(ctx, wire.PrepareLakeTableSnapshot, req, &res); err != nil {
			return err
		}
		if n := len(res.GetTablesResp()); n != 1 {
			return fmt.Errorf("fluss: %s: the answer is about %d tables instead of one", wire.PrepareLakeTableSnapshot, n)
		}
		t := res.GetTablesResp()[0]
		if code := wire.Code(t.GetErrorCode()); code != wire.CodeNone {
			return newError(code, t.GetErrorMessage(), wire.PrepareLakeTableSnapshot, cn.addr)
		}
		if file = t.GetLakeTableOffsetsPath(); file == "" {
			return fmt.Errorf("fluss: %s: the answer has no path", wire.PrepareLakeTableSnapshot)
		}
		return nil
	})
	return file, err
}

// KeepAll as LakeCommit.EarliestToKeep keeps every snapshot registered before.
// Without it the server deletes their files, and a repeated commit its own.
const KeepAll = -1

// LakeCommit registers a lake snapshot.
type LakeCommit struct {
	TableID    int64
	SnapshotID int64
	// TieredPath is the path that PrepareLakeSnapshot gave.
	TieredPath string
	// ReadablePath may be the same path; empty means that readers are not to
	// use the snapshot.
	ReadablePath string
	// EarliestToKeep is the lowest snapshot ID that stays registered; 0 means
	// KeepAll.
	EarliestToKeep int64
}

// CommitLakeSnapshot registers a lake snapshot under a table ID. The server
// checks neither that the table exists nor that the offsets make sense. An
// error matching ErrUnknownOutcome leaves it open: look, then prepare anew.
func (c *Client) CommitLakeSnapshot(ctx context.Context, commit LakeCommit) error {
	if commit.EarliestToKeep == 0 {
		commit.EarliestToKeep = KeepAll
	}
	table := &flusspb.CommitTable{TableId: proto.Int64(commit.TableID), SnapshotId: proto.Int64(commit.SnapshotID),
		TieredBucketOffsetsFilePath: proto.String(commit.TieredPath), EarliestSnapshotIdToKeep: proto.Int64(commit.EarliestToKeep)}
	if commit.ReadablePath != "" {
		table.ReadableBucketOffsetsFilePath = proto.String(commit.ReadablePath)
	}
	req := &flusspb.CommitLakeSnapshotRequest{TablesReq: []*flusspb.CommitTable{table}}
	return c.retry(ctx, wire.CommitLakeTableSnapshot.String(), true, func(ctx context.Context, refresh bool) error {
		cn, err := c.coordinator(ctx, refresh)
		if err != nil {
			return &connectError{err}
		}
		var res flusspb.CommitLakeSnapshotResponse
		if err := cn.call(ctx, wire.CommitLakeTableSnapshot, req, &res); err != nil {
			return err
		}
		for _, t := range res.GetTablesResp() {
			if code := wire.Code(t.GetErrorCode()); code != wire.CodeNone {
				return newError(code, t.GetErrorMessage(), wire.CommitLakeTableSnapshot, cn.addr)
			}
		}
		if len(res.GetTablesResp()) == 0 {
			return fmt.Errorf("%w: fluss: %s: the answer names no table", ErrUnknownOutcome, wire.CommitLakeTableSnapshot)
		}
		return nil
	})
}
