package fluss

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// ErrNotNoticed: the coordinator has not taken notice of a table.
var ErrNotNoticed = errors.New("the coordinator has not taken notice of the table")

// nobodysLease is a lease that nobody holds: releasing it changes nothing.
const nobodysLease = "terraform-provider-fluss-asks-whether-the-table-is-known"

// Noticed says whether the coordinator has taken notice of a table it was told
// to create. Between the answer to CREATE_TABLE, which says that the table is
// written down in ZooKeeper, and the coordinator's own notice there is a gap,
// and Fluss 0.9.1 can lose the notice for good. Creating a partition of a table
// that is not noticed breaks the coordinator: from then on no new table of the
// cluster gets leaders until the coordinator is started anew.
//
// The request is the one whose table the coordinator looks up among those that
// it has noticed: giving up a lease that does not exist. A server that does not
// serve it is taken to have noticed.
func (c *Client) Noticed(ctx context.Context, info *TableInfo) (bool, error) {
	cn, err := c.coordinator(ctx, false)
	if err != nil {
		return false, err
	}
	if !cn.serves(wire.ReleaseKvSnapshotLease) {
		return true, nil
	}
	req := &flusspb.ReleaseKvSnapshotLeaseRequest{LeaseId: proto.String(nobodysLease),
		BucketsToRelease: []*flusspb.LeasedBucket{{TableId: proto.Int64(info.TableID), BucketId: proto.Int32(0)}}}
	err = cn.call(ctx, wire.ReleaseKvSnapshotLease, req, &flusspb.EmptyResponse{})
	var e *Error
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &e):
		return false, err
	case e.Code == wire.CodeNonPrimaryKeyTable, e.Code == wire.CodeAuthorization:
		return true, nil // it was found, and is of the wrong kind, or not ours to read
	case e.Code == wire.CodeUnknownTableOrBucket:
		return false, nil
	}
	return false, err
}

// AwaitNotice waits until the coordinator has taken notice of a new table; the
// error matches ErrNotNoticed when it has not after the given time. A table that
// is not noticed by then never is; nothing can be in it.
func (c *Client) AwaitNotice(ctx context.Context, info *TableInfo, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		ok, err := c.Noticed(ctx, info)
		if err == nil && ok {
			return nil
		}
		if time.Now().After(deadline) {
			if err != nil {
				return err
			}
			return fmt.Errorf("fluss: table %s (ID %d): %w within %s", info.Path, info.TableID, ErrNotNoticed, within)
		}
		t := time.NewTimer(50 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}
