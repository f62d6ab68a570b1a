package fluss

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// conn is one connection to a server. Requests are pipelined: any number may
// wait for their answers, which are matched by request ID.
//
// Who owns what: wsem is held by the one goroutine that writes; mu guards the
// fields below it; one reader goroutine lives until the connection breaks.
// Every begun call ends exactly once, by its answer, its timer, its caller
// giving up (abandon) or the connection breaking (fail), whichever takes it out
// of pending first.
type conn struct {
	nc      net.Conn
	addr    string
	timeout time.Duration
	maxSize int
	trace   func(Event)

	// Set by the handshake, before the connection is shared.
	coordinator bool
	versions    map[wire.Key]wire.Range

	load atomic.Int64 // bytes of requests that wait for an answer

	wsem   chan struct{}
	broken chan struct{} // closed when err is set

	mu      sync.Mutex
	pending map[int32]*call
	nextID  int32
	lastUse time.Time
	retired bool // no new requests; closed when nothing is pending
	err     error
	kind    error
}

type call struct {
	id      int32
	key     wire.Key
	version int16
	size    int
	started time.Time
	sent    bool // bytes of it may have left
	timer   *time.Timer
	done    func(body []byte, err error)
}

// request is one request to be sent: head starts with wire.RequestHeaderSize
// bytes that begin fills in, followed by the message or its first part; tail is
// the rest of it, if any.
type request struct {
	key     wire.Key
	version int16
	head    []byte
	tail    []byte
}

func newConn(nc net.Conn, addr string, cfg *Config) *conn {
	return &conn{
		nc: nc, addr: addr, timeout: cfg.RequestTimeout, maxSize: cfg.MaxResponseSize, trace: cfg.Trace,
		wsem: make(chan struct{}, 1), broken: make(chan struct{}),
		pending: map[int32]*call{}, lastUse: time.Now(),
	}
}

// start begins reading; stopped is called when the reader has ended.
func (c *conn) start(stopped func()) {
	safego.Start(c.readLoop, func(err error) {
		kind := ErrConnection
		if errors.Is(err, wire.ErrFrame) || errors.Is(err, ErrGarbage) {
			kind = ErrGarbage
		}
		c.fail(kind, err)
		stopped()
	})
}

func (c *conn) notSent(key wire.Key, kind, cause error) error {
	return &transportError{key: key, server: c.addr, kind: kind, cause: cause}
}

// begin sends a request. With a nil error, done is called exactly once, from
// another goroutine, with the response message or an error, unless abandon takes
// the call back; it must not block. With an error nothing was sent and done is
// not called. The request's memory is not used after begin has returned.
func (c *conn) begin(ctx context.Context, r request, done func([]byte, error)) (int32, error) {
	select {
	case c.wsem <- struct{}{}:
	case <-c.broken:
		return 0, c.notSent(r.key, c.kind, c.err)
	case <-ctx.Done():
		return 0, c.notSent(r.key, ErrConnection, ctx.Err())
	}
	defer func() { <-c.wsem }()
	if err := ctx.Err(); err != nil {
		return 0, c.notSent(r.key, ErrConnection, err)
	}

	size := len(r.head) + len(r.tail)
	if size > wire.MaxBodySize {
		return 0, c.notSent(r.key, ErrConnection, fmt.Errorf("the request has %d bytes, more than a frame can hold", size))
	}
	cl := &call{key: r.key, version: r.version, size: size, started: time.Now(), done: done}
	c.mu.Lock()
	if c.err != nil || c.retired {
		kind, err := c.kind, c.err
		c.mu.Unlock()
		if kind == nil {
			kind = ErrConnection
		}
		return 0, c.notSent(r.key, kind, err)
	}
	cl.id = c.nextID
	c.nextID++
	if c.nextID < 0 { // 2^31 requests: start a new connection rather than reuse IDs
		c.retired = true
	}
	cl.sent = true
	c.pending[cl.id] = cl
	c.lastUse = cl.started
	c.mu.Unlock()
	c.load.Add(int64(size))

	wire.AppendRequestHeader(r.head[:0], r.key, r.version, cl.id, size-wire.RequestHeaderSize)
	if err := c.write(ctx, r); err != nil {
		// A part of the frame may have left: the stream is of no use any more.
		c.fail(ErrConnection, err)
		return cl.id, nil
	}
	timer := time.AfterFunc(c.timeout, func() {
		if err := safego.Do(func() error { c.expire(cl.id); return nil }); err != nil {
			c.fail(ErrConnection, err)
		}
	})
	c.mu.Lock()
	if _, waiting := c.pending[cl.id]; waiting {
		cl.timer = timer
		timer = nil
	}
	c.mu.Unlock()
	if timer != nil {
		timer.Stop()
	}
	return cl.id, nil
}

var longAgo = time.Unix(1, 0)

// write writes one frame, for at most c.timeout or until ctx ends.
func (c *conn) write(ctx context.Context, r request) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	ran := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.nc.SetWriteDeadline(longAgo) // an error means it is closed already
		close(ran)
	})
	var err error
	if len(r.tail) == 0 {
		_, err = c.nc.Write(r.head)
	} else {
		b := net.Buffers{r.head, r.tail}
		_, err = b.WriteTo(c.nc)
	}
	if !stop() {
		<-ran // so that it can't reach into the next frame's deadline
		if err != nil {
			// Not wrapped: other requests of the connection get this error too.
			return fmt.Errorf("given up while it was being sent: %v", ctx.Err()) //nolint:errorlint // see above
		}
	}
	return err
}

// take removes a call from pending: whoever gets it must end it.
func (c *conn) take(id int32) *call {
	c.mu.Lock()
	cl := c.pending[id]
	delete(c.pending, id)
	last := c.retired && len(c.pending) == 0
	if cl != nil {
		c.lastUse = time.Now()
	}
	c.mu.Unlock()
	if cl != nil {
		c.load.Add(-int64(cl.size))
		if cl.timer != nil {
			cl.timer.Stop()
		}
	}
	if last {
		c.fail(ErrConnection, errors.New("closed after a request without an answer"))
	}
	return cl
}

func (c *conn) end(cl *call, body []byte, err error) {
	if c.trace != nil {
		c.trace(Event{Server: c.addr, Request: cl.key.String(), Version: cl.version, ID: cl.id,
			Sent: cl.size, Received: len(body), Duration: time.Since(cl.started), Err: err})
	}
	cl.done(body, err)
}

// abandon takes a call back; false means that it has ended or is about to.
func (c *conn) abandon(id int32) bool {
	return c.take(id) != nil
}

// expire ends a call that got no answer in time and retires the connection:
// what else waits on it may still be answered, but nothing new is sent.
func (c *conn) expire(id int32) {
	c.mu.Lock()
	if c.pending[id] != nil {
		c.retired = true
	}
	c.mu.Unlock()
	if cl := c.take(id); cl != nil {
		c.end(cl, nil, &transportError{key: cl.key, server: c.addr, sent: true, kind: ErrNoAnswer,
			cause: fmt.Errorf("waited %s", c.timeout)})
	}
}

// retire stops new requests and closes the connection once nothing is pending.
func (c *conn) retire() {
	c.mu.Lock()
	c.retired = true
	idle := len(c.pending) == 0
	c.mu.Unlock()
	if idle {
		c.fail(ErrConnection, errors.New("closed, unused"))
	}
}

// fail breaks the connection; every pending call ends with the first failure.
func (c *conn) fail(kind, cause error) {
	c.mu.Lock()
	if c.err == nil {
		if cause == nil {
			cause = errors.New("closed")
		}
		c.err, c.kind = cause, kind
		close(c.broken)
		_ = c.nc.Close() // nothing is left to be said to the server
	}
	kind, cause = c.kind, c.err
	calls := c.pending
	c.pending = map[int32]*call{}
	c.mu.Unlock()
	for _, cl := range calls {
		c.load.Add(-int64(cl.size))
		if cl.timer != nil {
			cl.timer.Stop()
		}
		c.end(cl, nil, &transportError{key: cl.key, server: c.addr, sent: cl.sent, kind: kind, cause: cause})
	}
}

// usable reports whether new requests may be sent.
func (c *conn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err == nil && !c.retired
}

// stale reports whether the connection has been idle for so long that the
// server may be about to close it.
func (c *conn) stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) == 0 && time.Since(c.lastUse) > maxIdle
}

func (c *conn) readLoop() error {
	r := bufio.NewReaderSize(c.nc, 64<<10)
	for {
		res, err := wire.ReadResponse(r, c.maxSize)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("the server closed the connection")
			}
			return err
		}
		if res.Type == wire.TypeServerFailure {
			c.fail(ErrServerFailure, newFailure(res))
			return nil
		}
		cl := c.take(res.ID)
		if cl == nil {
			c.mu.Lock()
			issued := res.ID >= 0 && (res.ID < c.nextID || c.nextID < 0)
			c.mu.Unlock()
			if !issued {
				return fmt.Errorf("%w: it answers request %d, which was never sent", ErrGarbage, res.ID)
			}
			continue // the caller has given up
		}
		if res.Type == wire.TypeError {
			c.end(cl, nil, newError(res.Code, res.Message, cl.key, c.addr))
		} else {
			c.end(cl, res.Body, nil)
		}
	}
}

// newFailure is the text of a response that belongs to no request.
func newFailure(res wire.Response) error {
	e := newError(res.Code, res.Message, 0, "")
	return fmt.Errorf("%s (%d): %s", e.Name, int32(e.Code), e.Message)
}

// version gives the version to send key with.
func (c *conn) version(key wire.Key) (int16, error) {
	served, ok := c.versions[key]
	if !ok {
		return 0, c.notSent(key, ErrNotServed, fmt.Errorf("%s is not in the server's list of requests; is it older than 0.9.1?", key))
	}
	v, ok := key.Negotiate(served)
	if !ok {
		return 0, c.notSent(key, ErrNotServed, fmt.Errorf("the server serves versions %d to %d of it, none of which this client speaks", served.Min, served.Max))
	}
	return v, nil
}

// marshal gives a request with an encoded message.
func marshal(key wire.Key, version int16, m proto.Message) (request, error) {
	head := make([]byte, wire.RequestHeaderSize, wire.RequestHeaderSize+proto.Size(m))
	head, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(head, m)
	if err != nil {
		return request{}, fmt.Errorf("fluss: encoding %s: %w", key, err)
	}
	return request{key: key, version: version, head: head}, nil
}

// exchange sends a request and waits for its answer, the response message.
func (c *conn) exchange(ctx context.Context, r request) ([]byte, error) {
	type answer struct {
		body []byte
		err  error
	}
	got := make(chan answer, 1)
	id, err := c.begin(ctx, r, func(body []byte, err error) { got <- answer{body, err} })
	if err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		return a.body, a.err
	case <-ctx.Done():
		if c.abandon(id) {
			return nil, &transportError{key: r.key, server: c.addr, sent: true, kind: ErrNoAnswer, cause: ctx.Err()}
		}
		a := <-got
		return a.body, a.err
	}
}

// roundTrip is exchange with the answer decoded into out.
func (c *conn) roundTrip(ctx context.Context, r request, out proto.Message) error {
	body, err := c.exchange(ctx, r)
	if err != nil {
		return err
	}
	return c.decode(r.key, body, out)
}

// decode decodes a response message. One that can't be decoded breaks the
// connection: whatever sent it is not the server it should be.
func (c *conn) decode(key wire.Key, body []byte, out proto.Message) error {
	if err := proto.Unmarshal(body, out); err != nil {
		err = fmt.Errorf("undecodable response of %d bytes: %w", len(body), err)
		c.fail(ErrGarbage, err)
		return &transportError{key: key, server: c.addr, sent: true, kind: ErrGarbage, cause: err}
	}
	return nil
}
