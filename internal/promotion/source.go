package promotion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// tieringUser is the commit user of Fluss's tiering service.
const tieringUser = "__fluss_lake_tiering"

// Fingerprint pins a source to one snapshot of one table. The snapshot ID alone
// does not: a rollback or a table dropped and made anew can show the same ID
// with other rows.
type Fingerprint struct {
	SnapshotID       int64  `json:"snapshot_id"` // 0: the table has no snapshot
	TimeMillis       int64  `json:"time_millis,omitempty"`
	CommitUser       string `json:"commit_user,omitempty"`
	BaseManifest     string `json:"base_manifest,omitempty"`
	DeltaManifest    string `json:"delta_manifest,omitempty"`
	FirstSchemaMilli int64  `json:"first_schema_millis"` // schema-0's timeMillis: which table this is
}

func (f Fingerprint) String() string {
	if f.SnapshotID == 0 {
		return "no snapshot"
	}
	return fmt.Sprintf("snapshot %d, committed by %q at %s", f.SnapshotID, f.CommitUser,
		time.UnixMilli(f.TimeMillis).UTC().Format(time.RFC3339))
}

// hash is what the Fluss table carries of the fingerprint and the selection.
func sourceHash(f Fingerprint, selection []map[string]string) string {
	b, err := json.Marshal(struct {
		F Fingerprint
		S []map[string]string
	}{f, sortedSelection(selection)})
	if err != nil { // plain data: cannot happen
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// sortedSelection orders a selection by its text; nil (all) stays nil.
func sortedSelection(sel []map[string]string) []map[string]string {
	if sel == nil {
		return nil
	}
	out := append([]map[string]string{}, sel...)
	sort.Slice(out, func(a, b int) bool { return specText(out[a]) < specText(out[b]) })
	return out
}

// specText is a partition spec for people and for comparing: "c=x/dt=2024-01-01".
func specText(spec map[string]string) string {
	parts := make([]string, 0, len(spec))
	for k, v := range spec {
		parts = append(parts, k+"="+v)
	}
	sort.Strings(parts)
	return strings.Join(parts, "/")
}

func selectionText(sel []map[string]string) string {
	if sel == nil {
		return "all partitions"
	}
	parts := make([]string, 0, len(sel))
	for _, s := range sortedSelection(sel) {
		parts = append(parts, specText(s))
	}
	return strings.Join(parts, ", ")
}

// source is the Paimon table as it was when it was looked at.
type source struct {
	table    *paimon.Table
	schema   *paimon.Schema
	snapshot *paimon.Snapshot // nil: none
	plan     *paimon.Plan     // nil: no snapshot
	pin      Fingerprint
}

// readFingerprint looks at the newest snapshot and, whatever t has read before,
// at the first schema.
func readFingerprint(ctx context.Context, t *paimon.Table) (Fingerprint, *paimon.Snapshot, error) {
	first, err := t.ReadSchema(ctx, 0)
	if err != nil {
		return Fingerprint{}, nil, fmt.Errorf("promotion: first schema of %s: %w", t.Name(), err)
	}
	snap, err := t.LatestSnapshot(ctx)
	if err != nil {
		return Fingerprint{}, nil, err
	}
	return fingerprintOf(first, snap), snap, nil
}

func fingerprintOf(first *paimon.Schema, snap *paimon.Snapshot) Fingerprint {
	f := Fingerprint{FirstSchemaMilli: first.TimeMillis}
	if snap != nil {
		f.SnapshotID, f.TimeMillis, f.CommitUser = snap.ID, snap.TimeMillis, snap.CommitUser
		f.BaseManifest, f.DeltaManifest = snap.BaseManifestList, snap.DeltaManifestList
	}
	return f
}

// openSource opens the source at its newest snapshot and lists its live files.
func (s *Service) openSource(ctx context.Context, c *connection, name TableName) (*source, error) {
	t, err := c.catalog.Table(ctx, name.Database, name.Table)
	if errors.Is(err, paimon.ErrTableNotExist) || errors.Is(err, paimon.ErrDatabaseNotExist) {
		return nil, Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The Paimon table does not exist",
			Found:    err.Error(),
			Required: fmt.Sprintf("an existing Paimon table %s in the warehouse %s", name, c.warehouse),
			Fix:      "correct database and table, or the provider's lake block"}
	}
	if errors.Is(err, paimon.ErrSchemaNotExist) {
		return nil, Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The Paimon table's schema files are missing",
			Found:    err.Error(),
			Required: fmt.Sprintf("a whole Paimon table %s in the warehouse %s", name, c.warehouse),
			Fix:      "restore the schema folder from a copy: without it no Paimon reader can open the table"}
	}
	if err != nil {
		return nil, fmt.Errorf("promotion: source %s: %w", name, err)
	}
	for attempt := 0; ; attempt++ {
		src, err := planSource(ctx, t)
		if err == nil {
			return src, nil
		}
		if src != nil && errors.Is(err, paimon.ErrFileMissing) {
			var moved bool
			if moved, err = missingFile(ctx, t, src.pin, err); moved && attempt < 2 {
				continue // it expired while it was read; there is a newer one
			}
		}
		if isProblem(err) {
			return nil, err
		}
		return nil, fmt.Errorf("promotion: source %s: %w", name, err)
	}
}

// planSource reads the newest snapshot and its live files. A source beside an
// error says which snapshot could not be read.
func planSource(ctx context.Context, t *paimon.Table) (*source, error) {
	pin, snap, err := readFingerprint(ctx, t)
	if err != nil {
		return nil, err
	}
	// Behind the snapshot, so that its schema is among those seen.
	if err := t.Reload(ctx); err != nil {
		return nil, err
	}
	src := &source{table: t, schema: t.Schema(), snapshot: snap, pin: pin}
	if snap != nil {
		if src.plan, err = t.PlanWith(ctx, snap, planOptions(src.schema)); err != nil {
			return src, fmt.Errorf("snapshot %d: %w", snap.ID, err)
		}
	}
	return src, nil
}

// missingFile explains why a file of the pinned snapshot is not there; moved
// says that the table has other snapshots by now.
func missingFile(ctx context.Context, t *paimon.Table, pinned Fingerprint, cause error) (moved bool, explained error) {
	now, snap, err := readFingerprint(ctx, t)
	if err != nil {
		return false, errors.Join(cause, err)
	}
	p := Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Files of the source's snapshot are missing",
		Found: cause.Error(), Required: "every file of " + pinned.String()}
	if moved = now != pinned; moved {
		p.Found += "; the newest is now " + newestText(snap)
		p.Why = "the snapshot was expired, rolled back or dropped while it was read; nothing was read in place of the missing files"
		p.Fix = `stop all writers, compaction and expiration jobs of the Paimon table and apply again, with on_source_change = "restart" where a promotion was begun`
	} else {
		p.Why = "the snapshot is still the newest, so no expiration has removed its files: the table is damaged, or something other than Paimon deletes from its folder"
		p.Fix = "restore the files, or roll the Paimon table back to a snapshot that has all of its files, and apply again"
	}
	return moved, p
}

// commitBy describes who committed a snapshot, for messages.
func commitBy(s *paimon.Snapshot) string {
	return fmt.Sprintf("snapshot %d (%s by %q at %s)", s.ID, s.CommitKind, s.CommitUser,
		time.UnixMilli(s.TimeMillis).UTC().Format(time.RFC3339))
}

// newestText is commitBy of a table's newest snapshot, of which there may be none.
func newestText(s *paimon.Snapshot) string {
	if s == nil {
		return "no snapshot"
	}
	return commitBy(s)
}

// sameSchema compares the source's schema with what the operation began with
// and makes of it: all of it once it is prepared, none or all of it before,
// because the schema version may have been written and not journaled yet.
func (h *history) sameSchema(base, now *paimon.Schema) error {
	same, difference := SameContent(base, now, h.planned())
	if !same && h.prepared == nil {
		same, difference = SameContent(base, now, nil)
	}
	if same {
		return nil
	}
	return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The source's schema has changed",
		Found:    fmt.Sprintf("schema %d: %s", now.ID, difference),
		Required: fmt.Sprintf("the content of schema %d and what the promotion itself changes", base.ID),
		Fix:      `stop changes of the Paimon table and apply again with on_source_change = "restart", or undo the change`}
}

func movedOn(pinned, now Fingerprint, snap *paimon.Snapshot) error {
	found := now.String()
	switch {
	case pinned.FirstSchemaMilli != now.FirstSchemaMilli:
		found += " of a table that was dropped and made anew"
	case snap != nil && snap.ID < pinned.SnapshotID:
		found = "the newest is " + commitBy(snap) + ": the table was rolled back"
	case snap != nil && snap.ID == pinned.SnapshotID:
		found += " (the same ID with another commit: the table was rolled back and written again)"
	case snap != nil:
		found = "the newest is " + commitBy(snap)
	}
	return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The source has moved on since the promotion began",
		Found: found, Required: "still " + pinned.String(),
		Why: "rows committed after the pinned snapshot would be in the lake and not in Fluss",
		Fix: `stop all writers and compaction jobs of the Paimon table and apply again with on_source_change = "restart"`}
}
