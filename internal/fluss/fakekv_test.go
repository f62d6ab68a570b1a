package fluss_test

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// fakeKV answers PUT_KV as a real server does: per writer and bucket it takes
// sequence numbers from 0 on in order, answers repeats of the last five as
// success, and refuses everything else with 31.
type fakeKV struct {
	mu      sync.Mutex
	writers int64
	next    map[writerBucket]int32
	ends    map[int32]int64
	applied map[int32][]uint32 // per bucket the batches applied, by their mark
	puts    int
	plan    func(n int, p fakePut) fakeAction // what to do with the nth request
}

type writerBucket struct {
	writer int64
	bucket int32
}

// fakePut is one PUT_KV as the plan sees it.
type fakePut struct {
	bucket   int32
	writer   int64
	sequence int32
	mark     uint32
	conn     string
}

// fakeAction says what to do with one PUT_KV.
type fakeAction struct {
	apply  bool
	code   wire.Code // answered instead of the regular answer
	silent bool      // no answer
	cut    bool      // close the connection instead of answering
	raw    []byte    // answered instead
	wait   chan struct{}
	after  time.Duration
}

var regular = fakeAction{apply: true}

func newFakeKV() *fakeKV {
	return &fakeKV{next: map[writerBucket]int32{}, ends: map[int32]int64{}, applied: map[int32][]uint32{},
		plan: func(int, fakePut) fakeAction { return regular }}
}

func (kv *fakeKV) newWriter() int64 {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.writers++
	return kv.writers - 1
}

func (kv *fakeKV) handle(r *fakeRequest) {
	var m flusspb.PutKvRequest
	r.decode(&m)
	if len(m.GetBucketsReq()) != 1 || m.GetTableId() != fakeTableID {
		r.s.t.Errorf("PUT_KV for table %d with %d buckets", m.GetTableId(), len(m.GetBucketsReq()))
	}
	req := m.GetBucketsReq()[0]
	p := fakePut{bucket: req.GetBucketId(), conn: r.conn.RemoteAddr().String()}
	p.writer, p.sequence, p.mark = readFakeBatch(req.GetRecords())

	kv.mu.Lock()
	plan, n := kv.plan, kv.puts
	kv.puts++
	kv.mu.Unlock()
	act := plan(n, p)
	code, end := act.code, int64(0)
	if act.apply {
		var c wire.Code
		if c, end = kv.take(p); code == 0 {
			code = c
		}
	}
	answer := func() {
		if act.wait != nil {
			<-act.wait
		}
		time.Sleep(act.after)
		switch {
		case act.cut:
			r.cut()
		case act.silent:
		case act.raw != nil:
			r.raw(act.raw)
		default:
			b := &flusspb.PutKvBucketAnswer{BucketId: proto.Int32(p.bucket)}
			if code != wire.CodeNone {
				b.ErrorCode, b.ErrorMessage = proto.Int32(int32(code)), proto.String("said the test\nat a.b.C")
			} else {
				b.LogEndOffset = proto.Int64(end)
			}
			r.reply(&flusspb.PutKvResponse{BucketsResp: []*flusspb.PutKvBucketAnswer{b}})
		}
	}
	if act.wait != nil || act.after > 0 {
		r.s.wg.Go(answer) // the next requests go on meanwhile
		return
	}
	answer()
}

// take applies a batch, if its number allows.
func (kv *fakeKV) take(p fakePut) (wire.Code, int64) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if p.writer < 0 {
		kv.applied[p.bucket] = append(kv.applied[p.bucket], p.mark)
		kv.ends[p.bucket]++
		return wire.CodeNone, kv.ends[p.bucket]
	}
	k := writerBucket{p.writer, p.bucket}
	switch next := kv.next[k]; {
	case p.sequence == next:
		kv.next[k]++
		kv.applied[p.bucket] = append(kv.applied[p.bucket], p.mark)
		kv.ends[p.bucket]++
		return wire.CodeNone, kv.ends[p.bucket]
	case p.sequence < next && p.sequence >= next-5:
		return wire.CodeNone, kv.ends[p.bucket]
	}
	return wire.CodeOutOfOrderSequence, 0
}

// got gives the batches applied in a bucket, in order.
func (kv *fakeKV) got(bucket int32) []uint32 {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	return slices.Clone(kv.applied[bucket])
}

func (kv *fakeKV) setPlan(plan func(n int, p fakePut) fakeAction) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.plan = plan
}

// fakeBatch is a batch of nothing but a header, a mark and padding.
type fakeBatch struct {
	mark uint32
	size int
	data []byte
}

func (b *fakeBatch) Rows() int { return 10 }
func (b *fakeBatch) Size() int { return max(b.size, 16) }

func (b *fakeBatch) Finish(writer int64, sequence int32) []byte {
	if b.data == nil {
		b.data = make([]byte, b.Size())
	}
	binary.LittleEndian.PutUint64(b.data, uint64(writer))
	binary.LittleEndian.PutUint32(b.data[8:], uint32(sequence))
	binary.LittleEndian.PutUint32(b.data[12:], b.mark)
	return b.data
}

func readFakeBatch(b []byte) (writer int64, sequence int32, mark uint32) {
	return int64(binary.LittleEndian.Uint64(b)), int32(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint32(b[12:])
}

// acks collects the ends of batches.
type acks struct {
	t    *testing.T
	mu   sync.Mutex
	list []fluss.Ack
	by   []uint32
}

// add gives the done function of a batch, and checks that it is called once.
func (a *acks) add(mark uint32) func(fluss.Ack) {
	var called bool
	return func(ack fluss.Ack) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if called {
			a.t.Errorf("batch %d ended twice", mark)
		}
		called = true
		a.list = append(a.list, ack)
		a.by = append(a.by, mark)
	}
}

func (a *acks) all() ([]fluss.Ack, []uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list), slices.Clone(a.by)
}

func marks(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}
