package orc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// natural is a type that each column of a file can be read as.
func natural(n *node) Type {
	switch n.kind {
	case kindBoolean:
		return kind(Boolean)
	case kindByte, kindShort, kindInt, kindLong:
		return kind(Int64)
	case kindFloat, kindDouble:
		return kind(Double)
	case kindString, kindVarchar, kindChar:
		return kind(String)
	case kindBinary:
		return kind(Binary)
	case kindDate:
		return kind(Date)
	case kindTimestamp, kindInstant:
		return Type{Kind: Timestamp, Precision: 9}
	case kindDecimal:
		return Type{Kind: Decimal, Precision: 38, Scale: n.scale}
	case kindList:
		return listOf(natural(n.children[0]))
	case kindMap:
		return mapOf(natural(n.children[0]), natural(n.children[1]))
	case kindStruct:
		t := Type{Kind: Struct, Names: n.names}
		for _, c := range n.children {
			t.Children = append(t.Children, natural(c))
		}
		return t
	}
	return kind(Int64)
}

// maxFuzzBatches is where a reading ends that a few bytes claim to be endless.
const maxFuzzBatches = 50

// readAny opens and reads bytes that may be anything. Whatever is wrong must
// be an error that says so.
func readAny(t testing.TB, data []byte) error {
	fail := func(err error) error {
		var p *safego.PanicError
		if errors.As(err, &p) {
			t.Fatalf("%v\n%s", err, p.Stack)
		}
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
			t.Fatalf("an error that says neither corrupt nor unsupported: %v", err)
		}
		return err
	}
	f, err := OpenLegacy(bytes.NewReader(data), int64(len(data)), "fuzz")
	if err != nil {
		return fail(err)
	}
	var columns []Column
	for i, c := range f.root.children {
		columns = append(columns, Column{Name: f.root.names[i], Type: natural(c)})
	}
	r, err := f.Read(columns, ReadOptions{BatchRows: 100})
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	for range maxFuzzBatches {
		vs, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fail(err)
		}
		for i, v := range vs {
			checkVector(t, columns[i].Type, v, n)
		}
	}
	return nil
}

func samples(t testing.TB) (all [][]byte) {
	files, _ := filepath.Glob("testdata/pyarrow/types*.orc")
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	if len(all) < 5 {
		t.Fatalf("%d samples", len(all))
	}
	return all
}

// FuzzFile reads whole files: tails, stripe footers, and whatever they say.
func FuzzFile(f *testing.F) {
	for _, c := range []codec{codecNone, codecZlib, codecSnappy, codecLZ4, codecZstd} {
		b := nestedFile() // small: the engine is slow at making large inputs smaller
		b.codec = c
		f.Add(b.bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = readAny(t, data) })
}

// FuzzColumn puts bytes behind a sound tail, as the streams of one column of
// any type, encoding and codec.
func FuzzColumn(f *testing.F) {
	bits := []byte{0xff, 0xa5}
	f.Add(uint8(kindLong), uint8(encDirectV2), uint8(codecNone), uint16(8), bits, []byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, []byte{}, []byte{}, uint32(0))
	f.Add(uint8(kindLong), uint8(encDirectV2), uint8(codecNone), uint16(1), []byte{}, []byte{0x80, 0x00, 0x00, 0x01, 0x85, 0x80, 0x40}, []byte{}, []byte{}, uint32(0))
	f.Add(uint8(kindInt), uint8(encDirect), uint8(codecZlib), uint16(5), []byte{}, []byte{0xfb, 0x02, 0x03, 0x06, 0x07, 0xb}, []byte{}, []byte{}, uint32(0))
	f.Add(uint8(kindByte), uint8(encDirect), uint8(codecSnappy), uint16(102), []byte{}, []byte{0x61, 0x00, 0xfe, 0x44, 0x45}, []byte{}, []byte{}, uint32(0))
	f.Add(uint8(kindBoolean), uint8(encDirect), uint8(codecLZ4), uint16(12), bits, bits, []byte{}, []byte{}, uint32(0))
	f.Add(uint8(kindString), uint8(encDirectV2), uint8(codecZstd), uint16(5), []byte{}, []byte("abcdefghij"), []byte{}, []byte{0x02, 0x02}, uint32(0))
	f.Add(uint8(kindChar), uint8(encDictionaryV2), uint8(codecZstd), uint16(4), bits, []byte{0x02, 0x01}, []byte("a  b"), []byte{0x02, 0x02}, uint32(2))
	f.Add(uint8(kindDecimal), uint8(encDirectV2), uint8(codecNone), uint16(3), []byte{}, []byte{0x03, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x04}, []byte{0x00, 0x02}, []byte{}, uint32(0))
	f.Add(uint8(kindTimestamp), uint8(encDirectV2), uint8(codecNone), uint16(3), []byte{}, []byte{0x00, 0x05}, []byte{0x00, 0x0a}, []byte{}, uint32(0))
	f.Add(uint8(kindList), uint8(encDirectV2), uint8(codecNone), uint16(3), []byte{}, []byte{0x41, 0xff, 0xaa}, []byte{}, []byte{0x02, 0x03}, uint32(0))
	f.Add(uint8(kindDouble), uint8(encDirect), uint8(codecNone), uint16(1), []byte{}, []byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{}, []byte{}, uint32(0))
	f.Fuzz(func(t *testing.T, k, enc, c uint8, rows uint16, present, data, second, lengths []byte, dictionary uint32) {
		encoding := encoding(enc % 4)
		b := builder{codec: codec(c % 6)}
		if b.codec == codecLZO {
			b.codec = codecNone
		}
		fk := fileKind(k % uint8(kindInstant+1))
		b.types = []*typeMessage{structOf([]string{"c"}, 1), typeOf(fk)}
		switch fk {
		case kindList:
			b.types = []*typeMessage{structOf([]string{"c"}, 1), typeOf(fk, 2), typeOf(kindBoolean)}
		case kindMap:
			b.types = []*typeMessage{structOf([]string{"c"}, 1), typeOf(fk, 2, 3), typeOf(kindBoolean), typeOf(kindLong)}
		case kindChar, kindVarchar:
			b.types[1].MaximumLength = &dictionary
		case kindDecimal:
			scale := uint32(10)
			b.types[1].Scale = &scale
		}
		dict := streamDictionary
		if encoding.v2() && fk == kindDecimal || fk == kindTimestamp || fk == kindInstant {
			dict = streamSecondary
		}
		st := builtStripe{rows: uint64(rows), zone: []string{"", "Asia/Tokyo"}[rows%2], streams: []builtStream{
			{column: 1, kind: streamData, data: data, raw: c&64 != 0}, {column: 1, kind: dict, data: second}, {column: 1, kind: streamLength, data: lengths}}}
		if len(present) > 0 {
			st.streams = append(st.streams, builtStream{column: 1, kind: streamPresent, data: present})
		}
		if len(b.types) > 2 {
			st.streams = append(st.streams, builtStream{column: 2, kind: streamData, data: data}, builtStream{column: 3 % len(b.types), kind: streamData, data: second})
		}
		zero, kindOf := uint32(0), uint32(encoding)
		st.encodings = []*encodingMessage{{Kind: &zero}, {Kind: &kindOf, DictionarySize: &dictionary}}
		b.stripes = []builtStripe{st}
		_ = readAny(t, b.bytes())
	})
}

// FuzzDecompress decompresses bytes that may be anything.
func FuzzDecompress(f *testing.F) {
	text := bytes.Repeat([]byte("some text, and again "), 10)
	for _, c := range []codec{codecZlib, codecSnappy, codecLZ4, codecZstd} {
		f.Add(uint8(c), compress(c, text))
	}
	dst := make([]byte, 1000)
	f.Fuzz(func(t *testing.T, c uint8, src []byte) {
		if n, err := codec(c).decompress(dst, src); n > len(dst) || err != nil && n != 0 {
			t.Fatalf("%d bytes, %v", n, err)
		}
	})
}

// TestCutFiles reads every sample cut short at, and with a byte changed in,
// many places.
func TestCutFiles(t *testing.T) {
	for _, data := range samples(t) {
		for n := 0; n < len(data); n += 97 {
			if readAny(t, data[:n]) == nil {
				t.Errorf("cut to %d of %d bytes: no error", n, len(data))
			}
		}
		for n := len(data) - 1; n >= 0; n -= 41 {
			changed := bytes.Clone(data)
			changed[n] ^= 0xff
			_ = readAny(t, changed)
		}
	}
}

// TestMemoryOfClaims reads small files that claim very much.
func TestMemoryOfClaims(t *testing.T) {
	huge := uint32(1<<26 - 1)
	long := []byte{0x1a, 0x04, 0x00, 0x00, 0x00, 0x00} // five values of 2^26
	for name, b := range map[string]builder{
		"bytes": one(kindString, 5, builtStream{column: 1, kind: streamData, data: []byte("a")}, builtStream{column: 1, kind: streamLength, data: long}),
		"dictionary": func() builder {
			b := one(kindString, 5, builtStream{column: 1, kind: streamDictionary, data: []byte("a")}, builtStream{column: 1, kind: streamLength, data: long})
			zero, e := uint32(0), uint32(encDictionaryV2)
			b.stripes[0].encodings = []*encodingMessage{{Kind: &zero}, {Kind: &e, DictionarySize: &huge}}
			return b
		}(),
		"elements": {types: []*typeMessage{structOf([]string{"c"}, 1), typeOf(kindList, 2), typeOf(kindLong)},
			stripes: []builtStripe{{rows: 1 << 40, streams: []builtStream{{column: 1, kind: streamLength, data: long}}}}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := readAny(t, b.bytes())
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; err == nil || taken > 8<<20 {
			t.Errorf("%s: %d bytes taken, %v", name, taken, err)
		}
	}
}
