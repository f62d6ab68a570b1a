package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

const (
	// zooKeeperSession is the servers' session timeout, shortened so that a dead
	// one is noticed soon.
	zooKeeperSession = 6 * time.Second
	// tabletDiskBytes is the size of a tablet server's file system.
	tabletDiskBytes = 768 << 20
)

// inject makes the group's fault hit while its runs wait at their points. mend
// makes the servers well again.
func (g *group) inject(ctx context.Context, waiting []*run) (evidence []string, mend func() error, err error) {
	switch g.fault {
	case tabletKilled:
		return g.killTablet(ctx, waiting)
	case leaderMoved:
		return g.moveLeader(ctx, waiting)
	case coordinatorAnew:
		return g.stopCoordinator(ctx)
	case zooKeeperPaused:
		return g.pauseZooKeeper(ctx)
	case dataDirFull:
		return g.fillDisk(ctx, waiting)
	}
	return nil, nil, fmt.Errorf("no way to inject %s", g.fault)
}

func (g *group) pause(ctx context.Context, low, high time.Duration) time.Duration {
	d := low + time.Duration(g.rnd.Int64N(int64(high-low)+1))
	sleep(ctx, d)
	return d
}

// leaders are the leaders of the waiting runs' buckets, by run and bucket.
func (g *group) leaders(ctx context.Context, waiting []*run) (map[string]int32, error) {
	out := map[string]int32{}
	for _, r := range waiting {
		parts, err := g.c.client.ListPartitions(ctx, r.path())
		if err != nil || len(parts) == 0 {
			continue // no table yet
		}
		req := &flusspb.MetadataRequest{}
		names := map[int64]string{}
		for _, p := range parts {
			req.PartitionsId = append(req.PartitionsId, p.ID)
			names[p.ID] = p.Name
		}
		res, err := askMetadata(ctx, g.c.stack.Bootstrap, req)
		if err != nil {
			return nil, err
		}
		for _, p := range res.GetPartitionMetadata() {
			for _, b := range p.GetBucketMetadata() {
				out[fmt.Sprintf("%s %s/%d", r.db, names[p.GetPartitionId()], b.GetBucketId())] = b.GetLeaderId()
			}
		}
	}
	return out, nil
}

// askMetadata asks a server for metadata, apart from the client under test.
func askMetadata(ctx context.Context, server string, req *flusspb.MetadataRequest) (*flusspb.MetadataResponse, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	body, err := proto.Marshal(req)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	out = binary.BigEndian.AppendUint16(out, uint16(wire.GetMetadata))
	out = binary.BigEndian.AppendUint16(out, 0)
	out = binary.BigEndian.AppendUint32(out, 1)
	if _, err := conn.Write(append(out, body...)); err != nil {
		return nil, err
	}
	answer, err := frame(conn, nil)
	if err != nil {
		return nil, err
	}
	if answer[4] != 0 {
		return nil, fmt.Errorf("metadata: an answer of type %d", answer[4])
	}
	res := &flusspb.MetadataResponse{}
	return res, proto.Unmarshal(answer[9:], res)
}

// busiest is the tablet server that leads most of the buckets; any where there
// are none.
func (g *group) busiest(leaders map[string]int32) int {
	count := map[int32]int{}
	for _, id := range leaders {
		if id >= 0 {
			count[id]++
		}
	}
	best, most := g.rnd.IntN(g.c.opt.TabletServers), 0
	for _, id := range slices.Sorted(maps.Keys(count)) {
		if count[id] > most && int(id) < g.c.opt.TabletServers {
			best, most = int(id), count[id]
		}
	}
	return best
}

func (g *group) killTablet(ctx context.Context, waiting []*run) ([]string, func() error, error) {
	before, err := g.leaders(ctx, waiting)
	if err != nil {
		return nil, nil, err
	}
	id := g.busiest(before)
	name := fmt.Sprintf("tablet-%d", id)
	pid, err := g.c.processID(name)
	if err != nil {
		return nil, nil, err
	}
	if err := g.c.stack.KillTablet(ctx, id); err != nil {
		return nil, nil, err
	}
	if alive(pid) {
		return nil, nil, fmt.Errorf("%s (process %d) lives on", name, pid)
	}
	led := 0
	for _, leader := range before {
		if int(leader) == id {
			led++
		}
	}
	evidence := []string{fmt.Sprintf("%s (process %d), which led %d of %d buckets of the waiting tables, was killed (SIGKILL)", name, pid, led, len(before))}
	return evidence, func() error {
		g.pause(ctx, zooKeeperSession+time.Second, zooKeeperSession+4*time.Second)
		return g.c.startTablet(ctx, id)
	}, nil
}

// startTablet starts a tablet server, again if its former session still holds
// its place.
func (c *cluster) startTablet(ctx context.Context, id int) error {
	var err error
	for range 5 {
		if err = c.stack.StartTablet(ctx, id); err == nil || ctx.Err() != nil {
			break
		}
		sleep(ctx, 2*time.Second)
	}
	return err
}

func (g *group) moveLeader(ctx context.Context, waiting []*run) ([]string, func() error, error) {
	before, err := g.leaders(ctx, waiting)
	if err != nil {
		return nil, nil, err
	}
	id := g.busiest(before)
	if err := g.c.stack.StopTablet(ctx, id); err != nil {
		return nil, nil, err
	}
	mend := func() error {
		g.pause(ctx, time.Second, 4*time.Second)
		return g.c.startTablet(ctx, id)
	}
	limit, done := context.WithTimeout(ctx, 20*time.Second)
	defer done()
	for {
		after, err := g.leaders(limit, waiting)
		if err == nil {
			var moved []string
			for _, b := range slices.Sorted(maps.Keys(before)) {
				if int(before[b]) == id && after[b] != before[b] && after[b] >= 0 {
					moved = append(moved, fmt.Sprintf("%s from %d to %d", b, before[b], after[b]))
				}
			}
			switch {
			case len(moved) > 0:
				return []string{fmt.Sprintf("tablet-%d was stopped in good order; leaders moved: %s", id, strings.Join(moved[:min(len(moved), 4)], ", "))}, mend, nil
			case len(before) == 0:
				return []string{fmt.Sprintf("tablet-%d was stopped in good order: the leaders of the journal and of later tables are elsewhere", id)}, mend, nil
			}
		}
		if limit.Err() != nil {
			return nil, mend, fmt.Errorf("no leader moved off tablet-%d: %w", id, errors.Join(err, limit.Err()))
		}
		sleep(limit, 200*time.Millisecond)
	}
}

func (g *group) stopCoordinator(ctx context.Context) ([]string, func() error, error) {
	pid, err := g.c.processID("coordinator")
	if err != nil {
		return nil, nil, err
	}
	how, hard := "stopped in good order", g.rnd.IntN(2) == 0
	if hard {
		how, err = "killed (SIGKILL)", g.c.stack.KillCoordinator(ctx)
	} else {
		err = g.c.stack.StopCoordinator(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	return []string{fmt.Sprintf("the coordinator (process %d) was %s", pid, how)}, func() error {
		g.pause(ctx, 500*time.Millisecond, 4*time.Second)
		if hard {
			sleep(ctx, zooKeeperSession)
		}
		return g.c.startCoordinator(ctx)
	}, nil
}

func (c *cluster) startCoordinator(ctx context.Context) error {
	var err error
	for range 5 {
		if err = c.stack.StartCoordinator(ctx); err == nil || ctx.Err() != nil {
			break
		}
		sleep(ctx, 2*time.Second)
	}
	if err != nil {
		return err
	}
	limit, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	_, err = c.tablets(limit, c.opt.TabletServers)
	return err
}

func (c *cluster) restartCoordinator(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.stack.StopCoordinator(ctx); err != nil {
		return err
	}
	return c.startCoordinator(ctx)
}

func (g *group) pauseZooKeeper(ctx context.Context) ([]string, func() error, error) {
	pid, err := g.c.processID("zookeeper")
	if err != nil {
		return nil, nil, err
	}
	if err := g.c.stack.PauseZooKeeper(); err != nil {
		return nil, nil, err
	}
	sleep(ctx, 50*time.Millisecond)
	if s := processState(pid); s != 'T' {
		return nil, nil, fmt.Errorf("ZooKeeper (process %d) is in state %q, not stopped", pid, s)
	}
	low, high := time.Second, 4*time.Second
	if g.runs[0].Variant == "past-session" {
		low, high = zooKeeperSession+2*time.Second, zooKeeperSession+6*time.Second
	}
	return []string{fmt.Sprintf("ZooKeeper (process %d) was paused (state T), for %s or more", pid, low)}, func() error {
		g.pause(ctx, low, high)
		if err := g.c.stack.ResumeZooKeeper(); err != nil {
			return err
		}
		return g.c.revive(ctx)
	}, nil
}

// revive starts servers that ended because of the fault, or hang, and waits for
// all.
func (c *cluster) revive(ctx context.Context) error {
	c.mending.Lock()
	defer c.mending.Unlock()
	sleep(ctx, 2*time.Second)
	for _, p := range c.stack.Status() {
		var id int
		var err error
		_, other := fmt.Sscanf(p.Name, "tablet-%d", &id)
		switch {
		case other == nil && p.Alive:
			err = c.endHanging(ctx, id)
		case other == nil:
			err = c.startTablet(ctx, id)
		case p.Name == "coordinator" && !p.Alive:
			err = c.startCoordinator(ctx)
		}
		if err != nil {
			return err
		}
	}
	limit, done := context.WithTimeout(ctx, time.Minute)
	defer done()
	_, err := c.tablets(limit, c.opt.TabletServers)
	return err
}

// endHanging kills a tablet server that runs and takes no connections, and
// starts it anew. Fluss 0.9.1 hangs like that for good when it shuts down because
// its disk was full and RocksDB waits, in closing, for what it can't write; the
// others go on to take it for a leader, as its session lives.
func (c *cluster) endHanging(ctx context.Context, id int) error {
	name := fmt.Sprintf("tablet-%d", id)
	for range 3 {
		err := stack.FlussServing(ctx, c.stack.Tablets[id])
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return ctx.Err()
		}
		sleep(ctx, time.Second)
	}
	if _, err := c.processID(name); err != nil {
		return errors.Join(ctx.Err(), c.startTablet(ctx, id)) // it has ended meanwhile
	}
	c.logf("%s: %s hangs in shutting down; it is killed and started anew", c.name, name)
	if err := c.stack.KillTablet(ctx, id); err != nil {
		return err
	}
	sleep(ctx, zooKeeperSession+time.Second)
	return c.startTablet(ctx, id)
}

// fillDisk leaves a tablet server without room for data: a file takes all that
// is left of its small file system or, where none could be mounted, the process
// may not write a file beyond its present size.
func (g *group) fillDisk(ctx context.Context, waiting []*run) ([]string, func() error, error) {
	leaders, err := g.leaders(ctx, waiting)
	if err != nil {
		return nil, nil, err
	}
	id := g.busiest(leaders)
	name := fmt.Sprintf("tablet-%d", id)
	pid, err := g.c.processID(name)
	if err != nil {
		return nil, nil, err
	}
	var what string
	var free func() error
	dir := filepath.Join(g.c.opt.Dir, "data", name)
	if slices.Contains(g.c.mounts, dir) {
		what, err = fill(dir)
		free = func() error { return os.Remove(filepath.Join(dir, "filler")) }
	} else {
		old := unix.Rlimit{}
		err = unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: unix.RLIM_INFINITY}, &old)
		what = fmt.Sprintf("process %d may not make any file larger (RLIMIT_FSIZE 0)", pid)
		free = func() error {
			err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &old, nil)
			if errors.Is(err, syscall.ESRCH) {
				return nil
			}
			return err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return []string{fmt.Sprintf("%s has no room for data: %s", name, what)}, func() error {
		g.pause(ctx, 3*time.Second, 8*time.Second)
		if err := free(); err != nil {
			return err
		}
		return g.c.revive(ctx)
	}, nil
}

// fill takes all free space of a small file system.
func fill(dir string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", err
	}
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	// All at once but for some, which the server may take or free meanwhile.
	if most := int64(s.Bavail)*s.Bsize - 32<<20; most > 0 {
		if err := unix.Fallocate(int(f.Fd()), 0, 0, most); err != nil {
			return "", fmt.Errorf("filling %s: %w", dir, err)
		}
	}
	block := bytes.Repeat([]byte{1}, 4096)
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return "", err
	}
	for range 1 << 16 {
		if _, err := f.Write(block); err != nil {
			break
		}
	}
	if err := unix.Statfs(dir, &s); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of %d blocks of its file system are free", s.Bavail, s.Blocks), nil
}
