package suite

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lakeType is a type of a Paimon column and how random values of it are made.
type lakeType struct {
	sql string // of the column
	// value gives a value as Flink's JSON format takes it, and as this project's
	// reader should print it.
	value func(r *rand.Rand) (in, want any)
	// anyKey says that the column is a map of a key that is no string, which
	// JSON has no form for: in is then keys and values, two columns of these
	// types.
	anyKey []string
}

// content is rows for columns of some types.
type content struct {
	types []lakeType
	json  []byte         // one row a line
	rows  map[string]any // by id, as they should be read
}

// makeContent makes n rows with ids from first on.
func makeContent(t *testing.T, r *rand.Rand, types []lakeType, first, n int) content {
	t.Helper()
	c := content{types: types, rows: map[string]any{}}
	for id := first; id < first+n; id++ {
		in, want := map[string]any{"id": id}, map[string]any{"id": strconv.Itoa(id)}
		for i, typ := range types {
			name := fmt.Sprintf("c%d", i)
			v, w := typ.value(r)
			want[name] = w
			if pair, ok := v.([2][]any); ok {
				in[name+"k"], in[name+"v"] = pair[0], pair[1]
			} else {
				in[name] = v
			}
		}
		line, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		c.json = append(append(c.json, line...), '\n')
		c.rows[strconv.Itoa(id)] = want
	}
	return c
}

// selectFrom is the query that gives the rows, from a file that it writes.
func (c content) selectFrom(t *testing.T, f *formatTest, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rows.json"), c.json, 0o644); err != nil {
		t.Fatal(err)
	}
	columns, exprs := []string{"id INT"}, []string{"id"}
	for i, typ := range c.types {
		if typ.anyKey == nil {
			columns = append(columns, fmt.Sprintf("`c%d` %s", i, typ.sql))
			exprs = append(exprs, fmt.Sprintf("`c%d`", i))
			continue
		}
		columns = append(columns, fmt.Sprintf("`c%dk` ARRAY<%s>, `c%dv` ARRAY<%s>", i, typ.anyKey[0], i, typ.anyKey[1]))
		exprs = append(exprs, fmt.Sprintf("MAP_FROM_ARRAYS(`c%dk`, `c%dv`)", i, i))
	}
	source := fmt.Sprintf("default_catalog.default_database.`%s`", name)
	f.exec(t, fmt.Sprintf("CREATE TEMPORARY TABLE %s (%s) WITH ('connector'='filesystem', 'path'='file://%s', 'format'='json', 'json.timestamp-format.standard'='SQL')",
		source, strings.Join(columns, ", "), dir))
	return fmt.Sprintf("SELECT %s FROM %s", strings.Join(exprs, ", "), source)
}

// scalar makes a type whose values read as they are written.
func scalar(sql string, value func(r *rand.Rand) string) lakeType {
	return lakeType{sql: sql, value: func(r *rand.Rand) (any, any) {
		s := value(r)
		return s, s
	}}
}

func integer(sql string, bits int) lakeType {
	return scalar(sql, func(r *rand.Rand) string {
		switch n := int64(r.Uint64()) >> (64 - bits); r.IntN(6) {
		case 0:
			return strconv.FormatInt(math.MinInt64>>(64-bits), 10)
		case 1:
			return strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
		case 2:
			return "0"
		default:
			return strconv.FormatInt(n>>r.IntN(bits), 10)
		}
	})
}

func decimalType(precision, scale int) lakeType {
	return scalar(fmt.Sprintf("DECIMAL(%d, %d)", precision, scale), func(r *rand.Rand) string {
		n := new(big.Int)
		for range 1 + r.IntN(precision) {
			n.Mul(n, big.NewInt(10)).Add(n, big.NewInt(r.Int64N(10)))
		}
		if r.IntN(8) == 0 { // all nines
			n.Exp(big.NewInt(10), big.NewInt(int64(precision)), nil).Sub(n, big.NewInt(1))
		}
		s := fmt.Sprintf("%0*s", scale+1, n)
		if scale > 0 {
			s = s[:len(s)-scale] + "." + s[len(s)-scale:]
		}
		if n.Sign() != 0 && r.IntN(2) == 0 {
			s = "-" + s
		}
		return s
	})
}

var texts = []string{"", " ", "a", "'\"\\\n\t", "äöüß", "日本語", "😀👩‍👩‍👧", "\u0000x", strings.Repeat("long ", 300)}

func anyText(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return texts[r.IntN(len(texts))]
	}
	return fmt.Sprintf("text %d", r.IntN(100))
}

// moment is a time from 1600 to 9999, often around 1970. The last second of
// 1969 is left out: ORC can't hold its fractions.
func moment(r *rand.Rand) time.Time {
	var seconds int64
	switch r.IntN(4) {
	case 0:
		seconds = r.Int64N(20) - 10
	case 1:
		seconds = r.Int64N(4e9) - 2e9
	default:
		seconds = time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC).Unix() + r.Int64N(8000*365*86400)
	}
	if seconds == -1 {
		seconds = -2
	}
	return time.Unix(seconds, r.Int64N(1e9)).UTC()
}

func timestampType(precision int, zone bool) lakeType {
	sql, layout := fmt.Sprintf("TIMESTAMP(%d)", precision), "2006-01-02 15:04:05"
	if precision > 0 {
		layout += "." + strings.Repeat("0", precision)
	}
	if zone {
		sql, layout = fmt.Sprintf("TIMESTAMP_LTZ(%d)", precision), layout+"Z"
	}
	return scalar(sql, func(r *rand.Rand) string { return moment(r).Format(layout) })
}

// flatTypes are the types without parts that every format holds.
func flatTypes() []lakeType {
	return []lakeType{
		scalar("BOOLEAN", func(r *rand.Rand) string { return strconv.FormatBool(r.IntN(2) == 0) }),
		integer("TINYINT", 8), integer("SMALLINT", 16), integer("INT", 32), integer("BIGINT", 64),
		{sql: "FLOAT", value: func(r *rand.Rand) (any, any) {
			f := math.Float32frombits(r.Uint32())
			return strings.ReplaceAll(strconv.FormatFloat(float64(f), 'g', -1, 32), "Inf", "Infinity"), f
		}},
		{sql: "DOUBLE", value: func(r *rand.Rand) (any, any) {
			f := []float64{math.Float64frombits(r.Uint64()), 0, math.NaN(), math.Inf(-1), math.SmallestNonzeroFloat64, r.NormFloat64()}[r.IntN(6)]
			return strings.ReplaceAll(strings.ReplaceAll(strconv.FormatFloat(f, 'g', -1, 64), "+Inf", "Infinity"), "-Inf", "-Infinity"), f
		}},
		scalar("STRING", anyText),
		scalar("VARCHAR(40)", func(r *rand.Rand) string { return strconv.Itoa(r.IntN(1000)) }),
		scalar("CHAR(4)", func(r *rand.Rand) string { return fmt.Sprintf("%04d", r.IntN(10000)) }),
		{sql: "BYTES", value: func(r *rand.Rand) (any, any) {
			b := make([]byte, r.IntN(30))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return base64.StdEncoding.EncodeToString(b), hex.EncodeToString(b)
		}},
		decimalType(5, 0), decimalType(9, 2), decimalType(18, 18), decimalType(19, 4), decimalType(38, 10), decimalType(38, 0), decimalType(38, 38),
		scalar("DATE", func(r *rand.Rand) string { return moment(r).Format("2006-01-02") }),
		{sql: "TIME(0)", value: func(r *rand.Rand) (any, any) {
			s := moment(r).Format("15:04:05")
			return s, s + ".000"
		}},
		timestampType(0, false), timestampType(3, false), timestampType(6, false), timestampType(0, true), timestampType(3, true), timestampType(6, true),
	}
}

func nullable(t lakeType) lakeType {
	value := t.value
	t.value = func(r *rand.Rand) (any, any) {
		in, want := value(r)
		if r.IntN(6) > 0 {
			return in, want
		}
		if t.anyKey != nil {
			return [2][]any{}, nil
		}
		return nil, nil
	}
	return t
}

func notNull(t lakeType) lakeType {
	t.sql += " NOT NULL"
	return t
}

func arrayType(e lakeType) lakeType {
	return nullable(lakeType{sql: "ARRAY<" + e.sql + ">", value: func(r *rand.Rand) (any, any) {
		in, want := []any{}, []any{}
		for range r.IntN(4) {
			v, w := e.value(r)
			in, want = append(in, v), append(want, w)
		}
		return in, want
	}})
}

func rowType(fields ...lakeType) lakeType {
	var sql []string
	for i, f := range fields {
		sql = append(sql, fmt.Sprintf("f%d %s", i, f.sql))
	}
	return nullable(lakeType{sql: "ROW<" + strings.Join(sql, ", ") + ">", value: func(r *rand.Rand) (any, any) {
		in, want := map[string]any{}, map[string]any{}
		for i, f := range fields {
			in[fmt.Sprintf("f%d", i)], want[fmt.Sprintf("f%d", i)] = f.value(r)
		}
		return in, want
	}})
}

// mapEntries are up to three entries with keys in the order the reader prints.
func mapEntries(r *rand.Rand, key func(*rand.Rand) string, value lakeType) (keys []string, in []any, want []any) {
	for range r.IntN(4) {
		if k := key(r); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	quoted := func(s string) []byte { return []byte(`"` + s + `"`) }
	slices.SortFunc(keys, func(a, b string) int { return bytes.Compare(quoted(a), quoted(b)) })
	want = []any{}
	for _, k := range keys {
		v, w := value.value(r)
		in, want = append(in, v), append(want, []any{k, w})
	}
	return keys, in, want
}

func textMap(value lakeType) lakeType {
	return nullable(lakeType{sql: "MAP<STRING NOT NULL, " + value.sql + ">", value: func(r *rand.Rand) (any, any) {
		keys, values, want := mapEntries(r, func(r *rand.Rand) string { return fmt.Sprintf("k%d", r.IntN(100)) }, value)
		in := map[string]any{}
		for i, k := range keys {
			in[k] = values[i]
		}
		return in, want
	}})
}

func intMap(value lakeType) lakeType {
	t := lakeType{sql: "MAP<INT NOT NULL, " + value.sql + ">", anyKey: []string{"INT NOT NULL", value.sql}, value: func(r *rand.Rand) (any, any) {
		keys, values, want := mapEntries(r, func(r *rand.Rand) string { return strconv.Itoa(r.IntN(1000)) }, value)
		in := [2][]any{{}, {}}
		for i, k := range keys {
			in[0], in[1] = append(in[0], k), append(in[1], values[i])
		}
		return in, want
	}}
	return nullable(t)
}

// everyType is each type, nullable and not, and each kind of nesting.
func everyType() []lakeType {
	var types []lakeType
	for _, t := range flatTypes() {
		types = append(types, nullable(t), notNull(t))
	}
	text, number, at, long := nullable(scalar("STRING", anyText)), nullable(integer("INT", 32)), nullable(timestampType(6, false)), nullable(decimalType(38, 10))
	return append(types, arrayType(text), arrayType(arrayType(number)), rowType(number, text, rowType(at, long)), textMap(long), textMap(arrayType(at)),
		intMap(text), intMap(rowType(number, long)), arrayType(rowType(text, textMap(number))), rowType(arrayType(rowType(at))), arrayType(notNull(integer("BIGINT", 64))))
}

// randomTypes are n types, some nested to some depth.
func randomTypes(r *rand.Rand, n int) []lakeType {
	flat := flatTypes()
	var make func(depth int) lakeType
	make = func(depth int) lakeType {
		if depth == 0 || r.IntN(3) > 0 {
			return nullable(flat[r.IntN(len(flat))])
		}
		switch r.IntN(3) {
		case 0:
			return arrayType(make(depth - 1))
		case 1:
			return textMap(make(depth - 1))
		default:
			var fields []lakeType
			for range 1 + r.IntN(3) {
				fields = append(fields, make(depth-1))
			}
			return rowType(fields...)
		}
	}
	var types []lakeType
	for i := range n {
		if i%7 == 6 {
			types = append(types, intMap(make(1)))
		} else {
			types = append(types, make(3))
		}
	}
	return types
}
