package paimon

import "testing"

// The estimate grows with what is open at once: runs, columns and large rows,
// not with the length of a run.
func TestReadMemory(t *testing.T) {
	file := func(size, rows int64) DataFile { return DataFile{Size: size, RowCount: rows} }
	const mib = 1 << 20
	for name, c := range map[string]struct {
		columns  int
		sections [][][]DataFile
		low      int64
		high     int64
	}{
		"nothing":               {10, nil, 0, 0},
		"a small file":          {10, [][][]DataFile{{{file(1000, 10)}}}, 4000, 8000},
		"a large one":           {10, [][][]DataFile{{{file(1<<30, 20_000_000)}}}, 10 * mib, 12 * mib},
		"a long run":            {10, [][][]DataFile{{{file(1<<30, 20_000_000), file(1<<30, 20_000_000)}}}, 10 * mib, 12 * mib},
		"three runs":            {10, [][][]DataFile{{{file(1<<30, 20_000_000)}, {file(1<<30, 20_000_000)}, {file(1<<30, 20_000_000)}}}, 30 * mib, 36 * mib},
		"one section at a time": {10, [][][]DataFile{{{file(1<<30, 20_000_000)}}, {{file(1<<30, 20_000_000)}}}, 10 * mib, 12 * mib},
		"many columns":          {200, [][][]DataFile{{{file(1<<30, 5_000_000)}}}, 200 * mib, 212 * mib},
		"rows of 100 KiB":       {10, [][][]DataFile{{{file(1<<30, 10_485)}}}, 50 * mib, 70 * mib},
		"no rows, by the entry": {10, [][][]DataFile{{{file(100, 0)}}}, 400, 800},
	} {
		r := &Rows{wanted: make([]Field, c.columns), batchRows: defaultBatchRows, sections: c.sections}
		if got := r.Memory(); got < c.low || got > c.high {
			t.Errorf("%s: %d, want %d to %d", name, got, c.low, c.high)
		}
	}
}
