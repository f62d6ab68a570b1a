package pyoracle

import "context"

// Fluss names a Fluss table for the scripts.
type Fluss struct {
	Bootstrap string            `json:"bootstrap"`
	Table     string            `json:"table"`            // db.table
	Config    map[string]string `json:"config,omitempty"` // further client settings
}

// Lookup returns the row of each key, nil for a key that is not there.
func (p *Python) Lookup(ctx context.Context, t Fluss, keys []Row) ([]Row, error) {
	var answer struct {
		Rows []Row `json:"rows"`
	}
	err := p.Run(ctx, "fluss_lookup.py", struct {
		Fluss
		Keys []Row `json:"keys"`
	}{t, keys}, &answer)
	return answer.Rows, err
}

// PrefixLookup returns the rows whose key begins with each prefix, given as the
// values of the columns by (partition columns, then bucket key).
func (p *Python) PrefixLookup(ctx context.Context, t Fluss, by []string, prefixes []Row) ([][]Row, error) {
	var answer struct {
		Rows [][]Row `json:"rows"`
	}
	err := p.Run(ctx, "fluss_lookup.py", struct {
		Fluss
		Keys []Row    `json:"keys"`
		By   []string `json:"by"`
	}{t, prefixes, by}, &answer)
	return answer.Rows, err
}

type scan struct {
	Fluss
	Mode   string `json:"mode"`
	Digest bool   `json:"digest"`
}

// Scan returns the current rows of a key table, or all records of a log table,
// in no particular order.
func (p *Python) Scan(ctx context.Context, t Fluss) ([]Row, error) {
	var answer struct {
		Rows []Row `json:"rows"`
	}
	err := p.Run(ctx, "fluss_scan.py", scan{t, "table", false}, &answer)
	return answer.Rows, err
}

// Digest is what a large table is compared by.
type Digest struct {
	Count   int64 `json:"count"`
	Columns map[string]struct {
		Nulls int64  `json:"nulls"`
		Sum   string `json:"sum"` // exact; integer and decimal columns only
	} `json:"columns"`
}

// ScanDigest reads what Scan reads and returns its digest.
func (p *Python) ScanDigest(ctx context.Context, t Fluss) (Digest, error) {
	var answer Digest
	err := p.Run(ctx, "fluss_scan.py", scan{t, "table", true}, &answer)
	return answer, err
}

// Change is one record of a change log.
type Change struct {
	Partition *string `json:"partition"` // its name; nil: the table has none
	Bucket    int     `json:"bucket"`
	Offset    int64   `json:"offset"`
	Change    string  `json:"change"` // +A, +I, -U, +U, -D
	Row       Row     `json:"row"`
}

// Log returns a table's records from the first to the present end, by
// partition, bucket and offset.
func (p *Python) Log(ctx context.Context, t Fluss) ([]Change, error) {
	var answer struct {
		Records []Change `json:"records"`
	}
	err := p.Run(ctx, "fluss_scan.py", scan{t, "log", false}, &answer)
	return answer.Records, err
}

// LakeSnapshot is the lake snapshot a Fluss table has registered.
type LakeSnapshot struct {
	ID      *int64 `json:"snapshot_id"` // nil: none
	Offsets []struct {
		PartitionID *int64 `json:"partition_id"`
		Bucket      int    `json:"bucket"`
		Offset      int64  `json:"offset"`
	} `json:"offsets"`
}

// LakeSnapshot reads the newest registered lake snapshot.
func (p *Python) LakeSnapshot(ctx context.Context, t Fluss) (LakeSnapshot, error) {
	var answer LakeSnapshot
	err := p.Run(ctx, "fluss_lake_snapshot.py", t, &answer)
	return answer, err
}

// PaimonField is a column of a new Paimon table. Type is as in Paimon's schema
// files: a string such as "DECIMAL(10, 2) NOT NULL", or an object.
type PaimonField struct {
	Name        string `json:"name"`
	Type        any    `json:"type"`
	Description string `json:"description,omitempty"`
}

// PaimonTable describes a Paimon table to create and rows to write to it.
type PaimonTable struct {
	Warehouse     string            `json:"warehouse"`
	Table         string            `json:"table"` // db.table
	Fields        []PaimonField     `json:"fields"`
	PrimaryKeys   []string          `json:"primary_keys,omitempty"`
	PartitionKeys []string          `json:"partition_keys,omitempty"`
	Options       map[string]string `json:"options,omitempty"`
	Comment       *string           `json:"comment,omitempty"`
	// Batches are committed one after another. A key may occur once in each.
	Batches [][]Row `json:"batches,omitempty"`
}

// WritePaimon creates the table if it does not exist, commits the batches and
// returns the last snapshot's ID, 0 when there is none.
func (p *Python) WritePaimon(ctx context.Context, t PaimonTable) (int64, error) {
	var answer struct {
		Snapshot int64 `json:"snapshot_id"`
	}
	err := p.Run(ctx, "paimon_write.py", t, &answer)
	return answer.Snapshot, err
}

// PaimonBench describes a benchmark table; zero values mean 2,000,000 rows and
// 4 buckets.
type PaimonBench struct {
	Warehouse string   `json:"warehouse"`
	Table     string   `json:"table"`
	Rows      int      `json:"rows,omitempty"`
	Buckets   int      `json:"buckets,omitempty"`
	Updates   *float64 `json:"updates,omitempty"` // share of keys updated by each commit after the first; nil: 0.1
	// Commits is how many commits there are, the first of all rows and each
	// further one of updates; 0 means 2. Piece is how many keys, of a range of
	// their own, they write at once; 0 means all.
	Commits int               `json:"commits,omitempty"`
	Piece   int               `json:"piece,omitempty"`
	Seed    int               `json:"seed,omitempty"`
	Options map[string]string `json:"options,omitempty"`
}

// BenchTable is what WriteBench made.
type BenchTable struct {
	Rows     int64             `json:"rows"`   // a reader must find
	Stored   int64             `json:"stored"` // in files, updated keys counted twice
	Snapshot int64             `json:"snapshot_id"`
	Sums     map[string]string `json:"sums"` // of the columns id, customer, quantity, amount
}

// WriteBench makes the benchmark table.
func (p *Python) WriteBench(ctx context.Context, t PaimonBench) (BenchTable, error) {
	var answer BenchTable
	err := p.Run(ctx, "paimon_bench.py", t, &answer)
	return answer, err
}

type paimonRead struct {
	Warehouse string `json:"warehouse"`
	Table     string `json:"table"`
	Snapshot  int64  `json:"snapshot_id,omitempty"`
	Digest    bool   `json:"digest"`
}

// ReadPaimon reads a snapshot of a Paimon table, 0 meaning the newest.
func (p *Python) ReadPaimon(ctx context.Context, warehouse, table string, snapshot int64) ([]Row, error) {
	var answer struct {
		Rows []Row `json:"rows"`
	}
	err := p.Run(ctx, "paimon_read.py", paimonRead{warehouse, table, snapshot, false}, &answer)
	return answer.Rows, err
}

// PaimonDigest reads the newest snapshot and returns its digest.
func (p *Python) PaimonDigest(ctx context.Context, warehouse, table string) (Digest, error) {
	var answer Digest
	err := p.Run(ctx, "paimon_read.py", paimonRead{warehouse, table, 0, true}, &answer)
	return answer, err
}
