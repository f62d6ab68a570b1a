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
