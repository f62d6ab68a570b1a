package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

//go:embed ReadTable.java
var readTable []byte

const (
	orcReads = 5 // that count
	javaWarm = 5 // reads in which Java compiles; they do not count
)

// readORCTable measures reads, with merge, of a table of ORC files by Paimon
// Java and by this project, in turns, each on one thread, by the processor time
// they take. Both must see the same rows and sums.
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
	command, err := b.compileJava(ctx, "ReadTable", readTable)
	if err != nil {
		return err
	}
	java, err := startReader(ctx, readerJava, append(command, warehouse, database, "t"))
	if err != nil {
		return err
	}
	defer java.end() //nolint:errcheck // ended with its error below
	for i := range javaWarm + orcReads {
		theirs, err := java.read()
		if err != nil {
			return err
		}
		seen, err := readOnce(ctx, warehouse, ".orc")
		if err != nil {
			return err
		}
		if seen.tableSums != theirs.tableSums {
			return fmt.Errorf("a read of Paimon Java gave %+v, of this reader %+v", theirs.tableSums, seen.tableSums)
		}
		s := scan{ours: float64(seen.rows) / seen.cpu, peer: float64(seen.rows) / theirs.cpu}
		logf("reading the table: %.0f rows a second of CPU, Paimon Java %.0f", s.ours, s.peer)
		if i >= javaWarm {
			b.results.merges = append(b.results.merges, s)
		}
	}
	return java.end()
}

type tableSums struct {
	rows int
	sum  int64
}

// readPaimon reads the table database.t, whose data files must have the suffix.
func readPaimon(ctx context.Context, warehouse, suffix string) (s tableSums, err error) {
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
	var at []int32
	for _, p := range plan.Partitions {
		for _, bucket := range p.Buckets {
			if name := bucket.Files[0].Name; !strings.HasSuffix(name, suffix) {
				return s, fmt.Errorf("the table has the data file %s, required are files of %s", name, suffix)
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
				s.add(refs, &at)
			}
			if err := rows.Close(); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// add sums what ReadTable.java sums: numbers, and the lengths of strings. It goes
// by columns, as whoever is given columns does; memory is kept from call to call.
func (s *tableSums) add(refs *paimon.Refs, memory *[]int32) {
	s.rows += refs.Len()
	if refs.Src == nil {
		for _, v := range refs.Batches[0] {
			s.sum += sumOf(v, refs.Pos)
		}
		return
	}
	for src, batch := range refs.Batches {
		at := (*memory)[:0]
		for k, pos := range refs.Pos {
			if int(refs.Src[k]) == src {
				at = append(at, pos)
			}
		}
		for _, v := range batch {
			s.sum += sumOf(v, at)
		}
		*memory = at
	}
}

func sumOf(v *vector.Vector, at []int32) (sum int64) {
	switch {
	case len(at) == 0:
	case v.Nulls != nil:
		for _, i := range at {
			if !v.Nulls[i] {
				sum += valueOf(v, i)
			}
		}
	case v.Kind == vector.Int64:
		for _, i := range at {
			sum += v.Int64s[i]
		}
	default:
		for _, i := range at {
			sum += valueOf(v, i)
		}
	}
	return sum
}

func valueOf(v *vector.Vector, i int32) int64 {
	switch v.Kind {
	case vector.Int32:
		return int64(v.Int32s[i])
	case vector.Int64:
		return v.Int64s[i]
	case vector.Float64:
		return int64(v.Float64s[i])
	case vector.Bytes:
		return int64(v.Offsets[i+1] - v.Offsets[i])
	}
	return 0
}
