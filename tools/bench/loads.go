package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// loadNames are the comparisons that the turns are taken for.
var loadNames = []string{loadVsFlink, loadVsJava, loadVsPyfluss, loadVsLimit, cpuVsJava, growth20M, memory2M, memory20M}

// turn is one way to load one table.
type turn struct {
	name   string
	source string
	run    func(ctx context.Context, j job) (load, error)
}

// job is what is to be loaded. Its round makes the names of the tables that it
// is loaded into.
type job struct {
	source string
	rows   int
	round  int // 0 does not count
}

// turns are those that the wanted comparisons need.
func (b *bench) turns(ctx context.Context) ([]turn, error) {
	var turns []turn
	if b.opt.wants(loadVsFlink) {
		peer, err := b.openFlink(ctx)
		if err != nil {
			return nil, err
		}
		b.results.flinkVersion = peer.version
		for _, p := range flinkParallelism {
			turns = append(turns, turn{flinkName(p), source, func(ctx context.Context, j job) (load, error) { return peer.load(ctx, j, p) }})
		}
	}
	if b.opt.wants(loadVsJava, cpuVsJava) {
		command, err := b.compileJava(ctx, "LoadTable", loadTable)
		if err != nil {
			return nil, err
		}
		turns = append(turns, turn{javaName, source, func(ctx context.Context, j job) (load, error) {
			return b.loadBy(ctx, j, "java", append(command, fmt.Sprint(javaThreads)))
		}})
	}
	if b.opt.wants(loadVsPyfluss) {
		command, err := b.python(ctx, "pyload.py", pyLoad)
		if err != nil {
			return nil, err
		}
		turns = append(turns, turn{pyflussName, source, func(ctx context.Context, j job) (load, error) { return b.loadBy(ctx, j, "pyfluss", command) }})
	}
	if b.opt.wants(loadVsLimit) {
		turns = append(turns, turn{limitName, source, (&limit{b: b}).load})
	}
	if b.opt.wants(loadVsFlink, loadVsJava, loadVsPyfluss, loadVsLimit, cpuVsJava, growth20M, memory2M) {
		turns = append(turns, turn{ours, source, b.apply})
	}
	if b.opt.wants(growth20M, memory20M) {
		turns = append(turns, turn{oursLarge, large, b.apply})
	}
	return turns, nil
}

// loads takes turns loading.
func (b *bench) loads(ctx context.Context) error {
	if err := b.makeSource(ctx, warmUp); err != nil {
		return err
	}
	if err := b.makeSource(ctx, source); err != nil {
		return err
	}
	turns, err := b.turns(ctx)
	if err != nil {
		return err
	}
	logf("a round with %d rows that does not count: the Java processes load and compile their code", b.warmRows())
	for _, t := range turns {
		if t.source == large {
			if err := b.makeSource(ctx, large); err != nil {
				return err
			}
			continue
		}
		if _, err := t.run(ctx, job{source: warmUp, rows: b.warmRows()}); err != nil {
			return fmt.Errorf("round that does not count, %s: %w", t.name, err)
		}
	}
	var errs []error
	for round := range b.opt.rounds {
		for i := range turns {
			// Another one begins each round: nobody always follows the same one.
			t := turns[(i+round)%len(turns)]
			err := b.take(ctx, t, job{source: t.source, rows: b.rowsOf(t.source), round: round + 1})
			if err == nil {
				continue
			}
			errs = append(errs, fmt.Errorf("round %d, %s: %w", round+1, t.name, err))
			logf("failed: %v", err)
			// A turn that is lost is an error of the run, which the others survive.
			if ctx.Err() != nil {
				return errors.Join(errs...)
			}
		}
	}
	return errors.Join(errs...)
}

// take waits until the servers are quiet, then measures one turn.
func (b *bench) take(ctx context.Context, t turn, j job) error {
	waited, err := b.settle(ctx)
	if err != nil {
		return err
	}
	average, err := loadAverage()
	if err != nil {
		return err
	}
	logf("round %d of %d: %s (servers quiet after %.1f s; load average %s)", j.round, b.opt.rounds, t.name, waited.Seconds(), average)
	l, err := t.run(ctx, j)
	if err != nil {
		return err
	}
	l.name, l.round, l.rows, l.loadAverage = t.name, j.round, j.rows, average
	logf("  %.2f s, %.0f rows/s; client %.2f s of CPU, peak %.0f MiB; servers %.2f s of CPU; the whole command %.2f s",
		l.took.Seconds(), l.rate(), l.client.Seconds(), mib(l.peak), l.servers.Seconds(), l.wall.Seconds())
	b.results.loads = append(b.results.loads, l)
	return nil
}

// loaded checks what a turn has written and drops it: the next one is to meet
// servers with as much to keep.
func (b *bench) loaded(ctx context.Context, table string, rows int) error {
	if err := b.cluster.holds(ctx, table, rows); err != nil || b.opt.keep {
		return err
	}
	return b.cluster.drop(ctx, table)
}

// aTurn bounds one load: a peer that hangs must not take the whole run.
const aTurn = 40 * time.Minute
