package paimon

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestFileStats(t *testing.T) {
	ctx := context.Background()
	stats := func(sample, column string) (lines []string) {
		for _, p := range planWith(t, openSample(t, sample), PlanOptions{Stats: []string{column}}).Partitions {
			for _, b := range p.Buckets {
				for _, f := range b.Files {
					if len(f.Stats) == 0 {
						lines = append(lines, "unknown")
						continue
					}
					s := f.Stats[0]
					if d, isDecimal := s.Least.(DecimalValue); isDecimal {
						s.Least, s.Greatest = d.text(), s.Greatest.(DecimalValue).text()
					}
					lines = append(lines, fmt.Sprintf("%v..%v nulls=%d", s.Least, s.Greatest, s.Nulls))
					if s.Column != column || len(f.Stats) > 1 {
						t.Errorf("%s: asked for %s, got %+v", sample, column, f.Stats)
					}
				}
			}
		}
		return lines
	}
	for _, c := range []struct{ sample, column, want string }{
		{"all_types", "f_int", "-2147483648..123456 nulls=0; 2147483647..2147483647 nulls=1"},
		{"all_types", "f_dec38", "-9999999999999999999999999999.9999999999..1234567890123456789012345678.0123456789 nulls=0; 0.0000000001..0.0000000001 nulls=1"},
		{"all_types", "f_ts6", "{-1 999000}..{1709210096789 12000} nulls=0; {253402300799999 999000}..{253402300799999 999000} nulls=1"},
		// Java collects none of a TIMESTAMP above 6 in Parquet.
		{"all_types", "f_ts9", "unknown; unknown"},
		{"nested", "st", "unknown; unknown"},
		// By id: in the oldest file a is INT, and b is another column.
		{"schema_evolution", "a", "100..200 nulls=0; 300..300 nulls=0; 101..4000000000 nulls=0; 5..6 nulls=0"},
		{"schema_evolution", "b", "unknown; unknown; unknown; 20..50 nulls=0"},
		{"pk_levels", "id", "0..59 nulls=0; 3..61 nulls=0; 3..10 nulls=0; 5..500 nulls=0"},
	} {
		got := strings.Join(stats(c.sample, c.column), "; ")
		if got != c.want {
			t.Errorf("%s.%s: %s; want %s", c.sample, c.column, got, c.want)
		}
	}
	table := openSample(t, "pk_levels")
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.PlanWith(ctx, snap, PlanOptions{Stats: []string{"none"}}); err == nil {
		t.Error("statistics of a column that is not there")
	}
	none := planWith(t, table, PlanOptions{Stats: []string{"id"}, Keep: func(s ColumnStats) bool { return s.Greatest.(int32) > 100 }})
	kept := 0
	for _, f := range none.Partitions[0].Buckets[0].Files {
		kept += len(f.Stats)
	}
	if kept != 1 {
		t.Errorf("statistics of %d files are kept, want those of the one with keys above 100", kept)
	}

	// Columns that a file is older than are not missing, those of a writer
	// without statistics are.
	missing := func(sample, column string) (n int) {
		for _, p := range planWith(t, openSample(t, sample), PlanOptions{Stats: []string{column}, Keep: func(s ColumnStats) bool { return s.Missing }}).Partitions {
			for _, b := range p.Buckets {
				for _, f := range b.Files {
					n += len(f.Stats)
				}
			}
		}
		return n
	}
	if n := missing("schema_evolution", "b"); n != 0 {
		t.Errorf("statistics of a newer column are missing in %d files", n)
	}
	if n := missing("py_pk", "v"); n == 0 {
		t.Error("pypaimon collects no statistics, and none are missing")
	}
}
