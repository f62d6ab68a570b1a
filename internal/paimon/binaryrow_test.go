package paimon

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The vectors come from Paimon 1.3.1 itself; testdata/README.md tells how.

func readVectors(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// vectorText is a value in the vectors' own text.
func vectorText(v any) string {
	switch v := v.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case TimestampValue:
		return fmt.Sprintf("%dms+%dns", v.Millis, v.Nanos)
	case DateValue:
		return strconv.Itoa(int(v))
	case TimeValue:
		return strconv.Itoa(int(v))
	}
	text, err := partitionText(v, DataType{}, true)
	if err != nil {
		return err.Error()
	}
	return text
}

// fromVectorText is its inverse.
func fromVectorText(t *testing.T, dt DataType, s string) any {
	t.Helper()
	number := func(bits int) int64 {
		n, err := strconv.ParseInt(s, 10, bits)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch dt.Kind {
	case Boolean:
		return s == "true"
	case TinyInt:
		return int8(number(8))
	case SmallInt:
		return int16(number(16))
	case Int:
		return int32(number(32))
	case BigInt:
		return number(64)
	case Date:
		return DateValue(number(32))
	case Time:
		return TimeValue(number(32))
	case Float:
		f, err := strconv.ParseFloat(s, 32)
		if err != nil {
			t.Fatal(err)
		}
		return float32(f)
	case Double:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	case Decimal:
		n, ok := new(big.Int).SetString(strings.ReplaceAll(s, ".", ""), 10)
		if !ok {
			t.Fatal(s)
		}
		return DecimalValue{n, dt.Scale}
	case Timestamp, TimestampLTZ:
		var v TimestampValue
		if _, err := fmt.Sscanf(s, "%dms+%dns", &v.Millis, &v.Nanos); err != nil {
			t.Fatal(err)
		}
		return v
	case Binary, VarBinary:
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return s
}

func parseTypeText(t *testing.T, s string) DataType {
	t.Helper()
	dt, err := parseAtomic(s)
	if err != nil {
		t.Fatal(err)
	}
	return dt
}

func TestBinaryRowVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Type  string `json:"paimon_type"`
			Value string `json:"value"`
			Key   string `json:"key"`
		} `json:"vectors"`
	}
	readVectors(t, "paimon-bucket-1.3.1.json", &file)
	if len(file.Vectors) < 170 {
		t.Fatalf("only %d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		dt := parseTypeText(t, v.Type)
		row, err := hex.DecodeString(v.Key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeBinaryRow([]DataType{dt}, append([]byte{0, 0, 0, 1}, row...))
		if err != nil || vectorText(got[0]) != v.Value {
			t.Errorf("%s %s: %v, %v", v.Type, v.Value, got, err)
			continue
		}
		// A column of it holds the same.
		text := appendScalar(nil, dt, constant(dt, got[0], 2), 1)
		want := appendScalar(nil, dt, constant(dt, fromVectorText(t, dt, v.Value), 1), 0)
		if string(text) != string(want) {
			t.Errorf("%s %s: as a column %s, want %s", v.Type, v.Value, text, want)
		}
	}
}

func TestPartitionVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Type       string  `json:"type"`
			Value      *string `json:"value"`
			Fluss      *string `json:"fluss_partition_value"`
			FlussError *string `json:"fluss_error"`
			Legacy     *string `json:"legacy_name_true"`
			LegacyPath *string `json:"path_legacy_name_true"`
			Cast       string  `json:"legacy_name_false"`
			CastPath   string  `json:"path_legacy_name_false"`
		} `json:"vectors"`
	}
	readVectors(t, "paimon-partition-1.3.1.json", &file)
	if len(file.Vectors) < 150 {
		t.Fatalf("only %d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		dt := parseTypeText(t, v.Type)
		schema := &Schema{Version: 3, Fields: []Field{{ID: 0, Name: "k", Type: dt}}, PartitionKeys: []string{"k"}, Options: map[string]string{}}
		table := &Table{name: "db.t"}
		table.newest.Store(schema)
		p := Partition{Values: []any{nil}}
		if v.Value != nil {
			p.Values[0] = fromVectorText(t, dt, *v.Value)
		}
		check := func(legacy bool, text, path *string) {
			if legacy {
				schema.Options["partition.legacy-name"] = "true"
			} else {
				schema.Options["partition.legacy-name"] = "false"
			}
			spec, err := table.PartitionSpec(p, legacy)
			dir, dirErr := table.PartitionDir(p)
			switch {
			case text == nil:
			case *text == "unstable": // an object's address
				if err == nil || dirErr == nil {
					t.Errorf("%s %s: text %q was given for a value that has none", v.Type, *v.Value, spec["k"])
				}
			case err != nil || dirErr != nil || spec["k"] != *text || dir != *path:
				t.Errorf("%s %v, legacy %v: %q in %q, %v; want %q in %q", v.Type, p.Values[0], legacy, spec["k"], dir, err, *text, *path)
			}
		}
		check(true, v.Legacy, v.LegacyPath)
		check(false, &v.Cast, &v.CastPath)
		fluss, err := FlussPartitionValue(p.Values[0], dt)
		switch {
		case v.FlussError != nil || v.Value == nil:
			if err == nil {
				t.Errorf("%s %v: Fluss text %q for what Fluss refuses", v.Type, p.Values[0], fluss)
			}
		case v.Fluss != nil && (err != nil || fluss != *v.Fluss):
			t.Errorf("%s %s: Fluss text %q, %v; want %q", v.Type, *v.Value, fluss, err, *v.Fluss)
		}
	}
}

func TestBinaryRowOfManyFields(t *testing.T) {
	// 60 INTs need a null area of 16 bytes; field 57 has bit 65.
	types := make([]DataType, 60)
	row := make([]byte, 16+60*8)
	for i := range types {
		types[i] = DataType{Kind: Int}
		row[16+8*i] = byte(i)
	}
	row[65/8] |= 1 << (65 % 8)
	got, err := DecodeBinaryRow(types, append([]byte{0, 0, 0, 60}, row...))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if i == 57 && v != nil || i != 57 && v != int32(i) {
			t.Errorf("field %d is %v", i, v)
		}
	}
}

func TestBinaryRowDamage(t *testing.T) {
	str, dec, ts := DataType{Kind: VarChar, Length: MaxLength}, DataType{Kind: Decimal, Precision: 38}, DataType{Kind: Timestamp, Precision: 9}
	for name, c := range map[string]struct {
		types []DataType
		data  string
		has   string
	}{
		"empty":          {nil, "", "0 bytes"},
		"arity":          {[]DataType{str}, "00000002", "2 fields, required are 1"},
		"huge arity":     {[]DataType{str}, "ffffffff", "4294967295 fields"},
		"short":          {[]DataType{str}, "0000000100000000", "4 bytes, required are at least 16"},
		"inline length":  {[]DataType{str}, "00000001" + "0000000000000000" + "00000000000000ff", "127 bytes in a slot of 7"},
		"far offset":     {[]DataType{str}, "00000001" + "0000000000000000" + "08000000ffffff7f", "at offset 2147483647"},
		"long":           {[]DataType{str}, "00000001" + "0000000000000000" + "ffffffff10000000", "4294967295 bytes at offset 16"},
		"decimal length": {[]DataType{dec}, "00000001" + "0000000000000000" + "1100000010000000" + strings.Repeat("00", 24), "decimal of 17 bytes"},
		"nanos":          {[]DataType{ts}, "00000001" + "0000000000000000" + "40420f0010000000" + "0000000000000000", "1000000 nanoseconds"},
		"nested":         {[]DataType{{Kind: Array, Element: &str}}, "00000001" + "0000000000000000" + "0000000000000000", "can't occur"},
	} {
		data, err := hex.DecodeString(c.data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeBinaryRow(c.types, data); err == nil || !strings.Contains(err.Error(), c.has) {
			t.Errorf("%s: %v, %v; want %q", name, got, err, c.has)
		}
	}
}

func TestPartitionPaths(t *testing.T) {
	for _, s := range []string{"a", "a b/c=d:e", "100%", "\x00\x1f\x7f", "é中😀", "[x]{y}^?*\\\"'#", "%2F", "%"} {
		e := escapePathName(s)
		if strings.ContainsAny(e, "/:=\"\x00") || unescapePathName(e) != s {
			t.Errorf("%q: escaped %q, back %q", s, e, unescapePathName(e))
		}
	}
	keys, texts, err := ParsePartitionPath("dt=a b%2Fc%3Dd%3Ae/h=/")
	if err != nil || !slices.Equal(keys, []string{"dt", "h"}) || !slices.Equal(texts, []string{"a b/c=d:e", ""}) {
		t.Errorf("%v %v %v", keys, texts, err)
	}
	for _, bad := range []string{"", "x", "=1", "a=1//b=2"} {
		if _, _, err := ParsePartitionPath(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestLocalDateTimeText(t *testing.T) {
	for want, v := range map[string]TimestampValue{
		"1970-01-01T00:00":              {0, 0},
		"1970-01-01T00:00:01":           {1000, 0},
		"1969-12-31T23:59:59.999999999": {-1, 999_999},
		"1970-01-01T00:00:00.000000100": {0, 100},
		"1970-01-01T00:00:00.000100":    {0, 100_000},
		"+10000-01-01T00:00":            {253402300800000, 0},
		"-0001-01-01T00:00":             {-62198755200000, 0},
	} {
		if got := localDateTimeText(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
