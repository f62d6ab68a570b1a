package fluss

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// valueBatch builds the records of a LIMIT_SCAN response.
func valueBatch(rows ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{0}, uint32(len(rows)))
	for _, r := range rows {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(r)+schemaIDSize))
		b = append(append(b, 1, 0), r...)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func TestParseValueBatch(t *testing.T) {
	got, err := parseValueBatch(valueBatch([]byte("one"), nil, []byte("three")))
	if err != nil || len(got) != 3 || string(got[0]) != "one" || len(got[1]) != 0 || string(got[2]) != "three" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := parseValueBatch(nil); err != nil || got != nil {
		t.Errorf("nothing: %q, %v", got, err)
	}
	good := valueBatch([]byte("one"))
	for i := 1; i < len(good); i++ {
		if _, err := parseValueBatch(good[:i]); err == nil {
			t.Errorf("cut after %d bytes: no error", i)
		}
	}
	for name, change := range map[string]func([]byte){
		"format":        func(b []byte) { b[4] = 1 },
		"count":         func(b []byte) { b[5] = 2 },
		"huge count":    func(b []byte) { b[8] = 0x7f },
		"row too long":  func(b []byte) { b[9]++ },
		"row too short": func(b []byte) { b[9] = 1 },
	} {
		b := bytes.Clone(good)
		change(b)
		if got, err := parseValueBatch(b); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzParseValueBatch(f *testing.F) {
	f.Add(valueBatch())
	f.Add(valueBatch([]byte("one"), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parseValueBatch(data)
		if err != nil {
			return
		}
		total := 0
		for _, r := range rows {
			total += len(r) + 4 + schemaIDSize
		}
		if total > len(data) {
			t.Errorf("%d bytes of rows in %d", total, len(data))
		}
	})
}
