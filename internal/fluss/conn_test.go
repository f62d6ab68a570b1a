package fluss_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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

func TestPipelinedAnswersInAnyOrder(t *testing.T) {
	s := newFakeServer(t)
	const n = 20
	var mu sync.Mutex
	var held []*fakeRequest
	s.on(wire.ListTables, func(r *fakeRequest) {
		mu.Lock()
		defer mu.Unlock()
		held = append(held, r)
		if len(held) < n {
			return
		}
		for i := len(held) - 1; i >= 0; i-- {
			var m flusspb.ListTablesRequest
			held[i].decode(&m)
			held[i].reply(&flusspb.ListTablesResponse{TableName: []string{"of " + m.GetDatabaseName()}})
		}
	})
	c := connectFake(t, s)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			db := fmt.Sprintf("db%d", i)
			got, err := c.ListTables(testContext(t), db)
			if err != nil || len(got) != 1 || got[0] != "of "+db {
				t.Errorf("%s: %v, %v", db, got, err)
			}
		})
	}
	wg.Wait()
	if s.connections() != 1 {
		t.Errorf("%d connections were opened", s.connections())
	}
}

// A call to a server that answers with nonsense ends with an error that names
// server and request, and is not tried for ever.
func TestGarbage(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*fakeRequest)
		want   error
		text   string
	}{
		"a web server":          {func(r *fakeRequest) { r.raw([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, fluss.ErrGarbage, `"HTTP"`},
		"unknown type":          {func(r *fakeRequest) { r.raw([]byte{0, 0, 0, 5, 9, 0, 0, 0, 1}) }, fluss.ErrGarbage, "type 9"},
		"undecodable message":   {func(r *fakeRequest) { r.raw([]byte{0, 0, 0, 6, 0, 0, 0, 0, byte(r.id), 0xff}) }, fluss.ErrGarbage, "undecodable"},
		"required field absent": {func(r *fakeRequest) { r.reply(&flusspb.EmptyResponse{}) }, fluss.ErrGarbage, "undecodable"},
		"request never sent":    {func(r *fakeRequest) { r.frame(wire.TypeSuccess, 9999, &flusspb.EmptyResponse{}) }, fluss.ErrGarbage, "request 9999"},
		"negative request ID":   {func(r *fakeRequest) { r.frame(wire.TypeSuccess, -1, &flusspb.EmptyResponse{}) }, fluss.ErrGarbage, "request -1"},
		"server failure":        {func(r *fakeRequest) { r.frame(wire.TypeServerFailure, 0, errorResponse(-1, "too large\n at x")) }, fluss.ErrServerFailure, "too large"},
		"error":                 {func(r *fakeRequest) { r.fail(-1, "java.lang.Oops: no\n at x") }, fluss.ErrServerAnsweredUndefined, "java.lang.Oops: no"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			s.on(wire.TableExists, c.answer)
			cl := connectFake(t, s)
			_, err := cl.TableExists(testContext(t), fakePath)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), s.addr()) || !strings.Contains(err.Error(), "TABLE_EXISTS") {
				t.Errorf("%v", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if s.count(wire.TableExists) != 1 {
				t.Errorf("asked %d times", s.count(wire.TableExists))
			}
			// The client recovers with a new connection.
			s.on(wire.TableExists, func(r *fakeRequest) { r.reply(&flusspb.TableExistsResponse{Exists: proto.Bool(true)}) })
			if ok, err := cl.TableExists(testContext(t), fakePath); !ok || err != nil {
				t.Errorf("afterwards: %v, %v", ok, err)
			}
		})
	}
}

// Some requests get no answer at all: the read is asked again over a new
// connection, since the old one may be dead.
func TestNoAnswer(t *testing.T) {
	s := newFakeServer(t)
	var asked atomic.Int32
	s.on(wire.TableExists, func(r *fakeRequest) {
		if asked.Add(1) > 1 {
			r.reply(&flusspb.TableExistsResponse{Exists: proto.Bool(true)})
		}
	})
	c := connectFake(t, s, func(cfg *fluss.Config) { cfg.RequestTimeout = 200 * time.Millisecond })
	if ok, err := c.TableExists(testContext(t), fakePath); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if s.connections() != 2 {
		t.Errorf("%d connections", s.connections())
	}

	s.on(wire.TableExists, func(*fakeRequest) {})
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	_, err := c.TableExists(ctx, fakePath)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "TABLE_EXISTS") {
		t.Errorf("%v", err)
	}
}

// An answer that comes after its caller has given up is passed over.
func TestLateAnswer(t *testing.T) {
	s := newFakeServer(t)
	late := make(chan *fakeRequest, 1)
	s.on(wire.TableExists, func(r *fakeRequest) { late <- r })
	c := connectFake(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.TableExists(ctx, fakePath); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	(<-late).reply(&flusspb.TableExistsResponse{Exists: proto.Bool(true)})
	s.on(wire.ListTables, func(r *fakeRequest) { r.reply(&flusspb.ListTablesResponse{}) })
	if _, err := c.ListTables(testContext(t), "db"); err != nil {
		t.Error(err)
	}
	if s.connections() != 1 {
		t.Errorf("%d connections", s.connections())
	}
}

func TestCancelIsQuick(t *testing.T) {
	s := newFakeServer(t)
	arrived := make(chan struct{}, 10)
	s.on(wire.TableExists, func(*fakeRequest) { arrived <- struct{}{} })
	c := connectFake(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.TableExists(ctx, fakePath)
		done <- err
	}()
	<-arrived
	start := time.Now()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %s", d)
	}
}

// A server that does not read must not hold a caller up when the sockets'
// buffers are full.
func TestCancelWhileSending(t *testing.T) {
	s := newFakeServer(t)
	block := make(chan struct{})
	s.on(wire.PutKV, func(*fakeRequest) { <-block })
	t.Cleanup(func() { close(block) })
	c := connectFake(t, s)
	batch := make([]byte, 64<<20)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			start := time.Now()
			_, err := c.PutKV(ctx, fakeTable(), bucket(0), batch, fluss.AcksAll)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
	wg.Wait()
}

// A broken connection ends everything that waits on it, reads are asked again.
func TestCutConnection(t *testing.T) {
	s := newFakeServer(t)
	var asked atomic.Int32
	s.on(wire.TableExists, func(r *fakeRequest) {
		switch asked.Add(1) {
		case 1:
			r.cut()
		case 2:
			r.raw([]byte{0, 0, 0, 7, 0}) // cut within a frame
			r.cut()
		default:
			r.reply(&flusspb.TableExistsResponse{Exists: proto.Bool(true)})
		}
	})
	c := connectFake(t, s)
	if ok, err := c.TableExists(testContext(t), fakePath); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestKeyNotServedIsNotSent(t *testing.T) {
	s := newFakeServer(t)
	s.list = []wire.Key{wire.APIVersions, wire.GetMetadata}
	s.on(wire.TableExists, func(r *fakeRequest) { t.Error("it was sent") })
	c := connectFake(t, s)
	_, err := c.TableExists(testContext(t), fakePath)
	if !errors.Is(err, fluss.ErrNotServed) || !strings.Contains(err.Error(), "TABLE_EXISTS") || !strings.Contains(err.Error(), s.addr()) {
		t.Errorf("%v", err)
	}
}

func TestResponseAboveTheLimit(t *testing.T) {
	s := newFakeServer(t)
	s.on(wire.ListTables, func(r *fakeRequest) {
		r.reply(&flusspb.ListTablesResponse{TableName: []string{strings.Repeat("x", 5000)}})
	})
	c := connectFake(t, s, func(cfg *fluss.Config) { cfg.MaxResponseSize = 4000 })
	if _, err := c.ListTables(testContext(t), "db"); !errors.Is(err, fluss.ErrGarbage) || !strings.Contains(err.Error(), "4000") {
		t.Errorf("%v", err)
	}
}

func TestConnectErrors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	web := newFakeServer(t)
	web.on(wire.APIVersions, func(r *fakeRequest) { r.raw([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) })
	start := time.Now()
	_, err = fluss.Connect(testContext(t), fluss.Config{Bootstrap: []string{dead, web.addr()}})
	if err == nil || !strings.Contains(err.Error(), dead) || !strings.Contains(err.Error(), web.addr()) || !errors.Is(err, fluss.ErrConnection) || !errors.Is(err, fluss.ErrGarbage) {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
	silent := newFakeServer(t)
	silent.on(wire.APIVersions, func(*fakeRequest) {})
	if _, err = fluss.Connect(testContext(t), fluss.Config{Bootstrap: []string{silent.addr()}, DialTimeout: 200 * time.Millisecond}); !errors.Is(err, fluss.ErrNoAnswer) {
		t.Errorf("%v", err)
	}
	// The second of two addresses works.
	good := newFakeServer(t)
	c, err := fluss.Connect(testContext(t), fluss.Config{Bootstrap: []string{dead, good.addr()}})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, cfg := range []fluss.Config{
		{}, {Bootstrap: []string{"nohost"}}, {Bootstrap: []string{":1"}},
		{Bootstrap: []string{dead}, SASL: &fluss.SASL{Mechanism: "SCRAM-SHA-256", Username: "u"}},
		{Bootstrap: []string{dead}, SASL: &fluss.SASL{}},
		{Bootstrap: []string{dead}, SASL: &fluss.SASL{Username: "u", Password: "a\x00b"}},
	} {
		if _, err := fluss.Connect(testContext(t), cfg); err == nil || errors.Is(err, fluss.ErrConnection) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	noLeaks(t)
}

func TestCloseEndsCalls(t *testing.T) {
	s := newFakeServer(t)
	arrived := make(chan struct{}, 10)
	s.on(wire.TableExists, func(*fakeRequest) { arrived <- struct{}{} })
	c := connectFake(t, s)
	done := make(chan error, 1)
	go func() {
		_, err := c.TableExists(testContext(t), fakePath)
		done <- err
	}()
	<-arrived
	c.Close()
	if err := <-done; !errors.Is(err, fluss.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := c.TableExists(testContext(t), fakePath); !errors.Is(err, fluss.ErrClosed) {
		t.Errorf("%v", err)
	}
	c.Close()
}

func TestTraceHoldsNoSecrets(t *testing.T) {
	s := newFakeServer(t)
	s.on(wire.Authenticate, func(r *fakeRequest) { r.reply(&flusspb.AuthenticateResponse{Challenge: []byte{}}) })
	var mu sync.Mutex
	var events []string
	c := connectFake(t, s, func(cfg *fluss.Config) {
		cfg.SASL = &fluss.SASL{Username: "alice", Password: "hunter2"}
		cfg.Trace = func(e fluss.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, fmt.Sprintf("%+v", e))
		}
	})
	c.Close()
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(events, "\n")
	if len(events) < 4 || !strings.Contains(all, "AUTHENTICATE") || strings.Contains(all, "hunter2") || strings.Contains(all, "alice") {
		t.Errorf("events:\n%s", all)
	}
}
