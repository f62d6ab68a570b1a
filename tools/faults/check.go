package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// operationProperty is the custom property of a Fluss table that names its
// operation; part of the journal's format.
const operationProperty = "promotion.operation-id"

func contains(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// operation is the ID of the operation that the Fluss table carries; "" when
// there is no table.
func (r *run) operation(ctx context.Context) (string, error) {
	info, err := r.c.client.GetTable(ctx, r.path())
	if errors.Is(err, fluss.ErrTableNotExist) || errors.Is(err, fluss.ErrDatabaseNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return info.Descriptor.CustomProperties[operationProperty], nil
}

// event is a row of the journal.
type event struct {
	seq    int64
	kind   string
	host   string
	pid    string
	at     time.Time
	detail map[string]any
}

// events are an operation's journal events in order, by the independent reader.
func (r *run) events(ctx context.Context, operation string) ([]event, error) {
	var found [][]pyoracle.Row
	err := r.c.ask(ctx, func(ctx context.Context, py *pyoracle.Python) (err error) {
		found, err = py.PrefixLookup(ctx, pyoracle.Fluss{Bootstrap: r.c.stack.Bootstrap, Table: r.journal}, []string{"operation_id"},
			[]pyoracle.Row{{"operation_id": operation}})
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []event
	for _, list := range found {
		for _, row := range list {
			text := func(c string) string { s, _ := row[c].(string); return s }
			e := event{kind: text("event"), host: text("host"), pid: text("pid")}
			if e.seq, err = strconv.ParseInt(text("seq"), 10, 64); err != nil {
				return nil, fmt.Errorf("journal: seq %v: %w", row["seq"], err)
			}
			if e.at, err = time.Parse("2006-01-02 15:04:05.999Z", text("event_time")); err != nil {
				return nil, fmt.Errorf("journal: %w", err)
			}
			if err := json.Unmarshal([]byte(text("detail")), &e.detail); err != nil {
				return nil, fmt.Errorf("journal: detail of seq %d: %w", e.seq, err)
			}
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b event) int { return int(a.seq - b.seq) })
	return out, nil
}

// ownerRecorded looks for the killed owner in the journal, under its host and
// with its clock.
func (r *run) ownerRecorded(ctx context.Context, pid int) error {
	operation := r.old
	if operation == "" {
		var err error
		if operation, err = r.operation(ctx); err != nil {
			return err
		}
	}
	events, err := r.events(ctx, operation)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(events) {
		if e.pid != strconv.Itoa(pid) {
			continue
		}
		shift := time.Since(e.at).Round(time.Hour)
		switch {
		case r.Fault == ownerElsewhere && e.host == "elsewhere":
			r.hit("provider %d is dead, and in the journal as a process of host %q", pid, e.host)
		case r.Fault == clocksApart && shift.Abs() == 5*time.Hour:
			r.hit("the journal has event %q of provider %d at %s, %s from now; the next owner's clock is right", e.kind, pid, e.at.Format(time.RFC3339), -shift)
		}
		return nil
	}
	return nil
}

// check compares everything with what must be after the end.
func (r *run) check(ctx context.Context) error {
	if err := r.checkFiles(); err != nil {
		return err
	}
	if r.removed {
		return r.checkRemoved(ctx)
	}
	if err := r.checkRows(ctx); err != nil {
		return err
	}
	if err := r.checkAgreement(ctx); err != nil {
		return err
	}
	o, err := r.w.run(ctx, r.environment(""), "plan", "-input=false", "-detailed-exitcode")
	if err != nil {
		return err
	}
	if o.Exit != 0 {
		r.differ("the plan after it is not empty (exit %d): %s", o.Exit, excerpt(o.text))
	}
	return nil
}

// checkRows compares every row of the Fluss table with the source's.
func (r *run) checkRows(ctx context.Context) error {
	var rows []pyoracle.Row
	err := r.c.ask(ctx, func(ctx context.Context, py *pyoracle.Python) (err error) {
		rows, err = py.Scan(ctx, pyoracle.Fluss{Bootstrap: r.c.stack.Bootstrap, Table: r.db + "." + templateTable})
		return err
	})
	if err != nil {
		return fmt.Errorf("the independent reader: %w", err)
	}
	want, wrong := r.u.tmpl.rows, 0
	seen := map[string]bool{}
	for _, got := range rows {
		for c := range got {
			if strings.HasPrefix(c, "__") { // Fluss 0.9's own columns
				delete(got, c)
			}
		}
		k := keyOf(got)
		if seen[k] || !reflect.DeepEqual(got, want[k]) {
			if wrong++; wrong <= 3 {
				r.differ("row %s is %v, the source has %v", k, got, want[k])
			}
		}
		seen[k] = true
	}
	r.rep.Rows = fmt.Sprintf("%d of %d rows equal (pyfluss against pypaimon)", len(rows)-wrong, len(want))
	if wrong > 0 || len(seen) != len(want) {
		r.differ("%s, %d found", r.rep.Rows, len(rows))
	}
	return nil
}

// checkFiles compares the table's files with those before: only schema versions
// may be new.
func (r *run) checkFiles() error {
	after, err := acctest.Inventory(filepath.Dir(r.tableDir()))
	if err != nil {
		return err
	}
	var added []string
	for _, f := range slices.Sorted(maps.Keys(after)) {
		sum, old := r.before[f]
		switch {
		case old && sum != after[f]:
			r.differ("file %s has changed", f)
		case !old && strings.HasPrefix(f, filepath.Join(templateTable, "schema", "schema-")):
			added = append(added, filepath.Base(f))
		case !old:
			r.differ("file %s is new", f)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(r.before)) {
		if after[f] == "" {
			r.differ("file %s is gone", f)
		}
	}
	r.rep.Inventory = fmt.Sprintf("%d files equal; new: %v", len(r.before), added)
	for _, name := range added {
		if err := r.checkSchema(name); err != nil {
			r.differ("%s: %v", name, err)
		}
	}
	return nil
}

// paimonSchema is what a schema file must keep.
type paimonSchema struct {
	Fields        []map[string]any  `json:"fields"`
	PartitionKeys []string          `json:"partitionKeys"`
	PrimaryKeys   []string          `json:"primaryKeys"`
	Options       map[string]string `json:"options"`
}

// checkSchema compares a new schema version with the table's first: a promotion,
// and the coordinator at enabling, may add Fluss 0.9's system columns, options
// of Fluss and the changelog producer, and nothing else.
func (r *run) checkSchema(name string) error {
	var base, next paimonSchema
	for file, into := range map[string]*paimonSchema{"schema-0": &base, name: &next} {
		data, err := os.ReadFile(filepath.Join(r.tableDir(), "schema", file))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return err
		}
	}
	if len(next.Fields) < len(base.Fields) || !reflect.DeepEqual(next.Fields[:len(base.Fields)], base.Fields) ||
		!slices.Equal(next.PartitionKeys, base.PartitionKeys) || !slices.Equal(next.PrimaryKeys, base.PrimaryKeys) {
		return errors.New("columns or keys of the source have changed")
	}
	for _, f := range next.Fields[len(base.Fields):] {
		if c, _ := f["name"].(string); !slices.Contains([]string{"__bucket", "__offset", "__timestamp"}, c) {
			return fmt.Errorf("column %q was added", c)
		}
	}
	for k, v := range base.Options {
		if next.Options[k] != v {
			return fmt.Errorf("option %s is %q, it was %q", k, next.Options[k], v)
		}
	}
	for k, v := range next.Options {
		if _, old := base.Options[k]; !old && !strings.HasPrefix(k, "fluss.") && k+"="+v != "changelog-producer=input" {
			return fmt.Errorf("option %s = %q was added", k, v)
		}
	}
	return nil
}

// checkRemoved checks that the Fluss table is gone and nothing is in state.
func (r *run) checkRemoved(ctx context.Context) error {
	there, err := r.c.client.TableExists(ctx, r.path())
	if err != nil && !errors.Is(err, fluss.ErrDatabaseNotExist) {
		return err
	}
	state, err := r.w.state(ctx)
	if err != nil {
		return err
	}
	r.rep.Rows = "the Fluss table is gone, as ordered"
	r.rep.Agreement = "nothing in state, no Fluss table"
	if there || state != nil {
		r.differ("after destroying: table there: %t, in state: %t", there, state != nil)
	}
	return nil
}

// checkAgreement compares state, journal and cluster.
func (r *run) checkAgreement(ctx context.Context) error {
	state, err := r.w.state(ctx)
	if err != nil {
		return err
	}
	info, err := r.c.client.GetTable(ctx, r.path())
	if err != nil {
		return err
	}
	operation := info.Descriptor.CustomProperties[operationProperty]
	events, err := r.events(ctx, operation)
	if err != nil {
		return err
	}
	equal := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			r.differ("%s is %v, it should be %v", what, got, want)
		}
	}
	if state == nil {
		r.differ("the promotion is not in the state")
		return nil
	}
	number := func(v any) int64 { f, _ := v.(float64); return int64(f) }
	equal("state: stage", state["stage"], "enabled")
	equal("state: operation_id", state["operation_id"], operation)
	equal("state: table_id", number(state["table_id"]), info.TableID)
	equal("state: registered_snapshot_id", number(state["registered_snapshot_id"]), r.snapshot)
	equal("cluster: datalake", info.Descriptor.Properties["table.datalake.enabled"], "true")
	if len(events) == 0 {
		r.differ("the journal has no event of operation %s", operation)
		return nil
	}
	enabled, table, ends := 0, int64(0), map[string]int64{}
	for i, e := range events {
		equal("journal: seq", e.seq, i+1)
		switch e.kind {
		case "enabled":
			enabled++
		case "created":
			table, ends = number(e.detail["table_id"]), map[string]int64{}
		case "buckets-loaded":
			list, _ := e.detail["buckets"].([]any)
			for _, b := range list {
				m, _ := b.(map[string]any)
				ends[fmt.Sprintf("%v/%v", m["p"], number(m["b"]))] = number(m["end"])
			}
		case "failed", "cancelled":
			r.differ("journal: event %q: %v", e.kind, e.detail["reason"])
		}
	}
	equal("journal: enabled events", enabled, 1)
	equal("journal: table ID", table, info.TableID)
	r.rep.Agreement = fmt.Sprintf("operation %s, table %d, %d events", operation, info.TableID, len(events))
	return r.checkLake(ctx, ends, state)
}

// checkLake compares the registered lake snapshot with the journal.
func (r *run) checkLake(ctx context.Context, ends map[string]int64, state map[string]any) error {
	var lake pyoracle.LakeSnapshot
	err := r.c.ask(ctx, func(ctx context.Context, py *pyoracle.Python) (err error) {
		lake, err = py.LakeSnapshot(ctx, pyoracle.Fluss{Bootstrap: r.c.stack.Bootstrap, Table: r.db + "." + templateTable})
		return err
	})
	if err != nil {
		return fmt.Errorf("the independent reader: lake snapshot: %w", err)
	}
	if lake.ID == nil || *lake.ID != r.snapshot {
		r.differ("the lake snapshot is %v, it should be %d", lake.ID, r.snapshot)
	}
	var got, want []int64
	for _, o := range lake.Offsets {
		got = append(got, o.Offset)
	}
	for _, e := range ends {
		want = append(want, e)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.differ("the lake snapshot's offsets are %v, the journal's %v", got, want)
	}
	offsets, _ := state["bucket_offsets"].(map[string]any)
	if len(offsets) != partitionCount*bucketCount {
		r.differ("state: %d bucket offsets, %d required", len(offsets), partitionCount*bucketCount)
	}
	for k, v := range offsets {
		if f, _ := v.(float64); int64(f) != ends[k] {
			r.differ("state: bucket %s ends at %v, in the journal at %d", k, v, ends[k])
		}
	}
	return nil
}
