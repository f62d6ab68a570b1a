// Package paimon reads one snapshot of an Apache Paimon table: catalog,
// schemas, snapshots, manifests, and the rows of a bucket with its sorted runs
// merged. It writes one thing only, a metadata-only schema version. Layouts
// are those of Paimon 1.3 and 1.4, as told by its sources and by running it.
package paimon

import (
	"errors"
	"fmt"
	"strings"
)

// What lookups answer when the thing is not there.
var (
	ErrDatabaseNotExist = errors.New("database does not exist")
	ErrTableNotExist    = errors.New("table does not exist")
	ErrSchemaNotExist   = errors.New("schema does not exist")
	ErrSnapshotNotExist = errors.New("snapshot does not exist")
	ErrSchemaExists     = errors.New("schema exists already")
)

// ErrFileMissing is matched by the error of a data, index or manifest file
// that a live entry names and that is not there: the snapshot is being expired
// or the table is damaged.
var ErrFileMissing = errors.New("file named by the snapshot is missing")

// UnsupportedError names one thing of a table that this reader can't read
// exactly, so that it refuses to read it at all.
type UnsupportedError struct {
	What  string // the option, type or format, for example `option "merge-engine=aggregation"`
	Where string // table, file or column, for example `table "db.t"`
	Why   string // why it is refused, and what to do
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("paimon: %s: %s can't be read: %s", e.Where, e.What, e.Why)
}

// UnsupportedErrors is everything CanRead found, in a fixed order.
type UnsupportedErrors []*UnsupportedError

func (e UnsupportedErrors) Error() string {
	lines := make([]string, len(e))
	for i, u := range e {
		lines[i] = u.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each of them.
func (e UnsupportedErrors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, u := range e {
		errs[i] = u
	}
	return errs
}

// DuplicateKeyError says that one sorted file holds several records of one
// key, which some writers leave behind and Paimon then shows as several rows.
type DuplicateKeyError struct {
	Table, File string
	Key         string // as KeyText gives it
}

func (e *DuplicateKeyError) Error() string {
	return fmt.Sprintf("paimon: table %q: file %s holds several records of the key %s, so Paimon shows that key more than once; run a full compaction of the table, which merges them",
		e.Table, e.File, e.Key)
}

// corrupt is the error of content that no sound writer makes.
func corrupt(path, format string, args ...any) error {
	return fmt.Errorf("paimon: %s is damaged or not of Paimon: %w", path, fmt.Errorf(format, args...))
}
