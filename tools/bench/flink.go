package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// flinkParallelism are those tried; the best one is the peer.
var flinkParallelism = []int{1, 2, 4}

// flinkName is what the peer is called in the results.
func flinkName(parallelism int) string { return fmt.Sprintf("Flink p=%d", parallelism) }

// flink is the peer: a Flink cluster that reads the source and writes to the
// same Fluss servers.
type flink struct {
	b       *bench
	sql     *flinksql.Session
	version string
	columns string // of the source table, in SQL
}

// insert is what the peer runs. The source is read with the job's parallelism:
// left to itself it would ask for more slots than there are.
const insert = "INSERT INTO fluss.%s.%s SELECT * FROM lake.%s.%s /*+ OPTIONS('scan.infer-parallelism'='false') */"

func (b *bench) openFlink(ctx context.Context) (*flink, error) {
	f := &flink{b: b}
	var overview struct {
		Version string `json:"flink-version"`
	}
	if err := get(ctx, b.stack.FlinkRest+"/overview", &overview); err != nil {
		return nil, err
	}
	f.version = overview.Version
	table, err := paimon.OpenTable(ctx, storage.Local{}, b.tableDir(source), database+"."+source)
	if err != nil {
		return nil, err
	}
	s := table.Schema()
	var parts []string
	for _, c := range s.Fields {
		parts = append(parts, flinksql.Identifier(c.Name)+" "+c.Type.String())
	}
	var key []string
	for _, k := range s.PrimaryKeys {
		key = append(key, flinksql.Identifier(k))
	}
	f.columns = strings.Join(append(parts, "PRIMARY KEY ("+strings.Join(key, ", ")+") NOT ENFORCED"), ", ")
	if f.sql, err = flinksql.Open(ctx, b.stack.GatewayURL, nil); err != nil {
		return nil, err
	}
	if err := f.sql.CreatePaimonCatalog(ctx, "lake", b.stack.Warehouse); err != nil {
		return nil, err
	}
	if err := f.sql.CreateFlussCatalog(ctx, "fluss", b.stack.Bootstrap); err != nil {
		return nil, err
	}
	return f, f.sql.Exec(ctx, "CREATE DATABASE IF NOT EXISTS fluss."+database)
}

// load copies the source into a new Fluss table. Its time is the job's own, as
// the job manager counts it: planning and submitting the statement is left out.
func (f *flink) load(ctx context.Context, j job, parallelism int) (load, error) {
	table := fmt.Sprintf("flink_p%d_%d", parallelism, j.round)
	err := f.sql.Exec(ctx,
		fmt.Sprintf("CREATE TABLE fluss.%s.%s (%s) WITH ('bucket.num'='%d')", database, table, f.columns, buckets),
		fmt.Sprintf("SET 'parallelism.default' = '%d'", parallelism))
	if err != nil {
		return load{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, aTurn)
	defer cancel()
	m, err := f.b.meter()
	if err != nil {
		return load{}, err
	}
	result, err := f.sql.Query(ctx, fmt.Sprintf(insert, database, table, database, j.source))
	if err != nil {
		return load{}, err
	}
	l, err := m.stop()
	if err != nil {
		return load{}, err
	}
	l.client, l.peak = l.flink, 0
	var job struct {
		State    string `json:"state"`
		Duration int64  `json:"duration"` // ms
	}
	if err := get(ctx, f.b.stack.FlinkRest+"/jobs/"+result.JobID, &job); err != nil {
		return load{}, err
	}
	if job.State != "FINISHED" || job.Duration <= 0 {
		return load{}, fmt.Errorf("job %s: found state %s after %d ms; required: FINISHED", result.JobID, job.State, job.Duration)
	}
	l.took = time.Duration(job.Duration) * time.Millisecond
	return l, f.b.loaded(ctx, table, j.rows)
}

// get asks Flink's REST service.
func get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return nil
}
