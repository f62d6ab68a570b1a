package paimon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

const databaseSuffix = ".db"

// Catalog is Paimon's filesystem catalog: databases are folders NAME.db of the
// warehouse, tables their subfolders that hold a schema.
type Catalog struct {
	fs        storage.FS
	warehouse string
}

// OpenCatalog returns the catalog of a warehouse folder, which is not looked
// at yet. The path is one of fs, not a URI.
func OpenCatalog(fs storage.FS, warehouse string) *Catalog {
	return &Catalog{fs: fs, warehouse: warehouse}
}

// Databases lists the databases, by name.
func (c *Catalog) Databases(ctx context.Context) ([]string, error) {
	infos, err := c.fs.List(ctx, c.warehouse)
	if err != nil {
		return nil, fmt.Errorf("paimon: warehouse %s: %w", c.warehouse, err)
	}
	var names []string
	for _, i := range infos {
		if name, ok := strings.CutSuffix(i.Name, databaseSuffix); ok && i.IsDir && name != "" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names, nil
}

// Tables lists the tables of a database, by name. The error matches
// ErrDatabaseNotExist when there is no such database.
func (c *Catalog) Tables(ctx context.Context, db string) ([]string, error) {
	dir, err := c.databaseDir(ctx, db)
	if err != nil {
		return nil, err
	}
	infos, err := c.fs.List(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("paimon: database %q: %w", db, err)
	}
	var names []string
	for _, i := range infos {
		if !i.IsDir {
			continue
		}
		ids, err := listVersions(ctx, c.fs, path.Join(dir, i.Name, "schema"), "schema-")
		if err != nil {
			return nil, fmt.Errorf("paimon: database %q: %w", db, err)
		}
		if len(ids) > 0 {
			names = append(names, i.Name)
		}
	}
	sort.Strings(names)
	return names, nil
}

// Table opens a table at its newest schema. The error matches
// ErrDatabaseNotExist or ErrTableNotExist when it is not there.
func (c *Catalog) Table(ctx context.Context, db, table string) (*Table, error) {
	if _, err := c.databaseDir(ctx, db); err != nil {
		return nil, err
	}
	if !isFileName(table) {
		return nil, fmt.Errorf("paimon: %q is not a table name: %w", clip(table), ErrTableNotExist)
	}
	return OpenTable(ctx, c.fs, c.TablePath(db, table), db+"."+table)
}

// TablePath is where the catalog keeps that table.
func (c *Catalog) TablePath(db, table string) string {
	return path.Join(c.warehouse, db+databaseSuffix, table)
}

// databaseDir is the folder of a database that exists.
func (c *Catalog) databaseDir(ctx context.Context, db string) (string, error) {
	if !isFileName(db) {
		return "", fmt.Errorf("paimon: %q is not a database name: %w", clip(db), ErrDatabaseNotExist)
	}
	dir := path.Join(c.warehouse, db+databaseSuffix)
	st, err := c.fs.Stat(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !st.IsDir:
		if w, err := c.fs.Stat(ctx, c.warehouse); errors.Is(err, fs.ErrNotExist) || err == nil && !w.IsDir {
			return "", fmt.Errorf("paimon: the warehouse %s is not a folder that exists; required is the folder that holds %s: %w", c.warehouse, db+databaseSuffix, ErrDatabaseNotExist)
		}
		return "", fmt.Errorf("paimon: database %q in warehouse %s: %w", db, c.warehouse, ErrDatabaseNotExist)
	case err != nil:
		return "", fmt.Errorf("paimon: database %q: %w", db, err)
	}
	return dir, nil
}
