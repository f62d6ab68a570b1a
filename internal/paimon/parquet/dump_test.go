package parquet

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// text is value i of v as the sample tables' expected.json has it.
func asText(t Type, v *vector.Vector, i int) any {
	if v.IsNull(i) {
		return nil
	}
	switch t.Kind {
	case Boolean:
		return strconv.FormatBool(v.Bools[i])
	case Int8, Int16, Int32:
		return strconv.Itoa(int(v.Int32s[i]))
	case Int64:
		return strconv.FormatInt(v.Int64s[i], 10)
	case Float:
		return strconv.FormatFloat(float64(v.Float32s[i]), 'g', -1, 32)
	case Double:
		return strconv.FormatFloat(v.Float64s[i], 'g', -1, 64)
	case String:
		return string(v.BytesAt(i))
	case Binary:
		return hex.EncodeToString(v.BytesAt(i))
	case Decimal:
		n := new(big.Int)
		if t.Precision <= 18 {
			n.SetInt64(v.Int64s[i])
		} else {
			n = signed(v.BytesAt(i))
		}
		s := fmt.Sprintf("%0*s", t.Scale+1, new(big.Int).Abs(n))
		if t.Scale > 0 {
			s = s[:len(s)-t.Scale] + "." + s[len(s)-t.Scale:]
		}
		if n.Sign() < 0 {
			s = "-" + s
		}
		return s
	case Date:
		return time.Unix(int64(v.Int32s[i])*86400, 0).UTC().Format("2006-01-02")
	case Time:
		return time.UnixMilli(int64(v.Int32s[i])).UTC().Format("15:04:05.000")
	case Timestamp:
		at := time.UnixMilli(v.Int64s[i]).UTC()
		if v.Kind == vector.Timestamp {
			at = at.Add(time.Duration(v.Nanos[i]))
		}
		s := at.Format("2006-01-02 15:04:05.000000000")
		if t.Precision == 0 {
			return s[:19]
		}
		return s[:20+t.Precision]
	case List:
		list := []any{}
		for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
			list = append(list, asText(t.Children[0], v.Children[0], int(j)))
		}
		return list
	case Map:
		entries := []any{}
		for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
			entries = append(entries, []any{asText(t.Children[0], v.Children[0], int(j)), asText(t.Children[1], v.Children[1], int(j))})
		}
		return entries
	case Struct:
		fields := map[string]any{}
		for k, name := range t.Names {
			fields[name] = asText(t.Children[k], v.Children[k], i)
		}
		return fields
	}
	return nil
}

func signed(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

func openFile(t testing.TB, name string) *File {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(strings.NewReader(string(data)), int64(len(data)), name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rowsOf reads all rows as text, column by column in the order asked.
func rowsOf(t testing.TB, f *File, columns []Column, batch int) []map[string]any {
	t.Helper()
	r, err := f.Read(columns, ReadOptions{BatchRows: batch})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := []map[string]any{}
	for {
		vs, n, err := r.Next()
		if err != nil {
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			return rows
		}
		for i := range n {
			row := map[string]any{}
			for k, c := range columns {
				if vs[k].Len != n {
					t.Fatalf("column %s has %d values, %d rows", c.Name, vs[k].Len, n)
				}
				row[c.Name] = asText(c.Type, vs[k], i)
			}
			rows = append(rows, row)
		}
	}
}

func asJSON(t testing.TB, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
