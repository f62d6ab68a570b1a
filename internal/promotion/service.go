package promotion

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
	"golang.org/x/sync/semaphore"
)

const (
	defaultHeartbeat   = 15 * time.Second
	defaultParallelism = 4
	defaultBatchBytes  = 1 << 20
	defaultMaxInFlight = 2
	readMemory         = 152 << 20
	defaultPartitions  = 1000 // max.partition.num where the server does not list it
)

// Service does promotions against one cluster and its lake. It is safe for
// concurrent use.
type Service struct {
	cfg   Config
	slots chan struct{} // native loads
	// memory is what reading buckets may take, of all operations together, in
	// bytes: wide rows and many runs make fewer buckets at once.
	memory *semaphore.Weighted
	sort   sortSizes

	mu   sync.Mutex
	conn *connection
}

// connection is what is known of the cluster once it has been reached.
type connection struct {
	client     *fluss.Client
	generation string
	catalog    *paimon.Catalog
	warehouse  string
	maxParts   int
	maxBuckets int
	defaults   map[string]string // server defaults the judge looks at; never secrets
}

// New checks the configuration; it makes no connection.
func New(cfg Config) (*Service, error) {
	var ps Problems
	bad := func(attr, found, required, fix string) {
		ps = append(ps, Problem{Severity: SeverityError, Attribute: strings.Split(attr, "."), Summary: "Invalid provider configuration",
			Found: found, Required: required, Fix: fix})
	}
	if len(cfg.Bootstrap) == 0 {
		bad("bootstrap_servers", "no bootstrap server", "one or more host:port", "set bootstrap_servers or FLUSS_BOOTSTRAP_SERVERS")
	}
	if cfg.Lake != nil && cfg.Lake.Metastore != "" && cfg.Lake.Metastore != "filesystem" {
		bad("lake.metastore", strconv.Quote(cfg.Lake.Metastore), `"filesystem"`,
			"this release reads filesystem catalogs; tables of other catalogs must be promoted by hand until they are supported")
	}
	if (cfg.Journal.Database == "") != (cfg.Journal.Table == "") {
		bad("journal", cfg.Journal.String(), "both a database and a table", "set both, or leave the block out for promotion.journal")
	}
	if len(ps) > 0 {
		return nil, ps
	}
	if cfg.Journal.Database == "" {
		cfg.Journal = TableName{Database: "promotion", Table: "journal"}
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = faultpoint.Heartbeat(defaultHeartbeat)
	}
	if cfg.MaxConcurrentLoads <= 0 {
		cfg.MaxConcurrentLoads = 1
	}
	return &Service{cfg: cfg, slots: make(chan struct{}, cfg.MaxConcurrentLoads), memory: semaphore.NewWeighted(readMemory), sort: defaultSortSizes}, nil
}

// Close ends the connections. Operations still running fail.
func (s *Service) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.client.Close()
		s.conn = nil
	}
}

// connect reaches the cluster on first use and finds its lake. A failure is not
// remembered: the next call tries again.
func (s *Service) connect(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return s.conn, nil
	}
	cfg := fluss.Config{Bootstrap: s.cfg.Bootstrap}
	if s.cfg.SASL != nil {
		cfg.SASL = &fluss.SASL{Mechanism: s.cfg.SASL.Mechanism, Username: s.cfg.SASL.Username, Password: s.cfg.SASL.Password}
	}
	client, err := fluss.Connect(ctx, cfg)
	if err != nil {
		return nil, Problem{Severity: SeverityError, Summary: "Unable to reach the Fluss cluster", Found: err.Error(),
			Required: "a Fluss 0.9.1 or 1.x cluster at " + strings.Join(s.cfg.Bootstrap, ", "),
			Fix:      "check bootstrap_servers, sasl, and that the coordinator is up"}
	}
	c := &connection{client: client, generation: string(client.Generation())}
	if err := s.findLake(ctx, c); err != nil {
		client.Close()
		return nil, err
	}
	s.conn = c
	return c, nil
}

// findLake takes the lake from the cluster's own configuration and compares the
// provider's with it. The answer can hold secrets: only named keys leave here.
func (s *Service) findLake(ctx context.Context, c *connection) error {
	conf, err := c.client.ClusterConfigs(ctx)
	if err != nil {
		return fmt.Errorf("promotion: configuration of the cluster: %w", err)
	}
	warehouse, err := warehouseOf(conf, s.cfg.Lake)
	if err != nil {
		return err
	}
	var options map[string]string
	if s.cfg.Lake != nil {
		options = s.cfg.Lake.Options
	}
	fs, root, err := storage.Open(warehouse, options)
	if err != nil {
		return fmt.Errorf("promotion: warehouse %s: %w", warehouse, err)
	}
	c.catalog, c.warehouse = paimon.OpenCatalog(fs, root), warehouse
	c.maxParts, c.maxBuckets = intOr(conf["max.partition.num"], defaultPartitions), intOr(conf["max.bucket.num"], 0)
	c.defaults = map[string]string{}
	for _, k := range []string{"default.bucket.number", "default.replication.factor"} {
		if v, ok := conf[k]; ok {
			c.defaults[k] = v
		}
	}
	return nil
}

// warehouseOf finds the warehouse in the cluster's configuration and compares
// it with the provider's lake block, which may be nil.
func warehouseOf(conf map[string]string, lake *Lake) (string, error) {
	mismatch := func(what, found, required, fix string) (string, error) {
		return "", Problem{Severity: SeverityError, Summary: "The cluster's lake cannot be used", Found: what + " is " + found, Required: required, Fix: fix}
	}
	if f := conf["datalake.format"]; f != "paimon" {
		return mismatch("the cluster's datalake.format", strconv.Quote(f), `"paimon"`, "set datalake.format: paimon and the lake's catalog in the cluster's server.yaml")
	}
	metastore := conf["datalake.paimon.metastore"]
	if metastore == "" {
		metastore = "filesystem" // Paimon's default
	}
	if metastore != "filesystem" {
		return mismatch("the cluster's datalake.paimon.metastore", strconv.Quote(metastore), `"filesystem", the catalog that this provider looks tables up in`,
			"this release reads filesystem catalogs; tables of other catalogs must be promoted by hand until they are supported")
	}
	warehouse := conf["datalake.paimon.warehouse"]
	if warehouse == "" {
		return mismatch("the cluster's datalake.paimon.warehouse", "not set", "the warehouse that holds the Paimon table", "set it in the cluster's server.yaml")
	}
	if lake != nil {
		if own := lake.Warehouse; own != "" && normalURI(own) != normalURI(warehouse) {
			return mismatch("the cluster's lake warehouse", strconv.Quote(warehouse), "the provider's lake.warehouse, "+strconv.Quote(own),
				"name the cluster's own warehouse in the provider's lake block or leave the block out: a table of another warehouse cannot become this cluster's lake table")
		}
	}
	return warehouse, nil
}

func intOr(text string, def int) int {
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		return n
	}
	return def
}

// normalURI brings the spellings of one location together: file: prefixes,
// doubled and trailing slashes.
func normalURI(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || len(u.Scheme) == 1 {
		return filepath.Clean(s)
	}
	if u.Scheme == "file" {
		return filepath.Clean("/" + u.Host + u.Path)
	}
	return strings.ToLower(u.Scheme) + "://" + u.Host + filepath.Clean("/"+u.Path)
}
