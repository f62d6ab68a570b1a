package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

const samples = "../../testdata/paimon"

// warehouse makes one of some sample tables.
func warehouse(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(dir, "db.db", name), os.DirFS(filepath.Join(samples, name, "table"))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPrintsRows(t *testing.T) {
	names := []string{"pk_levels", "pk_part_string", "append_bucket_key", "schema_only"}
	dir := warehouse(t, names...)
	for _, name := range names {
		var out bytes.Buffer
		if err := run(context.Background(), []string{"-warehouse", "file://" + dir, "-table", "db." + name}, &out); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want struct{ Rows []json.RawMessage }
		data, err := os.ReadFile(filepath.Join(samples, name, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		var wanted []string
		for _, r := range want.Rows {
			var b bytes.Buffer
			if err := json.Compact(&b, r); err != nil {
				t.Fatal(err)
			}
			wanted = append(wanted, b.String())
		}
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if out.Len() == 0 {
			got = nil
		}
		sort.Strings(got)
		sort.Strings(wanted)
		if strings.Join(got, "\n") != strings.Join(wanted, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
}

func TestTimeTravelUsesTheSnapshotsSchema(t *testing.T) {
	dir := warehouse(t, "schema_evolution")
	var out bytes.Buffer
	if err := run(context.Background(), []string{"-warehouse", dir, "-table", "db.schema_evolution", "-snapshot", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	if !strings.HasPrefix(first, `{"id":"1","a":`) {
		t.Errorf("first row is %s, want the columns of schema 0", first)
	}
}

func TestRefuses(t *testing.T) {
	dir := warehouse(t, "aggregation", "stale_latest")
	for _, c := range []struct {
		args []string
		has  string
	}{
		{[]string{"-warehouse", dir, "-table", "db.aggregation"}, "merge-engine=aggregation"},
		{[]string{"-warehouse", dir, "-table", "db.none"}, "table does not exist"},
		{[]string{"-warehouse", dir, "-table", "none.t"}, "database does not exist"},
		{[]string{"-warehouse", dir, "-table", "db.stale_latest", "-snapshot", "99"}, "snapshot does not exist"},
		{[]string{"-warehouse", dir, "-table", "db.stale_latest", "-snapshot", "-1"}, "count from 1"},
		{[]string{"-warehouse", "s3://b", "-table", "db.t"}, `scheme "s3"`},
		{[]string{"-warehouse", dir, "-table", "t"}, "database.table"},
		{[]string{"-table", "db.t"}, "-warehouse is missing"},
		{[]string{"-warehouse", dir, "-table", "db.t", "more"}, `unexpected argument "more"`},
	} {
		var out bytes.Buffer
		err := run(context.Background(), c.args, &out)
		if err == nil || !strings.Contains(err.Error(), c.has) || out.Len() > 0 {
			t.Errorf("%v: error %v, output %q; want %q and no output", c.args, err, out.String(), c.has)
		}
	}
}
