package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// TestLegacyLists reads lists in the two-level forms of old writers.
func TestLegacyLists(t *testing.T) {
	type pair struct {
		X int32
		Y string
	}
	type one struct{ X int32 }
	type row struct {
		Ints struct {
			Array []int32 `parquet:"array"`
		} `parquet:"ints,optional"`
		Pairs struct {
			Bag []pair `parquet:"bag"`
		} `parquet:"pairs,optional"`
		Ones struct {
			Array []one `parquet:"array"`
		} `parquet:"ones,optional"`
		Named struct {
			Tuple []one `parquet:"named_tuple"`
		} `parquet:"named,optional"`
		Three struct {
			List []one `parquet:"list"`
		} `parquet:"three,optional"`
	}
	rows := make([]row, 2)
	rows[0].Ints.Array = []int32{1, 2}
	rows[0].Pairs.Bag = []pair{{1, "a"}, {2, "b"}}
	rows[0].Ones.Array = []one{{3}}
	rows[0].Named.Tuple = []one{{4}}
	rows[0].Three.List = []one{{5}, {6}}
	data := write(t, rows)
	f, err := Open(bytes.NewReader(data), int64(len(data)), "legacy")
	if err != nil {
		t.Fatal(err)
	}
	x := Type{Kind: Struct, Names: []string{"X"}, Children: []Type{kind(Int32)}}
	xy := Type{Kind: Struct, Names: []string{"Y", "X"}, Children: []Type{kind(String), kind(Int32)}}
	got := rowsOf(t, f, []Column{{Name: "ints", Type: listOf(kind(Int32))}, {Name: "pairs", Type: listOf(xy)}, {Name: "ones", Type: listOf(x)}, {Name: "named", Type: listOf(x)},
		{Name: "three", Type: listOf(kind(Int32))}}, 0)
	const want = `[{"ints":["1","2"],"named":[{"X":"4"}],"ones":[{"X":"3"}],"pairs":[{"X":"1","Y":"a"},{"X":"2","Y":"b"}],"three":["5","6"]},` +
		`{"ints":[],"named":[],"ones":[],"pairs":[],"three":[]}]`
	if s := asJSON(t, got); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// TestStructWithoutWantedFields checks that a struct none of whose wanted
// fields is in the file keeps its own nulls and lengths.
func TestStructWithoutWantedFields(t *testing.T) {
	f := openFile(t, "nested/data-1.parquet")
	none := Type{Kind: Struct, Names: []string{"new", "list", "map"},
		Children: []Type{dec(30, 2), listOf(kind(String)), mapOf(kind(Int32), inner)}}
	columns := []Column{{Name: "st", Type: none}, {Name: "deep", Type: mapOf(kind(Int32), listOf(none))}, {Name: "st", Type: Type{Kind: Struct}}}
	whole := rowsOf(t, f, []Column{{Name: "st", Type: Type{Kind: Struct, Names: []string{"a"}, Children: []Type{kind(Int32)}}},
		{Name: "deep", Type: mapOf(kind(Int32), listOf(Type{Kind: Struct, Names: []string{"x"}, Children: []Type{kind(Int32)}}))}}, 1)
	for i, row := range rowsOf(t, f, columns[:2], 1) {
		if (row["st"] == nil) != (whole[i]["st"] == nil) {
			t.Errorf("row %d: %v, want %v", i, row["st"], whole[i]["st"])
		}
		if st, ok := row["st"].(map[string]any); ok && asJSON(t, st) != `{"list":null,"map":null,"new":null}` {
			t.Errorf("row %d: %s", i, asJSON(t, st))
		}
		got, _ := row["deep"].([]any)
		want, _ := whole[i]["deep"].([]any)
		if len(got) != len(want) {
			t.Fatalf("row %d: %v, want %v", i, got, want)
		}
		for k := range got {
			g, _ := got[k].([]any)[1].([]any)
			w, _ := want[k].([]any)[1].([]any)
			if len(g) != len(w) {
				t.Errorf("row %d, entry %d: %v, want %v", i, k, g, w)
			}
		}
	}
	for i, row := range rowsOf(t, f, columns[2:], 2) {
		if (row["st"] == nil) != (whole[i]["st"] == nil) {
			t.Errorf("row %d: %v, want %v", i, row["st"], whole[i]["st"])
		}
	}
}

// TestHadoopLZ4 decodes the deprecated LZ4 codec in its framed and raw forms.
func TestHadoopLZ4(t *testing.T) {
	plain := bytes.Repeat([]byte("some text that repeats, "), 500)
	block := func(b []byte) []byte {
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, err := lz4.CompressBlock(b, out, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out[:n]
	}
	framed := func(pieces ...[]byte) (out []byte) {
		for _, p := range pieces {
			c := block(p)
			out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
			out = binary.BigEndian.AppendUint32(out, uint32(len(c)))
			out = append(out, c...)
		}
		return out
	}
	for name, src := range map[string][]byte{"raw": block(plain), "framed": framed(plain), "blocks": framed(plain[:7000], plain[7000:])} {
		dst := make([]byte, len(plain))
		if err := decompress(format.Lz4, dst, src); err != nil || !bytes.Equal(dst, plain) {
			t.Errorf("%s: %v", name, err)
		}
		if err := decompress(format.Lz4, dst[:len(dst)-1], src); err == nil {
			t.Errorf("%s: longer than claimed, no error", name)
		}
		if err := decompress(format.Lz4, dst, src[:len(src)-1]); err == nil {
			t.Errorf("%s: cut short, no error", name)
		}
	}
}

// TestDecimalBytes checks the least width at its edges.
func TestDecimalBytes(t *testing.T) {
	values := []int64{0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, math.MaxInt64, math.MinInt64}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values = append(values, int64(r.Uint64())>>r.IntN(64))
	}
	for _, v := range values {
		n := big.NewInt(v)
		le := binary.LittleEndian.AppendUint64(nil, uint64(v))
		got, err := appendIntDecimal(nil, le)
		if err != nil || signed(got).Cmp(n) != 0 {
			t.Fatalf("%d: % x, %v", v, got, err)
		}
		if len(got) > 1 && signed(got[1:]).Cmp(n) == 0 {
			t.Errorf("%d: % x is not the least width", v, got)
		}
		wide, err := appendDecimal(nil, twosComplement(n, 16))
		if err != nil || !bytes.Equal(wide, got) {
			t.Errorf("%d: % x from 16 bytes, % x from 8, %v", v, wide, got, err)
		}
		if back, err := decimal64(twosComplement(n, 16)); err != nil || back != v {
			t.Errorf("%d: %d, %v", v, back, err)
		}
	}
	for _, b := range [][]byte{nil, {}} {
		if _, err := appendDecimal(nil, b); err == nil {
			t.Error("no bytes: no error")
		}
		if _, err := decimal64(b); err == nil {
			t.Error("no bytes: no error")
		}
	}
}

// TestHybrid reads runs in pieces of every size against a plain decoding.
func TestHybrid(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for width := uint(0); width <= 32; width++ {
		var src []byte
		var want []int32
		for range 30 {
			value := func() int32 { return int32(uint32(r.Uint64()) & uint32(1<<width-1)) }
			if r.IntN(2) == 0 {
				n, v := r.IntN(40), value()
				src = binary.AppendUvarint(src, uint64(n)<<1)
				for i := range (width + 7) / 8 {
					src = append(src, byte(uint32(v)>>(8*i)))
				}
				for range n {
					want = append(want, v)
				}
				continue
			}
			groups := r.IntN(9)
			src = binary.AppendUvarint(src, uint64(groups)<<1|1)
			bits := new(big.Int)
			for i := range groups * 8 {
				v := value()
				want = append(want, v)
				bits.Or(bits, new(big.Int).Lsh(big.NewInt(int64(uint32(v))), uint(i)*width))
			}
			packed := bits.FillBytes(make([]byte, groups*int(width)))
			for i := len(packed) - 1; i >= 0; i-- {
				src = append(src, packed[i])
			}
		}
		src = append(src, make([]byte, padding)...)[:len(src)]
		var h hybrid
		h.reset(src, width)
		got := make([]int32, 0, len(want))
		for len(got) < len(want) {
			piece := make([]int32, min(1+r.IntN(50), len(want)-len(got)))
			if err := h.read(piece); err != nil {
				t.Fatalf("width %d: %v", width, err)
			}
			got = append(got, piece...)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("width %d, value %d: %d, want %d", width, i, got[i], want[i])
			}
		}
		if width > 0 && h.read(make([]int32, 1)) == nil {
			t.Errorf("width %d: no error at the end", width)
		}
	}
}
