package fluss

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// OffsetType says which offset of a bucket's log is asked for.
type OffsetType int32

const (
	// OffsetEarliest is the first offset that is still there.
	OffsetEarliest OffsetType = 0
	// OffsetLatest is the high watermark: the end of what all in-sync replicas
	// have. After writes with acks other than -1 it lags behind the log end.
	OffsetLatest OffsetType = 1
)

// ListOffsets gives an offset for each of the buckets of a table, or of one
// partition of it (nil: the table has none). While a bucket has no leader it
// tries again, for as long as ctx or the retry timeout allow.
func (c *Client) ListOffsets(ctx context.Context, info *TableInfo, partitionID *int64, buckets []int32, which OffsetType) (map[int32]int64, error) {
	out := make(map[int32]int64, len(buckets))
	left := slices.Clone(buckets)
	partition := int64(-1)
	if partitionID != nil {
		partition = *partitionID
	}
	what := fmt.Sprintf("%s for table %s", wire.ListOffsets, info.Path)
	err := c.retry(ctx, what, false, func(ctx context.Context, refresh bool) error {
		byServer := map[Node][]int32{}
		for _, b := range left {
			n, err := c.leader(ctx, info, BucketID{partition, b}, refresh)
			if err != nil {
				return err
			}
			refresh = false // once is enough for all buckets
			byServer[n] = append(byServer[n], b)
		}
		var failed error
		for n, of := range byServer {
			if err := c.offsetsFrom(ctx, n, info, partition, of, which, out); err != nil {
				if failed == nil || actionFor(err) == giveUp {
					failed = err
				}
			}
		}
		left = slices.DeleteFunc(left, func(b int32) bool { _, ok := out[b]; return ok })
		if failed == nil && len(left) > 0 {
			return fmt.Errorf("fluss: %s: the answer lacks bucket %d", what, left[0])
		}
		return failed
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// offsetsFrom asks one server and stores the offsets it gives in out.
func (c *Client) offsetsFrom(ctx context.Context, n Node, info *TableInfo, partition int64, buckets []int32, which OffsetType, out map[int32]int64) error {
	cn, err := c.control.get(ctx, n.Addr())
	if err != nil {
		return err
	}
	req := &flusspb.ListOffsetsRequest{FollowerServerId: proto.Int32(-1), OffsetType: proto.Int32(int32(which)), TableId: proto.Int64(info.TableID),
		PartitionId: BucketID{PartitionID: partition}.partition(), BucketId: buckets, RoutingBucketCount: c.routingBuckets(info, partition)}
	var res flusspb.ListOffsetsResponse
	if err := cn.call(ctx, wire.ListOffsets, req, &res); err != nil {
		return err
	}
	var failed error
	for _, b := range res.GetBucketsResp() {
		if code := wire.Code(b.GetErrorCode()); code != wire.CodeNone {
			err := newBucketError(code, b.GetErrorMessage(), wire.ListOffsets, cn.addr, BucketID{partition, b.GetBucketId()})
			if failed == nil || actionFor(err) == giveUp {
				failed = err
			}
			continue
		}
		if b.Offset != nil && slices.Contains(buckets, b.GetBucketId()) {
			out[b.GetBucketId()] = b.GetOffset()
		}
	}
	return failed
}
