package orc

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

// memory is a stream of bytes.
func memory(b []byte) stream {
	return stream{file: &File{in: bytes.NewReader(b), size: int64(len(b)), block: 512}, end: int64(len(b))}
}

func repeat(v int64, n int) []int64 { return slices.Repeat([]int64{v}, n) }

func count(from, step int64, n int) (s []int64) {
	for range n {
		s = append(s, from)
		from += step
	}
	return s
}

// TestIntegerRuns decodes the examples of ORC's specification and runs at the
// edges, in pieces of every size.
func TestIntegerRuns(t *testing.T) {
	for name, c := range map[string]struct {
		v2, signed bool
		data       []byte
		want       []int64
	}{
		"v1 run":            {false, false, []byte{0x61, 0x00, 0x07}, repeat(7, 100)},
		"v1 falling run":    {false, false, []byte{0x61, 0xff, 0x64}, count(100, -1, 100)},
		"v1 literals":       {false, false, []byte{0xfb, 0x02, 0x03, 0x06, 0x07, 0xb}, []int64{2, 3, 6, 7, 11}},
		"v1 signed":         {false, true, []byte{0x00, 0x80, 0x01, 0xff, 0x01}, []int64{-1, -129, -257, -1}},
		"short repeat":      {true, false, []byte{0x0a, 0x27, 0x10}, repeat(10000, 5)},
		"short repeat, neg": {true, true, []byte{0x00, 0x05}, repeat(-3, 3)},
		"short repeat, 8":   {true, true, []byte{0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, repeat(math.MinInt64, 3)},
		"direct":            {true, false, []byte{0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, []int64{23713, 43806, 57005, 48879}},
		"direct, 1 bit":     {true, false, []byte{0x40, 0x09, 0xa5, 0x40}, []int64{1, 0, 1, 0, 0, 1, 0, 1, 0, 1}},
		"direct, 64 bits":   {true, true, []byte{0x7e, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, []int64{math.MaxInt64}},
		"patched": {true, false, []byte{0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
			0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8},
			[]int64{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190}},
		// One value, base -5 of one byte, width 1 bit, a patch of 1 bit behind a gap of 0.
		"patched, negative base": {true, true, []byte{0x80, 0x00, 0x00, 0x01, 0x85, 0x80, 0x40}, []int64{-2}},
		"delta":                  {true, false, []byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
		"delta, fixed":           {true, true, []byte{0xc1, 0xff, 0x03, 0x03}, count(-2, -2, 512)},
		"delta, falling":         {true, true, []byte{0xc6, 0x03, 0x00, 0x01, 0x12}, []int64{0, -1, -2, -4}},
		"delta, one value":       {true, true, []byte{0xc0, 0x00, 0x02, 0x00}, []int64{1}},
	} {
		for piece := 1; piece <= len(c.want); piece++ {
			r := intReader{stream: memory(c.data), v2: c.v2, signed: c.signed}
			var got []int64
			for len(got) < len(c.want) {
				out := make([]int64, min(piece, len(c.want)-len(got)))
				if err := r.read(out); err != nil {
					t.Fatalf("%s, pieces of %d: %v", name, piece, err)
				}
				got = append(got, out...)
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("%s, pieces of %d: %v, want %v", name, piece, got, c.want)
			}
			if err := r.read(make([]int64, 1)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: behind the end: %v", name, err)
			}
		}
		for cut := range len(c.data) {
			r := intReader{stream: memory(c.data[:cut]), v2: c.v2, signed: c.signed}
			if err := r.read(make([]int64, len(c.want))); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, cut to %d bytes: %v", name, cut, err)
			}
		}
	}
}

// TestWidths packs values of every width and unpacks them.
func TestWidths(t *testing.T) {
	for code, width := range widths {
		want := make([]int64, 512)
		var data []byte
		bit := 0
		for i := range want {
			v := uint64(i+1) * 0x9e3779b97f4a7c15 >> (64 - width)
			want[i] = int64(v)
			for k := width - 1; k >= 0; k-- {
				if bit%8 == 0 {
					data = append(data, 0)
				}
				data[len(data)-1] |= byte(v>>k&1) << (7 - bit%8)
				bit++
			}
		}
		r := intReader{stream: memory(append([]byte{0x41 | byte(code)<<1, 0xff}, data...)), v2: true}
		got := make([]int64, 512)
		if err := r.read(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("width %d: %v", width, err)
		}
	}
}

func TestByteRuns(t *testing.T) {
	data := []byte{0x61, 0x00, 0xfe, 0x44, 0x45, 0x00, 0x07} // the specification's: 100 zeros, then 0x44 0x45; and three sevens
	want := append(make([]byte, 100), 0x44, 0x45, 7, 7, 7)
	for piece := 1; piece <= len(want); piece++ {
		r := byteReader{stream: memory(data)}
		var got []byte
		for len(got) < len(want) {
			out := make([]byte, min(piece, len(want)-len(got)))
			if err := r.read(out); err != nil {
				t.Fatal(err)
			}
			got = append(got, out...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("pieces of %d: %v", piece, got)
		}
	}
}

// TestBits reads bits in pieces of every size, and counts those set.
func TestBits(t *testing.T) {
	data := []byte{0xfb, 0xa5, 0xff, 0x00, 0x81, 0x3c, 0x05, 0xff} // five literals, eight 0xff
	var want []bool
	for _, b := range []byte{0xa5, 0xff, 0x00, 0x81, 0x3c, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff} {
		want = append(want, eightBools[b][:]...)
	}
	for piece := 1; piece <= len(want); piece++ {
		r, counted := boolReader{}, boolReader{}
		r.stream, counted.stream = memory(data), memory(data)
		var got []bool
		for len(got) < len(want) {
			n := min(piece, len(want)-len(got))
			out := make([]bool, n)
			if err := r.bools(out, 0); err != nil {
				t.Fatal(err)
			}
			b, skip, err := counted.bytes(n)
			if err != nil || countOnes(b, skip, n) != countTrue(out) {
				t.Fatalf("pieces of %d: %d bits set, want %d (%v)", piece, countOnes(b, skip, n), countTrue(out), err)
			}
			got = append(got, out...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pieces of %d: %v", piece, got)
		}
	}
}
