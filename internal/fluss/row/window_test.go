package row

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWindow compares the records that come out of a window with those of a
// batch of the same rows, sorted: none is lost, changed or out of order, and no
// batch exceeds its limits by more than a record.
func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var w Window
	for round := range 60 {
		// Keys of one, two and three columns, with common beginnings and such that
		// are the beginning of others.
		types := [][]DataType{mustParse(t, "BIGINT NOT NULL"), mustParse(t, "STRING NOT NULL"), mustParse(t, "INT NOT NULL", "STRING NOT NULL", "BYTES NOT NULL")}[round%3]
		format := []KeyFormat{KeyCompacted, KeyPaimon}[round/3%2]
		n := []int{0, 1, 2, 100, 5000}[r.IntN(5)]
		cols := windowColumns(r, types, n)
		key, err := NewKeyEncoder(format, types)
		if err != nil {
			t.Fatal(err)
		}
		row, err := NewEncoder(types)
		if err != nil {
			t.Fatal(err)
		}
		if err := key.Bind(cols); err != nil {
			t.Fatal(err)
		}
		if err := row.Bind(cols); err != nil {
			t.Fatal(err)
		}
		var all Batch
		for i := range n {
			all.Add(key, row, i, i)
			w.Add(key, row, i, i)
		}
		want := batchRecords(t, &all)
		slices.SortStableFunc(want, func(a, b Record) int { return bytes.Compare(a.Key, b.Key) })
		if w.Rows() != n || w.Size() < int64(all.Size()-batchHeader) {
			t.Fatalf("round %d: %d rows in %d bytes, want %d in at least %d", round, w.Rows(), w.Size(), n, all.Size()-batchHeader)
		}
		maxBytes, maxRows := 100+r.IntN(5000), 1+r.IntN(200)
		w.Sort()
		var got []Record
		for left := n; left > 0; {
			var b Batch
			b.Reset(7)
			before := left
			if left = w.TakeInto(&b, maxBytes, maxRows); left == before {
				t.Fatalf("round %d: nothing taken with %d left", round, left)
			}
			records := batchRecords(t, &b)
			if last := records[len(records)-1]; len(records) > maxRows || b.Size()-len(last.Row)-len(last.Key) > maxBytes+9 {
				t.Fatalf("round %d: a batch of %d records and %d bytes, want up to %d and about %d", round, len(records), b.Size(), maxRows, maxBytes)
			}
			got = append(got, records...)
		}
		// Rows with one key are equal in everything here.
		if !slices.EqualFunc(got, want, func(a, b Record) bool { return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Row, b.Row) }) {
			t.Fatalf("round %d: the %d records taken are not the %d added, in the order of their keys", round, len(got), len(want))
		}
		w.Reset()
	}
}

func batchRecords(t *testing.T, b *Batch) []Record {
	t.Helper()
	read, err := DecodeBatch(b.Finish(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return read.Records
}

// windowColumns makes columns of small values, so that keys repeat and begin
// alike.
func windowColumns(r *rand.Rand, types []DataType, n int) []*Vector {
	cols := make([]*Vector, len(types))
	for i, t := range types {
		v := &Vector{Kind: t.VectorKind(), Len: n, Offsets: []int32{0}}
		for range n {
			v.Int64s = append(v.Int64s, r.Int64N(1<<uint(1+r.IntN(60))))
			v.Int32s = append(v.Int32s, r.Int32N(300))
			v.Data = fmt.Append(v.Data, bytes.Repeat([]byte("a"), r.IntN(20)))
			v.Offsets = append(v.Offsets, int32(len(v.Data)))
		}
		cols[i] = v
	}
	return cols
}

// BenchmarkWindow fills, sorts and empties windows of 12 MiB, of rows that come
// in the order of their key's value. Compare with BenchmarkBatchPaimonKey, which
// only builds the batches.
func BenchmarkWindow(b *testing.B) {
	const vectorRows, windowBytes = 4096, 12 << 20
	cols := benchVectors(vectorRows, 0)
	row, err := NewEncoder(benchTypes)
	if err != nil {
		b.Fatal(err)
	}
	key, err := NewKeyEncoder(KeyPaimon, benchTypes[:1])
	if err != nil {
		b.Fatal(err)
	}
	var w Window
	var batch Batch
	rows := 0
	fill := func() {
		for next := int64(0); w.Size() < windowBytes; {
			for i := range vectorRows {
				cols[0].Int64s[i] = next * 4
				next++
			}
			if err := row.Bind(cols); err != nil {
				b.Fatal(err)
			}
			if err := key.Bind(cols[:1]); err != nil {
				b.Fatal(err)
			}
			for i := range vectorRows {
				w.Add(key, row, i, i)
			}
		}
		rows += w.Rows()
		w.Sort()
		for left := w.Rows(); left > 0; {
			batch.Reset(1)
			left = w.TakeInto(&batch, 1<<20, 32_000)
			batch.Finish(1, 0)
		}
		w.Reset()
	}
	fill() // memory grows
	rows = 0
	b.ReportAllocs()
	for b.Loop() {
		fill()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
