package fluss

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// topology is the cluster's servers as the last metadata answer gave them.
type topology struct {
	coordinator *Node
	tablets     map[int32]Node
}

// leaderKey is a set of buckets whose leaders are asked for together.
type leaderKey struct {
	tableID   int64
	partition int64 // -1: none
}

// leaders holds the tablet server of each bucket, and when that was learnt.
type leaders struct {
	byBucket map[int32]int32
	buckets  int // the bucket count rows are to be routed by; 0: unknown
	at       time.Time
}

func nodeOf(n *flusspb.ServerNode) Node {
	return Node{ID: n.GetNodeId(), Host: n.GetHost(), Port: n.GetPort()}
}

// requestMetadata sends one GET_METADATA over cn.
func requestMetadata(ctx context.Context, cn *conn, req *flusspb.MetadataRequest) (topology, *flusspb.MetadataResponse, error) {
	var res flusspb.MetadataResponse
	if err := cn.call(ctx, wire.GetMetadata, req, &res); err != nil {
		return topology{}, nil, err
	}
	t := topology{tablets: map[int32]Node{}}
	if n := res.GetCoordinatorServer(); n != nil {
		node := nodeOf(n)
		t.coordinator = &node
	}
	for _, n := range res.GetTabletServers() {
		t.tablets[n.GetNodeId()] = nodeOf(n)
	}
	return t, &res, nil
}

type metadataAnswer struct {
	topology topology
	res      *flusspb.MetadataResponse
}

// metadata asks the servers in turn until one answers, and keeps the topology.
// Callers with the same name at the same time share one request.
func (c *Client) metadata(ctx context.Context, name string, req *flusspb.MetadataRequest) (topology, *flusspb.MetadataResponse, error) {
	got := c.flight.DoChan(name, func() (any, error) {
		// Not the caller's context: others wait for the answer too.
		ctx, cancel := context.WithTimeout(c.life, c.cfg.RequestTimeout+c.cfg.DialTimeout)
		defer cancel()
		var a metadataAnswer
		err := safego.Do(func() (err error) {
			a, err = c.askMetadata(ctx, req)
			return err
		})
		return a, err
	})
	select {
	case r := <-got:
		if r.Err != nil {
			return topology{}, nil, r.Err
		}
		a := r.Val.(metadataAnswer)
		return a.topology, a.res, nil
	case <-ctx.Done():
		return topology{}, nil, &transportError{key: wire.GetMetadata, server: "the cluster", kind: ErrNoAnswer, cause: ctx.Err()}
	}
}

// askMetadata asks the servers in turn.
func (c *Client) askMetadata(ctx context.Context, req *flusspb.MetadataRequest) (metadataAnswer, error) {
	var last error
	for _, addr := range c.candidates() {
		cn, err := c.control.get(ctx, addr)
		if err == nil {
			var t topology
			var res *flusspb.MetadataResponse
			if t, res, err = requestMetadata(ctx, cn, req); err == nil {
				c.learn(t)
				return metadataAnswer{t, res}, nil
			}
		}
		var e *Error
		if errors.As(err, &e) && actionFor(err) == giveUp {
			return metadataAnswer{}, err // the next server would say the same
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	return metadataAnswer{}, last
}

// candidates lists the servers to ask for metadata: the coordinator knows it
// first, then the tablet servers, then the bootstrap list.
func (c *Client) candidates() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	seen := map[string]bool{}
	add := func(addr string) {
		if !seen[addr] {
			seen[addr] = true
			out = append(out, addr)
		}
	}
	if c.topology.coordinator != nil {
		add(c.topology.coordinator.Addr())
	}
	for _, n := range c.topology.tablets {
		add(n.Addr())
	}
	for _, a := range c.cfg.Bootstrap {
		add(a)
	}
	return out
}

// learn keeps a topology. One without any server is a starting cluster's and is
// not worth forgetting the known one for.
func (c *Client) learn(t topology) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.coordinator != nil {
		c.topology.coordinator = t.coordinator
	}
	if len(t.tablets) > 0 {
		c.topology.tablets = t.tablets
	}
}

// refreshTopology reads the servers again.
func (c *Client) refreshTopology(ctx context.Context) error {
	_, _, err := c.metadata(ctx, "servers", &flusspb.MetadataRequest{})
	return err
}

// leader gives the tablet server that leads a bucket; its error matches
// ErrNoLeader while there is none. With fresh set it doesn't use what it knew
// before it was called.
func (c *Client) leader(ctx context.Context, info *TableInfo, id BucketID, fresh bool) (Node, error) {
	asked := time.Now()
	for tries := 0; ; tries++ {
		c.mu.Lock()
		l, known := c.leaders[leaderKey{info.TableID, id.PartitionID}]
		server, has := l.byBucket[id.Bucket]
		node, up := c.topology.tablets[server]
		c.mu.Unlock()
		if known && has && up && (!fresh || !l.at.Before(asked)) {
			return node, nil
		}
		if tries > 0 {
			if known && !has && l.buckets > 0 && int(id.Bucket) >= l.buckets {
				return Node{}, fmt.Errorf("fluss: table %s has no %s: it has %d buckets", info.Path, id, l.buckets)
			}
			return Node{}, fmt.Errorf("fluss: table %s, %s: %w", info.Path, id, ErrNoLeader)
		}
		if err := c.refreshLeaders(ctx, info, id.PartitionID); err != nil {
			return Node{}, err
		}
	}
}

// refreshLeaders reads the leaders of a table's or a partition's buckets.
func (c *Client) refreshLeaders(ctx context.Context, info *TableInfo, partition int64) error {
	req := &flusspb.MetadataRequest{}
	name := fmt.Sprintf("table %d", info.TableID)
	if partition < 0 {
		req.TablePath = []*flusspb.TablePath{info.Path.message()}
	} else {
		req.PartitionsId = []int64{partition}
		name = fmt.Sprintf("partition %d of table %d", partition, info.TableID)
	}
	asked := time.Now()
	_, res, err := c.metadata(ctx, name, req)
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.Code == wire.CodeUnknownServerError {
			// 0.9.1 answers -1 for a table that is gone; this one says it.
			if _, infoErr := c.sameTable(ctx, info); infoErr != nil {
				return infoErr
			}
		}
		if errors.Is(err, ErrPartitionNotExist) {
			return c.missingPartition(ctx, info, partition, err)
		}
		return err
	}
	l := leaders{byBucket: map[int32]int32{}, at: asked}
	var buckets []*flusspb.BucketMetadata
	found := false
	if partition < 0 {
		for _, t := range res.GetTableMetadata() {
			if t.GetTableId() == info.TableID {
				buckets, found = t.GetBucketMetadata(), true
				l.buckets = len(buckets)
			}
		}
	} else {
		for _, p := range res.GetPartitionMetadata() {
			if p.GetPartitionId() == partition && p.GetTableId() == info.TableID {
				buckets, found = p.GetBucketMetadata(), true
				l.buckets = int(p.GetBucketCount())
			}
		}
	}
	if !found {
		if _, err := c.sameTable(ctx, info); err != nil {
			return err
		}
		return fmt.Errorf("fluss: table %s: %w: the server leaves it out of its metadata (it may be new, or the user may lack DESCRIBE on it)", info.Path, ErrNoLeader)
	}
	for _, b := range buckets {
		if b.LeaderId != nil {
			l.byBucket[b.GetBucketId()] = b.GetLeaderId()
		}
	}
	c.mu.Lock()
	c.leaders[leaderKey{info.TableID, partition}] = l
	c.mu.Unlock()
	return nil
}

// missingPartition tells a partition that is gone from one that the server asked
// has not heard of yet.
func (c *Client) missingPartition(ctx context.Context, info *TableInfo, partition int64, err error) error {
	list, listErr := c.ListPartitions(ctx, info.Path)
	if listErr != nil {
		return listErr
	}
	for _, p := range list {
		if p.ID == partition {
			return fmt.Errorf("fluss: table %s, partition %q: %w", info.Path, p.Name, ErrNoLeader)
		}
	}
	return err
}

// sameTable reads the table's information and checks that the table is still
// the one of info; errors match ErrTableNotExist when it isn't.
func (c *Client) sameTable(ctx context.Context, info *TableInfo) (*TableInfo, error) {
	now, err := c.GetTable(ctx, info.Path)
	if err != nil {
		return nil, err
	}
	if now.TableID != info.TableID {
		return nil, fmt.Errorf("fluss: table %s was dropped and created again: its ID is %d, not %d: %w", info.Path, now.TableID, info.TableID, ErrTableNotExist)
	}
	return now, nil
}

// routingBuckets gives the bucket count to state in requests; 0 leaves it out,
// as servers before 1.0 don't know it.
func (c *Client) routingBuckets(info *TableInfo, partition int64) *int32 {
	if c.generation != Generation10 {
		return nil
	}
	n := info.Descriptor.BucketCount
	c.mu.Lock()
	if l := c.leaders[leaderKey{info.TableID, partition}]; l.buckets > 0 {
		n = l.buckets
	}
	c.mu.Unlock()
	if n <= 0 {
		return nil
	}
	return proto.Int32(int32(n))
}

// anyTablet gives some tablet server.
func (c *Client) anyTablet(ctx context.Context, refresh bool) (Node, error) {
	for tries := 0; ; tries++ {
		c.mu.Lock()
		for _, n := range c.topology.tablets {
			if !refresh || tries > 0 {
				c.mu.Unlock()
				return n, nil
			}
			break
		}
		c.mu.Unlock()
		if tries > 0 {
			return Node{}, fmt.Errorf("fluss: %w: the cluster lists no tablet server", ErrNoLeader)
		}
		if err := c.refreshTopology(ctx); err != nil {
			return Node{}, err
		}
	}
}
