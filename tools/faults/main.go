// Command faults promotes tables on real servers while things go wrong, and
// checks that each promotion ends right: with the right rows, or with a clear
// error after which a later apply finishes.
//
// usage: faults [-n N] [-seed S] [-out faults.jsonl] [-workers N] [-heartbeat D] [-pair STAGE/FAULT[/SEED],...] [-keep]
//
// It builds the provider with the build tag faultpoints, starts a stack with one
// server and one with three, and runs N schedules (0: every pair of stage and
// fault twice). The same seed gives the same schedules. Each writes one line of
// the report; the exit status is not 0 when any failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

func main() { os.Exit(program()) }

func program() int {
	n := flag.Int("n", 0, "number of schedules; 0: every pair twice")
	seed := flag.Uint64("seed", 0, "seed of the schedules; 0: a random one, which is printed")
	out := flag.String("out", "faults.jsonl", "the report, one JSON object a schedule")
	workers := flag.Int("workers", 3, "schedules at a time on the stack with one server")
	only := flag.String("pair", "", "run only STAGE/FAULT, or STAGE/FAULT/SEED of a report's line, several in this order with commas; * is any, the faults also servers and own")
	keep := flag.Bool("keep", false, "keep the folder of the run")
	list := flag.Bool("list", false, "print the schedules and the pairs that are left out, run nothing")
	flag.DurationVar(&heartbeat, "heartbeat", heartbeat, "interval of the journal's heartbeats")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64() >> 12
	}
	schedules, err := chosen(*seed, *n, *only)
	if err != nil {
		return fail(err)
	}
	if *list {
		for _, s := range schedules {
			fmt.Printf("%s: %s#%d %s %s\n", s, s.Point, s.Nth, s.Variant, s.Drop)
		}
		for p, why := range senseless {
			fmt.Printf("not run: %s/%s: %s\n", p.stage, p.fault, why)
		}
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := &suiteRun{out: *out, began: time.Now(), workers: *workers, keep: *keep}
	p.logf("seed %d, %d schedules", *seed, len(schedules))
	failed, err := p.run(ctx, schedules)
	if err != nil {
		return fail(err)
	}
	if failed > 0 {
		return 1
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "faults:", err)
	return 1
}

// chosen are the schedules of a seed, or those that match one of a list of
// STAGE/FAULT[/SEED].
func chosen(seed uint64, n int, only string) ([]*Schedule, error) {
	if only == "" {
		return plan(seed, n), nil
	}
	var all []*Schedule
	for one := range strings.SplitSeq(only, ",") {
		list, err := matching(seed, one)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if n > 0 && n < len(all) {
		all = all[:n]
	}
	for i, s := range all {
		s.Number = i + 1
	}
	return all, nil
}

// matching are the schedules of one STAGE/FAULT[/SEED].
func matching(seed uint64, only string) ([]*Schedule, error) {
	part := strings.Split(only, "/")
	if len(part) < 2 {
		return nil, fmt.Errorf("-pair %q: STAGE/FAULT or STAGE/FAULT/SEED required", only)
	}
	if len(part) == 3 {
		own, err := strconv.ParseUint(part[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("-pair %q: %w", only, err)
		}
		return []*Schedule{newSchedule(1, pair{Stage(part[0]), Fault(part[1])}, own)}, nil
	}
	all := slices.DeleteFunc(plan(seed, 0), func(s *Schedule) bool {
		switch {
		case part[0] != "*" && string(s.Stage) != part[0]:
			return true
		case part[1] == "servers" || part[1] == "own":
			return ofServers[s.Fault] != (part[1] == "servers")
		}
		return part[1] != "*" && string(s.Fault) != part[1]
	})
	if len(all) == 0 {
		return nil, fmt.Errorf("-pair %q: no such pair", only)
	}
	return all, nil
}

// suiteRun is one run of the program.
type suiteRun struct {
	out     string
	began   time.Time
	workers int
	keep    bool

	mu      sync.Mutex
	file    *os.File
	reports []*Report
}

func (p *suiteRun) logf(format string, args ...any) {
	fmt.Printf("%6.1fs %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

func (p *suiteRun) run(ctx context.Context, schedules []*Schedule) (failed int, err error) {
	root, err := stack.RepositoryRoot()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "fluss-faults-")
	if err != nil {
		return 0, err
	}
	if p.file, err = os.Create(p.out); err != nil {
		return 0, err
	}
	defer p.file.Close()
	u := &suite{dir: dir, provider: filepath.Join(dir, "bin", "terraform-provider-fluss"), logf: p.logf}
	if err := buildProvider(ctx, root, u.provider); err != nil {
		return 0, err
	}
	py, err := pyoracle.New(ctx)
	if err != nil {
		return 0, err
	}
	if u.tmpl, err = makeTemplate(ctx, py, filepath.Join(dir, "template")); err != nil {
		return 0, fmt.Errorf("the template table: %w", err)
	}
	own, groups := split(schedules)
	libs := os.Getenv("STACK_LIBS")
	single := &cluster{name: "one server", py: py, logf: p.logf, opt: stack.Options{Dir: filepath.Join(dir, "one"), TabletServers: 1, DieWithParent: true, Libs: libs, StartTimeout: startLimit}}
	triple := &cluster{name: "three servers", py: py, logf: p.logf, opt: stack.Options{Dir: filepath.Join(dir, "three"), TabletServers: 3, Replication: 3, DieWithParent: true,
		Libs: libs, StartTimeout: startLimit, ServerProperties: map[string]string{"zookeeper.client.session-timeout": strconv.Itoa(int(zooKeeperSession.Seconds())) + "s"}}}
	defer func() {
		err = errors.Join(err, single.stop(ctx), triple.stop(ctx))
		if failed == 0 && !p.keep {
			err = errors.Join(err, os.RemoveAll(dir))
		} else {
			p.logf("outputs of failed schedules, and the logs of the servers, are in %s", dir)
		}
	}()
	// One after another: eight Java processes that start at once take longer.
	for _, c := range []*cluster{single, triple} {
		if c == single && len(own) == 0 || c == triple && len(groups) == 0 {
			continue
		}
		if err := c.start(ctx); err != nil {
			return len(schedules), err
		}
		p.logf("%s: up", c.name)
	}
	var wg sync.WaitGroup
	var singleErr, tripleErr error
	wg.Go(func() { singleErr = p.alone(ctx, u, single, own) })
	wg.Go(func() { tripleErr = p.together(ctx, u, triple, groups) })
	wg.Wait()
	failed = p.summary(len(schedules))
	return failed, errors.Join(singleErr, tripleErr)
}

func buildProvider(ctx context.Context, root, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "faultpoints", "-o", to, ".")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the provider: %w\n%s", err, out)
	}
	return nil
}

// split parts the schedules into those whose fault is their own and groups of
// those that a fault of a server hits together.
func split(schedules []*Schedule) (own []*Schedule, groups [][]*Schedule) {
	byFault := map[string][]*Schedule{}
	var order []string
	for _, s := range schedules {
		if !ofServers[s.Fault] {
			own = append(own, s)
			continue
		}
		key := string(s.Fault) + s.Variant
		if byFault[key] == nil {
			order = append(order, key)
		}
		byFault[key] = append(byFault[key], s)
	}
	for _, key := range order {
		for part := range slices.Chunk(byFault[key], schedulesInGroup) {
			groups = append(groups, part)
		}
	}
	return own, groups
}

// alone runs schedules a few at a time on one stack.
func (p *suiteRun) alone(ctx context.Context, u *suite, c *cluster, schedules []*Schedule) error {
	queue := make(chan *Schedule)
	var wg sync.WaitGroup
	for range p.workers {
		wg.Go(func() {
			for s := range queue {
				p.report(u.execute(ctx, c, s, nil))
			}
		})
	}
	for i, s := range schedules {
		if i > 0 && i%25 == 0 {
			if err := c.healthy(ctx); err != nil && ctx.Err() == nil {
				p.logf("%s: not well: %v", c.name, err)
			}
		}
		select {
		case queue <- s:
		case <-ctx.Done():
		}
	}
	close(queue)
	wg.Wait()
	return ctx.Err()
}

// together runs the groups one after another, on a stack that is well before
// each.
func (p *suiteRun) together(ctx context.Context, u *suite, c *cluster, groups [][]*Schedule) error {
	for _, list := range groups {
		if err := c.healthy(ctx); err != nil {
			p.logf("%s: not well, it is made anew: %v", c.name, err)
			if err := c.anew(ctx); err != nil {
				return err
			}
		}
		for _, r := range newGroup(c, list).execute(ctx, u) {
			p.report(r)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// report writes one line.
func (p *suiteRun) report(r *Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports = append(p.reports, r)
	line, err := json.Marshal(r)
	if err == nil {
		_, err = p.file.Write(append(line, '\n'))
	}
	if err != nil {
		p.logf("the report: %v", err)
	}
	tried := "first apply was enough"
	if len(r.Later) > 0 {
		tried = fmt.Sprintf("%d later", len(r.Later))
	}
	p.logf("%-6s %s %s#%d %s %s (%.0f s, %s)", r.Verdict, r.Schedule, r.Point, r.Nth, r.Variant, r.Drop, r.Seconds, tried)
	for _, d := range r.Differences {
		p.logf("         %s", d)
	}
}

// summary prints what was covered and returns how many failed.
func (p *suiteRun) summary(wanted int) int {
	ok, failed := map[pair]int{}, wanted-len(p.reports)
	for _, r := range p.reports {
		if r.Verdict == "ok" {
			ok[pair{r.Stage, r.Fault}]++
		} else {
			failed++
		}
	}
	twice := 0
	for _, p := range pairs() {
		if ok[p] >= rounds {
			twice++
		}
	}
	p.logf("%d schedules of %d, %d failed; %d of %d pairs of stage and fault ok, %d of them %d times or more", len(p.reports), wanted, failed, len(ok), len(pairs()), twice, rounds)
	return failed
}
