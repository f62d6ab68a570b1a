package fluss

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// Bounds of one lookup request; longer lists of keys are sent in parts.
const (
	lookupKeys  = 4096
	lookupBytes = 1 << 20
)

// schemaIDSize is the int16 (little-endian) before the row in a stored value.
const schemaIDSize = 2

// Lookup gives the rows of the keys (encoded primary keys) in one bucket, in
// the order of the keys: the row bytes in the table's kv format, nil for a key
// that is not there.
func (c *Client) Lookup(ctx context.Context, info *TableInfo, id BucketID, keys [][]byte) ([][]byte, error) {
	out := make([][]byte, 0, len(keys))
	for len(keys) > 0 {
		part := nextPart(&keys)
		err := c.toLeader(ctx, c.reads, wire.Lookup, info, id, false, func(ctx context.Context, cn *conn) error {
			req := &flusspb.LookupRequest{TableId: proto.Int64(info.TableID), BucketsReq: []*flusspb.LookupBucket{{
				PartitionId: id.partition(), BucketId: proto.Int32(id.Bucket), Keys: part,
				RoutingBucketCount: c.routingBuckets(info, id.PartitionID)}}}
			var res flusspb.LookupResponse
			if err := cn.call(ctx, wire.Lookup, req, &res); err != nil {
				return err
			}
			b, err := oneAnswer(res.GetBucketsResp(), wire.Lookup, cn.addr, id)
			if err != nil {
				return err
			}
			if len(b.GetValues()) != len(part) {
				return fmt.Errorf("fluss: %s answered by %s for %s: %d values for %d keys", wire.Lookup, cn.addr, id, len(b.GetValues()), len(part))
			}
			for i, v := range b.GetValues() {
				if v.Values == nil {
					out = append(out, nil)
					continue
				}
				row, err := rowOf(v.Values)
				if err != nil {
					return fmt.Errorf("fluss: %s answered by %s for %s, key %d: %w", wire.Lookup, cn.addr, id, i, err)
				}
				out = append(out, row)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// PrefixLookup gives for each prefix all rows of one bucket whose key begins
// with it, in key order. A prefix is the values of the bucket key's columns,
// which must be the first of the primary key, encoded as the primary key is; that
// may differ from how the bucket key is encoded to find the bucket.
func (c *Client) PrefixLookup(ctx context.Context, info *TableInfo, id BucketID, prefixes [][]byte) ([][][]byte, error) {
	out := make([][][]byte, 0, len(prefixes))
	for len(prefixes) > 0 {
		part := nextPart(&prefixes)
		err := c.toLeader(ctx, c.reads, wire.PrefixLookup, info, id, false, func(ctx context.Context, cn *conn) error {
			req := &flusspb.PrefixLookupRequest{TableId: proto.Int64(info.TableID), BucketsReq: []*flusspb.PrefixLookupBucket{{
				PartitionId: id.partition(), BucketId: proto.Int32(id.Bucket), Keys: part,
				RoutingBucketCount: c.routingBuckets(info, id.PartitionID)}}}
			var res flusspb.PrefixLookupResponse
			if err := cn.call(ctx, wire.PrefixLookup, req, &res); err != nil {
				return err
			}
			b, err := oneAnswer(res.GetBucketsResp(), wire.PrefixLookup, cn.addr, id)
			if err != nil {
				return err
			}
			if len(b.GetValueLists()) != len(part) {
				return fmt.Errorf("fluss: %s answered by %s for %s: %d lists for %d prefixes", wire.PrefixLookup, cn.addr, id, len(b.GetValueLists()), len(part))
			}
			for i, list := range b.GetValueLists() {
				rows := make([][]byte, 0, len(list.GetValues()))
				for _, v := range list.GetValues() {
					row, err := rowOf(v)
					if err != nil {
						return fmt.Errorf("fluss: %s answered by %s for %s, prefix %d: %w", wire.PrefixLookup, cn.addr, id, i, err)
					}
					rows = append(rows, row)
				}
				out = append(out, rows)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// nextPart cuts from keys what fits into one request, at least one key.
func nextPart(keys *[][]byte) [][]byte {
	n, size := 0, 0
	for n < len(*keys) && n < lookupKeys && (n == 0 || size+len((*keys)[n]) <= lookupBytes) {
		size += len((*keys)[n])
		n++
	}
	part := (*keys)[:n]
	*keys = (*keys)[n:]
	return part
}

// bucketAnswer is what the answers for one bucket have in common.
type bucketAnswer interface {
	GetBucketId() int32
	GetErrorCode() int32
	GetErrorMessage() string
}

// oneAnswer gives the answer of the one bucket that was asked, or its error.
func oneAnswer[T bucketAnswer](answers []T, key wire.Key, server string, id BucketID) (T, error) {
	var none T
	if len(answers) != 1 || answers[0].GetBucketId() != id.Bucket {
		return none, &transportError{key: key, server: server, sent: true, kind: ErrGarbage, cause: fmt.Errorf("the answer is not about %s", id)}
	}
	if code := wire.Code(answers[0].GetErrorCode()); code != wire.CodeNone {
		return none, newBucketError(code, answers[0].GetErrorMessage(), key, server, id)
	}
	return answers[0], nil
}

// rowOf takes the schema ID off a stored value.
func rowOf(value []byte) ([]byte, error) {
	if len(value) < schemaIDSize {
		return nil, fmt.Errorf("a value of %d bytes has no schema ID", len(value))
	}
	return value[schemaIDSize:], nil
}

// LimitScan gives the rows of up to limit keys of one bucket of a primary-key
// table.
func (c *Client) LimitScan(ctx context.Context, info *TableInfo, id BucketID, limit int) ([][]byte, error) {
	var out [][]byte
	err := c.toLeader(ctx, c.reads, wire.LimitScan, info, id, false, func(ctx context.Context, cn *conn) error {
		req := &flusspb.LimitScanRequest{TableId: proto.Int64(info.TableID), PartitionId: id.partition(), BucketId: proto.Int32(id.Bucket),
			Limit: proto.Int32(int32(limit)), RoutingBucketCount: c.routingBuckets(info, id.PartitionID)}
		var res flusspb.LimitScanResponse
		if err := cn.call(ctx, wire.LimitScan, req, &res); err != nil {
			return err
		}
		if code := wire.Code(res.GetErrorCode()); code != wire.CodeNone {
			return newBucketError(code, res.GetErrorMessage(), wire.LimitScan, cn.addr, id)
		}
		if res.GetIsLogTable() {
			return fmt.Errorf("fluss: table %s is a log table: its rows can't be scanned this way", info.Path)
		}
		rows, err := parseValueBatch(res.GetRecords())
		if err != nil {
			return fmt.Errorf("fluss: %s answered by %s for %s: %w", wire.LimitScan, cn.addr, id, err)
		}
		out = rows
		return nil
	})
	return out, err
}

// parseValueBatch takes the records of LIMIT_SCAN apart (little-endian): int32
// length of the rest, int8 magic 0, int32 count, then per row int32 length,
// int16 schema ID, row bytes.
func parseValueBatch(b []byte) ([][]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) < 9 {
		return nil, fmt.Errorf("a value batch of %d bytes has no header", len(b))
	}
	if n := int64(binary.LittleEndian.Uint32(b)); n != int64(len(b)-4) {
		return nil, fmt.Errorf("a value batch of %d bytes says it has %d", len(b)-4, n)
	}
	if b[4] != 0 {
		return nil, fmt.Errorf("value batch format %d is not known", b[4])
	}
	count := int64(binary.LittleEndian.Uint32(b[5:]))
	b = b[9:]
	if count > int64(len(b)/(4+schemaIDSize)) {
		return nil, fmt.Errorf("a value batch says it has %d rows in %d bytes", count, len(b))
	}
	out := make([][]byte, 0, count)
	for range count {
		if len(b) < 4 {
			return nil, errors.New("a value batch ends within a row")
		}
		n := int64(binary.LittleEndian.Uint32(b))
		b = b[4:]
		if n < schemaIDSize || n > int64(len(b)) {
			return nil, fmt.Errorf("a value batch has a row of %d bytes with %d left", n, len(b))
		}
		out = append(out, b[schemaIDSize:n:n])
		b = b[n:]
	}
	return out, nil
}

// TableStats gives the number of live keys of each bucket. It lags behind until
// the server flushes. Buckets for which a server keeps no count are left out.
func (c *Client) TableStats(ctx context.Context, info *TableInfo, ids []BucketID) (map[BucketID]int64, error) {
	out := make(map[BucketID]int64, len(ids))
	for _, id := range ids {
		err := c.toLeader(ctx, c.control, wire.GetTableStats, info, id, false, func(ctx context.Context, cn *conn) error {
			req := &flusspb.TableStatsRequest{TableId: proto.Int64(info.TableID), BucketsReq: []*flusspb.TableStatsBucket{{
				PartitionId: id.partition(), BucketId: proto.Int32(id.Bucket)}}}
			var res flusspb.TableStatsResponse
			if err := cn.call(ctx, wire.GetTableStats, req, &res); err != nil {
				return err
			}
			b, err := oneAnswer(res.GetBucketsResp(), wire.GetTableStats, cn.addr, id)
			if err != nil {
				return err
			}
			if b.RowCount != nil {
				out[id] = b.GetRowCount()
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
