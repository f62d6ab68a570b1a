package promotion

import (
	"context"
	"errors"
	"io"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// TableReport is what speaks for and against promoting a Paimon table, as far as
// the table itself tells: no cluster is asked.
type TableReport struct {
	Verdict       string         `json:"verdict"` // "accept", "prepare" or "reject"
	Findings      []TableFinding `json:"findings"`
	SourceChanges []SourceChange `json:"source_changes"`
}

// TableFinding is a Problem as JSON.
type TableFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"` // "error" or "warning"
	Summary  string `json:"summary"`
	Found    string `json:"found,omitempty"`
	Required string `json:"required,omitempty"`
	Why      string `json:"why,omitempty"`
	Fix      string `json:"fix,omitempty"`
}

// ReportTable judges one table of a filesystem warehouse for a server
// generation ("1.0" or "0.9", the latter in the legacy layout), with
// prepare_source allowed. It fails only where it could not look.
func ReportTable(ctx context.Context, warehouse string, name TableName, generation string) (*TableReport, error) {
	fs, root, err := storage.Open(warehouse, nil)
	if err != nil {
		return nil, err
	}
	c := &connection{catalog: paimon.OpenCatalog(fs, root), warehouse: warehouse, generation: generation, maxParts: defaultPartitions}
	src, err := (&Service{}).openSource(ctx, c, name)
	if err != nil {
		return nil, err
	}
	spec := Spec{Name: name, PrepareSource: true}
	if generation == generation09 {
		spec.LakeLayout = layoutLegacy
	}
	jdg, err := Judge(ctx, judgeInput(c, spec, src, nil))
	if err != nil {
		return nil, err
	}
	rep := &TableReport{Verdict: jdg.Verdict, Findings: []TableFinding{}, SourceChanges: jdg.Changes}
	if rep.SourceChanges == nil {
		rep.SourceChanges = []SourceChange{}
	}
	full := reportOf(name, src, jdg, generation)
	full.readable(&run{src: src})
	if len(full.Errors()) == 0 {
		if err := repeatedKeys(ctx, src, full); err != nil {
			return nil, err
		}
	}
	for _, p := range full.Problems {
		sev := "warning"
		if p.Severity == SeverityError {
			sev, rep.Verdict = "error", VerdictReject
		}
		rep.Findings = append(rep.Findings, TableFinding{Rule: p.Rule, Severity: sev, Summary: p.Summary, Found: p.Found,
			Required: p.Required, Why: p.Why, Fix: p.Fix})
	}
	return rep, nil
}

// repeatedKeys reads the keys of a key table and reports one that a data file
// holds twice. Manifests do not show it, so a plan does not know; a load stops
// at it.
func repeatedKeys(ctx context.Context, src *source, rep *Report) error {
	if len(src.schema.PrimaryKeys) == 0 || src.plan == nil {
		return nil
	}
	opt := paimon.ReadOptions{Columns: src.schema.PrimaryKeys, DuplicateKeys: paimon.FailOnDuplicates}
	for _, p := range src.plan.Partitions {
		for _, b := range p.Buckets {
			err := readAll(ctx, src, p, b, opt)
			var twice Problem
			if errors.As(asFatal(err), &twice) {
				twice.Rule = "files.key-twice"
				rep.Problems = append(rep.Problems, twice)
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readAll reads a bucket's rows and drops them.
func readAll(ctx context.Context, src *source, p *paimon.PartitionFiles, b *paimon.BucketFiles, opt paimon.ReadOptions) (err error) {
	rows, err := src.table.ReadBucket(ctx, src.plan, p, b, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		if _, err := rows.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
