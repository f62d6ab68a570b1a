package paimon

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bounded runs what must end soon and take little memory, whatever it is given.
func bounded(t *testing.T, most time.Duration, mib uint64, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := time.Now()
	do()
	took := time.Since(from)
	runtime.ReadMemStats(&after)
	if took > most {
		t.Errorf("took %s, the bound is %s", took, most)
	}
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > mib {
		t.Errorf("took %d MiB, the bound is %d MiB", used, mib)
	}
}

func TestDeepTypes(t *testing.T) {
	for _, depth := range []int{1000, 10_000, 100_000} {
		for name, c := range map[string][2]string{
			"arrays": {`{"type":"ARRAY","element":`, `}`}, "maps": {`{"type":"MAP","key":"INT","value":`, `}`},
			"rows": {`{"type":"ROW","fields":[{"id":1,"name":"a","type":`, `}]}`},
		} {
			text := strings.Repeat(c[0], depth) + `"INT"` + strings.Repeat(c[1], depth)
			bounded(t, 10*time.Second, uint64(20*len(text)>>20+64), func() {
				if _, err := ParseType([]byte(text)); err == nil {
					t.Errorf("%d %s within another were read", depth, name)
				}
				schema := `{"id":0,"fields":[{"id":0,"name":"a","type":` + text + `}],"highestFieldId":9,"partitionKeys":[],"primaryKeys":[],"options":{}}`
				if _, err := ParseSchema([]byte(schema)); err == nil {
					t.Errorf("a schema with %d %s within another was read", depth, name)
				}
			})
		}
	}
}

// TestWideSchema: no step takes the columns times the columns.
func TestWideSchema(t *testing.T) {
	const columns = 30_000
	var fields, names []string
	for i := range columns {
		fields = append(fields, fmt.Sprintf(`{"id":%d,"name":"c%d","type":"INT NOT NULL"}`, i, i))
		names = append(names, fmt.Sprintf(`"c%d"`, i))
	}
	text := fmt.Sprintf(`{"version":3,"id":0,"fields":[%s],"highestFieldId":%d,"partitionKeys":[%s],"primaryKeys":[%s],"options":{},"timeMillis":1}`,
		strings.Join(fields, ","), columns, strings.Join(names[:columns/2], ","), strings.Join(names, ","))
	bounded(t, 30*time.Second, 512, func() {
		s, err := ParseSchema([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.keyFields()); n != columns/2 {
			t.Errorf("%d key columns", n)
		}
		if n := len(s.partitionFields()); n != columns/2 {
			t.Errorf("%d partition columns", n)
		}
	})
}

// TestOverlappingRow: values may point to the same bytes, and to nothing but
// bytes of their row.
func TestOverlappingRow(t *testing.T) {
	row := make([]byte, 8+2*8+8)
	copy(row[24:], "abcdefgh")
	pointer := func(slot int, offset, length uint64) {
		binary.LittleEndian.PutUint64(row[8+8*slot:], offset<<32|length)
	}
	text := DataType{Kind: VarChar, Length: MaxLength}
	types := []DataType{text, text}
	arity := []byte{0, 0, 0, 2}
	for _, c := range []struct {
		offset, length uint64
		want           string
	}{
		{24, 8, "abcdefgh"}, {26, 3, "cde"}, {32, 0, ""}, {24, 9, "error"}, {33, 0, "error"}, {math.MaxUint32, 1, "error"}, {math.MaxUint32, 0x7fffffff, "error"}, {0, 0x7fffffff, "error"},
	} {
		pointer(0, 24, 8)
		pointer(1, c.offset, c.length)
		values, err := DecodeBinaryRow(types, append(arity, row...))
		switch {
		case c.want == "error":
			if err == nil {
				t.Errorf("%d bytes at %d: %v", c.length, c.offset, values)
			}
		case err != nil || values[0] != "abcdefgh" || values[1] != c.want:
			t.Errorf("%d bytes at %d: %v, %v; want %q", c.length, c.offset, values, err, c.want)
		}
	}
}

// TestAbsurdVectors: bitmaps that say they hold more than their bytes can.
func TestAbsurdVectors(t *testing.T) {
	le := binary.LittleEndian
	u16, u32 := func(n ...uint16) (b []byte) {
		for _, n := range n {
			b = le.AppendUint16(b, n)
		}
		return b
	}, func(n ...uint32) (b []byte) {
		for _, n := range n {
			b = le.AppendUint32(b, n)
		}
		return b
	}
	const noRuns, runs = 12346, 12347
	everyRow := bytes.Join([][]byte{u32(runs | 65535<<16), bytes.Repeat([]byte{0xff}, 8192)}, nil)
	for i := range 65536 {
		everyRow = append(everyRow, u16(uint16(i), 65535)...)
	}
	offsets := uint32(len(everyRow)) + 4*65536
	for i := range 65536 {
		everyRow = append(everyRow, u32(offsets+uint32(6*i))...)
	}
	for range 65536 {
		everyRow = append(everyRow, u16(1, 0, 65535)...)
	}
	for name, c := range map[string]struct {
		bitmap []byte
		wide   bool
		rows   int64
		has    string
	}{
		"2^32 containers":           {bitmap: u32(noRuns, math.MaxUint32), rows: 10},
		"65536 containers, no more": {bitmap: u32(noRuns, 65536), rows: 10},
		"65536 runs, no more":       {bitmap: append(u32(runs|65535<<16), bytes.Repeat([]byte{0xff}, 8192)...), rows: 10},
		"every row":                 {bitmap: everyRow, rows: 10, has: "deletes row 4294967295"},
		"2^63 bitmaps":              {bitmap: append(le.AppendUint64(nil, 1<<63), 0, 0, 0, 0), wide: true, rows: 10},
		"an offset beyond the file": {bitmap: append(u32(noRuns, 1), append(u16(0, 0), u32(math.MaxUint32)...)...), rows: 10},
	} {
		var body []byte
		if c.wide {
			body = le.AppendUint32(nil, vectorMagic64)
		} else {
			body = binary.BigEndian.AppendUint32(nil, vectorMagic32)
		}
		body = append(body, c.bitmap...)
		data := binary.BigEndian.AppendUint32([]byte{1}, uint32(len(body)))
		data = binary.BigEndian.AppendUint32(append(data, body...), crc32.ChecksumIEEE(body))
		table := &Table{name: "db.t", fs: oneFileFS{data: data}}
		length := int64(len(body))
		if c.wide {
			length += 8
		}
		bounded(t, 5*time.Second, 64, func() {
			_, err := table.readDeletionVector(context.Background(), DVRef{IndexFile: "i", Offset: 1, Length: length}, c.rows)
			if err == nil || !strings.Contains(err.Error(), c.has) {
				t.Errorf("%s: %v, want %q", name, err, c.has)
			}
		})
	}
	// All the rows of a file of 2^32, in 1 MiB: that many may be deleted.
	body := append(binary.BigEndian.AppendUint32(nil, vectorMagic32), everyRow...)
	data := binary.BigEndian.AppendUint32([]byte{1}, uint32(len(body)))
	data = binary.BigEndian.AppendUint32(append(data, body...), crc32.ChecksumIEEE(body))
	bounded(t, 5*time.Second, 64, func() {
		table := &Table{name: "db.t", fs: oneFileFS{data: data}}
		gone, err := table.readDeletionVector(context.Background(), DVRef{IndexFile: "i", Offset: 1, Length: int64(len(body))}, 1<<32)
		if err != nil || !gone.has(0) || !gone.has(1<<32-1) {
			t.Errorf("all rows deleted: %v", err)
		}
	})
}

// TestManifestOfOneByteRepeated: 40 KB that unpack to a gigabyte, which the frame
// does not say beforehand. A block may be of 256 MiB; the buffer grows to that in steps.
func TestManifestOfOneByteRepeated(t *testing.T) {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58}
	for i := range 10_000 {
		last := uint32(0)
		if i == 9999 {
			last = 1
		}
		h := uint32(128<<10)<<3 | 1<<1 | last
		frame = append(frame, byte(h), byte(h>>8), byte(h>>16), 0)
	}
	data := bytes.Replace(container(t, manifestSchema("", ""), 1000, frame), []byte("\x08null"), []byte("\x12zstandard"), 1)
	bounded(t, 20*time.Second, 2048, func() {
		if _, err := readEntries(data, PlanOptions{}); err == nil || !strings.Contains(err.Error(), "zstandard block") {
			t.Errorf("%v", err)
		}
	})
}
