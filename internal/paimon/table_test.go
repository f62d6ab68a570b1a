package paimon

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHintsAreNotTrusted finds snapshot 4 of stale_latest whatever the hints say.
func TestHintsAreNotTrusted(t *testing.T) {
	ctx := context.Background()
	for name, hint := range map[string]string{"as it is": "2", "right": "4", "missing": "", "empty": " ", "half-written": "\x00\x00", "text": "four", "nothing there": "99", "negative": "-1", "overflow": "99999999999999999999"} {
		dir := copySample(t, "stale_latest")
		file := filepath.Join(dir, "snapshot", "LATEST")
		if hint == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, file, hint)
		}
		write(t, filepath.Join(dir, "snapshot", "EARLIEST"), "77")
		write(t, filepath.Join(dir, "snapshot", "snapshot-5.tmp"), "{")
		write(t, filepath.Join(dir, "snapshot", "snapshot-05"), "{")
		write(t, filepath.Join(dir, "snapshot", ".snapshot-6"), "{")
		table := openDir(t, dir)
		s, err := table.LatestSnapshot(ctx)
		if err != nil || s.ID != 4 {
			t.Errorf("%s: snapshot %v, %v; want 4", name, s, err)
		}
		if id, ok, err := table.EarliestSnapshotID(ctx); err != nil || !ok || id != 1 {
			t.Errorf("%s: earliest %d, %v, %v; want 1", name, id, ok, err)
		}
	}
}

func TestGapsBetweenSnapshots(t *testing.T) {
	ctx := context.Background()
	dir := copySample(t, "stale_latest")
	for _, n := range []string{"1", "3"} {
		if err := os.Remove(filepath.Join(dir, "snapshot", "snapshot-"+n)); err != nil {
			t.Fatal(err)
		}
	}
	table := openDir(t, dir)
	if s, err := table.LatestSnapshot(ctx); err != nil || s.ID != 4 {
		t.Errorf("latest %v, %v", s, err)
	}
	if id, _, err := table.EarliestSnapshotID(ctx); err != nil || id != 2 {
		t.Errorf("earliest %d, %v; want 2", id, err)
	}
	if _, err := table.Snapshot(ctx, 3); !errors.Is(err, ErrSnapshotNotExist) || !strings.Contains(err.Error(), "snapshot-3") {
		t.Errorf("snapshot 3: %v", err)
	}
}

func TestTableWithoutSnapshots(t *testing.T) {
	ctx := context.Background()
	table := openSample(t, "schema_only")
	if s, err := table.LatestSnapshot(ctx); s != nil || err != nil {
		t.Errorf("%v, %v; want nothing", s, err)
	}
	if _, ok, err := table.EarliestSnapshotID(ctx); ok || err != nil {
		t.Errorf("an earliest snapshot was found: %v", err)
	}
}

// TestReloadOfATableMadeAnew: schemas under the same ids are others.
func TestReloadOfATableMadeAnew(t *testing.T) {
	ctx := context.Background()
	dir := copySample(t, "schema_only")
	table := openDir(t, dir)
	file := filepath.Join(dir, "schema", "schema-0")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(string(data), `"timeMillis" : `, `"timeMillis" : 1`, 1))
	old, err := table.SchemaByID(ctx, 0)
	if err != nil || old != table.Schema() {
		t.Errorf("a schema was read twice: %v", err)
	}
	fresh, err := table.ReadSchema(ctx, 0)
	if err != nil || fresh.TimeMillis == old.TimeMillis {
		t.Errorf("the file was not read again: %v", err)
	}
	if err := table.Reload(ctx); err != nil || table.Schema().TimeMillis != fresh.TimeMillis {
		t.Errorf("the newest schema was not read again: %v", err)
	}
	if again, err := table.SchemaByID(ctx, 0); err != nil || again.TimeMillis != fresh.TimeMillis {
		t.Errorf("the old schema is still remembered: %v", err)
	}
}

// rollingBackFS lists a snapshot that is gone when it is opened.
type rollingBackFS struct {
	storage.FS
	dir string
}

func (r rollingBackFS) List(ctx context.Context, dir string) ([]storage.Info, error) {
	infos, err := r.FS.List(ctx, dir)
	if filepath.Base(dir) == "snapshot" {
		_ = os.Remove(filepath.Join(r.dir, "snapshot", "snapshot-4"))
	}
	return infos, err
}

func TestSnapshotGoneAfterListing(t *testing.T) {
	dir := copySample(t, "stale_latest")
	table, err := OpenTable(context.Background(), rollingBackFS{storage.Local{}, dir}, dir, "db.t")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := table.LatestSnapshot(context.Background()); err != nil || s.ID != 3 {
		t.Errorf("%v, %v; want snapshot 3", s, err)
	}
}

func TestSnapshotRefusals(t *testing.T) {
	good := `"version":3,"id":1,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d"`
	for text, has := range map[string]string{
		``:                      "unexpected end",
		`{` + good:              "unexpected end",
		`[]`:                    "cannot unmarshal array",
		`{"version":4,"id":1}`:  "version is 4; this reader knows 1 to 3",
		`{` + good + `,"id":0}`: "no id",
		`{"id":1}`:              "no schemaId",
		`{"id":1,"schemaId":0}`: "no baseManifestList",
		`{"version":3,"id":1,"schemaId":0,"baseManifestList":"b"}`: "no deltaManifestList",
		`{` + good + `,"baseManifestList":"../../etc"}`:            "is not a file name",
		`{` + good + `,"indexManifest":"a/b"}`:                     "is not a file name",
	} {
		if _, err := ParseSnapshot([]byte(text)); err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %v, want %q", text, err, has)
		}
	}
	s, err := ParseSnapshot([]byte(`{` + good + `,"later":{"x":[1]},"totalRecordCount":null,"commitIdentifier":9223372036854775807,"watermark":-9223372036854775808,"properties":{"a":"b"}}`))
	if err != nil || s.TotalRecordCount != nil || s.CommitIdentifier != 9223372036854775807 || *s.Watermark != -9223372036854775808 || s.Properties["a"] != "b" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := ParseSnapshot([]byte(`{"id":1,"schemaId":0,"baseManifestList":"b"}`)); err != nil || s.Version != 1 {
		t.Errorf("without version: %+v, %v", s, err)
	}
}

func TestCatalog(t *testing.T) {
	ctx := context.Background()
	root := t.TempDir()
	for _, dir := range []string{"a.db", "b.db", ".db", "nodb", "a.db/empty", "a.db/t1", "a.db/t2"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "file.db"), "")
	write(t, filepath.Join(root, "a.db", "x"), "")
	for _, name := range []string{"t1", "t2"} {
		if err := os.CopyFS(filepath.Join(root, "a.db", name), os.DirFS(filepath.Join(samples, "compacted", "table"))); err != nil {
			t.Fatal(err)
		}
	}
	c := OpenCatalog(storage.Local{}, root)
	if dbs, err := c.Databases(ctx); err != nil || !slices.Equal(dbs, []string{"a", "b"}) {
		t.Errorf("databases %v, %v", dbs, err)
	}
	if tables, err := c.Tables(ctx, "a"); err != nil || !slices.Equal(tables, []string{"t1", "t2"}) {
		t.Errorf("tables %v, %v", tables, err)
	}
	if table, err := c.Table(ctx, "a", "t1"); err != nil || table.Name() != "a.t1" || table.Path() != filepath.Join(root, "a.db", "t1") {
		t.Errorf("table %v, %v", table, err)
	}
	for _, x := range []struct {
		db, table string
		want      error
	}{{"none", "t", ErrDatabaseNotExist}, {"file", "t", ErrDatabaseNotExist}, {"", "t", ErrDatabaseNotExist}, {"../x", "t", ErrDatabaseNotExist},
		{"a", "none", ErrTableNotExist}, {"a", "empty", ErrTableNotExist}, {"a", "x", ErrTableNotExist}, {"a", "", ErrTableNotExist}, {"a", "../b.db", ErrTableNotExist}} {
		if _, err := c.Table(ctx, x.db, x.table); !errors.Is(err, x.want) {
			t.Errorf("table %q.%q: %v, want %v", x.db, x.table, err, x.want)
		}
	}
	if _, err := c.Tables(ctx, "none"); !errors.Is(err, ErrDatabaseNotExist) {
		t.Errorf("tables of none: %v", err)
	}
}

// damage changes one file of a copied sample; reading the table must then
// fail, with an error that names the file and says what is wrong.
func TestDamage(t *testing.T) {
	cut := func(n int) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			keep := n
			if keep < 0 {
				keep += len(data)
			}
			write(t, file, string(data[:keep]))
		}
	}
	flip := func(at int) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data[(at+len(data))%len(data)] ^= 0xff
			write(t, file, string(data))
		}
	}
	remove := func(t *testing.T, file string) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, sample, glob string
		damage             func(t *testing.T, file string)
		has                string
		missing            bool
	}{
		{"schema cut", "pk_levels", "schema/schema-0", cut(-20), "not JSON", false},
		{"schema empty", "pk_levels", "schema/schema-0", cut(0), "not JSON", false},
		{"schema of another id", "pk_levels", "schema/schema-0", func(t *testing.T, file string) {
			if err := os.Rename(file, filepath.Join(filepath.Dir(file), "schema-3")); err != nil {
				t.Fatal(err)
			}
		}, "it says its id is 0", false},
		{"schema of a file missing", "schema_evolution", "schema/schema-2", remove, "schema does not exist", false},
		{"newest schemas missing", "schema_evolution", "schema/schema-[34]", remove, "committed with schema 4, the newest schema read is 2", false},
		{"every schema missing", "pk_levels", "schema/schema-*", remove, "the schema files were removed", false},
		{"snapshot cut", "pk_levels", "snapshot/snapshot-8", cut(100), "unexpected end of JSON", false},
		{"snapshot empty", "pk_levels", "snapshot/snapshot-8", cut(0), "unexpected end of JSON", false},
		{"manifest list missing", "compacted", "manifest/manifest-list-*", remove, "manifest-list-", true},
		{"manifest list cut", "compacted", "manifest/manifest-list-*", cut(-30), "ends within a block", false},
		{"manifest list empty", "compacted", "manifest/manifest-list-*", cut(0), "header", false},
		{"manifest missing", "compacted", "manifest/manifest-[0-9a-f]*", remove, "manifest-", true},
		{"manifest cut in header", "compacted", "manifest/manifest-[0-9a-f]*", cut(900), "header", false},
		{"manifest cut in block", "compacted", "manifest/manifest-[0-9a-f]*", cut(-25), "ends within a block", false},
		{"manifest cut before block", "py_pk", "manifest/manifest-[0-9a-f]*", cut(-16), "ends within a block", false},
		{"manifest marker", "py_pk", "manifest/manifest-[0-9a-f]*", flip(-1), "marker", false},
		{"manifest block", "compacted", "manifest/manifest-[0-9a-f]*", flip(-60), "zstandard block", false},
		{"manifest not Avro", "compacted", "manifest/manifest-[0-9a-f]*", func(t *testing.T, file string) { write(t, file, strings.Repeat("PAR1", 99)) }, "damaged", false},
		{"data file missing", "pk_levels", "bucket-0/*.parquet", remove, "bucket-0/data-", true},
		{"data file missing in partition", "pk_part_date_legacy", "d=19782/bucket-0/*.parquet", remove, "d=19782/bucket-0/data-", true},
		{"data file cut", "pk_levels", "bucket-0/*.parquet", cut(-100), "its manifest entry says", false},
		{"data file empty", "append_bucket_key", "bucket-*/*.parquet", cut(0), "it has 0 bytes, its manifest entry says", false},
		{"data file footer", "pk_levels", "bucket-0/*.parquet", flip(-1), "data-", false},
		{"deletion vectors missing", "dv_pk", "index/index-*", remove, "index/index-", true},
		{"deletion vectors version", "dv_pk", "index/index-*", flip(0), "the file has version 254", false},
		{"deletion vectors cut", "dv_pk", "index/index-*", cut(12), "in a file of 12", false},
		{"deletion vectors flipped", "dv_pk", "index/index-*", flip(-6), "checksum", false},
		{"deletion vectors magic", "dv_pk_hidden_level0", "index/index-*", flip(5), "checksum", false},
		{"index manifest cut", "dv_pk", "manifest/index-manifest-*", cut(-25), "ends within a block", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copySample(t, c.sample)
			files, err := filepath.Glob(filepath.Join(dir, c.glob))
			if err != nil || len(files) == 0 {
				t.Fatalf("no file %s: %v", c.glob, err)
			}
			for _, f := range files {
				c.damage(t, f)
			}
			err = readAll(dir)
			if err == nil || !strings.Contains(err.Error(), c.has) {
				t.Fatalf("%v, want %q", err, c.has)
			}
			if errors.Is(err, ErrFileMissing) != c.missing {
				t.Errorf("%v: matches ErrFileMissing: %v, want %v", err, !c.missing, c.missing)
			}
			if !strings.Contains(err.Error(), "paimon: ") {
				t.Errorf("%v has no package prefix", err)
			}
		})
	}
}

// readAll reads every row of the newest snapshot.
func readAll(dir string) error {
	ctx := context.Background()
	table, err := OpenTable(ctx, storage.Local{}, dir, "db.t")
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
	for _, p := range plan.Partitions {
		for _, b := range p.Buckets {
			if _, err := readRows(table, plan, p, b, ReadOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestManifestIdentity(t *testing.T) {
	id := func(e rawEntry) [16]byte {
		sum := sha256.Sum256(e.identity(nil))
		return [16]byte(sum[:])
	}
	of := func(delete bool, level int64, name string) entry {
		return entry{id: id(rawEntry{name: []byte(name), level: level}), delete: delete, file: DataFile{Name: name, Level: int(level)}}
	}
	names := func(live []*entry) string {
		var s []string
		for _, e := range live {
			s = append(s, fmt.Sprintf("%s@%d", e.file.Name, e.file.Level))
		}
		return strings.Join(s, " ")
	}
	live, err := liveEntries([][]entry{
		{of(false, 0, "a"), of(false, 0, "b"), of(false, 0, "c")},
		{of(true, 0, "a"), of(false, 5, "a"), of(true, 0, "b")}, // a moved up without being rewritten
	})
	if err != nil || names(live) != "c@0 a@5" {
		t.Errorf("%s, %v; want c@0 a@5", names(live), err)
	}
	if _, err := liveEntries([][]entry{{of(false, 0, "a")}, {of(false, 0, "a")}}); err == nil || !strings.Contains(err.Error(), "data file a") {
		t.Errorf("a file added twice: %v", err)
	}
	if _, err := liveEntries([][]entry{{of(true, 0, "a")}}); err == nil || !strings.Contains(err.Error(), "data file a") {
		t.Errorf("a file deleted without ADD: %v", err)
	}
	again := of(false, 0, "a")
	again.file.Size = 9
	live, err = liveEntries([][]entry{{of(false, 0, "a"), again}, {of(true, 0, "a")}})
	if err != nil || len(live) != 1 || live[0].file.Size != 9 {
		t.Errorf("added, deleted and added again: %v, %v; want the last one", live, err)
	}
	a := rawEntry{name: []byte("a")}
	ids := map[[16]byte]bool{id(a): true}
	for _, change := range []func(e *rawEntry){
		func(e *rawEntry) { e.partition = []byte{1} }, func(e *rawEntry) { e.bucket = 1 }, func(e *rawEntry) { e.level = 1 },
		func(e *rawEntry) { e.name = []byte("b") }, func(e *rawEntry) { e.extraFiles = [][]byte{[]byte("x")} },
		func(e *rawEntry) { e.embeddedIndex = []byte{} }, func(e *rawEntry) { e.externalPath = []byte{} },
	} {
		e := a
		change(&e)
		if ids[id(e)] {
			t.Errorf("%+v is taken for another entry", e)
		}
		ids[id(e)] = true
	}
}
