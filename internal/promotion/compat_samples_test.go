package promotion

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// sampleInput opens one of the sample tables.
func sampleInput(t *testing.T, name, generation string) JudgeInput {
	t.Helper()
	ctx := context.Background()
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "paimon", name, "table"))
	if err != nil {
		t.Fatal(err)
	}
	fs, root, err := storage.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := paimon.OpenTable(ctx, fs, root, "db."+name)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	in := JudgeInput{Name: TableName{"db", name}, Schema: table.Schema(), Snapshot: snap, Table: table, Generation: generation, PrepareAllowed: true}
	if snap != nil {
		if in.Plan, err = table.PlanWith(ctx, snap, planOptions(table.Schema())); err != nil {
			t.Fatal(err)
		}
	}
	if generation == generation09 {
		in.Layout = layoutLegacy
	}
	return in
}

func mustJudge(t *testing.T, in JudgeInput) *Judgement {
	t.Helper()
	j, err := Judge(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func rulesOf(j *Judgement) []string {
	var ids []string
	for _, p := range j.Problems {
		ids = append(ids, p.Rule)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func changesOf(j *Judgement) []string {
	var out []string
	for _, c := range j.Changes {
		out = append(out, c.What+"="+c.To)
	}
	slices.Sort(out)
	return out
}

// The changes, by the letters of the verdict table.
const (
	chL = "option partition.legacy-name=false"
	chP = "option changelog-producer=input"
)

var chSystem = []string{
	"column __bucket added=INT", "column __offset added=BIGINT", "column __timestamp added=TIMESTAMP(3) WITH LOCAL TIME ZONE",
	"options fluss.*=the properties of the Fluss table to be created",
}

func chK(keys string) string { return "option bucket-key=" + keys }

// TestSampleVerdicts holds what running servers showed for each sample table.
func TestSampleVerdicts(t *testing.T) {
	widen := []string{"column f_varchar type=STRING", "column f_varbinary type=BYTES"}
	cases := []struct {
		name    string
		verdict string   // on 1.0; on 0.9 accept becomes prepare
		rules   []string // problems on 1.0
		changes []string // on 1.0
		log     bool     // append table: no changelog-producer on 0.9
		input   bool     // has changelog-producer=input already
		rules09 []string // besides rules and layout.union-read
		mirror  string
	}{
		{name: "aggregation", verdict: VerdictReject, rules: []string{"option.merge-engine"}, changes: []string{chL, chK("id")}},
		{name: "all_types", verdict: VerdictReject, rules: []string{"type.before-1970", "type.time"}, changes: append([]string{chL, chK("id")}, widen...)},
		{name: "append_bucket_key", verdict: VerdictAccept, log: true},
		{name: "append_row_tracking", verdict: VerdictPrepare, changes: []string{chL}, log: true, mirror: "row-tracking.enabled"},
		{name: "append_unaware_evolved", verdict: VerdictPrepare, changes: []string{chL}, log: true},
		{name: "avro_pk", verdict: VerdictReject, rules: []string{"type.before-1970", "type.map-key", "type.time"}, changes: []string{chL, chK("id")}},
		{name: "branch", verdict: VerdictPrepare, changes: []string{chL, chK("id")}},
		{name: "compacted", verdict: VerdictAccept},
		{name: "dv_pk", verdict: VerdictPrepare, rules: []string{"files.deletion-vectors"}, changes: []string{chL, chK("id")}},
		{name: "dv_pk_hidden_level0", verdict: VerdictReject, rules: []string{"files.deletion-vectors", "files.level-0"}},
		{name: "dynamic_bucket", verdict: VerdictReject, rules: []string{"bucket.dynamic"}, changes: []string{chL}},
		{name: "expired_snapshots", verdict: VerdictPrepare, changes: []string{chL, chK("id")}},
		{name: "first_row", verdict: VerdictReject, rules: []string{"option.merge-engine"}, changes: []string{chL, chK("id")}},
		{name: "flink_lookup", verdict: VerdictPrepare, changes: []string{chL, chK("k")}},
		{name: "nested", verdict: VerdictReject, rules: []string{"type.map-key"}, changes: []string{chL, chK("id")}},
		{name: "null_partitions", verdict: VerdictReject, rules: []string{"partition.null", "partition.value"}, changes: []string{chL}, log: true},
		{name: "orc_pk", verdict: VerdictReject, rules: []string{"type.before-1970", "type.time"}, changes: append([]string{chL, chK("id")}, widen...)},
		{name: "partial_update", verdict: VerdictReject, rules: []string{"option.ignore-delete", "option.merge-engine"}, changes: []string{chL, chK("id")}},
		{name: "pk_levels", verdict: VerdictPrepare, changes: []string{chL, chK("id")}},
		{name: "pk_part_date", verdict: VerdictAccept, rules09: []string{"layout.date-lookup"}},
		{name: "pk_part_date_legacy", verdict: VerdictReject, rules: []string{"partition.legacy-name"}, changes: []string{chK("id")}, rules09: []string{"layout.date-lookup"}},
		{name: "pk_part_string", verdict: VerdictReject, rules: []string{"partition.value"}, input: true},
		{name: "postpone_bucket", verdict: VerdictReject, rules: []string{"bucket.postponed"}, changes: []string{chL}},
		{name: "py_append", verdict: VerdictAccept, log: true},
		// Its repeated keys show only when the rows are read: the load stops there.
		{name: "py_duplicate_keys", verdict: VerdictAccept},
		{name: "py_pk", verdict: VerdictAccept},
		{name: "schema_evolution", verdict: VerdictPrepare, changes: []string{chL, chK("id")}},
		{name: "schema_only", verdict: VerdictAccept},
		{name: "sequence_field", verdict: VerdictReject, rules: []string{"option.sequence.field"}, changes: []string{chL, chK("id")}},
		{name: "stale_latest", verdict: VerdictPrepare, changes: []string{chL, chK("id")}},
		{name: "thin_mode", verdict: VerdictPrepare, changes: []string{chL, chK("k2,k1")}, mirror: "data-file.thin-mode"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := mustJudge(t, sampleInput(t, c.name, generation10))
			check(t, "verdict", []string{c.verdict}, []string{j.Verdict})
			check(t, "rules", c.rules, rulesOf(j))
			check(t, "changes", c.changes, changesOf(j))
			check(t, "unvalidated", nil, j.Unvalidated)
			var mirrors []string
			for k := range j.Descriptor.CustomProperties {
				mirrors = append(mirrors, k)
			}
			if c.mirror == "" {
				check(t, "mirrors", nil, mirrors)
			} else {
				check(t, "mirrors", []string{"paimon." + c.mirror}, mirrors)
			}
			if j.Descriptor.Properties["table.datalake.enabled"] != "false" {
				t.Errorf("datalake is not off: %v", j.Descriptor.Properties)
			}

			in := sampleInput(t, c.name, generation09)
			j = mustJudge(t, in)
			want := c.verdict
			if want == VerdictAccept {
				want = VerdictPrepare
			}
			check(t, "verdict on 0.9", []string{want}, []string{j.Verdict})
			check(t, "rules on 0.9", slices.Concat(c.rules, c.rules09, []string{"layout.union-read"}), rulesOf(j))
			changes := slices.Concat(c.changes, chSystem)
			if !c.log && !c.input {
				changes = append(changes, chP)
			}
			check(t, "changes on 0.9", changes, changesOf(j))
			if len(j.Descriptor.CustomProperties) > 0 {
				t.Errorf("0.9 needs no mirrors, found %v", j.Descriptor.CustomProperties)
			}

			in.Layout = ""
			j = mustJudge(t, in)
			if j.Verdict != VerdictReject || !slices.Contains(rulesOf(j), "layout.required") {
				t.Errorf("without lake_layout on 0.9: verdict %s, rules %v", j.Verdict, rulesOf(j))
			}
		})
	}
}

// check compares two lists without regard to order.
func check(t *testing.T, what string, want, got []string) {
	t.Helper()
	want, got = slices.Clone(want), slices.Clone(got)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("%s:\nwant %s\ngot  %s", what, strings.Join(want, "; "), strings.Join(got, "; "))
	}
}

// TestSampleWithoutPreparation asks for each change with the statement that
// makes it, when prepare_source is off.
func TestSampleWithoutPreparation(t *testing.T) {
	in := sampleInput(t, "pk_levels", generation10)
	in.PrepareAllowed = false
	j := mustJudge(t, in)
	check(t, "verdict", []string{VerdictPrepare}, []string{j.Verdict})
	check(t, "rules", []string{"option.bucket-key", "option.partition.legacy-name"}, rulesOf(j))
	for _, p := range j.Problems {
		if !p.PrepareFixes || p.Severity != SeverityError {
			t.Errorf("%s: severity %d, prepare fixes %v", p.Rule, p.Severity, p.PrepareFixes)
		}
	}
	check(t, "statements", []string{"ALTER TABLE `db`.`pk_levels` SET ('partition.legacy-name' = 'false');"}, j.Statements)
	if fix := j.Problems[0].Fix; j.Problems[0].Rule != "option.bucket-key" || !strings.Contains(fix, "ALTER TABLE refuses") {
		t.Errorf("first problem %s, fix %q", j.Problems[0].Rule, fix)
	}
}

func TestSampleSelection(t *testing.T) {
	in := sampleInput(t, "pk_part_string", generation10)
	in.Selection = []map[string]string{{"dt": "2025-01-01"}, {"dt": "2025-01-03"}}
	j := mustJudge(t, in)
	check(t, "verdict", []string{VerdictAccept}, []string{j.Verdict})
	check(t, "rules", []string{"partition.left-out"}, rulesOf(j))
	var got []string
	for _, p := range j.Partitions {
		if p.Selected {
			got = append(got, p.FlussName)
		}
		if p.OK != (p.FlussSpec != nil) {
			t.Errorf("partition %v: OK %v, Fluss %v", p.Spec, p.OK, p.FlussSpec)
		}
	}
	check(t, "selected", []string{"2025-01-01", "2025-01-03"}, got)

	in = sampleInput(t, "null_partitions", generation10)
	in.Selection = []map[string]string{{"p": "x", "q": "1"}}
	check(t, "null partitions left out", []string{"partition.null", "partition.left-out"}, rulesOf(mustJudge(t, in)))

	in = sampleInput(t, "pk_part_date", generation10)
	j = mustJudge(t, in)
	got = nil
	for _, p := range j.Partitions {
		got = append(got, p.Spec["d"]+"="+p.FlussName)
	}
	check(t, "dates", []string{"1969-12-31=1969-12-31", "2024-02-29=2024-02-29", "2024-03-01=2024-03-01"}, got)
}

// TestSampleComments: 0.9 compares the comment, as Paimon Java reads it.
func TestSampleComments(t *testing.T) {
	for _, c := range []struct{ name, generation, want string }{
		{"flink_lookup", generation09, "made by flink"},
		{"flink_lookup", generation10, "made by flink"},
		{"py_append", generation09, "null"},
		{"py_append", generation10, "<nil>"},
		{"pk_levels", generation09, "<nil>"},
	} {
		got := "<nil>"
		if d := mustJudge(t, sampleInput(t, c.name, c.generation)).Descriptor; d.Comment != nil {
			got = *d.Comment
		}
		if got != c.want {
			t.Errorf("%s on %s: comment %q, want %q", c.name, c.generation, got, c.want)
		}
	}
}

func TestSampleDescriptor(t *testing.T) {
	in := sampleInput(t, "thin_mode", generation10)
	in.TableProperties = map[string]string{"table.datalake.freshness": "30s"}
	d := mustJudge(t, in).Descriptor
	var cols []string
	for _, c := range d.Columns {
		cols = append(cols, c.Name+" "+c.Type.String())
	}
	if got := strings.Join(cols, ", "); got != "b STRING, k1 INT NOT NULL, k2 STRING NOT NULL, a INT" {
		t.Errorf("columns: %s", got)
	}
	if !slices.Equal(d.PrimaryKey, []string{"k2", "k1"}) || !slices.Equal(d.BucketKey, []string{"k2", "k1"}) || d.BucketCount != 1 {
		t.Errorf("key %v, bucket key %v, buckets %d", d.PrimaryKey, d.BucketKey, d.BucketCount)
	}
	if d.Properties["table.datalake.freshness"] != "30s" || d.CustomProperties["paimon.data-file.thin-mode"] != "true" {
		t.Errorf("properties %v, custom %v", d.Properties, d.CustomProperties)
	}
	d = mustJudge(t, sampleInput(t, "append_unaware_evolved", generation10)).Descriptor
	if d.BucketCount != 0 || d.BucketKey != nil || len(d.PrimaryKey) > 0 {
		t.Errorf("append table: buckets %d, bucket key %v, key %v", d.BucketCount, d.BucketKey, d.PrimaryKey)
	}
}
