package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

// TestMain runs the command itself where a test started it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("PAIMONCAT_TEST_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is the command as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "PAIMONCAT_TEST_MAIN=1")
	return cmd
}

// A reader that has seen enough (| head) is no failure to talk about.
func TestEndsQuietlyWhenItsReaderIsGone(t *testing.T) {
	cmd := process(t, "-warehouse", warehouse(t, "pk_levels"), "-table", "db.pk_levels")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &said
	_ = in.Close()
	err = cmd.Run()
	_ = out.Close()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || said.Len() > 0 {
		t.Errorf("ended with %v and said %q; want the end that a closed pipe brings, and silence", err, said.String())
	}
}

func TestSaysWhatIsWrongOnce(t *testing.T) {
	cmd := process(t, "-tables", "db.t")
	said, err := cmd.CombinedOutput()
	if want := "paimoncat: flag provided but not defined: -tables; paimoncat -h lists the flags\n"; err == nil || string(said) != want {
		t.Errorf("%v, %q; want %q", err, said, want)
	}
	said, err = process(t, "-h").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "-warehouse") || strings.Contains(string(said), "paimoncat: ") {
		t.Errorf("-h: %v, %q", err, said)
	}
}

func TestEndsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	err := run(ctx, []string{"-warehouse", warehouse(t, "pk_levels"), "-table", "db.pk_levels"}, &out)
	if !errors.Is(err, context.Canceled) || out.Len() > 0 {
		t.Errorf("%v and %d bytes of output; want context.Canceled and none", err, out.Len())
	}
}

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
		{[]string{"-warehouse", dir, "-table", "db.stale_latest", "-snapshot", "0"}, "-snapshot is 0; snapshots count from 1"},
		{[]string{"-warehouse", dir, "-table", "db.stale_latest", "-generation", "0.9"}, "-generation says what -report judges for"},
		{[]string{"-warehouse", dir, "-table", "db.stale_latest", "-report", "-snapshot", "1"}, "-report judges the table as it is now"},
		{[]string{"-warehouse", dir, "-table", "db.stale_latest", "-report", "-generation", "7"}, "7"},
		{[]string{"-warehouse", filepath.Join(dir, "none"), "-table", "db.t"}, "none is not a folder that exists"},
		{[]string{"-warehouse", filepath.Join(dir, "db.db", "stale_latest", "snapshot", "LATEST"), "-table", "db.t"}, "LATEST is not a folder that exists"},
		{[]string{"-warehouse", dir, "-table", "db.t", "-snapshots", "1"}, "-snapshots; paimoncat -h lists the flags"},
		{[]string{"-warehouse", dir, "-table", "db.t", "-snapshot", "x"}, "paimoncat -h lists the flags"},
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
