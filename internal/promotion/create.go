package promotion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

// create makes the Fluss table, with datalake off, and its partitions. The lake
// is not touched. On an operation that goes on, only what is missing is made.
func (r *run) create(ctx context.Context) error {
	r.op.setStage(StageValidated)
	if r.info == nil {
		if err := r.createTable(ctx); err != nil {
			return err
		}
	}
	if !r.hist.hasTable {
		if err := r.journalCreated(ctx); err != nil {
			return err
		}
	}
	r.op.setStage(StageCreated)
	if r.hist.registered != nil {
		return nil
	}
	return r.usable(ctx)
}

const (
	// noticeWait is how long the coordinator may take to notice a new table,
	// leaderWait how long its buckets may be without a leader; fractions of a
	// second, and a second or so, are usual.
	noticeWait = 10 * time.Second
	leaderWait = 30 * time.Second
	// createTries bounds how often a table that comes to nothing is made anew.
	createTries = 3
	// databasePause is left between a new database and its first table: Fluss
	// 0.9.1 loses the notice of a table more easily while it takes in the
	// database.
	databasePause = 500 * time.Millisecond
)

// usable waits until the new table can be used: noticed by the coordinator, its
// partitions made, every bucket with a leader. A table that the coordinator does
// not notice, which happens on Fluss 0.9.1, never works: as nothing is in it, it
// is dropped and made once more. Its partitions are made only after the notice,
// see fluss.Client.Noticed.
func (r *run) usable(ctx context.Context) error {
	for try := 1; ; try++ {
		err := r.c.client.AwaitNotice(ctx, r.info, noticeWait)
		if err == nil {
			if err = r.createPartitions(ctx); err != nil {
				return err
			}
			err = r.leadersElected(ctx)
		}
		if err == nil {
			return nil
		}
		switch {
		case !notInService(err) || r.hist.loadTouched():
			return err
		case try == createTries:
			return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The cluster does not bring new tables into service",
				Found:    firstLine(err.Error()) + fmt.Sprintf(", after making the table %d times", try),
				Required: "a coordinator that notices new tables and elects leaders for them",
				Why:      "a coordinator of Fluss 0.9.1 that has failed over a partition of a table it had not noticed elects no more leaders",
				Fix:      "look into the coordinator's log, start the coordinator anew, and apply again: the promotion goes on"}
		}
		if err := r.remake(ctx, firstLine(err.Error())); err != nil {
			return err
		}
	}
}

// notInService says whether a table that was waited for has not come into
// service: not noticed, without a leader, or with one that does not have the
// bucket.
func notInService(err error) bool {
	return errors.Is(err, fluss.ErrNotNoticed) || errors.Is(err, fluss.ErrNoLeader) || errors.Is(err, fluss.ErrNotHosted)
}

// remake drops the table, which is empty, and creates it under a new ID.
func (r *run) remake(ctx context.Context, reason string) error {
	if err := r.journaled(ctx, EventTakenOver, Detail{Fenced: true, Reason: reason}); err != nil {
		return err
	}
	if err := r.dropFenced(ctx); err != nil {
		return err
	}
	if err := r.createTable(ctx); err != nil {
		return err
	}
	return r.journalCreated(ctx)
}

func (r *run) leadersElected(ctx context.Context) error {
	tasks, err := r.tasks(ctx)
	if err != nil {
		return err
	}
	limit, done := context.WithTimeout(ctx, leaderWait)
	defer done()
	_, err = r.endOffsets(limit, tasks)
	return err
}

// ensureDatabase makes the database where it is missing.
func ensureDatabase(ctx context.Context, client *fluss.Client, name string) error {
	there, err := client.DatabaseExists(ctx, name)
	if err != nil || there {
		return err
	}
	if err := client.CreateDatabase(ctx, name, true); errors.Is(err, fluss.ErrServerAnsweredUndefined) {
		// As with tables: somebody else made it at the same moment.
		if there, lookErr := client.DatabaseExists(ctx, name); lookErr != nil || !there {
			return errors.Join(err, lookErr)
		}
	} else if err != nil {
		return err
	}
	return wait.For(ctx, databasePause)
}

func (r *run) journalCreated(ctx context.Context) error {
	d := Detail{TableID: &r.info.TableID}
	for _, p := range r.jdg.Partitions {
		if p.Selected && len(p.Spec) > 0 {
			d.Partitions, d.FlussPartitions = append(d.Partitions, p.Spec), append(d.FlussPartitions, p.FlussName)
		}
	}
	return r.journaled(ctx, EventCreated, d)
}

func (r *run) createTable(ctx context.Context) error {
	if err := ensureDatabase(ctx, r.c.client, r.path.Database); err != nil {
		return err
	}
	desc := *r.jdg.Descriptor
	desc.CustomProperties = maps.Clone(desc.CustomProperties)
	if desc.CustomProperties == nil {
		desc.CustomProperties = map[string]string{}
	}
	desc.CustomProperties[operationProperty] = r.op.id
	desc.CustomProperties[sourceProperty] = sourceHash(r.src.pin, r.spec.Partitions)
	if err := r.op.check(ctx); err != nil {
		return err
	}
	// Without "ignore if exists": of two applies at once, the server lets one
	// create the table.
	faultpoint.Reach(ctx, faultpoint.CreateTableBefore)
	createErr := r.c.client.CreateTable(ctx, r.path, desc, false)
	faultpoint.Reach(ctx, faultpoint.CreateTableAfter)
	if createErr != nil && !perhapsCreated(createErr) {
		return createErr
	}
	info, err := tolerateLag(ctx, func() (*fluss.TableInfo, error) { return wholeTable(ctx, r.c.client, r.path) })
	if err != nil {
		return errors.Join(createErr, err)
	}
	if got := info.Descriptor.CustomProperties[operationProperty]; got != r.op.id {
		return fatalError{Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Another process has created the Fluss table first",
			Found: fmt.Sprintf("table %s carries operation %q", r.path, got), Required: "operation " + r.op.id + ", begun by this apply",
			Fix: "let the other apply finish; this one changed nothing"}}
	}
	r.info = info
	return nil
}

// createPartitions makes the selected partitions, stopping at the first refusal.
func (r *run) createPartitions(ctx context.Context) error {
	if len(r.src.schema.PartitionKeys) == 0 {
		return nil
	}
	have, err := r.partitionIDs(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.jdg.Partitions {
		if !p.Selected {
			continue
		}
		if _, ok := have[p.FlussName]; ok {
			continue
		}
		if err := r.op.check(ctx); err != nil {
			return err
		}
		faultpoint.Reach(ctx, faultpoint.CreatePartitionBefore)
		if err := r.c.client.CreatePartition(ctx, r.path, p.FlussSpec, true); err != nil {
			return fmt.Errorf("partition %s: %w", p.FlussName, err)
		}
		faultpoint.Reach(ctx, faultpoint.CreatePartitionAfter)
	}
	return nil
}

// partitionIDs lists the Fluss table's partitions by name.
func (r *run) partitionIDs(ctx context.Context) (map[string]int64, error) {
	list, err := r.c.client.ListPartitions(ctx, r.path)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]int64, len(list))
	for _, p := range list {
		ids[p.Name] = p.ID
	}
	return ids, nil
}

// prepare commits the one metadata-only Paimon schema version, where one is
// needed, before the coordinator first looks at the Paimon table: it caches
// what it sees.
func (r *run) prepare(ctx context.Context) error {
	r.op.setStage(StageCreated)
	if r.hist.prepared != nil {
		r.op.setStage(StagePrepared)
		return nil
	}
	next, err := PreparedSchema(r.src.schema, r.jdg, r.c.generation, r.info)
	if err != nil {
		return err
	}
	if next != nil && !r.spec.PrepareSource {
		return Problem{Severity: SeverityError, Attribute: []string{"prepare_source"}, Summary: "The Paimon table must be prepared first",
			Found: strings.Join(schemaDifference(r.src.schema, next), "; "), Required: "a schema version with these changes",
			Fix: "set prepare_source = true"}
	}
	if next != nil {
		if err := r.op.check(ctx); err != nil {
			return err
		}
		if err := r.commitSchema(ctx, next); err != nil {
			return err
		}
	}
	if err := r.reopen(ctx); err != nil {
		return err
	}
	if err := r.journaled(ctx, EventPrepared, Detail{PreparedSchemaID: &r.src.schema.ID, Planned: r.planned(next)}); err != nil {
		return err
	}
	r.op.setStage(StagePrepared)
	return nil
}

// planned is every change that this operation makes to the source's schema:
// what the judge found, and what only the created table's properties showed.
func (r *run) planned(next *paimon.Schema) []SourceChange {
	changes := slices.Clone(r.hist.started.Detail.Planned)
	if next == nil {
		return changes
	}
	for _, c := range r.jdg.Changes {
		if !slices.Contains(changes, c) {
			changes = append(changes, c)
		}
	}
	return changes
}

// commitSchema writes the schema version. A lost answer is looked up: the file
// is either ours, whole, or somebody else's.
func (r *run) commitSchema(ctx context.Context, next *paimon.Schema) error {
	faultpoint.Reach(ctx, faultpoint.PrepareSchemaBefore)
	err := r.src.table.CommitSchema(ctx, next)
	faultpoint.Reach(ctx, faultpoint.PrepareSchemaAfter)
	if errors.Is(err, paimon.ErrSchemaExists) {
		return Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The Paimon table's schema was changed at the same time",
			Found: err.Error(), Required: "no other change of the table while it is being promoted",
			Fix: "stop schema changes of the Paimon table and apply again"}
	}
	return err
}

// reopen reads the source again with its newest schema and checks that it is
// still the same snapshot of the same table.
func (r *run) reopen(ctx context.Context) error {
	old := r.src
	src, err := r.s.openSource(ctx, r.c, r.spec.Name)
	if err != nil {
		return err
	}
	if src.pin != old.pin {
		return movedOn(old.pin, src.pin, src.snapshot)
	}
	r.src = src
	return nil
}

// schemaDifference lists what a schema version changes, for people.
func schemaDifference(base, next *paimon.Schema) []string {
	var out []string
	for _, f := range next.Fields {
		old, ok := base.Field(f.Name)
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("column %s %s added", f.Name, f.Type))
		case old.Type.String() != f.Type.String():
			out = append(out, fmt.Sprintf("column %s: %s -> %s", f.Name, old.Type, f.Type))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(next.Options)) {
		if old, ok := base.Options[k]; !ok || old != next.Options[k] {
			from := "unset"
			if ok {
				from = old
			}
			out = append(out, fmt.Sprintf("option %s: %s -> %s", k, from, next.Options[k]))
		}
	}
	return out
}
