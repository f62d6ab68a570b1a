package fluss_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// fakeServer plays coordinator and only tablet server of a cluster, on a real
// socket, to show what a real server can't be made to show: garbage, silence,
// lost answers. What a key answers is set by on; a few keys answer by default.
type fakeServer struct {
	t    testing.TB
	ln   net.Listener
	wg   sync.WaitGroup
	kv   *fakeKV
	list []wire.Key // keys it says it serves; nil: all of 0.9.1

	mu       sync.Mutex
	handlers map[wire.Key]func(*fakeRequest)
	seen     map[wire.Key]int
	conns    map[net.Conn]bool
	accepted int
}

// fakeRequest is one request as the server got it.
type fakeRequest struct {
	s       *fakeServer
	conn    net.Conn
	wmu     *sync.Mutex
	key     wire.Key
	version int16
	id      int32
	body    []byte
}

func newFakeServer(t testing.TB) *fakeServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeServer{t: t, ln: ln, handlers: map[wire.Key]func(*fakeRequest){}, seen: map[wire.Key]int{}, conns: map[net.Conn]bool{}}
	s.kv = newFakeKV()
	s.on(wire.APIVersions, func(r *fakeRequest) { r.reply(s.versions()) })
	s.on(wire.GetMetadata, func(r *fakeRequest) { r.reply(s.metadata(0)) })
	s.on(wire.InitWriter, func(r *fakeRequest) { r.reply(&flusspb.InitWriterResponse{WriterId: proto.Int64(s.kv.newWriter())}) })
	s.on(wire.PutKV, s.kv.handle)
	s.wg.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

func (s *fakeServer) addr() string { return s.ln.Addr().String() }

func (s *fakeServer) close() {
	_ = s.ln.Close() // closing twice is no matter
	s.cutAll()
	s.wg.Wait()
}

// cutAll closes every connection.
func (s *fakeServer) cutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *fakeServer) on(key wire.Key, f func(*fakeRequest)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[key] = f
}

// count tells how often a key was asked.
func (s *fakeServer) count(key wire.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[key]
}

func (s *fakeServer) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

func (s *fakeServer) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.accepted++
		s.mu.Unlock()
		s.wg.Go(func() { s.serve(c) })
	}
}

func (s *fakeServer) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	wmu := new(sync.Mutex)
	for {
		var head [wire.RequestHeaderSize]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:])-8)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		r := &fakeRequest{s: s, conn: c, wmu: wmu, key: wire.Key(binary.BigEndian.Uint16(head[4:])),
			version: int16(binary.BigEndian.Uint16(head[6:])), id: int32(binary.BigEndian.Uint32(head[8:])), body: body}
		s.mu.Lock()
		s.seen[r.key]++
		f := s.handlers[r.key]
		s.mu.Unlock()
		if f == nil {
			s.t.Errorf("the server was asked for %s, for which the test has no answer", r.key)
			return
		}
		f(r)
	}
}

func (r *fakeRequest) decode(m proto.Message) {
	if err := proto.Unmarshal(r.body, m); err != nil {
		r.s.t.Errorf("%s: undecodable request: %v", r.key, err)
	}
}

// raw sends bytes as they are.
func (r *fakeRequest) raw(b []byte) {
	r.wmu.Lock()
	defer r.wmu.Unlock()
	_, _ = r.conn.Write(b) // the client may have gone
}

// frame sends a response of any type.
func (r *fakeRequest) frame(typ byte, id int32, m proto.Message) {
	body, err := proto.Marshal(m)
	if err != nil {
		r.s.t.Error(err)
	}
	out := []byte{typ}
	if typ != wire.TypeServerFailure {
		out = binary.BigEndian.AppendUint32(out, uint32(id))
	}
	out = append(out, body...)
	r.raw(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...))
}

func (r *fakeRequest) reply(m proto.Message) { r.frame(wire.TypeSuccess, r.id, m) }

func (r *fakeRequest) fail(code wire.Code, message string) {
	r.frame(wire.TypeError, r.id, errorResponse(code, message))
}

func (r *fakeRequest) cut() { _ = r.conn.Close() }

func errorResponse(code wire.Code, message string) *flusspb.ErrorResponse {
	return &flusspb.ErrorResponse{ErrorCode: proto.Int32(int32(code)), ErrorMessage: proto.String(message)}
}

func (s *fakeServer) versions() *flusspb.ApiVersionsResponse {
	m := &flusspb.ApiVersionsResponse{ServerType: proto.Int32(1)}
	for k := wire.Key(1000); k < 1100; k++ {
		v, ok := k.Versions(wire.Release091)
		if s.list != nil {
			ok = false
			for _, l := range s.list {
				ok = ok || l == k
			}
		}
		if ok {
			m.ApiVersions = append(m.ApiVersions, &flusspb.ApiVersion{ApiKey: proto.Int32(int32(k)), MinVersion: proto.Int32(int32(v.Min)), MaxVersion: proto.Int32(int32(v.Max))})
		}
	}
	return m
}

const (
	fakeTableID = 7
	fakeBuckets = 4
)

var fakePath = fluss.TablePath{Database: "db", Table: "t"}

// metadata names this server for everything and as leader of every bucket.
func (s *fakeServer) metadata(leader int32) *flusspb.MetadataResponse {
	host, port, err := net.SplitHostPort(s.addr())
	if err != nil {
		s.t.Error(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		s.t.Error(err)
	}
	node := &flusspb.ServerNode{NodeId: proto.Int32(0), Host: proto.String(host), Port: proto.Int32(int32(n))}
	table := &flusspb.TableMetadata{TablePath: &flusspb.TablePath{DatabaseName: proto.String("db"), TableName: proto.String("t")},
		TableId: proto.Int64(fakeTableID), SchemaId: proto.Int32(1), TableJson: []byte("{}"), CreatedTime: proto.Int64(0), ModifiedTime: proto.Int64(0)}
	for b := range int32(fakeBuckets) {
		m := &flusspb.BucketMetadata{BucketId: proto.Int32(b), ReplicaId: []int32{0}}
		if leader >= 0 {
			m.LeaderId = proto.Int32(leader)
		}
		table.BucketMetadata = append(table.BucketMetadata, m)
	}
	return &flusspb.MetadataResponse{CoordinatorServer: node, TabletServers: []*flusspb.ServerNode{node}, TableMetadata: []*flusspb.TableMetadata{table}}
}

// fakeTable is the table that the fake server leads.
func fakeTable() *fluss.TableInfo {
	return &fluss.TableInfo{Path: fakePath, TableID: fakeTableID, SchemaID: 1,
		Descriptor: fluss.TableDescriptor{Columns: []fluss.Column{{Name: "id"}}, PrimaryKey: []string{"id"}, BucketCount: fakeBuckets}}
}

func bucket(n int32) fluss.BucketID { return fluss.BucketID{PartitionID: -1, Bucket: n} }

// connectFake connects with short limits and checks after the test that
// nothing of the client is left running.
func connectFake(t *testing.T, s *fakeServer, change ...func(*fluss.Config)) *fluss.Client {
	t.Helper()
	t.Cleanup(func() { noLeaks(t) }) // after the client's own clean-up
	return connectParallel(t, s, change...)
}

// connectParallel is connectFake without that check, which would see the
// clients of tests that run at the same time.
func connectParallel(t *testing.T, s *fakeServer, change ...func(*fluss.Config)) *fluss.Client {
	t.Helper()
	cfg := fluss.Config{Bootstrap: []string{s.addr()}, RequestTimeout: 5 * time.Second, RetryTimeout: 10 * time.Second}
	for _, f := range change {
		f(&cfg)
	}
	c, err := fluss.Connect(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// noLeaks fails the test if goroutines of the client outlive it.
func noLeaks(t *testing.T) {
	t.Helper()
	var left string
	for range 100 {
		buf := make([]byte, 1<<20)
		left = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "internal/fluss.") && !strings.Contains(g, "fluss_test.noLeaks") {
				left += g + "\n\n"
			}
		}
		if left == "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("goroutines left running:\n%s", left)
}
