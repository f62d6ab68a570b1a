package orc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// benchColumns are those of tools/bench/orcscan.py.
var benchColumns = []Column{
	{Name: "id", Type: kind(Int64)}, {Name: "a", Type: kind(Int32)}, {Name: "b", Type: kind(Int32)}, {Name: "c", Type: kind(Int64)},
	{Name: "price", Type: Type{Kind: Decimal, Precision: 12, Scale: 2}}, {Name: "at", Type: Type{Kind: Timestamp, Precision: 3}},
	{Name: "day", Type: kind(Date)}, {Name: "status", Type: kind(String)}, {Name: "note", Type: kind(String)}, {Name: "score", Type: kind(Double)},
}

func benchmarkRead(b *testing.B, columns []Column) {
	path := os.Getenv("ORC_BENCH_FILE")
	if path == "" {
		b.Skip("ORC_BENCH_FILE is not set: it names a file that tools/bench/orcscan.py made")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	rows, cpu := int64(0), cpuSeconds()
	for b.Loop() {
		f, err := Open(bytes.NewReader(data), int64(len(data)), "bench")
		if err != nil {
			b.Fatal(err)
		}
		r, err := f.Read(columns, ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		left := f.NumRows()
		for {
			_, n, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			left -= int64(n)
		}
		if left != 0 {
			b.Fatalf("%d rows missing", left)
		}
		rows += f.NumRows()
		r.Close()
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	if cpu = cpuSeconds() - cpu; cpu > 0 {
		b.ReportMetric(float64(rows)/cpu, "rows/cpu-s")
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
