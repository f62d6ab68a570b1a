package fluss

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
)

// call sends a message over the connection and decodes its answer.
func (c *conn) call(ctx context.Context, key wire.Key, in, out proto.Message) error {
	version, err := c.version(key)
	if err != nil {
		return err
	}
	req, err := marshal(key, version, in)
	if err != nil {
		return err
	}
	return c.roundTrip(ctx, req, out)
}

// coordinator gives the control connection to the coordinator.
func (c *Client) coordinator(ctx context.Context, refresh bool) (*conn, error) {
	for tries := 0; ; tries++ {
		c.mu.Lock()
		n := c.topology.coordinator
		c.mu.Unlock()
		if n != nil && (!refresh || tries > 0) {
			return c.control.get(ctx, n.Addr())
		}
		if tries > 0 {
			return nil, fmt.Errorf("fluss: %w: the cluster has no coordinator at the moment", ErrNoLeader)
		}
		if err := c.refreshTopology(ctx); err != nil {
			return nil, err
		}
	}
}

// read sends a request that changes nothing, to the coordinator, or to another
// server while that can't be reached. It may be sent several times.
func (c *Client) read(ctx context.Context, key wire.Key, in, out proto.Message) error {
	return c.retry(ctx, key.String(), false, func(ctx context.Context, refresh bool) error {
		cn, err := c.coordinator(ctx, refresh)
		if err != nil && actionFor(err) != giveUp && ctx.Err() == nil {
			if n, tabletErr := c.anyTablet(ctx, false); tabletErr == nil {
				if other, tabletErr := c.control.get(ctx, n.Addr()); tabletErr == nil && other.serves(key) {
					cn, err = other, nil
				}
			}
		}
		if err != nil {
			return err
		}
		return cn.call(ctx, key, in, out)
	})
}

func (c *conn) serves(key wire.Key) bool {
	_, ok := c.versions[key]
	return ok
}

// change sends a request that changes something, to the coordinator. It is sent
// again only when the server can't have acted on it.
func (c *Client) change(ctx context.Context, key wire.Key, in, out proto.Message) error {
	return c.retry(ctx, key.String(), true, func(ctx context.Context, refresh bool) error {
		cn, err := c.coordinator(ctx, refresh)
		if err != nil {
			return &connectError{err}
		}
		return cn.call(ctx, key, in, out)
	})
}

// toLeader runs send with a connection to a bucket's leader, again after
// leadership has moved. With once set, never again when the outcome of a try is
// unknown.
func (c *Client) toLeader(ctx context.Context, p *pool, key wire.Key, info *TableInfo, id BucketID, once bool, send func(context.Context, *conn) error) error {
	return c.retry(ctx, fmt.Sprintf("%s for table %s, %s", key, info.Path, id), once, func(ctx context.Context, refresh bool) error {
		n, err := c.leader(ctx, info, id, refresh)
		if err != nil {
			return &connectError{err}
		}
		cn, err := p.get(ctx, n.Addr())
		if err != nil {
			return &connectError{err}
		}
		return send(ctx, cn)
	})
}
