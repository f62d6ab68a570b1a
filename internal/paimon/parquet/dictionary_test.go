package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// TestIndexesBehindPlainPages reads chunks in which pages of dictionary indexes
// follow plain ones: no writer is known to do so, and the format allows it.
func TestIndexesBehindPlainPages(t *testing.T) {
	text := func(s string) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...) }
	number := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for _, c := range []struct {
		phys  format.Type
		as    Type
		dict  [][]byte
		plain [][]byte
		want  string
	}{
		{format.Int64, kind(Int64), [][]byte{number(7), number(9)}, [][]byte{number(1), number(2)}, "[9 9 9 1 2 7 7 1 2 1 2 9]"},
		{format.ByteArray, kind(String), [][]byte{text("seven"), text("nine")}, [][]byte{text("one"), text("two")},
			"[nine nine nine one two seven seven one two one two nine]"},
	} {
		for batch := range 12 {
			f := &builtFile{}
			f.Write([]byte("PAR1"))
			f.page(t, format.DictionaryPage, format.Plain, len(c.dict), bytes.Join(c.dict, nil))
			plain := func() { f.page(t, format.DataPage, format.Plain, len(c.plain), bytes.Join(c.plain, nil)) }
			// Runs of one index of one bit.
			f.page(t, format.DataPage, format.RLEDictionary, 3, []byte{1, 3 << 1, 1})
			plain()
			f.page(t, format.DataPage, format.RLEDictionary, 2, []byte{1, 2 << 1, 0})
			plain()
			plain()
			f.page(t, format.DataPage, format.RLEDictionary, 1, []byte{1, 1 << 1, 1})
			file := f.end(t, c.phys, 12)
			var got []any
			for _, row := range rowsOf(t, file, []Column{{Name: "x", Type: c.as}}, batch+1) {
				got = append(got, row["x"])
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("%s in batches of %d: %v, want %s", c.phys, batch+1, got, c.want)
			}
		}
	}
}

// builtFile is a file of one required column, x, in one row group, uncompressed.
type builtFile struct{ bytes.Buffer }

func (f *builtFile) page(t *testing.T, kind format.PageType, enc format.Encoding, n int, data []byte) {
	t.Helper()
	h := format.PageHeader{Type: kind, CompressedPageSize: int32(len(data)), UncompressedPageSize: int32(len(data))}
	if kind == format.DictionaryPage {
		h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: int32(n), Encoding: enc})
	} else {
		h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: int32(n), Encoding: enc})
	}
	f.marshal(t, h)
	f.Write(data)
}

func (f *builtFile) marshal(t *testing.T, v any) {
	t.Helper()
	data, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(data)
}

func (f *builtFile) end(t *testing.T, kind format.Type, rows int64) *File {
	t.Helper()
	const start = 4
	at := f.Len()
	chunk := format.ColumnMetaData{Type: kind, Encoding: []format.Encoding{format.Plain, format.RLEDictionary}, PathInSchema: []string{"x"},
		NumValues: rows, TotalUncompressedSize: int64(at - start), TotalCompressedSize: int64(at - start),
		DictionaryPageOffset: start, DataPageOffset: start + 1}
	f.marshal(t, format.FileMetaData{Version: 1, NumRows: rows,
		Schema: []format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(1))},
			{Name: "x", Type: thrift.New(kind), RepetitionType: thrift.New(format.Required)}},
		RowGroups: []format.RowGroup{{Columns: []format.ColumnChunk{{MetaData: chunk}}, NumRows: rows, TotalByteSize: int64(at - start)}}})
	f.Write(binary.LittleEndian.AppendUint32(nil, uint32(f.Len()-at)))
	f.WriteString("PAR1")
	file, err := Open(bytes.NewReader(f.Bytes()), int64(f.Len()), "built.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return file
}
