package avro

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	lib "github.com/hamba/avro/v2"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// natural is a type that a writer's type can be read as; false for none.
func natural(s lib.Schema) (vector.Type, bool) {
	switch s := target(s).(type) {
	case *lib.RecordSchema:
		t := structOf(col("nowhere", timestampOf(6)))
		for _, f := range s.Fields() {
			if c, ok := natural(f.Type()); ok {
				t.Names, t.Children = append(t.Names, f.Name()), append(t.Children, c)
			}
		}
		return t, true
	case *lib.ArraySchema:
		if e, ok := target(s.Items()).(*lib.RecordSchema); ok && len(e.Fields()) == 2 && e.Fields()[0].Name() == "key" {
			k, ok1 := natural(e.Fields()[0].Type())
			v, ok2 := natural(e.Fields()[1].Type())
			return mapOf(k, v), ok1 && ok2
		}
		t, ok := natural(s.Items())
		return listOf(t), ok
	case *lib.MapSchema:
		t, ok := natural(s.Values())
		return mapOf(of(vector.LogicalString), t), ok
	case *lib.UnionSchema:
		for _, b := range s.Types() {
			if target(b).Type() != lib.Null {
				return natural(b)
			}
		}
		return vector.Type{}, false
	case *lib.FixedSchema:
		return of(vector.LogicalBinary), true
	case *lib.PrimitiveSchema:
		switch l := logical(s); {
		case l == lib.Decimal:
			if d, ok := s.Logical().(*lib.DecimalLogicalSchema); ok {
				return decimalOf(min(38, max(d.Precision(), d.Scale())), d.Scale()), d.Scale() <= 38
			}
			return vector.Type{}, false
		case l == lib.Date:
			return of(vector.LogicalDate), true
		case l == lib.TimeMillis || l == lib.TimeMicros:
			return timeOf(3), true
		case l != "" && l != lib.UUID:
			return timestampOf(6), true
		}
		k, ok := map[lib.Type]vector.Logical{lib.Boolean: vector.LogicalBoolean, lib.Int: vector.LogicalInt32, lib.Long: vector.LogicalInt64, lib.Float: vector.LogicalFloat,
			lib.Double: vector.LogicalDouble, lib.String: vector.LogicalString, lib.Bytes: vector.LogicalBinary}[s.Type()]
		return of(k), ok
	}
	return vector.Type{}, false
}

// readAll reads a file with all its columns, and then with each second one.
func readAll(data []byte, batch int) error {
	f, err := Open(bytes.NewReader(data), int64(len(data)), "some.avro")
	if err != nil {
		return err
	}
	var columns []vector.Column
	for _, c := range f.Schema.Fields() {
		if t, ok := natural(c.Type()); ok && len(columns) < 100 {
			columns = append(columns, col(c.Name(), t))
		}
	}
	if _, err = readText(data, batch, columns...); err != nil && strings.HasPrefix(err.Error(), "first") {
		return err
	}
	var some []vector.Column
	for i := 1; i < len(columns); i += 2 {
		some = append(some, columns[i])
	}
	_, err2 := readText(data, batch, some...)
	return errors.Join(err, err2)
}

// samples are the files of the sample tables, and one of each codec.
func samples(t testing.TB) map[string][]byte {
	out := codecs(t)
	for _, pattern := range []string{"testdata/*.avro", "../../../testdata/paimon/avro_pk/table/bucket-*/*.avro"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, p := range paths {
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(p)] = data
		}
	}
	return out
}

// TestDamagedFiles cuts files short and changes bytes of them: reading ends in
// an error or in other values, with a bounded amount of memory and time, and
// without a panic that no check foresaw.
func TestDamagedFiles(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 10
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, data := range samples(t) {
		if err := readAll(data, 0); err != nil {
			t.Fatalf("%s undamaged: %v", name, err)
		}
		f, err := Open(bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			t.Fatal(err)
		}
		for range rounds {
			bad := bytes.Clone(data)
			switch at := rnd.IntN(len(bad)); rnd.IntN(3) {
			case 0: // a byte
				bad[at] ^= byte(1 + rnd.IntN(255))
			case 1: // a byte of a block
				bad[int(f.start)+rnd.IntN(len(bad)-int(f.start))] ^= byte(1 + rnd.IntN(255))
			case 2: // a piece missing
				bad = append(bad[:at], bad[min(len(bad), at+1+rnd.IntN(200)):]...)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			err := readAll(bad, 0)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
				t.Errorf("%s: %d MiB for a file of %d bytes", name, used>>20, len(bad))
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s: %v for a file of %d bytes", name, took, len(bad))
			}
			if err != nil && strings.Contains(err.Error(), "unforeseen") {
				t.Errorf("%s: %v", name, err)
			}
		}
		// Cut anywhere but behind the header or a block, a file is damaged.
		for _, n := range []int{0, 3, 11, int(f.start) - 1, int(f.start) + 1, (int(f.start) + len(data)) / 2, len(data) - 17, len(data) - 1} {
			if err := readAll(data[:n], 0); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s cut to %d of %d bytes: %v", name, n, len(data), err)
			}
		}
	}
}

// FuzzRead reads whatever it is given as a file.
func FuzzRead(f *testing.F) {
	for _, data := range samples(f) {
		if len(data) < 10_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readAll(data, 100); err != nil && (strings.Contains(err.Error(), "unforeseen") || strings.HasPrefix(err.Error(), "first")) {
			t.Fatal(err)
		}
	})
}

// FuzzBlock reads whatever it is given as records, so that the fuzzer gets
// behind the header and the codec.
func FuzzBlock(f *testing.F) {
	const schema = `{"type":"record","name":"record","fields":[{"name":"a","type":["null","long"]},{"name":"b","type":{"type":"array","items":["null",
{"type":"record","name":"r","fields":[{"name":"s","type":"string"},{"name":"m","type":{"type":"map","values":"double"}},{"name":"t","type":{"type":"long","logicalType":"timestamp-micros"}}]}]}},
{"name":"d","type":["null",{"type":"bytes","logicalType":"decimal","precision":38,"scale":3}]},{"name":"k","type":"boolean"},
{"name":"kv","type":{"type":"array","items":{"type":"record","name":"kv","fields":[{"name":"key","type":["null","int"]},{"name":"value","type":{"type":"fixed","name":"f","size":3}}]}}}]}`
	f.Add([]byte{2, 8, 2, 2, 2, 'x', 2, 2, 'k', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 2, 4, 1, 2, 1, 2, 2, 6, 1, 2, 3, 0}, int64(1))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, int64(2))
	f.Add([]byte{0, 1, 2, 0, 0, 0, 0, 0}, int64(1))
	f.Fuzz(func(t *testing.T, block []byte, count int64) {
		data := file(schema, "null", count, block)
		checked := readAll(data, 3)
		if checked != nil && strings.Contains(checked.Error(), "unforeseen") {
			t.Fatal(checked)
		}
		c, err := OpenContainer(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if count < 0 || count > int64(len(block)) {
			return
		}
		// What can be read can be skipped.
		if err := c.Check(count, block); err != nil && checked == nil {
			t.Fatalf("reads, and does not check: %v", err)
		}
	})
}

// FuzzUnpack unpacks whatever it is given by each codec.
func FuzzUnpack(f *testing.F) {
	for name, data := range codecs(f) {
		file, err := Open(bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			f.Fatal(err)
		}
		w := window{in: file.in, size: file.size, off: file.start, end: file.start}
		if _, err := w.varint(); err != nil {
			f.Fatal(err)
		}
		block, err := w.bytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(block))
	}
	const limit = 1 << 20
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, codec := range []string{"null", "deflate", "snappy", "zstandard", "bzip2", "lzma"} {
			u := unpacker{}
			out, err := u.unpack(codec, data, limit)
			if len(out) > limit && err == nil {
				t.Fatalf("%s: %d bytes", codec, len(out))
			}
			// The same memory, used again, gives the same.
			again, err2 := u.unpack(codec, data, limit)
			if (err == nil) != (err2 == nil) || len(again) != len(out) {
				t.Fatalf("%s: %d bytes, %v, then %d, %v", codec, len(out), err, len(again), err2)
			}
		}
	})
}
