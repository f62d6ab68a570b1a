package promotion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
	"golang.org/x/sync/errgroup"
)

const (
	// maxBatchRows stays far below the 131,023 changelog records that one batch
	// may make; an update makes two.
	maxBatchRows = 32_000
	// journalEvery bounds how long loaded buckets wait for their journal entry.
	journalEvery = time.Second
	// bucketCheckEvery is the share of rows, after a bucket's first ones, whose
	// bucket is computed and compared: the server stores a row in whatever
	// bucket it is sent to.
	bucketCheckEvery, bucketCheckFirst = 64, 1000
)

// load writes every selected bucket's rows into Fluss. Tables without a primary
// key need none: their rows stay in the lake.
func (r *run) load(ctx context.Context) error {
	if r.hist.loaded != nil {
		r.op.setStage(StageLoaded)
		return nil
	}
	if !r.info.HasPrimaryKey() || r.src.plan == nil {
		if err := r.journaled(ctx, EventLoaded, Detail{}); err != nil {
			return err
		}
		r.op.setStage(StageLoaded)
		return nil
	}
	if err := r.src.table.CanRead(r.src.plan); err != nil {
		return err
	}
	e, err := r.newEngine()
	if err != nil {
		return err
	}
	defer e.end()
	if err := e.begin(ctx); err != nil {
		return err
	}
	rows, bytes, err := e.outcome(ctx)
	if err != nil {
		return err
	}
	if err := r.journaled(ctx, EventLoaded, Detail{Stage: StageLoaded, Rows: rows, Bytes: bytes}); err != nil {
		return err
	}
	r.op.setStage(StageLoaded)
	return nil
}

// takeSlot waits until this process may begin another load.
func (r *run) takeSlot(ctx context.Context) error {
	select {
	case r.s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for a load slot (max_concurrent_loads = %d): %w", cap(r.s.slots), context.Cause(ctx))
	}
}

type loader struct {
	r       *run
	l       *layout
	w       *fluss.Writer
	tasks   []bucketTask
	start   map[string]int64 // log end offsets before the load
	batch   int              // bytes
	flight  int
	workers int

	rows, bytes atomic.Int64
	began       time.Time

	mu      sync.Mutex
	pending []LoadedBucket // finished, not journaled yet
}

func (r *run) newLoader(ctx context.Context) (*loader, error) {
	lay, err := newLayout(r.info, r.src.schema)
	if err != nil {
		return nil, err
	}
	l := &loader{r: r, l: lay, began: time.Now(),
		batch: orDefault(r.spec.BatchBytes, defaultBatchBytes), flight: orDefault(r.spec.MaxInFlight, defaultMaxInFlight),
		workers: orDefault(r.spec.Parallelism, defaultParallelism)}
	if l.tasks, err = r.tasks(ctx); err != nil {
		return nil, err
	}
	if l.start, err = r.endOffsets(ctx, l.tasks); err != nil {
		return nil, err
	}
	return l, nil
}

// startsEmpty refuses rows that no load of this operation can have written: any
// in a fresh table, and any in a bucket without rows in the source.
func (l *loader) startsEmpty(fresh bool) error {
	for _, t := range l.tasks {
		none := t.files == nil || len(t.files.Files) == 0
		if off := l.start[t.key()]; off != 0 && (fresh || none) {
			return foreignWriter(t.key(), off, "0, as nothing was loaded into it yet")
		}
	}
	return nil
}

func orDefault(n, def int) int {
	if n > 0 {
		return n
	}
	return def
}

// endOffsets asks the cluster for the log end offsets of the buckets.
func (r *run) endOffsets(ctx context.Context, tasks []bucketTask) (map[string]int64, error) {
	out := make(map[string]int64, len(tasks))
	for i := 0; i < len(tasks); {
		j := i
		var buckets []int32
		for ; j < len(tasks) && tasks[j].id.PartitionID == tasks[i].id.PartitionID; j++ {
			buckets = append(buckets, tasks[j].id.Bucket)
		}
		var part *int64
		if id := tasks[i].id.PartitionID; id >= 0 {
			part = &id
		}
		got, err := r.c.client.ListOffsets(ctx, r.info, part, buckets, fluss.OffsetLatest)
		if err != nil {
			return nil, fmt.Errorf("offsets of %s: %w", tasks[i].key(), err)
		}
		for ; i < j; i++ {
			out[tasks[i].key()] = got[tasks[i].id.Bucket]
		}
	}
	return out, nil
}

// run loads the buckets that are not loaded yet. However it ends, it then waits
// for the answer to every batch that was sent.
func (l *loader) run(ctx context.Context) (err error) {
	var todo []bucketTask
	for _, t := range l.tasks {
		done, ok := l.r.hist.buckets[t.key()]
		if ok && done.EndOffset == l.start[t.key()] {
			l.rows.Add(done.Rows)
			l.bytes.Add(done.Bytes)
			continue
		}
		todo = append(todo, t)
	}
	w, err := l.r.c.client.NewWriter(ctx, l.r.info, fluss.WriterConfig{MaxInFlight: l.flight, Acks: -1, BeforeSend: l.r.maySend})
	if err != nil {
		return err
	}
	l.w, l.r.drained = w, false
	defer func() {
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), windDown)
		defer done()
		drainErr := w.Drain(limit)
		l.r.drained = drainErr == nil
		if err == nil && drainErr != nil {
			err = drainErr
		}
		w.Close()
		if jerr := l.journal(limit); err == nil {
			err = jerr
		}
	}()
	g, gctx := errgroup.WithContext(ctx)
	ticking, stop := context.WithCancel(gctx)
	defer stop()
	safego.Go(g, func() error { return l.journalTicks(ticking) })
	work, wctx := errgroup.WithContext(gctx)
	work.SetLimit(l.workers)
	safego.Go(g, func() error {
		defer stop()
		for _, t := range todo {
			if wctx.Err() != nil {
				break
			}
			safego.Go(work, func() error { return l.bucket(wctx, t) })
		}
		return work.Wait()
	})
	return g.Wait()
}

// maySend is asked before every batch goes out, also one that goes out again.
func (r *run) maySend(ctx context.Context) error {
	err := r.op.check(ctx)
	if err == nil {
		faultpoint.Reach(ctx, faultpoint.LoadSend)
	}
	return err
}

// total is the number of records to load, which is at least that of the rows,
// and makes it the measure of the progress.
func (l *loader) total() int64 {
	var total int64
	for _, t := range l.tasks {
		if t.files != nil {
			for _, f := range t.files.Files {
				total += f.RowCount
			}
		}
	}
	l.r.op.setProgress(func(p *Progress) { p.TotalRows = total })
	return total
}

// journalTicks journals finished buckets in batches.
func (l *loader) journalTicks(ctx context.Context) error {
	t := time.NewTicker(journalEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := l.journal(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// maxJournaledBuckets bounds one event's size.
const maxJournaledBuckets = 2000

func (l *loader) journal(ctx context.Context) error {
	for {
		l.mu.Lock()
		n := min(len(l.pending), maxJournaledBuckets)
		some := l.pending[:n:n]
		l.mu.Unlock()
		if n == 0 {
			return nil
		}
		err := l.r.journaled(ctx, EventBucketsLoaded, Detail{Buckets: some, Stage: StageLoading, Rows: l.rows.Load(), Bytes: l.bytes.Load()})
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.pending = l.pending[n:]
		l.mu.Unlock()
	}
}

func (l *loader) finished(b LoadedBucket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, b)
}

// bucket loads one bucket: one pipeline from the merged source rows to the
// tablet server that leads it.
func (l *loader) bucket(ctx context.Context, t bucketTask) error {
	if t.files == nil || len(t.files.Files) == 0 {
		l.finished(LoadedBucket{Partition: t.partition, Bucket: t.id.Bucket, EndOffset: l.start[t.key()]})
		return nil
	}
	rr, err := l.r.openBucket(ctx, l.l, t, int64(l.flight+1)*int64(l.batch))
	if err != nil {
		return asFatal(err)
	}
	defer rr.close()
	p := &pipeline{l: l, t: t, out: l.w.Bucket(t.id), start: l.start[t.key()], free: make(chan *row.Batch, l.flight+1)}
	for range l.flight + 1 {
		p.free <- &row.Batch{}
	}
	if err := p.next(ctx); err != nil {
		return err
	}
	err = rr.each(ctx, func(e *encoders, pos int) error { return p.add(ctx, e, pos) })
	if !errors.Is(err, io.EOF) {
		return asFatal(err)
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	if err := p.out.Flush(ctx); err != nil {
		return err
	}
	end, err := p.result(ctx)
	if err != nil {
		return err
	}
	l.finished(LoadedBucket{Partition: t.partition, Bucket: t.id.Bucket, Rows: p.sent, Bytes: p.bytes, EndOffset: end})
	return nil
}

// asFatal marks what no retry can mend: a key twice in the source.
func asFatal(err error) error {
	var dup *paimon.DuplicateKeyError
	if errors.As(err, &dup) {
		return fatalError{Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The source holds a key twice",
			Found: dup.Error(), Required: "each key once in a data file",
			Why: "Paimon's readers show both rows until a compaction merges them, Fluss keeps one",
			Fix: "compact the Paimon table fully (CALL sys.compact), then apply again with on_source_change = \"restart\""}}
	}
	return err
}

// pipeline is one bucket's way from rows to acknowledged batches.
type pipeline struct {
	l     *loader
	t     bucketTask
	out   *fluss.BucketWriter
	batch *row.Batch
	free  chan *row.Batch // as many as may be in flight, and one to fill
	start int64
	seen  int64  // rows looked at, for the bucket check
	key   []byte // scratch

	sent int64 // rows, all batches

	mu      sync.Mutex
	acked   int64 // rows
	bytes   int64 // acknowledged
	end     int64 // log end offset answered to the last batch
	unknown bool  // the last batch is known to be stored, its offset is not
	err     error
}

// next takes a free batch to fill.
func (p *pipeline) next(ctx context.Context) error {
	select {
	case p.batch = <-p.free:
		p.batch.Reset(int16(p.l.r.info.SchemaID))
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// acceptable refuses a row that must not be loaded.
func (p *pipeline) acceptable(e *encoders, pos int) error {
	if p.seen < bucketCheckFirst || p.seen%bucketCheckEvery == 0 {
		if err := p.checkBucket(e, pos); err != nil {
			return err
		}
	}
	p.seen++
	if col, bad := e.row.Unreadable(pos); bad {
		return fatalError{Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "The source holds a value that Fluss can store but not read back",
			Found:    fmt.Sprintf("column %q of the row with %s: a timestamp before 1970 with digits below the millisecond", p.l.l.columns[col], e.describeKey(pos)),
			Required: "timestamps from 1970 on, or without digits below the millisecond",
			Why:      "changelog readers, union reads and tiering stop at such a record; one table can stop the tiering of the whole cluster",
			Fix:      `correct these rows in Paimon (nothing was registered), stop its writers, and apply again with on_source_change = "restart": the correction is a new snapshot`}}
	}
	return nil
}

func (p *pipeline) add(ctx context.Context, e *encoders, pos int) error {
	if err := p.acceptable(e, pos); err != nil {
		return err
	}
	p.batch.Add(e.key, e.row, pos, pos)
	if p.batch.Size() >= p.l.batch || p.batch.Rows() >= maxBatchRows {
		if err := p.send(ctx); err != nil {
			return err
		}
		return p.next(ctx)
	}
	return nil
}

func (p *pipeline) checkBucket(e *encoders, pos int) error {
	p.key = e.bucket.Append(p.key[:0], pos)
	got := row.Bucket(p.l.l.lakeFormat, p.key, p.l.l.buckets)
	if got == int(p.t.id.Bucket) {
		return nil
	}
	return fatalError{Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "A source row is in another bucket than Fluss would look for it in",
		Found: fmt.Sprintf("the row with %s lies in Paimon bucket %d", e.describeKey(pos), p.t.id.Bucket), Required: fmt.Sprintf("bucket %d", got),
		Why: "its key could not be looked up through Fluss",
		Fix: "rewrite the table with the default bucket function (INSERT OVERWRITE), then apply again with on_source_change = \"restart\""}}
}

// send hands the batch to the writer, waiting while too many are unanswered.
func (p *pipeline) send(ctx context.Context) error {
	b := p.batch
	rows, size := int64(b.Rows()), int64(b.Size())
	if rows == 0 {
		return nil
	}
	p.mu.Lock()
	p.sent += rows
	atLeast := p.sent // the log end offset when the bucket was fresh and every key new
	err := p.err
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.out.Send(ctx, b, func(a fluss.Ack) {
		if a.Err == nil {
			p.answered(a, rows, size, atLeast)
		}
		p.free <- b
	})
}

func (p *pipeline) answered(a fluss.Ack, rows, size, atLeast int64) {
	p.mu.Lock()
	p.acked += rows
	p.bytes += size
	p.unknown = a.LogEndOffset < 0
	if !p.unknown {
		p.end = max(p.end, a.LogEndOffset)
		if low, high := p.expected(atLeast); p.err == nil && (a.LogEndOffset < low || a.LogEndOffset > high) {
			p.err = foreignWriter(p.t.key(), a.LogEndOffset, fmt.Sprintf("%d to %d after this load's own rows", low, high))
		}
	}
	p.mu.Unlock()
	total, bytes := p.l.rows.Add(rows), p.l.bytes.Add(size)
	began := p.l.began
	p.l.r.op.setProgress(func(g *Progress) {
		g.Rows, g.Bytes = total, bytes
		if s := time.Since(began).Seconds(); s > 0 {
			g.RowsPerSec = float64(total) / s
		}
		if g.RowsPerSec > 0 && g.TotalRows > total {
			g.Remaining = time.Duration(float64(g.TotalRows-total) / g.RowsPerSec * float64(time.Second))
		} else {
			g.Remaining = 0
		}
	})
}

// expected bounds the log end offset that can follow from this load's own rows
// once atLeast of them are stored: in a fresh bucket one record a row, in one
// that holds rows already up to two, the row before and the row after.
func (p *pipeline) expected(atLeast int64) (low, high int64) {
	if p.start == 0 {
		return atLeast, p.sent
	}
	return p.start + 1, p.start + 2*p.sent
}

// result is the bucket's acknowledged log end offset. Where the last answer did
// not tell, as after a batch that was sent twice, the server is asked.
func (p *pipeline) result(ctx context.Context) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	if p.acked != p.sent {
		return 0, fmt.Errorf("promotion: bucket %s: %d of %d rows acknowledged", p.t.key(), p.acked, p.sent)
	}
	if p.sent == 0 {
		return p.start, nil
	}
	if !p.unknown {
		return p.end, nil
	}
	ends, err := p.l.r.endOffsets(ctx, []bucketTask{p.t})
	if err != nil {
		return 0, err
	}
	end := ends[p.t.key()]
	if low, high := p.expected(p.sent); end < low || end > high {
		return 0, foreignWriter(p.t.key(), end, fmt.Sprintf("%d to %d after this load's own rows", low, high))
	}
	return end, nil
}

func foreignWriter(bucket string, found int64, required string) error {
	return fatalError{Problem{Severity: SeverityError, Attribute: []string{"table"}, Summary: "Another writer has written into the Fluss table during the promotion",
		Found: fmt.Sprintf("log end offset %d of bucket %s", found, bucket), Required: required,
		Why: "rows that did not come from the source would be taken for loaded",
		Fix: "stop whatever writes to the Fluss table; apply again drops it and loads anew"}}
}
