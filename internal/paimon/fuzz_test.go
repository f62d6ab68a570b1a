package paimon

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// addSamples adds the sample files of a pattern as seeds.
func addSamples(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join(samples, pattern))
	if err != nil || len(files) == 0 {
		f.Fatalf("no %s: %v", pattern, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func FuzzSchema(f *testing.F) {
	addSamples(f, "*/table/schema/schema-0")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSchema(data)
		if err != nil {
			return
		}
		text, err := s.JSON()
		if err != nil {
			t.Fatalf("was read, can't be written: %v", err)
		}
		again, err := ParseSchema(text)
		if err != nil {
			t.Fatalf("was written as %s: %v", text, err)
		}
		twice, err := again.JSON()
		if err != nil || !bytes.Equal(text, twice) {
			t.Fatalf("written as %s, then as %s, %v", text, twice, err)
		}
		if len(again.Fields) != len(s.Fields) || !reflect.DeepEqual(again.Options, s.Options) {
			t.Fatalf("%+v became %+v", s, again)
		}
		_, _ = s.Bucket()
		s.keyFields()
	})
}

func FuzzSnapshot(f *testing.F) {
	addSamples(f, "*/table/snapshot/snapshot-1")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSnapshot(data)
		if err == nil && (s.ID < 1 || strings.Contains(s.BaseManifestList, "/")) {
			t.Fatalf("%+v was accepted", s)
		}
	})
}

func FuzzType(f *testing.F) {
	for _, s := range []string{`"DECIMAL(10, 2) NOT NULL"`, `"timestamp(3) with local time zone"`, `{"type":"ARRAY NOT NULL","element":{"type":"MAP","key":"INT NOT NULL","value":"BYTES"}}`,
		`{"type":"ROW","fields":[{"id":1,"name":"a","type":"VARCHAR(3)","description":"d"}]}`, `{"type":"VECTOR","element":"FLOAT","length":3}`, `"CHAR("`, `"NOT NULL"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dt, err := ParseType(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(dt)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseType(text)
		if err != nil || again.String() != dt.String() {
			t.Fatalf("%s read as %s, written as %s, read as %s, %v", data, dt, text, again, err)
		}
		vectorKind(dt)
	})
}

// fuzzSchema is the schema of the sample manifests that are seeds.
var fuzzSchema = &Schema{Version: 3, PrimaryKeys: []string{"id"}, Fields: []Field{{ID: 0, Name: "id", Type: DataType{Kind: BigInt}},
	{ID: 1, Name: "v", Type: DataType{Kind: VarChar, Length: MaxLength, Nullable: true}}}}

func FuzzManifest(f *testing.F) {
	addSamples(f, "py_*/table/manifest/manifest-[0-9a-f]*")
	addSamples(f, "dv_pk*/table/manifest/index-manifest-*")
	addSamples(f, "compacted/table/manifest/manifest-list-*")
	f.Add(foreignArray(f, 3, true))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = readAvro[avroManifestMeta]("f", data, "_FILE_NAME")
		_, _ = readAvro[avroIndexEntry]("f", data, "_FILE_NAME")
		table := &Table{name: "db.t"}
		table.newest.Store(fuzzSchema)
		for _, stats := range [][]string{nil, {"id", "v"}} {
			entries, err := readEntries(data, PlanOptions{Stats: stats})
			if err != nil {
				continue
			}
			if live, err := liveEntries([][]entry{entries}); err == nil {
				_ = table.group(&Plan{}, live)
			}
		}
	})
}

// foreignArray is a manifest list with one more field, an array that says it
// has n elements and, when true, has.
func foreignArray(t testing.TB, n int64, honest bool) []byte {
	t.Helper()
	schema := `{"type":"record","name":"r","fields":[{"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},{"name":"_LATER","type":{"type":"array","items":"long"}}]}`
	w := avro.NewWriter(nil, 64)
	w.WriteInt(2)
	w.WriteString("m")
	w.WriteLong(n)
	if honest {
		for range n {
			w.WriteLong(1)
		}
		w.WriteLong(0)
	}
	return container(t, schema, 1, w.Buffer())
}

// container is an Avro container file of one block, uncompressed.
func container(t testing.TB, schema string, count int64, block []byte) []byte {
	t.Helper()
	head, err := avro.Marshal(ocf.HeaderSchema, ocf.Header{Magic: [4]byte{'O', 'b', 'j', 1}, Meta: map[string][]byte{"avro.schema": []byte(schema), "avro.codec": []byte("null")}, Sync: [16]byte{7}})
	if err != nil {
		t.Fatal(err)
	}
	w := avro.NewWriter(nil, 64)
	w.WriteLong(count)
	w.WriteLong(int64(len(block)))
	out := append(head, w.Buffer()...)
	out = append(out, block...)
	return append(out, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

func TestAvroForeignAndAbsurd(t *testing.T) {
	metas, err := readAvro[avroManifestMeta]("f", foreignArray(t, 3, true), "_FILE_NAME")
	if err != nil || len(metas) != 1 || metas[0].FileName != "m" {
		t.Errorf("a later field: %+v, %v", metas, err)
	}
	recursive := `{"type":"record","name":"r","fields":[{"name":"_FILE_NAME","type":"string"},{"name":"x","type":"r"}]}`
	list := `{"type":"record","name":"r","fields":[{"name":"_FILE_NAME","type":"string"}]}`
	w := avro.NewWriter(nil, 16)
	w.WriteLong(1 << 40) // a string's length
	for name, c := range map[string]struct {
		data []byte
		has  string
	}{
		"array of 2^62":   {foreignArray(t, 1<<62, false), "more elements than the block has bytes"},
		"negative array":  {foreignArray(t, -1<<62, false), "end too early"},
		"recursive":       {container(t, recursive, 1, []byte{0}), "recursive"},
		"2^50 records":    {container(t, list, 1<<50, []byte{0}), "records in 1 bytes"},
		"long string":     {container(t, list, 1, append(w.Buffer(), 0, 0)), "end too early"},
		"bytes left":      {container(t, list, 1, []byte{2, 'a', 0, 0}), "bytes after its last record"},
		"record cut":      {container(t, list, 2, []byte{2, 'a', 4, 'b'}), "record 1 of the block"},
		"no record":       {container(t, `"string"`, 1, []byte{0}), "not a record"},
		"other fields":    {container(t, `{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}`, 1, []byte{0}), "no field _FILE_NAME"},
		"unknown codec":   {bytes.Replace(container(t, list, 1, []byte{0}), []byte("null"), []byte("lzma"), 1), `codec is "lzma"`},
		"block of 2^40":   {append(container(t, list, 0, nil)[:len(container(t, list, 0, nil))-18], 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40), "the file has"},
		"deflate garbage": {bytes.Replace(container(t, list, 1, []byte{9, 9, 9}), []byte("\x08null"), []byte("\x0edeflate"), 1), "deflate block"},
		"snappy garbage":  {bytes.Replace(container(t, list, 1, []byte{9, 9, 9, 9, 9, 9}), []byte("\x08null"), []byte("\x0csnappy"), 1), "snappy block"},
	} {
		if _, err := readAvro[avroManifestMeta]("f", c.data, "_FILE_NAME"); err == nil || !strings.Contains(err.Error(), c.has) {
			t.Errorf("%s: %v, want %q", name, err, c.has)
		}
	}
}

func TestAvroCodecs(t *testing.T) {
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		var b bytes.Buffer
		e, err := ocf.NewEncoder(`{"type":"record","name":"r","fields":[{"name":"_FILE_NAME","type":"string"}]}`, &b, ocf.WithCodec(codec), ocf.WithBlockLength(2))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{"a", "b", "c"} {
			if err := e.Encode(map[string]any{"_FILE_NAME": n}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		metas, err := readAvro[avroManifestMeta]("f", b.Bytes(), "_FILE_NAME")
		if err != nil || len(metas) != 3 || metas[2].FileName != "c" {
			t.Errorf("%s: %+v, %v", codec, metas, err)
		}
	}
}

func FuzzBinaryRow(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x84, 0x4d, 0, 0, 0, 0, 0, 0}, uint16(Date))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 'p', '1', 0, 0, 0, 0, 0, 0x82}, uint16(VarChar))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, uint16(VarBinary))
	f.Fuzz(func(t *testing.T, data []byte, kind uint16) {
		k := Kind(kind%uint16(VectorType) + 1)
		types := []DataType{{Kind: k, Precision: int(kind>>8) % 39, Scale: 0, Length: MaxLength, Element: &DataType{Kind: Int}, Key: &DataType{Kind: Int}, Value: &DataType{Kind: Int}}}
		if len(data) > 3 && data[3] == 2 {
			types = append(types, DataType{Kind: VarChar, Length: MaxLength})
		}
		values, err := DecodeBinaryRow(types, data)
		if err != nil {
			return
		}
		for i, v := range values {
			if compareValue(v, v) != 0 {
				t.Fatalf("%v is not equal to itself", v)
			}
			constant(types[i], v, 3)
			_, _ = partitionText(v, types[i], true)
			_, _ = partitionText(v, types[i], false)
			_, _ = FlussPartitionValue(v, types[i])
		}
	})
}

func FuzzPartitionPath(f *testing.F) {
	for _, s := range []string{"dt=2024-01-01/", "a=b%2Fc/d=%", "", "=", "k=é中/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if back := unescapePathName(escapePathName(s)); back != s {
			t.Fatalf("%q became %q", s, back)
		}
		keys, texts, err := ParsePartitionPath(s)
		if err == nil && (len(keys) != len(texts) || len(keys) == 0) {
			t.Fatalf("%q: %v %v", s, keys, texts)
		}
	})
}

// oneFileFS is a file system of one file.
type oneFileFS struct {
	storage.FS
	data []byte
}

type bytesFile struct{ *bytes.Reader }

func (bytesFile) Close() error { return nil }

func (o oneFileFS) ReadFile(context.Context, string, int64) ([]byte, error) { return o.data, nil }

func (o oneFileFS) Open(_ context.Context, file string) (storage.File, error) {
	if o.data == nil {
		return nil, fs.ErrNotExist
	}
	return bytesFile{bytes.NewReader(o.data)}, nil
}

// vectorFile is an index file with one vector, and the length its entry has.
func vectorFile(t testing.TB, wide bool, rows ...int64) (data []byte, length int64) {
	t.Helper()
	high := map[uint32]*roaring.Bitmap{}
	for _, r := range rows {
		h := uint32(r >> 32)
		if high[h] == nil {
			high[h] = roaring.New()
		}
		high[h].Add(uint32(r))
	}
	var body []byte
	bitmap := func(b *roaring.Bitmap) {
		raw, err := b.ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		body = append(body, raw...)
	}
	if wide {
		body = binary.LittleEndian.AppendUint32(body, vectorMagic64)
		body = binary.LittleEndian.AppendUint64(body, uint64(len(high)))
		for h := range uint32(8) {
			if high[h] != nil {
				body = binary.LittleEndian.AppendUint32(body, h)
				bitmap(high[h])
			}
		}
	} else {
		body = binary.BigEndian.AppendUint32(body, vectorMagic32)
		bitmap(high[0])
	}
	data = binary.BigEndian.AppendUint32([]byte{1}, uint32(len(body)))
	data = append(data, body...)
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(body))
	length = int64(len(body))
	if wide {
		length += 8
	}
	return data, length
}

func TestDeletionVectorForms(t *testing.T) {
	for _, wide := range []bool{false, true} {
		rows := []int64{0, 3, 70_000}
		if wide {
			rows = append(rows, 5<<32|7)
		}
		data, length := vectorFile(t, wide, rows...)
		table := &Table{name: "db.t", fs: oneFileFS{data: data}}
		cardinality := int64(len(rows))
		ref := DVRef{IndexFile: "i", Offset: 1, Length: length, Cardinality: &cardinality}
		gone, err := table.readDeletionVector(context.Background(), ref, 6<<32)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []int64{0, 1, 3, 4, 69_999, 70_000, 7, 5 << 32, 5<<32 | 7} {
			want := false
			for _, x := range rows {
				want = want || x == r
			}
			if gone.has(r) != want {
				t.Errorf("wide %v: row %d deleted: %v", wide, r, !want)
			}
		}
		wrong := cardinality + 1
		for has, c := range map[string]struct {
			ref  DVRef
			rows int64
		}{
			"deletes row":    {ref, rows[len(rows)-1]},
			"rows are delet": {DVRef{IndexFile: "i", Offset: 1, Length: length, Cardinality: &wrong}, 6 << 32},
			"manifest says":  {DVRef{IndexFile: "i", Offset: 1, Length: length - 1}, 6 << 32},
			"in a file of":   {DVRef{IndexFile: "i", Offset: 1 << 40, Length: length}, 6 << 32},
		} {
			if _, err := table.readDeletionVector(context.Background(), c.ref, c.rows); err == nil || !strings.Contains(err.Error(), has) {
				t.Errorf("wide %v: %v, want %q", wide, err, has)
			}
		}
	}
}

func FuzzDeletionVector(f *testing.F) {
	for _, wide := range []bool{false, true} {
		data, length := vectorFile(f, wide, 0, 3, 5, 70_000)
		f.Add(data[5:len(data)-4], length)
	}
	f.Fuzz(func(t *testing.T, body []byte, length int64) {
		// With the checksum right, so that the bitmap's own bytes are reached.
		data := binary.BigEndian.AppendUint32([]byte{1}, uint32(len(body)))
		data = append(data, body...)
		data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(body))
		table := &Table{name: "db.t", fs: oneFileFS{data: data}}
		gone, err := table.readDeletionVector(context.Background(), DVRef{IndexFile: "i", Offset: 1, Length: length}, 100_000)
		if err == nil {
			gone.has(5)
		}
	})
}
