// Package promotion turns an existing Apache Paimon table, in place, into a
// datalake-enabled Apache Fluss table: preview, the stages, the journal, and
// the rules for recovery and removal. It knows Paimon and Fluss only through
// their packages and knows nothing of Terraform.
package promotion

import (
	"strings"
	"time"
)

// Config says where the cluster, the lake and the journal are. Secrets in it
// (SASL password, lake options) are never logged, journaled or put into errors.
type Config struct {
	Bootstrap []string // host:port of any servers of the cluster
	SASL      *SASL    // nil: no authentication
	Lake      *Lake    // nil: found from the cluster's own configuration
	Journal   TableName
	// Heartbeat is the interval of journal heartbeats; 0 means 15 s. An owner
	// without a new event for three intervals is silent.
	Heartbeat time.Duration
	Flink     *Flink // nil: only the native engine
	// MaxConcurrentLoads is how many native loads may run at a time in this
	// process; 0 means 1. The others wait inside their own deadline.
	MaxConcurrentLoads int
	// UserAgent names the program to the servers, e.g. "terraform-provider-fluss/1.2.3".
	UserAgent string
}

// SASL is a login for the cluster.
type SASL struct{ Mechanism, Username, Password string }

// Lake is the Paimon catalog that holds the source tables.
type Lake struct {
	Warehouse string
	Metastore string            // "filesystem"
	Options   map[string]string // Paimon's own option names; may hold secrets
}

// TableName is a database and a table in it.
type TableName struct{ Database, Table string }

func (n TableName) String() string { return n.Database + "." + n.Table }

// Spec is what the user asks for.
type Spec struct {
	Name TableName // the Paimon table, and the Fluss table it becomes

	// OperationID is the operation known from state, "" when none is: with it
	// an operation that is complete is looked at again instead of refused.
	OperationID string

	// Partitions selects source partitions by column and value text; nil means
	// all of the source snapshot.
	Partitions       []map[string]string
	PrepareSource    bool
	TableProperties  map[string]string
	SourceSnapshotID *int64 // pin; nil means the newest at apply

	DenyUnvalidated bool // unvalidated_properties = "deny"
	Acknowledged    []string

	Engine      string // "native" or "flink"; "" means native
	Flink       *FlinkLoad
	Parallelism int // buckets loaded at once; 0 means the default
	BatchBytes  int // bytes of one batch; 0 means the default
	MaxInFlight int // unanswered batches per bucket; 0 means the default
	// SpillBytes is what temporary files, through which large buckets are sorted,
	// may take; 0 means none, nil the default.
	SpillBytes     *int64
	Verification   Verification
	Takeover       string // "fence" or "resume"
	OnSourceChange string // "fail" or "restart"
	LakeLayout     string // "" or "legacy"
}

// Verification is how much of the loaded table is compared with the source.
type Verification string

const (
	VerifySample Verification = "sample"
	VerifyFull   Verification = "full"
	VerifyNone   Verification = "none"
)

// Stage is how far an operation has come.
type Stage string

const (
	StageValidated  Stage = "validated"
	StageCreated    Stage = "created"
	StagePrepared   Stage = "prepared"
	StageLoading    Stage = "loading"
	StageLoaded     Stage = "loaded"
	StageRegistered Stage = "registered"
	StageVerified   Stage = "verified"
	StageEnabled    Stage = "enabled"
	// StageDisabled is an enabled promotion whose datalake somebody switched off.
	StageDisabled Stage = "disabled"
	StageFailed   Stage = "failed"
)

// Result is the state of an operation, as far as it is known to be true.
type Result struct {
	// Touched says whether anything outside this process may have been changed
	// by this call; only then is there something to save.
	Touched bool

	ClusterID            string
	OperationID          string
	Stage                Stage
	TableID              int64
	SourceSnapshotID     *int64 // nil: the source has no snapshot
	SourceSchemaID       int64
	RegisteredSnapshotID *int64 // nil: none registered
	// InitializedPartitions are the partitions whose rows Fluss holds, by
	// column and Paimon value text; empty for tables without partitions.
	InitializedPartitions []map[string]string
	// SelectedPartitions is the selection as the user gave it; nil means all.
	SelectedPartitions []map[string]string
	LoadJobID          string
	RowsLoaded         int64
	// BytesLoaded is the size of the batches sent; nil where a job of Flink, which
	// does not tell it, loads the table.
	BytesLoaded *int64
	// BucketOffsets are the registered log end offsets: key is the bucket
	// number, behind the Fluss partition name and a slash when partitioned.
	BucketOffsets         map[string]int64
	SourceChanges         []string // what was set on the Paimon table
	UnvalidatedOptionKeys []string
	PromotedAt            time.Time // zero until enabled
}

// Severity is how bad a Problem is.
type Severity int

const (
	SeverityWarning Severity = iota + 1
	SeverityError
)

// Problem is something to tell the user. Summary is one static sentence; the
// other parts say what was found, what would be right, and what to do.
type Problem struct { //nolint:errname // a finding first; an error only where it ends something
	Severity  Severity
	Attribute []string // path in the resource: {"table"}, {"table_properties", "table.log.ttl"}; empty: the whole
	Rule      string   // the compatibility rule, e.g. "option.merge-engine"; empty outside the table
	Summary   string
	Found     string
	Required  string
	Why       string
	Fix       string // the exact statement or setting, where there is one
	// PrepareFixes says that prepare_source = true removes the problem.
	PrepareFixes bool
}

// Detail is everything but the summary, as paragraphs.
func (p Problem) Detail() string {
	var b strings.Builder
	add := func(label, text string) {
		if text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(label)
		b.WriteString(text)
	}
	add("Found: ", p.Found)
	add("Required: ", p.Required)
	add("Why: ", p.Why)
	add("What to do: ", p.Fix)
	if p.PrepareFixes && !strings.Contains(p.Fix, "prepare_source = true") {
		add("", "prepare_source = true makes this change for you.")
	}
	return b.String()
}

func (p Problem) Error() string {
	d := p.Detail()
	if d == "" {
		return p.Summary
	}
	return p.Summary + "\n" + d
}

// Problems is an error made of one or more problems.
type Problems []Problem //nolint:errname // see Problem

func (ps Problems) Error() string {
	parts := make([]string, 0, len(ps))
	for _, p := range ps {
		parts = append(parts, p.Error())
	}
	return strings.Join(parts, "\n\n")
}

// OptionClass is what a source option means for a promotion.
type OptionClass string

const (
	OptionAccepted    OptionClass = "accepted"     // kept, same meaning afterwards
	OptionMustSet     OptionClass = "must_set"     // has to be set or changed first
	OptionMirrored    OptionClass = "mirrored"     // carried as paimon.<option>
	OptionRejected    OptionClass = "rejected"     // cannot be promoted with it
	OptionNoInfluence OptionClass = "no_influence" // does not touch rows or layout
	OptionUnvalidated OptionClass = "unvalidated"  // not known to this provider
)

// SourceChange is one metadata-only change of the Paimon table.
type SourceChange struct {
	What      string `json:"what"` // "option bucket-key", "column name type", "column __bucket added"
	From      string `json:"from,omitempty"`
	To        string `json:"to"`                  // "" = absent
	Statement string `json:"statement,omitempty"` // Flink SQL that does the same, "" where ALTER refuses it
}

func (c SourceChange) String() string {
	from := c.From
	if from == "" {
		from = "unset"
	}
	return c.What + ": " + from + " -> " + c.To
}

// PartitionReport is one source partition.
type PartitionReport struct {
	Spec     map[string]string // column -> Paimon value text; empty when unpartitioned
	Records  int64             // physical records in live files: at least the rows
	Bytes    int64
	Files    int
	Selected bool
}

// Existing is what Fluss already holds under the table's name.
type Existing struct {
	OperationID string
	Stage       Stage
	Plan        string // what apply would do: "resume", "drop and load again", …
	// Promoted says that it is complete and of this very source: the Paimon table
	// has not been dropped and made anew since.
	Promoted bool
}

// RulePromoted is the rule of the problem that a table is promoted already.
const RulePromoted = "promoted"

// Report is the preview: everything is read, nothing is written.
type Report struct {
	Name           TableName
	Compatible     bool // no problem of SeverityError
	Problems       []Problem
	Generation     string // "0.9" or "1.0"
	SnapshotID     *int64 // nil: no snapshot, promoted empty
	SchemaID       int64
	PrimaryKey     []string
	PartitionKeys  []string
	Buckets        int
	Partitions     []PartitionReport
	Records, Bytes int64 // over the selected partitions
	Files          int
	Options        map[OptionClass][]string
	Unvalidated    []string
	SourceChanges  []SourceChange // needed; made by prepare_source
	Statements     []string       // Flink SQL that the user could run instead, in order
	Existing       *Existing
	// PinSnapshotID is what Spec.SourceSnapshotID has to be, now and after a
	// promotion: the snapshot that was promoted where the table is, otherwise the
	// newest. nil: no snapshot.
	PinSnapshotID *int64
}

// Errors are the report's problems of SeverityError.
func (r *Report) Errors() Problems { return r.bySeverity(SeverityError) }

// Warnings are the report's problems of SeverityWarning.
func (r *Report) Warnings() Problems { return r.bySeverity(SeverityWarning) }

func (r *Report) bySeverity(s Severity) Problems {
	var out Problems
	for _, p := range r.Problems {
		if p.Severity == s {
			out = append(out, p)
		}
	}
	return out
}

// Progress is where a running operation is.
type Progress struct {
	OperationID string
	Stage       Stage
	Rows, Bytes int64   // done so far
	TotalRows   int64   // upper bound; 0 unknown
	RowsPerSec  float64 // since the load began
	Remaining   time.Duration
	Note        string // what the user should know about how it goes; mostly ""
}

// Ref names a promotion that is known from state or from an import. Only Name
// is always set.
type Ref struct {
	Name        TableName
	ClusterID   string
	OperationID string
	TableID     int64
}

// Observation is what Read finds.
type Observation struct {
	Gone       bool   // positively gone, from the same cluster
	GoneReason string // one sentence, set when Gone
	Result     Result
	Spec       *Spec // as journaled by the operation; nil when unknown
	Warnings   Problems
}

// RemoveOptions are the safety settings of a removal.
type RemoveOptions struct {
	DeletionProtection    bool
	AllowUntieredDataLoss bool
}
