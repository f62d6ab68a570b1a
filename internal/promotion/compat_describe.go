package promotion

import (
	"maps"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// describe makes the Fluss table that the source becomes.
func (j *judge) describe() {
	s := j.in.Schema
	d := &fluss.TableDescriptor{
		PrimaryKey:       s.PrimaryKeys,
		PartitionKeys:    s.PartitionKeys,
		Comment:          s.Comment,
		Properties:       map[string]string{},
		CustomProperties: map[string]string{},
	}
	for _, f := range j.columns {
		t, err := flussType(f.Type)
		if err != nil {
			return // reported by the type rules
		}
		c := fluss.Column{Name: f.Name, Type: t, Comment: f.Description}
		if j.in.Generation == generation09 { // which compares comments
			c.Comment = asJavaReads(f.Description, f.NullDescription)
		}
		d.Columns = append(d.Columns, c)
	}
	if j.in.Generation == generation09 {
		d.Comment = asJavaReads(s.Comment, s.NullComment)
	}
	if j.buckets > 0 {
		d.BucketCount = j.buckets
		d.BucketKey = s.BucketKeys()
	}
	maps.Copy(d.Properties, j.in.TableProperties)
	d.Properties[enabledProperty] = "false"
	for _, key := range j.out.Options[OptionMirrored] {
		d.CustomProperties["paimon."+key] = s.Options[key]
	}
	j.out.Descriptor = d
}
