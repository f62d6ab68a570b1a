package fluss_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// changes are the calls that must not be sent twice when their outcome is open.
var changes = map[wire.Key]func(context.Context, *fluss.Client) error{
	wire.CreateDatabase: func(ctx context.Context, c *fluss.Client) error { return c.CreateDatabase(ctx, "db", false) },
	wire.DropDatabase:   func(ctx context.Context, c *fluss.Client) error { return c.DropDatabase(ctx, "db", false) },
	wire.CreateTable: func(ctx context.Context, c *fluss.Client) error {
		return c.CreateTable(ctx, fakePath, fluss.TableDescriptor{Columns: []fluss.Column{{Name: "id", Type: row.DataType{Kind: row.Int}}}}, false)
	},
	wire.DropTable: func(ctx context.Context, c *fluss.Client) error { return c.DropTable(ctx, fakePath, false) },
	wire.AlterTable: func(ctx context.Context, c *fluss.Client) error {
		return c.AlterTable(ctx, fakePath, []fluss.ConfigChange{{Key: "k", Value: "v"}})
	},
	wire.CreatePartition: func(ctx context.Context, c *fluss.Client) error {
		return c.CreatePartition(ctx, fakePath, map[string]string{"p": "1"}, false)
	},
	wire.DropPartition: func(ctx context.Context, c *fluss.Client) error {
		return c.DropPartition(ctx, fakePath, map[string]string{"p": "1"}, false)
	},
	wire.CommitLakeTableSnapshot: func(ctx context.Context, c *fluss.Client) error {
		return c.CommitLakeSnapshot(ctx, fluss.LakeCommit{TableID: 7, SnapshotID: 1, TieredPath: "a", ReadablePath: "a"})
	},
	wire.PutKV: func(ctx context.Context, c *fluss.Client) error {
		_, err := c.PutKV(ctx, fakeTable(), bucket(0), (&fakeBatch{}).Finish(-1, -1), fluss.AcksAll)
		return err
	},
}

func TestChangeWithUnknownOutcomeIsNotRepeated(t *testing.T) {
	for key, call := range changes {
		for name, answer := range map[string]func(*fakeRequest){
			"cut":     func(r *fakeRequest) { r.cut() },
			"silence": func(*fakeRequest) {},
			"garbage": func(r *fakeRequest) { r.raw([]byte{0, 0, 0, 1, 77}) },
			"time-out of the server": func(r *fakeRequest) {
				r.fail(wire.CodeRequestTimeOut, "replicas are late")
			},
		} {
			t.Run(key.String()+" "+name, func(t *testing.T) {
				s := newFakeServer(t)
				s.on(key, answer)
				c := connectFake(t, s, func(cfg *fluss.Config) { cfg.RequestTimeout = time.Second })
				if err := call(testContext(t), c); !errors.Is(err, fluss.ErrUnknownOutcome) || !strings.Contains(err.Error(), key.String()) {
					t.Errorf("%v", err)
				}
				if n := s.count(key); n != 1 {
					t.Errorf("sent %d times", n)
				}
			})
		}
		t.Run(key.String()+" canceled", func(t *testing.T) {
			s := newFakeServer(t)
			ctx, cancel := context.WithCancel(t.Context())
			s.on(key, func(*fakeRequest) { cancel() })
			c := connectFake(t, s)
			if err := call(ctx, c); !errors.Is(err, fluss.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
		t.Run(key.String()+" not sent", func(t *testing.T) {
			s := newFakeServer(t)
			c := connectFake(t, s, func(cfg *fluss.Config) { cfg.RetryTimeout = 300 * time.Millisecond })
			s.close()
			time.Sleep(100 * time.Millisecond) // for the client to notice
			if err := call(t.Context(), c); err == nil || errors.Is(err, fluss.ErrUnknownOutcome) || !errors.Is(err, fluss.ErrConnection) ||
				!strings.Contains(err.Error(), "start the server at this address") {
				t.Errorf("%v", err)
			}
		})
	}
}

// A coordinator that says it is not the leader has done nothing.
func TestChangeRefusedIsRepeated(t *testing.T) {
	s := newFakeServer(t)
	var n atomic.Int32
	s.on(wire.CreateDatabase, func(r *fakeRequest) {
		if n.Add(1) < 3 {
			r.fail(wire.CodeNotCoordinatorLeader, "ask another one")
			return
		}
		r.reply(&flusspb.EmptyResponse{})
	})
	c := connectFake(t, s)
	before := s.count(wire.GetMetadata)
	if err := c.CreateDatabase(testContext(t), "db", false); err != nil {
		t.Error(err)
	}
	if s.count(wire.GetMetadata) != before+2 {
		t.Errorf("metadata was read %d times", s.count(wire.GetMetadata)-before)
	}
}

// Errors inside a successful response are errors.
func TestErrorsInsideResponses(t *testing.T) {
	s := newFakeServer(t)
	s.on(wire.CommitLakeTableSnapshot, func(r *fakeRequest) {
		r.reply(&flusspb.CommitLakeSnapshotResponse{TablesResp: []*flusspb.CommitTableAnswer{{TableId: proto.Int64(7), ErrorCode: proto.Int32(7), ErrorMessage: proto.String("gone\n at x")}}})
	})
	s.on(wire.PrepareLakeTableSnapshot, func(r *fakeRequest) {
		r.reply(&flusspb.PrepareLakeSnapshotResponse{TablesResp: []*flusspb.PrepareTableAnswer{{ErrorCode: proto.Int32(-1), ErrorMessage: proto.String("java.io.Oops\n at x")}}})
	})
	s.on(wire.Lookup, func(r *fakeRequest) {
		r.reply(&flusspb.LookupResponse{BucketsResp: []*flusspb.LookupBucketAnswer{{BucketId: proto.Int32(2), ErrorCode: proto.Int32(48), ErrorMessage: proto.String("no READ")}}})
	})
	s.on(wire.LimitScan, func(r *fakeRequest) {
		r.reply(&flusspb.LimitScanResponse{ErrorCode: proto.Int32(48), ErrorMessage: proto.String("no READ")})
	})
	s.on(wire.ListOffsets, func(r *fakeRequest) {
		r.reply(&flusspb.ListOffsetsResponse{BucketsResp: []*flusspb.ListOffsetsBucketAnswer{{BucketId: proto.Int32(1), Offset: proto.Int64(4)}, {BucketId: proto.Int32(2), ErrorCode: proto.Int32(48)}}})
	})
	c := connectFake(t, s)
	ctx := testContext(t)
	if err := changes[wire.CommitLakeTableSnapshot](ctx, c); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("commit: %v", err)
	}
	if _, err := c.PrepareLakeSnapshot(ctx, fakePath, 7, nil, false); !errors.Is(err, fluss.ErrServerAnsweredUndefined) || strings.Contains(err.Error(), "at x") {
		t.Errorf("prepare: %v", err)
	}
	var e *fluss.Error
	if _, err := c.Lookup(ctx, fakeTable(), bucket(2), [][]byte{{1}}); !errors.As(err, &e) || !errors.Is(err, fluss.ErrAuthorization) ||
		e.Bucket == nil || *e.Bucket != bucket(2) || e.Request != "LOOKUP" || e.Server != s.addr() || e.Name != "AUTHORIZATION_EXCEPTION" || e.Message != "no READ" {
		t.Errorf("lookup: %+v", e)
	}
	if _, err := c.LimitScan(ctx, fakeTable(), bucket(2), 5); !errors.Is(err, fluss.ErrAuthorization) {
		t.Errorf("limit scan: %v", err)
	}
	if _, err := c.ListOffsets(ctx, fakeTable(), nil, []int32{1, 2}, fluss.OffsetLatest); !errors.Is(err, fluss.ErrAuthorization) {
		t.Errorf("offsets: %v", err)
	}
}

// A new table has no leaders for about a second, and a server may deny its
// leadership right after the metadata named it.
func TestWaitsForLeaders(t *testing.T) {
	s := newFakeServer(t)
	var metadata, offsets atomic.Int32
	s.on(wire.GetMetadata, func(r *fakeRequest) {
		if n := metadata.Add(1); n > 1 && n < 4 {
			r.reply(s.metadata(-1))
			return
		}
		r.reply(s.metadata(0))
	})
	s.on(wire.ListOffsets, func(r *fakeRequest) {
		var m flusspb.ListOffsetsRequest
		r.decode(&m)
		res := &flusspb.ListOffsetsResponse{}
		n := offsets.Add(1)
		for _, b := range m.GetBucketId() {
			a := &flusspb.ListOffsetsBucketAnswer{BucketId: proto.Int32(b), Offset: proto.Int64(int64(b) * 10)}
			if b == 1 && n == 1 {
				a = &flusspb.ListOffsetsBucketAnswer{BucketId: proto.Int32(b), ErrorCode: proto.Int32(12)}
			}
			res.BucketsResp = append(res.BucketsResp, a)
		}
		if n == 2 && len(m.GetBucketId()) != 1 {
			t.Errorf("buckets %v are asked for again", m.GetBucketId())
		}
		r.reply(res)
	})
	c := connectFake(t, s)
	got, err := c.ListOffsets(testContext(t), fakeTable(), nil, []int32{0, 1, 2}, fluss.OffsetLatest)
	if err != nil || len(got) != 3 || got[1] != 10 || got[2] != 20 {
		t.Errorf("%v, %v", got, err)
	}
}

// The leader moves to another server between two calls.
func TestFollowsTheLeader(t *testing.T) {
	first, second := newFakeServer(t), newFakeServer(t)
	var moved atomic.Bool
	metadata := func(r *fakeRequest) {
		m := first.metadata(0)
		other := second.metadata(0).GetCoordinatorServer()
		other.NodeId = proto.Int32(1)
		m.TabletServers = append(m.TabletServers, other)
		if moved.Load() {
			for _, b := range m.TableMetadata[0].BucketMetadata {
				b.LeaderId = proto.Int32(1)
			}
		}
		r.reply(m)
	}
	first.on(wire.GetMetadata, metadata)
	second.on(wire.GetMetadata, metadata)
	first.kv.setPlan(func(int, fakePut) fakeAction {
		if moved.Load() {
			return fakeAction{code: wire.CodeNotLeaderOrFollower}
		}
		return regular
	})
	c := connectFake(t, first)
	put := func() {
		t.Helper()
		if _, err := c.PutKV(testContext(t), fakeTable(), bucket(1), (&fakeBatch{mark: 5}).Finish(-1, -1), fluss.AcksAll); err != nil {
			t.Error(err)
		}
	}
	put()
	moved.Store(true)
	put()
	if a, b := len(first.kv.got(1)), len(second.kv.got(1)); a != 1 || b != 1 {
		t.Errorf("%d batches on the first server, %d on the second", a, b)
	}
}
