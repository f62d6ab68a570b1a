package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
)

// group is some schedules that a fault of a server hits together: each waits at
// its point until all have come to theirs.
type group struct {
	c     *cluster
	fault Fault
	runs  []*Schedule
	rnd   *rand.Rand

	mu      sync.Mutex
	waiting map[*run]bool
	gone    map[*run]bool
	all     chan struct{} // closed when everybody waits or has left
	done    chan struct{} // closed when the fault has hit
	over    chan struct{} // closed when the servers are well again
	// set before done is closed
	evidence []string
	err      error
	// set before over is closed
	mended error
}

func newGroup(c *cluster, list []*Schedule) *group {
	first := list[0]
	return &group{c: c, fault: first.Fault, runs: list, rnd: rand.New(rand.NewPCG(first.Seed, 1)), waiting: map[*run]bool{}, gone: map[*run]bool{},
		all: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{})}
}

// execute runs the group's schedules side by side.
func (g *group) execute(ctx context.Context, u *suite) []*Report {
	reports := make([]*Report, len(g.runs))
	var wg sync.WaitGroup
	for i, s := range g.runs {
		wg.Go(func() { reports[i] = u.execute(ctx, g.c, s, g) })
	}
	wg.Go(func() { g.hit(ctx) })
	wg.Wait()
	return reports
}

// hit waits for the schedules, makes the fault hit, lets them go on, and mends
// the servers.
func (g *group) hit(ctx context.Context) {
	defer close(g.over)
	select {
	case <-g.all:
	case <-ctx.Done():
		g.err = ctx.Err()
		close(g.done)
		return
	}
	g.mu.Lock()
	var waiting []*run
	for r := range g.waiting {
		waiting = append(waiting, r)
	}
	g.mu.Unlock()
	if len(waiting) == 0 {
		g.err = errors.New("nobody reached the fault's point")
		close(g.done)
		return
	}
	evidence, mend, err := g.inject(ctx, waiting)
	g.evidence, g.err = evidence, err
	close(g.done)
	if mend != nil {
		g.mended = mend()
	}
}

// arrive waits at the schedule's point for the fault.
func (g *group) arrive(ctx context.Context, r *run) error {
	g.mu.Lock()
	g.waiting[r] = true
	g.count()
	g.mu.Unlock()
	select {
	case <-g.done:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the others of the group: %w", ctx.Err())
	}
	if g.err != nil {
		return g.err
	}
	for _, e := range g.evidence {
		r.hit("%s", e)
	}
	return nil
}

// leave says that the schedule's first command has ended, or will not come.
func (g *group) leave(r *run) {
	g.mu.Lock()
	g.gone[r] = true
	g.count()
	g.mu.Unlock()
}

// await waits until the servers are well again.
func (g *group) await(r *run) {
	<-g.over
	if g.mended != nil && !r.mendFailed {
		r.mendFailed = true
		r.differ("mending the servers: %v", g.mended)
	}
}

// count needs mu.
func (g *group) count() {
	here := map[*run]bool{}
	for r := range g.waiting {
		here[r] = true
	}
	for r := range g.gone {
		here[r] = true
	}
	if len(here) == len(g.runs) {
		select {
		case <-g.all:
		default:
			close(g.all)
		}
	}
}
