package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	lib "github.com/parquet-go/parquet-go"
)

// TestEachColumn: every column is read once, whoever does it; the first of the
// columns that failed says why, panics too; and nobody is at work afterwards.
func TestEachColumn(t *testing.T) {
	for _, values := range []int{1, worthSharing} {
		for n := range 20 {
			var at, calls atomic.Int32
			seen := make([]atomic.Int32, n)
			err := eachColumn(n, values, func(i int) error {
				at.Add(1)
				defer at.Add(-1)
				calls.Add(1)
				seen[i].Add(1)
				return nil
			})
			if err != nil || int(calls.Load()) != n || at.Load() != 0 {
				t.Fatalf("%d columns: %d calls, %d at work, %v", n, calls.Load(), at.Load(), err)
			}
			for i := range seen {
				if seen[i].Load() != 1 {
					t.Errorf("column %d of %d was read %d times", i, n, seen[i].Load())
				}
			}
		}
		var at atomic.Int32
		err := eachColumn(10, values, func(i int) error {
			at.Add(1)
			defer at.Add(-1)
			if i == 3 || i == 4 {
				return fmt.Errorf("column %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "column 3" || at.Load() != 0 {
			t.Errorf("%v, %d at work", err, at.Load())
		}
		err = eachColumn(10, values, func(i int) error {
			if i == 2 {
				panic("two")
			}
			return nil
		})
		if !errors.Is(contain(err), ErrCorrupt) {
			t.Errorf("a panic became %v", err)
		}
	}
	idle(t)
}

// idle waits until nobody is at work for others: who is, looks for more first.
func idle(t *testing.T) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); len(helpers) != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d goroutines are still counted", len(helpers))
		}
	}
}

type aheadRow struct {
	ID   int64   `parquet:"id"`
	Text string  `parquet:"text,plain"`
	Word string  `parquet:"word,dict"`
	Some *string `parquet:"some,optional,plain"`
}

// aheadFile is a file of many small pages, whose values tell their row.
func aheadFile(t *testing.T, rows, version int) ([]byte, []Column) {
	all := make([]aheadRow, rows)
	for i := range all {
		all[i] = aheadRow{ID: int64(i), Text: fmt.Sprint("text of ", i), Word: fmt.Sprint("word ", i%10)}
		if i%3 > 0 {
			all[i].Some = &all[i].Text
		}
	}
	data := write(t, all, lib.Compression(&lib.Zstd), lib.PageBufferSize(1<<10), lib.DataPageVersion(version), lib.MaxRowsPerRowGroup(int64(rows/3)))
	return data, []Column{{Name: "id", Type: kind(Int64)}, {Name: "text", Type: kind(String)}, {Name: "word", Type: kind(String)}, {Name: "some", Type: kind(String)}}
}

// TestPagesAhead: a batch stays as it is while pages behind it are unpacked, by a
// helper or by whoever needs them, and these are the right ones; a reader that is
// closed meanwhile leaves nobody at work.
func TestPagesAhead(t *testing.T) {
	const rows, at = 10_000, 7
	for version := 1; version <= 2; version++ {
		data, columns := aheadFile(t, rows, version)
		f, err := Open(bytes.NewReader(data), int64(len(data)), "ahead")
		if err != nil {
			t.Fatal(err)
		}
		for _, helped := range []bool{false, true} {
			r, err := f.Read(columns, ReadOptions{BatchRows: at})
			if err != nil {
				t.Fatal(err)
			}
			row, ahead := 0, 0
			for {
				batch, n, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range r.columns {
					if l := c.(flatColumn); l.coming != nil {
						ahead++
						if helped {
							_ = l.coming.result() // what it gave is Next's to tell
						}
					}
				}
				for i := range n {
					text, null := fmt.Sprint("text of ", row), row%3 == 0
					some := text
					if null {
						some = ""
					}
					got := fmt.Sprintf("%d, %s, %s, %s, %t", batch[0].Int64s[i], batch[1].BytesAt(i), batch[2].BytesAt(i), batch[3].BytesAt(i), batch[3].IsNull(i))
					if want := fmt.Sprintf("%d, %s, word %d, %s, %t", row, text, row%10, some, null); got != want {
						t.Fatalf("row %d is %s, it should be %s", row, got, want)
					}
					row++
				}
			}
			if row != rows || cap(helpers) > 0 && ahead < 100 {
				t.Errorf("%d rows, %d pages were unpacked ahead", row, ahead)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for range 50 {
			r, err := f.Read(columns, ReadOptions{BatchRows: at})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			var coming []*task
			for _, c := range r.columns {
				if l := c.(flatColumn); l.coming != nil {
					coming = append(coming, l.coming)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			for _, c := range coming {
				if !c.taken.Load() {
					t.Fatal("a page of a closed reader is still to be unpacked")
				}
			}
		}
	}
	idle(t)
	if n := len(pagesAhead); n != 0 {
		t.Errorf("%d pages are still counted", n)
	}
}

// TestPagesAheadError: what is wrong with a page that is unpacked ahead is told,
// with its place, when the rows before it have been given.
func TestPagesAheadError(t *testing.T) {
	data, columns := aheadFile(t, 3000, 1)
	f, err := Open(bytes.NewReader(data), int64(len(data)), "ahead")
	if err != nil {
		t.Fatal(err)
	}
	text := columns[1:2]
	r, err := f.Read(text, ReadOptions{BatchRows: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	l := r.columns[0].(flatColumn)
	inFirst, second := l.inPage, int64(0)
	for l.page.off == second || second == 0 {
		second = l.page.off
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	second = l.page.off
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// The middle of the second page's body.
	damaged := bytes.Clone(data)
	for i := range 40 {
		damaged[second+60+int64(i)] ^= 0x55
	}
	if f, err = Open(bytes.NewReader(damaged), int64(len(damaged)), "ahead"); err != nil {
		t.Fatal(err)
	}
	if r, err = f.Read(text, ReadOptions{BatchRows: 1}); err != nil {
		t.Fatal(err)
	}
	for row := range inFirst + 1 {
		if _, _, err := r.Next(); err != nil {
			t.Fatalf("row %d: %v", row, err)
		}
	}
	place := fmt.Sprintf("column %q, row group 0, page at offset %d", "text", second)
	for range 2 {
		if _, _, err := r.Next(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), place) {
			t.Fatalf("%v, it should be corrupt at %s", err, place)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
