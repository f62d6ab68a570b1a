package fluss

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sort"
	"strconv"
	"sync"

	"golang.org/x/sync/singleflight"
	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// readConnections is how many connections per server lookups and scans may use.
const readConnections = 4

// Client talks to one cluster. It is safe for concurrent use.
type Client struct {
	cfg        Config
	generation Generation

	control *pool // one connection per server: metadata, admin, offsets, PutKV
	reads   *pool // lookups and scans

	flight singleflight.Group // metadata requests

	life context.Context //nolint:containedctx // the client's own life, ended by Close
	end  context.CancelFunc

	mu       sync.Mutex
	closed   bool
	conns    map[*conn]struct{} // all that have not ended
	idle     chan struct{}      // closed when conns is empty after Close
	topology topology
	leaders  map[leaderKey]leaders
}

// Generation is what matters here of a cluster's version.
type Generation string

// The generations. The development state between the two counts as 1.0.
const (
	Generation09 Generation = "0.9"
	Generation10 Generation = "1.0"
)

// Node is one server of the cluster.
type Node struct {
	ID   int32
	Host string
	Port int32
}

// Addr gives host:port.
func (n Node) Addr() string { return net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port))) }

// BucketID names a bucket within a table.
type BucketID struct {
	PartitionID int64 // -1: the table has no partitions
	Bucket      int32
}

func (b BucketID) String() string {
	if b.PartitionID < 0 {
		return "bucket " + strconv.Itoa(int(b.Bucket))
	}
	return fmt.Sprintf("bucket %d of partition %d", b.Bucket, b.PartitionID)
}

func compareBuckets(a, b BucketID) int {
	return cmp.Or(cmp.Compare(a.PartitionID, b.PartitionID), cmp.Compare(a.Bucket, b.Bucket))
}

// partition gives the partition ID as messages carry it.
func (b BucketID) partition() *int64 {
	if b.PartitionID < 0 {
		return nil
	}
	return proto.Int64(b.PartitionID)
}

// Connect connects to the first bootstrap server that answers and reads the
// cluster's servers from it. Its error names every server tried and why it did
// not do.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, conns: map[*conn]struct{}{}, idle: make(chan struct{}), leaders: map[leaderKey]leaders{}}
	c.life, c.end = context.WithCancel(context.Background())
	c.control = newPool(1, c.dial)
	c.reads = newPool(readConnections, c.dial)
	err = c.retry(ctx, "connecting", false, func(ctx context.Context, _ bool) error { return c.bootstrap(ctx) })
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// bootstrap tries the bootstrap servers in turn. Only a login that the server
// wants repeated is worth trying again at once: an address where nothing
// listens is more often wrong than late.
func (c *Client) bootstrap(ctx context.Context) error {
	var all []error
	for _, addr := range c.cfg.Bootstrap {
		cn, err := c.control.get(ctx, addr)
		if err == nil {
			var t topology
			if t, _, err = requestMetadata(ctx, cn, &flusspb.MetadataRequest{}); err == nil {
				c.generation = generationOf(cn.versions)
				c.mu.Lock()
				c.topology = t
				c.mu.Unlock()
				return nil
			}
		}
		var e *Error
		if errors.As(err, &e) && e.Code == wire.CodeRetriableAuthenticate {
			return err
		}
		if c.cfg.SASL == nil && errors.Is(err, ErrAuthentication) {
			err = fmt.Errorf("fluss: %s: the listener asks for a login and none is configured; set user name and password (SASL/PLAIN): %w", addr, err)
		}
		all = append(all, err)
	}
	return &bootstrapError{servers: c.cfg.Bootstrap, errs: all}
}

// bootstrapError hides from actionFor that its parts could be tried again.
type bootstrapError struct {
	servers []string
	errs    []error
}

func (e *bootstrapError) Error() string {
	if len(e.errs) == 1 {
		return e.errs[0].Error()
	}
	s := "fluss: none of the bootstrap servers can be used:"
	for i, err := range e.errs {
		s += fmt.Sprintf("\n  %s: %v", e.servers[i], err)
	}
	return s
}

func (e *bootstrapError) Unwrap() []error { return e.errs }

// generationOf tells the generations apart by the requests that only the newer
// one serves, be it by a coordinator or by a tablet server.
func generationOf(served map[wire.Key]wire.Range) Generation {
	_, health := served[wire.GetClusterHealth]
	_, scan := served[wire.ScanKV]
	if health || scan || served[wire.PutKV].Max >= 2 {
		return Generation10
	}
	return Generation09
}

// Generation gives the generation of the server that Connect reached.
func (c *Client) Generation() Generation { return c.generation }

// adopt registers a new connection, so that Close can end and await it.
func (c *Client) adopt(cn *conn) bool {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false
	}
	c.conns[cn] = struct{}{}
	c.mu.Unlock()
	cn.start(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.conns, cn)
		if c.closed && len(c.conns) == 0 {
			close(c.idle)
		}
	})
	return true
}

// Close breaks all connections and waits until nothing of the client runs any
// more. Calls still under way fail with ErrClosed. It must not be called from a
// batch's done function.
func (c *Client) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.idle
		return
	}
	c.closed = true
	all := make([]*conn, 0, len(c.conns))
	for cn := range c.conns {
		all = append(all, cn)
	}
	if len(all) == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	c.end()
	c.control.close()
	c.reads.close()
	for _, cn := range all {
		cn.fail(ErrClosed, nil)
	}
	<-c.idle
}

// Servers gives the cluster's servers as they are now, tablet servers by ID. A
// cluster that is starting may have no coordinator yet: an error matching
// ErrNoLeader after the retries.
func (c *Client) Servers(ctx context.Context) (coordinator Node, tablets []Node, err error) {
	err = c.retry(ctx, "reading the cluster's servers", false, func(ctx context.Context, _ bool) error {
		t, _, err := c.metadata(ctx, "servers", &flusspb.MetadataRequest{})
		if err != nil {
			return err
		}
		if t.coordinator == nil {
			return fmt.Errorf("fluss: %w: the cluster has no coordinator at the moment", ErrNoLeader)
		}
		coordinator, tablets = *t.coordinator, nil
		for _, n := range t.tablets {
			tablets = append(tablets, n)
		}
		sort.Slice(tablets, func(i, j int) bool { return tablets[i].ID < tablets[j].ID })
		return nil
	})
	return coordinator, tablets, err
}

// ClusterConfigs gives the configuration file of the server as it is, secrets
// included: pick what is needed and log none of it.
func (c *Client) ClusterConfigs(ctx context.Context) (map[string]string, error) {
	var res flusspb.DescribeClusterConfigsResponse
	if err := c.read(ctx, wire.DescribeClusterConfigs, &flusspb.DescribeClusterConfigsRequest{}, &res); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(res.GetConfigs()))
	for _, e := range res.GetConfigs() {
		out[e.GetConfigKey()] = e.GetConfigValue()
	}
	return out, nil
}
