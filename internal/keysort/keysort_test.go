package keysort

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// filler fills sorters with records of one STRING key and that key and a STRING
// value as the row.
type filler struct {
	t    *testing.T
	key  *row.KeyEncoder
	row  *row.Encoder
	cols []*row.Vector
}

func newFiller(t *testing.T) *filler {
	t.Helper()
	types := []row.DataType{{Kind: row.String}, {Kind: row.String}}
	f := &filler{t: t, cols: []*row.Vector{{Kind: types[0].VectorKind()}, {Kind: types[0].VectorKind()}}}
	var err error
	if f.key, err = row.NewKeyEncoder(row.KeyCompacted, types[:1]); err != nil {
		t.Fatal(err)
	}
	if f.row, err = row.NewEncoder(types); err != nil {
		t.Fatal(err)
	}
	return f
}

// bind makes one record of each pair of texts.
func (f *filler) bind(pairs [][2]string) {
	f.t.Helper()
	for i, v := range f.cols {
		v.Len, v.Offsets, v.Data = len(pairs), []int32{0}, nil
		for _, p := range pairs {
			v.Data = append(v.Data, p[i]...)
			v.Offsets = append(v.Offsets, int32(len(v.Data)))
		}
	}
	if err := errors.Join(f.key.Bind(f.cols[:1]), f.row.Bind(f.cols)); err != nil {
		f.t.Fatal(err)
	}
}

// want are the records in the order of their keys.
func (f *filler) want(pairs [][2]string) []row.Record {
	f.t.Helper()
	var b row.Batch
	f.bind(pairs)
	for i := range pairs {
		b.Add(f.key, f.row, i, i)
	}
	all := recordsOf(f.t, &b)
	slices.SortFunc(all, func(a, b row.Record) int { return bytes.Compare(a.Key, b.Key) })
	return all
}

func recordsOf(t *testing.T, b *row.Batch) []row.Record {
	t.Helper()
	read, err := row.DecodeBatch(b.Finish(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return read.Records
}

func sameRecords(a, b []row.Record) bool {
	return slices.EqualFunc(a, b, func(a, b row.Record) bool { return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Row, b.Row) })
}

// taken takes everything, in batches.
func taken(t *testing.T, s *Sorter) ([]row.Record, error) {
	t.Helper()
	if err := s.Sort(); err != nil {
		return nil, err
	}
	var all []row.Record
	for more := s.Rows() > 0; more; {
		var b row.Batch
		b.Reset(1)
		var err error
		if more, err = s.TakeInto(&b, 5000, 100); err != nil {
			return nil, err
		}
		all = append(all, recordsOf(t, &b)...)
	}
	return all, nil
}

// pairs are n records with different keys, some of which begin alike, and values
// of which some are larger than what is read at once.
func pairs(r *rand.Rand, n int) [][2]string {
	out := make([][2]string, n)
	for i, k := range r.Perm(n) {
		size := r.IntN(100)
		if r.IntN(200) == 0 {
			size = readBuffer + r.IntN(3*readBuffer)
		}
		out[i] = [2]string{strings.Repeat("a", k%5) + fmt.Sprint(k), strings.Repeat("v", size)}
	}
	return out
}

// TestSorter: what comes out is what was put in, sorted, however much of it went
// through the file; a sorter is good for more than once, and leaves nothing.
func TestSorter(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	s := New(20_000, dir)
	f := newFiller(t)
	for round := range 30 {
		all := pairs(r, []int{0, 1, 50, 3000}[round%4])
		want := f.want(all)
		spilled := 0
		for i := range all {
			s.Add(f.key, f.row, i)
			if !s.Full() {
				continue
			}
			if err := s.Spill(); err != nil {
				t.Fatal(err)
			}
			spilled++
		}
		if len(all) == 3000 && (spilled < 5 || s.Spilled() < 100_000) {
			t.Errorf("round %d: spilled %d times, %d bytes", round, spilled, s.Spilled())
		}
		if round%3 == 0 { // nothing is left in memory then
			if err := s.Spill(); err != nil {
				t.Fatal(err)
			}
		}
		if s.Rows() != len(all) {
			t.Errorf("round %d: %d rows, want %d", round, s.Rows(), len(all))
		}
		got, err := taken(t, s)
		if err != nil {
			t.Fatal(err)
		}
		if !sameRecords(got, want) {
			t.Fatalf("round %d: the %d records taken are not the %d added, in the order of their keys", round, len(got), len(want))
		}
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		if s.Rows() != 0 || s.Size() != 0 {
			t.Errorf("round %d: %d rows left", round, s.Rows())
		}
		if s.file != nil {
			if left, err := s.file.Stat(); err != nil || left.Size() != 0 {
				t.Errorf("round %d: %v left of the file, %v", round, left, err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestSpillRefused: where no file can be made, everything is still there.
func TestSpillRefused(t *testing.T) {
	f := newFiller(t)
	all := pairs(rand.New(rand.NewPCG(7, 8)), 100)
	want := f.want(all)
	s := New(1000, filepath.Join(t.TempDir(), "missing"))
	for i := range all {
		s.Add(f.key, f.row, i)
		if err := s.Spill(); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("spilled into a folder that does not exist: %v", err)
		}
	}
	if got, err := taken(t, s); err != nil || len(got) != len(want) {
		t.Errorf("%d records, %v; want %d", len(got), err, len(want))
	}
}

// TestSpillHalfWritten: a write that fails on the way, as on a full disk, leaves
// what was spilled before and what is in memory.
func TestSpillHalfWritten(t *testing.T) {
	f := newFiller(t)
	all := pairs(rand.New(rand.NewPCG(9, 10)), 300)
	want := f.want(all)
	s := New(1<<20, t.TempDir())
	for i := range all {
		s.Add(f.key, f.row, i)
		if i == 100 {
			if err := s.Spill(); err != nil {
				t.Fatal(err)
			}
		}
		if i == 200 {
			good := s.file
			bad, err := os.Open(os.DevNull) // open for reading
			if err != nil {
				t.Fatal(err)
			}
			s.file = bad
			if err := s.Spill(); err == nil {
				t.Fatal("written into a file that can't be written")
			}
			s.file = good
			if err := bad.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := taken(t, s); err != nil || !sameRecords(got, want) {
		t.Errorf("%d records, %v; want %d", len(got), err, len(want))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFileDamaged: a file that has not kept what was written is an error,
// whichever byte is another, and wherever it ends.
func TestFileDamaged(t *testing.T) {
	f := newFiller(t)
	all := pairs(rand.New(rand.NewPCG(11, 12)), 40)
	f.bind(all)
	s := New(1<<20, t.TempDir())
	for i := range all {
		s.Add(f.key, f.row, i)
		if i == 20 {
			if err := s.Spill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Spill(); err != nil {
		t.Fatal(err)
	}
	size := s.Spilled()
	whole := make([]byte, size)
	if _, err := s.file.ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	fails := func(what string) {
		t.Helper()
		if got, err := taken(t, s); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %d records, %v; want %v", what, len(got), err, errDamaged)
		}
	}
	for at := int64(0); at < size; at += 1 + size/500 {
		if _, err := s.file.WriteAt([]byte{whole[at] ^ 0x55}, at); err != nil {
			t.Fatal(err)
		}
		fails(fmt.Sprintf("byte %d of %d", at, size))
		if _, err := s.file.WriteAt(whole[at:at+1], at); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range []int64{0, 1, s.runs[0].end - 1, s.runs[0].end, size - 1} {
		if err := s.file.Truncate(end); err != nil {
			t.Fatal(err)
		}
		fails(fmt.Sprintf("cut at %d of %d", end, size))
	}
	if _, err := s.file.WriteAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := taken(t, s); err != nil || len(got) != len(all) {
		t.Errorf("mended: %d records, %v; want %d", len(got), err, len(all))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
