package orc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

var (
	listOf = func(e Type) Type { return Type{Kind: List, Children: []Type{e}} }
	mapOf  = func(k, v Type) Type { return Type{Kind: Map, Children: []Type{k, v}} }
	kind   = func(k Kind) Type { return Type{Kind: k} }
	inner  = Type{Kind: Struct, Names: []string{"x", "y"}, Children: []Type{kind(Int32), listOf(kind(String))}}
)

// asText is value i of v in the text form of make_pyarrow.py: timestamps in
// nanoseconds, dates in days.
func asText(t Type, v *vector.Vector, i int) any {
	if v.IsNull(i) {
		return nil
	}
	switch t.Kind {
	case Boolean:
		return strconv.FormatBool(v.Bools[i])
	case Int8, Int16, Int32, Date, Time:
		return strconv.Itoa(int(v.Int32s[i]))
	case Int64:
		return strconv.FormatInt(v.Int64s[i], 10)
	case Float:
		return strconv.FormatFloat(float64(v.Float32s[i]), 'g', -1, 64)
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
	case Timestamp:
		n := big.NewInt(v.Int64s[i])
		n.Mul(n, big.NewInt(1_000_000))
		if v.Kind == vector.Timestamp {
			n.Add(n, big.NewInt(int64(v.Nanos[i])))
		}
		return n.String()
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

func openFile(t testing.TB, path string) *File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(data), int64(len(data)), path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// eachRow reads all rows and gives each as text.
func eachRow(t testing.TB, f *File, columns []Column, batch int, row func(i int, values []any)) int {
	t.Helper()
	r, err := f.Read(columns, ReadOptions{BatchRows: batch})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	values := make([]any, len(columns))
	rows := 0
	for {
		vs, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		if batch > 0 && n > batch || n < 1 {
			t.Fatalf("a batch of %d rows, asked for %d", n, batch)
		}
		for k, v := range vs {
			checkVector(t, columns[k].Type, v, n)
		}
		for i := range n {
			for k, v := range vs {
				values[k] = asText(columns[k].Type, v, i)
			}
			row(rows+i, values)
		}
		rows += n
	}
}

// checkVector checks what package vector promises of a vector of n values.
func checkVector(t testing.TB, typ Type, v *vector.Vector, n int) {
	t.Helper()
	if v.Len != n || v.Kind != typ.Vector() || v.Nulls != nil && len(v.Nulls) != n {
		t.Fatalf("a vector of kind %d, %d values and %d null flags, want %d of kind %d", v.Kind, v.Len, len(v.Nulls), n, typ.Vector())
	}
	sizes := map[vector.Kind]int{vector.Bool: len(v.Bools), vector.Int32: len(v.Int32s), vector.Int64: len(v.Int64s), vector.Float32: len(v.Float32s),
		vector.Float64: len(v.Float64s), vector.Timestamp: min(len(v.Int64s), len(v.Nanos))}
	if have, ok := sizes[v.Kind]; ok && have != n {
		t.Fatalf("a vector of kind %d with %d slots, want %d", v.Kind, have, n)
	}
	below := n
	switch v.Kind {
	case vector.Bytes, vector.List, vector.Map:
		if len(v.Offsets) != n+1 || v.Offsets[0] != 0 {
			t.Fatalf("%d offsets, want %d from 0 on", len(v.Offsets), n+1)
		}
		for i := range n {
			if v.Offsets[i+1] < v.Offsets[i] || v.IsNull(i) && v.Offsets[i+1] != v.Offsets[i] {
				t.Fatalf("value %d of %d: offsets %d and %d, null %v", i, n, v.Offsets[i], v.Offsets[i+1], v.IsNull(i))
			}
		}
		if below = int(v.Offsets[n]); v.Kind == vector.Bytes && below != len(v.Data) {
			t.Fatalf("%d bytes, the last offset is %d", len(v.Data), below)
		}
	}
	for i, c := range v.Children {
		checkVector(t, typ.Children[i], c, below)
	}
}

func asJSON(t testing.TB, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
