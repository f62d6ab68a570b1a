package widetable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

var small = Options{Partitions: 40, FilesPerPartition: 6, Buckets: 2, Deleted: 30}

func write(t *testing.T, dir string, o Options) Table {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	table, err := Write(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestOurReaderReadsIt(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "t")
	made := write(t, dir, small)
	if made.Files != 240 || made.Records != 240*rowsPerFile || made.Rows != 40*2*rowsPerFile || made.Manifests != commits+1 {
		t.Errorf("made %+v", made)
	}
	table, err := paimon.OpenTable(ctx, storage.Local{}, dir, "wide.t")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := table.Plan(ctx, snap)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Partitions) != small.Partitions {
		t.Errorf("%d partitions", len(plan.Partitions))
	}
	var sum Table
	for _, p := range plan.Partitions {
		if p.Files != small.FilesPerPartition || p.Records != int64(p.Files)*rowsPerFile || len(p.Buckets) != small.Buckets {
			t.Errorf("partition %v: %d files, %d records, %d buckets", p.Partition.Values, p.Files, p.Records, len(p.Buckets))
		}
		sum.Bytes += p.Bytes
		for _, b := range p.Buckets {
			sum.Rows += count(t, table, plan, p, b)
		}
	}
	if sum.Rows != made.Rows || sum.Bytes != made.Bytes {
		t.Errorf("%d rows, %d bytes; made were %d and %d", sum.Rows, sum.Bytes, made.Rows, made.Bytes)
	}
}

func count(t *testing.T, table *paimon.Table, plan *paimon.Plan, p *paimon.PartitionFiles, b *paimon.BucketFiles) (n int64) {
	t.Helper()
	rows, err := table.ReadBucket(context.Background(), plan, p, b, paimon.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for {
		if _, err := rows.Next(); errors.Is(err, io.EOF) {
			return rows.Stats().RowsOut
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for _, o := range []Options{{}, {Partitions: 1, FilesPerPartition: 1, Buckets: 2}, {Partitions: 1, FilesPerPartition: 1, Buckets: 1, Deleted: -1}} {
		if _, err := Write(filepath.Join(t.TempDir(), "t"), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := Write(t.TempDir(), small); err == nil {
		t.Error("wrote into a folder that is there")
	}
}

// TestPaimonReadsIt has Paimon itself list the files and partitions, and read
// and write the rows: a table that only our reader takes for one proves nothing.
func TestPaimonReadsIt(t *testing.T) {
	at := os.Getenv("FLUSS_TEST_STACK")
	if at == "" {
		t.Skip("FLUSS_TEST_STACK is not set: no real servers to test against")
	}
	st, err := stack.Attach(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if st.GatewayURL == "" {
		t.Skip("the stack has no SQL gateway")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	db := "wide_" + uuid.NewString()[:8]
	made := write(t, filepath.Join(st.Warehouse, db+".db", "t"), small)
	sql, err := flinksql.Open(ctx, st.GatewayURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sql.Close(ctx)
	if err := sql.CreatePaimonCatalog(ctx, "lake", st.Warehouse); err != nil {
		t.Fatal(err)
	}
	ask := func(what string, want ...string) {
		t.Helper()
		r, err := sql.Query(ctx, what)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Texts(); len(got) != 1 || !slices.Equal(got[0], want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	name := "lake." + db + ".t"
	ask(fmt.Sprintf("SELECT COUNT(*), SUM(record_count), SUM(file_size_in_bytes), COUNT(DISTINCT `partition`), MIN(min_key) FROM lake.%s.`t$files`", db),
		fmt.Sprint(made.Files), fmt.Sprint(made.Records), fmt.Sprint(made.Bytes), fmt.Sprint(made.Partitions), "[0]")
	ask(fmt.Sprintf("SELECT COUNT(*), SUM(record_count), SUM(file_count) FROM lake.%s.`t$partitions`", db),
		fmt.Sprint(made.Partitions), fmt.Sprint(made.Records), fmt.Sprint(made.Files))
	ask("SELECT COUNT(*), COUNT(DISTINCT dt), MIN(dt) FROM "+name, fmt.Sprint(made.Rows), fmt.Sprint(made.Partitions), partition(0))
	// A key of a bucket that Paimon computes: it updates a row, and adds none.
	if err := sql.Exec(ctx, fmt.Sprintf("INSERT INTO %s (id, dt, name) VALUES (0, '%s', 'updated')", name, partition(3))); err != nil {
		t.Fatal(err)
	}
	ask("SELECT COUNT(*) FROM "+name, fmt.Sprint(made.Rows))
	ask(fmt.Sprintf("SELECT name FROM %s WHERE id = 0 AND dt = '%s'", name, partition(3)), "updated")
}
