package fluss

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// PartitionInfo is one partition of a table.
type PartitionInfo struct {
	ID int64
	// Spec maps partition columns to values, as text in Fluss's form.
	Spec map[string]string
	// Name is the values joined by "$" in partition key order.
	Name string
	// BucketCount is 0 when the server doesn't say (before 1.0.0).
	BucketCount int
}

// ListPartitions gives the partitions of a partitioned table.
func (c *Client) ListPartitions(ctx context.Context, path TablePath) ([]PartitionInfo, error) {
	var res flusspb.ListPartitionInfosResponse
	if err := c.read(ctx, wire.ListPartitionInfos, &flusspb.ListPartitionInfosRequest{TablePath: path.message()}, &res); err != nil {
		return nil, err
	}
	out := make([]PartitionInfo, 0, len(res.GetPartitionsInfo()))
	for _, p := range res.GetPartitionsInfo() {
		info := PartitionInfo{ID: p.GetPartitionId(), Spec: map[string]string{}, BucketCount: int(p.GetBucketCount())}
		var values []string
		for _, kv := range p.GetPartitionSpec().GetPartitionKeyValues() {
			info.Spec[kv.GetKey()] = kv.GetValue()
			values = append(values, kv.GetValue())
		}
		info.Name = strings.Join(values, "$")
		out = append(out, info)
	}
	return out, nil
}

func partitionSpec(spec map[string]string) *flusspb.PartitionSpec {
	keys := make([]string, 0, len(spec))
	for k := range spec {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	m := &flusspb.PartitionSpec{}
	for _, k := range keys {
		m.PartitionKeyValues = append(m.PartitionKeyValues, &flusspb.KeyValue{Key: proto.String(k), Value: proto.String(spec[k])})
	}
	return m
}

// CreatePartition creates a partition; spec names every partition column with
// its value in Fluss's form. Errors match ErrPartitionAlreadyExist,
// ErrPartitionSpecInvalid and ErrPartitionMaxNum.
func (c *Client) CreatePartition(ctx context.Context, path TablePath, spec map[string]string, ignoreIfExists bool) error {
	return c.change(ctx, wire.CreatePartition, &flusspb.PartitionRequest{
		TablePath: path.message(), PartitionSpec: partitionSpec(spec), IgnoreIfNotExists: proto.Bool(ignoreIfExists)}, &flusspb.EmptyResponse{})
}

// DropPartition drops a partition and its rows; errors match
// ErrPartitionNotExist.
func (c *Client) DropPartition(ctx context.Context, path TablePath, spec map[string]string, ignoreIfNotExists bool) error {
	return c.change(ctx, wire.DropPartition, &flusspb.PartitionRequest{
		TablePath: path.message(), PartitionSpec: partitionSpec(spec), IgnoreIfNotExists: proto.Bool(ignoreIfNotExists)}, &flusspb.EmptyResponse{})
}
