package parquet

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// natural is a type each column of a file can be read as.
func natural(n *node) Type {
	if n.repeated() {
		return listOf(naturalValue(n))
	}
	return naturalValue(n)
}

func annotated(n *node, name string, c deprecated.ConvertedType) bool {
	return n.elem.LogicalType.String() == name || n.elem.ConvertedType.Valid && n.elem.ConvertedType.V == c
}

func naturalValue(n *node) Type {
	if n.group() {
		if r, e := listElement(n); r != nil && annotated(n, "LIST", deprecated.List) {
			if r == e {
				return listOf(naturalValue(e))
			}
			return listOf(natural(e))
		}
		if annotated(n, "MAP", deprecated.Map) && len(n.children) == 1 && len(n.children[0].children) == 2 {
			entry := n.children[0]
			return mapOf(natural(entry.children[0]), natural(entry.children[1]))
		}
		s := Type{Kind: Struct}
		for _, c := range n.children {
			s.Names = append(s.Names, c.name)
			s.Children = append(s.Children, natural(c))
		}
		return s
	}
	if scale, ok := n.decimal(); ok {
		p := 38
		if n.physical() == format.Int32 || n.physical() == format.Int64 || n.width() > 0 && n.width() <= 8 {
			p = 18
		}
		return Type{Kind: Decimal, Precision: p, Scale: scale}
	}
	switch n.annotation() {
	case date:
		return kind(Date)
	case timeOfDay:
		return Type{Kind: Time, Precision: 3}
	case timestamp:
		return Type{Kind: Timestamp, Precision: 6}
	}
	switch n.physical() {
	case format.Boolean:
		return kind(Boolean)
	case format.Int32:
		return kind(Int32)
	case format.Int64:
		return kind(Int64)
	case format.Int96:
		return Type{Kind: Timestamp, Precision: 9}
	case format.Float:
		return kind(Float)
	case format.Double:
		return kind(Double)
	case format.ByteArray, format.FixedLenByteArray:
		return kind(Binary)
	}
	return kind(Boolean)
}

// readAll reads every column of a file as its natural type and touches every
// value. It returns the first error.
func readAll(data []byte, batch int) error {
	f, err := Open(bytes.NewReader(data), int64(len(data)), "some.parquet")
	if err != nil {
		return err
	}
	var first error
	for _, c := range f.root.children {
		if err := readColumn(f, Column{Name: c.name, Type: natural(c)}, batch); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func readColumn(f *File, c Column, batch int) error {
	r, err := f.Read([]Column{c}, ReadOptions{BatchRows: batch})
	if err != nil {
		return err
	}
	defer r.Close()
	const most = 20_000 // rows; a damaged footer may claim any number of nulls
	for rows := 0; rows < most; {
		vs, n, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range min(n, most) {
			asText(c.Type, vs[0], i)
		}
		rows += n
	}
	return nil
}

func sampleFiles(t testing.TB) []string {
	paths, err := filepath.Glob("testdata/*/*.parquet")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return paths
}

// TestDamagedFiles cuts sample files short and changes bytes of them: reading
// ends in an error or in other values, with a bounded amount of memory and
// without a panic that no check foresaw.
func TestDamagedFiles(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 5
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, path := range sampleFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := readAll(data, 0); err != nil {
			t.Fatalf("%s undamaged: %v", path, err)
		}
		for range rounds {
			bad := bytes.Clone(data)
			switch rnd.IntN(3) {
			case 0: // a byte in the pages
				bad[4+rnd.IntN(len(bad)-4)] ^= byte(1 + rnd.IntN(255))
			case 1: // a byte in the footer
				bad[len(bad)-1-rnd.IntN(min(len(bad), 4000))] ^= byte(1 + rnd.IntN(255))
			case 2: // a piece missing
				at := rnd.IntN(len(bad))
				bad = append(bad[:at], bad[min(len(bad), at+1+rnd.IntN(200)):]...)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := readAll(bad, 0)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
				t.Errorf("%s: %d MiB for a file of %d bytes", path, used>>20, len(bad))
			}
			if err != nil && strings.Contains(err.Error(), "unforeseen") {
				t.Errorf("%s: %v", path, err)
			}
		}
		for _, n := range []int{0, 3, 11, 12, len(data) / 2, len(data) - 9, len(data) - 1} {
			if err := readAll(data[:n], 0); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s cut to %d bytes: %v", path, n, err)
			}
		}
	}
}

// FuzzRead reads whatever it is given as a file. Run it with a memory limit.
func FuzzRead(f *testing.F) {
	for _, path := range sampleFiles(f) {
		if info, err := os.Stat(path); err != nil || info.Size() > 10_000 {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readAll(data, 100); err != nil && strings.Contains(err.Error(), "unforeseen") {
			t.Fatal(err)
		}
	})
}
