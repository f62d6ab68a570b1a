package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// fakeCluster is a scripted cluster in a folder, so that the processes that
// Terraform starts one after another see the same one. It shows what Terraform
// makes of the provider's answers and nothing about Fluss.
type fakeCluster struct{ dir string }

// fakeScript says how the fake behaves. The zero value does everything asked.
type fakeScript struct {
	Run          string // "", "wait", "wind-down", "slow", "fail", "refuse", "panic", "unsettled"
	Snapshot     int64  // of the source
	Problems     promotion.Problems
	Changes      []promotion.SourceChange
	PreviewError string
	ObserveError string
	RemoveError  string
	Warnings     promotion.Problems // of Observe
	Partitioned  bool
	Unvalidated  []string // options that the judge does not know
	ForgetSpec   bool     // Observe does not know the arguments
	Recreated    bool     // the Paimon table is another one than the promoted
	Initialized  int      // partitions that a run initializes, where none are selected
}

// fakeTable is a promotion in the fake cluster.
type fakeTable struct {
	Result promotion.Result
	Spec   promotion.Spec
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{dir: t.TempDir()}
	c.script(t, fakeScript{})
	return c
}

func (c *fakeCluster) script(t *testing.T, s fakeScript) {
	t.Helper()
	if s.Snapshot == 0 {
		s.Snapshot = 7
	}
	if err := writeJSON(filepath.Join(c.dir, "script.json"), s); err != nil {
		t.Fatal(err)
	}
}

// calls are the calls so far, such as "run sales.orders".
func (c *fakeCluster) calls() []string {
	data, err := os.ReadFile(filepath.Join(c.dir, "calls"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func (c *fakeCluster) count(call string) int {
	n := 0
	for _, made := range c.calls() {
		if made == call {
			n++
		}
	}
	return n
}

func (c *fakeCluster) forgetCalls(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(c.dir, "calls")); err != nil {
		t.Fatal(err)
	}
}

func (c *fakeCluster) tables() map[string]fakeTable {
	tables := map[string]fakeTable{}
	data, err := os.ReadFile(filepath.Join(c.dir, "tables.json"))
	if err == nil {
		err = json.Unmarshal(data, &tables)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
	return tables
}

func (c *fakeCluster) put(name promotion.TableName, table *fakeTable) {
	tables := c.tables()
	if table == nil {
		delete(tables, name.String())
	} else {
		tables[name.String()] = *table
	}
	if err := writeJSON(filepath.Join(c.dir, "tables.json"), tables); err != nil {
		panic(err)
	}
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// connect is the PromoterFactory of the fake.
func (c *fakeCluster) connect(cfg promotion.Config) (Promoter, error) {
	p := &fakePromoter{c: c, cfg: cfg}
	p.called("configure " + strings.Join(cfg.Bootstrap, ","))
	return p, nil
}

type fakePromoter struct {
	c   *fakeCluster
	cfg promotion.Config
}

var fakeFiles sync.Mutex

func (p *fakePromoter) called(call string) fakeScript {
	fakeFiles.Lock()
	defer fakeFiles.Unlock()
	f, err := os.OpenFile(filepath.Join(p.c.dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, call)
	var s fakeScript
	data, err := os.ReadFile(filepath.Join(p.c.dir, "script.json"))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		panic(err)
	}
	return s
}

func pinProblem(spec promotion.Spec, s fakeScript) error {
	if spec.SourceSnapshotID == nil || *spec.SourceSnapshotID == s.Snapshot {
		return nil
	}
	return promotion.Problem{
		Severity: promotion.SeverityError, Attribute: []string{"source_snapshot_id"},
		Summary: "Source is at another snapshot",
		Found:   fmt.Sprintf("snapshot %d", s.Snapshot), Required: fmt.Sprintf("snapshot %d", *spec.SourceSnapshotID),
	}
}

func (p *fakePromoter) Preview(_ context.Context, spec promotion.Spec) (*promotion.Report, error) {
	s := p.called("preview " + spec.Name.String())
	if s.PreviewError != "" {
		return nil, errors.New(s.PreviewError)
	}
	report := &promotion.Report{
		Name: spec.Name, Generation: "0.9", SnapshotID: &s.Snapshot, PinSnapshotID: &s.Snapshot, SchemaID: 2, PrimaryKey: []string{"id"}, Buckets: 4,
		Records: 1000, Bytes: 5 << 20, Files: 8, Problems: s.Problems, SourceChanges: s.Changes,
		Options: map[promotion.OptionClass][]string{promotion.OptionAccepted: {"bucket"}, promotion.OptionUnvalidated: {"team.owner"}},
	}
	report.Unvalidated = s.Unvalidated
	for _, key := range s.Unvalidated {
		if spec.DenyUnvalidated && !slices.Contains(spec.Acknowledged, key) {
			report.Problems = append(report.Problems, promotion.Problem{Severity: promotion.SeverityError, Rule: "option.unvalidated",
				Attribute: []string{"unvalidated_properties"}, Summary: "The table has an option that this provider does not know", Found: key + " = x"})
		}
	}
	if s.Partitioned {
		report.PartitionKeys = []string{"dt"}
		for _, dt := range []string{"2026-11-28", "2026-11-29"} {
			values := map[string]string{"dt": dt}
			report.Partitions = append(report.Partitions, promotion.PartitionReport{
				Spec: values, Records: 500, Bytes: 2 << 20, Files: 4,
				Selected: spec.Partitions == nil || slices.ContainsFunc(spec.Partitions, func(m map[string]string) bool { return m["dt"] == dt }),
			})
		}
	}
	if err := pinProblem(spec, s); err != nil && p.c.tables()[spec.Name.String()].Result.Stage != promotion.StageEnabled {
		report.Problems = append(report.Problems, problemsIn(err)...)
	}
	if table, ok := p.c.tables()[spec.Name.String()]; ok {
		report.Existing = &promotion.Existing{OperationID: table.Result.OperationID, Stage: table.Result.Stage, Plan: "resume"}
		if table.Result.Stage == promotion.StageEnabled {
			report.Existing.Promoted, report.PinSnapshotID = !s.Recreated, table.Result.SourceSnapshotID
		}
		if table.Result.Stage == promotion.StageEnabled && spec.OperationID != table.Result.OperationID {
			report.Problems = append(report.Problems, problemsIn(promoted(spec.Name))...)
		}
	}
	report.Compatible = len(report.Errors()) == 0
	return report, nil
}

func promoted(name promotion.TableName) error {
	return promotion.Problem{
		Severity: promotion.SeverityError, Attribute: []string{"table"}, Rule: promotion.RulePromoted, Summary: "Table is promoted already",
		Fix: "terraform import fluss_lake_promotion.NAME " + name.String(),
	}
}

func (p *fakePromoter) Run(ctx context.Context, spec promotion.Spec, progress func(promotion.Progress)) (promotion.Result, promotion.Problems, error) {
	s := p.called("run " + spec.Name.String())
	if err := pinProblem(spec, s); err != nil {
		return promotion.Result{}, nil, err
	}
	table, found := p.c.tables()[spec.Name.String()]
	switch {
	case s.Run == "refuse":
		return promotion.Result{}, nil, promotion.Problems{{
			Severity: promotion.SeverityError, Attribute: []string{"table"}, Summary: "Source can't be promoted", Found: "merge-engine=aggregation",
		}}
	case s.Run == "panic":
		panic("with the password " + p.cfg.SASL.Password)
	case found && table.Result.Stage == promotion.StageEnabled && spec.OperationID != table.Result.OperationID:
		return promotion.Result{}, nil, promoted(spec.Name)
	case !found:
		p.called("start " + spec.Name.String())
		table = fakeTable{Spec: spec, Result: promotion.Result{
			ClusterID: "cluster-1", OperationID: fmt.Sprintf("operation-%d", 1+p.c.started(spec.Name)), TableID: 11,
			SourceSnapshotID: &s.Snapshot, SourceSchemaID: 2, SelectedPartitions: spec.Partitions,
		}}
	}
	table.Result.Touched = true
	table.Result.Stage = promotion.StageLoading
	table.Result.RowsLoaded = 100
	p.c.put(spec.Name, &table)
	progress(promotion.Progress{OperationID: table.Result.OperationID, Stage: table.Result.Stage, Rows: 100, TotalRows: 1000})

	switch s.Run {
	case "fail":
		table.Result.Stage = promotion.StageFailed
		p.c.put(spec.Name, &table)
		return table.Result, nil, errors.New("key met twice in file data-1.parquet")
	case "wait", "wind-down":
		p.called(fmt.Sprintf("pid %d", os.Getpid()))
		<-ctx.Done()
		if s.Run == "wind-down" {
			time.Sleep(500 * time.Millisecond)
		}
		p.called("stopped " + spec.Name.String())
		return table.Result, nil, fmt.Errorf("loading: %w", ctx.Err())
	case "slow":
		select {
		case <-ctx.Done():
			return table.Result, nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	case "unsettled":
		return table.Result, nil, nil
	}
	table.Result.Stage = promotion.StageEnabled
	table.Result.RowsLoaded, table.Result.BytesLoaded = 1000, new(int64(5<<20))
	table.Result.RegisteredSnapshotID = &s.Snapshot
	table.Result.BucketOffsets = map[string]int64{"0": 250, "1": 250, "2": 250, "3": 250}
	table.Result.SourceChanges = []string{"option bucket-key: unset -> id"}
	table.Result.UnvalidatedOptionKeys = []string{"team.owner"}
	if s.Unvalidated != nil {
		table.Result.UnvalidatedOptionKeys = s.Unvalidated
	}
	table.Result.InitializedPartitions = spec.Partitions
	for i := range s.Initialized {
		table.Result.InitializedPartitions = append(table.Result.InitializedPartitions, map[string]string{"dt": fmt.Sprintf("2026-%06d", i)})
	}
	table.Result.PromotedAt = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	p.c.put(spec.Name, &table)
	return table.Result, nil, nil
}

// started counts the operations begun on a table before the present one.
func (c *fakeCluster) started(name promotion.TableName) int {
	return c.count("start "+name.String()) - 1
}

func (p *fakePromoter) Observe(_ context.Context, ref promotion.Ref) (*promotion.Observation, error) {
	s := p.called("observe " + ref.Name.String())
	if s.ObserveError != "" {
		return nil, errors.New(s.ObserveError)
	}
	table, ok := p.c.tables()[ref.Name.String()]
	if !ok {
		return &promotion.Observation{Gone: true, GoneReason: "The Fluss table " + ref.Name.String() + " does not exist any more"}, nil
	}
	obs := &promotion.Observation{Result: table.Result, Warnings: s.Warnings}
	if !s.ForgetSpec {
		obs.Spec = &table.Spec
	}
	return obs, nil
}

func (p *fakePromoter) refusal(ref promotion.Ref, opts promotion.RemoveOptions, s fakeScript) error {
	if s.RemoveError != "" {
		return errors.New(s.RemoveError)
	}
	table, ok := p.c.tables()[ref.Name.String()]
	if ok && table.Result.Stage == promotion.StageEnabled && opts.DeletionProtection {
		return promotion.Problem{
			Severity: promotion.SeverityError, Attribute: []string{"deletion_protection"}, Summary: "Promotion is protected",
			Fix: "apply deletion_protection = false first",
		}
	}
	return nil
}

func (p *fakePromoter) CheckRemove(_ context.Context, ref promotion.Ref, opts promotion.RemoveOptions) error {
	return p.refusal(ref, opts, p.called("check-remove "+ref.Name.String()))
}

func (p *fakePromoter) Remove(_ context.Context, ref promotion.Ref, opts promotion.RemoveOptions) error {
	if err := p.refusal(ref, opts, p.called("remove "+ref.Name.String())); err != nil {
		return err
	}
	if table, ok := p.c.tables()[ref.Name.String()]; ok && table.Result.OperationID == ref.OperationID {
		p.c.put(ref.Name, nil)
	}
	return nil
}

func (p *fakePromoter) Cancel(ctx context.Context, name promotion.TableName, reason string, watch func(*promotion.Status)) (promotion.CancelOutcome, error) {
	s := p.called("cancel " + name.String() + " " + reason)
	table, ok := p.c.tables()[name.String()]
	if !ok {
		return promotion.CancelOutcome{}, fmt.Errorf("%w: %s", promotion.ErrNoPromotion, name)
	}
	st := &promotion.Status{Result: table.Result, Liveness: promotion.LivenessAlive}
	out := promotion.CancelOutcome{Status: st}
	if table.Result.Stage != promotion.StageLoading {
		st.Liveness, out.Terminal = promotion.LivenessEnded, true
		return out, nil
	}
	out.Requested = true
	watch(st)
	if s.Run == "wait" {
		<-ctx.Done()
		return out, fmt.Errorf("waiting: %w", ctx.Err())
	}
	st.Ended, st.Liveness, out.Terminal = promotion.EventCancelled, promotion.LivenessEnded, true
	return out, nil
}
