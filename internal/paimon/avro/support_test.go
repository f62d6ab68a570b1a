package avro

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"testing"
	"time"

	lib "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

func col(name string, t vector.Type) vector.Column { return vector.Column{Name: name, Type: t} }
func of(k vector.Logical) vector.Type              { return vector.Type{Kind: k} }
func decimalOf(precision, scale int) vector.Type {
	return vector.Type{Kind: vector.LogicalDecimal, Precision: precision, Scale: scale}
}
func timestampOf(p int) vector.Type { return vector.Type{Kind: vector.LogicalTimestamp, Precision: p} }
func timeOf(p int) vector.Type      { return vector.Type{Kind: vector.LogicalTime, Precision: p} }
func listOf(t vector.Type) vector.Type {
	return vector.Type{Kind: vector.LogicalList, Children: []vector.Type{t}}
}
func mapOf(k, v vector.Type) vector.Type {
	return vector.Type{Kind: vector.LogicalMap, Children: []vector.Type{k, v}}
}
func structOf(fields ...vector.Column) vector.Type {
	t := vector.Type{Kind: vector.LogicalStruct}
	for _, f := range fields {
		t.Names, t.Children = append(t.Names, f.Name), append(t.Children, f.Type)
	}
	return t
}

// header is that of a container file.
func header(schema, codec string, sync [16]byte) []byte {
	head, err := lib.Marshal(ocf.HeaderSchema, ocf.Header{Magic: [4]byte(magic), Meta: map[string][]byte{"avro.schema": []byte(schema), "avro.codec": []byte(codec)}, Sync: sync})
	if err != nil {
		panic(err)
	}
	return head
}

var testSync = [16]byte{7, 1, 2}

// file is a container file of packed blocks, of count records each.
func file(schema, codec string, count int64, blocks ...[]byte) []byte {
	out := header(schema, codec, testSync)
	for _, b := range blocks {
		w := lib.NewWriter(nil, 64)
		w.WriteLong(count)
		w.WriteLong(int64(len(b)))
		out = append(append(append(out, w.Buffer()...), b...), testSync[:]...)
	}
	return out
}

// recordOf is the schema of a record of one field x.
func recordOf(x string) string {
	return `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[{"name":"x","type":` + x + `}]}`
}

// values writes a block by hand.
func values(write func(w *lib.Writer)) []byte {
	w := lib.NewWriter(nil, 1024)
	write(w)
	return w.Buffer()
}

// readText reads every row of columns as JSON.
func readText(data []byte, batch int, columns ...vector.Column) (rows []string, err error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)), "some.avro")
	if err != nil {
		return nil, err
	}
	r, err := f.Read(columns, vector.ReadOptions{BatchRows: batch})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		vs, n, err := r.Next()
		if err != nil {
			if _, _, again := r.Next(); again != err {
				return rows, fmt.Errorf("first %w, then %w", err, again)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rows, err
		}
		for i := range n {
			row := []any{}
			for k, c := range columns {
				if vs[k].Len != n || vs[k].Kind != c.Type.Vector() {
					return rows, fmt.Errorf("column %s: %d values of kind %d for %d rows", c.Name, vs[k].Len, vs[k].Kind, n)
				}
				row = append(row, asText(c.Type, vs[k], i))
			}
			b, err := json.Marshal(row)
			if err != nil {
				return rows, err
			}
			rows = append(rows, string(b))
		}
	}
}

// asText is value i of v as JSON has it.
func asText(t vector.Type, v *vector.Vector, i int) any {
	if v.IsNull(i) {
		return nil
	}
	switch t.Kind {
	case vector.LogicalBoolean:
		return v.Bools[i]
	case vector.LogicalInt8, vector.LogicalInt16, vector.LogicalInt32:
		return v.Int32s[i]
	case vector.LogicalInt64:
		return v.Int64s[i]
	case vector.LogicalFloat:
		return strconv.FormatFloat(float64(v.Float32s[i]), 'g', -1, 32)
	case vector.LogicalDouble:
		return strconv.FormatFloat(v.Float64s[i], 'g', -1, 64)
	case vector.LogicalString:
		return string(v.BytesAt(i))
	case vector.LogicalBinary:
		return hex.EncodeToString(v.BytesAt(i))
	case vector.LogicalDecimal:
		if t.Precision <= vector.LongDecimal {
			return fmt.Sprintf("%de-%d", v.Int64s[i], t.Scale)
		}
		return fmt.Sprintf("%se-%d", signed(v.BytesAt(i)), t.Scale)
	case vector.LogicalDate:
		return time.Unix(int64(v.Int32s[i])*86400, 0).UTC().Format("2006-01-02")
	case vector.LogicalTime:
		return time.UnixMilli(int64(v.Int32s[i])).UTC().Format("15:04:05.000")
	case vector.LogicalTimestamp:
		at := time.UnixMilli(v.Int64s[i]).UTC()
		if v.Kind == vector.Timestamp {
			at = at.Add(time.Duration(v.Nanos[i]))
		}
		return at.Format("2006-01-02 15:04:05.000000")
	case vector.LogicalList:
		list := []any{}
		for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
			list = append(list, asText(t.Children[0], v.Children[0], int(j)))
		}
		return list
	case vector.LogicalMap:
		entries := []any{}
		for j := v.Offsets[i]; j < v.Offsets[i+1]; j++ {
			entries = append(entries, []any{asText(t.Children[0], v.Children[0], int(j)), asText(t.Children[1], v.Children[1], int(j))})
		}
		return entries
	case vector.LogicalStruct:
		fields := []any{}
		for k := range t.Names {
			fields = append(fields, asText(t.Children[k], v.Children[k], i))
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

func wantRows(t *testing.T, data []byte, want []string, columns ...vector.Column) {
	t.Helper()
	for _, batch := range []int{0, 1, 2} {
		got, err := readText(data, batch, columns...)
		if err != nil {
			t.Errorf("batches of %d: %v", batch, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("batches of %d:\n%v\nwant\n%v", batch, got, want)
		}
	}
}
