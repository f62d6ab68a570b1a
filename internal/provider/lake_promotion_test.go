package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

func checkResourceSchema(t *testing.T) {
	t.Helper()
	var r resource.SchemaResponse
	newLakePromotionResource().Schema(t.Context(), resource.SchemaRequest{}, &r)
	if diags := r.Schema.ValidateImplementation(t.Context()); diags.HasError() {
		t.Error(texts(diags))
	}
	for name := range promotionAttributes {
		if _, ok := r.Schema.Attributes[name]; !ok {
			t.Errorf("resource has no attribute %s", name)
		}
	}
	for name, attribute := range r.Schema.Attributes {
		if attribute.GetMarkdownDescription() == "" {
			t.Errorf("%s has no description", name)
		}
	}
	var d datasource.SchemaResponse
	newLakeCompatibilityDataSource().Schema(t.Context(), datasource.SchemaRequest{}, &d)
	if diags := d.Schema.ValidateImplementation(t.Context()); diags.HasError() {
		t.Error(texts(diags))
	}
}

// planned is a model as Create gets it.
func planned() *promotionModel {
	m := &promotionModel{
		Database: types.StringValue("sales"), Table: types.StringValue("orders"),
		Partitions: types.SetNull(partitionType), TableProperties: types.MapNull(types.StringType),
		AcknowledgedProperties: types.SetNull(types.StringType), Load: types.ObjectNull(nil),
	}
	m.setResultsUnknown(&promotionModel{})
	return m
}

func TestSpec(t *testing.T) {
	m := planned()
	spec := m.spec()
	if spec.Name != ordersName || spec.Partitions != nil || spec.SourceSnapshotID != nil || spec.Engine != "native" ||
		spec.Verification != promotion.VerifySample || spec.Takeover != "fence" || spec.OnSourceChange != "fail" || spec.DenyUnvalidated {
		t.Errorf("defaults: %+v", spec)
	}
	m.Partitions = partitionSet([]map[string]string{{"dt": "2"}, {"dt": "1"}})
	m.SourceSnapshotID = number(7)
	m.UnvalidatedProperties = types.StringValue("deny")
	m.AcknowledgedProperties = types.SetValueMust(types.StringType, []attr.Value{types.StringValue("b"), types.StringValue("a")})
	m.Load = object(map[string]attr.Value{"engine": types.StringValue("native"), "parallelism": number(4)})
	spec = m.spec()
	if fmt.Sprint(spec.Partitions) != "[map[dt:1] map[dt:2]]" || *spec.SourceSnapshotID != 7 || !spec.DenyUnvalidated ||
		fmt.Sprint(spec.Acknowledged) != "[a b]" || spec.Parallelism != 4 {
		t.Errorf("spec: %+v", spec)
	}
}

func TestFlinkSpec(t *testing.T) {
	m := planned()
	m.Load = object(map[string]attr.Value{"engine": types.StringValue("flink"), "flink": object(map[string]attr.Value{
		"settings": mapValue(map[string]string{"pipeline.a": "b"}), "paimon_catalog": types.StringNull(), "fluss_catalog": types.StringValue("f")})})
	spec := m.spec()
	if spec.Engine != "flink" || spec.Flink == nil || spec.Flink.FlussCatalog != "f" || spec.Flink.LakeCatalog != "" || spec.Flink.Settings["pipeline.a"] != "b" {
		t.Errorf("spec %+v, flink %+v", spec, spec.Flink)
	}
}

func TestOutcomes(t *testing.T) {
	loading := promotion.Result{Touched: true, ClusterID: "c", OperationID: "op", Stage: promotion.StageLoading, TableID: 3}
	failed, enabled, unknown := loading, loading, promotion.Result{Touched: true}
	failed.Stage, enabled.Stage = promotion.StageFailed, promotion.StageEnabled
	prior := planned()
	prior.setResultsFrom(nil)
	prior.setResult(promotion.Result{ClusterID: "c", OperationID: "op", Stage: promotion.StageCreated, TableID: 3})
	prior.DeletionProtection = types.BoolValue(true)
	broken := errors.New("broken")

	for _, c := range []struct {
		name     string
		outcome  outcome
		prior    *promotionModel
		severity diag.Severity // SeverityInvalid: no diagnostic
		stage    string        // of the state; "none": no state
		text     string
	}{
		{"done", outcome{result: enabled}, nil, diag.SeverityInvalid, "enabled", ""},
		{"done although interrupted", outcome{result: enabled, interrupted: true}, nil, diag.SeverityInvalid, "enabled", ""},
		{"interrupted", outcome{result: loading, err: context.Canceled, interrupted: true}, nil, diag.SeverityWarning, "loading", "interrupted at stage loading"},
		{"interrupted, stage unknown", outcome{result: unknown, err: context.Canceled, interrupted: true}, nil, diag.SeverityWarning, "", "stage unknown"},
		{"interrupted before anything", outcome{err: context.Canceled, interrupted: true}, nil, diag.SeverityError, "none", "Neither the Paimon table"},
		{"interrupted and failed", outcome{result: failed, err: broken, interrupted: true}, nil, diag.SeverityError, "none", "terraform import fluss_lake_promotion.NAME sales.orders"},
		{"time limit", outcome{result: loading, err: context.DeadlineExceeded, timedOut: true}, nil, diag.SeverityError, "none", "raise timeouts.create"},
		{"failed", outcome{result: loading, err: broken}, nil, diag.SeverityError, "none", "Operation op stands at stage loading"},
		{"panic", outcome{err: &safego.PanicError{Value: "x"}}, nil, diag.SeverityError, "none", "An operation may have begun"},
		{"success without a stage", outcome{result: promotion.Result{OperationID: "op"}}, nil, diag.SeverityError, "none", "at stage unknown"},
		{"success not enabled", outcome{result: loading}, nil, diag.SeverityError, "none", "at stage loading"},
		{"update interrupted", outcome{result: loading, err: context.Canceled, interrupted: true}, prior, diag.SeverityWarning, "loading", ""},
		{"update failed", outcome{result: failed, err: broken}, prior, diag.SeverityError, "failed", "goes on from where it stands"},
		{"update could not look", outcome{err: broken}, prior, diag.SeverityError, "none", "broken."},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := planned()
			plan.DeletionProtection = types.BoolValue(false)
			state, diags := c.outcome.conclude(plan, c.prior, timeLimit{option: "create", duration: time.Second}, nil)
			if c.severity == diag.SeverityInvalid && len(diags) != 0 || c.severity != diag.SeverityInvalid && (len(diags) != 1 || diags[0].Severity() != c.severity) {
				t.Errorf("diagnostics:\n%s", texts(diags))
			}
			if !strings.Contains(texts(diags), c.text) {
				t.Errorf("diagnostics lack %q:\n%s", c.text, texts(diags))
			}
			if state == nil {
				if c.stage != "none" {
					t.Error("no state")
				}
				return
			}
			if c.stage == "none" || state.Stage.ValueString() != c.stage {
				t.Errorf("stage %s, want %s", state.Stage, c.stage)
			}
			if failedUpdate := c.prior != nil && c.severity == diag.SeverityError; state.DeletionProtection.ValueBool() != failedUpdate {
				t.Errorf("deletion_protection is %s", state.DeletionProtection)
			}
			for name, v := range map[string]attr.Value{
				"id": state.ID, "table_id": state.TableID, "source_snapshot_id": state.SourceSnapshotID, "bucket_offsets": state.BucketOffsets,
				"initialized_partitions": state.InitializedPartitions, "source_changes": state.SourceChanges, "promoted_at": state.PromotedAt,
				"unvalidated_option_keys": state.UnvalidatedOptionKeys, "rows_loaded": state.RowsLoaded, "load_job_id": state.LoadJobID,
			} {
				if v.IsUnknown() {
					t.Errorf("%s is unknown", name)
				}
			}
		})
	}
}

// TestPinComesBack: what was planned as known must be in the state, or Terraform
// taints a promotion that is whole.
func TestPinComesBack(t *testing.T) {
	pin, other := int64(7), int64(8)
	plan := planned()
	plan.SourceSnapshotID = number(pin)
	res := promotion.Result{Touched: true, OperationID: "op", Stage: promotion.StageCreated}
	state, _ := outcome{result: res, err: context.Canceled, interrupted: true}.conclude(plan, nil, timeLimit{}, nil)
	if state == nil || intOr(state.SourceSnapshotID, 0) != pin {
		t.Errorf("interrupted: %v", state)
	}
	res.Stage, res.SourceSnapshotID = promotion.StageEnabled, &other
	if state, diags := (outcome{result: res}).conclude(plan, nil, timeLimit{}, nil); state != nil || !diags.HasError() {
		t.Errorf("another snapshot was promoted: state %v, diagnostics %s", state, texts(diags))
	}
	res.SourceSnapshotID = &pin
	if state, diags := (outcome{result: res}).conclude(plan, nil, timeLimit{}, nil); state == nil || diags.HasError() {
		t.Error(texts(diags))
	}
}

func TestErrorDiagnostics(t *testing.T) {
	problems := promotion.Problems{
		{Severity: promotion.SeverityError, Attribute: []string{"table_properties", "a.b"}, Summary: "One", Found: "secret"},
		{Severity: promotion.SeverityError, Attribute: []string{"load", "parallelism"}, Summary: "Two"},
		{Severity: promotion.SeverityError, Attribute: []string{"partitions", "dt"}, Summary: "Three"},
		{Severity: promotion.SeverityError, Attribute: []string{"nothing"}, Summary: "Four"},
	}
	diags := errorDiagnostics("Unused", fmt.Errorf("loading: %w", problems), promotionAttributes, secrets{"secret"}, "The end.")
	want := []path.Path{
		path.Root("table_properties").AtMapKey("a.b"), path.Root("load").AtName("parallelism"), path.Root("partitions"), path.Empty(),
	}
	if len(diags) != len(want) {
		t.Fatalf("diagnostics:\n%s", texts(diags))
	}
	for i, d := range diags {
		at := path.Empty()
		if with, ok := d.(diag.DiagnosticWithPath); ok {
			at = with.Path()
		}
		if !at.Equal(want[i]) {
			t.Errorf("%s: path %s, want %s", d.Summary(), at, want[i])
		}
	}
	if diags[0].Detail() != "Found: ***" || diags[3].Detail() != "The end." {
		t.Errorf("details:\n%s", texts(diags))
	}
	one := errorDiagnostics("Unable", fmt.Errorf("x: %w", problems[1]), promotionAttributes, nil, "")
	if len(one) != 1 || one[0].Summary() != "Two" {
		t.Errorf("one problem:\n%s", texts(one))
	}
	// Warnings in an error are no reason to let Terraform think it went well.
	soft := errorDiagnostics("Unable", promotion.Problems{{Severity: promotion.SeverityWarning, Summary: "Soft"}}, promotionAttributes, nil, "")
	if !soft.HasError() {
		t.Errorf("no error:\n%s", texts(soft))
	}
}

func TestWarningDiagnostics(t *testing.T) {
	diags := warningDiagnostics(promotion.Problems{
		{Severity: promotion.SeverityError, Attribute: []string{"table"}, Summary: "Foreign commit", Found: "snapshot 8"},
		{Severity: promotion.SeverityWarning, Summary: "Column is gone", Found: "secret"},
		{Severity: promotion.SeverityWarning, Attribute: []string{"table"}, Summary: "Foreign commit", Found: "snapshot 9"},
	}, ordersName, promotionAttributes, secrets{"secret"})
	const want = "table: Foreign commit: sales.orders: Found: snapshot 8\n\nFound: snapshot 9\nColumn is gone: sales.orders: Found: ***\n"
	if got := texts(diags); got != want || diags.HasError() {
		t.Errorf("diagnostics:\n%s", got)
	}
}

func TestClaims(t *testing.T) {
	ref := promotion.Ref{Name: ordersName, OperationID: "op"}
	for _, c := range []struct {
		name string
		// e: in the state; c: to be created; r: second half of a replacement;
		// x: to be created, with a plan that fails.
		steps string
		want  conflict // of the last step
	}{
		{"one in the state", "e", noConflict},
		{"one to be created", "c", noConflict},
		{"replacement", "er", noConflict},
		{"one to be created, another in the state", "ec", secondOne},
		{"two to be created", "cc", secondOne},
		{"two in the state", "ee", secondOne},
		{"created, then one in the state", "ce", rightfulOne},
		{"refused, then one in the state", "xe", noConflict},
		{"refused, then a replacement", "xer", noConflict},
		{"replacement and another", "erc", secondOne},
		{"replacement twice", "err", secondOne},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := newClaims()
			var found conflict
			var prior *priorClaim
			for _, step := range c.steps {
				if step == 'e' {
					found = all.existing(t.Context(), ref, promotion.RemoveOptions{})
					continue
				}
				var own *creation
				own, prior, found = all.created(ordersName, step == 'r')
				own.decide(step == 'x')
			}
			if found != c.want {
				t.Errorf("%v, want %v", found, c.want)
			}
			if c.steps == "er" && (prior == nil || prior.ref != ref) {
				t.Errorf("replaces %v", prior)
			}
			other := promotion.Ref{Name: promotion.TableName{Database: "sales", Table: "other"}}
			if all.existing(t.Context(), other, promotion.RemoveOptions{}) != noConflict {
				t.Error("another table is taken too")
			}
		})
	}
	t.Run("the one in the state waits for what becomes of the other", func(t *testing.T) {
		for _, refused := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				all := newClaims()
				own, _, _ := all.created(ordersName, false)
				found := make(chan conflict, 1)
				go func() { found <- all.existing(t.Context(), ref, promotion.RemoveOptions{}) }()
				synctest.Wait()
				select {
				case c := <-found:
					t.Fatalf("decided %v before the other was", c)
				default:
				}
				own.decide(refused)
				if c := <-found; (c == noConflict) != refused {
					t.Errorf("refused %t: %v", refused, c)
				}
			})
		}
	})
	t.Run("a walk that ends", func(t *testing.T) {
		all := newClaims()
		all.created(ordersName, false)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if c := all.existing(ctx, ref, promotion.RemoveOptions{}); c != noConflict {
			t.Error(c)
		}
	})
}

func TestRunning(t *testing.T) {
	r := newRunning()
	if !r.start(ordersName) || r.start(ordersName) {
		t.Error("two at a time")
	}
	r.stop(ordersName)
	if !r.start(ordersName) {
		t.Error("not free after it has ended")
	}
}

func TestProgressLog(t *testing.T) {
	var out syncBuffer
	synctest.Test(t, func(t *testing.T) {
		ctx := tflogtest.RootLogger(t.Context(), &out)
		ctx = secrets{"hush"}.context(ctx)
		log := progressLog(ctx, ordersName)
		for range 61 { // one a second, the first at once
			log(promotion.Progress{OperationID: "op hush", Stage: promotion.StageLoading, Rows: 5, TotalRows: 10, RowsPerSec: 2.5, Remaining: 90 * time.Second})
			time.Sleep(time.Second)
		}
	})
	text := out.String()
	if n := strings.Count(text, "lake promotion progress"); n != 5 {
		t.Errorf("%d lines in 60 s, want 5:\n%s", n, text)
	}
	for _, want := range []string{`"table":"sales.orders"`, `"remaining":"1m30s"`, `"operation":"op ***"`, `"total_rows":10`} {
		if !strings.Contains(text, want) {
			t.Errorf("log lacks %s:\n%s", want, text)
		}
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestPreviewText(t *testing.T) {
	snapshot := int64(7)
	log := &promotion.Report{Name: ordersName, Generation: "1.0", SnapshotID: &snapshot, Records: 5, Bytes: 1536, Files: 2}
	empty := &promotion.Report{Name: ordersName, Generation: "1.0", PrimaryKey: []string{"id"}}
	var many []promotion.PartitionReport
	for i := range 20 {
		many = append(many, promotion.PartitionReport{Spec: map[string]string{"dt": fmt.Sprint(i), "hr": "1"}})
	}
	parts := &promotion.Report{Name: ordersName, SnapshotID: &snapshot, PrimaryKey: []string{"id"}, PartitionKeys: []string{"dt", "hr"}, Partitions: many}
	for _, c := range []struct {
		report *promotion.Report
		spec   promotion.Spec
		want   string
	}{
		{log, promotion.Spec{}, "To load: nothing. It is a log table; its 5 rows stay in the lake (1.5 KiB in 2 files)."},
		{log, promotion.Spec{SourceSnapshotID: &snapshot}, "fails if it is not the pinned one"},
		{empty, promotion.Spec{}, "no snapshot: it is promoted empty"},
		{parts, promotion.Spec{}, "0 of 20. NOT initialized, keep lookups and writes through Fluss off them: dt=0/hr=1, dt=1/hr=1"},
		{parts, promotion.Spec{}, "and 8 more"},
	} {
		if text := previewText(c.report, c.spec); !strings.Contains(text, c.want) {
			t.Errorf("preview lacks %q:\n%s", c.want, text)
		}
	}
}

func TestByteText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 5 << 20: "5.0 MiB", 3 << 40: "3.0 TiB", 1 << 60: "1024.0 PiB"} {
		if got := byteText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestWhollyKnown(t *testing.T) {
	unknown := types.StringUnknown()
	for _, c := range []struct {
		value attr.Value
		known bool
	}{
		{types.StringNull(), true},
		{unknown, false},
		{types.ListValueMust(types.StringType, []attr.Value{types.StringValue("a"), unknown}), false},
		{types.MapValueMust(types.StringType, map[string]attr.Value{"a": unknown}), false},
		{types.SetValueMust(partitionType, []attr.Value{types.MapValueMust(types.StringType, map[string]attr.Value{"dt": unknown})}), false},
		{object(map[string]attr.Value{"a": unknown}), false},
		{object(map[string]attr.Value{"a": types.StringNull()}), true},
		{partitionSet([]map[string]string{{"dt": "1"}}), true},
	} {
		if got := whollyKnown(c.value); got != c.known {
			t.Errorf("%s: %v", c.value, got)
		}
	}
}
