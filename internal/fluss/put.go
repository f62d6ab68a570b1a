package fluss

import (
	"context"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// Acks of PUT_KV: who must have the rows before the server answers.
const (
	AcksAll    = -1 // all in-sync replicas
	AcksLeader = 1
	AcksNone   = 0 // it answers all the same
)

// putPrefixRoom is enough for a frame's header and everything of a PUT_KV
// message but the batch.
const putPrefixRoom = wire.RequestHeaderSize + 96

// putRequest makes a PUT_KV request of one batch, which is not copied.
func (c *Client) putRequest(cn *conn, info *TableInfo, id BucketID, acks int, wait time.Duration, batch []byte) (request, error) {
	version, err := cn.version(wire.PutKV)
	if err != nil {
		return request{}, err
	}
	m := wire.PutKVRequest{Acks: int32(acks), TableID: info.TableID, TimeoutMs: int32(min(wait.Milliseconds(), 1<<31-1)),
		PartitionID: id.PartitionID, Bucket: id.Bucket}
	if n := c.routingBuckets(info, id.PartitionID); n != nil {
		m.RoutingBuckets = *n
	}
	head := make([]byte, wire.RequestHeaderSize, putPrefixRoom)
	return request{key: wire.PutKV, version: version, head: m.AppendPrefix(head, len(batch)), tail: batch}, nil
}

// putWait is how long the server may wait for replicas: less than the request
// may wait for its answer, so that the server's own time-out gets through.
func (c *Client) putWait() time.Duration { return c.cfg.RequestTimeout * 4 / 5 }

// putAnswer takes the answer to a PUT_KV of one bucket apart.
func putAnswer(cn *conn, id BucketID, body []byte) (*flusspb.PutKvBucketAnswer, error) {
	var res flusspb.PutKvResponse
	if err := cn.decode(wire.PutKV, body, &res); err != nil {
		return nil, err
	}
	b, err := oneAnswer(res.GetBucketsResp(), wire.PutKV, cn.addr, id)
	if err != nil {
		return nil, err
	}
	if b.LogEndOffset == nil {
		return nil, &transportError{key: wire.PutKV, server: cn.addr, sent: true, kind: ErrGarbage, cause: fmt.Errorf("the answer for %s has no log end offset", id)}
	}
	return b, nil
}

// PutKV writes one batch (a KvRecordBatch, usually without a writer ID) into
// one bucket and gives the log end offset after it. It is sent again only when
// the server can't have taken it; when that is open, the error matches
// ErrUnknownOutcome. batch must not change before PutKV has returned.
func (c *Client) PutKV(ctx context.Context, info *TableInfo, id BucketID, batch []byte, acks int) (int64, error) {
	var end int64
	err := c.toLeader(ctx, c.control, wire.PutKV, info, id, true, func(ctx context.Context, cn *conn) error {
		req, err := c.putRequest(cn, info, id, acks, c.putWait(), batch)
		if err != nil {
			return err
		}
		body, err := cn.exchange(ctx, req)
		if err != nil {
			return err
		}
		b, err := putAnswer(cn, id, body)
		if err != nil {
			return err
		}
		end = b.GetLogEndOffset()
		return nil
	})
	return end, err
}

// initWriter asks for the ID of a new idempotent writer.
func (c *Client) initWriter(ctx context.Context, path TablePath) (int64, error) {
	var res flusspb.InitWriterResponse
	err := c.retry(ctx, wire.InitWriter.String(), false, func(ctx context.Context, refresh bool) error {
		n, err := c.anyTablet(ctx, refresh)
		if err != nil {
			return err
		}
		cn, err := c.control.get(ctx, n.Addr())
		if err != nil {
			return err
		}
		return cn.call(ctx, wire.InitWriter, &flusspb.InitWriterRequest{TablePath: []*flusspb.TablePath{path.message()}}, &res)
	})
	if err != nil {
		return 0, err
	}
	if res.WriterId == nil || *res.WriterId < 0 {
		return 0, fmt.Errorf("fluss: %s: the server gave writer ID %d", wire.InitWriter, res.GetWriterId())
	}
	return *res.WriterId, nil
}
