package fluss_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// benchBatch is a batch that costs nothing to finish: a writer's own cost is
// measured, not the encoding.
type benchBatch struct {
	rows int
	data []byte
}

func (b *benchBatch) Rows() int { return b.rows }
func (b *benchBatch) Size() int { return len(b.data) }
func (b *benchBatch) Finish(writer int64, sequence int32) []byte {
	(&fakeBatch{data: b.data}).Finish(writer, sequence)
	return b.data
}

// BenchmarkWriter sends batches of 8,192 rows of 113 bytes to an in-process
// server that only counts them. One operation is one row.
func BenchmarkWriter(b *testing.B) {
	for _, inFlight := range []int{1, 2} {
		b.Run(fmt.Sprintf("inflight=%d", inFlight), func(b *testing.B) {
			s := newFakeServer(b)
			c, err := fluss.Connect(b.Context(), fluss.Config{Bootstrap: []string{s.addr()}})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			w, err := c.NewWriter(b.Context(), fakeTable(), fluss.WriterConfig{MaxInFlight: inFlight})
			if err != nil {
				b.Fatal(err)
			}
			const rows, size = 8192, 8192 * 113
			b.SetBytes(113)
			b.ReportAllocs()
			var wg sync.WaitGroup
			for n := range int32(fakeBuckets) {
				wg.Go(func() {
					free := make(chan *benchBatch, inFlight+1)
					for range cap(free) {
						free <- &benchBatch{rows: rows, data: make([]byte, size)}
					}
					for sent := 0; sent < b.N/fakeBuckets+1; sent += rows {
						batch := <-free
						if err := w.Bucket(bucket(n)).Send(b.Context(), batch, func(a fluss.Ack) {
							if a.Err != nil {
								b.Error(a.Err)
							}
							free <- batch
						}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if err := w.Flush(b.Context()); err != nil {
				b.Error(err)
			}
			if err := w.Drain(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
}

// BenchmarkRealWriter is the same against the cluster of FLUSS_TEST_BOOTSTRAP,
// with real rows of new keys, encoded beforehand.
func BenchmarkRealWriter(b *testing.B) {
	bootstrap := os.Getenv("FLUSS_TEST_BOOTSTRAP")
	if bootstrap == "" {
		b.Skip("FLUSS_TEST_BOOTSTRAP is not set: no Fluss server to measure")
	}
	c, err := fluss.Connect(b.Context(), fluss.Config{Bootstrap: strings.Split(bootstrap, ",")})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	db := fmt.Sprintf("bench_%d", os.Getpid())
	if err := c.CreateDatabase(b.Context(), db, true); err != nil {
		b.Fatal(err)
	}
	path := fluss.TablePath{Database: db, Table: fmt.Sprintf("t%d", b.N)}
	d := ordersDescriptor(b)
	d.BucketCount = fakeBuckets
	if err := c.CreateTable(b.Context(), path, d, false); err != nil {
		b.Fatal(err)
	}
	info, err := c.GetTable(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.ListOffsets(b.Context(), info, nil, []int32{0, 1, 2, 3}, fluss.OffsetLatest); err != nil {
		b.Fatal(err)
	}
	enc := newRowWriter(b, info)
	batches := make([][]*row.Batch, fakeBuckets)
	open := make([]*row.Batch, fakeBuckets)
	for i := range b.N {
		n, key, data := enc.encode(b, int64(i), fmt.Sprintf("a buyer whose name makes the row about a hundred bytes long, number %d of all", i), nil)
		if open[n] == nil {
			open[n] = new(row.Batch)
			open[n].Reset(int16(info.SchemaID))
			batches[n] = append(batches[n], open[n])
		}
		open[n].AddRaw(key, data)
		if open[n].Size() > 1<<20 {
			open[n] = nil
		}
	}
	w, err := c.NewWriter(b.Context(), info, fluss.WriterConfig{})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for n := range batches {
		wg.Go(func() {
			for _, batch := range batches[n] {
				if err := w.Bucket(bucket(int32(n))).Send(b.Context(), batch, func(a fluss.Ack) {
					if a.Err != nil {
						b.Error(a.Err)
					}
				}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := w.Flush(b.Context()); err != nil {
		b.Error(err)
	}
	b.StopTimer()
	if err := w.Drain(b.Context()); err != nil {
		b.Error(err)
	}
	if err := c.DropTable(b.Context(), path, false); err != nil {
		b.Error(err)
	}
}
