package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// cluster asks the Fluss servers what was done.
type cluster struct{ client *fluss.Client }

func connect(ctx context.Context, bootstrap string) (*cluster, error) {
	c, err := fluss.Connect(ctx, fluss.Config{Bootstrap: []string{bootstrap}})
	if err != nil {
		return nil, err
	}
	return &cluster{client: c}, nil
}

// create makes an empty Fluss table with the columns, the key and the buckets of
// the Paimon table in a folder, and waits until it can be written to.
func (c *cluster) create(ctx context.Context, name, dir string) (*fluss.TableInfo, error) {
	table, err := paimon.OpenTable(ctx, storage.Local{}, dir, name)
	if err != nil {
		return nil, err
	}
	schema := table.Schema()
	d := fluss.TableDescriptor{PrimaryKey: schema.PrimaryKeys, BucketCount: buckets}
	for _, f := range schema.Fields {
		t, err := row.ParseType(f.Type.String())
		if err != nil {
			return nil, err
		}
		d.Columns = append(d.Columns, fluss.Column{Name: f.Name, Type: t})
	}
	if err := c.client.CreateDatabase(ctx, database, true); err != nil {
		return nil, err
	}
	path := fluss.TablePath{Database: database, Table: name}
	// A coordinator of 0.9.1 may fail to notice a new table, which then never works.
	for try := 1; ; try++ {
		if err := c.client.CreateTable(ctx, path, d, false); err != nil {
			return nil, err
		}
		info, err := c.client.GetTable(ctx, path)
		if err != nil {
			return nil, err
		}
		err = c.client.AwaitNotice(ctx, info, 10*time.Second)
		if errors.Is(err, fluss.ErrNotNoticed) && try < 3 {
			if err := c.drop(ctx, name); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		// It waits for the buckets' leaders.
		_, err = c.ends(ctx, info)
		return info, err
	}
}

func (c *cluster) drop(ctx context.Context, name string) error {
	return c.client.DropTable(ctx, fluss.TablePath{Database: database, Table: name}, false)
}

// ends are the log end offsets of all buckets.
func (c *cluster) ends(ctx context.Context, info *fluss.TableInfo) (map[int32]int64, error) {
	var all []int32
	for b := range info.Descriptor.BucketCount {
		all = append(all, int32(b))
	}
	return c.client.ListOffsets(ctx, info, nil, all, fluss.OffsetLatest)
}

// holds fails unless the logs of a new table hold rows records: every row was
// written, and none twice.
func (c *cluster) holds(ctx context.Context, table string, rows int) error {
	info, err := c.client.GetTable(ctx, fluss.TablePath{Database: database, Table: table})
	if err != nil {
		return err
	}
	ends, err := c.ends(ctx, info)
	if err != nil {
		return err
	}
	if len(ends) != buckets {
		return fmt.Errorf("table %s: found %d buckets; required: %d", info.Path, len(ends), buckets)
	}
	var total int64
	for _, end := range ends {
		total += end
	}
	if total != int64(rows) {
		return fmt.Errorf("table %s: found %d records in its logs; required: %d, one a row", info.Path, total, rows)
	}
	return nil
}

// loadTime is the time the promotion of a table spent on loading, by the events
// of its journal: from "loading", written before the first row is read, to
// "loaded", written when every batch is acknowledged.
func (c *cluster) loadTime(ctx context.Context, table string) (time.Duration, error) {
	journal := fluss.TablePath{Database: "promotion", Table: "journal"}
	info, err := c.client.GetTable(ctx, journal)
	if err != nil {
		return 0, err
	}
	at := map[string]int{}
	var types []row.DataType
	for i, col := range info.Descriptor.Columns {
		at[col.Name] = i
		types = append(types, col.Type)
	}
	for _, name := range []string{"event", "database_name", "table_name", "event_time"} {
		if _, ok := at[name]; !ok {
			return 0, fmt.Errorf("table %s: found no column %q; required: a promotion journal", journal, name)
		}
	}
	// The journal has one bucket and a few events a promotion.
	rows, err := c.client.LimitScan(ctx, info, fluss.BucketID{PartitionID: -1}, 100_000)
	if err != nil {
		return 0, err
	}
	times := map[string][]time.Time{}
	for _, data := range rows {
		v, err := row.Decode(types, data)
		if err != nil {
			return 0, err
		}
		when, ok := v[at["event_time"]].(row.TimestampValue)
		if event, isText := v[at["event"]].(string); ok && isText && v[at["database_name"]] == database && v[at["table_name"]] == table {
			times[event] = append(times[event], time.UnixMilli(when.Millis))
		}
	}
	from, to := times["loading"], times["loaded"]
	if len(from) != 1 || len(to) != 1 || !to[0].After(from[0]) {
		return 0, fmt.Errorf("table %s: found %d events loading and %d loaded of %s.%s; required: one of each, in this order",
			journal, len(from), len(to), database, table)
	}
	return to[0].Sub(from[0]), nil
}
