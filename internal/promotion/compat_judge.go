package promotion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// Server generations that the judge knows.
const (
	generation09 = "0.9"
	generation10 = "1.0"
)

// layoutLegacy is the lake layout with three system columns, Fluss 0.9's.
const layoutLegacy = "legacy"

// Verdicts of a Judgement.
const (
	VerdictAccept  = "accept"  // promotable as it is
	VerdictPrepare = "prepare" // promotable after the metadata-only changes in Changes
	VerdictReject  = "reject"  // not promotable as it is
)

// JudgeInput is what is known of a source table, and what the user wants.
// Nothing is read but column statistics and partition text, through Table.
type JudgeInput struct {
	Name     TableName
	Schema   *paimon.Schema   // the newest
	Snapshot *paimon.Snapshot // nil: the table has none
	Plan     *paimon.Plan     // live files of Snapshot; nil: none
	Table    *paimon.Table    // for statistics and directories; nil: rules that need it are left out

	Generation string // "0.9" or "1.0"
	Layout     string // "" or "legacy"
	// Selection picks partitions by column and Paimon value text; nil means all.
	Selection       []map[string]string
	TableProperties map[string]string
	PrepareAllowed  bool
	DenyUnvalidated bool
	// Acknowledged are source options whose risk the user has taken: options
	// not known under DenyUnvalidated, and known ones that only a user can judge.
	Acknowledged []string
	// FileDir finds the partition folder, below the table, that really holds a
	// file, for writers that spell it otherwise than the options say; nil: not
	// checked.
	FileDir func(ctx context.Context, p paimon.Partition, bucket int, f paimon.DataFile) (string, error)

	MaxPartitions int // the cluster's max.partition.num; 0: unknown
	MaxBuckets    int // the cluster's max.bucket.num; 0: unknown
	// TabletServers is how many tablet servers are alive; 0: unknown, or the
	// Fluss table is there already.
	TabletServers int
	// Replication is the cluster's default.replication.factor; 0: unknown.
	Replication int
	// OperationID is the promotion under way on this very table: its own
	// fluss.* options need no answer by the user. "" means none.
	OperationID string
}

// JudgedPartition is one partition of the source's snapshot; an unpartitioned
// table with files has one.
type JudgedPartition struct {
	Files     *paimon.PartitionFiles
	Spec      map[string]string // column -> Paimon's text; empty when unpartitioned
	FlussSpec map[string]string // column -> the text Fluss uses; nil when !OK
	FlussName string            // the values joined by "$"; "" when !OK or unpartitioned
	// Selected says that its rows are to be loaded.
	Selected bool
	// OK says that Fluss can have a partition of that name.
	OK bool
}

// Judgement says whether and how a source can be promoted.
type Judgement struct {
	Verdict  string
	Problems []Problem
	// Options are the source's options by class, sorted; the must_set class
	// also names options that are missing.
	Options     map[OptionClass][]string
	Unvalidated []string
	// Changes are the metadata-only changes that are needed, also when
	// PrepareAllowed is false.
	Changes []SourceChange
	// Statements are Flink SQL for the Paimon catalog that a user could run
	// instead, in order. Changes without a statement need prepare_source. There
	// are none for a table that no statement makes promotable.
	Statements []string
	// Descriptor is the Fluss table to create, without the promotion's own
	// properties, with table.datalake.enabled=false. BucketCount 0 leaves the
	// count to the cluster (append tables without buckets). Nil when the
	// source's columns have no Fluss type.
	Descriptor *fluss.TableDescriptor
	Partitions []JudgedPartition
	// Prepared says that the system columns of Fluss 0.9 are in the schema
	// already; the descriptor is without them.
	Prepared bool
}

// Errors are the problems of SeverityError.
func (j *Judgement) Errors() Problems {
	var out Problems
	for _, p := range j.Problems {
		if p.Severity == SeverityError {
			out = append(out, p)
		}
	}
	return out
}

// judge is one run of Judge.
type judge struct {
	in  JudgeInput
	out *Judgement

	columns []paimon.Field // without the system columns
	keyed   bool
	buckets int // above 0: fixed; -1, -2 as Paimon has it; 0: not to be read
	fixes   []string
	noWay   bool // a problem that neither a statement nor prepare_source removes
}

// Judge decides whether the table can be promoted in place, what has to change
// first, and which Fluss table it becomes. It checks everything itself: Fluss's
// servers enable most unsound tables without a word. An error means that it
// could not look; what speaks against a promotion is in the Judgement.
func Judge(ctx context.Context, in JudgeInput) (*Judgement, error) {
	if in.Schema == nil {
		return nil, fmt.Errorf("promotion: no schema to judge")
	}
	if in.Generation != generation09 && in.Generation != generation10 {
		return nil, fmt.Errorf("promotion: Fluss generation %q is not known; known are %q and %q", in.Generation, generation09, generation10)
	}
	j := &judge{in: in, keyed: len(in.Schema.PrimaryKeys) > 0,
		out: &Judgement{Options: map[OptionClass][]string{}}}
	j.names()
	j.layout()
	j.types()
	j.keys()
	j.bucketing()
	j.options()
	j.legacyPartitionNames()
	j.changelogProducer()
	j.legacyColumns()
	if err := j.partitions(ctx); err != nil {
		return nil, err
	}
	if err := j.files(ctx); err != nil {
		return nil, err
	}
	j.properties()
	j.describe()
	j.finish()
	return j.out, nil
}

// finish sorts what was found and draws the verdict.
func (j *judge) finish() {
	o := j.out
	for class, keys := range o.Options {
		slices.Sort(keys)
		o.Options[class] = slices.Compact(keys)
	}
	slices.Sort(o.Unvalidated)
	o.Verdict = VerdictAccept
	if len(o.Changes) > 0 {
		o.Verdict = VerdictPrepare
	}
	for _, p := range o.Problems {
		if p.Severity == SeverityError && !p.PrepareFixes {
			o.Verdict = VerdictReject
		}
	}
	if j.noWay {
		return
	}
	o.Statements = j.fixes
	for _, c := range o.Changes {
		if c.Statement != "" {
			o.Statements = append(o.Statements, c.Statement)
		}
	}
}

// add reports a problem by a rule of the rule table. Statements are SQL of its
// Fix, for the list of statements.
func (j *judge) add(rule string, p Problem, statements ...string) {
	d := ruleTable[rule]
	p.Rule = rule
	if p.Summary == "" {
		p.Summary = d.Summary
	}
	if p.Severity == 0 {
		p.Severity = d.Severity
	}
	if p.Why == "" {
		p.Why = d.Why
	}
	if p.Attribute == nil {
		p.Attribute = []string{"table"}
	}
	j.out.Problems = append(j.out.Problems, p)
	if p.Severity == SeverityError && !p.PrepareFixes && len(statements) == 0 && p.Attribute[0] == "table" {
		j.noWay = true
	}
	for _, s := range statements {
		if s != "" && !slices.Contains(j.fixes, s) {
			j.fixes = append(j.fixes, s)
		}
	}
}

// change notes a needed change. It is a problem only while prepare_source may
// not make it.
func (j *judge) change(rule string, c SourceChange, p Problem) {
	j.out.Changes = append(j.out.Changes, c)
	if j.in.PrepareAllowed {
		return
	}
	p.PrepareFixes = true
	if p.Fix == "" {
		p.Fix = c.Statement
	}
	if p.Fix == "" {
		p.Fix = "ALTER TABLE cannot make this change here; set prepare_source = true"
	}
	j.add(rule, p)
}

func (j *judge) class(c OptionClass, key string) {
	j.out.Options[c] = append(j.out.Options[c], key)
}

func (j *judge) acknowledged(key string) bool {
	return slices.Contains(j.in.Acknowledged, key)
}

// hasData says whether files may exist: under old snapshots and tags as well.
func (j *judge) hasData() bool { return j.in.Snapshot != nil }

// option is the text of a source option; ok false when it is not set.
func (j *judge) option(key string) (text string, ok bool) {
	text, ok = j.in.Schema.Options[key]
	return text, ok
}

func (j *judge) optionTrue(key string) bool {
	text, _ := j.option(key)
	return isTrue(text)
}

func isTrue(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }

// Flink SQL. Statements are meant for a session that uses the Paimon catalog.

func sqlName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (j *judge) sqlTable() string {
	return sqlName(j.in.Name.Database) + "." + sqlName(j.in.Name.Table)
}

func (j *judge) alterSet(key, value string) string {
	return fmt.Sprintf("ALTER TABLE %s SET (%s = %s);", j.sqlTable(), sqlText(key), sqlText(value))
}

func (j *judge) alterReset(keys ...string) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = sqlText(k)
	}
	return fmt.Sprintf("ALTER TABLE %s RESET (%s);", j.sqlTable(), strings.Join(texts, ", "))
}

// sqlCompact merges everything into one file a bucket run.
func (j *judge) sqlCompact() string {
	return fmt.Sprintf("CALL sys.compact(`table` => %s, compact_strategy => 'full');", sqlText(j.in.Name.String()))
}

// quoteAll is a list of names for a message, cut after a few.
func quoteAll(names []string) string {
	const most = 8
	out := make([]string, 0, most)
	for i, n := range names {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}
