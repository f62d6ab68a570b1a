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
		table := openSample(t, sample)
		for _, p := range planOf(t, table).Partitions {
			for _, b := range p.Buckets {
				for _, f := range b.Files {
					min, max, nulls, ok, err := table.FileStats(ctx, f, column)
					if err != nil {
						t.Fatal(err)
					}
					if d, isDecimal := min.(DecimalValue); isDecimal {
						min, max = d.text(), max.(DecimalValue).text()
					}
					lines = append(lines, fmt.Sprintf("%v..%v nulls=%d ok=%v", min, max, nulls, ok))
				}
			}
		}
		return lines
	}
	for _, c := range []struct{ sample, column, want string }{
		{"all_types", "f_int", "-2147483648..123456 nulls=0 ok=true; 2147483647..2147483647 nulls=1 ok=true"},
		{"all_types", "f_dec38", "-9999999999999999999999999999.9999999999..1234567890123456789012345678.0123456789 nulls=0 ok=true; 0.0000000001..0.0000000001 nulls=1 ok=true"},
		{"all_types", "f_ts6", "{-1 999000}..{1709210096789 12000} nulls=0 ok=true; {253402300799999 999000}..{253402300799999 999000} nulls=1 ok=true"},
		// Java collects none of a TIMESTAMP above 6 in Parquet.
		{"all_types", "f_ts9", "<nil>..<nil> nulls=0 ok=false; <nil>..<nil> nulls=1 ok=false"},
		{"nested", "st", "<nil>..<nil> nulls=0 ok=false; <nil>..<nil> nulls=0 ok=false"},
		// By id: in the oldest file a is INT, and b is another column.
		{"schema_evolution", "a", "100..200 nulls=0 ok=true; 300..300 nulls=0 ok=true; 101..4000000000 nulls=0 ok=true; 5..6 nulls=0 ok=true"},
		{"schema_evolution", "b", "<nil>..<nil> nulls=0 ok=false; <nil>..<nil> nulls=0 ok=false; <nil>..<nil> nulls=0 ok=false; 20..50 nulls=0 ok=true"},
		{"pk_levels", "id", "0..59 nulls=0 ok=true; 3..61 nulls=0 ok=true; 3..10 nulls=0 ok=true; 5..500 nulls=0 ok=true"},
	} {
		got := strings.Join(stats(c.sample, c.column), "; ")
		if got != c.want {
			t.Errorf("%s.%s: %s; want %s", c.sample, c.column, got, c.want)
		}
	}
	table := openSample(t, "pk_levels")
	if _, _, _, _, err := table.FileStats(ctx, planOf(t, table).Partitions[0].Buckets[0].Files[0], "none"); err == nil {
		t.Error("statistics of a column that is not there")
	}
}
