package promotion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
	"golang.org/x/sync/errgroup"
)

const (
	jobNamePrefix = "fluss-promotion-"
	// stateNotSubmitted ends, in the journal, a job that Flink refused.
	stateNotSubmitted flink.State = "NOT-SUBMITTED"
	// cancelWait bounds how long Flink may take to cancel a job. Its own limit
	// for a task that does not react is 3 min.
	cancelWait = 4 * time.Minute
	// progressEvery is how often the cluster is asked how many rows it holds.
	progressEvery = 5 * time.Second
	countWorkers  = 2
)

// flinkEngine has Flink write the rows: one bounded INSERT from the pinned
// snapshot into empty buckets. This process only watches. It also reads the
// source, beside the job, for what the job cannot tell: how many keys each
// bucket has, and whether a row is one that must not be loaded.
type flinkEngine struct {
	r     *run
	l     *layout
	tasks []bucketTask
	jobs  *flink.Jobs
	id    string

	mu       sync.Mutex
	lastLook time.Time
	lastSeen flink.Job
}

// jobIDFor is the ID of the job that loads a table: one job for a table ID, and
// a table made anew gets another.
func jobIDFor(operationID string, tableID int64) string {
	sum := sha256.Sum256([]byte(operationID + "/" + strconv.FormatInt(tableID, 10)))
	return hex.EncodeToString(sum[:16])
}

func (e *flinkEngine) begin(ctx context.Context) error {
	r := e.r
	if err := r.notEnabledYet(ctx); err != nil {
		return err
	}
	var err error
	if e.l, err = newLayout(r.info, r.src.schema); err != nil {
		return err
	}
	if e.tasks, err = r.tasks(ctx); err != nil {
		return err
	}
	r.op.setStage(StageLoading)
	e.total()
	e.id = r.hist.jobID
	if e.id == "" {
		e.id = jobIDFor(r.op.id, r.info.TableID)
	}
	if st := r.hist.jobEnded; st.Terminal() {
		return nil // its outcome is in the journal
	}
	if r.hist.jobPending() {
		if e.jobs, err = r.s.flinkJobs(ctx); err != nil {
			return err
		}
		job, err := e.jobs.Job(ctx, e.id)
		if errors.Is(err, flink.ErrJobNotFound) && !r.hist.jobSubmitted {
			e.jobs.Close()
			return e.submit(ctx)
		}
		if err != nil {
			return jobUnknown(r.hist, err)
		}
		return e.submitted(ctx, job.ID)
	}
	return e.submit(ctx)
}

// submitted journals the job once, before anything waits for it.
func (e *flinkEngine) submitted(ctx context.Context, id string) error {
	e.id = id
	if e.r.hist.jobSubmitted && e.r.hist.jobID == id {
		return nil
	}
	return e.r.journaled(ctx, EventJobSubmitted, Detail{Stage: StageLoading, JobID: id})
}

// submit has Flink start the job. The job's ID is in the journal before: a
// submission whose answer is lost is found by it, and made again under it.
func (e *flinkEngine) submit(ctx context.Context) error {
	r := e.r
	settings := map[string]string{}
	if r.spec.Flink != nil {
		if bad := CheckFlinkSettings(r.spec.Flink.Settings); bad != "" {
			return settingsProblem(bad)
		}
		maps.Copy(settings, r.spec.Flink.Settings)
	}
	settings["execution.runtime-mode"] = "batch"
	settings["table.dml-sync"] = "false"
	settings["pipeline.name"] = jobNamePrefix + r.op.id
	settings[flink.FixedJobID] = e.id
	if r.spec.Parallelism > 0 {
		settings["parallelism.default"] = strconv.Itoa(r.spec.Parallelism)
	}
	f, err := r.s.openFlink(ctx, settings)
	if err != nil {
		return flinkProblem(err)
	}
	defer f.close(ctx)
	if err := f.catalogs(ctx, r.c, r.j.clusterID, r.spec); err != nil {
		return err
	}
	// Seen under its name alone: the ID was chosen by somebody else.
	named, err := f.jobs.Named(ctx, settings["pipeline.name"])
	if err != nil {
		return flinkProblem(err)
	}
	for _, job := range named {
		if !job.State.Terminal() && job.ID != e.id {
			return jobRunning(&history{id: r.op.id, jobID: job.ID}, job.State, "a load by another job")
		}
	}
	if err := e.startsEmpty(ctx); err != nil {
		return err
	}
	if err := r.journaled(ctx, EventLoading, Detail{Stage: StageLoading, JobID: e.id, TotalRows: r.op.snapshot().TotalRows}); err != nil {
		return err
	}
	if err := r.op.check(ctx); err != nil {
		return err
	}
	statement, err := e.insert(f)
	if err != nil {
		return err
	}
	id, err := f.sql.Submit(ctx, "submit the load", statement)
	e.jobs, f.jobs = f.jobs, nil
	if err != nil {
		return e.notSubmitted(ctx, err)
	}
	return e.submitted(ctx, id)
}

// notSubmitted finds out what became of a submission that gave no job.
func (e *flinkEngine) notSubmitted(ctx context.Context, cause error) error {
	if err := context.Cause(ctx); err != nil {
		return err // the next apply finds it out
	}
	if _, err := e.jobs.Job(ctx, e.id); err == nil {
		return e.submitted(ctx, e.id)
	}
	p := Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "Flink refuses the load", Found: cause.Error(),
		Required: "a job that loads the table", Fix: "see the cause; apply again goes on with the promotion"}
	// Only what fails before a job is made is known to have made none.
	switch flink.KindOf(cause) {
	case flink.KindType, flink.KindTableNotFound, flink.KindMissingConnector, flink.KindSyntax:
		if err := e.r.journaled(ctx, EventJobEnded, Detail{Stage: StageLoading, JobID: e.id, JobState: string(stateNotSubmitted), Reason: firstLine(cause.Error())}); err != nil {
			return err
		}
	}
	return p
}

// startsEmpty refuses rows in a bucket before the job has begun.
func (e *flinkEngine) startsEmpty(ctx context.Context) error {
	ends, err := e.r.endOffsets(ctx, e.tasks)
	if err != nil {
		return err
	}
	for _, t := range e.tasks {
		if off := ends[t.key()]; off != 0 {
			if e.r.hist.jobID != "" && e.r.hist.jobEnded == "" {
				return jobUnknown(e.r.hist, fmt.Errorf("no such job is known to Flink, and bucket %s holds rows up to offset %d", t.key(), off))
			}
			return foreignWriter(t.key(), off, "0, as nothing was loaded into it yet")
		}
	}
	return nil
}

// insert is the load as one statement. The columns are named in the Fluss
// table's order; columns that the promotion adds to the source are left out.
func (e *flinkEngine) insert(f *flinkSession) (string, error) {
	r := e.r
	columns := make([]string, len(e.l.columns))
	for i, c := range e.l.columns {
		columns[i] = flink.Identifier(c)
	}
	table := func(catalog string) string {
		return flink.Identifier(catalog) + "." + flink.Identifier(r.path.Database) + "." + flink.Identifier(r.path.Table)
	}
	wheres, err := e.wheres()
	if err != nil {
		return "", err
	}
	// One parallelism for source and sink: the source's own guess may need more
	// slots than there are.
	hint := flink.Options(map[string]string{"scan.mode": "from-snapshot", "scan.snapshot-id": strconv.FormatInt(r.src.snapshot.ID, 10), "scan.infer-parallelism": "false"})
	var selects []string
	for _, where := range wheres {
		selects = append(selects, "SELECT "+strings.Join(columns, ", ")+" FROM "+table(f.lake)+" /*+ OPTIONS("+hint+") */"+where)
	}
	return "INSERT INTO " + table(f.fluss) + " " + strings.Join(selects, " UNION ALL "), nil
}

// partitionsPerSelect is how many partitions one WHERE names. Flink 1.20 needs
// time that grows with the cube of their number to plan it, 100 s for 500, and
// from about 400 on its stack overflows.
const partitionsPerSelect = 50

// wheres are WHERE clauses that together choose the selected partitions, each of
// them once.
func (e *flinkEngine) wheres() ([]string, error) {
	r := e.r
	if len(r.src.schema.PartitionKeys) == 0 || r.spec.Partitions == nil {
		return []string{""}, nil
	}
	var any []string
	for _, p := range r.jdg.Partitions {
		if !p.Selected {
			continue
		}
		var all []string
		for _, k := range r.src.schema.PartitionKeys {
			field, ok := r.src.schema.Field(k)
			if !ok {
				return nil, fmt.Errorf("promotion: partition column %q is not in schema %d", k, r.src.schema.ID)
			}
			// Fluss's text of a date is SQL's, and Paimon's of a timestamp.
			text := p.FlussSpec[k]
			if slices.Contains(otherTextKinds, field.Type.Kind) {
				text = p.Spec[k]
			}
			typ := field.Type.String()
			if field.Type.Kind == paimon.Char || field.Type.Kind == paimon.VarChar {
				typ = "STRING"
			}
			all = append(all, flink.Identifier(k)+" = CAST("+flink.Literal(text)+" AS "+strings.TrimSuffix(typ, " NOT NULL")+")")
		}
		any = append(any, "("+strings.Join(all, " AND ")+")")
	}
	if len(any) == 0 {
		return []string{" WHERE FALSE"}, nil
	}
	var out []string
	for some := range slices.Chunk(any, partitionsPerSelect) {
		out = append(out, " WHERE "+strings.Join(some, " OR "))
	}
	return out, nil
}

func (e *flinkEngine) total() {
	var total int64
	for _, t := range e.tasks {
		if t.files != nil {
			for _, f := range t.files.Files {
				total += f.RowCount
			}
		}
	}
	e.r.op.setProgress(func(p *Progress) { p.TotalRows = total })
}

// outcome waits for the job's end, and counts the source's keys beside it.
func (e *flinkEngine) outcome(ctx context.Context) (int64, int64, error) {
	counts := map[string]int64{}
	var job flink.Job
	g, gctx := errgroup.WithContext(ctx)
	safego.Go(g, func() error {
		var err error
		job, err = e.await(gctx)
		return err
	})
	safego.Go(g, func() error { return e.count(gctx, counts) })
	if err := g.Wait(); err != nil {
		return 0, 0, e.stopped(ctx, err)
	}
	if job.State != flink.StateFinished {
		cause := "no cause given"
		if job.Cause != nil {
			cause = job.Cause.Error()
		}
		return 0, 0, Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "The Flink job has not loaded the table",
			Found: fmt.Sprintf("job %s is %s: %s", job.ID, job.State, cause), Required: string(flink.StateFinished),
			Fix: "see the cause, and Flink's logs; apply again makes the Fluss table anew and loads it by a new job of the same operation"}
	}
	return e.offsets(ctx, counts, job.Restarted)
}

// await waits for the job's end and journals it.
func (e *flinkEngine) await(ctx context.Context) (flink.Job, error) {
	if st := e.r.hist.jobEnded; st.Terminal() {
		return flink.Job{ID: e.id, State: st, Restarted: e.r.hist.jobRestarted}, nil
	}
	job, err := e.jobs.Await(ctx, e.id, func(j flink.Job) { e.look(ctx, j) })
	if err != nil {
		return job, err
	}
	return job, e.r.journaled(ctx, EventJobEnded, jobEnd(job))
}

// look makes progress of what the cluster holds: every row makes one record.
func (e *flinkEngine) look(ctx context.Context, job flink.Job) {
	e.mu.Lock()
	due := time.Since(e.lastLook) >= progressEvery
	if due {
		e.lastLook = time.Now()
	}
	e.lastSeen = job
	e.mu.Unlock()
	if !due {
		return
	}
	ends, err := e.r.endOffsets(ctx, e.tasks)
	if err != nil {
		return // only a number for people
	}
	var rows int64
	for _, end := range ends {
		rows += end
	}
	e.r.op.setProgress(func(p *Progress) {
		p.Rows = rows
		if s := time.Since(job.Started).Seconds(); s > 0 && !job.Started.IsZero() {
			p.RowsPerSec = float64(rows) / s
		}
		p.Remaining = 0
		if left := p.TotalRows - rows; left > 0 && p.RowsPerSec > 0 {
			p.Remaining = time.Duration(float64(left) / p.RowsPerSec * float64(time.Second))
		}
	})
}

// stopped ends the job where it is not to go on: on request, and when a row of
// the source must not be loaded. A caller that stops waiting leaves it running.
func (e *flinkEngine) stopped(ctx context.Context, cause error) error {
	var fatal fatalError
	if !errors.As(cause, &fatal) && !errors.Is(context.Cause(ctx), errCancelRequested) {
		e.mu.Lock()
		seen := e.lastSeen
		e.mu.Unlock()
		if ctx.Err() != nil && seen.Cause != nil && !seen.State.Terminal() {
			return fmt.Errorf("flink job %s goes on and is %s (%s): %w", e.id, seen.State, firstLine(seen.Cause.Error()), cause)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("flink job %s goes on without this process: %w", e.id, cause)
		}
		return cause
	}
	if !e.r.hist.jobPending() {
		return cause
	}
	e.r.drained = false
	limit, done := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer done()
	job, err := e.jobs.Cancel(limit, e.id)
	if err == nil {
		err = e.r.journaled(limit, EventJobEnded, jobEnd(job))
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	e.r.drained = true
	return cause
}

// count reads every bucket of the source, as a load by this process would, and
// refuses the same rows.
func (e *flinkEngine) count(ctx context.Context, counts map[string]int64) error {
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(countWorkers)
	for _, t := range e.tasks {
		if t.files == nil || len(t.files.Files) == 0 {
			continue
		}
		if gctx.Err() != nil {
			break
		}
		safego.Go(g, func() error {
			rr, err := e.r.openBucket(gctx, e.l, t, 0)
			if err != nil {
				return asFatal(err)
			}
			defer rr.close()
			p := &pipeline{l: &loader{r: e.r, l: e.l}, t: t}
			err = rr.each(gctx, func(enc *encoders, pos int) error { return p.acceptable(enc, pos) })
			if !errors.Is(err, io.EOF) {
				return asFatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[t.key()] = p.seen
			return nil
		})
	}
	return g.Wait()
}

// offsets reads the log end offsets of a finished job once, compares them with
// the number of keys, and journals them.
func (e *flinkEngine) offsets(ctx context.Context, counts map[string]int64, restarted bool) (int64, int64, error) {
	r := e.r
	ends, err := r.endOffsets(ctx, e.tasks)
	if err != nil {
		return 0, 0, err
	}
	var rows int64
	var buckets []LoadedBucket
	for _, t := range e.tasks {
		keys, end := counts[t.key()], ends[t.key()]
		if known, ok := r.hist.buckets[t.key()]; ok {
			rows += known.Rows
			continue // journaled by an earlier run; what differs now is seen when it is registered
		}
		switch {
		case end < keys:
			return 0, 0, fatalError{Problem{Severity: SeverityError, Attribute: []string{"load"}, Summary: "The Flink job has written fewer rows than the source holds",
				Found: fmt.Sprintf("log end offset %d of bucket %s", end, t.key()), Required: fmt.Sprintf("at least %d, the number of keys in the source", keys),
				Fix: "look into the logs of Flink's task managers; apply again drops the table and loads anew"}}
		case end > keys && (!restarted || keys == 0):
			return 0, 0, foreignWriter(t.key(), end, fmt.Sprintf("%d, the number of keys in the source: no task of the Flink job was restarted", keys))
		}
		rows += keys
		buckets = append(buckets, LoadedBucket{Partition: t.partition, Bucket: t.id.Bucket, Rows: keys, EndOffset: end})
	}
	for chunk := range slices.Chunk(buckets, maxJournaledBuckets) {
		if err := r.journaled(ctx, EventBucketsLoaded, Detail{Buckets: chunk, Stage: StageLoading, Rows: rows}); err != nil {
			return 0, 0, err
		}
	}
	r.op.setProgress(func(p *Progress) { p.Rows, p.Remaining = rows, 0 })
	return rows, 0, nil
}

func (e *flinkEngine) end() {
	if e.jobs != nil {
		e.jobs.Close()
	}
}

// writtenTwice says whether a restart made Flink write rows more than once:
// then only a full verification tells that nothing else was written.
func (r *run) writtenTwice() bool {
	if !r.hist.jobRestarted {
		return false
	}
	for _, b := range r.hist.buckets {
		if b.EndOffset > b.Rows {
			return true
		}
	}
	return false
}
