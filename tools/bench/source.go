package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
)

const (
	database = "bench"
	buckets  = 4

	// The tables of the warehouse.
	warmUp = "warm_up"
	source = "source"
	large  = "large"
	small  = "small"

	largeFactor = 10 // the rows of large, in those of source
	smallRows   = 1000
	// pieceRows are written by one pair of commits, of disjoint keys: a larger
	// table has more files, not larger ones, as a table that was compacted has.
	pieceRows = fullRows
)

func (b *bench) warmRows() int { return min(b.opt.rows, 200_000) }

func (b *bench) rowsOf(table string) int {
	switch table {
	case warmUp:
		return b.warmRows()
	case large:
		return largeFactor * b.opt.rows
	case small:
		return smallRows
	}
	return b.opt.rows
}

// makeSource makes one of the tables, once. A tenth of its keys is updated by a
// second commit.
func (b *bench) makeSource(ctx context.Context, table string) error {
	if _, err := os.Stat(b.tableDir(table)); err == nil {
		return nil
	}
	py, err := pyoracle.New(ctx)
	if err != nil {
		return err
	}
	rows := b.rowsOf(table)
	logf("making the Paimon table %s.%s: %d rows, %d buckets", database, table, rows, buckets)
	t, err := py.WriteBench(ctx, pyoracle.PaimonBench{Warehouse: b.stack.Warehouse, Table: database + "." + table, Rows: rows, Buckets: buckets, Piece: pieceRows})
	if err != nil {
		return err
	}
	logf("made: %d rows, %d stored", t.Rows, t.Stored)
	// What was just written must not be on its way to the disk during a load.
	syscall.Sync()
	return nil
}

func (b *bench) tableDir(table string) string {
	return filepath.Join(b.stack.Warehouse, database+".db", table)
}

// duplicate makes another table of the same files, for a promotion of its own.
// Data files are hard links: nobody writes into them.
func (b *bench) duplicate(from, to string) error {
	root := b.tableDir(from)
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		target := filepath.Join(b.tableDir(to), rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if strings.HasPrefix(rel, "bucket-") {
			return os.Link(path, target)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}
