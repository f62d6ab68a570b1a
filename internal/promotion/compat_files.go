package promotion

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// fileCounts are what the rules on files count over the live files.
type fileCounts struct {
	otherTotal, wrongBucket, level0, partial, external int
	totals                                             []int
	places                                             []string // partitions with a file of another count
	buckets                                            []int    // that the table does not have
	hidden                                             []string // partitions with files in level 0
}

// files judges the live files.
func (j *judge) files(ctx context.Context) error {
	vectors := j.optionTrue("deletion-vectors.enabled")
	if j.keyed && vectors {
		j.deletionVectors()
	}
	if j.in.Plan == nil {
		return nil
	}
	c := j.countFiles(vectors)
	if c.otherTotal > 0 {
		j.add("files.total-buckets", Problem{
			Found:    fmt.Sprintf("%d files written with bucket counts %v, in %s", c.otherTotal, c.totals, quoteAll(c.places)),
			Required: fmt.Sprintf("bucket count %d in every live file", j.buckets),
			Fix:      "rewrite the partitions named: " + j.sqlRescale(),
		})
	}
	if c.wrongBucket > 0 {
		j.add("files.bucket", Problem{
			Found: fmt.Sprintf("%d files in buckets %v", c.wrongBucket, c.buckets), Required: "files in the table's own buckets",
			Fix: "rewrite these rows in Paimon"})
	}
	if c.level0 > 0 {
		j.add("files.level-0", Problem{
			Found:    fmt.Sprintf("%d files in level 0, in %s", c.level0, quoteAll(c.hidden)),
			Required: "no live file in level 0",
			Fix:      "stop all writers, then run " + j.sqlCompact(),
		}, j.sqlCompact())
	}
	if c.partial > 0 {
		j.add("files.partial-columns", Problem{
			Found: fmt.Sprintf("%d files with a part of the columns", c.partial), Required: "files with all columns",
			Fix: "copy the rows into a new table without data evolution and promote that one"})
	}
	if c.external > 0 {
		j.add("files.external", Problem{Found: fmt.Sprintf("%d files with a path of their own", c.external),
			Fix: "see that the provider and the cluster's tiering service can read data-file.external-paths"})
	}
	return j.timestamps(ctx)
}

func (j *judge) sqlRescale() string {
	return fmt.Sprintf("CALL sys.rescale(`table` => %s, bucket_num => %d, `partition` => 'column=value');", sqlText(j.in.Name.String()), j.buckets)
}

func (j *judge) countFiles(vectors bool) fileCounts {
	var c fileCounts
	for _, p := range j.out.Partitions {
		place := "the table"
		if len(p.Spec) > 0 {
			place = "partition " + specText(p.Spec)
		}
		var other, hidden bool
		for _, b := range p.Files.Buckets {
			wrong := j.buckets > 0 && (b.Bucket < 0 || b.Bucket >= j.buckets) || j.buckets == -1 && !j.keyed && b.Bucket != 0
			for i := range b.Files {
				f := &b.Files[i]
				if j.buckets > 0 && f.TotalBuckets != j.buckets {
					c.otherTotal++
					c.totals = addOnce(c.totals, f.TotalBuckets)
					other = true
				} else if wrong {
					c.wrongBucket++
					c.buckets = addOnce(c.buckets, b.Bucket)
				}
				if j.keyed && vectors && f.Level == 0 {
					c.level0++
					hidden = true
				}
				if f.HasWriteCols && j.writesPart(f) {
					c.partial++
				}
				if f.ExternalPath != nil {
					c.external++
				}
			}
		}
		if other {
			c.places = append(c.places, place)
		}
		if hidden {
			c.hidden = append(c.hidden, place)
		}
	}
	return c
}

// writesPart says whether a file lacks columns of the newest schema that are
// not simply newer than the file.
func (j *judge) writesPart(f *paimon.DataFile) bool {
	return j.optionTrue("data-evolution.enabled") || f.FirstRowID != nil && len(f.WriteCols) < len(j.columns) && f.SchemaID == j.in.Schema.ID
}

func addOnce[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// deletionVectors judges a key table with deletion vectors apart from its files.
func (j *judge) deletionVectors() {
	for _, k := range j.in.Schema.PartitionKeys {
		if f, ok := j.in.Schema.Field(k); ok && f.Type.Kind != paimon.VarChar && f.Type.Kind != paimon.Char {
			j.add("option.deletion-vectors.enabled", Problem{
				Severity: SeverityError, Summary: "Deletion vectors need text partition columns",
				Found:    fmt.Sprintf("deletion-vectors.enabled = true and partition column %q %s", k, f.Type),
				Required: "partition columns of type STRING",
				Why:      "Fluss finds out by partition name what a compaction has made readable, and does so for text only",
				Fix:      "copy the rows into a new table without deletion vectors and promote that one",
			})
		}
	}
	if j.in.TableProperties["table.datalake.auto-compaction"] == "true" {
		return
	}
	j.add("files.deletion-vectors", Problem{
		Found: "deletion-vectors.enabled = true, and table.datalake.auto-compaction is not true",
		Fix:   `set table_properties = { "table.datalake.auto-compaction" = "true" }, or run a compaction job for the table: ` + j.sqlCompact(),
	})
}

// subMillis are the columns that can hold digits below the millisecond.
func subMillis(s *paimon.Schema) []string {
	var names []string
	for _, f := range s.Fields {
		if (f.Type.Kind == paimon.Timestamp || f.Type.Kind == paimon.TimestampLTZ) && f.Type.Precision >= 4 {
			names = append(names, f.Name)
		}
	}
	return names
}

// planOptions are what a plan to be judged keeps of the statistics.
func planOptions(s *paimon.Schema) paimon.PlanOptions {
	if len(s.PrimaryKeys) == 0 {
		return paimon.PlanOptions{}
	}
	return paimon.PlanOptions{Stats: subMillis(s), Keep: func(c paimon.ColumnStats) bool {
		v, ok := c.Least.(paimon.TimestampValue)
		return ok && v.Millis < 0 || c.Missing
	}}
}

// timestamps looks in the statistics of the files to be loaded for timestamps
// before 1970 in columns that can hold digits below the millisecond.
func (j *judge) timestamps(ctx context.Context) error {
	if !j.keyed {
		return nil
	}
	for _, col := range j.columns {
		if !slices.Contains(subMillis(j.in.Schema), col.Name) {
			continue
		}
		if !slices.Contains(j.in.Plan.StatsOf, col.Name) {
			return fmt.Errorf("promotion: source %s: the plan was made without the statistics of column %q", j.in.Name, col.Name)
		}
		found := j.earliest(col.Name)
		if found == "" {
			continue
		}
		j.add("type.before-1970", Problem{
			Found: fmt.Sprintf("column %q %s: %s", col.Name, col.Type, found),
			Fix: fmt.Sprintf("look for such rows: SELECT * FROM %s WHERE %s < TIMESTAMP '1970-01-01 00:00:00'; cut their fractions to milliseconds, or leave their partitions out",
				j.sqlTable(), sqlName(col.Name)),
		})
	}
	return ctx.Err()
}

// earliest describes a file whose values of a column lie before 1970 or, if
// none is known to, one that has no statistics of the column; "" when neither
// is there.
func (j *judge) earliest(column string) string {
	untold := ""
	for _, p := range j.out.Partitions {
		if !p.Selected {
			continue
		}
		for _, b := range p.Files.Buckets {
			for i := range b.Files {
				for _, s := range b.Files[i].Stats {
					if s.Column != column {
						continue
					}
					if v, ok := s.Least.(paimon.TimestampValue); ok && v.Millis < 0 {
						return fmt.Sprintf("file %s has values from %s on", b.Files[i].Name, timestampText(v))
					}
					if s.Missing && untold == "" {
						untold = fmt.Sprintf("file %s has no statistics of it", b.Files[i].Name)
					}
				}
			}
		}
	}
	return untold
}

func timestampText(v paimon.TimestampValue) string {
	return time.UnixMilli(v.Millis).UTC().Add(time.Duration(v.Nanos)).Format("2006-01-02 15:04:05.999999999")
}
