package paimon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// samples is the sample tables' folder; its README tells what they are.
const samples = "../../testdata/paimon"

// expected is a case's expected.json.
type expected struct {
	Snapshot      *int64   `json:"snapshot"`
	SchemaID      int64    `json:"schema_id"`
	PrimaryKeys   []string `json:"primary_keys"`
	PartitionKeys []string `json:"partition_keys"`
	Partitions    []struct {
		Spec     map[string]*string `json:"spec"`
		Dir      string             `json:"dir"`
		Rows     int64              `json:"rows"`
		Files    int                `json:"files"`
		Physical int64              `json:"physical_records"`
		Bytes    int64              `json:"file_bytes"`
	} `json:"partitions"`
	RowCount int               `json:"row_count"`
	Rows     []json.RawMessage `json:"rows"`
}

func sampleNames(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(samples)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) != 31 {
		t.Fatalf("%d sample tables, want 31", len(names))
	}
	return names
}

func readExpected(t *testing.T, name string) expected {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(samples, name, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var e expected
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func openSample(t testing.TB, name string) *Table {
	t.Helper()
	return openDir(t, filepath.Join(samples, name, "table"))
}

func openDir(t testing.TB, dir string) *Table {
	t.Helper()
	fs, root, err := storage.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := OpenTable(context.Background(), fs, root, "samples.t")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// copySample copies a sample table to a folder that a test may damage.
func copySample(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(samples, name, "table"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func planOf(t testing.TB, table *Table) *Plan {
	t.Helper()
	return planWith(t, table, PlanOptions{})
}

func planWith(t testing.TB, table *Table, opts PlanOptions) *Plan {
	t.Helper()
	ctx := context.Background()
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := table.PlanWith(ctx, snap, opts)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestSampleMetadata(t *testing.T) {
	for _, name := range sampleNames(t) {
		t.Run(name, func(t *testing.T) {
			want := readExpected(t, name)
			table := openSample(t, name)
			schema := table.Schema()
			if schema.ID != want.SchemaID || !slices.Equal(schema.PrimaryKeys, want.PrimaryKeys) || !slices.Equal(schema.PartitionKeys, want.PartitionKeys) {
				t.Errorf("schema %d, keys %v, partitions %v; want %d, %v, %v",
					schema.ID, schema.PrimaryKeys, schema.PartitionKeys, want.SchemaID, want.PrimaryKeys, want.PartitionKeys)
			}
			plan := planOf(t, table)
			switch {
			case (plan.Snapshot == nil) != (want.Snapshot == nil):
				t.Fatalf("snapshot %v, want %v", plan.Snapshot, want.Snapshot)
			case want.Snapshot != nil && plan.Snapshot.ID != *want.Snapshot:
				t.Fatalf("snapshot %d, want %d", plan.Snapshot.ID, *want.Snapshot)
			}
			line := func(spec map[string]*string, dir string, files int, bytes, records int64) string {
				text, err := json.Marshal(spec)
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("%s %s files=%d bytes=%d records=%d", text, dir, files, bytes, records)
			}
			var got, wanted []string
			for _, p := range plan.Partitions {
				dir, err := table.PartitionDir(p.Partition)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, line(valueSpec(schema, p.Partition), dir, p.Files, p.Bytes, p.Records))
			}
			for _, p := range want.Partitions {
				wanted = append(wanted, line(p.Spec, p.Dir, p.Files, p.Bytes, p.Physical))
			}
			sort.Strings(got)
			sort.Strings(wanted)
			if !slices.Equal(got, wanted) {
				t.Errorf("partitions:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
			}
		})
	}
}

// valueSpec is the values' own text, null as null, as expected.json has it.
func valueSpec(s *Schema, p Partition) map[string]*string {
	spec := map[string]*string{}
	for i, f := range s.partitionFields() {
		spec[f.Name] = nil
		if p.Values[i] != nil {
			text := string(appendScalar(nil, f.Type, constant(f.Type, p.Values[i], 1), 0))
			spec[f.Name] = &text
		}
	}
	return spec
}

// unreadable are the samples that this reader refuses, and what it names.
var unreadable = map[string]string{
	"aggregation":    `option "merge-engine=aggregation"`,
	"partial_update": `option "merge-engine=partial-update"`,
	"sequence_field": `option "sequence.field=ver,ts"`,
}

func TestSampleRows(t *testing.T) {
	for _, name := range sampleNames(t) {
		t.Run(name, func(t *testing.T) {
			want := readExpected(t, name)
			table := openSample(t, name)
			plan := planOf(t, table)
			if what, ok := unreadable[name]; ok {
				checkRefusal(t, table, plan, what)
				return
			}
			if err := table.CanRead(plan); err != nil {
				t.Fatal(err)
			}
			// Batches of 1 and 3 rows put every border everywhere.
			for _, batchRows := range []int{0, 1, 3} {
				compareRows(t, table, plan, want, batchRows)
			}
		})
	}
}

func checkRefusal(t *testing.T, table *Table, plan *Plan, what string) {
	t.Helper()
	err := table.CanRead(plan)
	var found UnsupportedErrors
	if !errors.As(err, &found) || !slices.ContainsFunc(found, func(e *UnsupportedError) bool { return e.What == what }) {
		t.Fatalf("CanRead: %v, want it to name %s", err, what)
	}
	p := plan.Partitions[0]
	if _, err := table.ReadBucket(context.Background(), plan, p, p.Buckets[0], ReadOptions{}); !errors.As(err, &found) {
		t.Errorf("ReadBucket: %v, want a refusal", err)
	}
}

func compareRows(t *testing.T, table *Table, plan *Plan, want expected, batchRows int) {
	t.Helper()
	keyed := len(want.PrimaryKeys) > 0
	var all []string
	wantRows := map[string]int64{}
	for _, p := range want.Partitions {
		text, _ := json.Marshal(p.Spec)
		wantRows[string(text)] = p.Rows
	}
	for _, p := range plan.Partitions {
		rows := readPartition(t, table, plan, p, ReadOptions{BatchRows: batchRows})
		text, _ := json.Marshal(valueSpec(table.Schema(), p.Partition))
		if n := wantRows[string(text)]; int64(len(rows)) != n {
			t.Errorf("partition %s: %d rows, want %d", text, len(rows), n)
		}
		all = append(all, rows...)
	}
	var wanted []string
	for _, r := range want.Rows {
		var b bytes.Buffer
		if err := json.Compact(&b, r); err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, normalJSON(t, b.Bytes()))
	}
	for i := range all {
		all[i] = normalJSON(t, []byte(all[i]))
	}
	sort.Strings(all)
	sort.Strings(wanted)
	if len(wanted) != want.RowCount {
		t.Fatalf("expected.json holds %d rows and says %d", len(wanted), want.RowCount)
	}
	if !slices.Equal(all, wanted) {
		t.Errorf("batches of %d (keyed %v): %d rows:\n%s\nwant %d:\n%s", batchRows, keyed, len(all), strings.Join(all, "\n"), len(wanted), strings.Join(wanted, "\n"))
	}
}

// normalJSON makes texts of one value equal, however characters are escaped;
// the order of columns stays.
func normalJSON(t *testing.T, raw []byte) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	var b strings.Builder
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if s, ok := tok.(string); ok {
			tok = strconv.Quote(s)
		}
		fmt.Fprintf(&b, "%v ", tok)
	}
}

// readPartition gives the rows of all buckets of a partition as JSON.
func readPartition(t testing.TB, table *Table, plan *Plan, p *PartitionFiles, opt ReadOptions) []string {
	t.Helper()
	var all []string
	for _, b := range p.Buckets {
		rows, err := readRows(table, plan, p, b, opt)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

func readRows(table *Table, plan *Plan, p *PartitionFiles, b *BucketFiles, opt ReadOptions) (all []string, err error) {
	rows, err := table.ReadBucket(context.Background(), plan, p, b, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	schema := opt.Schema
	if schema == nil {
		schema = table.Schema()
	}
	fields := schema.Fields
	if opt.Columns != nil {
		fields = nil
		for _, c := range opt.Columns {
			f, _ := schema.Field(c)
			fields = append(fields, f)
		}
	}
	for {
		refs, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		for k, pos := range refs.Pos {
			src := int32(0)
			if refs.Src != nil {
				src = refs.Src[k]
			}
			all = append(all, string(AppendJSONRow(nil, fields, refs.Batches[src], int(pos))))
		}
	}
}
