package fluss_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

func newFakeWriter(t *testing.T, c *fluss.Client, cfg fluss.WriterConfig) *fluss.Writer {
	t.Helper()
	w, err := c.NewWriter(testContext(t), fakeTable(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() }) // its outcome is the test's matter
	return w
}

// sendMarks sends n small batches into a bucket.
func sendMarks(t *testing.T, w *fluss.Writer, id fluss.BucketID, n int) *acks {
	t.Helper()
	a := &acks{t: t}
	for _, m := range marks(n) {
		if err := w.Bucket(id).Send(testContext(t), &fakeBatch{mark: m}, a.add(m)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// wantAll checks that n batches ended well, in order, and were applied once.
func wantAll(t *testing.T, s *fakeServer, a *acks, id fluss.BucketID, n int) {
	t.Helper()
	list, by := a.all()
	if !slices.Equal(by, marks(n)) {
		t.Errorf("ends came for %v", by)
	}
	for i, ack := range list {
		if ack.Err != nil || ack.Rows != 10 || ack.Bytes != 16 {
			t.Errorf("batch %d: %+v", i, ack)
		}
	}
	if got := s.kv.got(id.Bucket); !slices.Equal(got, marks(n)) {
		t.Errorf("applied: %v", got)
	}
}

// Whatever goes wrong on the way, every batch is applied once and in order.
func TestWriterFaults(t *testing.T) {
	once := func(act fakeAction) func(int, fakePut) fakeAction {
		return func(n int, _ fakePut) fakeAction {
			if n == 3 {
				return act
			}
			return regular
		}
	}
	garbage := []byte{0, 0, 0, 1, 77}
	plans := map[string]func() func(int, fakePut) fakeAction{
		"nothing": func() func(int, fakePut) fakeAction { return once(regular) },
		"connection cut before the batch is applied": func() func(int, fakePut) fakeAction { return once(fakeAction{cut: true}) },
		"connection cut after the batch was applied": func() func(int, fakePut) fakeAction { return once(fakeAction{apply: true, cut: true}) },
		"no answer before the batch is applied":      func() func(int, fakePut) fakeAction { return once(fakeAction{silent: true}) },
		"no answer after the batch was applied":      func() func(int, fakePut) fakeAction { return once(fakeAction{apply: true, silent: true}) },
		"garbage after the batch was applied":        func() func(int, fakePut) fakeAction { return once(fakeAction{apply: true, raw: garbage}) },
		"not the leader":                             func() func(int, fakePut) fakeAction { return once(fakeAction{code: wire.CodeNotLeaderOrFollower}) },
		"unknown bucket":                             func() func(int, fakePut) fakeAction { return once(fakeAction{code: wire.CodeUnknownTableOrBucket}) },
		"storage trouble":                            func() func(int, fakePut) fakeAction { return once(fakeAction{code: wire.CodeKVStorage}) },
		"replicas late, the batch being in the log": func() func(int, fakePut) fakeAction {
			return once(fakeAction{apply: true, code: wire.CodeRequestTimeOut})
		},
		"a duplicate by its code": func() func(int, fakePut) fakeAction {
			return once(fakeAction{apply: true, code: wire.CodeDuplicateSequence})
		},
		"the first answer of a bucket is late": func() func(int, fakePut) fakeAction {
			return once(fakeAction{apply: true, after: 100 * time.Millisecond})
		},
		"the writer is unknown": func() func(int, fakePut) fakeAction { return forgetWriter(t) },
		"every third connection breaks after applying": func() func(int, fakePut) fakeAction {
			return func(n int, _ fakePut) fakeAction { return fakeAction{apply: true, cut: n%3 == 2} }
		},
		"every third one breaks before applying": func() func(int, fakePut) fakeAction {
			return func(n int, _ fakePut) fakeAction { return fakeAction{apply: n%3 != 2, cut: n%3 == 2} }
		},
	}
	t.Run("parallel", func(t *testing.T) {
		for name, plan := range plans {
			for _, inFlight := range []int{1, 2, 5} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := newFakeServer(t)
					s.kv.setPlan(plan())
					c := connectParallel(t, s, func(cfg *fluss.Config) { cfg.RequestTimeout = 500 * time.Millisecond })
					w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: inFlight, Connections: 2})
					const n = 12
					a := sendMarks(t, w, bucket(1), n)
					if err := w.Flush(testContext(t)); err != nil {
						t.Error(err)
					}
					if err := w.Drain(testContext(t)); err != nil {
						t.Error(err)
					}
					wantAll(t, s, a, bucket(1), n)
				})
			}
		}
	})
	noLeaks(t)
}

// forgetWriter makes the server answer 33 to the writer that started, from its
// fourth request on, as after its state has expired.
func forgetWriter(*testing.T) func(int, fakePut) fakeAction {
	return func(n int, p fakePut) fakeAction {
		if n >= 3 && p.writer == 0 {
			return fakeAction{code: wire.CodeUnknownWriterID}
		}
		return regular
	}
}

func TestWriterSequencesStartAtZeroInEveryBucket(t *testing.T) {
	s := newFakeServer(t)
	var mu sync.Mutex
	sent := map[int32][]int32{}
	s.kv.setPlan(func(_ int, p fakePut) fakeAction {
		mu.Lock()
		defer mu.Unlock()
		sent[p.bucket] = append(sent[p.bucket], p.sequence)
		return regular
	})
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{})
	for b := range int32(fakeBuckets) {
		sendMarks(t, w, bucket(b), 3)
	}
	if err := w.Flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for b := range int32(fakeBuckets) {
		if !slices.Equal(sent[b], []int32{0, 1, 2}) {
			t.Errorf("bucket %d: sequences %v", b, sent[b])
		}
	}
}

// Batches spread over the connections, and a bucket has all its unanswered
// batches on one.
func TestWriterUsesSeveralConnections(t *testing.T) {
	s := newFakeServer(t)
	var mu sync.Mutex
	used := map[string]bool{}
	inFlight := map[int32]map[string]int{}
	s.kv.setPlan(func(_ int, p fakePut) fakeAction {
		mu.Lock()
		used[p.conn] = true
		if inFlight[p.bucket] == nil {
			inFlight[p.bucket] = map[string]int{}
		}
		inFlight[p.bucket][p.conn]++
		if len(inFlight[p.bucket]) > 1 {
			t.Errorf("bucket %d has batches on %d connections at once", p.bucket, len(inFlight[p.bucket]))
		}
		mu.Unlock()
		done := make(chan struct{})
		go func() {
			time.Sleep(3 * time.Millisecond)
			mu.Lock()
			if inFlight[p.bucket][p.conn]--; inFlight[p.bucket][p.conn] == 0 {
				delete(inFlight[p.bucket], p.conn)
			}
			mu.Unlock()
			close(done)
		}()
		return fakeAction{apply: true, wait: done}
	})
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{Connections: 3, MaxInFlight: 2})
	var wg sync.WaitGroup
	for b := range int32(fakeBuckets) {
		wg.Go(func() {
			a := sendMarks(t, w, bucket(b), 20)
			if err := w.Bucket(bucket(b)).Flush(testContext(t)); err != nil {
				t.Error(err)
			}
			wantAll(t, s, a, bucket(b), 20)
		})
	}
	wg.Wait()
	if len(used) != 3 {
		t.Errorf("%d connections carried batches", len(used))
	}
}

// A bucket does not stay on one connection, which the server may serve on a busy
// thread, and nothing is lost or out of order on the way.
func TestWriterChangesConnections(t *testing.T) {
	s := newFakeServer(t)
	var mu sync.Mutex
	used := map[string]int{}
	s.kv.setPlan(func(_ int, p fakePut) fakeAction {
		mu.Lock()
		defer mu.Unlock()
		used[p.conn]++
		return regular
	})
	w := newFakeWriter(t, connectFake(t, s), fluss.WriterConfig{Connections: 3, MaxInFlight: 2})
	const n = 60
	a := sendMarks(t, w, bucket(0), n)
	if err := w.Flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
	wantAll(t, s, a, bucket(0), n)
	if len(used) != 3 {
		t.Errorf("batches by connection: %v; want three", used)
	}
	for conn, batches := range used {
		if batches < n/3-10 || batches > n/3+10 {
			t.Errorf("connection %s carried %d of %d batches", conn, batches, n)
		}
	}
}

func TestWriterBackPressure(t *testing.T) {
	s := newFakeServer(t)
	release := make(chan struct{})
	s.kv.setPlan(func(int, fakePut) fakeAction { return fakeAction{apply: true, wait: release} })
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 2})
	a := sendMarks(t, w, bucket(0), 2)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := w.Bucket(bucket(0)).Send(ctx, &fakeBatch{mark: 2}, a.add(2)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third batch in flight: %v", err)
	}
	if err := w.Bucket(bucket(0)).Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("flush: %v", err)
	}
	close(release)
	if err := w.Flush(testContext(t)); err != nil {
		t.Error(err)
	}
	wantAll(t, s, a, bucket(0), 2)
}

// A fatal error ends the bucket; other buckets go on.
func TestWriterFatalError(t *testing.T) {
	s := newFakeServer(t)
	s.kv.setPlan(func(_ int, p fakePut) fakeAction {
		if p.bucket == 0 && p.sequence == 1 {
			return fakeAction{code: wire.CodeUnknownServerError}
		}
		return regular
	})
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 4})
	a := &acks{t: t}
	var last error
	for _, m := range marks(8) {
		if last = w.Bucket(bucket(0)).Send(testContext(t), &fakeBatch{mark: m}, a.add(m)); last != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !errors.Is(last, fluss.ErrServerAnsweredUndefined) {
		t.Errorf("sending on: %v", last)
	}
	if err := w.Bucket(bucket(0)).Flush(testContext(t)); !errors.Is(err, fluss.ErrServerAnsweredUndefined) || !strings.Contains(err.Error(), "db.t, bucket 0") {
		t.Errorf("flush: %v", err)
	}
	list, _ := a.all()
	if list[0].Err != nil || list[1].Err == nil || errors.Is(list[1].Err, fluss.ErrUnknownOutcome) {
		t.Errorf("ends: %+v", list)
	}
	other := sendMarks(t, w, bucket(1), 3)
	if err := w.Bucket(bucket(1)).Flush(testContext(t)); err != nil {
		t.Error(err)
	}
	wantAll(t, s, other, bucket(1), 3)
	if err := w.Drain(testContext(t)); err != nil {
		t.Errorf("drain: %v", err)
	}
}

// Rows that the server acknowledged and then no longer knows are an error, not
// something to number around.
func TestWriterLostRowsAreAnError(t *testing.T) {
	s := newFakeServer(t)
	s.kv.setPlan(func(_ int, p fakePut) fakeAction {
		if p.sequence >= 2 {
			return fakeAction{code: wire.CodeOutOfOrderSequence}
		}
		return regular
	})
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 1})
	a := sendMarks(t, w, bucket(0), 3)
	if err := w.Flush(testContext(t)); !errors.Is(err, fluss.ErrSequence) || !strings.Contains(err.Error(), "may be lost") {
		t.Errorf("%v", err)
	}
	if list, _ := a.all(); len(list) != 3 || list[2].Err == nil {
		t.Errorf("ends: %+v", list)
	}
	if n := s.count(wire.InitWriter); n != 1 {
		t.Errorf("%d writer IDs", n)
	}
}

// The same when the connection broke in between, as it does when a server is
// killed and comes back without the end of its log. No copy of the batches can
// be applied any more, so the writer is drained.
func TestWriterServerForgetsAfterACrash(t *testing.T) {
	for _, code := range []wire.Code{wire.CodeOutOfOrderSequence, wire.CodeUnknownWriterID} {
		t.Run(code.String(), func(t *testing.T) {
			s := newFakeServer(t)
			var crashed atomic.Bool
			s.kv.setPlan(func(_ int, p fakePut) fakeAction {
				switch {
				case crashed.Load():
					return fakeAction{code: code}
				case p.sequence == 2:
					crashed.Store(true)
					return fakeAction{cut: true}
				}
				return regular
			})
			c := connectFake(t, s)
			w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 3})
			a := sendMarks(t, w, bucket(0), 3)
			if err := w.Flush(testContext(t)); !errors.Is(err, fluss.ErrSequence) || !strings.Contains(err.Error(), "again") {
				t.Errorf("%s: %v", code, err)
			}
			if err := w.Drain(testContext(t)); err != nil {
				t.Errorf("%s: drain: %v", code, err)
			}
			if list, _ := a.all(); len(list) != 3 || list[1].Err != nil || !errors.Is(list[2].Err, fluss.ErrSequence) {
				t.Errorf("%s: ends: %+v", code, list)
			}
			if n := s.count(wire.InitWriter); n != 1 {
				t.Errorf("%s: %d writer IDs", code, n)
			}
		})
	}
}

func TestWriterBeforeSend(t *testing.T) {
	s := newFakeServer(t)
	s.kv.setPlan(func(n int, _ fakePut) fakeAction {
		if n == 1 {
			return fakeAction{code: wire.CodeNotLeaderOrFollower}
		}
		return regular
	})
	c := connectFake(t, s)
	lost := errors.New("the lease is lost")
	var calls atomic.Int32
	w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 1, BeforeSend: func(context.Context) error {
		if calls.Add(1) > 4 {
			return lost
		}
		return nil
	}})
	a := &acks{t: t}
	var err error
	for _, m := range marks(10) {
		if err = w.Bucket(bucket(0)).Send(testContext(t), &fakeBatch{mark: m}, a.add(m)); err != nil {
			break
		}
	}
	if flush := w.Flush(testContext(t)); !errors.Is(flush, lost) {
		t.Errorf("flush: %v", flush)
	}
	// Three batches and one retry were sent, the next was not.
	if got := s.kv.got(0); !slices.Equal(got, marks(3)) {
		t.Errorf("applied: %v", got)
	}
	list, _ := a.all()
	if !errors.Is(list[3].Err, lost) || errors.Is(list[3].Err, fluss.ErrUnknownOutcome) {
		t.Errorf("end of the fourth: %v", list[3].Err)
	}
	if err := w.Drain(testContext(t)); err != nil {
		t.Errorf("drain: %v", err)
	}
}

// A panic in the caller's code is an error of the bucket.
func TestWriterPanicInDone(t *testing.T) {
	s := newFakeServer(t)
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 1})
	if err := w.Bucket(bucket(0)).Send(testContext(t), &fakeBatch{}, func(fluss.Ack) { panic("oops") }); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 100 {
		if err = w.Bucket(bucket(0)).Send(testContext(t), &fakeBatch{}, func(fluss.Ack) {}); err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("%v", err)
	}
}

func TestWriterGivesUpAfterTheDeliveryTimeout(t *testing.T) {
	s := newFakeServer(t)
	s.kv.setPlan(func(int, fakePut) fakeAction { return fakeAction{code: wire.CodeStorage} })
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{DeliveryTimeout: 300 * time.Millisecond})
	a := sendMarks(t, w, bucket(0), 1)
	if err := w.Flush(testContext(t)); err == nil || !strings.Contains(err.Error(), "STORAGE_EXCEPTION") || !strings.Contains(err.Error(), "given up") {
		t.Errorf("%v", err)
	}
	// A storage error leaves open whether the batch was applied.
	if list, _ := a.all(); len(list) != 1 || !errors.Is(list[0].Err, fluss.ErrUnknownOutcome) {
		t.Errorf("ends: %+v", list)
	}
}

func TestWriterConfigIsChecked(t *testing.T) {
	s := newFakeServer(t)
	c := connectFake(t, s)
	log := fakeTable()
	log.Descriptor.PrimaryKey = nil
	for _, cfg := range []fluss.WriterConfig{{Connections: -1}, {MaxInFlight: 6}, {MaxInFlight: -1}, {Acks: 2}} {
		if _, err := c.NewWriter(testContext(t), fakeTable(), cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	if _, err := c.NewWriter(testContext(t), log, fluss.WriterConfig{}); err == nil {
		t.Error("a log table was accepted")
	}
	s.on(wire.InitWriter, func(r *fakeRequest) { r.fail(wire.CodeAuthorization, "no WRITE") })
	if _, err := c.NewWriter(testContext(t), fakeTable(), fluss.WriterConfig{}); !errors.Is(err, fluss.ErrAuthorization) {
		t.Errorf("%v", err)
	}
	s.on(wire.InitWriter, func(r *fakeRequest) { r.reply(&flusspb.InitWriterResponse{WriterId: proto.Int64(-1)}) })
	if _, err := c.NewWriter(testContext(t), fakeTable(), fluss.WriterConfig{}); err == nil {
		t.Error("writer ID -1 was accepted")
	}
}
