package orc

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc/orcpb"
	"google.golang.org/protobuf/proto"
)

func openBytes(t testing.TB, b []byte, legacy bool) *File {
	t.Helper()
	f, err := open(bytes.NewReader(b), int64(len(b)), "built.orc", legacy)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// columnText is the only column of a file, as JSON.
func columnText(t testing.TB, f *File, typ Type, batch int) string {
	t.Helper()
	var all []any
	eachRow(t, f, []Column{{Name: "c", Type: typ}}, batch, func(_ int, values []any) { all = append(all, values[0]) })
	return asJSON(t, all)
}

// literals are integers as one run of version 1, signed or not.
func literals(signed bool, values ...int64) []byte {
	out := []byte{byte(256 - len(values))}
	for _, v := range values {
		u := uint64(v)
		if signed {
			u = uint64(v<<1) ^ uint64(v>>63)
		}
		for ; u >= 0x80; u >>= 7 {
			out = append(out, byte(u)|0x80)
		}
		out = append(out, byte(u))
	}
	return out
}

func withEncoding(b builder, e encoding) builder {
	zero, kind := uint32(0), uint32(e)
	for i := range b.stripes {
		b.stripes[i].encodings = []*orcpb.ColumnEncoding{{Kind: &zero}, {Kind: &kind, DictionarySize: proto.Uint32(3)}}
	}
	return b
}

func TestNestedNulls(t *testing.T) {
	typ := Type{Kind: Struct, Names: []string{"x", "new", "l"}, Children: []Type{kind(Int64), listOf(kind(String)), listOf(kind(Int64))}}
	for _, c := range []codec{codecNone, codecZlib, codecSnappy, codecLZ4, codecZstd} {
		b := nestedFile()
		b.codec = c
		for _, batch := range []int{0, 1, 3} {
			got := columnText(t, openBytes(t, b.bytes(), false), typ, batch)
			if want := `[{"l":["7"],"new":null,"x":"1"},null,{"l":null,"new":null,"x":null},{"l":["8","9"],"new":null,"x":"3"}]`; got != want {
				t.Errorf("%s, batches of %d: %s, want %s", codecNames[c], batch, got, want)
			}
		}
	}
}

// TestTimestamps checks instants around 1970, and zones. The offsets and local
// times are those that java.util.TimeZone and java.sql.Timestamp of Java 17
// give.
func TestTimestamps(t *testing.T) {
	type stamp struct{ seconds, nanos int64 } // as stored, since 2015
	for name, c := range map[string]struct {
		kind   fileKind
		zone   string
		legacy bool
		in     []stamp
		want   string
	}{
		"fractions": {kindTimestamp, "", false, []stamp{{0, 0}, {0, 5}, {-utc2015, 999<<3 | 5}, {-utc2015 - 1, 999<<3 | 5}, {-utc2015 - 1, 1<<3 | 2}, {0, 999_999_999 << 3}},
			"[1420070400000000000,1420070400000000000,999000000,-1001000000,-999999000,1420070400999999999]"},
		"the last second before 1970": {kindTimestamp, "GMT", false, []stamp{{-utc2015, 5<<3 | 7}}, "[500000000]"},
		"pyarrow before 1970":         {kindTimestamp, "GMT", false, []stamp{{-utc2015 - 1, -500 << 3}, {-utc2015 - 2, -7<<3 | 7}}, "[-1000000500,-2700000000]"},
		"Tokyo":                       {kindTimestamp, "Asia/Tokyo", false, []stamp{{0, 0}}, "[1420070400000000000]"},
		"New York, summer":            {kindTimestamp, "America/New_York", false, []stamp{{1719806400 - 1420088400, 0}}, "[1719792000000000000]"},
		"Shanghai, 1850 and 1900":     {kindTimestamp, "Asia/Shanghai", false, []stamp{{-3786854400 - 1420041600, 0}, {-2208974743 - 1420041600, 0}}, "[-3786825600000000000,-2208945600000000000]"},
		"Java's PST":                  {kindTimestamp, "PST", false, []stamp{{0, 0}}, "[1420070400000000000]"},
		"GMT-05:30":                   {kindTimestamp, "GMT-05:30", false, []stamp{{60, 0}}, "[1420070460000000000]"},
		"instant":                     {kindInstant, "Asia/Tokyo", false, []stamp{{0, 0}}, "[1420070400000000000]"},
		"instant, legacy":             {kindInstant, "Asia/Tokyo", true, []stamp{{0, 0}}, "[1420102800000000000]"},
		"instant, legacy, no zone":    {kindInstant, "", true, []stamp{{0, 0}}, "[1420070400000000000]"},
	} {
		var seconds, nanos []int64
		for _, s := range c.in {
			seconds, nanos = append(seconds, s.seconds), append(nanos, s.nanos)
		}
		b := withEncoding(one(c.kind, uint64(len(c.in)), builtStream{column: 1, kind: streamData, data: literals(true, seconds...)},
			builtStream{column: 1, kind: streamSecondary, data: literals(false, nanos...)}), encDirect)
		b.stripes[0].zone = c.zone
		got := strings.ReplaceAll(columnText(t, openBytes(t, b.bytes(), c.legacy), Type{Kind: Timestamp, Precision: 9}, 0), `"`, "")
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestDecimals reads values whose trailing zeros the writer dropped, at the
// edges of 64 and 128 bits.
func TestDecimals(t *testing.T) {
	big128 := func(text string) []byte { // zigzag, then base 128
		n, _ := new(big.Int).SetString(text, 10)
		negative := n.Sign() < 0
		n.Lsh(n.Abs(n), 1)
		if negative {
			n.Sub(n, big.NewInt(1))
		}
		var out []byte
		for n.BitLen() > 7 {
			out = append(out, byte(new(big.Int).And(n, big.NewInt(127)).Int64())|0x80)
			n.Rsh(n, 7)
		}
		return append(out, byte(n.Int64()))
	}
	nines := strings.Repeat("9", 38)
	for _, c := range []struct {
		precision int
		values    []string
		scales    []int64
		want      string
	}{
		{18, []string{"0", "-1", "15", "999999999999999999", "-999999999999999999", "1500"}, []int64{0, 0, 1, 2, 2, 4}, `["0.00","-1.00","1.50","9999999999999999.99","-9999999999999999.99","0.15"]`},
		{38, []string{"0", "-1", "15", nines, "-" + nines, "1500", "-128", "127", "-129"}, []int64{0, 0, 1, 2, 2, 4, 2, 2, 2},
			`["0.00","-1.00","1.50","` + nines[2:] + `.99","-` + nines[2:] + `.99","0.15","-1.28","1.27","-1.29"]`},
	} {
		var data []byte
		for _, v := range c.values {
			data = append(data, big128(v)...)
		}
		b := withEncoding(one(kindDecimal, uint64(len(c.values)), builtStream{column: 1, kind: streamData, data: data},
			builtStream{column: 1, kind: streamSecondary, data: literals(true, c.scales...)}), encDirect)
		b.types[1].Scale, b.types[1].Precision = proto.Uint32(2), proto.Uint32(uint32(c.precision))
		if got := columnText(t, openBytes(t, b.bytes(), false), Type{Kind: Decimal, Precision: c.precision, Scale: 2}, 0); got != c.want {
			t.Errorf("precision %d: %s, want %s", c.precision, got, c.want)
		}
	}
}

// TestLimitedText: CHAR drops trailing blanks; CHAR and VARCHAR have no more
// characters than their type.
func TestLimitedText(t *testing.T) {
	for k, want := range map[fileKind]string{kindChar: `["a","éé",""]`, kindVarchar: `["a ","éé","  "]`, kindString: `["a ","ééé","  "]`} {
		streams := []builtStream{{column: 1, kind: streamData, data: []byte("a ééé  ")}, {column: 1, kind: streamLength, data: literals(false, 2, 6, 2)}}
		b := withEncoding(one(k, 3, streams...), encDirect)
		b.types[1].MaximumLength = proto.Uint32(2)
		if got := columnText(t, openBytes(t, b.bytes(), false), kind(String), 0); got != want {
			t.Errorf("%s: %s, want %s", k, got, want)
		}
		streams[0].kind = streamDictionary
		streams = append(streams, builtStream{column: 1, kind: streamData, data: literals(false, 0, 1, 2)})
		b = withEncoding(one(k, 3, streams...), encDictionary)
		b.types[1].MaximumLength = proto.Uint32(2)
		if got := columnText(t, openBytes(t, b.bytes(), false), kind(String), 0); got != want {
			t.Errorf("%s by dictionary: %s, want %s", k, got, want)
		}
	}
}

// TestLargeRows: values that do not fit a batch's aim come in smaller batches.
func TestLargeRows(t *testing.T) {
	const rows, size = 40, 4 << 20
	lengths, data := make([]int64, rows), bytes.Repeat([]byte{'x'}, rows*size)
	for i := range lengths {
		lengths[i] = size
	}
	b := withEncoding(one(kindString, rows, builtStream{column: 1, kind: streamData, data: data}, builtStream{column: 1, kind: streamLength, data: literals(false, lengths...)}), encDirect)
	r, err := openBytes(t, b.bytes(), false).Read([]Column{{Name: "c", Type: kind(String)}}, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for total := 0; total < rows; {
		vs, n, err := r.Next()
		if err != nil || len(vs[0].Data) != n*size || n > 16 {
			t.Fatalf("%d rows of %d bytes, %v", n, len(vs[0].Data), err)
		}
		total += n
	}
}

// TestRefusals: what is not read is named, with the file.
func TestRefusals(t *testing.T) {
	long := func() builder {
		return one(kindLong, 1, builtStream{column: 1, kind: streamData, data: []byte{0xff, 2}})
	}
	for name, c := range map[string]struct {
		b    func() builder
		typ  Type
		want string
	}{
		"lzo": {func() builder {
			b := long()
			b.ps = func(p *orcpb.PostScript) { p.Compression = proto.Uint32(3) }
			return b
		}, kind(Int64), "compression LZO"},
		"brotli": {func() builder {
			b := long()
			b.ps = func(p *orcpb.PostScript) { p.Compression = proto.Uint32(6) }
			return b
		}, kind(Int64), "compression BROTLI"},
		"unknown": {func() builder {
			b := long()
			b.ps = func(p *orcpb.PostScript) { p.Compression = proto.Uint32(9) }
			return b
		}, kind(Int64), "compression of number 9"},
		"version 2": {func() builder {
			b := long()
			b.ps = func(p *orcpb.PostScript) { p.Version = []uint32{1, 9999} }
			return b
		}, kind(Int64), "file version [1 9999]"},
		"encryption": {func() builder {
			b := long()
			b.footer = func(f *orcpb.Footer) { f.Encryption = new(orcpb.Encryption) }
			return b
		}, kind(Int64), "encrypted columns"},
		"encrypted": {func() builder {
			b := long()
			b.ps = func(p *orcpb.PostScript) { p.StripeStatisticsLength = proto.Uint64(1) }
			return b
		}, kind(Int64), "encrypted"},
		"union": {func() builder {
			return builder{types: []*orcpb.Type{structOf([]string{"c"}, 1), typeOf(kindUnion, 2), typeOf(kindLong)}}
		}, kind(Int64), `column "c" is UNION`},
		"geometry":   {func() builder { return one(19, 0) }, kind(Binary), `column "c" is GEOMETRY`},
		"other type": {long, kind(String), `column "c" is LONG in the file, which can't be read as STRING`},
		"scale":      {func() builder { return one(kindDecimal, 0) }, Type{Kind: Decimal, Precision: 5, Scale: 2}, "decimals of scale 0 in the file, wanted 2"},
		"not rows":   {func() builder { return builder{types: []*orcpb.Type{typeOf(kindLong)}} }, kind(Int64), "rows of type LONG"},
		"encoding":   {func() builder { return withEncoding(long(), 7) }, kind(Int64), "encoding of number 7"},
		"zone":       {func() builder { b := one(kindTimestamp, 1); b.stripes[0].zone = "Mars/Base"; return b }, Type{Kind: Timestamp, Precision: 3}, `time zone "Mars/Base" is not known`},
		"rows": {func() builder {
			b := long()
			b.footer = func(f *orcpb.Footer) { f.NumberOfRows = proto.Uint64(9) }
			return b
		}, kind(Int64), "the stripes have 1 rows, the footer says 9"},
		"pre-order": {func() builder { return builder{types: []*orcpb.Type{structOf([]string{"c"}, 0)}} }, kind(Int64), "not in pre-order"},
		"two streams": {func() builder {
			b := long()
			b.stripes[0].streams = append(b.stripes[0].streams, b.stripes[0].streams[0])
			return b
		}, kind(Int64), "two DATA streams"},
		"beyond": {func() builder {
			b := long()
			b.end = func(s *orcpb.StripeFooter) { s.Streams[0].Length = proto.Uint64(1 << 40) }
			return b
		}, kind(Int64), "reach beyond"},
		"out of range": {func() builder {
			return one(kindLong, 3, builtStream{column: 1, kind: streamData, data: []byte{0x0a, 0x27, 0x10}})
		}, kind(Int8), "outside of the wanted type's range"},
	} {
		b := c.b()
		data := b.bytes()
		f, err := Open(bytes.NewReader(data), int64(len(data)), "built.orc")
		if err == nil {
			var r *Reader
			if r, err = f.Read([]Column{{Name: "c", Type: c.typ}}, ReadOptions{}); err == nil {
				_, _, err = r.Next()
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "built.orc") || !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	f := openBytes(t, long().bytes(), false)
	if _, err := f.Read([]Column{{Name: "d", Type: kind(Int64)}}, ReadOptions{}); err == nil || !strings.Contains(err.Error(), `column "d" is not in the file; it has c`) {
		t.Errorf("a missing column: %v", err)
	}
	if !f.Has("c") || f.Has("d") || fmt.Sprint(f.Columns()) != "[c]" || f.NumRows() != 1 {
		t.Errorf("columns %v, %d rows", f.Columns(), f.NumRows())
	}
}
