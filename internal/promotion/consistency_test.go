package promotion

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// lakeCopy is a sample table in a warehouse of its own, to be changed.
type lakeCopy struct {
	dir string // of the table
	c   *connection
}

func copyLake(t *testing.T, sample string, wrap func(storage.FS) storage.FS) lakeCopy {
	t.Helper()
	root := t.TempDir()
	l := lakeCopy{dir: filepath.Join(root, "d.db", "t")}
	if err := os.CopyFS(l.dir, os.DirFS(filepath.Join("..", "..", "testdata", "paimon", sample, "table"))); err != nil {
		t.Fatal(err)
	}
	var fs storage.FS = storage.Local{}
	if wrap != nil {
		fs = wrap(fs)
	}
	l.c = &connection{catalog: paimon.OpenCatalog(fs, root), generation: generation09}
	return l
}

func (l lakeCopy) open(t *testing.T) (*source, error) {
	t.Helper()
	return (&Service{}).openSource(context.Background(), l.c, TableName{"d", "t"})
}

// begun is an operation that pinned the table as it is now.
func (l lakeCopy) begun(t *testing.T) *run {
	t.Helper()
	src, err := l.open(t)
	if err != nil {
		t.Fatal(err)
	}
	started := Event{OperationID: "o", Seq: 1, Kind: EventStarted, Detail: Detail{Fingerprint: &src.pin, SchemaID: ptr(src.schema.ID)}, At: time.Now()}
	return &run{c: l.c, src: src, hist: fold("o", []Event{started})}
}

func (l lakeCopy) remove(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// edit writes a file of the table anew, perhaps under another name.
func (l lakeCopy) edit(t *testing.T, from, to, pattern, with string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(l.dir, from))
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile(pattern).ReplaceAll(data, []byte(with))
	if string(changed) == string(data) {
		t.Fatalf("%s has no %s", from, pattern)
	}
	if err := os.WriteFile(filepath.Join(l.dir, to), changed, 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantTexts(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("not noticed")
	}
	for _, want := range texts {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

// TestRecheckNotices changes a source after it was pinned: before datalake is
// enabled each change is noticed and named.
func TestRecheckNotices(t *testing.T) {
	column := `"fields" : [ { "id" : 77, "name" : "late", "type" : "INT" },`
	for name, c := range map[string]struct {
		sample string
		change func(l lakeCopy)
		has    []string
	}{
		"another commit": {"pk_levels", func(l lakeCopy) { l.edit(t, "snapshot/snapshot-8", "snapshot/snapshot-9", `"id" : 8`, `"id" : 9`) },
			[]string{"moved on", "snapshot 9", "snapshot 8"}},
		"rolled back and written again": {"pk_levels", func(l lakeCopy) {
			l.edit(t, "snapshot/snapshot-8", "snapshot/snapshot-8", `"deltaManifestList" : "[^"]*"`, `"deltaManifestList" : "manifest-list-other"`)
		}, []string{"moved on", "the same ID with another commit"}},
		"rolled back": {"pk_levels", func(l lakeCopy) {
			l.edit(t, "snapshot/snapshot-8", "snapshot/snapshot-7", `"id" : 8`, `"id" : 7`)
			l.remove(t, "snapshot/snapshot-8")
		}, []string{"moved on", "snapshot 7", "rolled back"}},
		"snapshots gone": {"pk_levels", func(l lakeCopy) { l.remove(t, "snapshot/snapshot-*") }, []string{"moved on", "no snapshot"}},
		"made anew": {"pk_levels", func(l lakeCopy) {
			l.edit(t, "schema/schema-0", "schema/schema-0", `"timeMillis" : \d+`, `"timeMillis" : 5`)
		},
			[]string{"moved on", "dropped and made anew"}},
		"made anew, empty": {"schema_only", func(l lakeCopy) {
			l.edit(t, "schema/schema-0", "schema/schema-0", `"timeMillis" : \d+`, `"timeMillis" : 5`)
		},
			[]string{"moved on", "dropped and made anew"}},
		"made anew in the same millisecond": {"schema_only", func(l lakeCopy) { l.edit(t, "schema/schema-0", "schema/schema-0", `"fields" : \[`, column) },
			[]string{"schema has changed", "late"}},
		"schema alone": {"pk_levels", func(l lakeCopy) {
			l.edit(t, "schema/schema-0", "schema/schema-1", `"fields" : \[`, column)
			l.edit(t, "schema/schema-1", "schema/schema-1", `"id" : 0,\s*"fields"`, `"id" : 1, "fields"`)
		}, []string{"schema has changed", "schema 1", "late"}},
		"newest schema removed": {"schema_evolution", func(l lakeCopy) { l.remove(t, "schema/schema-4") }, []string{"schema has changed", "schema 3"}},
		"first schema removed":  {"schema_evolution", func(l lakeCopy) { l.remove(t, "schema/schema-0") }, []string{"schema does not exist", "schema/schema-0"}},
		"all schemas removed":   {"pk_levels", func(l lakeCopy) { l.remove(t, "schema/schema-*") }, []string{"schema does not exist", "schema/schema-0"}},
		"snapshot half-written": {"pk_levels", func(l lakeCopy) {
			l.edit(t, "snapshot/snapshot-8", "snapshot/snapshot-9", `(?s)"baseManifestList".*`, "")
		},
			[]string{"snapshot-9", "unexpected end"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := copyLake(t, c.sample, nil)
			r := l.begun(t)
			if err := r.recheck(context.Background()); err != nil {
				t.Fatalf("unchanged: %v", err)
			}
			c.change(l)
			wantTexts(t, r.recheck(context.Background()), c.has...)
		})
	}
}

// TestSourceDamaged opens sources that lack a file: the error names it.
func TestSourceDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		sample, file string
		has          []string
	}{
		"manifest list": {"compacted", "manifest/manifest-list-*", []string{"Files of the source's snapshot are missing", "manifest/manifest-list-", "still the newest"}},
		"manifest":      {"compacted", "manifest/manifest-[0-9a-f]*", []string{"Files of the source's snapshot are missing", "manifest/manifest-", "still the newest"}},
		"index":         {"dv_pk", "manifest/index-manifest-*", []string{"Files of the source's snapshot are missing", "manifest/index-manifest-"}},
		"every schema":  {"pk_levels", "schema/schema-*", []string{"there is no schema file in", "d.db/t/schema", "snapshot/snapshot-8"}},
		"newest schema": {"schema_evolution", "schema/schema-[1-9]", []string{"schema does not exist", "was committed with schema", "schema/schema-"}},
		"every file":    {"compacted", "manifest/*", []string{"manifest/manifest-list-"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := copyLake(t, c.sample, nil)
			l.remove(t, c.file)
			_, err := l.open(t)
			wantTexts(t, err, c.has...)
			if strings.Contains(err.Error(), "The Paimon table does not exist") {
				t.Errorf("a damaged table is said not to exist: %v", err)
			}
		})
	}
}

// expiringFS removes a file when it is about to be read, as an expiration does.
type expiringFS struct {
	storage.FS
	file   string
	expire func()
}

func (e *expiringFS) ReadFile(ctx context.Context, file string, limit int64) ([]byte, error) {
	if e.expire != nil && strings.Contains(file, e.file) {
		expire := e.expire
		e.expire = nil
		expire()
	}
	return e.FS.ReadFile(ctx, file, limit)
}

// TestSourceExpiresWhileRead: the newest snapshot is replaced and its manifests
// removed between the look at it and the read of them.
func TestSourceExpiresWhileRead(t *testing.T) {
	fs := &expiringFS{file: "manifest-list-"}
	l := copyLake(t, "compacted", func(inner storage.FS) storage.FS {
		fs.FS = inner
		return fs
	})
	src, err := l.open(t)
	if err != nil {
		t.Fatal(err)
	}
	id, base, delta := src.snapshot.ID, src.snapshot.BaseManifestList, src.snapshot.DeltaManifestList
	next := filepath.Join("snapshot", "snapshot-"+strconv.FormatInt(id+1, 10))
	fs.expire = func() {
		l.edit(t, "snapshot/snapshot-"+strconv.FormatInt(id, 10), next, `"id" : `+strconv.FormatInt(id, 10), `"id" : `+strconv.FormatInt(id+1, 10))
		for _, list := range []string{base, delta} {
			l.edit(t, next, next, list, list+"-moved")
			if err := os.Rename(filepath.Join(l.dir, "manifest", list), filepath.Join(l.dir, "manifest", list+"-moved")); err != nil {
				t.Error(err)
			}
		}
	}
	src, err = l.open(t)
	if err != nil || src.snapshot.ID != id+1 {
		t.Fatalf("%v; want snapshot %d", err, id+1)
	}
	if r := l.begun(t); r.recheck(context.Background()) != nil {
		t.Error("the newer snapshot is not what was pinned")
	}
}

// TestFilesMissingOfMovedSource: what is missing is explained by what came since.
func TestFilesMissingOfMovedSource(t *testing.T) {
	l := copyLake(t, "pk_levels", nil)
	src, err := l.open(t)
	if err != nil {
		t.Fatal(err)
	}
	l.remove(t, "bucket-0/*.parquet")
	cause := paimon.ErrFileMissing
	moved, err := missingFile(context.Background(), src.table, src.pin, cause)
	wantTexts(t, err, "Files of the source's snapshot are missing", "still the newest", "damaged")
	if moved {
		t.Error("the source has not moved on")
	}
	l.edit(t, "snapshot/snapshot-8", "snapshot/snapshot-9", `"id" : 8`, `"id" : 9`)
	moved, err = missingFile(context.Background(), src.table, src.pin, cause)
	wantTexts(t, err, "Files of the source's snapshot are missing", "the newest is now snapshot 9", "expired", `on_source_change = "restart"`)
	if !moved {
		t.Error("the source has moved on")
	}
}
