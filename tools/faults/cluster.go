package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// The template table: what every schedule promotes a copy of.
const (
	templateDB, templateTable = "template", "t"
	partitionCount, rowCount  = 3, 6000
	bucketCount               = 2
	batchBytes                = 16 << 10
)

// startLimit bounds the start of one server, on a busy machine.
const startLimit = 6 * time.Minute

// cluster is a running stack with a template table and readers of its own.
type cluster struct {
	name string
	opt  stack.Options
	logf func(string, ...any)
	py   *pyoracle.Python // one process a call

	mending sync.Mutex // one revives servers at a time

	mu     sync.Mutex
	stack  *stack.Stack
	client *fluss.Client
	oracle *pyoracle.Python // long-lived; nil: to be started
	mounts []string         // small file systems of tablet servers
	stops  int              // so far; they name the folders of the servers' logs
}

// template is the content of the template table, the same for all clusters.
type template struct {
	dir  string                  // of its files
	rows map[string]pyoracle.Row // by key
	last []string                // files of the last commit, withheld where the source is to move on later
}

// start brings the stack up. On a cluster with several tablet servers each has
// a small file system of its own where that can be mounted.
func (c *cluster) start(ctx context.Context) error {
	if c.opt.TabletServers > 1 {
		for id := range c.opt.TabletServers {
			dir := filepath.Join(c.opt.Dir, "data", fmt.Sprintf("tablet-%d", id))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", tabletDiskBytes)); err != nil {
				c.logf("%s: no small file systems (%v): a full one is made by a file size limit", c.name, err)
				break
			}
			c.mounts = append(c.mounts, dir)
		}
	}
	s, err := stack.Start(ctx, c.opt)
	if err != nil {
		return errors.Join(err, c.unmount())
	}
	client, err := fluss.Connect(ctx, fluss.Config{Bootstrap: []string{s.Bootstrap}})
	if err != nil {
		return errors.Join(err, s.Stop(ctx), c.unmount())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stack, c.client = s, client
	return nil
}

func (c *cluster) unmount() error {
	var errs []error
	for _, m := range c.mounts {
		errs = append(errs, unix.Unmount(m, unix.MNT_DETACH))
	}
	c.mounts = nil
	return errors.Join(errs...)
}

func (c *cluster) stop(ctx context.Context) error {
	limit, done := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
	defer done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.oracle != nil {
		_ = c.oracle.Close()
		c.oracle = nil
	}
	if c.stack == nil {
		return nil
	}
	c.client.Close()
	err := c.stack.Stop(limit)
	// The logs stay, with the outputs of failed schedules.
	c.stops++
	logs := filepath.Join(filepath.Dir(c.opt.Dir), "logs", fmt.Sprintf("%s-%d", filepath.Base(c.opt.Dir), c.stops))
	err = errors.Join(err, os.CopyFS(logs, os.DirFS(filepath.Join(c.opt.Dir, "logs"))), c.unmount(), c.stack.Remove())
	c.stack = nil
	return err
}

// describe says of each server whether it runs, answers, and which tablet
// servers it knows, for the report of a failure.
func (c *cluster) describe(ctx context.Context) string {
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	running := map[string]bool{}
	for _, p := range c.stack.Status() {
		running[p.Name] = p.Alive
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.servers())) {
		at := c.servers()[name]
		known, err := stack.FlussTabletServers(ctx, at)
		slices.Sort(known)
		if err != nil {
			out = append(out, fmt.Sprintf("%s (%s, running %t): %v", name, at, running[name], err))
			continue
		}
		out = append(out, fmt.Sprintf("%s (%s, running %t) knows %v", name, at, running[name], known))
	}
	return strings.Join(out, "; ")
}

// anew replaces a stack that does not get well.
func (c *cluster) anew(ctx context.Context) error {
	if err := c.stop(ctx); err != nil {
		return err
	}
	return c.start(ctx)
}

// servers are the addresses of the stack's servers, by name.
func (c *cluster) servers() map[string]string {
	out := map[string]string{"coordinator": c.stack.Bootstrap}
	for id, t := range c.stack.Tablets {
		out[fmt.Sprintf("tablet-%d", id)] = t
	}
	return out
}

// ask runs f with the long-lived independent reader, once more with a new one
// if it fails: a reader keeps what it knew of servers before a fault.
func (c *cluster) ask(ctx context.Context, f func(context.Context, *pyoracle.Python) error) error {
	var err error
	for range 3 {
		if err = ctx.Err(); err != nil {
			return err
		}
		c.mu.Lock()
		if c.oracle == nil {
			// Not ctx: it is one schedule's.
			c.oracle, err = c.py.Serve(context.WithoutCancel(ctx))
		}
		py := c.oracle
		c.mu.Unlock()
		if err != nil {
			return err
		}
		limit, done := context.WithTimeout(ctx, time.Minute)
		err = f(limit, py)
		done()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("%w; the servers at %s: %s", err, time.Now().UTC().Format("15:04:05.000"), c.describe(ctx))
		c.mu.Lock()
		if c.oracle == py {
			c.oracle = nil
			go func() { _ = py.Close() }()
		}
		c.mu.Unlock()
		if c.opt.TabletServers > 1 {
			// A server may die of a full disk some time after there is room again.
			err = errors.Join(err, c.revive(ctx))
		}
	}
	return err
}

// processID is the ID of one of the stack's processes.
func (c *cluster) processID(name string) (int, error) {
	for _, p := range c.stack.Status() {
		if p.Name == name && p.Alive {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("%s: %s is not running", c.name, name)
}

// healthy makes a table and waits for its leaders, as the next schedule will.
func (c *cluster) healthy(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, 45*time.Second)
	defer done()
	for _, p := range c.stack.Status() {
		if !p.Alive {
			return fmt.Errorf("%s has ended", p.Name)
		}
	}
	for name, at := range c.servers() {
		if err := stack.FlussServing(ctx, at); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := c.tablets(ctx, c.opt.TabletServers); err != nil {
		return err
	}
	path := fluss.TablePath{Database: "probe", Table: fmt.Sprintf("t%d", time.Now().UnixNano())}
	if err := c.client.CreateDatabase(ctx, path.Database, true); err != nil {
		return err
	}
	typ, err := row.ParseType("INT NOT NULL")
	if err != nil {
		return err
	}
	desc := fluss.TableDescriptor{Columns: []fluss.Column{{Name: "id", Type: typ}}, PrimaryKey: []string{"id"}, BucketKey: []string{"id"}, BucketCount: 1}
	if err := c.client.CreateTable(ctx, path, desc, false); err != nil {
		return err
	}
	defer func() { _ = c.client.DropTable(ctx, path, true) }()
	info, err := c.client.GetTable(ctx, path)
	if err != nil {
		return err
	}
	if err := c.client.AwaitNotice(ctx, info, 20*time.Second); err != nil {
		return err
	}
	_, err = c.client.ListOffsets(ctx, info, nil, []int32{0}, fluss.OffsetLatest)
	return err
}

// tablets waits until the coordinator knows n tablet servers.
func (c *cluster) tablets(ctx context.Context, n int) ([]string, error) {
	for {
		known, err := stack.FlussTabletServers(ctx, c.stack.Bootstrap)
		if err == nil && len(known) == n {
			return known, nil
		}
		select {
		case <-ctx.Done():
			return known, fmt.Errorf("%s: the coordinator knows %d of %d tablet servers: %w", c.name, len(known), n, errors.Join(err, ctx.Err()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// makeTemplate writes the template with pypaimon and reads it back: three
// partitions of two buckets, two commits, the second of which updates rows.
func makeTemplate(ctx context.Context, py *pyoracle.Python, dir string) (*template, error) {
	t := &template{dir: filepath.Join(dir, templateDB+".db", templateTable), rows: map[string]pyoracle.Row{}}
	def := pyoracle.PaimonTable{Warehouse: dir, Table: templateDB + "." + templateTable,
		Fields: []pyoracle.PaimonField{{Name: "id", Type: "BIGINT NOT NULL"}, {Name: "region", Type: "STRING NOT NULL"}, {Name: "amount", Type: "DECIMAL(12, 2)"},
			{Name: "at", Type: "TIMESTAMP(3)"}, {Name: "note", Type: "STRING"}},
		PrimaryKeys: []string{"id", "region"}, PartitionKeys: []string{"region"},
		Options: map[string]string{"bucket": fmt.Sprint(bucketCount), "bucket-key": "id", "partition.legacy-name": "false"}}
	batch := func(version, count int) []pyoracle.Row {
		var out []pyoracle.Row
		for i := range count {
			r := pyoracle.Row{"id": fmt.Sprint(i), "region": fmt.Sprintf("r%d", i%partitionCount), "amount": fmt.Sprintf("%d.%02d", i*version, i%100),
				"at": fmt.Sprintf("2026-01-%02d 10:00:00.%03d", 1+i%28, i%1000), "note": fmt.Sprintf("version %d of row %d, which is of some length so that batches fill", version, i)}
			if i%37 == 0 {
				r["note"] = nil
			}
			out = append(out, r)
		}
		return out
	}
	def.Batches = [][]pyoracle.Row{batch(1, rowCount)}
	if _, err := py.WritePaimon(ctx, def); err != nil {
		return nil, err
	}
	before, err := acctest.Inventory(t.dir)
	if err != nil {
		return nil, err
	}
	def.Batches = [][]pyoracle.Row{batch(2, rowCount/10)}
	if _, err := py.WritePaimon(ctx, def); err != nil {
		return nil, err
	}
	after, err := acctest.Inventory(t.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Sorted(maps.Keys(after)) {
		if before[f] != after[f] {
			t.last = append(t.last, f)
		}
	}
	rows, err := py.ReadPaimon(ctx, dir, def.Table, 0)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		t.rows[keyOf(r)] = r
	}
	if len(t.rows) != rowCount {
		return nil, fmt.Errorf("the template table has %d rows, it should have %d", len(t.rows), rowCount)
	}
	return t, nil
}

func keyOf(r pyoracle.Row) string { return fmt.Sprint(r["region"], "/", r["id"]) }

// copyTo copies the template; without the last commit, its files come later.
func (t *template) copyTo(dir string, withLast bool) error {
	if err := os.CopyFS(dir, os.DirFS(t.dir)); err != nil || withLast {
		return err
	}
	for _, f := range t.last {
		if err := os.Remove(filepath.Join(dir, f)); err != nil {
			return err
		}
	}
	// The hint of the newest snapshot is one of the files: it names the first.
	return os.WriteFile(filepath.Join(dir, "snapshot", "LATEST"), []byte("1"), 0o644)
}

// commitLast adds the last commit, the hint at the end.
func (t *template) commitLast(dir string) error {
	for _, f := range t.last {
		if filepath.Base(f) == "LATEST" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(t.dir, f))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "snapshot", "LATEST"), []byte("2"), 0o644)
}

// alive says whether a process runs; a zombie does not.
func alive(pid int) bool {
	return processState(pid) != 0 && processState(pid) != 'Z'
}

func send(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil {
		return fmt.Errorf("signal %s to process %d: %w", s, pid, err)
	}
	return nil
}
