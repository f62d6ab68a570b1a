package paimon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// keyMakers give, for each key type, values in ascending order, close together
// so that prefixes tie.
var keyMakers = map[string]func(i int) any{
	"BOOLEAN":       func(i int) any { return i%2 == 1 },
	"TINYINT":       func(i int) any { return int8(i - 20) },
	"SMALLINT":      func(i int) any { return int16(i*100 - 2000) },
	"INT":           func(i int) any { return int32(i-20) * 50_000_000 },
	"BIGINT":        func(i int) any { return int64(i-20) * 400_000_000_000_000_000 },
	"FLOAT":         func(i int) any { return floats[i%len(floats)] },
	"DOUBLE":        func(i int) any { return float64(floats[i%len(floats)]) },
	"STRING":        func(i int) any { return strings.Repeat("a", i/3) + strings.Repeat("\x00", i%3) },
	"VARCHAR(50)":   func(i int) any { return fmt.Sprintf("same-prefix-%04d", i) },
	"BYTES":         func(i int) any { return []byte{0xfe, byte(i * 6)} },
	"DECIMAL(9, 2)": func(i int) any { return DecimalValue{big.NewInt(int64(i-20) * 1000), 2} },
	"DECIMAL(38, 10)": func(i int) any {
		x := int64(i - 20)
		n := big.NewInt(x * x * x * x * x * x * x)
		return DecimalValue{n.Mul(n, big.NewInt(1_000_000_000)), 10}
	},
	"DATE":         func(i int) any { return DateValue(i - 20) },
	"TIME(3)":      func(i int) any { return TimeValue(i) },
	"TIMESTAMP(9)": func(i int) any { return TimestampValue{int64(i/10) - 2, int32(i%10) * 99_999} },
}

var floats = []float32{float32(math.Inf(-1)), -3.5, -1, -1e-40, float32(math.Copysign(0, -1)), 0, 1e-40, 1, 2, 3.5, 1e30, float32(math.Inf(1)), float32(math.NaN())}

func TestKeyOrderOfEveryType(t *testing.T) {
	for text, makeKey := range keyMakers {
		dt := parseTypeText(t, text)
		for _, types := range [][]DataType{{dt}, {{Kind: Int}, dt}, {dt, {Kind: Int}}, {{Kind: BigInt}, dt}, {{Kind: VarChar, Length: MaxLength}, dt}} {
			var fields []Field
			for i, x := range types {
				fields = append(fields, Field{ID: i, Name: fmt.Sprint("k", i), Type: x})
			}
			order, err := newKeyOrder(fields)
			if err != nil {
				t.Fatal(err)
			}
			n := 40
			cols := make([]int, 0, 2*n)
			var rows [][]any
			for i := range 2 * n {
				cols = append(cols, i)
				key := make([]any, len(types))
				for c, x := range types {
					switch {
					case len(types) == 2 && x.Kind == Int && text != "INT":
						key[c] = int32(i % 2)
					case len(types) == 2 && x.Kind == BigInt && c == 0 && text != "BIGINT":
						key[c] = int64(i % 2)
					case len(types) == 2 && x.Kind == VarChar && c == 0 && !strings.HasPrefix(text, "VARCHAR") && text != "STRING":
						key[c] = "long enough " + fmt.Sprint(i%2)
					default:
						key[c] = keyOf(x, makeKey, text, i)
					}
				}
				rows = append(rows, key)
			}
			schema := &Schema{Version: 3, Fields: fields, PrimaryKeys: names(fields), Options: map[string]string{"bucket": "1"}}
			m := newMemTable(t, withValue(schema))
			var records []memRecord
			for i, k := range rows {
				records = append(records, memRecord{key: k, v: int64(i)})
			}
			m.add(t, "f", 0, records, 0)
			file := m.files["f.mem"]
			keys := make([]*vector.Vector, 0)
			for _, f := range fields {
				keys = append(keys, file.columns[keyPrefix+f.Name])
			}
			prefix := order.prefixes(nil, keys, len(rows))
			for _, i := range cols {
				for _, j := range cols {
					want := compareKeys(rows[i], rows[j])
					if got := order.compare(keys, i, keys, j); got != want {
						t.Fatalf("%v: compare(%v, %v) = %d, want %d", types, rows[i], rows[j], got, want)
					}
					p := compareOrdered(prefix[i], prefix[j])
					if p != 0 && p != want || p == 0 && order.exact && want != 0 {
						t.Fatalf("%v: prefixes of %v and %v compare %d (exact %v), want %d", types, rows[i], rows[j], p, order.exact, want)
					}
				}
			}
		}
	}
}

func keyOf(dt DataType, makeKey func(int) any, text string, i int) any {
	if dt.String() != text {
		switch dt.Kind {
		case Int:
			return int32(i / 2)
		case BigInt:
			return int64(i / 2)
		case VarChar:
			return fmt.Sprint(i / 2)
		}
	}
	return makeKey(i / 2)
}

func names(fields []Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Name)
	}
	return out
}

func withValue(s *Schema) *Schema {
	s.Fields = append(slices.Clone(s.Fields), Field{ID: 1000, Name: "v", Type: DataType{Kind: BigInt, Nullable: true}})
	return s
}

// TestMergeAgainstModel merges random runs and compares with a map from key to
// newest record.
func TestMergeAgainstModel(t *testing.T) {
	for _, text := range []string{"BIGINT", "INT", "STRING", "VARCHAR(50)", "DECIMAL(38, 10)", "FLOAT"} {
		dt := parseTypeText(t, text)
		makeKey := keyMakers[text]
		distinct := map[string]int{"FLOAT": len(floats)}[text]
		if distinct == 0 {
			distinct = 40
		}
		for seed := range uint64(60) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			schema := withValue(&Schema{Version: 3, Fields: []Field{{ID: 0, Name: "k", Type: dt}}, PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1"}})
			m := newMemTable(t, schema)
			model := map[int]memRecord{}
			bucket := &BucketFiles{Bucket: 0, TotalBuckets: 1}
			seq, v := int64(0), int64(0)
			runs := 1 + rnd.IntN(7)
			for n := range runs {
				var records []memRecord
				for k := range distinct {
					if rnd.IntN(3) == 0 {
						continue
					}
					v++
					kind := []int32{0, 0, 2, 3, 1}[rnd.IntN(5)]
					records = append(records, memRecord{key: []any{makeKey(k)}, kind: kind, v: v, seq: seq + int64(k)})
					model[k] = records[len(records)-1]
				}
				seq += 1000
				if len(records) == 0 {
					continue
				}
				// A run above level 0 is several files one after the other.
				level := 0
				for part := 0; len(records) > 0; part++ {
					size := len(records)
					if n == 0 {
						level = 5
						size = 1 + rnd.IntN(len(records))
					}
					bucket.Files = append(bucket.Files, m.add(t, fmt.Sprintf("f%d-%d", n, part), level, records[:size], rnd.IntN(5)))
					records = records[size:]
				}
			}
			if len(bucket.Files) == 0 {
				continue
			}
			rnd.Shuffle(len(bucket.Files), func(i, j int) { bucket.Files[i], bucket.Files[j] = bucket.Files[j], bucket.Files[i] })
			var want []int64
			for k := range distinct {
				if r, ok := model[k]; ok && r.kind&1 == 0 {
					want = append(want, r.v)
				}
			}
			plan := &Plan{schemas: m.schemas}
			p := &PartitionFiles{Buckets: []*BucketFiles{bucket}, Partition: Partition{Raw: []byte{0, 0, 0, 0}}}
			got, err := memValues(m, plan, p, bucket, ReadOptions{BatchRows: 1 + rnd.IntN(10), Columns: []string{"v"}, DuplicateKeys: FailOnDuplicates})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s, seed %d, %d runs: %v, %v; want %v", text, seed, runs, got, err, want)
			}
		}
	}
}

// memValues reads column "v", the only one asked for.
func memValues(m *memTable, plan *Plan, p *PartitionFiles, b *BucketFiles, opt ReadOptions) (values []int64, err error) {
	rows, err := m.ReadBucket(context.Background(), plan, p, b, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		refs, err := rows.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return values, err
		}
		for k, pos := range refs.Pos {
			src := int32(0)
			if refs.Src != nil {
				src = refs.Src[k]
			}
			values = append(values, refs.Batches[src][0].Int64s[pos])
		}
	}
}

func intTable(t testing.TB) *memTable {
	return newMemTable(t, withValue(&Schema{Version: 3, Fields: []Field{{ID: 0, Name: "k", Type: DataType{Kind: Int}}}, PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "1"}}))
}

func intRecords(seq int64, keys ...int32) []memRecord {
	var records []memRecord
	for i, k := range keys {
		records = append(records, memRecord{key: []any{k}, seq: seq + int64(i), v: seq + int64(i)})
	}
	return records
}

// TestDuplicatesInOneRun shows each record of a repeated key, one of each run a
// group, as Paimon's merge does.
func TestDuplicatesInOneRun(t *testing.T) {
	for batch := 1; batch < 8; batch++ {
		m := intTable(t)
		b := &BucketFiles{Files: []DataFile{
			m.add(t, "a", 0, intRecords(100, 1, 2, 2, 2, 3, 5, 5), batch),
			m.add(t, "b", 0, intRecords(200, 2, 2, 4, 5), batch),
		}}
		plan, p := &Plan{schemas: m.schemas}, &PartitionFiles{Buckets: []*BucketFiles{b}, Partition: Partition{Raw: []byte{0, 0, 0, 0}}}
		got, err := memValues(m, plan, p, b, ReadOptions{Columns: []string{"v"}})
		if want := []int64{100, 200, 201, 103, 104, 202, 203, 106}; err != nil || !slices.Equal(got, want) {
			t.Errorf("batches of %d: %v, %v; want %v", batch, got, err, want)
		}
		_, err = memValues(m, plan, p, b, ReadOptions{Columns: []string{"v"}, DuplicateKeys: FailOnDuplicates})
		var dup *DuplicateKeyError
		if !errors.As(err, &dup) || dup.Key != "(k=2)" {
			t.Errorf("batches of %d: %v, want a DuplicateKeyError for 2", batch, err)
		}
		// Also where no merge is needed.
		b.Files = b.Files[:1]
		if _, err = memValues(m, plan, p, b, ReadOptions{Columns: []string{"v"}, DuplicateKeys: FailOnDuplicates}); !errors.As(err, &dup) || dup.Key != "(k=2)" {
			t.Errorf("batches of %d, one file: %v", batch, err)
		}
	}
}

func TestUnsortedFileIsAnError(t *testing.T) {
	for _, batch := range []int{1, 2, 10} {
		m := intTable(t)
		b := &BucketFiles{Files: []DataFile{m.add(t, "a", 0, intRecords(100, 1, 3, 2), batch), m.add(t, "b", 0, intRecords(200, 2), batch)}}
		plan, p := &Plan{schemas: m.schemas}, &PartitionFiles{Buckets: []*BucketFiles{b}, Partition: Partition{Raw: []byte{0, 0, 0, 0}}}
		if _, err := memValues(m, plan, p, b, ReadOptions{Columns: []string{"v"}}); err == nil || !strings.Contains(err.Error(), "not sorted by key: the key (k=2) follows a higher one") {
			t.Errorf("batches of %d: %v", batch, err)
		}
	}
}

func TestSectionsAvoidMerging(t *testing.T) {
	m := intTable(t)
	files := []DataFile{
		m.add(t, "low", 5, intRecords(1, 1, 2), 0), m.add(t, "mid", 5, intRecords(10, 10, 20), 0), m.add(t, "high", 5, intRecords(20, 30, 40), 0),
		m.add(t, "new", 0, intRecords(100, 15, 35), 0), m.add(t, "newer", 0, intRecords(200, 50), 0),
	}
	ranged, err := keyRanges(m.Schema().keyFields(), files)
	if err != nil {
		t.Fatal(err)
	}
	var shape []string
	for _, s := range sections(ranged) {
		var runs []string
		for _, r := range s {
			var list []string
			for _, f := range r {
				list = append(list, strings.TrimSuffix(f.Name, ".mem"))
			}
			runs = append(runs, strings.Join(list, "+"))
		}
		shape = append(shape, strings.Join(runs, "|"))
	}
	if got, want := strings.Join(shape, "  "), "low  mid+high|new  newer"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	b := &BucketFiles{Files: files}
	plan, p := &Plan{schemas: m.schemas}, &PartitionFiles{Buckets: []*BucketFiles{b}, Partition: Partition{Raw: []byte{0, 0, 0, 0}}}
	got, err := memValues(m, plan, p, b, ReadOptions{Columns: []string{"v"}})
	if want := []int64{1, 2, 10, 100, 11, 20, 101, 21, 200}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestCancelledReadStops(t *testing.T) {
	m := intTable(t)
	b := &BucketFiles{Files: []DataFile{m.add(t, "a", 0, intRecords(100, 1, 2, 3), 1)}}
	plan, p := &Plan{schemas: m.schemas}, &PartitionFiles{Buckets: []*BucketFiles{b}, Partition: Partition{Raw: []byte{0, 0, 0, 0}}}
	ctx, cancel := context.WithCancel(context.Background())
	rows, err := m.ReadBucket(ctx, plan, p, b, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if _, err := rows.Next(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := rows.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
