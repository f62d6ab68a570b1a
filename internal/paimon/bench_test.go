package paimon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// benchRow is a record of a primary-key file with ten columns.
type benchRow struct {
	Key   int64   `parquet:"_KEY_id"`
	Seq   int64   `parquet:"_SEQUENCE_NUMBER"`
	Kind  int32   `parquet:"_VALUE_KIND,int(8)"`
	ID    int64   `parquet:"id"`
	Name  string  `parquet:"name,optional,dict"`
	City  string  `parquet:"city,optional"`
	A     int32   `parquet:"a,optional"`
	B     int32   `parquet:"b,optional"`
	C     int64   `parquet:"c,optional"`
	D     float64 `parquet:"d,optional"`
	Price int64   `parquet:"price,optional,decimal(2:12)"`
	Day   int32   `parquet:"day,optional,date"`
	At    int64   `parquet:"at,optional,timestamp(microsecond:local)"`
}

func benchFields() []Field {
	null := func(k Kind) DataType { return DataType{Kind: k, Nullable: true} }
	str := null(VarChar)
	str.Length = MaxLength
	price, at := null(Decimal), null(Timestamp)
	price.Precision, price.Scale, at.Precision = 12, 2, 6
	return []Field{{ID: 0, Name: "id", Type: DataType{Kind: BigInt}}, {ID: 1, Name: "name", Type: str}, {ID: 2, Name: "city", Type: str},
		{ID: 3, Name: "a", Type: null(Int)}, {ID: 4, Name: "b", Type: null(Int)}, {ID: 5, Name: "c", Type: null(BigInt)}, {ID: 6, Name: "d", Type: null(Double)},
		{ID: 7, Name: "price", Type: price}, {ID: 8, Name: "day", Type: null(Date)}, {ID: 9, Name: "at", Type: at}}
}

// writeBenchFile writes the rows first, first+step, … below last.
func writeBenchFile(b *testing.B, dir, name string, level int, seq int64, first, last, step int64) DataFile {
	b.Helper()
	file := filepath.Join(dir, "bucket-0", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	w := parquet.NewGenericWriter[benchRow](f, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}))
	rows := make([]benchRow, 0, 1000)
	count := int64(0)
	flush := func() {
		if _, err := w.Write(rows); err != nil {
			b.Fatal(err)
		}
		rows = rows[:0]
	}
	for k := first; k < last; k += step {
		rows = append(rows, benchRow{Key: k, Seq: seq + count, ID: k, Name: fmt.Sprint("name-", k%1000), City: fmt.Sprint("city of row ", k*7919%100003), A: int32(k), B: int32(k % 7),
			C: k * k, D: float64(k) / 3, Price: k % 100000, Day: int32(19000 + k%500), At: 1_700_000_000_000_000 + k*1001})
		if count++; len(rows) == cap(rows) {
			flush()
		}
	}
	flush()
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		b.Fatal(err)
	}
	st, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	none := int64(0)
	return DataFile{Name: name, Size: st.Size(), RowCount: count, DeleteRowCount: &none, Level: level,
		MinKey: encodeRow(b, []any{first}), MaxKey: encodeRow(b, []any{last - 1})}
}

// BenchmarkReadMerge reads and merges ten columns on one thread: a large
// lowest run, a tenth of it updated by a higher one, and a small fresh file.
func BenchmarkReadMerge(b *testing.B) {
	const n = 500_000
	dir := b.TempDir()
	schema := &Schema{Version: 3, Fields: benchFields(), PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"}}
	table := &Table{fs: storage.Local{}, path: dir, name: "bench.t", schemas: map[int64]*Schema{0: schema}}
	table.newest.Store(schema)
	bucket := &BucketFiles{TotalBuckets: 1, Files: []DataFile{
		writeBenchFile(b, dir, "base.parquet", 5, 0, 0, n, 1),
		writeBenchFile(b, dir, "updates.parquet", 4, n, 5, n, 10),
		writeBenchFile(b, dir, "fresh.parquet", 0, 2*n, 7, n, 1000),
	}}
	for _, c := range []struct {
		name  string
		files []DataFile
	}{{"merge", bucket.Files}, {"pass", bucket.Files[:1]}} {
		b.Run(c.name, func(b *testing.B) {
			used := &BucketFiles{TotalBuckets: 1, Files: c.files}
			plan, p := &Plan{schemas: table.schemas}, &PartitionFiles{Buckets: []*BucketFiles{used}, Partition: Partition{Raw: []byte{0, 0, 0, 0}}}
			b.ReportAllocs()
			total := int64(0)
			for b.Loop() {
				rows, err := table.ReadBucket(context.Background(), plan, p, used, ReadOptions{DuplicateKeys: FailOnDuplicates})
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := rows.Next(); err != nil {
						if !errors.Is(err, io.EOF) {
							b.Fatal(err)
						}
						break
					}
				}
				if got := rows.Stats().RowsOut; got != n {
					b.Fatalf("%d rows, want %d", got, n)
				}
				total += n
				if err := rows.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
