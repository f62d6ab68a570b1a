package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// TestRefusals checks that what can't be read as asked is refused by name.
func TestRefusals(t *testing.T) {
	all := "all_types/data-1.parquet"
	for _, c := range []struct {
		file string
		want Column
		is   error
		text []string
	}{
		{all, Column{Name: "nope", Type: kind(Int32)}, nil, []string{`"nope" is not in the file`, "f_bool", "more"}},
		{all, Column{Name: "f_string", Type: kind(Int32)}, ErrUnsupported, []string{`"f_string"`, "BYTE_ARRAY", "INT32"}},
		{all, Column{Name: "f_int", Type: kind(String)}, ErrUnsupported, []string{`"f_int"`, "STRING"}},
		{all, Column{Name: "f_date", Type: kind(Int32)}, ErrUnsupported, []string{`"f_date"`, "DATE"}},
		{all, Column{Name: "f_ts3", Type: kind(Int64)}, ErrUnsupported, []string{`"f_ts3"`}},
		{all, Column{Name: "f_dec9", Type: dec(9, 3)}, ErrUnsupported, []string{`"f_dec9"`, "scale 2", "wanted 3"}},
		{all, Column{Name: "f_int", Type: dec(9, 2)}, ErrUnsupported, []string{`"f_int"`, "DECIMAL(9, 2)"}},
		{all, Column{Name: "f_dec9", Type: dec(39, 2)}, nil, []string{`"f_dec9"`, "1 to 38"}},
		{all, Column{Name: "f_int", Type: listOf(kind(Int32))}, ErrUnsupported, []string{`"f_int"`, "LIST"}},
		{all, Column{Name: "f_int", Type: Type{Kind: List}}, nil, []string{"0 child types, required 1"}},
		{all, Column{Name: "f_int", Type: Type{Kind: 99}}, nil, []string{"unknown kind 99"}},
		{all, Column{Name: "f_ts3", Type: ts(10)}, nil, []string{"0 to 9"}},
		{"nested/data-1.parquet", Column{Name: "arr", Type: kind(Int32)}, ErrUnsupported, []string{`"arr"`, "INT32"}},
		{"nested/data-1.parquet", Column{Name: "arr", Type: inner}, ErrUnsupported, []string{`"arr"`, "STRUCT"}},
		{"nested/data-1.parquet", Column{Name: "mp", Type: listOf(kind(Int32))}, ErrUnsupported, []string{`"mp.key_value"`}},
		{"nested/data-1.parquet", Column{Name: "st", Type: mapOf(kind(Int32), kind(Int32))}, ErrUnsupported, []string{`"st"`, "MAP"}},
	} {
		_, err := openFile(t, c.file).Read([]Column{c.want}, ReadOptions{})
		if err == nil {
			t.Errorf("%v: no error", c.want)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v: %v is not %v", c.want, err, c.is)
		}
		for _, s := range append(c.text, fmt.Sprintf("paimon: reading Parquet file %q", c.file)) {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%v: %q is not in: %v", c.want, s, err)
			}
		}
	}
	if _, err := openFile(t, all).Read(nil, ReadOptions{BatchRows: -1}); err == nil {
		t.Error("BatchRows -1: no error")
	}
}

// next reads the first batch of one column.
func next(t *testing.T, data []byte, c Column) error {
	t.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)), "made.parquet")
	if err != nil {
		return err
	}
	r, err := f.Read([]Column{c}, ReadOptions{})
	if err != nil {
		return err
	}
	_, _, err = r.Next()
	if _, _, again := r.Next(); err != nil && again != err {
		t.Errorf("first %v, then %v", err, again)
	}
	return err
}

func write[T any](t testing.TB, rows []T, options ...lib.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w := lib.NewGenericWriter[T](&out, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestValuesOutOfRange checks that a value the wanted type can't hold is an
// error that names the place, not a wrapped number.
func TestValuesOutOfRange(t *testing.T) {
	type row struct {
		Big   int64    `parquet:"big"`
		Word  uint32   `parquet:"word"`
		Long  uint64   `parquet:"long"`
		Price [16]byte `parquet:"price,decimal(2:38)"`
		Clock int32    `parquet:"clock,time(millisecond)"`
	}
	data := write(t, []row{{Big: 1 << 40, Word: 1 << 31, Long: 1 << 63, Price: [16]byte{1}, Clock: 86_400_000}})
	for _, c := range []Column{{Name: "big", Type: kind(Int32)}, {Name: "big", Type: kind(Int8)}, {Name: "word", Type: kind(Int32)}, {Name: "long", Type: kind(Int64)},
		{Name: "price", Type: dec(18, 2)}, {Name: "clock", Type: kind(Time)}} {
		err := next(t, data, c)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("column %q, row group 0, page at offset", c.Name)) {
			t.Errorf("%s as %s: %v", c.Name, c.Type, err)
		}
	}
	for _, c := range []Column{{Name: "big", Type: kind(Int64)}, {Name: "word", Type: kind(Int64)}, {Name: "price", Type: dec(38, 2)}} {
		if err := next(t, data, c); err != nil {
			t.Errorf("%s as %s: %v", c.Name, c.Type, err)
		}
	}
}

func TestNoColumns(t *testing.T) {
	f := openFile(t, "thin_mode/data-1.parquet")
	r, err := f.Read(nil, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	batch, rows, err := r.Next()
	if err != nil || len(batch) != 0 || int64(rows) != f.NumRows() {
		t.Errorf("%d columns, %d rows of %d, %v", len(batch), rows, f.NumRows(), err)
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	r, _ = f.Read([]Column{{Name: "a", Type: kind(Int32)}}, ReadOptions{})
	r.Close()
	if _, _, err := r.Next(); err == nil || err == io.EOF || r.Close() != nil {
		t.Errorf("after Close: %v", err)
	}
}

// encode makes a file of a footer and pages before it.
func encode(t *testing.T, pages []byte, m *format.FileMetaData) []byte {
	t.Helper()
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), m)
	if err != nil {
		t.Fatal(err)
	}
	return withFooter(pages, footer)
}

func withFooter(pages, footer []byte) []byte {
	data := append([]byte(magic), pages...)
	data = append(data, footer...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(footer)))
	return append(data, magic...)
}

func group(name string, children int32) format.SchemaElement {
	return format.SchemaElement{Name: name, NumChildren: thrift.New(children)}
}

func leaf(name string, t format.Type) format.SchemaElement {
	return format.SchemaElement{Name: name, Type: thrift.New(t), RepetitionType: thrift.New(format.Required)}
}

// TestHostileFooters checks footers made to take memory or stack: each is
// refused, and cheaply.
func TestHostileFooters(t *testing.T) {
	deep := &format.FileMetaData{Version: 1}
	for range 5000 {
		deep.Schema = append(deep.Schema, group("g", 1))
	}
	deep.Schema = append(deep.Schema, leaf("x", format.Int32))
	wide := &format.FileMetaData{Version: 1, Schema: []format.SchemaElement{group("root", 1<<30), leaf("x", format.Int32)}}
	for name, data := range map[string][]byte{
		"deep schema":      encode(t, nil, deep),
		"wide schema":      encode(t, nil, wide),
		"no schema":        encode(t, nil, &format.FileMetaData{}),
		"leaf at root":     encode(t, nil, &format.FileMetaData{Schema: []format.SchemaElement{leaf("x", format.Int32)}}),
		"extra schema":     encode(t, nil, &format.FileMetaData{Schema: []format.SchemaElement{group("root", 0), leaf("x", format.Int32)}}),
		"rows differ":      encode(t, nil, &format.FileMetaData{NumRows: 5, Schema: []format.SchemaElement{group("root", 0)}}),
		"columns differ":   encode(t, nil, &format.FileMetaData{Schema: []format.SchemaElement{group("root", 0)}, RowGroups: []format.RowGroup{{Columns: make([]format.ColumnChunk, 1)}}}),
		"many rows":        encode(t, nil, &format.FileMetaData{NumRows: 1, Schema: []format.SchemaElement{group("root", 0)}, RowGroups: []format.RowGroup{{NumRows: 1 << 62}, {NumRows: 1 << 62}}}),
		"list of 2^31":     withFooter(nil, []byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0}),
		"string of 2^31":   withFooter(nil, []byte{0x68, 0xff, 0xff, 0xff, 0xff, 0x07, 0}),
		"empty structs":    withFooter(nil, append([]byte{0x49, 0xfc, 0xff, 0xff, 0x03}, make([]byte, 1<<16)...)),
		"nested structs":   withFooter(nil, bytes.Repeat([]byte{0xcc}, 1<<20)),
		"nested lists":     withFooter(nil, append([]byte{0xc9}, bytes.Repeat([]byte{0x19}, 1<<20)...)),
		"nested maps":      withFooter(nil, append([]byte{0xcb}, bytes.Repeat([]byte{0x01, 0xbb}, 1<<20)...)),
		"footer too long":  append([]byte(magic), append(binary.LittleEndian.AppendUint32(nil, 1<<31), magic...)...),
		"encrypted footer": append([]byte(encryptedMagic), append(binary.LittleEndian.AppendUint32(nil, 0), encryptedMagic...)...),
		"not Parquet":      []byte("a text file that is long enough"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Open(bytes.NewReader(data), int64(len(data)), name)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) || strings.Contains(err.Error(), "unforeseen") {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(64<<20) {
			t.Errorf("%s: %d MiB for %d bytes", name, used>>20, len(data))
		}
	}
}

// onePage makes a file of one column of one page.
func onePage(t *testing.T, codec format.CompressionCodec, h format.PageHeader, body []byte, values, claimed int64) []byte {
	t.Helper()
	h.CompressedPageSize = int32(len(body))
	page, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		t.Fatal(err)
	}
	page = append(page, body...)
	return encode(t, page, &format.FileMetaData{Version: 1, NumRows: values,
		Schema: []format.SchemaElement{group("root", 1), leaf("x", format.Int64)},
		RowGroups: []format.RowGroup{{NumRows: values, Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
			Type: format.Int64, Codec: codec, NumValues: values, TotalCompressedSize: int64(len(page)),
			TotalUncompressedSize: claimed, DataPageOffset: 4, PathInSchema: []string{"x"}}}}}}})
}

// TestHostilePages checks pages that claim more than they hold.
func TestHostilePages(t *testing.T) {
	data := func(n int32, enc format.Encoding) thrift.Null[format.DataPageHeader] {
		return thrift.New(format.DataPageHeader{NumValues: n, Encoding: enc})
	}
	varints := func(v ...uint64) (b []byte) {
		for _, v := range v {
			b = binary.AppendUvarint(b, v)
		}
		return b
	}
	for _, c := range []struct {
		name    string
		codec   format.CompressionCodec
		header  format.PageHeader
		body    []byte
		values  int64
		claimed int64
		text    string
	}{
		{"size for snappy", format.Snappy, format.PageHeader{UncompressedPageSize: 1 << 30, DataPageHeader: data(1, 0)}, make([]byte, 100), 1, 1 << 40, "more than SNAPPY can"},
		{"size for chunk", format.Zstd, format.PageHeader{UncompressedPageSize: 1 << 29, DataPageHeader: data(1, 0)}, make([]byte, 1<<16), 1, 100, "its column chunk 100"},
		{"size for all", format.Zstd, format.PageHeader{UncompressedPageSize: 1<<31 - 1, DataPageHeader: data(1, 0)}, make([]byte, 1<<16), 1, 1 << 40, "page of"},
		{"values for chunk", 0, format.PageHeader{UncompressedPageSize: 8, DataPageHeader: data(1<<30, 0)}, make([]byte, 8), 1, 8, "1073741824 values"},
		{"values for page", 0, format.PageHeader{UncompressedPageSize: 8, DataPageHeader: data(2, 0)}, make([]byte, 8), 2, 8, "required 16"},
		{"stored size", 0, format.PageHeader{UncompressedPageSize: 9, DataPageHeader: data(1, 0)}, make([]byte, 8), 1, 9, "has 8 bytes, its header claims 9"},
		{"chunk ends", 0, format.PageHeader{UncompressedPageSize: 8, DataPageHeader: data(1, 0)}, make([]byte, 8), 2, 8, "page header"},
		{"checksum", 0, format.PageHeader{UncompressedPageSize: 8, CRC: 77, DataPageHeader: data(1, 0)}, make([]byte, 8), 1, 8, "checksum"},
		{"no dictionary", 0, format.PageHeader{UncompressedPageSize: 3, DataPageHeader: data(1, format.RLEDictionary)}, []byte{1, 2, 0}, 1, 3, "without a dictionary"},
		{"dictionary size", 0, format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: 8, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1 << 30})}, make([]byte, 8), 1, 8, "dictionary of 1073741824 values in 8 bytes"},
		{"delta header", 0, format.PageHeader{UncompressedPageSize: 5, DataPageHeader: data(1, format.DeltaBinaryPacked)}, varints(128, 3, 1, 0), 1, 5, "delta blocks"},
		{"delta count", 0, format.PageHeader{UncompressedPageSize: 5, DataPageHeader: data(1, format.DeltaBinaryPacked)}, varints(128, 4, 9, 0), 1, 5, "9 values in a page of 1"},
		{"delta ends", 0, format.PageHeader{UncompressedPageSize: 5, DataPageHeader: data(9, format.DeltaBinaryPacked)}, varints(128, 4, 9, 0), 9, 5, "too early"},
		{"encoding", 0, format.PageHeader{UncompressedPageSize: 8, DataPageHeader: data(1, format.DeltaByteArray)}, make([]byte, 8), 1, 8, "DELTA_BYTE_ARRAY"},
		{"codec", format.LZO, format.PageHeader{UncompressedPageSize: 8, DataPageHeader: data(1, 0)}, make([]byte, 8), 1, 8, "codec LZO"},
		{"no header", 0, format.PageHeader{UncompressedPageSize: 8}, make([]byte, 8), 1, 8, "without its header"},
		{"levels in v2", 0, format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: 8, DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: 1, DefinitionLevelsByteLength: 1 << 30, RepetitionLevelsByteLength: 1 << 30})}, make([]byte, 8), 1, 8, "levels of"},
	} {
		file := onePage(t, c.codec, c.header, c.body, c.values, c.claimed)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := next(t, file, Column{Name: "x", Type: kind(Int64)})
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "unforeseen") {
			t.Errorf("%s: %v", c.name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(8<<20) {
			t.Errorf("%s: %d MiB", c.name, used>>20)
		}
	}
}

// TestLargeRows checks that batches shrink to what a column may have at once,
// also where a dictionary hides how large the rows are.
func TestLargeRows(t *testing.T) {
	type row struct {
		ID   int64  `parquet:"id"`
		Text string `parquet:"text,dict"`
	}
	big := strings.Repeat("x", 1<<15)
	rows := make([]row, 3000)
	for i := range rows {
		rows[i].ID = int64(i)
		if i > 1000 && i < 2500 {
			rows[i].Text = big
		}
	}
	data := write(t, rows, lib.Compression(&lib.Snappy))
	f, err := Open(bytes.NewReader(data), int64(len(data)), "large")
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Read([]Column{{Name: "id", Type: kind(Int64)}, {Name: "text", Type: kind(String)}}, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for row := 0; ; {
		vs, n, err := r.Next()
		if err == io.EOF {
			if row != len(rows) {
				t.Errorf("%d rows", row)
			}
			return
		}
		if err == nil && len(vs[1].Data) > maxSharedBytes {
			t.Errorf("a batch of %d rows and %d bytes", n, len(vs[1].Data))
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if vs[0].Int64s[i] != int64(row+i) || len(vs[1].BytesAt(i)) != len(rows[row+i].Text) {
				t.Fatalf("row %d: %d, %d bytes", row+i, vs[0].Int64s[i], len(vs[1].BytesAt(i)))
			}
		}
		row += n
	}
}

// TestReadersAtOnce reads one File from several goroutines.
func TestReadersAtOnce(t *testing.T) {
	f := openFile(t, "pyarrow/dict_zstd_v2.parquet")
	want := asJSON(t, rowsOf(t, f, pyarrowColumns, 9))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if got := asJSON(t, rowsOf(t, f, pyarrowColumns, 1+i*7)); got != want {
				t.Errorf("reader %d differs", i)
			}
		})
	}
	wg.Wait()
}

// failing is a source whose reads fail after some bytes.
type failing struct {
	io.ReaderAt
	from int64
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off < f.from {
		return 0, os.ErrDeadlineExceeded
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestSourceErrors checks that a failing source is not called a corrupt file.
func TestSourceErrors(t *testing.T) {
	data, err := os.ReadFile("testdata/pyarrow/plain_none_v1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(failing{bytes.NewReader(data), 1000}, int64(len(data)), "failing")
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Read([]Column{{Name: "id", Type: kind(Int64)}}, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Next()
	if !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ErrCorrupt) {
		t.Errorf("%v", err)
	}
}
