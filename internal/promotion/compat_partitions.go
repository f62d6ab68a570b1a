package promotion

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// partitionKinds are the types of Fluss partition columns whose directory text
// Paimon and Fluss can both make.
var partitionKinds = []paimon.Kind{
	paimon.Char, paimon.VarChar, paimon.Boolean, paimon.TinyInt, paimon.SmallInt, paimon.Int, paimon.BigInt,
	paimon.Float, paimon.Double, paimon.Date, paimon.Time, paimon.Timestamp, paimon.TimestampLTZ,
}

// otherTextKinds are those whose Fluss text differs from Paimon's.
var otherTextKinds = []paimon.Kind{paimon.Float, paimon.Double, paimon.Time, paimon.Timestamp, paimon.TimestampLTZ}

// partitions judges partition columns, values and the selection, and lists the
// source's partitions.
func (j *judge) partitions(ctx context.Context) error {
	columns := j.partitionColumns()
	if j.in.Plan != nil {
		for _, pf := range j.in.Plan.Partitions {
			p, err := j.partition(columns, pf)
			if err != nil {
				return err
			}
			j.out.Partitions = append(j.out.Partitions, p)
		}
	}
	j.choose(columns)
	j.valuesOf(columns)
	j.limits()
	return j.paths(ctx, columns)
}

// partitionColumns judges the types of the partition columns.
func (j *judge) partitionColumns() []paimon.Field {
	var columns []paimon.Field
	var otherwise []string
	const newTable = "copy the rows into a new table with another partition column and promote that one"
	for _, k := range j.in.Schema.PartitionKeys {
		f, ok := j.in.Schema.Field(k)
		if !ok {
			continue // ParseSchema refuses such a schema
		}
		columns = append(columns, f)
		found := fmt.Sprintf("partition column %q %s", k, f.Type)
		switch {
		case !slices.Contains(partitionKinds, f.Type.Kind):
			j.add("partition.type", Problem{Found: found, Fix: newTable,
				Required: "CHAR, STRING, BOOLEAN, an integer type, FLOAT, DOUBLE, DATE, TIME or TIMESTAMP"})
		case f.Type.Kind == paimon.TimestampLTZ:
			j.add("partition.time-zone", Problem{Found: found, Required: "a partition column without a time zone", Fix: newTable})
		case slices.Contains(otherTextKinds, f.Type.Kind):
			otherwise = append(otherwise, fmt.Sprintf("%s %s", k, f.Type))
		}
	}
	if len(otherwise) > 0 {
		j.add("partition.text", Problem{Found: "partition columns " + quoteAll(otherwise),
			Fix: "compare a union read with a read by Paimon before traffic is let in"})
	}
	return columns
}

func (j *judge) partition(columns []paimon.Field, pf *paimon.PartitionFiles) (JudgedPartition, error) {
	p := JudgedPartition{Files: pf, Spec: map[string]string{}, Selected: j.in.Selection == nil, OK: true}
	if len(columns) == 0 {
		p.Selected = true
		return p, nil
	}
	if len(pf.Partition.Values) != len(columns) {
		return p, fmt.Errorf("promotion: source %s: a partition has %d values, required are %d", j.in.Name, len(pf.Partition.Values), len(columns))
	}
	var err error
	if j.in.Table != nil {
		p.Spec, err = j.in.Table.PartitionSpec(pf.Partition, false)
		if err != nil {
			return p, err
		}
	}
	p.FlussSpec = map[string]string{}
	texts := make([]string, len(columns))
	for i, f := range columns {
		texts[i], err = paimon.FlussPartitionValue(pf.Partition.Values[i], f.Type)
		p.OK = p.OK && err == nil && isFlussName(texts[i])
		p.FlussSpec[f.Name] = texts[i]
		if j.in.Table == nil {
			p.Spec[f.Name] = texts[i]
			if strings.TrimSpace(texts[i]) == "" {
				p.Spec[f.Name] = j.defaultPartition()
			}
		}
		p.OK = p.OK && p.Spec[f.Name] != j.defaultPartition()
	}
	if !p.OK {
		p.FlussSpec = nil
		return p, nil
	}
	p.FlussName = strings.Join(texts, "$")
	return p, nil
}

func (j *judge) defaultPartition() string {
	return j.in.Schema.Option("partition.default-name", "__DEFAULT_PARTITION__")
}

// choose applies the selection.
func (j *judge) choose(columns []paimon.Field) {
	if j.in.Selection == nil {
		return
	}
	attr := []string{"partitions"}
	if len(columns) == 0 {
		j.add("partition.selection", Problem{Attribute: attr, Found: "a selection of partitions, and a table without partitions",
			Required: "partitions left out", Fix: "remove partitions"})
		return
	}
	var have []string
	bySpec := map[string][]int{}
	for i, p := range j.out.Partitions {
		text := specText(p.Spec)
		bySpec[text] = append(bySpec[text], i)
		have = append(have, text)
	}
	for _, want := range j.in.Selection {
		text := specText(want)
		if len(bySpec[text]) == 0 {
			j.add("partition.selection", Problem{Attribute: attr, Found: text,
				Required: "partitions of the source snapshot, every partition column named with Paimon's text: " + quoteAll(have),
				Fix:      "remove the entry, or correct it"})
		}
		for _, i := range bySpec[text] {
			j.out.Partitions[i].Selected = true
		}
	}
}

// valuesOf judges the partitions' values.
func (j *judge) valuesOf(columns []paimon.Field) {
	if len(columns) == 0 {
		return
	}
	var empty, bad, left []string
	names := map[string]bool{}
	for _, p := range j.out.Partitions {
		text := specText(p.Spec)
		none := slices.ContainsFunc(columns, func(f paimon.Field) bool { return p.Spec[f.Name] == j.defaultPartition() })
		switch {
		case none:
			empty = append(empty, text)
		case p.OK && names[p.FlussName]:
			bad = append(bad, text)
		case p.OK:
			names[p.FlussName] = true
		case p.Selected:
			bad = append(bad, text)
		default:
			left = append(left, text)
		}
	}
	// Several values can share a text.
	slices.Sort(empty)
	if empty = slices.Compact(empty); len(empty) > 0 {
		j.add("partition.null", Problem{Found: "partitions " + quoteAll(empty), Required: "a value in every partition column of every partition",
			Fix: "delete or rewrite these rows in Paimon, so that no live file of such a partition is left"})
	}
	if len(bad) > 0 {
		j.add("partition.value", Problem{Attribute: []string{"partitions"}, Found: "partitions " + quoteAll(bad), Required: nameRequired,
			Fix: "leave these partitions out: list the others in partitions; or rewrite the rows in Paimon under other values"})
	}
	if len(left) > 0 {
		j.add("partition.left-out", Problem{Attribute: []string{"partitions"}, Found: "partitions " + quoteAll(left),
			Fix: "keep lookups and writes off these partitions"})
	}
}

// limits compares the partitions and buckets to be made with the cluster's
// limits. Fluss 0.9 counts the buckets of all partitions together.
func (j *judge) limits() {
	selected := 0
	for _, p := range j.out.Partitions {
		if p.Selected {
			selected++
		}
	}
	partitioned := len(j.in.Schema.PartitionKeys) > 0
	if most := j.in.MaxPartitions; partitioned && most > 0 && selected > most {
		j.add("partition.limit", Problem{Attribute: []string{"partitions"},
			Found: fmt.Sprintf("%d partitions", selected), Required: fmt.Sprintf("at most %d, the cluster's max.partition.num", most),
			Fix: "select fewer partitions (the others stay readable through the lake), or raise max.partition.num in the cluster's server.yaml"})
	}
	buckets := j.buckets
	if partitioned && j.in.Generation == generation09 {
		buckets *= max(selected, 1)
	}
	if most := j.in.MaxBuckets; most > 0 && buckets > most {
		j.add("bucket.limit", Problem{
			Found: strconv.Itoa(buckets) + " buckets", Required: fmt.Sprintf("at most %d, the cluster's max.bucket.num", most),
			Fix: "raise max.bucket.num in the cluster's server.yaml, or select fewer partitions"})
	}
}

// paths looks for partitions whose folder is spelled otherwise than Paimon and
// Fluss will compute it.
func (j *judge) paths(ctx context.Context, columns []paimon.Field) error {
	if j.in.FileDir == nil || j.in.Table == nil || len(columns) == 0 {
		return nil
	}
	// One look at the store a partition: many at a time.
	found := make([]string, len(j.out.Partitions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i := range j.out.Partitions {
		p := &j.out.Partitions[i]
		bucket, file, ok := anyFile(p.Files)
		if !ok || file.ExternalPath != nil {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		safego.Go(g, func() error {
			want, err := j.in.Table.PartitionDir(p.Files.Partition)
			if err != nil {
				return nil //nolint:nilerr // a value without a stable folder; its type is refused
			}
			dir, err := j.in.FileDir(ctx, p.Files.Partition, bucket, file)
			if err != nil {
				return fmt.Errorf("promotion: source %s: folder of partition %s: %w", j.in.Name, specText(p.Spec), err)
			}
			if strings.Trim(dir, "/") != strings.Trim(want, "/") {
				found[i] = fmt.Sprintf("%s instead of %s", dir, want)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	wrong := slices.DeleteFunc(found, func(s string) bool { return s == "" })
	if len(wrong) > 0 {
		j.add("partition.path", Problem{Found: "files in folders " + quoteAll(wrong), Required: "the folders that the table's options give",
			Fix: "rewrite these partitions with Paimon Java, or with a writer that spells folders as the options say"})
	}
	return nil
}

func anyFile(pf *paimon.PartitionFiles) (bucket int, f paimon.DataFile, ok bool) {
	for _, b := range pf.Buckets {
		if len(b.Files) > 0 {
			return b.Bucket, b.Files[0], true
		}
	}
	return 0, paimon.DataFile{}, false
}
