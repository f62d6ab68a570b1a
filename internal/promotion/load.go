package promotion

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/keysort"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
	"golang.org/x/sync/errgroup"
)

const (
	// journalEvery bounds how long loaded buckets wait for their journal entry.
	journalEvery = time.Second
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
	pending []LoadedBucket    // finished, not journaled yet
	sorters []*keysort.Sorter // of finished buckets, for others

	sort      sortSizes
	spillDir  string
	spillEach atomic.Int64 // bytes of a bucket's temporary file; 0: none
}

func (r *run) newLoader(ctx context.Context) (*loader, error) {
	lay, err := newLayout(r.info, r.src.schema)
	if err != nil {
		return nil, err
	}
	l := &loader{r: r, l: lay, began: time.Now(), sort: r.s.sort,
		batch: orDefault(r.spec.BatchBytes, defaultBatchBytes), flight: orDefault(r.spec.MaxInFlight, defaultMaxInFlight),
		workers: orDefault(r.spec.Parallelism, defaultParallelism)}
	l.limitSpill()
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
		if serr := l.closeSorters(); err == nil {
			err = serr
		}
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
