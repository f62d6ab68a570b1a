package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// dataFormats are the formats of data files, each with the values of
// file.compression besides the default.
var dataFormats = map[string][]string{
	"avro":    {"null", "deflate", "snappy", "bzip2"},
	"orc":     {"none", "zlib", "snappy", "lz4"},
	"parquet": {"uncompressed", "gzip", "snappy", "lz4"},
}

// TestDataFormats has Flink write the same random rows in every format with
// every codec, and reads each table's files back, value by value. With
// FORMAT_SAMPLES=DIR some tables are kept in DIR, which is where
// internal/paimon/testdata/formats comes from.
func TestDataFormats(t *testing.T) {
	e := need(t)
	f := &formatTest{env: e, db: e.database(t), samples: os.Getenv("FORMAT_SAMPLES")}
	var err error
	if f.sql, err = flinksql.Open(timeout(t, time.Minute), e.GatewayURL, map[string]string{"table.local-time-zone": "UTC"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
		defer done()
		_ = f.sql.Close(ctx)
	})
	f.exec(t, fmt.Sprintf("CREATE CATALOG lake WITH ('type'='paimon','warehouse'='%s')", e.Warehouse))
	rnd := rand.New(rand.NewPCG(19, 70))
	types, random := everyType(), randomTypes(rnd, 30)
	wide := randomTypes(rnd, 300)
	batches := map[string][]content{
		"types":  {makeContent(t, rnd, types, 0, 60), makeContent(t, rnd, types, 30, 60)}, // the second one updates the first
		"random": {makeContent(t, rnd, random, 0, 120)},
		"wide":   {makeContent(t, rnd, wide, 0, 40)},
	}
	codec := makeContent(t, rnd, types, 0, 3000) // several blocks
	for _, format := range slices.Sorted(maps.Keys(dataFormats)) {
		t.Run(format, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(batches)) {
				f.check(t, name, format, "", batches[name]...)
			}
			f.evolved(t, format)
			for _, c := range dataFormats[format] {
				f.check(t, "codec", format, c, codec)
			}
		})
	}
}

type formatTest struct {
	*env
	db, samples string
	sql         *flinksql.Session
}

func (f *formatTest) exec(t *testing.T, statements ...string) {
	t.Helper()
	if err := f.sql.Exec(timeout(t, 10*time.Minute), statements...); err != nil {
		t.Fatal(err)
	}
}

func (f *formatTest) table(name, format, codec string) (table, with string) {
	with = fmt.Sprintf("WITH ('bucket'='1', 'write-only'='true', 'file.format'='%s'", format)
	if codec != "" {
		with += fmt.Sprintf(", 'file.compression'='%s'", codec)
	}
	return strings.Trim(fmt.Sprintf("%s_%s_%s", name, format, codec), "_"), with + ")"
}

// check writes batches, one Flink job each, and compares.
func (f *formatTest) check(t *testing.T, name, format, codec string, batches ...content) {
	t.Helper()
	table, with := f.table(name, format, codec)
	full := fmt.Sprintf("lake.`%s`.`%s`", f.db, table)
	var columns []string
	for i, c := range batches[0].types {
		columns = append(columns, fmt.Sprintf("`c%d` %s", i, c.sql))
	}
	f.exec(t, fmt.Sprintf("CREATE TABLE %s (id INT NOT NULL, %s, PRIMARY KEY (id) NOT ENFORCED) %s", full, strings.Join(columns, ", "), with))
	want := map[string]any{}
	for i, b := range batches {
		f.exec(t, fmt.Sprintf("INSERT INTO %s %s", full, b.selectFrom(t, f, fmt.Sprintf("%s_src%d", table, i))))
		maps.Copy(want, b.rows)
	}
	f.compare(t, name, format, table, want)
}

// evolved changes the schema between inserts.
func (f *formatTest) evolved(t *testing.T, format string) {
	t.Helper()
	table, with := f.table("evolved", format, "")
	full := fmt.Sprintf("lake.`%s`.`%s`", f.db, table)
	f.exec(t,
		fmt.Sprintf("CREATE TABLE %s (id INT NOT NULL, a INT, b STRING, c SMALLINT NOT NULL, d DECIMAL(10, 2), e ARRAY<INT>, g TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED) %s", full, with),
		fmt.Sprintf("INSERT INTO %s VALUES (1, 10, 'one', CAST(1 AS SMALLINT), 1.5, ARRAY[1, 2], TIMESTAMP '1969-12-31 23:59:58.123'), "+
			"(2, CAST(NULL AS INT), CAST(NULL AS STRING), CAST(-2 AS SMALLINT), CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS ARRAY<INT>), CAST(NULL AS TIMESTAMP(3)))", full),
		fmt.Sprintf("ALTER TABLE %s MODIFY a BIGINT", full), fmt.Sprintf("ALTER TABLE %s RENAME b TO b2", full), fmt.Sprintf("ALTER TABLE %s DROP d", full),
		fmt.Sprintf("ALTER TABLE %s ADD b MAP<STRING, INT>", full), fmt.Sprintf("ALTER TABLE %s MODIFY c INT NOT NULL", full), fmt.Sprintf("ALTER TABLE %s MODIFY g TIMESTAMP(6)", full),
		fmt.Sprintf("ALTER TABLE %s MODIFY e ARRAY<INT> FIRST", full),
		fmt.Sprintf("INSERT INTO %s (id, a, b2, c, e, g, b) VALUES (3, 30000000000, 'three', 3, ARRAY[3], TIMESTAMP '1969-12-31 23:59:57.000001', MAP['k', 7])", full))
	row := func(text string) (v any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	f.compare(t, "evolved", format, table, map[string]any{
		"1": row(`{"e":["1","2"],"id":"1","a":"10","b2":"one","c":"1","g":"1969-12-31 23:59:58.123000","b":null}`),
		"2": row(`{"e":null,"id":"2","a":null,"b2":null,"c":"-2","g":null,"b":null}`),
		"3": row(`{"e":["3"],"id":"3","a":"30000000000","b2":"three","c":"3","g":"1969-12-31 23:59:57.000001","b":[["k","7"]]}`),
	})
}

// compare reads a table's files and compares every value.
func (f *formatTest) compare(t *testing.T, name, format, table string, want map[string]any) {
	t.Helper()
	dir := f.tableDir(f.db, table)
	lines, err := readTable(dir)
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	if len(lines) != len(want) {
		t.Errorf("%s: %d rows, want %d", table, len(lines), len(want))
	}
	failed := 0
	for _, line := range lines {
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		id, _ := got["id"].(string)
		w, _ := want[id].(map[string]any)
		for _, c := range slices.Sorted(maps.Keys(got)) {
			if v, ok := w[c]; (!ok || !sameValue(got[c], v)) && failed < 10 {
				failed++
				t.Errorf("%s, row %s, column %s: %v, want %v", table, id, c, got[c], v)
			}
		}
	}
	if f.samples == "" || failed > 0 || name == "codec" || name == "wide" {
		return
	}
	if err := os.CopyFS(filepath.Join(f.samples, format, name), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.samples, name+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sameValue compares what was read with what was written; numbers of
// floating point as numbers.
func sameValue(got, want any) bool {
	switch w := want.(type) {
	case float64:
		g, _ := got.(string)
		n, err := strconv.ParseFloat(g, 64)
		return err == nil && (n == w || n != n && w != w)
	case float32:
		g, _ := got.(string)
		n, err := strconv.ParseFloat(g, 32)
		return err == nil && (float32(n) == w || n != n && w != w)
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, sameValue)
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && maps.EqualFunc(g, w, sameValue)
	}
	return reflect.DeepEqual(got, want)
}

// readTable reads all rows of a table with this project's reader, as JSON,
// sorted by id.
func readTable(dir string) (lines []string, err error) {
	ctx := context.Background()
	fs, root, err := storage.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	table, err := paimon.OpenTable(ctx, fs, root, "db.t")
	if err != nil {
		return nil, err
	}
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := table.Plan(ctx, snap)
	if err != nil {
		return nil, err
	}
	for _, p := range plan.Partitions {
		for _, b := range p.Buckets {
			rows, err := table.ReadBucket(ctx, plan, p, b, paimon.ReadOptions{})
			if err != nil {
				return nil, err
			}
			for {
				refs, err := rows.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return nil, err
				}
				for k, pos := range refs.Pos {
					src := int32(0)
					if refs.Src != nil {
						src = refs.Src[k]
					}
					lines = append(lines, string(paimon.AppendJSONRow(nil, table.Schema().Fields, refs.Batches[src], int(pos))))
				}
			}
			if err := rows.Close(); err != nil {
				return nil, err
			}
		}
	}
	return lines, nil
}
