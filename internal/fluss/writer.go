package fluss

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Batch is one KvRecordBatch that is complete but for its header's writer ID
// and sequence number.
type Batch interface {
	// Rows is the number of records, Size their bytes with the header.
	Rows() int
	Size() int
	// Finish fills in the header and gives the bytes, in the batch's memory. It
	// may be called again with another writer ID and sequence number.
	Finish(writerID int64, sequence int32) []byte
}

// Defaults and bounds of WriterConfig.
const (
	DefaultConnections     = 8
	DefaultMaxInFlight     = 2
	DefaultDeliveryTimeout = 5 * time.Minute
	// HighestMaxInFlight is how many batches a server remembers per writer and
	// bucket to recognize repeated ones.
	HighestMaxInFlight = 5
)

// WriterConfig configures a Writer.
type WriterConfig struct {
	// Connections is how many connections to open to each tablet server; 0
	// means DefaultConnections.
	Connections int
	// MaxInFlight is how many batches of one bucket may be unanswered, 1 to
	// HighestMaxInFlight; 0 means DefaultMaxInFlight.
	MaxInFlight int
	// Acks is AcksAll or AcksLeader; 0 means AcksAll.
	Acks int
	// BeforeSend, if set, is called before every send and every retry of a
	// batch. Its error ends the bucket: nothing is sent after it.
	BeforeSend func(ctx context.Context) error
	// DeliveryTimeout is how long one batch may take from its first send to its
	// answer, retries included; 0 means DefaultDeliveryTimeout.
	DeliveryTimeout time.Duration
}

// Writer writes batches into the buckets of one primary-key table, as an
// idempotent writer: a batch whose answer was lost is sent again with the same
// sequence number, and the server applies it once.
//
// Each batch goes to the least busy of several connections to its bucket's
// leader; a bucket changes its connection only while none of its batches is
// unanswered, since the server insists on the order of their numbers.
type Writer struct {
	c        *Client
	info     *TableInfo
	cfg      WriterConfig
	pool     *pool
	writerID int64

	life context.Context //nolint:containedctx // the writer's own life, ended by Close or by a Drain that gives up
	end  context.CancelFunc
	stop chan struct{} // closed by Drain and Close: no new batches

	mu         sync.Mutex
	stopped    bool
	buckets    map[BucketID]*BucketWriter
	running    int           // bucket loops that run
	quiet      chan struct{} // closed when stopped and running is 0
	unresolved []BucketID    // one entry per batch whose outcome stayed unknown
}

// NewWriter starts a writer: it asks a server for a writer ID. Errors match
// ErrAuthorization without the right to WRITE.
func (c *Client) NewWriter(ctx context.Context, info *TableInfo, cfg WriterConfig) (*Writer, error) {
	if cfg.Connections == 0 {
		cfg.Connections = DefaultConnections
	}
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = DefaultMaxInFlight
	}
	if cfg.Acks == 0 {
		cfg.Acks = AcksAll
	}
	if cfg.DeliveryTimeout <= 0 {
		cfg.DeliveryTimeout = DefaultDeliveryTimeout
	}
	switch {
	case cfg.Connections < 1:
		return nil, fmt.Errorf("fluss: a writer needs at least one connection, not %d", cfg.Connections)
	case cfg.MaxInFlight < 1 || cfg.MaxInFlight > HighestMaxInFlight:
		return nil, fmt.Errorf("fluss: %d batches in flight per bucket are asked for; allowed is 1 to %d", cfg.MaxInFlight, HighestMaxInFlight)
	case cfg.Acks != AcksAll && cfg.Acks != AcksLeader:
		return nil, fmt.Errorf("fluss: acks %d is not possible for a writer; allowed is %d and %d", cfg.Acks, AcksAll, AcksLeader)
	case !info.HasPrimaryKey():
		return nil, fmt.Errorf("fluss: table %s has no primary key: it takes no key-value batches", info.Path)
	}
	id, err := c.initWriter(ctx, info.Path)
	if err != nil {
		return nil, err
	}
	w := &Writer{c: c, info: info, cfg: cfg, writerID: id, pool: newPool(cfg.Connections, c.dial),
		stop: make(chan struct{}), quiet: make(chan struct{}), buckets: map[BucketID]*BucketWriter{}}
	w.life, w.end = context.WithCancel(c.life)
	return w, nil
}

// ID gives the writer ID that the writer started with. A bucket takes a new one
// when the servers have forgotten it.
func (w *Writer) ID() int64 { return w.writerID }

// Bucket gives the writer of one bucket, always the same one.
func (w *Writer) Bucket(id BucketID) *BucketWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.buckets[id]
	if b == nil {
		b = newBucketWriter(w, id)
		w.buckets[id] = b
	}
	return b
}

// loopStarted registers a bucket loop, unless the writer has been stopped.
func (w *Writer) loopStarted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	w.running++
	return true
}

func (w *Writer) loopEnded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	w.checkQuiet()
}

// checkQuiet needs mu.
func (w *Writer) checkQuiet() {
	if w.stopped && w.running == 0 {
		select {
		case <-w.quiet:
		default:
			close(w.quiet)
		}
	}
}

// Flush waits until every batch sent so far is answered, in all buckets. Its
// error is the first one of a bucket, or that of ctx.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	all := make([]*BucketWriter, 0, len(w.buckets))
	for _, b := range w.buckets {
		all = append(all, b)
	}
	w.mu.Unlock()
	var first error
	for _, b := range all {
		if err := b.Flush(ctx); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (w *Writer) lost(id BucketID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unresolved = append(w.unresolved, id)
}

func (w *Writer) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.stopped = true
		close(w.stop)
	}
	w.checkQuiet()
}

// Drain stops the writer and waits until no batch is unanswered. Batches not
// sent yet end with ErrDraining. A batch whose answer was lost is sent again
// until the server says what became of it.
//
// With nil the writer is drained: the answer to every batch it ever sent is
// known (which does not mean that every batch succeeded: each one's Ack says).
// Otherwise some batch may still be, or get, applied: the error matches
// ErrUnknownOutcome and the writer is finished all the same. When ctx ends,
// Drain gives up within moments.
func (w *Writer) Drain(ctx context.Context) error {
	w.halt()
	select {
	case <-w.quiet:
	case <-ctx.Done():
	}
	w.abort()
	return w.outcome()
}

// Close ends the writer without waiting for answers; use Drain first. Its error
// is that of Drain. Batches still unanswered end with an error.
func (w *Writer) Close() error {
	w.halt()
	w.abort()
	return w.outcome()
}

// abort breaks the connections and waits for the bucket loops to end.
func (w *Writer) abort() {
	w.end()
	w.pool.close()
	<-w.quiet
}

func (w *Writer) outcome() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.unresolved) == 0 {
		return nil
	}
	ids := slices.Clone(w.unresolved)
	slices.SortFunc(ids, compareBuckets)
	ids = slices.Compact(ids)
	var names []string
	for i, id := range ids {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", len(ids)-i))
			break
		}
		names = append(names, id.String())
	}
	return fmt.Errorf("fluss: table %s: %w for %d batches (%s): their answers were lost and the servers could not be asked again in time",
		w.info.Path, ErrUnknownOutcome, len(w.unresolved), strings.Join(names, ", "))
}

// Ack is the end of one batch.
type Ack struct {
	Rows  int
	Bytes int
	// LogEndOffset is the bucket's log end offset after the batch. It is -1 when
	// the batch is known to be applied only from the answer to another one.
	LogEndOffset int64
	// Err is nil when the batch has been applied. It matches ErrUnknownOutcome
	// when it is not known whether it has been or will be.
	Err error
}

var errBucketEnded = errors.New("an earlier batch of the bucket failed")
