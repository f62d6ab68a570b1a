package paimon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// Limits of metadata files: far above what sound tables have, far below what
// would hurt.
const (
	maxSchemaBytes   = 64 << 20
	maxSnapshotBytes = 16 << 20
	maxManifestBytes = 1 << 30
)

// Table is one table in a file system. It is safe for concurrent use.
type Table struct {
	fs   storage.FS
	path string
	name string

	newest atomic.Pointer[Schema]

	mu      sync.Mutex
	schemas map[int64]*Schema // by id; schema files never change

	dirs sync.Map // raw partition -> folder that a search found its files in
}

// OpenTable opens the table in a folder at its newest schema. Name is
// "db.table", for messages. The error matches ErrTableNotExist when the folder
// holds no schema.
func OpenTable(ctx context.Context, fs storage.FS, path string, name string) (*Table, error) {
	t := &Table{fs: fs, path: path, name: name, schemas: map[int64]*Schema{}}
	if err := t.Reload(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// Name is "db.table".
func (t *Table) Name() string { return t.name }

// Path is the table's folder in its file system.
func (t *Table) Path() string { return t.path }

// Schema is the newest schema as of OpenTable, Reload or CommitSchema. It must
// not be changed; see Schema.Clone.
func (t *Table) Schema() *Schema { return t.newest.Load() }

// Reload reads the newest schema again. Schema files never change while a table
// lives, but a table that was dropped and made anew has others under the same
// ids: when the newest one is not what it was, all are forgotten.
func (t *Table) Reload(ctx context.Context) error {
	ids, err := listVersions(ctx, t.fs, path.Join(t.path, "schema"), "schema-")
	if err != nil {
		return fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	if len(ids) == 0 {
		// Not a table, unless it was one: then saying so would hide the damage.
		snapshots, err := t.snapshotIDs(ctx)
		if err != nil {
			return err
		}
		if n := len(snapshots); n > 0 {
			return fmt.Errorf("paimon: table %q: there is no schema file in %s, and %d snapshots up to %s: the schema files were removed: %w",
				t.name, path.Join(t.path, "schema"), n, t.snapshotPath(snapshots[n-1]), ErrSchemaNotExist)
		}
		return fmt.Errorf("paimon: table %q: there is no schema file in %s: %w", t.name, path.Join(t.path, "schema"), ErrTableNotExist)
	}
	s, err := t.ReadSchema(ctx, ids[len(ids)-1])
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.schemas[s.ID]; old != nil && !reflect.DeepEqual(old, s) {
		clear(t.schemas)
	}
	t.schemas[s.ID] = s
	t.newest.Store(s)
	return nil
}

// SchemaByID gives a schema version, and reads it once. The error matches
// ErrSchemaNotExist when it is not there. The schema must not be changed.
func (t *Table) SchemaByID(ctx context.Context, id int64) (*Schema, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.schemas[id]; s != nil {
		return s, nil
	}
	s, err := t.ReadSchema(ctx, id)
	if err == nil {
		t.schemas[id] = s
	}
	return s, err
}

// ReadSchema is SchemaByID that always reads the file.
func (t *Table) ReadSchema(ctx context.Context, id int64) (*Schema, error) {
	file := t.schemaPath(id)
	data, err := t.fs.ReadFile(ctx, file, maxSchemaBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("paimon: table %q: %w: %s", t.name, ErrSchemaNotExist, file)
	}
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	s, err := ParseSchema(data)
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %s: %w", t.name, file, err)
	}
	if s.ID != id {
		return nil, corrupt(file, "it says its id is %d", s.ID)
	}
	return s, nil
}

func (t *Table) schemaPath(id int64) string {
	return path.Join(t.path, "schema", "schema-"+strconv.FormatInt(id, 10))
}

func (t *Table) snapshotPath(id int64) string {
	return path.Join(t.path, "snapshot", "snapshot-"+strconv.FormatInt(id, 10))
}

// LatestSnapshot reads the newest snapshot; nil and no error when the table
// has none. It goes by the files alone: the LATEST hint is written after them
// and may be stale, missing, half-written, or left behind by a rollback.
func (t *Table) LatestSnapshot(ctx context.Context) (*Snapshot, error) {
	// A snapshot that is listed may be gone a moment later (rollback); the
	// next listing then tells the truth.
	for attempt := 0; ; attempt++ {
		ids, err := t.snapshotIDs(ctx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		s, err := t.Snapshot(ctx, ids[len(ids)-1])
		if errors.Is(err, ErrSnapshotNotExist) && attempt < 3 {
			continue
		}
		return s, err
	}
}

// EarliestSnapshotID is the lowest id there is a snapshot file of; false when
// there is none.
func (t *Table) EarliestSnapshotID(ctx context.Context) (int64, bool, error) {
	ids, err := t.snapshotIDs(ctx)
	if err != nil || len(ids) == 0 {
		return 0, false, err
	}
	return ids[0], true, nil
}

func (t *Table) snapshotIDs(ctx context.Context) ([]int64, error) {
	ids, err := listVersions(ctx, t.fs, path.Join(t.path, "snapshot"), "snapshot-")
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	return ids, nil
}

// Snapshot reads a snapshot. The error matches ErrSnapshotNotExist when it is
// not there.
func (t *Table) Snapshot(ctx context.Context, id int64) (*Snapshot, error) {
	file := t.snapshotPath(id)
	data, err := t.fs.ReadFile(ctx, file, maxSnapshotBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("paimon: table %q: %w: %s", t.name, ErrSnapshotNotExist, file)
	}
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	s, err := ParseSnapshot(data)
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: %s: %w", t.name, file, err)
	}
	if s.ID != id {
		return nil, corrupt(file, "it says its id is %d", s.ID)
	}
	return s, nil
}

// CommitSchema writes a new schema version, whose id must be one above the
// newest, and reads it back. It never replaces a file: the error matches
// ErrSchemaExists when another writer was faster. An error that matches
// neither that nor a check made before writing leaves it open whether the file
// was written; Reload tells.
func (t *Table) CommitSchema(ctx context.Context, next *Schema) error {
	if err := t.Reload(ctx); err != nil {
		return err
	}
	if newest := t.Schema().ID; next.ID != newest+1 {
		if next.ID <= newest {
			return fmt.Errorf("paimon: table %q: schema %d can't be written, the newest is %d: %w", t.name, next.ID, newest, ErrSchemaExists)
		}
		return fmt.Errorf("paimon: table %q: schema %d can't be written, the newest is %d; required is %d", t.name, next.ID, newest, newest+1)
	}
	if err := next.check(); err != nil {
		return fmt.Errorf("paimon: table %q: schema %d: %w", t.name, next.ID, err)
	}
	data, err := next.JSON()
	if err != nil {
		return err
	}
	file := t.schemaPath(next.ID)
	err = t.fs.CreateExclusive(ctx, file, data)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("paimon: table %q: another writer made %s first: %w", t.name, file, ErrSchemaExists)
	}
	if err != nil {
		return fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	back, err := t.fs.ReadFile(ctx, file, maxSchemaBytes)
	if err != nil {
		return fmt.Errorf("paimon: table %q: reading back: %w", t.name, err)
	}
	if !bytes.Equal(back, data) {
		return fmt.Errorf("paimon: table %q: %s does not hold what was just written to it; another writer replaced it", t.name, file)
	}
	return t.Reload(ctx)
}

// listVersions returns the numbers N of the files PREFIXN of a folder,
// ascending. A folder that does not exist has none.
func listVersions(ctx context.Context, fsys storage.FS, dir, prefix string) ([]int64, error) {
	infos, err := fsys.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, i := range infos {
		text, ok := strings.CutPrefix(i.Name, prefix)
		if !ok || i.IsDir {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
			continue // a temporary or foreign file
		}
		ids = append(ids, n)
	}
	slices.Sort(ids)
	return ids, nil
}
