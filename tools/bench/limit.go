package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"golang.org/x/sync/errgroup"
)

const (
	limitName = "encoded beforehand"
	// Batches as large as the provider makes them.
	limitBytes = 1 << 20
	limitRows  = 32_000
)

// limit sends batches that were encoded beforehand: nothing is read, merged or
// encoded while it is measured, so that it shows what the servers take.
type limit struct {
	b       *bench
	source  string
	batches [][]*row.Batch // by bucket, of the source
}

func (m *limit) load(ctx context.Context, j job) (load, error) {
	table := fmt.Sprintf("limit_%d", j.round)
	info, err := m.b.cluster.create(ctx, table, m.b.tableDir(j.source))
	if err != nil {
		return load{}, err
	}
	if m.source != j.source {
		// Every table of the source has the same schema ID and formats.
		if m.batches, err = encodeTable(ctx, m.b.tableDir(j.source), info); err != nil {
			return load{}, err
		}
		m.source = j.source
		if _, err := m.b.settle(ctx); err != nil {
			return load{}, err
		}
	}
	w, err := m.b.cluster.client.NewWriter(ctx, info, fluss.WriterConfig{})
	if err != nil {
		return load{}, err
	}
	defer w.Close()
	measure, err := m.b.meter()
	if err != nil {
		return load{}, err
	}
	before, err := cpuSeconds()
	if err != nil {
		return load{}, err
	}
	from := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	for bucket, batches := range m.batches {
		g.Go(func() error {
			return sendAll(gctx, w.Bucket(fluss.BucketID{PartitionID: -1, Bucket: int32(bucket)}), batches)
		})
	}
	if err := g.Wait(); err != nil {
		return load{}, err
	}
	took := time.Since(from)
	after, err := cpuSeconds()
	if err != nil {
		return load{}, err
	}
	l, err := measure.stop()
	if err != nil {
		return load{}, err
	}
	l.took, l.client = took, time.Duration((after-before)*float64(time.Second))
	if err := w.Drain(ctx); err != nil {
		return load{}, err
	}
	return l, m.b.loaded(ctx, table, j.rows)
}

// sendAll sends one bucket's batches and waits for their acknowledgements.
func sendAll(ctx context.Context, to *fluss.BucketWriter, batches []*row.Batch) error {
	for _, batch := range batches {
		// A batch that fails ends its bucket, whose error Flush gives.
		if err := to.Send(ctx, batch, func(fluss.Ack) {}); err != nil {
			return err
		}
	}
	return to.Flush(ctx)
}
