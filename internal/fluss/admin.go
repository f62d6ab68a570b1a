package fluss

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// ListDatabases gives the databases the user may see.
func (c *Client) ListDatabases(ctx context.Context) ([]string, error) {
	var res flusspb.ListDatabasesResponse
	if err := c.read(ctx, wire.ListDatabases, &flusspb.ListDatabasesRequest{}, &res); err != nil {
		return nil, err
	}
	return res.GetDatabaseName(), nil
}

// DatabaseExists reports whether there is such a database. Servers from 1.0 on
// say false to users who may not DESCRIBE it.
func (c *Client) DatabaseExists(ctx context.Context, name string) (bool, error) {
	var res flusspb.DatabaseExistsResponse
	err := c.read(ctx, wire.DatabaseExists, &flusspb.DatabaseExistsRequest{DatabaseName: proto.String(name)}, &res)
	return res.GetExists(), err
}

// CreateDatabase creates a database; errors match ErrDatabaseAlreadyExist.
func (c *Client) CreateDatabase(ctx context.Context, name string, ignoreIfExists bool) error {
	return c.change(ctx, wire.CreateDatabase, &flusspb.CreateDatabaseRequest{
		DatabaseName: proto.String(name), IgnoreIfExists: proto.Bool(ignoreIfExists)}, &flusspb.EmptyResponse{})
}

// DropDatabase drops a database that holds no tables; errors match
// ErrDatabaseNotExist and ErrDatabaseNotEmpty.
func (c *Client) DropDatabase(ctx context.Context, name string, ignoreIfNotExists bool) error {
	return c.change(ctx, wire.DropDatabase, &flusspb.DropDatabaseRequest{
		DatabaseName: proto.String(name), IgnoreIfNotExists: proto.Bool(ignoreIfNotExists), Cascade: proto.Bool(false)}, &flusspb.EmptyResponse{})
}

// ListTables gives the tables of a database that the user may see.
func (c *Client) ListTables(ctx context.Context, database string) ([]string, error) {
	var res flusspb.ListTablesResponse
	if err := c.read(ctx, wire.ListTables, &flusspb.ListTablesRequest{DatabaseName: proto.String(database)}, &res); err != nil {
		return nil, err
	}
	return res.GetTableName(), nil
}

// TableExists reports whether there is such a table. Servers from 1.0 on say
// false to users who may not DESCRIBE it.
func (c *Client) TableExists(ctx context.Context, path TablePath) (bool, error) {
	var res flusspb.TableExistsResponse
	err := c.read(ctx, wire.TableExists, &flusspb.TableExistsRequest{TablePath: path.message()}, &res)
	return res.GetExists(), err
}

// GetTable describes a table; errors match ErrTableNotExist. While the data
// lake is enabled the properties also hold the cluster's lake options
// ("table.datalake.<format>.*"), which are not the table's own.
func (c *Client) GetTable(ctx context.Context, path TablePath) (*TableInfo, error) {
	var res flusspb.GetTableInfoResponse
	if err := c.read(ctx, wire.GetTableInfo, &flusspb.GetTableInfoRequest{TablePath: path.message()}, &res); err != nil {
		return nil, err
	}
	d, err := ParseTableDescriptor(res.GetTableJson())
	if err != nil {
		return nil, fmt.Errorf("fluss: table %s: %w", path, err)
	}
	return &TableInfo{Path: path, TableID: res.GetTableId(), SchemaID: res.GetSchemaId(), Descriptor: *d,
		CreatedTime: res.GetCreatedTime(), ModifiedTime: res.GetModifiedTime()}, nil
}

// CreateTable creates a table; errors match ErrTableAlreadyExist,
// ErrDatabaseNotExist, ErrInvalidConfig and others.
func (c *Client) CreateTable(ctx context.Context, path TablePath, desc TableDescriptor, ignoreIfExists bool) error {
	data, err := desc.MarshalJSON()
	if err != nil {
		return err
	}
	return c.change(ctx, wire.CreateTable, &flusspb.CreateTableRequest{
		TablePath: path.message(), TableJson: data, IgnoreIfExists: proto.Bool(ignoreIfExists)}, &flusspb.EmptyResponse{})
}

// DropTable drops a table; errors match ErrTableNotExist. The table of the lake
// stays.
func (c *Client) DropTable(ctx context.Context, path TablePath, ignoreIfNotExists bool) error {
	return c.change(ctx, wire.DropTable, &flusspb.DropTableRequest{
		TablePath: path.message(), IgnoreIfNotExists: proto.Bool(ignoreIfNotExists)}, &flusspb.EmptyResponse{})
}

// ConfigOp is what a ConfigChange does.
type ConfigOp int32

// The operations on a table's options that servers carry out.
const (
	ConfigSet    ConfigOp = 0
	ConfigDelete ConfigOp = 1
)

// ConfigChange changes one table property or custom property.
type ConfigChange struct {
	Key   string
	Value string // not used by ConfigDelete
	Op    ConfigOp
}

// AlterTable changes the named options and no others; errors match
// ErrTableNotExist, ErrInvalidAlterTable, ErrInvalidConfig and
// ErrLakeTableAlreadyExist.
func (c *Client) AlterTable(ctx context.Context, path TablePath, changes []ConfigChange) error {
	req := &flusspb.AlterTableRequest{TablePath: path.message(), IgnoreIfNotExists: proto.Bool(false)}
	for _, ch := range changes {
		m := &flusspb.AlterConfig{ConfigKey: proto.String(ch.Key), OpType: proto.Int32(int32(ch.Op))}
		if ch.Op != ConfigDelete {
			m.ConfigValue = proto.String(ch.Value)
		}
		req.ConfigChanges = append(req.ConfigChanges, m)
	}
	return c.change(ctx, wire.AlterTable, req, &flusspb.EmptyResponse{})
}

// AddColumn appends a nullable column; it can't go into one request with
// changes of options.
func (c *Client) AddColumn(ctx context.Context, path TablePath, name string, typ row.DataType, comment *string) error {
	data, err := marshalType(typ)
	if err != nil {
		return fmt.Errorf("fluss: column %q: %w", name, err)
	}
	return c.change(ctx, wire.AlterTable, &flusspb.AlterTableRequest{
		TablePath: path.message(), IgnoreIfNotExists: proto.Bool(false),
		AddColumns: []*flusspb.AddColumn{{ColumnName: proto.String(name), DataTypeJson: data, Comment: comment, ColumnPositionType: proto.Int32(0)}},
	}, &flusspb.EmptyResponse{})
}
