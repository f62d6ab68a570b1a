package avro

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hamba/avro/v2/ocf"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

type benchRow struct {
	ID     int64   `avro:"id"`
	A      *int32  `avro:"a"`
	B      int32   `avro:"b"`
	C      *int64  `avro:"c"`
	Price  []byte  `avro:"price"`
	At     int64   `avro:"at"`
	Day    int32   `avro:"day"`
	Status string  `avro:"status"`
	Note   *string `avro:"note"`
	Score  float64 `avro:"score"`
}

// benchSchema has logical types spelled so that the test's writer takes plain
// numbers for them.
const benchSchema = `{"type":"record","name":"record","fields":[{"name":"id","type":"long"},{"name":"a","type":["null","int"]},{"name":"b","type":"int"},
{"name":"c","type":["null","long"]},{"name":"price","type":"bytes"},{"name":"at","type":"long"},
{"name":"day","type":"int"},{"name":"status","type":"string"},{"name":"note","type":["null","string"]},{"name":"score","type":"double"}]}`

const benchRows = 200_000

// benchFile is a table as a loader meets it: keys in order, some nulls, a few
// columns of few values, blocks of zstandard.
var benchFile = sync.OnceValue(func() []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	w, err := ocf.NewEncoder(benchSchema, &out, ocf.WithCodec(ocf.ZStandard), ocf.WithBlockLength(1000))
	if err != nil {
		panic(err)
	}
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
		cents := rnd.Int64N(1e9) - 1e8
		r.Price = []byte{byte(cents >> 24), byte(cents >> 16), byte(cents >> 8), byte(cents)}
		if err := w.Encode(r); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	// The annotations, which the writer would want its own Go types for. The
	// header is not of fixed length, so the schema may grow.
	plain, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "bench")
	if err != nil {
		panic(err)
	}
	annotated := fmt.Sprintf(annotatedBench, 12, 2)
	head := header(annotated, "zstandard", plain.sync)
	return append(head, out.Bytes()[plain.start:]...)
})

const annotatedBench = `{"type":"record","name":"record","fields":[{"name":"id","type":"long"},{"name":"a","type":["null","int"]},{"name":"b","type":"int"},
{"name":"c","type":["null","long"]},{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}},{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
{"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"status","type":"string"},{"name":"note","type":["null","string"]},{"name":"score","type":"double"}]}`

var benchColumns = []vector.Column{
	col("id", of(vector.LogicalInt64)), col("a", of(vector.LogicalInt32)), col("b", of(vector.LogicalInt32)), col("c", of(vector.LogicalInt64)),
	col("price", decimalOf(12, 2)), col("at", timestampOf(3)), col("day", of(vector.LogicalDate)),
	col("status", of(vector.LogicalString)), col("note", of(vector.LogicalString)), col("score", of(vector.LogicalDouble)),
}

func benchmarkRead(b *testing.B, columns []vector.Column) {
	data := benchFile()
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	cpu := cpuSeconds()
	for b.Loop() {
		if rows, err := readRowCount(data, columns); err != nil || rows != benchRows {
			b.Fatalf("%d rows, %v", rows, err)
		}
	}
	rows := float64(benchRows) * float64(b.N)
	b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
	if cpu = cpuSeconds() - cpu; cpu > 0 {
		b.ReportMetric(rows/cpu, "rows/cpu-s")
	}
}

func readRowCount(data []byte, columns []vector.Column) (rows int, err error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)), "bench")
	if err != nil {
		return 0, err
	}
	r, err := f.Read(columns, vector.ReadOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		_, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += n
	}
}

// BenchmarkRead reads all ten columns.
func BenchmarkRead(b *testing.B) { benchmarkRead(b, benchColumns) }

// BenchmarkReadColumn reads one column of each sort, and skips the others.
func BenchmarkReadColumn(b *testing.B) {
	for _, c := range benchColumns {
		b.Run(c.Name, func(b *testing.B) { benchmarkRead(b, []vector.Column{c}) })
	}
}

// TestAllocations makes sure that reading takes no memory for each value: a
// file of 200 times 1000 rows takes hardly more than its buffers.
func TestAllocations(t *testing.T) {
	data := benchFile()
	allocs := testing.AllocsPerRun(3, func() {
		if rows, err := readRowCount(data, benchColumns); err != nil || rows != benchRows {
			t.Fatalf("%d rows, %v", rows, err)
		}
	})
	if allocs > benchRows/100 {
		t.Errorf("%.0f allocations for %d rows of %d columns", allocs, benchRows, len(benchColumns))
	}
}
