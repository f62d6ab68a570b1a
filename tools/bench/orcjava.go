package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

//go:embed ReadTable.java
var readTable []byte

const (
	orcReads = 10 // in one process each; the first ones, in which Java compiles, do not count
	orcWarm  = 5
)

// readORCTable measures reads, with merge, of a table of ORC files by Paimon
// Java and by this project, each in one process and on one thread, by the
// processor time they take. Both must see the same rows and sums.
func (b *bench) readORCTable(ctx context.Context) error {
	py, err := pyoracle.New(ctx)
	if err != nil {
		return err
	}
	warehouse := filepath.Join(b.dir, "orc-warehouse")
	rows := min(b.opt.rows, 1_000_000)
	logf("making a Paimon table of ORC files: %d rows", rows)
	if _, err := py.WriteBench(ctx, pyoracle.PaimonBench{Warehouse: warehouse, Table: database + ".t", Rows: rows, Buckets: 1, Options: map[string]string{"file.format": "orc"}}); err != nil {
		return err
	}
	java, err := b.compileJava(ctx, "ReadTable", readTable)
	if err != nil {
		return err
	}
	var out, log bytes.Buffer
	cmd := exec.CommandContext(ctx, java[0], append(java[1:], warehouse, database, "t", fmt.Sprint(orcReads))...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ReadTable: %w\n%s", err, log.String())
	}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var s scan
		var theirs, seen tableSums
		if _, err := fmt.Sscan(line, &theirs.rows, &theirs.sum, &s.peer); err != nil {
			return fmt.Errorf("ReadTable printed %q: %w", line, err)
		}
		from, err := cpuSeconds()
		if err != nil {
			return err
		}
		if seen, err = readPaimon(ctx, warehouse); err != nil {
			return err
		}
		until, err := cpuSeconds()
		if err != nil {
			return err
		}
		if seen != theirs {
			return fmt.Errorf("a read of Paimon Java gave %+v, of this reader %+v", theirs, seen)
		}
		s = scan{ours: float64(seen.rows) / (until - from), peer: float64(seen.rows) / s.peer}
		logf("reading the table: %.0f rows/s, Paimon Java %.0f", s.ours, s.peer)
		if i >= orcWarm {
			b.results.merges = append(b.results.merges, s)
		}
	}
	return nil
}

type tableSums struct {
	rows int
	sum  int64
}

func readPaimon(ctx context.Context, warehouse string) (s tableSums, err error) {
	fs, root, err := storage.Open(warehouse, nil)
	if err != nil {
		return s, err
	}
	table, err := paimon.OpenCatalog(fs, root).Table(ctx, database, "t")
	if err != nil {
		return s, err
	}
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		return s, err
	}
	plan, err := table.Plan(ctx, snap)
	if err != nil {
		return s, err
	}
	for _, p := range plan.Partitions {
		for _, bucket := range p.Buckets {
			if name := bucket.Files[0].Name; !strings.HasSuffix(name, ".orc") {
				return s, fmt.Errorf("the table has the data file %s, required ORC", name)
			}
			rows, err := table.ReadBucket(ctx, plan, p, bucket, paimon.ReadOptions{})
			if err != nil {
				return s, err
			}
			for {
				refs, err := rows.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return s, errors.Join(err, rows.Close())
				}
				s.add(refs)
			}
			if err := rows.Close(); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// add sums what ReadTable.java sums: numbers, and the lengths of strings.
func (s *tableSums) add(refs *paimon.Refs) {
	s.rows += refs.Len()
	for k, pos := range refs.Pos {
		src := int32(0)
		if refs.Src != nil {
			src = refs.Src[k]
		}
		i := int(pos)
		for _, v := range refs.Batches[src] {
			if v.IsNull(i) {
				continue
			}
			switch v.Kind {
			case vector.Int32:
				s.sum += int64(v.Int32s[i])
			case vector.Int64:
				s.sum += v.Int64s[i]
			case vector.Float64:
				s.sum += int64(v.Float64s[i])
			case vector.Bytes:
				s.sum += int64(v.Offsets[i+1] - v.Offsets[i])
			}
		}
	}
}

func (r *results) compareORCRead() comparison {
	a, b := middleScan(r.merges, func(s scan) float64 { return s.ours }), middleScan(r.merges, func(s scan) float64 { return s.peer })
	return comparison{Name: orcRead, Ours: a, Peer: b, Unit: "rows/CPU s", Ratio: round(a/b, 2), required: 1.5,
		PeerCommand: fmt.Sprintf("Paimon's TableRead on Java %s, its process's processor time once warm; 10 columns, two overlapping files, median of %d", r.javaVersion, len(r.merges))}
}

func middleScan(scans []scan, get func(scan) float64) float64 {
	var all []float64
	for _, s := range scans {
		all = append(all, get(s))
	}
	slices.Sort(all)
	return round(all[len(all)/2], 0)
}
