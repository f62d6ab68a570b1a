package promotion

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealSorted loads with every way of sorting by key, made to be needed by a
// small table; every row is compared afterwards.
func TestRealSorted(t *testing.T) {
	kib := func(n int64) *int64 { n <<= 10; return &n }
	for name, c := range map[string]struct {
		sort   sortSizes
		spill  *int64
		folder string // TMPDIR
		note   string
	}{
		"in memory":                 {sort: sortSizes{window: 32 << 10, spill: 1 << 40, large: 1 << 20}},
		"whole buckets in files":    {sort: sortSizes{window: 32 << 10, large: 1 << 20}},
		"parts of buckets in files": {sort: sortSizes{window: 32 << 10, large: 1 << 20}, spill: kib(4 * 200)},
		"no files allowed":          {sort: sortSizes{window: 32 << 10, large: 1 << 20}, spill: kib(0)},
		"no files possible":         {sort: sortSizes{window: 32 << 10, large: 1 << 20}, folder: "missing", note: "rows are sorted in memory alone"},
		"large records":             {sort: sortSizes{window: 32 << 10, large: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			e := real(t)
			dir := t.TempDir()
			t.Setenv("TMPDIR", filepath.Join(dir, c.folder))
			rows := 20_000
			if c.note != "" { // progress is told at heartbeats, and there must be one after the load
				rows = 300_000
			}
			s, table := e.bench(t, rows)
			s.Engine, s.Flink, s.Verification, s.SpillBytes = "", nil, VerifyFull, c.spill
			e.svc.sort = c.sort
			var last Progress
			res, _, err := e.svc.Run(minutes(t), s, func(p Progress) { last = p })
			if err != nil {
				t.Fatal(err)
			}
			if res.Stage != StageEnabled || res.RowsLoaded != table.Rows {
				t.Errorf("%+v; want %d rows", res, table.Rows)
			}
			if !strings.HasPrefix(last.Note, c.note) || (c.note == "") != (last.Note == "") {
				t.Errorf("note %q, want %q", last.Note, c.note)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the folder for temporary files: %v, %v", left, err)
			}
		})
	}
}
