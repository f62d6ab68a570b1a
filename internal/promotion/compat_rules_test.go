package promotion

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

func parseType(t testing.TB, s string) paimon.DataType {
	t.Helper()
	if !strings.HasPrefix(s, "{") {
		s = fmt.Sprintf("%q", s)
	}
	d, err := paimon.ParseType([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plainInput is a sound key table: id INT, p STRING, v STRING, partitioned by p,
// two buckets, one partition with one file a bucket.
func plainInput(t testing.TB) JudgeInput {
	s := &paimon.Schema{Version: 3, ID: 4, HighestFieldID: 2, PrimaryKeys: []string{"id", "p"}, PartitionKeys: []string{"p"},
		Fields: []paimon.Field{
			{ID: 0, Name: "id", Type: parseType(t, "INT NOT NULL")},
			{ID: 1, Name: "p", Type: parseType(t, "STRING NOT NULL")},
			{ID: 2, Name: "v", Type: parseType(t, "STRING")},
		},
		Options: map[string]string{"bucket": "2", "bucket-key": "id", "partition.legacy-name": "false"},
	}
	snap := &paimon.Snapshot{Version: 3, ID: 7, SchemaID: 4}
	return JudgeInput{Name: TableName{"db", "t"}, Schema: s, Snapshot: snap, Generation: generation10, PrepareAllowed: true,
		Plan: &paimon.Plan{Snapshot: snap, StatsOf: []string{"v"}, Partitions: []*paimon.PartitionFiles{plainPartition("a")}}}
}

func plainPartition(values ...any) *paimon.PartitionFiles {
	pf := &paimon.PartitionFiles{Partition: paimon.Partition{Values: values}, Files: 2, Records: 2}
	for b := range 2 {
		pf.Buckets = append(pf.Buckets, &paimon.BucketFiles{Bucket: b, TotalBuckets: 2,
			Files: []paimon.DataFile{{Name: fmt.Sprintf("data-%d.parquet", b), RowCount: 1, Level: 5, TotalBuckets: 2, SchemaID: 4}}})
	}
	return pf
}

func set(key, value string) func(testing.TB, *JudgeInput) {
	return func(_ testing.TB, in *JudgeInput) { in.Schema.Options[key] = value }
}

func unset(keys ...string) func(testing.TB, *JudgeInput) {
	return func(_ testing.TB, in *JudgeInput) {
		for _, k := range keys {
			delete(in.Schema.Options, k)
		}
	}
}

func property(key, value string) func(testing.TB, *JudgeInput) {
	return func(_ testing.TB, in *JudgeInput) { in.TableProperties = map[string]string{key: value} }
}

// column gives column v another type.
func column(typ string) func(testing.TB, *JudgeInput) {
	return func(t testing.TB, in *JudgeInput) { in.Schema.Fields[2].Type = parseType(t, typ) }
}

func named(name string) func(testing.TB, *JudgeInput) {
	return func(_ testing.TB, in *JudgeInput) { in.Schema.Fields[2].Name = name }
}

// partitionBy gives the partition column another type and value.
func partitionBy(typ string, value any, rest ...func(testing.TB, *JudgeInput)) func(testing.TB, *JudgeInput) {
	return func(t testing.TB, in *JudgeInput) {
		in.Schema.Fields[1].Type = parseType(t, typ)
		in.Plan.Partitions = []*paimon.PartitionFiles{plainPartition(value)}
		for _, r := range rest {
			r(t, in)
		}
	}
}

// servers says how many tablet servers are alive, and the default of replicas.
func servers(alive, replicas int) func(testing.TB, *JudgeInput) {
	return func(_ testing.TB, in *JudgeInput) { in.TabletServers, in.Replication = alive, replicas }
}

func all(steps ...func(testing.TB, *JudgeInput)) func(testing.TB, *JudgeInput) {
	return func(t testing.TB, in *JudgeInput) {
		for _, s := range steps {
			s(t, in)
		}
	}
}

// on09 moves the input to Fluss 0.9.
func on09(_ testing.TB, in *JudgeInput) { in.Generation, in.Layout = generation09, layoutLegacy }

// unpartitioned drops the partition column from keys and files.
func unpartitioned(_ testing.TB, in *JudgeInput) {
	in.Schema.PartitionKeys, in.Schema.PrimaryKeys = nil, []string{"id"}
	in.Plan.Partitions = []*paimon.PartitionFiles{plainPartition()}
}

// appendTable drops the primary key.
func appendTable(_ testing.TB, in *JudgeInput) { in.Schema.PrimaryKeys = nil }

func noPrepare(_ testing.TB, in *JudgeInput) { in.PrepareAllowed = false }

func addSystemColumns(_ testing.TB, in *JudgeInput) {
	for _, c := range systemColumns {
		in.Schema.HighestFieldID++
		c.ID = in.Schema.HighestFieldID
		in.Schema.Fields = append(in.Schema.Fields, c)
	}
}

func file(change func(*paimon.DataFile)) func(testing.TB, *JudgeInput) {
	return func(_ testing.TB, in *JudgeInput) { change(&in.Plan.Partitions[0].Buckets[0].Files[0]) }
}

const (
	nestedVarchar = `{"type":"ARRAY","element":"VARCHAR(5)"}`
	varcharKey    = `{"type":"MAP","key":"VARCHAR(5) NOT NULL","value":"INT"}`
)

// ruleCases hits every rule of the rule table at least once.
var ruleCases = []struct {
	rule  string
	input func(testing.TB, *JudgeInput)
	path  string // default "table"
	found string // part of Found
	fix   string // part of Fix
}{
	{rule: "name.database", input: func(_ testing.TB, in *JudgeInput) { in.Name.Database = "my db" }, path: "database", found: `"my db"`, fix: "CREATE DATABASE"},
	{rule: "name.table", input: func(_ testing.TB, in *JudgeInput) { in.Name.Table = "__a.b" }, found: `"__a.b"`, fix: "ALTER TABLE `db`.`__a.b` RENAME TO `a_b`;"},
	{rule: "layout.required", input: func(_ testing.TB, in *JudgeInput) { in.Generation = generation09 }, path: "lake_layout", fix: `lake_layout = "legacy"`},
	{rule: "layout.not-legacy", input: func(_ testing.TB, in *JudgeInput) { in.Layout = layoutLegacy }, path: "lake_layout", fix: "remove"},
	{rule: "layout.union-read", input: on09},
	{rule: "layout.date-lookup", input: all(on09, partitionBy("DATE NOT NULL", paimon.DateValue(1))), found: `"p" DATE`},
	{rule: "column.reserved", input: func(_ testing.TB, in *JudgeInput) { in.Schema.Fields[2].Name = "__offset" }, found: "__offset", fix: "RENAME `__offset` TO `offset_1`"},
	{rule: "column.reserved", input: all(on09, addSystemColumns, func(_ testing.TB, in *JudgeInput) { in.Schema.Fields[3].Type.Kind = paimon.BigInt }), found: "__bucket"},
	{rule: "column.system", input: addSystemColumns, found: "__timestamp", fix: "DROP (`__bucket`, `__offset`, `__timestamp`)"},
	{rule: "column.system-missing", input: all(on09, noPrepare), found: "__bucket", fix: "ADD `__bucket` INT;"},
	{rule: "type.length", input: all(column("VARCHAR(50)"), noPrepare), found: `"v" VARCHAR(50)`, fix: "MODIFY `v` STRING;"},
	{rule: "type.length", input: all(partitionBy("VARCHAR(8) NOT NULL", "a"), noPrepare), found: `"p" VARCHAR(8)`, fix: "prepare_source"},
	{rule: "type.length", input: all(column(nestedVarchar), noPrepare), found: `"v" ARRAY<VARCHAR(5)>`, fix: "prepare_source"},
	{rule: "type.map-key-length", input: column(varcharKey), found: `"v.key" VARCHAR(5) NOT NULL`},
	{rule: "type.time", input: column("TIME(3)"), found: `"v" TIME(3)`},
	{rule: "type.time", input: column(`{"type":"ROW","fields":[{"id":9,"name":"x","type":"TIME(6)"}]}`), found: `"v.x" TIME(6)`},
	{rule: "type.map-key", input: column(`{"type":"MAP","key":"INT","value":"INT"}`), found: "MAP<INT, INT>"},
	{rule: "type.map-key", input: column(`{"type":"ARRAY","element":{"type":"MAP","key":"INT","value":"INT"}}`), found: `"v.element"`},
	{rule: "type.avro-precision", input: all(column("TIMESTAMP(9)"), set("file.format", "avro")), found: `"v" TIMESTAMP(9), under file.format = avro`, fix: "SET ('file.format' = 'parquet');"},
	{rule: "type.avro-precision", input: all(column(`{"type":"ARRAY","element":"TIMESTAMP_LTZ(7)"}`), set("file.format.per.level", "0:avro,5:parquet")), found: `"v.element"`, fix: "RESET ('file.format.per.level');"},
	{rule: "type.avro-name", input: all(named("a-b"), set("file.format", "avro")), found: `"a-b", under file.format = avro`, fix: "SET ('file.format' = 'parquet');"},
	{rule: "type.avro-name", input: all(named("1x"), set("file.format.per.level", "5:avro")), found: `"1x"`, fix: "RESET ('file.format.per.level');"},
	{rule: "type.avro-name", input: all(column(`{"type":"ROW","fields":[{"id":9,"name":"a b","type":"INT"}]}`), set("file.format", "avro")), found: `"v.a b"`},
	{rule: "type.unsupported", input: column(`{"type":"MULTISET","element":"INT"}`), found: "MULTISET<INT>"},
	{rule: "type.unsupported", input: column("VARIANT")},
	{rule: "type.unsupported", input: column("BLOB")},
	{rule: "type.unsupported", input: column(`{"type":"VECTOR","element":"FLOAT","length":3}`)},
	{rule: "type.nested-default", input: column(`{"type":"ROW","fields":[{"id":9,"name":"x","type":"INT","defaultValue":"1"}]}`), found: `"x"`},
	{rule: "type.key-column", input: all(appendTable, set("bucket-key", "v"), column(`{"type":"ARRAY","element":"INT"}`)), found: `"v" ARRAY<INT>`},
	{rule: "type.before-1970", input: func(t testing.TB, in *JudgeInput) { *in = sampleInput(t.(*testing.T), "avro_pk", generation10) }, found: "from 1969-12-31 23:59:59.999999 on", fix: "SELECT * FROM `db`.`avro_pk` WHERE `ts6`"},
	{rule: "key.partition-columns", input: func(_ testing.TB, in *JudgeInput) { in.Schema.PrimaryKeys = []string{"id"} }, found: `"p"`},
	{rule: "key.only-partitions", input: func(_ testing.TB, in *JudgeInput) { in.Schema.PrimaryKeys = []string{"p"} }, found: `"p"`},
	{rule: "key.nullable", input: func(t testing.TB, in *JudgeInput) { in.Schema.Fields[0].Type = parseType(t, "INT") }, found: `"id" INT`},
	{rule: "bucket.invalid", input: set("bucket", "many"), found: "many"},
	{rule: "bucket.dynamic", input: set("bucket", "-1"), found: "bucket = -1"},
	{rule: "bucket.dynamic", input: unset("bucket"), found: "not set"},
	{rule: "bucket.cross-partition", input: all(set("bucket", "-1"), func(_ testing.TB, in *JudgeInput) { in.Schema.PrimaryKeys = []string{"id"} }), found: "bucket = -1"},
	{rule: "bucket.postponed", input: set("bucket", "-2"), found: "bucket = -2"},
	{rule: "bucket.append-without-key", input: all(appendTable, unset("bucket-key")), found: "bucket = 2"},
	{rule: "bucket.key", input: set("bucket-key", "id, p"), found: `" p" is not a column`},
	{rule: "bucket.key", input: set("bucket-key", "id,p"), found: `"p" is a partition column`},
	{rule: "bucket.key", input: set("bucket-key", "v"), found: `"v" is not part of the primary key`},
	{rule: "bucket.key", input: all(appendTable, set("bucket", "-1")), found: "no buckets"},
	{rule: "bucket.limit", input: func(_ testing.TB, in *JudgeInput) { in.MaxBuckets = 1 }, found: "2 buckets", fix: "max.bucket.num"},
	{rule: "partition.type", input: partitionBy("DECIMAL(3, 1) NOT NULL", nil), found: "DECIMAL(3, 1)"},
	{rule: "partition.type", input: partitionBy("BYTES NOT NULL", []byte{1}), found: "BYTES"},
	{rule: "partition.legacy-name", input: partitionBy("DATE NOT NULL", paimon.DateValue(1), unset("partition.legacy-name")), found: "not set"},
	{rule: "partition.legacy-name", input: partitionBy("TIMESTAMP(3) NOT NULL", paimon.TimestampValue{}, set("partition.legacy-name", "true")), found: "= true"},
	{rule: "partition.legacy-name", input: func(t testing.TB, in *JudgeInput) {
		*in = sampleInput(t.(*testing.T), "pk_part_date_legacy", generation10)
	}, found: "partition.legacy-name is not set; the files in d=-1 would be looked for in d=1969-12-31", fix: "WITH ('partition.legacy-name' = 'false')"},
	{rule: "partition.time-zone", input: partitionBy("TIMESTAMP_LTZ(3) NOT NULL", paimon.TimestampValue{}), found: "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
	{rule: "partition.null", input: partitionBy("STRING NOT NULL", nil), found: "__DEFAULT_PARTITION__"},
	{rule: "partition.null", input: partitionBy("STRING NOT NULL", "  "), found: "__DEFAULT_PARTITION__"},
	{rule: "partition.null", input: partitionBy("STRING NOT NULL", "none", set("partition.default-name", "none")), found: "p=none"},
	{rule: "partition.value", input: partitionBy("STRING NOT NULL", "a.b"), path: "partitions", found: "p=a.b"},
	{rule: "partition.value", input: partitionBy("STRING NOT NULL", "__x"), path: "partitions"},
	{rule: "partition.value", input: partitionBy("STRING NOT NULL", strings.Repeat("x", 201)), path: "partitions"},
	{rule: "partition.left-out", input: partitionBy("STRING NOT NULL", "a.b", func(_ testing.TB, in *JudgeInput) { in.Selection = []map[string]string{} }), path: "partitions", found: "p=a.b"},
	{rule: "partition.text", input: partitionBy("TIMESTAMP(3) NOT NULL", paimon.TimestampValue{}), found: "p TIMESTAMP(3)"},
	{rule: "partition.limit", input: func(_ testing.TB, in *JudgeInput) {
		in.MaxPartitions = 1
		in.Plan.Partitions = append(in.Plan.Partitions, plainPartition("b"))
	}, path: "partitions", found: "2 partitions", fix: "max.partition.num"},
	{rule: "partition.selection", input: func(_ testing.TB, in *JudgeInput) { in.Selection = []map[string]string{{"p": "z"}} }, path: "partitions", found: "p=z"},
	{rule: "partition.selection", input: all(unpartitioned, func(_ testing.TB, in *JudgeInput) { in.Selection = []map[string]string{{"p": "a"}} }), path: "partitions", fix: "remove"},
	{rule: "partition.path", input: func(t testing.TB, in *JudgeInput) {
		*in = sampleInput(t.(*testing.T), "pk_part_date", generation10)
		in.FileDir = func(context.Context, paimon.Partition, int, paimon.DataFile) (string, error) { return "d=-1/", nil }
	}, found: "d=-1/ instead of d=1969-12-31/"},
	{rule: "files.total-buckets", input: file(func(f *paimon.DataFile) { f.TotalBuckets = 4 }), found: "[4]", fix: "CALL sys.rescale(`table` => 'db.t', bucket_num => 2"},
	{rule: "files.bucket", input: func(_ testing.TB, in *JudgeInput) { in.Plan.Partitions[0].Buckets[1].Bucket = 2 }, found: "[2]"},
	{rule: "files.level-0", input: all(set("deletion-vectors.enabled", "true"), file(func(f *paimon.DataFile) { f.Level = 0 })), found: "1 files in level 0", fix: "CALL sys.compact(`table` => 'db.t', compact_strategy => 'full');"},
	{rule: "files.partial-columns", input: all(set("data-evolution.enabled", "true"), file(func(f *paimon.DataFile) { f.HasWriteCols, f.WriteCols = true, []string{"v"} })), found: "1 files"},
	{rule: "files.external", input: file(func(f *paimon.DataFile) { p := "s3://x/y"; f.ExternalPath = &p }), found: "1 files"},
	{rule: "files.deletion-vectors", input: set("deletion-vectors.enabled", "true"), fix: `"table.datalake.auto-compaction" = "true"`},
	{rule: "option.deletion-vectors.enabled", input: all(set("deletion-vectors.enabled", "true"), partitionBy("INT NOT NULL", int32(1))), found: `"p" INT`},
	{rule: "option.partition.legacy-name", input: all(unset("partition.legacy-name"), noPrepare), found: "not set", fix: "SET ('partition.legacy-name' = 'false');"},
	{rule: "option.bucket-key", input: all(unset("bucket-key"), noPrepare), found: "not set", fix: "prepare_source = true"},
	{rule: "option.bucket", input: all(appendTable, unset("bucket", "bucket-key"), noPrepare), found: "means -1", fix: "prepare_source = true"},
	{rule: "option.bucket", input: all(appendTable, unset("bucket", "bucket-key"), noPrepare, func(_ testing.TB, in *JudgeInput) { in.Snapshot, in.Plan = nil, nil }), fix: "SET ('bucket' = '-1');"},
	{rule: "option.bucket", input: all(set("bucket", "02"), noPrepare), found: "bucket = 02"},
	{rule: "option.changelog-producer", input: all(on09, noPrepare), found: "not set", fix: "SET ('changelog-producer' = 'input');"},
	{rule: "option.fluss", input: all(on09, noPrepare), fix: "prepare_source = true"},
	{rule: "option.fluss-tied", input: set("fluss.table.datalake.enabled", "true"), found: "fluss.table.datalake.enabled = true", fix: "acknowledged_properties"},
	{rule: "option.fluss-was-tied", input: set("fluss.table.replication.factor", "1"), found: "fluss.table.replication.factor"},
	{rule: "option.unvalidated", input: all(set("team.owner", "me"), func(_ testing.TB, in *JudgeInput) { in.DenyUnvalidated = true }), path: "unvalidated_properties", found: "team.owner = me", fix: "acknowledged_properties"},
	{rule: "option.unvalidated", input: all(set("fs.s3a.secret.key", "hush"), func(_ testing.TB, in *JudgeInput) { in.DenyUnvalidated = true }), path: "unvalidated_properties", found: "fs.s3a.secret.key = (not shown)"},
	{rule: "property.owned", input: property("table.datalake.enabled", "true"), path: "table_properties/table.datalake.enabled"},
	{rule: "property.owned", input: property("paimon.file.format", "orc"), path: "table_properties/paimon.file.format"},
	{rule: "property.owned", input: property("bucket.num", "4"), path: "table_properties/bucket.num"},
	{rule: "property.meaning", input: property("table.merge-engine", "first_row"), path: "table_properties/table.merge-engine"},
	{rule: "property.meaning", input: property("table.auto-partition.key", "p"), path: "table_properties/table.auto-partition.key"},
	{rule: "property.meaning", input: property("table.auto-partition.num-retention", "7"), path: "table_properties/table.auto-partition.num-retention", fix: "list the others in partitions"},
	{rule: "property.unknown", input: property("table.nonsense", "1"), path: "table_properties/table.nonsense"},
	{rule: "property.unknown", input: property("team.owner", "me"), path: "table_properties/team.owner"},
	{rule: "property.unknown", input: property("", "x"), path: "table_properties/"},
	{rule: "property.unknown", input: all(on09, property("table.log.local-ttl", "1h")), path: "table_properties/table.log.local-ttl"},
	{rule: "property.unknown", input: all(appendTable, property("table.delete.behavior", "IGNORE")), path: "table_properties/table.delete.behavior"},
	{rule: "property.replication", input: all(property("table.replication.factor", "3"), servers(2, 1)), path: "table_properties/table.replication.factor",
		found: "table.replication.factor = 3, and 2 live tablet servers", fix: `table_properties = { "table.replication.factor" = "2" }`},
	{rule: "property.replication", input: servers(1, 3), path: "table_properties", found: "default.replication.factor = 3", fix: "start more tablet servers"},
	{rule: "property.value", input: property("table.replication.factor", "0"), path: "table_properties/table.replication.factor"},
	{rule: "property.value", input: property("table.datalake.freshness", "soon"), path: "table_properties/table.datalake.freshness"},
}

func TestRules(t *testing.T) {
	if p := mustJudge(t, plainInput(t)).Problems; len(p) > 0 {
		t.Fatalf("the plain input has problems: %v", Problems(p))
	}
	for i, c := range ruleCases {
		t.Run(fmt.Sprintf("%d %s", i, c.rule), func(t *testing.T) {
			in := plainInput(t)
			c.input(t, &in)
			if in.Plan != nil {
				in.Plan.StatsOf = planOptions(in.Schema).Stats // as the plan of that schema has
			}
			j := mustJudge(t, in)
			k := slices.IndexFunc(j.Problems, func(p Problem) bool { return p.Rule == c.rule })
			if k < 0 {
				t.Fatalf("not reported; reported are %v", rulesOf(j))
			}
			p := j.Problems[k]
			path := c.path
			if path == "" {
				path = "table"
			}
			if got := strings.Join(p.Attribute, "/"); got != path {
				t.Errorf("path %q, want %q", got, path)
			}
			rule, static := ruleTable[c.rule]
			if static && (p.Summary != rule.Summary || p.Severity != rule.Severity || p.PrepareFixes != rule.Prepare) {
				t.Errorf("got %q, severity %d, prepare %v; the rule says %+v", p.Summary, p.Severity, p.PrepareFixes, rule)
			}
			if p.Summary == "" || p.Severity == 0 || p.Why == "" {
				t.Errorf("summary %q, severity %d, why %q", p.Summary, p.Severity, p.Why)
			}
			if p.Severity == SeverityError && (p.Found == "" || p.Required == "" || p.Fix == "") {
				t.Errorf("an error must say found %q, required %q, fix %q", p.Found, p.Required, p.Fix)
			}
			if !strings.Contains(p.Found, c.found) {
				t.Errorf("found %q, want a part %q", p.Found, c.found)
			}
			if !strings.Contains(p.Fix, c.fix) {
				t.Errorf("fix %q, want a part %q", p.Fix, c.fix)
			}
			want := VerdictReject
			if p.PrepareFixes {
				want = VerdictPrepare
			}
			if p.Severity == SeverityError && j.Verdict != want && j.Verdict != VerdictReject {
				t.Errorf("verdict %s, want %s", j.Verdict, want)
			}
		})
	}
	seen := map[string]bool{}
	for _, c := range ruleCases {
		seen[c.rule] = true
	}
	for _, r := range compatRules {
		if !seen[r.ID] {
			t.Errorf("no case for the rule %s", r.ID)
		}
	}
}

// TestRulesAreTold: summaries are static and unique, and every rule has its
// words for the guide.
func TestRulesAreTold(t *testing.T) {
	summaries := map[string]string{}
	for _, r := range compatRules {
		if r.Summary == "" || r.What == "" || r.Why == "" || r.Severity == 0 {
			t.Errorf("rule %s lacks words: %+v", r.ID, r)
		}
		if other, ok := summaries[r.Summary]; ok {
			t.Errorf("rules %s and %s have one summary", r.ID, other)
		}
		summaries[r.Summary] = r.ID
	}
	if len(ruleTable) != len(compatRules) {
		t.Errorf("%d rules, %d IDs", len(compatRules), len(ruleTable))
	}
}

// TestNoChangeThatBreaksReaders: what Paimon could not read old files with is
// never proposed.
func TestNoChangeThatBreaksReaders(t *testing.T) {
	for _, input := range []func(testing.TB, *JudgeInput){
		column("TIME(3)"), column(varcharKey), column(`{"type":"MAP","key":"INT","value":"INT"}`),
		partitionBy("DATE NOT NULL", paimon.DateValue(1), unset("partition.legacy-name")),
		set("bucket", "-1"), set("bucket", "-2"),
	} {
		in := plainInput(t)
		input(t, &in)
		j := mustJudge(t, in)
		if len(j.Changes) > 0 || len(j.Statements) > 0 || j.Verdict != VerdictReject {
			t.Errorf("rules %v: verdict %s, changes %v, statements %v", rulesOf(j), j.Verdict, j.Changes, j.Statements)
		}
	}
}

// TestEmptyTable: without a snapshot no path can move, and ALTER does it all.
func TestEmptyTable(t *testing.T) {
	in := plainInput(t)
	partitionBy("DATE NOT NULL", paimon.DateValue(1), unset("partition.legacy-name", "bucket-key"))(t, &in)
	in.Snapshot, in.Plan = nil, nil
	j := mustJudge(t, in)
	check(t, "changes", []string{chL, chK("id")}, changesOf(j))
	check(t, "statements", []string{
		"ALTER TABLE `db`.`t` SET ('bucket-key' = 'id');", "ALTER TABLE `db`.`t` SET ('partition.legacy-name' = 'false');",
	}, j.Statements)
	if len(j.Partitions) > 0 {
		t.Errorf("partitions %v", j.Partitions)
	}
}

func TestJudgeRefusesToGuess(t *testing.T) {
	in := plainInput(t)
	in.Generation = "2.0"
	if _, err := Judge(context.Background(), in); err == nil || !strings.Contains(err.Error(), `"2.0"`) {
		t.Errorf("an unknown generation: %v", err)
	}
	if _, err := Judge(context.Background(), JudgeInput{Generation: generation10}); err == nil {
		t.Error("no schema was accepted")
	}
}

// TestPropertiesThatMayBeSet are passed on to the Fluss table.
func TestPropertiesThatMayBeSet(t *testing.T) {
	in := plainInput(t)
	in.TableProperties = map[string]string{
		"table.datalake.freshness": "5min", "table.datalake.auto-compaction": "true", "table.datalake.auto-expire-snapshot": "FALSE",
		"table.kv.format": "compacted", "table.kv.standby-replica.enabled": "false", "table.log.format": "ARROW", "table.log.ttl": "7 d",
		"table.log.local-ttl": "1h", "table.log.tiered.local-segments": "2", "table.statistics.columns": "v", "table.replication.factor": "3",
		"table.delete.behavior": "DISABLE", "table.changelog.image": "FULL", "table.auto-partition.enabled": "false",
	}
	j := mustJudge(t, in)
	check(t, "rules", nil, rulesOf(j))
	for k, v := range in.TableProperties {
		if j.Descriptor.Properties[k] != v {
			t.Errorf("%s is %q in the Fluss table, want %q", k, j.Descriptor.Properties[k], v)
		}
	}
	for _, r := range propertyRules {
		if _, ok := in.TableProperties[r.Key]; ok != (r.Rule == "") {
			t.Errorf("property %s: in this test %v, rule %q", r.Key, ok, r.Rule)
		}
		if r.Rule == "" && r.Form == "" {
			t.Errorf("property %s: its form is not said", r.Key)
		}
	}
}

// TestOwnOptions: the options of the operation under way are no reason to ask.
func TestOwnOptions(t *testing.T) {
	in := plainInput(t)
	maps.Copy(in.Schema.Options, map[string]string{"fluss.table.datalake.enabled": "true", "fluss." + operationProperty: "op-1"})
	if j := mustJudge(t, in); j.Verdict != VerdictReject {
		t.Errorf("another's options: verdict %s", j.Verdict)
	}
	in.OperationID = "op-1"
	if j := mustJudge(t, in); j.Verdict != VerdictAccept || len(j.Problems) > 0 {
		t.Errorf("own options: verdict %s, problems %v", j.Verdict, rulesOf(j))
	}
	in.OperationID, in.Acknowledged = "", []string{"fluss.table.datalake.enabled"}
	if j := mustJudge(t, in); j.Verdict != VerdictAccept {
		t.Errorf("acknowledged: verdict %s, problems %v", j.Verdict, rulesOf(j))
	}
}
