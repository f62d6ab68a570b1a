package promotion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// resultOf is what the journal and the cluster say of an operation.
func resultOf(clusterID string, h *history, info *fluss.TableInfo) Result {
	res := Result{ClusterID: clusterID}
	if h == nil {
		return res
	}
	res.OperationID, res.Stage = h.id, h.stage()
	if info != nil {
		res.TableID = info.TableID
		if res.Stage == StageEnabled && info.Descriptor.Properties[enabledProperty] != "true" {
			res.Stage = StageDisabled
		}
	}
	if h.started != nil {
		d := h.started.Detail
		if d.Fingerprint != nil && d.Fingerprint.SnapshotID != 0 {
			res.SourceSnapshotID = ptr(d.Fingerprint.SnapshotID)
		}
		res.SourceSchemaID = deref(d.SchemaID)
		res.SelectedPartitions, res.UnvalidatedOptionKeys = d.Selection, d.Unvalidated
	}
	if h.prepared != nil {
		res.SourceSchemaID = deref(h.prepared.Detail.PreparedSchemaID)
	}
	for _, c := range h.planned() {
		if s := c.String(); h.prepared != nil && !slices.Contains(res.SourceChanges, s) {
			res.SourceChanges = append(res.SourceChanges, s)
		}
	}
	if h.registered != nil {
		res.RegisteredSnapshotID = h.registered.Detail.SnapshotID
	}
	res.LoadJobID = h.jobID
	var bytes int64
	for _, b := range h.buckets {
		res.RowsLoaded += b.Rows
		bytes += b.Bytes
		if res.BucketOffsets == nil {
			res.BucketOffsets = map[string]int64{}
		}
		res.BucketOffsets[bucketKey(b.Partition, b.Bucket)] = b.EndOffset
	}
	if bytes == 0 { // journaled before buckets told theirs, or still loading the first
		bytes = h.bytes
	}
	if h.jobID == "" {
		res.BytesLoaded = ptr(bytes)
	}
	if h.created != nil && (h.loaded != nil || h.stage() == StageEnabled) {
		res.InitializedPartitions = h.created.Detail.Partitions
	}
	if h.enabled != nil {
		res.PromotedAt = h.enabled.At.UTC().Truncate(time.Millisecond)
	}
	return res
}

// Observe looks a promotion up, for Read: it changes nothing. An error means
// that nothing is known; Gone is only said when the right cluster says so.
func (s *Service) Observe(ctx context.Context, ref Ref) (*Observation, error) {
	c, j, err := s.sameCluster(ctx, ref)
	if err != nil {
		return nil, err
	}
	info, hist, err := findOperation(ctx, c, j, flussPath(ref.Name))
	if err != nil {
		return nil, err
	}
	gone := func(why string) (*Observation, error) { return &Observation{Gone: true, GoneReason: why}, nil }
	switch {
	case info == nil:
		return gone(fmt.Sprintf("The Fluss table %s does not exist any more.", ref.Name))
	case hist == nil:
		return gone(fmt.Sprintf("The Fluss table %s (ID %d) was not made by a promotion.", ref.Name, info.TableID))
	case ref.OperationID != "" && hist.id != ref.OperationID:
		return gone(fmt.Sprintf("The Fluss table %s was dropped and made anew: it carries operation %s, not %s.", ref.Name, hist.id, ref.OperationID))
	case ref.TableID != 0 && info.TableID != ref.TableID && hist.enabled != nil:
		return gone(fmt.Sprintf("The Fluss table %s was dropped and made anew: its table ID is %d, it was %d.", ref.Name, info.TableID, ref.TableID))
	}
	clusterID := ""
	if j != nil {
		clusterID = j.clusterID
	}
	obs := &Observation{Result: resultOf(clusterID, hist, info)}
	if hist.started != nil {
		d := hist.started.Detail
		obs.Spec = &Spec{Name: ref.Name, Partitions: d.Selection, Engine: d.Engine, PrepareSource: d.PrepareSource,
			TableProperties: d.TableProperties, LakeLayout: d.LakeLayout}
	}
	if hist.enabled == nil {
		return obs, nil
	}
	obs.Warnings, err = drift(ctx, c, info, hist, ref.Name)
	return obs, err
}

// drift lists what has changed around an enabled promotion and matters.
func drift(ctx context.Context, c *connection, info *fluss.TableInfo, h *history, name TableName) (Problems, error) {
	var ps Problems
	warn := func(p Problem) {
		p.Severity = SeverityWarning
		ps = append(ps, p)
	}
	t, err := c.catalog.Table(ctx, name.Database, name.Table)
	if errors.Is(err, paimon.ErrTableNotExist) || errors.Is(err, paimon.ErrDatabaseNotExist) {
		warn(Problem{Attribute: []string{"table"}, Summary: "The Paimon table of this promotion does not exist any more", Found: err.Error(),
			Fix: "restore it: the Fluss table's lake data is in it"})
		return ps, nil
	}
	if err == nil {
		err = lakeDrift(ctx, t, info, *h.started.Detail.Fingerprint, warn)
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		// The cluster has answered, and it alone says how the promotion stands. An
		// error would keep Terraform from planning anything, a removal included.
		warn(Problem{Attribute: []string{"table"}, Summary: "The promoted Paimon table cannot be read", Found: err.Error(),
			Fix: "repair it or make it accessible: the Fluss table's lake data is in it"})
	}
	if err := strayRows(ctx, c.client, info, h, warn); err != nil {
		return nil, err
	}
	return ps, nil
}

// lakeDrift lists what has changed about the Paimon table and matters.
func lakeDrift(ctx context.Context, t *paimon.Table, info *fluss.TableInfo, pinned Fingerprint, warn func(Problem)) error {
	same, err := sameHistory(ctx, t, pinned, warn)
	if err != nil || !same {
		return err
	}
	schemaDrift(info, t.Schema(), warn)
	return foreignCommits(ctx, t, pinned, func(s *paimon.Snapshot) error {
		if s.CommitKind != "COMPACT" && s.CommitKind != "ANALYZE" {
			warn(Problem{Attribute: []string{"table"}, Summary: "Somebody other than the tiering service committed to the promoted Paimon table",
				Found: commitBy(s), Why: "its rows are in the lake and not in Fluss",
				Fix: "write through Fluss only"})
		}
		return nil
	})
}

// sameHistory says whether the promoted snapshot is still in the table's past:
// a table that was dropped and made anew, or rolled back behind the promotion, has
// another one.
func sameHistory(ctx context.Context, t *paimon.Table, pinned Fingerprint, warn func(Problem)) (bool, error) {
	now, latest, err := readFingerprint(ctx, t)
	if err != nil {
		return false, err
	}
	if now.FirstSchemaMilli != pinned.FirstSchemaMilli {
		warn(Problem{Attribute: []string{"table"}, Summary: "The Paimon table was dropped and made anew since it was promoted",
			Found: now.String(), Required: "the table that was promoted, with " + pinned.String(),
			Why: "the Fluss table's lake data is gone with the old Paimon table",
			Fix: "stop readers and writers; destroy the promotion and promote the new table"})
		return false, nil
	}
	if pinned.SnapshotID == 0 {
		return true, nil
	}
	back := func(found string) (bool, error) {
		warn(Problem{Attribute: []string{"table"}, Summary: "The Paimon table was rolled back behind the promotion", Found: found,
			Required: "the promoted " + pinned.String() + " or later ones",
			Why:      "Fluss takes for tiered what is no longer in the lake",
			Fix:      "stop writers; destroy the promotion and promote the table anew"})
		return false, nil
	}
	if latest == nil {
		return back("no snapshot")
	}
	if latest.ID < pinned.SnapshotID {
		return back("the newest is " + commitBy(latest))
	}
	at, err := t.Snapshot(ctx, pinned.SnapshotID)
	switch {
	case errors.Is(err, paimon.ErrSnapshotNotExist): // expired since
		return true, nil
	case err != nil:
		return false, err
	case at.TimeMillis != pinned.TimeMillis || at.CommitUser != pinned.CommitUser:
		return back(commitBy(at) + " in its place")
	}
	return true, nil
}

// schemaDrift compares the Paimon table's columns with the Fluss table's.
func schemaDrift(info *fluss.TableInfo, s *paimon.Schema, warn func(Problem)) {
	have := map[string]bool{}
	for _, c := range info.Descriptor.Columns {
		have[c.Name] = true
		if _, ok := s.Field(c.Name); !ok {
			warn(Problem{Attribute: []string{"table"}, Summary: "A column of the promoted table is gone from the Paimon table",
				Found: fmt.Sprintf("schema %d has no column %q", s.ID, c.Name), Fix: "add the column again, or promote the table anew"})
		}
	}
	for _, f := range s.Fields {
		if !have[f.Name] && !isSystemColumn(f.Name) {
			warn(Problem{Attribute: []string{"table"}, Summary: "The Paimon table has a column that the Fluss table has not",
				Found: fmt.Sprintf("column %q %s in schema %d", f.Name, f.Type, s.ID),
				Fix:   fmt.Sprintf("ALTER TABLE `%s`.`%s` ADD `%s` %s; -- in the Fluss catalog", info.Path.Database, info.Path.Table, f.Name, f.Type)})
		}
	}
}

// strayRows looks for rows in Fluss partitions that were not initialized.
func strayRows(ctx context.Context, client *fluss.Client, info *fluss.TableInfo, h *history, warn func(Problem)) error {
	if !info.IsPartitioned() || h.started.Detail.Selection == nil {
		return nil
	}
	initialized := map[string]bool{}
	if h.created != nil {
		for _, n := range h.created.Detail.FlussPartitions {
			initialized[n] = true
		}
	}
	parts, err := client.ListPartitions(ctx, info.Path)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for _, p := range parts {
		if !initialized[p.Name] {
			names[p.ID] = p.Name
		}
	}
	if len(names) == 0 {
		return nil
	}
	ends, err := allEndOffsets(ctx, client, info)
	if err != nil {
		return err
	}
	stray := map[string]bool{}
	for id, end := range ends {
		if n, ok := names[id.PartitionID]; ok && end > 0 {
			stray[n] = true
		}
	}
	if len(stray) > 0 {
		warn(Problem{Attribute: []string{"partitions"}, Summary: "Rows were written through Fluss into partitions that were not initialized",
			Found: "partitions " + strings.Join(slices.Sorted(maps.Keys(stray)), ", "),
			Why:   "Fluss does not hold the source's rows of these partitions: lookups miss them and updates of them are wrong",
			Fix:   "new partitions are harmless; of source partitions that were left out, keep lookups and writes away or promote the table anew with them"})
	}
	return nil
}

func isSystemColumn(name string) bool { return slices.Contains(systemColumnNames(), name) }
