package parquet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"
)

// written is a sort of column parquet-go can write: its node, the encodings
// it may have besides PLAIN and dictionary, a source of values with the text
// each is read as, and the wanted type.
type written struct {
	node      lib.Node
	encodings []encoding.Encoding
	want      Type
	value     func(*rand.Rand) (lib.Value, string)
}

func dec(p, s int) Type { return Type{Kind: Decimal, Precision: p, Scale: s} }
func ts(p int) Type     { return Type{Kind: Timestamp, Precision: p} }

// twosComplement is v in n bytes, big endian.
func twosComplement(v *big.Int, n int) []byte {
	m := new(big.Int).Lsh(big.NewInt(1), uint(8*n))
	return new(big.Int).Mod(v, m).FillBytes(make([]byte, n))
}

func bigDecimal(r *rand.Rand, digits int) *big.Int {
	v, _ := new(big.Int).SetString(fmt.Sprintf("%0*d", 1, r.Uint64()%9+1), 10)
	for range r.IntN(digits) {
		v.Mul(v, big.NewInt(10)).Add(v, big.NewInt(int64(r.IntN(10))))
	}
	if r.IntN(2) == 0 {
		v.Neg(v)
	}
	return v
}

var (
	ints    = []encoding.Encoding{&lib.DeltaBinaryPacked, &lib.ByteStreamSplit}
	strs    = []encoding.Encoding{&lib.DeltaLengthByteArray, &lib.DeltaByteArray}
	floats  = []encoding.Encoding{&lib.ByteStreamSplit}
	fixeds  = []encoding.Encoding{&lib.DeltaByteArray}
	sources = []written{
		{lib.Leaf(lib.BooleanType), []encoding.Encoding{&lib.RLE}, kind(Boolean), func(r *rand.Rand) (lib.Value, string) {
			v := r.IntN(3) == 0
			return lib.BooleanValue(v), strconv.FormatBool(v)
		}},
		{lib.Int(8), ints, kind(Int8), func(r *rand.Rand) (lib.Value, string) {
			v := int8(r.Uint32())
			return lib.Int32Value(int32(v)), strconv.Itoa(int(v))
		}},
		{lib.Leaf(lib.Int32Type), ints, kind(Int32), func(r *rand.Rand) (lib.Value, string) {
			v := int32(r.Uint32())
			return lib.Int32Value(v), strconv.Itoa(int(v))
		}},
		{lib.Int(32), ints, kind(Int64), func(r *rand.Rand) (lib.Value, string) {
			v := int32(r.Uint32()) >> r.IntN(32)
			return lib.Int32Value(v), strconv.Itoa(int(v))
		}},
		{lib.Leaf(lib.Int64Type), ints, kind(Int64), func(r *rand.Rand) (lib.Value, string) {
			v := int64(r.Uint64()) >> r.IntN(64)
			return lib.Int64Value(v), strconv.FormatInt(v, 10)
		}},
		{lib.Int(64), ints, kind(Int16), func(r *rand.Rand) (lib.Value, string) {
			v := int64(int16(r.Uint32()))
			return lib.Int64Value(v), strconv.FormatInt(v, 10)
		}},
		{lib.Leaf(lib.FloatType), floats, kind(Double), func(r *rand.Rand) (lib.Value, string) {
			v := float32(r.NormFloat64())
			return lib.FloatValue(v), strconv.FormatFloat(float64(v), 'g', -1, 64)
		}},
		{lib.Leaf(lib.DoubleType), floats, kind(Double), func(r *rand.Rand) (lib.Value, string) {
			v := math.Float64frombits(r.Uint64())
			return lib.DoubleValue(v), strconv.FormatFloat(v, 'g', -1, 64)
		}},
		{lib.String(), strs, kind(String), func(r *rand.Rand) (lib.Value, string) {
			v := fmt.Sprintf("%0*d", r.IntN(40), r.IntN(200))
			return lib.ByteArrayValue([]byte(v)), v
		}},
		{lib.Leaf(lib.FixedLenByteArrayType(3)), fixeds, kind(Binary), func(r *rand.Rand) (lib.Value, string) {
			v := []byte{byte(r.IntN(4)), 2, byte(r.IntN(256))}
			return lib.FixedLenByteArrayValue(v), hex.EncodeToString(v)
		}},
		decimals(lib.Int32Type, ints, dec(9, 0), 9), decimals(lib.Int64Type, ints, dec(18, 0), 18),
		decimals(lib.Int64Type, ints, dec(25, 0), 18), decimals(lib.FixedLenByteArrayType(6), fixeds, dec(12, 0), 12),
		decimals(lib.FixedLenByteArrayType(16), fixeds, dec(18, 0), 18), decimals(lib.FixedLenByteArrayType(16), fixeds, dec(38, 0), 38),
		decimals(lib.ByteArrayType, strs, dec(10, 0), 10), decimals(lib.ByteArrayType, strs, dec(38, 0), 38),
		stampsOf(lib.Millisecond, ts(3), 1e6), stampsOf(lib.Millisecond, ts(6), 1e6), stampsOf(lib.Microsecond, ts(6), 1e3),
		stampsOf(lib.Microsecond, ts(3), 1e3), stampsOf(lib.Nanosecond, ts(9), 1), stampsOf(lib.Nanosecond, ts(0), 1),
		{lib.Leaf(lib.Int96Type), nil, ts(9), func(r *rand.Rand) (lib.Value, string) {
			days, nanos := r.IntN(100000)-50000, r.Int64N(86400e9)
			return lib.Int96Value(deprecated.Int96{uint32(nanos), uint32(nanos >> 32), uint32(days + 2440588)}),
				strconv.FormatInt(int64(days)*86400e9+nanos, 10)
		}},
		{lib.Date(), ints, kind(Date), func(r *rand.Rand) (lib.Value, string) {
			v := int32(r.IntN(100000) - 50000)
			return lib.Int32Value(v), strconv.Itoa(int(v))
		}},
	}
)

func decimals(typ lib.Type, encodings []encoding.Encoding, want Type, digits int) written {
	return written{lib.Decimal(0, digits, typ), encodings, want, func(r *rand.Rand) (lib.Value, string) {
		v := bigDecimal(r, digits)
		switch typ.Kind() {
		case lib.Int32:
			return lib.Int32Value(int32(v.Int64())), v.String()
		case lib.Int64:
			return lib.Int64Value(v.Int64()), v.String()
		case lib.FixedLenByteArray:
			return lib.FixedLenByteArrayValue(twosComplement(v, typ.Length())), v.String()
		default:
			return lib.ByteArrayValue(twosComplement(v, v.BitLen()/8+1+r.IntN(3))), v.String()
		}
	}}
}

func stampsOf(unit lib.TimeUnit, want Type, nanos int64) written {
	return written{lib.Timestamp(unit), ints, want, func(r *rand.Rand) (lib.Value, string) {
		v := r.Int64N(4e18/nanos) - 2e18/nanos
		shown := v * nanos
		if want.Precision <= 3 {
			shown = floorDiv(shown, 1e6) * 1e6
		}
		return lib.Int64Value(v), strconv.FormatInt(shown, 10)
	}}
}

// TestRoundTrip writes random columns with parquet-go in random ways and reads
// them back.
func TestRoundTrip(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for seed := range rounds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { roundTrip(t, rand.New(rand.NewPCG(uint64(seed), 9))) })
	}
}

func roundTrip(t *testing.T, r *rand.Rand) {
	codecs := []compress.Codec{&lib.Uncompressed, &lib.Snappy, &lib.Gzip, &lib.Zstd, &lib.Lz4Raw, &lib.Brotli}
	group := lib.Group{}
	var picked []written
	var nullable []float64
	columns := []Column{}
	for i := range 1 + r.IntN(6) {
		w := sources[r.IntN(len(sources))]
		name := fmt.Sprintf("c%d", i)
		node := w.node
		switch k := r.IntN(3); {
		case k == 0 && w.node.Type().Kind() != lib.Boolean:
			node = lib.Encoded(node, &lib.RLEDictionary)
		case k == 1 && len(w.encodings) > 0:
			node = lib.Encoded(node, w.encodings[r.IntN(len(w.encodings))])
		default:
			node = lib.Encoded(node, &lib.Plain)
		}
		nulls := []float64{-1, 0, 0.02, 0.5, 1}[r.IntN(5)]
		if nulls >= 0 {
			node = lib.Optional(node)
		}
		group[name] = lib.Compressed(node, codecs[r.IntN(len(codecs))])
		picked, nullable = append(picked, w), append(nullable, nulls)
		columns = append(columns, Column{Name: name, Type: w.want})
	}
	options := []lib.WriterOption{lib.NewSchema("t", group), lib.DataPageVersion(1 + r.IntN(2)),
		lib.PageBufferSize([]int{100, 5000, 1 << 20}[r.IntN(3)])}
	if r.IntN(2) == 0 {
		options = append(options, lib.DictionaryMaxBytes(int64(1+r.IntN(2000))))
	}
	var out bytes.Buffer
	w := lib.NewWriter(&out, options...)
	rows := r.IntN(6000)
	want := make([][]any, rows)
	pool := 1 + r.IntN(1000) // values to choose from, so that dictionaries have a use
	values := make([][]lib.Value, len(picked))
	texts := make([][]string, len(picked))
	for c, p := range picked {
		for range pool {
			v, s := p.value(r)
			values[c], texts[c] = append(values[c], v), append(texts[c], s)
		}
	}
	for i := range rows {
		row := lib.Row{}
		want[i] = make([]any, len(picked))
		for c := range picked {
			switch k := r.IntN(pool); {
			case nullable[c] < 0:
				row = append(row, values[c][k].Level(0, 0, c))
				want[i][c] = texts[c][k]
			case r.Float64() < nullable[c]:
				row = append(row, lib.NullValue().Level(0, 0, c))
			default:
				row = append(row, values[c][k].Level(0, 1, c))
				want[i][c] = texts[c][k]
			}
		}
		if _, err := w.WriteRows([]lib.Row{row}); err != nil {
			t.Fatal(err)
		}
		if r.IntN(1500) == 0 {
			if err := w.Flush(); err != nil { // a row group
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "round trip")
	if err != nil {
		t.Fatal(err)
	}
	rd, err := f.Read(columns, ReadOptions{BatchRows: []int{1, 10, 777, 0}[r.IntN(4)]})
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	for row := 0; row < rows; {
		vs, n, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		for c, col := range columns {
			for i := range n {
				if got := number(col.Type, vs[c], i); got != want[row+i][c] {
					t.Fatalf("row %d of %d, column %s (%v, %s): got %v, want %v", row+i, rows, col.Name, group[col.Name], col.Type,
						got, want[row+i][c])
				}
			}
		}
		row += n
	}
}

type treeRow struct {
	ID    int64
	Tags  []string            `parquet:"tags,list"`
	Plain []int32             `parquet:"plain"` // repeated without LIST: two levels
	Attrs map[string]*float64 `parquet:"attrs"`
	Inner *struct {
		A *int64
		L []struct{ X *string } `parquet:"l,list"`
	} `parquet:"inner,optional"`
}

// TestNestedRoundTrip does so with lists, maps and structs.
func TestNestedRoundTrip(t *testing.T) {
	maybe := func(r *rand.Rand) bool { return r.IntN(3) > 0 }
	for seed := range 15 {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		rows := make([]treeRow, r.IntN(3000))
		want := make([]map[string]any, len(rows))
		for i := range rows {
			row := &rows[i]
			row.ID = int64(i)
			tags, plain, attrs := []any{}, []any{}, []any{}
			for range r.IntN(5) * r.IntN(2) {
				s := strconv.Itoa(r.IntN(30))
				row.Tags, tags = append(row.Tags, s), append(tags, s)
			}
			for range r.IntN(4) {
				v := r.Int32()
				row.Plain, plain = append(row.Plain, v), append(plain, strconv.Itoa(int(v)))
			}
			if maybe(r) {
				row.Attrs = map[string]*float64{"k": nil}
				attrs = append(attrs, []any{"k", nil})
				if maybe(r) {
					v := float64(r.IntN(1000))
					row.Attrs["k"] = &v
					attrs[0] = []any{"k", strconv.FormatFloat(v, 'g', -1, 64)}
				}
			}
			want[i] = map[string]any{"ID": strconv.Itoa(i), "tags": tags, "plain": plain, "attrs": attrs, "inner": nil}
			if maybe(r) {
				row.Inner = &struct {
					A *int64
					L []struct{ X *string } `parquet:"l,list"`
				}{}
				inner := map[string]any{"A": nil, "l": []any{}, "none": nil}
				if maybe(r) {
					v := r.Int64()
					row.Inner.A, inner["A"] = &v, strconv.FormatInt(v, 10)
				}
				list := []any{}
				for range r.IntN(3) {
					var x struct{ X *string }
					text := map[string]any{"X": nil}
					if maybe(r) {
						s := "x" + strconv.Itoa(i)
						x.X, text["X"] = &s, s
					}
					row.Inner.L, list = append(row.Inner.L, x), append(list, text)
				}
				inner["l"] = list
				want[i]["inner"] = inner
			}
		}
		var out bytes.Buffer
		w := lib.NewGenericWriter[treeRow](&out, lib.PageBufferSize(200+r.IntN(3000)), lib.DataPageVersion(1+r.IntN(2)),
			lib.MaxRowsPerRowGroup(int64(100+r.IntN(5000))), lib.Compression(&lib.Snappy))
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "nested")
		if err != nil {
			t.Fatal(err)
		}
		x := Type{Kind: Struct, Names: []string{"X"}, Children: []Type{kind(String)}}
		got := rowsOf(t, f, []Column{{Name: "ID", Type: kind(Int64)}, {Name: "tags", Type: listOf(kind(String))}, {Name: "plain", Type: listOf(kind(Int32))},
			{Name: "attrs", Type: mapOf(kind(String), kind(Double))},
			{Name: "inner", Type: Type{Kind: Struct, Names: []string{"A", "l", "none"}, Children: []Type{kind(Int64), listOf(x), kind(Date)}}},
		}, 1+r.IntN(900))
		for i := range want {
			if g, w := asJSON(t, got[i]), asJSON(t, want[i]); g != w {
				t.Fatalf("seed %d, row %d:\n got %s\nwant %s", seed, i, g, w)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d rows, want %d", seed, len(got), len(want))
		}
	}
}
