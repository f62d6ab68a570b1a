package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
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

// holds fails unless the logs of a new table hold rows records: every row was
// written, and none twice.
func (c *cluster) holds(ctx context.Context, table string, rows int) error {
	info, err := c.client.GetTable(ctx, fluss.TablePath{Database: database, Table: table})
	if err != nil {
		return err
	}
	var all []int32
	for b := range info.Descriptor.BucketCount {
		all = append(all, int32(b))
	}
	if len(all) != buckets {
		return fmt.Errorf("table %s: found %d buckets; required: %d", info.Path, len(all), buckets)
	}
	ends, err := c.client.ListOffsets(ctx, info, nil, all, fluss.OffsetLatest)
	if err != nil {
		return err
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
