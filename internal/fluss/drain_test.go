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

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// Drain waits for the answers in flight, and lets nothing new through.
func TestDrainWaitsForAnswers(t *testing.T) {
	s := newFakeServer(t)
	release := make(chan struct{})
	s.kv.setPlan(func(int, fakePut) fakeAction { return fakeAction{apply: true, wait: release} })
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 2})
	a := sendMarks(t, w, bucket(0), 2)
	waiting := make(chan error, 1)
	go func() { waiting <- w.Bucket(bucket(0)).Send(testContext(t), &fakeBatch{mark: 9}, a.add(9)) }()
	for s.count(wire.PutKV) < 2 {
		time.Sleep(time.Millisecond)
	}
	drained := make(chan error, 1)
	go func() { drained <- w.Drain(testContext(t)) }()
	if err := <-waiting; !errors.Is(err, fluss.ErrDraining) {
		t.Errorf("the waiting batch: %v", err)
	}
	select {
	case err := <-drained:
		t.Fatalf("drained with answers missing: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	wantAll(t, s, a, bucket(0), 2)
	if err := w.Bucket(bucket(1)).Send(testContext(t), &fakeBatch{}, a.add(0)); !errors.Is(err, fluss.ErrDraining) {
		t.Errorf("sending after Drain: %v", err)
	}
	if err := w.Drain(testContext(t)); err != nil {
		t.Errorf("second Drain: %v", err)
	}
}

// A batch whose answer was lost is asked after, even while draining, whether or
// not the server had applied it.
func TestDrainResolvesLostAnswers(t *testing.T) {
	for name, applied := range map[string]bool{"applied": true, "not applied": false} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			var draining atomic.Bool
			s.kv.setPlan(func(int, fakePut) fakeAction {
				if draining.Load() {
					return regular
				}
				return fakeAction{apply: applied, silent: true}
			})
			c := connectFake(t, s)
			w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 3})
			a := sendMarks(t, w, bucket(0), 3)
			for s.count(wire.PutKV) < 3 {
				time.Sleep(time.Millisecond)
			}
			drained := make(chan error, 1)
			go func() { drained <- w.Drain(testContext(t)) }()
			time.Sleep(20 * time.Millisecond)
			draining.Store(true)
			s.cutAll()
			if err := <-drained; err != nil {
				t.Error(err)
			}
			list, by := a.all()
			if len(by) != 3 {
				t.Fatalf("ends came for %v", by)
			}
			// All were sent and their answers lost, so all are resolved by sending
			// them again.
			for i, ack := range list {
				if ack.Err != nil {
					t.Errorf("batch %d: %v", i, ack.Err)
				}
			}
			if got := s.kv.got(0); !slices.Equal(got, marks(3)) {
				t.Errorf("applied: %v", got)
			}
		})
	}
}

// A batch that the server has refused is not tried again once Drain has begun.
func TestDrainDoesNotRetryRefusedBatches(t *testing.T) {
	s := newFakeServer(t)
	s.kv.setPlan(func(int, fakePut) fakeAction { return fakeAction{code: wire.CodeNotLeaderOrFollower} })
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{MaxInFlight: 2})
	a := sendMarks(t, w, bucket(0), 2)
	for s.count(wire.PutKV) < 2 {
		time.Sleep(time.Millisecond)
	}
	if err := w.Drain(testContext(t)); err != nil {
		t.Error(err)
	}
	list, _ := a.all()
	for i, ack := range list {
		if !errors.Is(ack.Err, fluss.ErrDraining) || errors.Is(ack.Err, fluss.ErrUnknownOutcome) {
			t.Errorf("batch %d: %v", i, ack.Err)
		}
	}
	if len(list) != 2 || len(s.kv.got(0)) != 0 {
		t.Errorf("%d ends, applied %v", len(list), s.kv.got(0))
	}
}

// When the outcome of a batch can't be learnt before ctx ends, the writer is
// not drained, and says for which bucket.
func TestDrainFailsWhenOutcomesStayUnknown(t *testing.T) {
	for name, breakIt := range map[string]func(*fakeServer){
		"the server stays silent": func(*fakeServer) {},
		"the server is gone":      func(s *fakeServer) { s.close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			s.kv.setPlan(func(int, fakePut) fakeAction { return fakeAction{silent: true} })
			c := connectFake(t, s)
			w := newFakeWriter(t, c, fluss.WriterConfig{})
			a := sendMarks(t, w, bucket(2), 1)
			for s.count(wire.PutKV) < 1 {
				time.Sleep(time.Millisecond)
			}
			breakIt(s)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := w.Drain(ctx)
			if !errors.Is(err, fluss.ErrUnknownOutcome) || !strings.Contains(err.Error(), "bucket 2") {
				t.Errorf("%v", err)
			}
			if d := time.Since(start); d > 1300*time.Millisecond {
				t.Errorf("took %s", d)
			}
			if list, _ := a.all(); len(list) != 1 || !errors.Is(list[0].Err, fluss.ErrUnknownOutcome) {
				t.Errorf("ends: %+v", list)
			}
			if err := w.Close(); !errors.Is(err, fluss.ErrUnknownOutcome) {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// A lost lease forbids the retry that would resolve a lost answer: the writer
// is not drained.
func TestDrainWithLostLease(t *testing.T) {
	s := newFakeServer(t)
	s.kv.setPlan(func(int, fakePut) fakeAction { return fakeAction{apply: true, cut: true} })
	c := connectFake(t, s)
	lost := errors.New("the lease is lost")
	var calls atomic.Int32
	w := newFakeWriter(t, c, fluss.WriterConfig{BeforeSend: func(context.Context) error {
		if calls.Add(1) > 1 {
			return lost
		}
		return nil
	}})
	a := sendMarks(t, w, bucket(0), 1)
	for s.count(wire.PutKV) < 1 {
		time.Sleep(time.Millisecond)
	}
	if err := w.Drain(testContext(t)); !errors.Is(err, fluss.ErrUnknownOutcome) {
		t.Errorf("%v", err)
	}
	if list, _ := a.all(); len(list) != 1 || !errors.Is(list[0].Err, lost) || !errors.Is(list[0].Err, fluss.ErrUnknownOutcome) {
		t.Errorf("ends: %+v", list)
	}
}

// Once the table is gone nothing can be applied under its ID: that resolves
// lost answers too.
func TestDrainAfterTheTableIsGone(t *testing.T) {
	s := newFakeServer(t)
	var gone atomic.Bool
	s.on(wire.GetMetadata, func(r *fakeRequest) {
		var m flusspb.MetadataRequest
		r.decode(&m)
		if gone.Load() && len(m.GetTablePath()) > 0 {
			r.fail(wire.CodeUnknownServerError, "what table?")
			return
		}
		r.reply(s.metadata(0))
	})
	s.on(wire.GetTableInfo, func(r *fakeRequest) { r.fail(wire.CodeTableNotExist, "no table") })
	s.kv.setPlan(func(int, fakePut) fakeAction {
		gone.Store(true)
		return fakeAction{cut: true}
	})
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{})
	a := sendMarks(t, w, bucket(0), 1)
	if err := w.Flush(testContext(t)); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("flush: %v", err)
	}
	if err := w.Drain(testContext(t)); err != nil {
		t.Errorf("drain: %v", err)
	}
	if list, _ := a.all(); len(list) != 1 || errors.Is(list[0].Err, fluss.ErrUnknownOutcome) {
		t.Errorf("ends: %+v", list)
	}
}

// Drain while many goroutines send: whatever Send accepted has its end, and
// what ended well is what the server applied.
func TestDrainUnderLoad(t *testing.T) {
	s := newFakeServer(t)
	var n atomic.Int64
	s.kv.setPlan(func(int, fakePut) fakeAction {
		return fakeAction{apply: true, cut: n.Add(1)%17 == 0, after: time.Duration(n.Load()%3) * time.Millisecond}
	})
	c := connectFake(t, s)
	w := newFakeWriter(t, c, fluss.WriterConfig{Connections: 2, MaxInFlight: 3})
	var wg sync.WaitGroup
	ends := make([]*acks, fakeBuckets)
	accepted := make([]int, fakeBuckets)
	for b := range int32(fakeBuckets) {
		ends[b] = &acks{t: t}
		wg.Go(func() {
			for m := uint32(0); ; m++ {
				if err := w.Bucket(bucket(b)).Send(testContext(t), &fakeBatch{mark: m}, ends[b].add(m)); err != nil {
					if !errors.Is(err, fluss.ErrDraining) {
						t.Error(err)
					}
					return
				}
				accepted[b]++
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	if err := w.Drain(testContext(t)); err != nil {
		t.Error(err)
	}
	wg.Wait()
	for b := range fakeBuckets {
		list, by := ends[b].all()
		if len(by) != accepted[b] || !slices.Equal(by, marks(len(by))) {
			t.Errorf("bucket %d: %d batches accepted, ends for %v", b, accepted[b], by)
		}
		var good []uint32
		for i, ack := range list {
			if ack.Err == nil {
				good = append(good, by[i])
			}
		}
		if got := s.kv.got(int32(b)); !slices.Equal(got, good) {
			t.Errorf("bucket %d: applied %d batches, %d ended well", b, len(got), len(good))
		}
		if len(good) == 0 {
			t.Errorf("bucket %d: nothing was written", b)
		}
	}
}
