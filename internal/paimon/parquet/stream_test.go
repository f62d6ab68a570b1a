package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// streamAll makes every page of byte arrays a streamed one.
func streamAll(t *testing.T) {
	limit := largePage
	largePage = -1
	t.Cleanup(func() { largePage = limit })
}

// TestStreamedPages repeats the package's tests with every page of byte arrays
// streamed, the small ones too.
func TestStreamedPages(t *testing.T) {
	streamAll(t)
	for name, test := range map[string]func(*testing.T){
		"pyarrow": TestPyarrow, "round trip": TestRoundTrip,
		"nested round trip": TestNestedRoundTrip, "samples": TestSampleTables, "legacy lists": TestLegacyLists, "at once": TestReadersAtOnce,
	} {
		t.Run(name, test)
	}
}

// TestMemoryOfLargePages reads pages of 20 MB in a fraction of that, and the
// right values.
func TestMemoryOfLargePages(t *testing.T) {
	type row struct {
		ID   int64   `parquet:"id"`
		Text string  `parquet:"text,plain"`
		Some *string `parquet:"some,optional,plain"`
	}
	rows := make([]row, 200)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		b := make([]byte, 0, 100_000)
		for len(b) < 100_000 {
			b = fmt.Appendf(b, "%016x", rnd.Uint64())
		}
		rows[i].ID, rows[i].Text = int64(i), string(b)
		if i%3 > 0 {
			rows[i].Some = &rows[i].Text
		}
	}
	for version, codecs := range map[int][]compress.Codec{1: {&lib.Uncompressed, &lib.Gzip, &lib.Snappy}, 2: {&lib.Zstd}} {
		for _, codec := range codecs {
			t.Run(fmt.Sprintf("%s, v%d", codec, version), func(t *testing.T) {
				data := write(t, rows, lib.Compression(codec), lib.PageBufferSize(1<<30), lib.DataPageVersion(version))
				f, err := Open(bytes.NewReader(data), int64(len(data)), "large")
				if err != nil {
					t.Fatal(err)
				}
				r, err := f.Read([]Column{{Name: "id", Type: kind(Int64)}, {Name: "text", Type: kind(String)}, {Name: "some", Type: kind(String)}}, ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				runtime.GC()
				runtime.GC() // what pools held is let go of by the second
				var before, now runtime.MemStats
				runtime.ReadMemStats(&before)
				at, most := 0, uint64(0)
				for {
					vs, n, err := r.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					for i := range n {
						want := rows[at+i]
						if string(vs[1].BytesAt(i)) != want.Text || vs[2].IsNull(i) != (want.Some == nil) || want.Some != nil && string(vs[2].BytesAt(i)) != *want.Some {
							t.Fatalf("row %d", at+i)
						}
					}
					at += n
					runtime.GC()
					runtime.ReadMemStats(&now)
					most = max(most, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
				}
				if at != len(rows) {
					t.Errorf("%d rows", at)
				}
				// A zstd decoder keeps its window, here of 8 MiB. Snappy has no stream: two
				// pages are held, of 20 and 13 MB.
				if limit := uint64(32 << 20); codec != &lib.Snappy && most > limit {
					t.Errorf("%d MiB held", most>>20)
				}
			})
		}
	}
}

// TestDamagedStreams changes bytes of a streamed page: an error each time, of
// the page's checksum or of what it holds.
func TestDamagedStreams(t *testing.T) {
	streamAll(t)
	type row struct {
		Text string `parquet:"text,plain"`
	}
	rows := make([]row, 300)
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range rows {
		rows[i].Text = fmt.Sprintf("%0*d", 20+rnd.IntN(200), rnd.Int64())
	}
	for _, codec := range []compress.Codec{&lib.Uncompressed, &lib.Zstd, &lib.Gzip} {
		data := write(t, rows, lib.Compression(codec), lib.DataPageVersion(1))
		f, err := Open(bytes.NewReader(data), int64(len(data)), "intact")
		if err != nil {
			t.Fatal(err)
		}
		c := f.meta.RowGroups[0].Columns[0].MetaData
		from, to := c.DataPageOffset+c.TotalCompressedSize/5, c.DataPageOffset+c.TotalCompressedSize // behind the header
		for at := from; at < to; at += c.TotalCompressedSize / 200 {
			changed := bytes.Clone(data)
			changed[at] ^= 0x55
			if err := next(t, changed, Column{Name: "text", Type: kind(String)}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, byte %d: %v", codec, at, err)
			}
		}
	}
}
