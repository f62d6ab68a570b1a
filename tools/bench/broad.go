package main

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"syscall"
)

//go:embed broad.py
var broadScript []byte

const (
	// broad is a table whose rows are large: 200 columns with values of 100 KB
	// are 20 MB a row.
	broad        = "broad"
	broadColumns = 200
	broadValue   = 100_000 // bytes
)

// broadRows are enough for several batches of every bucket: a gigabyte at the
// full size.
func (b *bench) broadRows() int { return min(max(b.opt.rows/40_000, 16), 50) }

// broadLoads promotes the table of large values, for the provider's memory.
func (b *bench) broadLoads(ctx context.Context) error {
	script, err := b.python(ctx, "broad.py", broadScript)
	if err != nil {
		return err
	}
	rows := b.broadRows()
	logf("making the Paimon table %s.%s: %d rows of %d columns with values of %d bytes", database, broad, rows, broadColumns, broadValue)
	args := append(script[1:], b.stack.Warehouse, database+"."+broad, fmt.Sprint(rows), fmt.Sprint(broadColumns), fmt.Sprint(broadValue), fmt.Sprint(buckets))
	if out, err := exec.CommandContext(ctx, script[0], args...).CombinedOutput(); err != nil {
		return fmt.Errorf("broad.py: %w\n%s", err, lastLines(string(out), 20))
	}
	syscall.Sync()
	t := turn{name: oursBroad, source: broad, run: b.apply}
	for round := range b.opt.rounds {
		if err := b.take(ctx, t, job{source: broad, rows: rows, round: round + 1}); err != nil {
			return fmt.Errorf("round %d, %s: %w", round+1, t.name, err)
		}
	}
	return nil
}
