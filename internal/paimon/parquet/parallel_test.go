package parquet

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

// TestEachColumn: every column is read once, whoever does it; the first of the
// columns that failed says why, panics too; and nobody is at work afterwards.
func TestEachColumn(t *testing.T) {
	for _, values := range []int{1, worthSharing} {
		for n := range 20 {
			var at, calls atomic.Int32
			seen := make([]atomic.Int32, n)
			err := eachColumn(n, values, func(i int) error {
				at.Add(1)
				defer at.Add(-1)
				calls.Add(1)
				seen[i].Add(1)
				return nil
			})
			if err != nil || int(calls.Load()) != n || at.Load() != 0 {
				t.Fatalf("%d columns: %d calls, %d at work, %v", n, calls.Load(), at.Load(), err)
			}
			for i := range seen {
				if seen[i].Load() != 1 {
					t.Errorf("column %d of %d was read %d times", i, n, seen[i].Load())
				}
			}
		}
		var at atomic.Int32
		err := eachColumn(10, values, func(i int) error {
			at.Add(1)
			defer at.Add(-1)
			if i == 3 || i == 4 {
				return fmt.Errorf("column %d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "column 3" || at.Load() != 0 {
			t.Errorf("%v, %d at work", err, at.Load())
		}
		err = eachColumn(10, values, func(i int) error {
			if i == 2 {
				panic("two")
			}
			return nil
		})
		if !errors.Is(contain(err), ErrCorrupt) {
			t.Errorf("a panic became %v", err)
		}
	}
	if len(helpers) != 0 {
		t.Errorf("%d goroutines are still counted", len(helpers))
	}
}
