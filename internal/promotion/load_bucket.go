package promotion

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/keysort"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

const (
	// maxBatchRows stays far below the 131,023 changelog records that one batch
	// may make; an update makes two.
	maxBatchRows = 32_000
	// bucketCheckEvery is the share of rows, after a bucket's first ones, whose
	// bucket is computed and compared: the server stores a row in whatever
	// bucket it is sent to.
	bucketCheckEvery, bucketCheckFirst = 64, 1000
	// defaultSpillBytes is what the temporary files of a load may take together.
	defaultSpillBytes = 4 << 30
)

// sortSizes say how a bucket's rows are sorted, in bytes.
type sortSizes struct {
	window int64 // sorted at once, in memory
	// spill is the size of a bucket's records from which it is sorted through a
	// temporary file: writing and reading that takes less than what the server
	// takes more for the second sorted window and every further one.
	spill int64
	// large is the mean size of records whose order matters little beside it.
	large int64
}

var defaultSortSizes = sortSizes{window: 12 << 20, spill: 16 << 20, large: 16 << 10}

// bucket loads one bucket: one pipeline from the merged source rows to the
// tablet server that leads it.
func (l *loader) bucket(ctx context.Context, t bucketTask) (err error) {
	if t.files == nil || len(t.files.Files) == 0 {
		l.finished(LoadedBucket{Partition: t.partition, Bucket: t.id.Bucket, EndOffset: l.start[t.key()]})
		return nil
	}
	rr, err := l.r.openBucket(ctx, l.l, t, int64(l.flight+1)*int64(l.batch)+min(l.sort.window, unpacked(t)))
	if err != nil {
		return asFatal(err)
	}
	defer rr.close()
	p := &pipeline{l: l, t: t, out: l.w.Bucket(t.id), start: l.start[t.key()], free: make(chan *row.Batch, l.flight+1), sorter: l.takeSorter()}
	defer func() {
		if serr := l.giveSorter(p.sorter); err == nil {
			err = serr
		}
	}()
	// A batch is sent when it is full: the last record reaches beyond.
	size := min(int64(l.batch)+int64(l.batch)/16, unpacked(t))
	for range l.flight + 1 {
		p.free <- row.NewBatch(int(size))
	}
	if err := p.next(ctx); err != nil {
		return err
	}
	err = rr.each(ctx, func(e *encoders, pos int) error { return p.add(ctx, e, pos) })
	if !errors.Is(err, io.EOF) {
		return asFatal(err)
	}
	if err := p.sendSorted(ctx); err != nil {
		return err
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

// takeSorter gives a sorter that another bucket has left, or a new one.
func (l *loader) takeSorter() *keysort.Sorter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.sorters); n > 0 {
		s := l.sorters[n-1]
		l.sorters = l.sorters[:n-1]
		return s
	}
	return keysort.New(l.sort.window, l.spillDir)
}

// giveSorter keeps a sorter for another bucket.
func (l *loader) giveSorter(s *keysort.Sorter) error {
	if s == nil {
		return nil
	}
	if err := s.Reset(); err != nil {
		return errors.Join(err, s.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sorters = append(l.sorters, s)
	return nil
}

// closeSorters gives the temporary files up.
func (l *loader) closeSorters() error {
	var errs []error
	for _, s := range l.sorters {
		errs = append(errs, s.Close())
	}
	l.sorters = nil
	return errors.Join(errs...)
}

// limitSpill sets how much of each bucket may go into a temporary file.
func (l *loader) limitSpill() {
	all := int64(defaultSpillBytes)
	if l.r.spec.SpillBytes != nil {
		all = *l.r.spec.SpillBytes
	}
	l.spillDir = keysort.Dir()
	// The machine has other use for its disk.
	if free, ok := keysort.Free(l.spillDir); ok {
		all = min(all, free/2)
	}
	l.spillEach.Store(all / int64(l.workers))
}

// noSpill goes on without temporary files, which only saves time.
func (l *loader) noSpill(err error) {
	l.spillEach.Store(0)
	l.r.op.setProgress(func(g *Progress) {
		g.Note = fmt.Sprintf("rows are sorted in memory alone, which makes the load slower: %v", err)
	})
}

// unpacked is about what a bucket's rows take in memory, from above.
func unpacked(t bucketTask) int64 {
	var packed int64
	for _, f := range t.files.Files {
		packed += f.Size
	}
	return 8 * packed
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
	l   *loader
	t   bucketTask
	out *fluss.BucketWriter
	// sorter gathers rows to be sent in the order of their keys' bytes; nil when
	// rows are so large that it would only cost memory.
	sorter *keysort.Sorter
	batch  *row.Batch
	free   chan *row.Batch // as many as may be in flight, and one to fill
	start  int64
	seen   int64  // rows looked at, for the bucket check
	key    []byte // scratch

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
	if p.sorter != nil {
		if p.sorter.Add(e.key, e.row, pos); !p.sorter.Full() {
			return nil
		}
		if p.spill() {
			return nil
		}
		return p.sendSorted(ctx)
	}
	p.batch.Add(e.key, e.row, pos, pos)
	return p.sendFull(ctx)
}

// spill puts what is in memory into the temporary file, if the bucket is worth
// one and may have more of it.
func (p *pipeline) spill() bool {
	var records int64
	for _, f := range p.t.files.Files {
		records += f.RowCount
	}
	mean := p.sorter.Size() / int64(p.sorter.Rows())
	if mean > p.l.sort.large || mean*records < p.l.sort.spill || p.sorter.Size() > p.l.spillEach.Load() {
		return false
	}
	if err := p.sorter.Spill(); err != nil {
		p.l.noSpill(err)
		return false
	}
	return true
}

// sendSorted sends what the sorter holds, but for what does not fill a batch.
func (p *pipeline) sendSorted(ctx context.Context) error {
	if p.sorter == nil {
		return nil
	}
	if err := p.sorter.Sort(); err != nil {
		return err
	}
	for more := p.sorter.Rows() > 0; more; {
		var err error
		if more, err = p.sorter.TakeInto(p.batch, p.l.batch, maxBatchRows); err != nil {
			return err
		}
		if err := p.sendFull(ctx); err != nil {
			return err
		}
	}
	if p.sorter.Size() > int64(p.sorter.Rows())*p.l.sort.large {
		s := p.sorter
		p.sorter = nil
		return s.Close()
	}
	return p.sorter.Reset()
}

// sendFull sends the batch if it is full and takes another one to fill.
func (p *pipeline) sendFull(ctx context.Context) error {
	if p.batch.Size() < p.l.batch && p.batch.Rows() < maxBatchRows {
		return nil
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	return p.next(ctx)
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
