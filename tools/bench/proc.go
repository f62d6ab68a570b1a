package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of CPU times in /proc (USER_HZ, 100 on every architecture
// that Go supports).
const tick = 10 * time.Millisecond

// loadAverage is the machine's, of the last 1, 5 and 15 minutes.
func loadAverage() (string, error) {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	f := strings.Fields(string(data))
	return strings.Join(f[:min(3, len(f))], " "), nil
}

// cpu is the CPU time a process has used (proc(5), fields 14 and 15 of
// /proc/PID/stat).
func cpu(pid int) (user, system time.Duration, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseStat(data)
}

func parseStat(data []byte) (user, system time.Duration, err error) {
	// The command's name, field 2, is in brackets and may hold anything.
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 13 {
		return 0, 0, fmt.Errorf("/proc/PID/stat: found %d fields after the name; required: 13", len(f))
	}
	u, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, 0, err
	}
	s, err := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(u) * tick, time.Duration(s) * tick, err
}

// highWater is the most memory a process has had resident, in bytes (VmHWM).
func highWater(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseHighWater(string(data))
}

func parseHighWater(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("/proc/PID/status: found no VmHWM")
}

// machine is the CPU time everything on the machine has used, and what a
// hypervisor took away.
func machine() (time.Duration, error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat: found %q; required: cpu and eight times", line)
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7, 8} { // all but idle and iowait
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// usage is what one process has used up to the last sample.
type usage struct {
	peak         int64 // bytes
	user, system time.Duration
	samples      int
}

// watcher samples the children of a process until it is stopped.
type watcher struct {
	end, done chan struct{}
	seen      map[int]usage
}

// sampleEvery is how often children are looked at: the kernel keeps their peaks,
// and looking takes processor time that what is measured could have.
const sampleEvery = 100 * time.Millisecond

// watchChildren samples those children of the process whose program has the name.
func watchChildren(parent int, name string) *watcher {
	w := &watcher{end: make(chan struct{}), done: make(chan struct{}), seen: map[int]usage{}}
	go func() {
		defer close(w.done)
		t := time.NewTicker(sampleEvery)
		defer t.Stop()
		for {
			w.sample(parent, name)
			select {
			case <-t.C:
			case <-w.end:
				return
			}
		}
	}()
	return w
}

// sample looks once. A process may end between two reads: what is known of it stays.
func (w *watcher) sample(parent int, name string) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		return
	}
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for _, text := range strings.Fields(string(data)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				continue
			}
			if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || filepath.Base(exe) != name {
				continue
			}
			peak, err := highWater(pid)
			if err != nil {
				continue
			}
			user, system, err := cpu(pid)
			if err != nil {
				continue
			}
			w.seen[pid] = usage{peak: peak, user: user, system: system, samples: w.seen[pid].samples + 1}
		}
	}
}

// stop ends the sampling. Terraform starts the provider several times; the one
// that did the work is returned, with the highest peak of all.
func (w *watcher) stop() (usage, error) {
	close(w.end)
	<-w.done
	if len(w.seen) == 0 {
		return usage{}, errors.New("found no process of the provider below terraform; required: Linux with /proc/PID/task/TID/children")
	}
	var most usage
	var peak int64
	for _, u := range w.seen {
		peak = max(peak, u.peak)
		if u.user+u.system >= most.user+most.system {
			most = u
		}
	}
	most.peak = peak
	return most, nil
}

// meter measures CPU and wall time of one turn.
type meter struct {
	b      *bench
	from   time.Time
	before cpuTimes
}

// cpuTimes are CPU times since the start of whoever used them.
type cpuTimes struct{ machine, servers, flink, self time.Duration }

func (b *bench) meter() (*meter, error) {
	t, err := b.cpuTimes()
	return &meter{b: b, from: time.Now(), before: t}, err
}

func (b *bench) cpuTimes() (t cpuTimes, err error) {
	if t.machine, err = machine(); err != nil {
		return t, err
	}
	for _, p := range b.stack.Status() {
		user, system, err := cpu(p.PID)
		if err != nil {
			return t, fmt.Errorf("server %s: %w", p.Name, err)
		}
		switch {
		case strings.Contains(p.Name, "flink") || strings.Contains(p.Name, "sql"):
			t.flink += user + system
		default:
			t.servers += user + system
		}
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			return t, err
		}
		t.self += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return t, nil
}

// stop returns what was used since the meter was started.
func (m *meter) stop() (load, error) {
	wall := time.Since(m.from)
	t, err := m.b.cpuTimes()
	if err != nil {
		return load{}, err
	}
	l := load{wall: wall, servers: t.servers - m.before.servers, flink: t.flink - m.before.flink}
	l.other = max(0, t.machine-m.before.machine-l.servers-l.flink-(t.self-m.before.self))
	return l, nil
}

const (
	quietShare = 0.15 // of one core
	quietLimit = 30 * time.Second
	quietEvery = 500 * time.Millisecond
)

// settle waits, for a bounded time, until the servers and Flink have nothing
// left to do for the turn before: flushes, snapshots, compactions, collections.
func (b *bench) settle(ctx context.Context) (time.Duration, error) {
	from := time.Now()
	for quiet := 0; quiet < 3 && time.Since(from) < quietLimit; {
		m, err := b.meter()
		if err != nil {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(quietEvery):
		}
		l, err := m.stop()
		if err != nil {
			return 0, err
		}
		if float64(l.servers+l.flink) < quietShare*float64(l.wall) {
			quiet++
		} else {
			quiet = 0
		}
	}
	return time.Since(from), nil
}
