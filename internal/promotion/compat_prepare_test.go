package promotion

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

func mustPrepare(t *testing.T, in JudgeInput, created *fluss.TableInfo) *paimon.Schema {
	t.Helper()
	next, err := PreparedSchema(in.Schema, mustJudge(t, in), in.Generation, created)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestPreparedSchema10(t *testing.T) {
	in := sampleInput(t, "pk_levels", generation10)
	before, err := in.Schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	next := mustPrepare(t, in, nil)
	if next.ID != in.Schema.ID+1 || next.TimeMillis < in.Schema.TimeMillis {
		t.Errorf("ID %d, time %d", next.ID, next.TimeMillis)
	}
	if next.Options["bucket-key"] != "id" || next.Options["partition.legacy-name"] != "false" || len(next.Options) != len(in.Schema.Options)+2 {
		t.Errorf("options %v", next.Options)
	}
	if after, err := in.Schema.JSON(); err != nil || string(after) != string(before) {
		t.Errorf("the base schema was changed: %s, %v", after, err)
	}
	// The prepared table is accepted as it is.
	in.Schema = next
	j := mustJudge(t, in)
	check(t, "verdict", []string{VerdictAccept}, []string{j.Verdict})
	if again := mustPrepare(t, in, nil); again != nil {
		t.Errorf("prepared twice: %+v", again)
	}
}

func TestPreparedSchemaWidens(t *testing.T) {
	in := plainInput(t)
	column("VARCHAR(50) NOT NULL")(t, &in)
	in.Schema.Fields = append(in.Schema.Fields, paimon.Field{ID: 3, Name: "a b type", Type: parseType(t, "VARBINARY(3)")},
		paimon.Field{ID: 4, Name: "deep", Type: parseType(t, `{"type":"MAP","key":"INT NOT NULL","value":{"type":"ROW NOT NULL","fields":[
			{"id":5,"name":"x","type":"VARCHAR(6) NOT NULL","description":"d"},{"id":6,"name":"y","type":{"type":"ARRAY","element":"VARBINARY(7)"}}]}}`)})
	before := in.Schema.Fields[4].Type.String()
	next := mustPrepare(t, in, nil)
	if got := next.Fields[2].Type.String() + ", " + next.Fields[3].Type.String(); got != "STRING NOT NULL, BYTES" {
		t.Errorf("types %s", got)
	}
	if got := next.Fields[4].Type.String(); got != "MAP<INT NOT NULL, ROW<`x` STRING NOT NULL 'd', `y` ARRAY<BYTES>> NOT NULL>" {
		t.Errorf("nested type %s", got)
	}
	if in.Schema.Fields[2].Type.String() != "VARCHAR(50) NOT NULL" || in.Schema.Fields[4].Type.String() != before {
		t.Error("the base schema was changed")
	}
	if same, diff := SameContent(in.Schema, next, mustJudge(t, in).Changes); !same {
		t.Error(diff)
	}
}

func TestPreparedSchemaRefuses(t *testing.T) {
	in := plainInput(t)
	set("sequence.field", "v")(t, &in)
	if _, err := PreparedSchema(in.Schema, mustJudge(t, in), generation10, nil); err == nil || !strings.Contains(err.Error(), "sequence.field") {
		t.Errorf("a rejected table was prepared: %v", err)
	}
	in = plainInput(t)
	on09(t, &in)
	if _, err := PreparedSchema(in.Schema, mustJudge(t, in), generation09, nil); err == nil {
		t.Error("0.9 without the created table")
	}
	j := &Judgement{Changes: []SourceChange{{What: "something else"}}}
	if _, err := PreparedSchema(in.Schema, j, generation10, nil); err == nil {
		t.Error("an unknown change was made")
	}
	j.Changes[0] = SourceChange{What: "column v type", To: "NONSENSE"}
	if _, err := PreparedSchema(in.Schema, j, generation10, nil); err == nil {
		t.Error("an unknown type was written")
	}
	j.Changes[0] = SourceChange{What: "column none type", To: "INT"}
	if _, err := PreparedSchema(in.Schema, j, generation10, nil); err == nil {
		t.Error("a column that is not there was changed")
	}
}

// created09 is the Fluss table as a 0.9 server describes it.
func created09(j *Judgement, operation string) *fluss.TableInfo {
	d := *j.Descriptor
	d.Properties = map[string]string{"table.datalake.enabled": "false", "table.datalake.format": "paimon", "table.replication.factor": "1",
		"table.kv.format-version": "2", "table.datalake.freshness": "5s", "table.datalake.paimon.warehouse": "/w"}
	d.CustomProperties = map[string]string{operationProperty: operation, "paimon.x": "y"}
	return &fluss.TableInfo{Descriptor: d}
}

func TestPreparedSchema09(t *testing.T) {
	in := sampleInput(t, "py_pk", generation09)
	j := mustJudge(t, in)
	next, err := PreparedSchema(in.Schema, j, generation09, created09(j, "op-1"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bucket": "2", "bucket-key": "id", "partition.legacy-name": "false", "changelog-producer": "input",
		"fluss.table.datalake.enabled": "false", "fluss.table.datalake.format": "paimon", "fluss.table.replication.factor": "1",
		"fluss.table.kv.format-version": "2", "fluss.table.datalake.freshness": "5s", "fluss." + operationProperty: "op-1",
	}
	if same, diff := optionsDifference(want, next.Options); !same {
		t.Error(diff)
	}
	if !endsInSystemColumns(next.Fields) || next.HighestFieldID != in.Schema.HighestFieldID+3 || next.Fields[len(next.Fields)-1].ID != next.HighestFieldID {
		t.Errorf("columns %v, highest ID %d", next.Fields, next.HighestFieldID)
	}
	if same, diff := SameContent(in.Schema, next, j.Changes); !same {
		t.Error(diff)
	}

	if same, diff := SameContent(next, next, j.Changes); !same {
		t.Errorf("changes made before: %s", diff)
	}

	// A later attempt knows the prepared table again: no system columns in the
	// Fluss table, and only the stale options are written anew.
	in.Schema = next
	again := mustJudge(t, in)
	if !again.Prepared || len(again.Descriptor.Columns) != len(j.Descriptor.Columns) {
		t.Errorf("prepared %v, columns %v", again.Prepared, again.Descriptor.Columns)
	}
	check(t, "verdict", []string{VerdictPrepare}, []string{again.Verdict})
	check(t, "changes", []string{"options fluss.*=the properties of the Fluss table to be created"}, changesOf(again))
	check(t, "rules", []string{"layout.union-read", "option.fluss-was-tied"}, rulesOf(again))
	third, err := PreparedSchema(next, again, generation09, created09(again, "op-2"))
	if err != nil {
		t.Fatal(err)
	}
	if third.ID != next.ID+1 || third.Options["fluss."+operationProperty] != "op-2" || len(third.Fields) != len(next.Fields) {
		t.Errorf("ID %d, options %v", third.ID, third.Options)
	}
	if same, err := PreparedSchema(next, again, generation09, created09(again, "op-1")); err != nil || same != nil {
		t.Errorf("equal options written anew: %+v, %v", same, err)
	}
}

func TestSameContent(t *testing.T) {
	base := func() *paimon.Schema { return plainInput(t).Schema }
	text := func(s string) *string { return &s }
	planned := []SourceChange{{What: "option bucket-key", From: "", To: "id"}, {What: "option gone", From: "x", To: ""}}
	cases := []struct {
		name    string
		base    func(*paimon.Schema)
		now     func(*paimon.Schema)
		planned []SourceChange
		diff    string // "" = the same
	}{
		{name: "nothing"},
		{name: "ID and time", now: func(s *paimon.Schema) { s.ID, s.TimeMillis = 9, 99 }},
		{name: "Fluss's options", now: func(s *paimon.Schema) {
			s.Options["fluss.table.datalake.enabled"], s.Options["lakestream.x"] = "true", "y"
		}},
		{name: "planned", planned: planned, base: func(s *paimon.Schema) { delete(s.Options, "bucket-key"); s.Options["gone"] = "x" }},
		{name: "planned, not made", planned: planned, base: func(s *paimon.Schema) { s.Options["gone"] = "x" },
			now: func(s *paimon.Schema) { s.Options["gone"] = "x" }, diff: `option gone: was not set, is "x"`},
		{name: "an option more", now: func(s *paimon.Schema) { s.Options["a"] = "b" }, diff: `option a: was not set, is "b"`},
		{name: "an option less", now: func(s *paimon.Schema) { delete(s.Options, "bucket") }, diff: `option bucket: was "2", is not set`},
		{name: "an option changed", now: func(s *paimon.Schema) { s.Options["bucket"] = "3" }, diff: `option bucket: was "2", is "3"`},
		{name: "a column more", now: func(s *paimon.Schema) {
			s.Fields = append(s.Fields, paimon.Field{ID: 9, Name: "n", Type: s.Fields[2].Type})
		}, diff: `column "n" STRING is new`},
		{name: "a column less", now: func(s *paimon.Schema) { s.Fields = s.Fields[:2] }, diff: `column "v" is gone`},
		{name: "a column of another ID", now: func(s *paimon.Schema) { s.Fields[2].ID = 8 }, diff: "(ID 8)"},
		{name: "a column renamed", now: func(s *paimon.Schema) { s.Fields[2].Name = "w" }, diff: `"w"`},
		{name: "a type", now: func(s *paimon.Schema) { s.Fields[2].Type.Nullable = false }, diff: "STRING NOT NULL"},
		{name: "a default", now: func(s *paimon.Schema) { s.Fields[2].Default = text("1") }, diff: `default "1"`},
		{name: "a description", now: func(s *paimon.Schema) { s.Fields[2].Description = text("d") }, diff: `comment "d"`},
		{name: "a null description as Java writes it", base: func(s *paimon.Schema) { s.Fields[2].NullDescription = true },
			now: func(s *paimon.Schema) { s.Fields[2].Description = text("null") }},
		{name: "a null comment as Java writes it", base: func(s *paimon.Schema) { s.NullComment = true }, now: func(s *paimon.Schema) { s.Comment = text("null") }},
		{name: "a comment", now: func(s *paimon.Schema) { s.Comment = text("c") }, diff: `comment: was "", is "c"`},
		{name: "a key", now: func(s *paimon.Schema) { s.PrimaryKeys = []string{"p", "id"} }, diff: "primary key: was [id p], is [p id]"},
		{name: "the partitions", now: func(s *paimon.Schema) { s.PartitionKeys = nil }, diff: "partition keys"},
		{name: "a column added and dropped", now: func(s *paimon.Schema) { s.HighestFieldID++ }, diff: "highest column ID: was 2, is 3"},
		{name: "an old file's defaults as Java writes them", base: func(s *paimon.Schema) { s.Version = 1; delete(s.Options, "bucket") },
			now: func(s *paimon.Schema) { s.Options["bucket"], s.Options["file.format"] = "1", "orc" }},
		{name: "a nested field", base: func(s *paimon.Schema) {
			s.Fields[2].Type = parseType(t, `{"type":"ROW","fields":[{"id":9,"name":"x","type":"INT"}]}`)
		}, now: func(s *paimon.Schema) {
			s.Fields[2].Type = parseType(t, `{"type":"ROW","fields":[{"id":8,"name":"x","type":"INT"}]}`)
		}, diff: "(ID 8)"},
		{name: "an unknown plan", planned: []SourceChange{{What: "magic"}}, diff: `"magic"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, b := base(), base()
			if c.base != nil {
				c.base(a)
			}
			if c.now != nil {
				c.now(b)
			}
			same, diff := SameContent(a, b, c.planned)
			if same != (c.diff == "") || !strings.Contains(diff, c.diff) || same && diff != "" {
				t.Errorf("same %v, difference %q", same, diff)
			}
		})
	}
}

// TestChangesSurviveTheJournal: SameContent works with changes read back from
// JSON.
func TestChangesSurviveTheJournal(t *testing.T) {
	in := sampleInput(t, "flink_lookup", generation09)
	j := mustJudge(t, in)
	next, err := PreparedSchema(in.Schema, j, generation09, created09(j, "op"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(j.Changes)
	if err != nil {
		t.Fatal(err)
	}
	var back []SourceChange
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back, j.Changes) {
		t.Errorf("changes %v", back)
	}
	if same, diff := SameContent(in.Schema, next, back); !same {
		t.Error(diff)
	}
}

func TestCompatibilityMarkdown(t *testing.T) {
	doc := CompatibilityMarkdown()
	for _, r := range compatRules {
		if !strings.Contains(doc, "| `"+r.ID+"` |") {
			t.Errorf("rule %s is missing", r.ID)
		}
	}
	for _, group := range [][]optionRule{optionRulesJudged, optionRulesFree} {
		for _, r := range group {
			for _, k := range strings.Fields(r.Keys) {
				if !strings.Contains(doc, "`"+k+"`") {
					t.Errorf("option %s is missing", k)
				}
			}
		}
	}
	for n, line := range strings.Split(doc, "\n") {
		if strings.HasPrefix(line, "|") && !slices.Contains([]int{3, 4}, strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")) {
			t.Errorf("line %d is no row of two or three cells: %s", n+1, line)
		}
	}
	for _, f := range paimon.FileFormats() { // the guide follows the reader
		if !slices.Contains(fileFormats, f) || !strings.Contains(doc, f+": key and log tables") {
			t.Errorf("the reader reads %s, which the guide does not say", f)
		}
	}
	if doc != CompatibilityMarkdown() {
		t.Error("the page is not the same twice")
	}
}

// FuzzJudgeOptions: no option text makes the judge fail or panic, and every
// option ends in exactly one class.
func FuzzJudgeOptions(f *testing.F) {
	f.Add("bucket", "2", "bucket-key", "id")
	f.Add("bucket", "99999999999999999999", "merge-engine", "")
	f.Add("partition.legacy-name", " FALSE", "fluss.x", "y")
	f.Add("bucket-key", ",,", "scan.*", "\x00")
	f.Add("partition.default-name", "a", "record-level.expire-time", "1 d")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string) {
		for _, generation := range []string{generation09, generation10} {
			in := plainInput(t)
			in.Schema.Options[k1], in.Schema.Options[k2] = v1, v2
			in.Generation = generation
			j := mustJudge(t, in)
			for key := range in.Schema.Options {
				n := 0
				for _, keys := range j.Options {
					if slices.Contains(keys, key) {
						n++
					}
				}
				// A bucket that cannot be read leaves the bucket key unjudged.
				if n != 1 && key != "bucket-key" {
					t.Errorf("option %q is in %d classes: %v", key, n, j.Options)
				}
			}
			if _, err := PreparedSchema(in.Schema, j, generation10, nil); err != nil && j.Verdict != VerdictReject && generation == generation10 {
				t.Error(err)
			}
		}
	})
}
