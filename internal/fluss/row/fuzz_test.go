package row

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// seedRows adds random rows of one column of several types.
func seedRows(f *testing.F, add func(typ string, data []byte)) {
	for _, typ := range []string{
		"INT", "BIGINT NOT NULL", "STRING", "DECIMAL(20, 2)", "DECIMAL(5, 2)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)", "BOOLEAN",
		"ARRAY<STRING>", "ARRAY<DECIMAL(20, 2)>", "ARRAY<ARRAY<BIGINT>>", "MAP<STRING, INT>", "ROW<`x` INT, `y` STRING>",
		"ARRAY<ROW<`x` INT, `y` STRING>>", "ARRAY<TIMESTAMP(9)>", "MAP<INT, MAP<INT, ARRAY<BOOLEAN>>>",
	} {
		t, err := ParseType(typ)
		if err != nil {
			f.Fatal(err)
		}
		e, err := NewEncoder([]DataType{t})
		if err != nil {
			f.Fatal(err)
		}
		r := newRand(uint64(len(typ)))
		for range 3 {
			v := randomValue(r, t)
			data, err := e.AppendValues(nil, []any{v})
			if err == nil {
				add(typ, data)
			}
		}
	}
}

// FuzzDecode checks that what Decode accepts can be encoded and decoded again,
// and that it makes no more values than data has room for.
func FuzzDecode(f *testing.F) {
	seedRows(f, func(typ string, data []byte) { f.Add(typ, data) })
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		parsed, err := ParseType(typ)
		if err != nil {
			return
		}
		types := []DataType{parsed}
		values, err := Decode(types, data)
		if err != nil {
			return
		}
		if n := countValues(values); n > 8*len(data)+8 {
			t.Fatalf("%d values from %d bytes", n, len(data))
		}
		e, err := NewEncoder(types)
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.AppendValues(nil, values)
		if err != nil {
			t.Fatalf("%v: %v", values, err)
		}
		if back, err := Decode(types, again); err != nil || !equalValue(back, values) {
			t.Fatalf("%v, %v; want %v", back, err, values)
		}
	})
}

func countValues(v any) int {
	n := 1
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			n += countValues(e)
		}
	case MapValue:
		for _, e := range x {
			n += countValues(e.Key) + countValues(e.Value)
		}
	}
	return n
}

// FuzzKey is FuzzDecode for both key layouts.
func FuzzKey(f *testing.F) {
	for _, typ := range []string{"BIGINT", "STRING", "DECIMAL(30, 5)", "TIMESTAMP_LTZ(9)"} {
		f.Add(typ, []byte{0, 1, 2, 3, 4, 5, 6, 7, 3, 0, 0, 0, 16, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9})
		f.Add(typ, []byte{3, 'a', 'b', 'c'})
	}
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		parsed, err := ParseType(typ)
		if err != nil {
			return
		}
		for _, format := range []KeyFormat{KeyCompacted, KeyPaimon} {
			types := []DataType{parsed, parsed}
			values, err := DecodeKey(format, types, data)
			if err != nil {
				continue
			}
			e, err := NewKeyEncoder(format, types)
			if err != nil {
				t.Fatal(err)
			}
			again, err := e.AppendValues(nil, values)
			if err != nil {
				t.Fatalf("%v: %v", values, err)
			}
			if back, err := DecodeKey(format, types, again); err != nil || !equalValue(back, values) {
				t.Fatalf("%v, %v; want %v", back, err, values)
			}
		}
	})
}

func FuzzParseType(f *testing.F) {
	for _, s := range []string{"INT", "DECIMAL(10,2) NOT NULL", "ROW<a INT 'it''s', `b``c` ARRAY<MAP<STRING, ROW<>>>>", "TIME", "timestamp_ltz(9)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ, err := ParseType(s)
		if err != nil {
			return
		}
		again, err := ParseType(typ.String())
		if err != nil || again.String() != typ.String() {
			t.Fatalf("%q: %q, then %q %v", s, typ, again, err)
		}
	})
}

// FuzzBatch gives DecodeBatch a right length and checksum, so that records are
// reached, and checks that what it reads survives being built again.
func FuzzBatch(f *testing.F) {
	var b Batch
	b.Reset(1)
	b.AddRaw([]byte{1}, []byte("row"))
	b.AddRaw([]byte{2}, nil)
	b.AddRaw(bytes.Repeat([]byte{3}, 200), []byte("another row"))
	f.Add(bytes.Clone(b.Finish(7, 0)), true)
	f.Add(bytes.Clone(b.Finish(NoWriter, NoSequence)), false)
	f.Fuzz(func(t *testing.T, data []byte, repair bool) {
		if repair && len(data) >= batchHeader {
			data = bytes.Clone(data)
			binary.LittleEndian.PutUint32(data, uint32(len(data)-4))
			data[offsetMagic] = 0
			binary.LittleEndian.PutUint32(data[offsetCRC:], crc32.Checksum(data[offsetSchema:], castagnoli))
		}
		read, err := DecodeBatch(data)
		if err != nil {
			return
		}
		var again Batch
		again.Reset(read.SchemaID)
		for _, r := range read.Records {
			again.AddRaw(r.Key, r.Row)
		}
		back, err := DecodeBatch(again.Finish(read.WriterID, read.Sequence))
		if err != nil {
			t.Fatal(err)
		}
		if back.SchemaID != read.SchemaID || back.WriterID != read.WriterID || back.Sequence != read.Sequence || len(back.Records) != len(read.Records) {
			t.Fatalf("%+v, want %+v", back, read)
		}
		for i, r := range read.Records {
			if !bytes.Equal(back.Records[i].Key, r.Key) || !bytes.Equal(back.Records[i].Row, r.Row) {
				t.Fatalf("record %d: %x, want %x", i, back.Records[i], r)
			}
		}
	})
}

// FuzzBind makes vectors with arbitrary lengths, offsets and values and checks
// that what Bind accepts can be encoded.
func FuzzBind(f *testing.F) {
	for _, typ := range []string{"STRING", "ARRAY<TINYINT NOT NULL>", "MAP<INT, DECIMAL(30, 2)>", "ROW<a TIMESTAMP(6), b ARRAY<BYTES>>", "BOOLEAN NOT NULL"} {
		f.Add(typ, []byte{3, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
		f.Add(typ, bytes.Repeat([]byte{2}, 64))
	}
	f.Fuzz(func(t *testing.T, typ string, data []byte) {
		parsed, err := ParseType(typ)
		if err != nil {
			return
		}
		types := []DataType{parsed}
		e, err := NewEncoder(types)
		if err != nil {
			t.Fatal(err)
		}
		g := vectorMaker{data, 0}
		v := g.vector(parsed)
		if err := e.Bind([]*Vector{v}); err != nil {
			return
		}
		keys := []*KeyEncoder{}
		for _, format := range []KeyFormat{KeyCompacted, KeyPaimon} {
			if k, err := NewKeyEncoder(format, types); err == nil && k.Bind([]*Vector{v}) == nil {
				keys = append(keys, k)
			}
		}
		for i := range v.Len {
			e.Append(nil, i)
			e.Unreadable(i)
			for _, k := range keys {
				k.Append(nil, i)
			}
		}
	})
}

// vectorMaker draws vectors from fuzz bytes.
type vectorMaker struct {
	data []byte
	made int
}

func (g *vectorMaker) draw() int {
	if len(g.data) == 0 {
		return 0
	}
	x := int(g.data[0])
	g.data = g.data[1:]
	return x
}

func (g *vectorMaker) vector(t DataType) *Vector {
	if g.made++; g.made > 100 {
		return nil
	}
	v := &Vector{Kind: t.VectorKind(), Len: g.draw()%24 - 1}
	if g.draw()%8 == 7 {
		v.Kind = VectorKind(g.draw())
	}
	size := v.Len + g.draw()%3/2 - g.draw()%9/8
	if g.draw()%2 == 1 {
		for range max(size, 0) {
			v.Nulls = append(v.Nulls, g.draw()%3 == 0)
		}
	}
	offset := int32(0)
	for range max(size, 0) {
		x := int32(g.draw()) - int32(g.draw()%5)
		v.Bools = append(v.Bools, x%2 == 0)
		v.Int32s = append(v.Int32s, x)
		v.Int64s = append(v.Int64s, int64(x)<<(x&63))
		v.Nanos = append(v.Nanos, x)
		v.Float32s = append(v.Float32s, float32(x))
		v.Float64s = append(v.Float64s, float64(x))
		v.Offsets = append(v.Offsets, offset)
		offset += x % 3
	}
	v.Offsets = append(v.Offsets, offset)
	bytes := g.draw()
	v.Data = g.data[:min(len(g.data), bytes)]
	var parts []DataType
	switch t.Kind {
	case Array:
		parts = []DataType{*t.Element}
	case Map:
		parts = []DataType{*t.Key, *t.Value}
	case Row:
		for _, f := range t.Fields {
			parts = append(parts, f.Type)
		}
	}
	for _, p := range parts {
		v.Children = append(v.Children, g.vector(p))
	}
	return v
}
