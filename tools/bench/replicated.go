package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

// replicatedServers is how many tablet servers the loads of this phase have.
const replicatedServers = 3

// replicatedNames are the comparisons by replication factor.
var replicatedNames = map[int]string{1: loadServers3, 3: loadReplicated3}

// replicatedName is what a load is called in the results.
func replicatedName(name string, replication int) string {
	return fmt.Sprintf("%s, %d servers, replication %d", name, replicatedServers, replication)
}

// replicatedLoads takes turns with the Java client on clusters of several tablet
// servers, which share the machine's cores with each other.
func (b *bench) replicatedLoads(ctx context.Context) error {
	for _, replication := range []int{1, 3} {
		if !b.opt.wants(replicatedNames[replication]) {
			continue
		}
		if err := b.replicatedLoad(ctx, replication); err != nil {
			return fmt.Errorf("replication %d: %w", replication, err)
		}
	}
	return nil
}

func (b *bench) replicatedLoad(ctx context.Context, replication int) error {
	// The servers before have the machine's memory and, now and then, its cores.
	if err := b.stop(ctx); err != nil {
		return err
	}
	b.stack, b.cluster = nil, nil
	// Terraform's states are those of another cluster.
	dir := b.dir
	b.dir = filepath.Join(dir, fmt.Sprintf("replication-%d", replication))
	defer func() { b.dir = dir }()
	if err := b.startWith(ctx, stack.Options{TabletServers: replicatedServers, Replication: replication}); err != nil {
		return err
	}
	for _, table := range []string{warmUp, source} {
		if err := b.makeSource(ctx, table); err != nil {
			return err
		}
	}
	command, err := b.compileJava(ctx, "LoadTable", loadTable)
	if err != nil {
		return err
	}
	turns := []turn{
		{replicatedName(javaName, replication), source, func(ctx context.Context, j job) (load, error) {
			return b.loadBy(ctx, j, "java", append(command, fmt.Sprint(javaThreads)))
		}},
		{replicatedName(ours, replication), source, b.apply},
	}
	for _, t := range turns {
		if _, err := t.run(ctx, job{source: warmUp, rows: b.warmRows()}); err != nil {
			return fmt.Errorf("round that does not count, %s: %w", t.name, err)
		}
	}
	for round := range b.opt.rounds {
		for i := range turns {
			t := turns[(i+round)%len(turns)]
			if err := b.take(ctx, t, job{source: t.source, rows: b.rowsOf(t.source), round: round + 1}); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, t.name, err)
			}
		}
	}
	return nil
}

func (r *results) compareReplicated(replication int) comparison {
	own, java := replicatedName(ours, replication), replicatedName(javaName, replication)
	a, b := r.rate(own, wall), r.rate(java, wall)
	return comparison{Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/b, 2),
		PeerCommand: fmt.Sprintf("as %s, on %d tablet servers of one machine with replication factor %d; %d rows, medians of %d; the loads alone: %.0f and %.0f rows/s",
			loadVsJava, replicatedServers, replication, r.rows, len(r.of(java)), r.rate(own, took), r.rate(java, took))}
}
