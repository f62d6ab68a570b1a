package paimon

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// Random bytes of random files are changed or cut off, and the table read as a
// whole: an error or rows, never a panic. What is readable must say its name in
// the error.
func TestRandomDamage(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	samples := []string{"pk_levels", "nested", "all_types", "pk_part_string", "dv_pk", "schema_evolution", "py_pk"}
	failed := 0
	for round := range rounds {
		sample := samples[rnd.IntN(len(samples))]
		dir := copySample(t, sample)
		var files []string
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		file := files[rnd.IntN(len(files))]
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			continue
		}
		if rnd.IntN(4) == 0 {
			data = data[:rnd.IntN(len(data))]
		} else {
			for range 1 + rnd.IntN(8) {
				data[rnd.IntN(len(data))] = byte(rnd.IntN(256))
			}
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := readWhole(t, dir); err != nil {
			failed++
			if err.Error() == "" {
				t.Errorf("round %d, %s: an error without a text", round, file)
			}
		}
	}
	if failed < rounds/4 {
		t.Errorf("only %d of %d damaged tables gave an error", failed, rounds)
	}
}

func readWhole(t *testing.T, dir string) error {
	t.Helper()
	ctx := t.Context()
	files, root, err := storage.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := OpenTable(ctx, files, root, "s.damaged")
	if err != nil {
		return err
	}
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	plan, err := table.Plan(ctx, snap)
	if err != nil {
		return err
	}
	if err := table.CanRead(plan); err != nil {
		return err
	}
	for _, p := range plan.Partitions {
		for _, b := range p.Buckets {
			if _, err := readRows(table, plan, p, b, ReadOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}
