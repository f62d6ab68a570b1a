package promotion

import (
	"slices"
	"strings"
	"testing"
)

func TestOptionVerdicts(t *testing.T) {
	const (
		acc, must, mir, rej, none, unk = OptionAccepted, OptionMustSet, OptionMirrored, OptionRejected, OptionNoInfluence, OptionUnvalidated
	)
	cases := []struct {
		key, value string
		class      OptionClass
		fix        string // part of the Fix; "" where there is no problem
	}{
		{"merge-engine", "deduplicate", mir, ""},
		{"merge-engine", "partial-update", rej, "ALTER TABLE refuses"},
		{"merge-engine", "aggregation", rej, "ALTER TABLE refuses"},
		{"merge-engine", "first-row", rej, "ALTER TABLE refuses"},
		{"fields.v.aggregate-function", "sum", none, ""},
		{"fields.v.stats-mode", "none", none, ""},
		{"sequence.field", "v", rej, "RESET ('sequence.field');"},
		{"sequence.field.sort-order", "descending", none, ""},
		{"sequence.snapshot-ordering", "true", rej, "ALTER TABLE refuses"},
		{"ignore-delete", "true", rej, "ALTER TABLE refuses"},
		{"ignore-delete", "false", none, ""},
		{"deduplicate.ignore-delete", "TRUE", rej, "ALTER TABLE refuses"},
		{"first-row.ignore-delete", "true", rej, "ALTER TABLE refuses"},
		{"partial-update.ignore-delete", "true", rej, "ALTER TABLE refuses"},
		{"ignore-update-before", "true", rej, "ALTER TABLE refuses"},
		{"rowkind.field", "v", rej, "ALTER TABLE refuses"},
		{"aggregation.remove-record-on-delete", "true", rej, "ALTER TABLE refuses"},
		{"aggregation.remove-record-on-delete", "false", mir, ""},
		{"partial-update.remove-record-on-sequence-group", "v", rej, "ALTER TABLE refuses"},
		{"bucket-function.type", "default", mir, ""},
		{"bucket-function.type", "mod", rej, "ALTER TABLE refuses"},
		{"bucket-function.type", "hive", rej, "ALTER TABLE refuses"},
		{"deletion-vectors.enabled", "false", acc, ""},
		{"deletion-vectors.merge-on-read", "true", rej, "RESET ('deletion-vectors.merge-on-read');"},
		{"row-tracking.enabled", "true", mir, ""},
		{"data-file.thin-mode", "true", mir, ""},
		{"data-file.path-directory", "data", mir, ""},
		{"index-file-in-data-file-dir", "true", mir, ""},
		{"force-lookup", "true", mir, ""},
		{"data-evolution.enabled", "true", rej, "ALTER TABLE refuses"},
		{"pk-clustering-override", "true", rej, "ALTER TABLE refuses"},
		{"blob-field", "v", rej, "ALTER TABLE refuses"},
		{"primary-key.nullable", "true", rej, "ALTER TABLE refuses"},
		{"file.format", "orc", acc, ""},
		{"file.format", "lance", rej, "RESET ('file.format');"},
		{"manifest.format", "orc", rej, "RESET"},
		{"type", "table", acc, ""},
		{"type", "format-table", rej, "ALTER TABLE refuses"},
		{"type", "materialized-table", rej, "ALTER TABLE refuses"},
		{"branch", "b1", rej, "RESET ('branch');"},
		{"branch", "main", none, ""},
		{"query-auth.enabled", "true", rej, "RESET"},
		{"chain-table.enabled", "true", rej, "RESET"},
		{"scan.snapshot-id", "3", rej, "RESET ('scan.snapshot-id');"},
		{"scan.tag-name", "x", rej, "RESET"},
		{"scan.version", "x", rej, "RESET"},
		{"scan.fallback-branch", "b1", rej, "RESET"},
		{"scan.mode", "from-snapshot", rej, "RESET"},
		{"scan.mode", "default", none, ""},
		{"scan.ignore-lost-files", "true", rej, "RESET"},
		{"scan.something-new", "1", rej, "RESET"},
		{"scan.parallelism", "4", none, ""},
		{"scan.manifest.parallelism", "4", none, ""},
		{"incremental-between", "1,2", rej, "RESET"},
		{"record-level.expire-time", "1 h", must, "ALTER TABLE `db`.`t` RESET ('record-level.expire-time');"},
		{"record-level.time-field", "v", none, ""},
		{"partition.expiration-time", "1 d", must, "acknowledged_properties"},
		{"partition.expiration-strategy", "update-time", none, ""},
		{"commit.callbacks", "a.B", must, "acknowledged_properties"},
		{"metadata.iceberg.storage", "hadoop-catalog", must, "acknowledged_properties"},
		{"metadata.iceberg.storage", "disabled", none, ""},
		{"metadata.iceberg.uri", "x", none, ""},
		{"upsert-key", "v", rej, "RESET"},
		{"write.sequence-number-init-mode", "snapshot", rej, "RESET"},
		{"write.batch-size", "10", none, ""},
		{"changelog-producer", "lookup", acc, ""},
		{"write-only", "true", acc, ""},
		{"snapshot.time-retained", "2 h", acc, ""},
		{"partition.default-name", "none", acc, ""},
		{"data-file.external-paths", "s3://x", acc, ""},
		{"num-levels", "6", none, ""},
		{"manifest.merge-min-count", "2", none, ""},
		{"file.compression", "snappy", none, ""},
		{"file-index.bloom-filter.columns", "v", none, ""},
		{"parquet.enable.dictionary", "false", none, ""},
		{"orc.timestamp-ltz.legacy.type", "false", acc, ""},
		{"lakestream.id", "1", acc, ""},
		{"write.compaction-skip", "true", acc, ""},
		{"file.format.per.level", "0:avro,5:parquet", acc, ""},
		{"file.format.per.level", "0:avro,5:lance", rej, "RESET ('file.format.per.level');"},
		{"file.format.per.level", "avro", rej, "RESET"},
		{"fields.v.map.storage-layout", "default", none, ""},
		{"fields.v.map.storage-layout", "shared-shredding", rej, "RESET ('fields.v.map.storage-layout');"},
		{"parquet.encryption.column.keys", "k:v", rej, "RESET"},
		{"orc.encrypt", "pii:v", rej, "RESET"},
		{"log.scan", "latest", rej, "RESET ('log.scan');"},
		{"log.scan.timestamp-millis", "1", rej, "RESET"},
		{"log.system", "kafka", rej, "RESET ('log.system');"},
		{"log.system", "none", none, ""},
		{"scan.bucket", "1", rej, "RESET ('scan.bucket');"},
		{"batch-scan-mode", "compact", rej, "RESET"},
		{"batch-scan-mode", "none", none, ""},
		{"stream-scan-mode", "file-monitor", rej, "RESET"},
		{"key-value.sequence_number.enabled", "true", rej, "RESET"},
		{"read.changelog", "true", rej, "RESET"},
		{"commit.strict-mode.last-safe-snapshot", "5", must, "RESET ('commit.strict-mode.last-safe-snapshot');"},
		{"commit.strict-mode.last-safe-snapshot", "-1", none, ""},
		{"visibility-callback.enabled", "true", must, "acknowledged_properties"},
		{"add-column-before-partition", "true", must, "RESET ('add-column-before-partition');"},
		{"pk-btree.index.columns", "v", must, "acknowledged_properties"},
		{"tag.callbacks", "a.B", must, "acknowledged_properties"},
		{"write-mode", "append-only", none, ""},
		{"owner", "me", none, ""},
		{"warehouse", "x", none, ""},
		{"team.owner", "me", unk, ""},
	}
	for _, c := range cases {
		t.Run(c.key+"="+c.value, func(t *testing.T) {
			in := plainInput(t)
			in.Schema.Options[c.key] = c.value
			j := mustJudge(t, in)
			if !slices.Contains(j.Options[c.class], c.key) {
				t.Errorf("not of class %s: %v", c.class, j.Options)
			}
			k := slices.IndexFunc(j.Problems, func(p Problem) bool { return p.Rule == "option."+c.key })
			if c.fix == "" {
				if k >= 0 || j.Verdict != VerdictAccept {
					t.Errorf("verdict %s, problems %v", j.Verdict, Problems(j.Problems))
				}
				return
			}
			if k < 0 {
				t.Fatalf("no problem of rule option.%s: %v", c.key, rulesOf(j))
			}
			p := j.Problems[k]
			if p.Severity != SeverityError || !slices.Equal(p.Attribute, []string{"table"}) || p.PrepareFixes ||
				p.Summary != "The source's option "+c.key+" cannot be promoted" || p.Why == "" || p.Required == "" {
				t.Errorf("problem %+v", p)
			}
			if p.Found != c.key+" = "+c.value || !strings.Contains(p.Fix, c.fix) {
				t.Errorf("found %q, fix %q", p.Found, p.Fix)
			}
			if j.Verdict != VerdictReject {
				t.Errorf("verdict %s", j.Verdict)
			}

			in.Snapshot, in.Plan = nil, nil // ALTER changes everything on an empty table
			if p := mustJudge(t, in).Problems[0]; !strings.Contains(p.Fix, "RESET ('"+c.key+"')") {
				t.Errorf("fix on an empty table %q", p.Fix)
			}
		})
	}
}

func TestOptionsThatGoTogether(t *testing.T) {
	in := plainInput(t)
	in.Schema.Options["merge-engine"] = "aggregation"
	in.Schema.Options["fields.v.aggregate-function"] = "max"
	j := mustJudge(t, in)
	check(t, "rejected", []string{"merge-engine", "fields.v.aggregate-function"}, j.Options[OptionRejected])
	check(t, "rules", []string{"option.merge-engine"}, rulesOf(j))
}

// TestMirrors: given to Fluss 1.0 as text, not to 0.9.
func TestMirrors(t *testing.T) {
	in := plainInput(t)
	in.Schema.Options["merge-engine"] = "deduplicate"
	j := mustJudge(t, in)
	if got := j.Descriptor.CustomProperties; len(got) != 1 || got["paimon.merge-engine"] != "deduplicate" {
		t.Errorf("mirrors on 1.0: %v", got)
	}
	in.Generation, in.Layout = generation09, layoutLegacy
	j = mustJudge(t, in)
	if got := j.Descriptor.CustomProperties; len(got) != 0 || !slices.Contains(j.Options[OptionAccepted], "merge-engine") {
		t.Errorf("mirrors on 0.9: %v", got)
	}
}

func TestUnvalidated(t *testing.T) {
	in := plainInput(t)
	in.Schema.Options["team.owner"] = "me"
	j := mustJudge(t, in)
	check(t, "unvalidated", []string{"team.owner"}, j.Unvalidated)
	check(t, "allowed", nil, rulesOf(j))
	in.DenyUnvalidated = true
	check(t, "denied", []string{"option.unvalidated"}, rulesOf(mustJudge(t, in)))
	in.Acknowledged = []string{"team.owner"}
	j = mustJudge(t, in)
	check(t, "acknowledged", nil, rulesOf(j))
	check(t, "still reported", []string{"team.owner"}, j.Unvalidated)

	in = plainInput(t)
	in.Schema.Options["partition.expiration-time"] = "1 d"
	in.Acknowledged = []string{"partition.expiration-time"}
	j = mustJudge(t, in)
	check(t, "a question answered", nil, rulesOf(j))
	check(t, "accepted", []string{"bucket", "bucket-key", "partition.expiration-time", "partition.legacy-name"}, j.Options[OptionAccepted])
}

// TestOptionTable: no option twice, every one with its reason.
func TestOptionTable(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range [][]optionRule{optionRulesJudged, optionRulesFree} {
		for _, r := range group {
			if r.Why == "" || r.Class == "" || strings.Fields(r.Keys) == nil {
				t.Errorf("rule of %s lacks class or reason", r.Keys)
			}
			if (r.Bad != nil || r.With != "") != (r.Else != "") {
				t.Errorf("rule of %s: values that are not offending need a class, and only they", r.Keys)
			}
			if r.Bad != nil && r.When == "" {
				t.Errorf("rule of %s: which values is not said", r.Keys)
			}
			if r.With != "" && optionIndex.exact[r.With] == nil {
				t.Errorf("rule of %s goes with %s, which has no rule", r.Keys, r.With)
			}
			for _, k := range strings.Fields(r.Keys) {
				if seen[k] {
					t.Errorf("option %s has two rules", k)
				}
				seen[k] = true
			}
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d options are known", len(seen))
	}
}

func TestMatchPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         bool
	}{
		{"a.*", "a.b", true}, {"a.*", "a.", false}, {"a.*", "b.a", false}, {"fields.*.x", "fields.a.b.x", true},
		{"fields.*.x", "fields.x", false}, {"fields.*.x", "fields.a.y", false}, {"*", "k", true}, {"*", "", false}, {"a", "a", true},
	} {
		if got := matchPattern(c.pattern, c.key); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.key, got)
		}
	}
}
