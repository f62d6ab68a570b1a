package row

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchTypes is an order-like table: bigint key, two ints, bigint, decimal,
// timestamp(3), date, two strings of about 12 bytes, double.
var benchTypes = []DataType{
	{Kind: BigInt},
	{Kind: Int, Nullable: true},
	{Kind: Int, Nullable: true},
	{Kind: BigInt, Nullable: true},
	{Kind: Decimal, Precision: 12, Scale: 2, Nullable: true},
	{Kind: Timestamp, Precision: 3, Nullable: true},
	{Kind: Date, Nullable: true},
	{Kind: String, Nullable: true},
	{Kind: String, Nullable: true},
	{Kind: Double, Nullable: true},
}

// benchVectors returns n rows of benchTypes in the widths real data has: values
// of one column differ in length from row to row. One in nulls rows of every
// nullable column is null; 0 gives none.
func benchVectors(n, nulls int) []*Vector {
	r := rand.New(rand.NewPCG(1, 2))
	cols := make([]*Vector, len(benchTypes))
	for i, t := range benchTypes {
		v := &Vector{Kind: t.VectorKind(), Len: n}
		for k := range n {
			switch i {
			case 0:
				v.Int64s = append(v.Int64s, int64(k)*7919+1_000_000)
			case 1:
				v.Int32s = append(v.Int32s, r.Int32N(100_000))
			case 2:
				v.Int32s = append(v.Int32s, r.Int32N(300))
			case 3:
				v.Int64s = append(v.Int64s, r.Int64N(10_000_000))
			case 4:
				v.Int64s = append(v.Int64s, r.Int64N(1_000_000))
			case 5:
				v.Int64s = append(v.Int64s, 1_704_067_200_000+r.Int64N(86_400_000*300))
			case 6:
				v.Int32s = append(v.Int32s, 19_723+r.Int32N(300))
			case 7:
				v.Data = fmt.Appendf(v.Data, "customer-%d", r.IntN(1000))
			case 8:
				v.Data = fmt.Appendf(v.Data, "city %d name", r.IntN(100))
			case 9:
				v.Float64s = append(v.Float64s, r.Float64())
			}
			if t.Kind == String {
				if k == 0 {
					v.Offsets = append(v.Offsets, 0)
				}
				v.Offsets = append(v.Offsets, int32(len(v.Data)))
			}
		}
		if nulls > 0 && t.Nullable {
			v.Nulls = make([]bool, n)
			for k := range v.Nulls {
				v.Nulls[k] = r.IntN(nulls) == 0
			}
		}
		cols[i] = v
	}
	return cols
}

// benchmarkBatches builds and finishes batches of 8192 rows out of column
// batches of 4096, Bind included.
func benchmarkBatches(b *testing.B, format KeyFormat, nulls int) {
	const vectorRows, batchRows = 4096, 8192
	cols := benchVectors(vectorRows, nulls)
	row, err := NewEncoder(benchTypes)
	if err != nil {
		b.Fatal(err)
	}
	key, err := NewKeyEncoder(format, benchTypes[:1])
	if err != nil {
		b.Fatal(err)
	}
	var batch Batch
	bytes := 0
	build := func() {
		batch.Reset(1)
		for range batchRows / vectorRows {
			if err := row.Bind(cols); err != nil {
				b.Fatal(err)
			}
			if err := key.Bind(cols[:1]); err != nil {
				b.Fatal(err)
			}
			for i := range vectorRows {
				if _, bad := row.Unreadable(i); bad {
					b.Fatal("unreadable")
				}
				batch.Add(key, row, i, i)
			}
		}
		bytes += len(batch.Finish(1, 0))
	}
	build()
	bytes = 0
	b.ReportAllocs()
	for b.Loop() {
		build()
	}
	rows := float64(b.N) * batchRows
	b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(bytes)/rows, "B/row")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/rows, "ns/row")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkEncodeRows(b *testing.B) {
	b.Run("paimon_key", func(b *testing.B) { benchmarkBatches(b, KeyPaimon, 0) })
	b.Run("compacted_key", func(b *testing.B) { benchmarkBatches(b, KeyCompacted, 0) })
	b.Run("tenth_null", func(b *testing.B) { benchmarkBatches(b, KeyPaimon, 10) })
}

func BenchmarkBind(b *testing.B) {
	cols := benchVectors(4096, 10)
	row, err := NewEncoder(benchTypes)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := row.Bind(cols); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/4096, "ns/row")
}
