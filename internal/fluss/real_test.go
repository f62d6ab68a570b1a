package fluss_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// connectReal connects to the cluster named by FLUSS_TEST_BOOTSTRAP (host:port,
// comma-separated), which the acceptance harness sets.
func connectReal(t *testing.T) (*fluss.Client, context.Context) {
	t.Helper()
	bootstrap := os.Getenv("FLUSS_TEST_BOOTSTRAP")
	if bootstrap == "" {
		t.Skip("FLUSS_TEST_BOOTSTRAP is not set: no Fluss server to test against")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	c, err := fluss.Connect(ctx, fluss.Config{Bootstrap: strings.Split(bootstrap, ",")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, ctx
}

// realDatabase creates a database of its own and drops it with all its tables
// after the test.
func realDatabase(t *testing.T, c *fluss.Client, ctx context.Context) string {
	t.Helper()
	name := fmt.Sprintf("client_%d", time.Now().UnixNano())
	if err := c.CreateDatabase(ctx, name, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		tables, err := c.ListTables(ctx, name)
		if err != nil {
			t.Error(err)
		}
		for _, table := range tables {
			if err := c.DropTable(ctx, fluss.TablePath{Database: name, Table: table}, false); err != nil {
				t.Error(err)
			}
		}
		if err := c.DropDatabase(ctx, name, false); err != nil {
			t.Error(err)
		}
	})
	return name
}

func mustType(t testing.TB, s string) row.DataType {
	t.Helper()
	typ, err := row.ParseType(s)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func ordersDescriptor(t testing.TB) fluss.TableDescriptor {
	comment, note := "orders of a test", "who <bought> & why"
	return fluss.TableDescriptor{
		Columns: []fluss.Column{
			{Name: "id", Type: mustType(t, "BIGINT NOT NULL")},
			{Name: "buyer", Type: mustType(t, "STRING"), Comment: &note},
			{Name: "price", Type: mustType(t, "DECIMAL(12, 2)")},
		},
		PrimaryKey: []string{"id"}, BucketCount: 3, Comment: &comment,
		Properties:       map[string]string{"table.datalake.enabled": "false"},
		CustomProperties: map[string]string{"promotion.operation": "op-1"},
	}
}

// createTable creates a table and waits until its buckets have leaders. A
// coordinator of 0.9.1 can miss the creation of a table that follows that of
// its database within milliseconds; such a table never gets any, and is made
// again.
func createTable(t *testing.T, c *fluss.Client, ctx context.Context, path fluss.TablePath, d fluss.TableDescriptor) *fluss.TableInfo {
	t.Helper()
	for try := 1; ; try++ {
		if err := c.CreateTable(ctx, path, d, false); err != nil {
			t.Fatal(err)
		}
		info, err := c.GetTable(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsPartitioned() {
			return info
		}
		buckets := make([]int32, info.Descriptor.BucketCount)
		for i := range buckets {
			buckets[i] = int32(i)
		}
		short, cancel := context.WithTimeout(ctx, 15*time.Second)
		_, err = c.ListOffsets(short, info, nil, buckets, fluss.OffsetLatest)
		cancel()
		if err == nil {
			return info
		}
		if !errors.Is(err, fluss.ErrNoLeader) || try == 3 {
			t.Fatal(err)
		}
		t.Logf("the server missed the table: %v", err)
		if err := c.DropTable(ctx, path, false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRealCluster(t *testing.T) {
	c, ctx := connectReal(t)
	if g := c.Generation(); g != fluss.Generation09 && g != fluss.Generation10 {
		t.Errorf("generation %q", g)
	}
	coordinator, tablets, err := c.Servers(ctx)
	if err != nil || coordinator.Port == 0 || len(tablets) == 0 {
		t.Errorf("servers: %+v, %+v, %v", coordinator, tablets, err)
	}
	configs, err := c.ClusterConfigs(ctx)
	if err != nil || configs["datalake.format"] == "" {
		t.Errorf("cluster configs: %d entries, format %q, %v", len(configs), configs["datalake.format"], err)
	}
	// Any server of the cluster does as a bootstrap server.
	for _, n := range append(tablets, coordinator) {
		other, err := fluss.Connect(ctx, fluss.Config{Bootstrap: []string{n.Addr()}})
		if err != nil {
			t.Fatalf("connecting to %s: %v", n.Addr(), err)
		}
		if other.Generation() != c.Generation() {
			t.Errorf("%s: generation %q, elsewhere %q", n.Addr(), other.Generation(), c.Generation())
		}
		if _, err := other.ListDatabases(ctx); err != nil {
			t.Error(err)
		}
		other.Close()
	}
}

func TestRealTables(t *testing.T) {
	c, ctx := connectReal(t)
	db := realDatabase(t, c, ctx)
	if ok, err := c.DatabaseExists(ctx, db); !ok || err != nil {
		t.Errorf("database exists: %v, %v", ok, err)
	}
	if err := c.CreateDatabase(ctx, db, false); !errors.Is(err, fluss.ErrDatabaseAlreadyExist) {
		t.Errorf("created twice: %v", err)
	}
	if list, err := c.ListDatabases(ctx); err != nil || !slices.Contains(list, db) {
		t.Errorf("databases: %v, %v", list, err)
	}
	path := fluss.TablePath{Database: db, Table: "orders"}
	if _, err := c.GetTable(ctx, path); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("missing table: %v", err)
	}
	if ok, err := c.TableExists(ctx, path); ok || err != nil {
		t.Errorf("missing table exists: %v, %v", ok, err)
	}
	d := ordersDescriptor(t)
	info := createTable(t, c, ctx, path, d)
	if err := c.CreateTable(ctx, path, d, false); !errors.Is(err, fluss.ErrTableAlreadyExist) {
		t.Errorf("created twice: %v", err)
	}
	if err := c.CreateTable(ctx, path, d, true); err != nil {
		t.Errorf("created again with ignore-if-exists: %v", err)
	}
	if err := c.DropDatabase(ctx, db, false); !errors.Is(err, fluss.ErrDatabaseNotEmpty) {
		t.Errorf("dropping a database with tables: %v", err)
	}
	got := info.Descriptor
	if *got.Comment != *d.Comment || *got.Columns[1].Comment != *d.Columns[1].Comment || !slices.Equal(got.PrimaryKey, d.PrimaryKey) ||
		got.BucketCount != 3 || !slices.Equal(info.BucketKey(), []string{"id"}) || got.Columns[2].Type.String() != "DECIMAL(12, 2)" {
		t.Errorf("described as %+v", got)
	}
	if info.LakeFormat() != "paimon" || info.KvFormatVersion() != 2 || info.SchemaID != 1 || info.DataLakeEnabled() || info.CreatedTime == 0 {
		t.Errorf("described as %+v", info)
	}

	if err := c.AlterTable(ctx, path, []fluss.ConfigChange{{Key: "promotion.operation", Value: "op-2"}, {Key: "note", Value: "x"}, {Key: "table.datalake.freshness", Value: "5min"}}); err != nil {
		t.Error(err)
	}
	if err := c.AlterTable(ctx, path, []fluss.ConfigChange{{Key: "note", Op: fluss.ConfigDelete}}); err != nil {
		t.Error(err)
	}
	if err := c.AlterTable(ctx, path, []fluss.ConfigChange{{Key: "table.replication.factor", Value: "2"}}); !errors.Is(err, fluss.ErrInvalidAlterTable) {
		t.Errorf("altering a fixed property: %v", err)
	}
	if err := c.AlterTable(ctx, fluss.TablePath{Database: db, Table: "none"}, []fluss.ConfigChange{{Key: "a", Value: "b"}}); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("altering a missing table: %v", err)
	}
	if err := c.AddColumn(ctx, path, "extra", mustType(t, "ROW<`a` INT, `b` ARRAY<STRING>>"), nil); err != nil {
		t.Error(err)
	}
	info, err := c.GetTable(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"promotion.operation": "op-2"}
	if !maps.Equal(info.Descriptor.CustomProperties, want) || info.Descriptor.Properties["table.datalake.freshness"] != "5min" {
		t.Errorf("altered: %v, %v", info.Descriptor.CustomProperties, info.Descriptor.Properties)
	}
	if col, ok := info.Descriptor.Column("extra"); !ok || info.SchemaID != 2 || len(col.Type.Fields) != 2 {
		t.Errorf("added column: %+v, schema %d", col, info.SchemaID)
	}
	if tables, err := c.ListTables(ctx, db); err != nil || !slices.Equal(tables, []string{"orders"}) {
		t.Errorf("tables: %v, %v", tables, err)
	}
	if err := c.DropTable(ctx, path, false); err != nil {
		t.Error(err)
	}
	if err := c.DropTable(ctx, path, false); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("dropped twice: %v", err)
	}
	if err := c.DropTable(ctx, path, true); err != nil {
		t.Error(err)
	}
	bad := d
	bad.Properties = map[string]string{"table.no.such.option": "1"}
	if err := c.CreateTable(ctx, path, bad, false); !errors.Is(err, fluss.ErrInvalidConfig) {
		t.Errorf("unknown property: %v", err)
	}
	if err := c.CreateTable(ctx, fluss.TablePath{Database: "no_such_database", Table: "t"}, d, false); !errors.Is(err, fluss.ErrDatabaseNotExist) {
		t.Errorf("missing database: %v", err)
	}
}

// Every type the table JSON knows goes to the server and comes back the same,
// and so do the field IDs, which the server checks.
func TestRealTypes(t *testing.T) {
	c, ctx := connectReal(t)
	db := realDatabase(t, c, ctx)
	var d fluss.TableDescriptor
	for i, s := range []string{"BOOLEAN", "TINYINT", "SMALLINT", "INT NOT NULL", "BIGINT", "FLOAT", "DOUBLE", "CHAR(7)", "STRING", "BINARY(8)", "BYTES",
		"DECIMAL(38, 10)", "DATE", "TIME(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(9)", "ARRAY<INT NOT NULL>", "MAP<STRING NOT NULL, BIGINT>",
		"ROW<`x` INT, `y` ROW<`z` ARRAY<ROW<`q` DATE>>>, `w` STRING>", "BIGINT"} {
		d.Columns = append(d.Columns, fluss.Column{Name: fmt.Sprintf("c%d", i), Type: mustType(t, s)})
	}
	info := createTable(t, c, ctx, fluss.TablePath{Database: db, Table: "types"}, d)
	for i, col := range info.Descriptor.Columns {
		if col.Type.String() != d.Columns[i].Type.String() {
			t.Errorf("column %d: %s became %s", i, d.Columns[i].Type, col.Type)
		}
	}
	if last := info.Descriptor.Columns[19].ID; last != 24 {
		t.Errorf("ID of the last column is %d", last)
	}
	if info.HasPrimaryKey() || info.BucketKey() == nil && info.Descriptor.BucketCount == 0 {
		t.Errorf("described as %+v", info)
	}
}

// The coordinator says of a table it knows that it has noticed it, of another
// that it has not.
func TestRealNoticed(t *testing.T) {
	c, ctx := connectReal(t)
	info := createTable(t, c, ctx, fluss.TablePath{Database: realDatabase(t, c, ctx), Table: "noticed"}, ordersDescriptor(t))
	if err := c.AwaitNotice(ctx, info, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	other := *info
	other.TableID += 1 << 40
	if ok, err := c.Noticed(ctx, &other); ok || err != nil {
		t.Errorf("a table that does not exist: noticed %t, %v", ok, err)
	}
	if err := c.AwaitNotice(ctx, &other, 100*time.Millisecond); !errors.Is(err, fluss.ErrNotNoticed) {
		t.Errorf("a table that does not exist: %v", err)
	}
}
