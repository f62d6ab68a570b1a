package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	lib "github.com/parquet-go/parquet-go"
)

type benchRow struct {
	ID     int64   `parquet:"id"`
	A      *int32  `parquet:"a,optional"`
	B      int32   `parquet:"b,dict"`
	C      *int64  `parquet:"c,optional"`
	Price  [6]byte `parquet:"price,decimal(2:12)"`
	At     int64   `parquet:"at,timestamp(millisecond)"`
	Day    int32   `parquet:"day,date,dict"`
	Status string  `parquet:"status,dict"`
	Note   *string `parquet:"note,optional,plain"`
	Score  float64 `parquet:"score"`
}

const benchRows = 500_000

// benchFile is a table as a loader meets it: keys in order, some nulls, a few
// columns of few values, zstd, pages of about 1 MiB.
var benchFile = sync.OnceValue(func() []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	w := lib.NewGenericWriter[benchRow](&out, lib.Compression(&lib.Zstd), lib.PageBufferSize(1<<20),
		lib.MaxRowsPerRowGroup(200_000), lib.DataPageVersion(1))
	rows := make([]benchRow, 0, 1000)
	for i := range benchRows {
		r := benchRow{ID: int64(i), B: int32(rnd.IntN(50)), At: 1_700_000_000_000 + int64(i)*17 + rnd.Int64N(1000),
			Day: 19000 + int32(rnd.IntN(700)), Status: fmt.Sprintf("status-%d", rnd.IntN(12)), Score: rnd.Float64()}
		if rnd.IntN(10) > 0 {
			v := rnd.Int32()
			r.A = &v
		}
		if rnd.IntN(10) > 0 {
			v := rnd.Int64()
			r.C = &v
		}
		if rnd.IntN(10) > 0 {
			s := fmt.Sprintf("note %d of customer %d", rnd.IntN(1000), rnd.IntN(100000))
			r.Note = &s
		}
		var cents [8]byte
		binary.BigEndian.PutUint64(cents[:], uint64(rnd.Int64N(1e9)-1e8))
		copy(r.Price[:], cents[2:])
		if rows = append(rows, r); len(rows) == cap(rows) {
			if _, err := w.Write(rows); err != nil {
				panic(err)
			}
			rows = rows[:0]
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
})

var benchColumns = []Column{
	{Name: "id", Type: Type{Kind: Int64}}, {Name: "a", Type: Type{Kind: Int32}}, {Name: "b", Type: Type{Kind: Int32}}, {Name: "c", Type: Type{Kind: Int64}},
	{Name: "price", Type: Type{Kind: Decimal, Precision: 12, Scale: 2}}, {Name: "at", Type: Type{Kind: Timestamp, Precision: 3}}, {Name: "day", Type: Type{Kind: Date}},
	{Name: "status", Type: Type{Kind: String}}, {Name: "note", Type: Type{Kind: String}}, {Name: "score", Type: Type{Kind: Double}},
}

func benchmarkRead(b *testing.B, columns []Column) {
	data := benchFile()
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	cpu := cpuSeconds()
	for b.Loop() {
		f, err := Open(bytes.NewReader(data), int64(len(data)), "bench")
		if err != nil {
			b.Fatal(err)
		}
		r, err := f.Read(columns, ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		rows := 0
		for {
			_, n, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			rows += n
		}
		if rows != benchRows {
			b.Fatalf("%d rows", rows)
		}
		r.Close()
	}
	rows := float64(benchRows) * float64(b.N)
	b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
	if cpu = cpuSeconds() - cpu; cpu > 0 {
		b.ReportMetric(rows/cpu, "rows/cpu-s")
	}
}

// BenchmarkRead reads all ten columns.
func BenchmarkRead(b *testing.B) { benchmarkRead(b, benchColumns) }

// BenchmarkReadColumn reads one column of each sort.
func BenchmarkReadColumn(b *testing.B) {
	for _, c := range benchColumns {
		b.Run(c.Name, func(b *testing.B) { benchmarkRead(b, []Column{c}) })
	}
}
