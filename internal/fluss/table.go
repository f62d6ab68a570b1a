package fluss

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// Table properties this client reads.
const (
	PropertyDataLakeEnabled = "table.datalake.enabled"
	PropertyDataLakeFormat  = "table.datalake.format"
	PropertyKvFormatVersion = "table.kv.format-version"
)

// TablePath names a table.
type TablePath struct {
	Database string
	Table    string
}

// String gives "database.table".
func (p TablePath) String() string { return p.Database + "." + p.Table }

func (p TablePath) message() *flusspb.TablePath {
	return &flusspb.TablePath{DatabaseName: proto.String(p.Database), TableName: proto.String(p.Table)}
}

// Column is one column of a table.
type Column struct {
	Name    string
	Type    row.DataType
	Comment *string
	// ID is the column's ID in a table that a server described. In a table to be
	// created it is not used: IDs follow from the order.
	ID int
	// Aggregate is the aggregation function of a table with the aggregation
	// merge engine, such as "sum"; "" for none.
	Aggregate string
	// AggregateParameters belong to Aggregate; usually empty.
	AggregateParameters map[string]string
}

// TableDescriptor is what defines a table. MarshalJSON and
// ParseTableDescriptor convert it to and from the servers' table JSON.
type TableDescriptor struct {
	Columns []Column
	// PrimaryKey is empty for a log table. Its columns are NOT NULL whatever
	// their type says.
	PrimaryKey    []string
	AutoIncrement []string
	PartitionKeys []string
	// BucketKey is nil when it is not stated, empty for a log table whose rows
	// go to any bucket.
	BucketKey []string
	// BucketCount is 0 when it is not stated.
	BucketCount int
	Comment     *string
	// Properties are the "table.*" options, CustomProperties everything else.
	Properties       map[string]string
	CustomProperties map[string]string
}

// TableInfo is a table as a server describes it.
type TableInfo struct {
	Path         TablePath
	TableID      int64
	SchemaID     int32
	Descriptor   TableDescriptor
	CreatedTime  int64 // epoch milliseconds
	ModifiedTime int64 // epoch milliseconds
}

// HasPrimaryKey tells a primary-key table from a log table.
func (t *TableInfo) HasPrimaryKey() bool { return len(t.Descriptor.PrimaryKey) > 0 }

// IsPartitioned reports whether the table has partition keys.
func (t *TableInfo) IsPartitioned() bool { return len(t.Descriptor.PartitionKeys) > 0 }

// DataLakeEnabled reports whether the table is tiered to the lake.
func (t *TableInfo) DataLakeEnabled() bool {
	return t.Descriptor.Properties[PropertyDataLakeEnabled] == "true"
}

// LakeFormat gives the lake format that decides bucketing and key encoding,
// such as "paimon"; "" when the table has none. It is stamped at creation,
// whether or not the data lake is enabled.
func (t *TableInfo) LakeFormat() string { return t.Descriptor.Properties[PropertyDataLakeFormat] }

// KvFormatVersion gives the version of the key encoding; tables without the
// property have version 1.
func (t *TableInfo) KvFormatVersion() int {
	v, err := strconv.Atoi(t.Descriptor.Properties[PropertyKvFormatVersion])
	if err != nil {
		return 1
	}
	return v
}

// PhysicalPrimaryKey gives the columns that make up the key bytes: the primary
// key without the partition keys, in the primary key's order.
func (t *TableInfo) PhysicalPrimaryKey() []string { return t.Descriptor.physicalPrimaryKey() }

// BucketKey gives the columns that decide the bucket; empty for a log table
// without one.
func (t *TableInfo) BucketKey() []string { return t.Descriptor.bucketKey() }

func (d *TableDescriptor) physicalPrimaryKey() []string {
	var out []string
	for _, k := range d.PrimaryKey {
		if !slices.Contains(d.PartitionKeys, k) {
			out = append(out, k)
		}
	}
	return out
}

func (d *TableDescriptor) bucketKey() []string {
	if d.BucketKey != nil || len(d.PrimaryKey) == 0 {
		return d.BucketKey
	}
	return d.physicalPrimaryKey()
}

// Column gives a column by name.
func (d *TableDescriptor) Column(name string) (Column, bool) {
	for _, c := range d.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}
