package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
)

// toxics is the toxiproxy that all links go through.
var toxics = sync.OnceValue(func() *toxiproxy.ApiServer {
	zerolog.SetGlobalLevel(zerolog.Disabled) // its toxics write to the global logger
	return toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
})

// link is the way of one schedule's provider to one server: a front that reads
// Fluss's frames, and behind it a toxiproxy. It knows what really passed.
type link struct {
	name  string
	front net.Listener
	toxic *toxiproxy.Proxy

	mu    sync.Mutex
	conns map[net.Conn]net.Conn // client side -> server side
	seen  traffic
	lose  map[wire.Key]bool // answers to lose, once
	lost  []string          // what was lost
}

// traffic is what passed a link since it was last reset.
type traffic struct {
	requests, answers int
	bytes             int64
	broken            int           // connections that ended under the client, or were refused
	slowest           time.Duration // from request to answer
}

func newLink(ctx context.Context, name, server string) (*link, error) {
	l := &link{name: name, conns: map[net.Conn]net.Conn{}}
	l.toxic = toxiproxy.NewProxy(toxics(), name, "127.0.0.1:0", server)
	if err := l.toxic.Start(); err != nil {
		return nil, fmt.Errorf("proxy of %s: %w", name, err)
	}
	var lc net.ListenConfig
	var err error
	if l.front, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		l.toxic.Stop()
		return nil, fmt.Errorf("proxy of %s: %w", name, err)
	}
	go l.accept(ctx)
	return l, nil
}

func (l *link) address() string { return l.front.Addr().String() }

func (l *link) close() {
	_ = l.front.Close()
	l.toxic.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, s := range l.conns {
		_, _ = c.Close(), s.Close()
	}
}

func (l *link) accept(ctx context.Context) {
	for {
		c, err := l.front.Accept()
		if err != nil {
			return
		}
		go l.serve(ctx, c)
	}
}

func (l *link) note(f func(*traffic)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.seen)
}

// reset begins a new count.
func (l *link) reset() { l.note(func(t *traffic) { *t = traffic{} }) }

func (l *link) traffic() traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

func (l *link) serve(ctx context.Context, client net.Conn) {
	var d net.Dialer
	server, err := d.DialContext(ctx, "tcp", l.toxic.Listen)
	if err != nil {
		l.note(func(t *traffic) { t.broken++ })
		abort(client)
		return
	}
	l.mu.Lock()
	l.conns[client] = server
	l.mu.Unlock()
	p := &passing{link: l, asked: map[uint32]request{}, client: client, server: server}
	var wg sync.WaitGroup
	wg.Go(func() { p.requests() })
	p.answers()
	abort(client)
	_ = server.Close()
	wg.Wait()
	l.mu.Lock()
	delete(l.conns, client)
	l.mu.Unlock()
}

// abort ends a connection with a reset.
func abort(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

type request struct {
	key  wire.Key
	sent time.Time
}

// passing is one connection through a link.
type passing struct {
	link           *link
	client, server net.Conn

	mu     sync.Mutex
	asked  map[uint32]request
	closed bool // by the client itself
}

// maxFrame bounds a frame of either direction; the largest batch is far below.
const maxFrame = 64 << 20

// frame reads one frame with its length in front. from is big-endian: length,
// then for requests key, version, ID; for answers type, ID.
func frame(r io.Reader, buf []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 5 || n > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes", n)
	}
	if cap(buf) < int(n)+4 {
		buf = make([]byte, n+4)
	}
	buf = buf[:n+4]
	copy(buf, size[:])
	_, err := io.ReadFull(r, buf[4:])
	return buf, err
}

func (p *passing) requests() {
	var buf []byte
	for {
		var err error
		if buf, err = frame(p.client, buf); err != nil {
			p.mu.Lock()
			p.closed = true
			p.mu.Unlock()
			_ = p.server.Close()
			return
		}
		if len(buf) >= 12 {
			p.mu.Lock()
			p.asked[binary.BigEndian.Uint32(buf[8:])] = request{wire.Key(binary.BigEndian.Uint16(buf[4:])), time.Now()}
			p.mu.Unlock()
		}
		p.link.note(func(t *traffic) { t.requests++; t.bytes += int64(len(buf)) })
		if _, err := p.server.Write(buf); err != nil {
			return
		}
	}
}

func (p *passing) answers() {
	var buf []byte
	for {
		var err error
		if buf, err = frame(p.server, buf); err != nil {
			p.mu.Lock()
			closed := p.closed
			p.mu.Unlock()
			if !closed {
				p.link.note(func(t *traffic) { t.broken++ })
			}
			return
		}
		p.mu.Lock()
		q, known := p.asked[binary.BigEndian.Uint32(buf[5:])]
		p.mu.Unlock()
		rtt := time.Since(q.sent)
		p.link.note(func(t *traffic) {
			t.answers++
			t.bytes += int64(len(buf))
			if known {
				t.slowest = max(t.slowest, rtt)
			}
		})
		if known && buf[4] == 0 && p.link.loses(q.key, len(buf)) {
			return
		}
		if _, err := p.client.Write(buf); err != nil {
			return
		}
	}
}

// loses says whether the answer, which reports success, is to be lost.
func (l *link) loses(key wire.Key, size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lose[key] {
		return false
	}
	l.lose = nil
	l.seen.broken++
	l.lost = append(l.lost, fmt.Sprintf("%s answered request %d with success (%d bytes); the connection was reset before the client got it", l.name, key, size))
	return true
}

// links are a schedule's links, by server.
type links struct {
	all   []*link
	words []string // SERVER=PROXY
}

func newLinks(ctx context.Context, prefix string, servers map[string]string) (*links, error) {
	ls := &links{}
	for name, address := range servers {
		l, err := newLink(ctx, prefix+name, address)
		if err != nil {
			ls.close()
			return nil, err
		}
		ls.all = append(ls.all, l)
		ls.words = append(ls.words, address+"="+l.address())
	}
	return ls, nil
}

func (ls *links) close() {
	for _, l := range ls.all {
		l.close()
	}
}

func (ls *links) dial() string { return strings.Join(ls.words, " ") }

func (ls *links) reset() {
	for _, l := range ls.all {
		l.reset()
	}
}

// total adds the links' traffic up.
func (ls *links) total() traffic {
	var sum traffic
	for _, l := range ls.all {
		t := l.traffic()
		sum.requests, sum.answers, sum.bytes, sum.broken = sum.requests+t.requests, sum.answers+t.answers, sum.bytes+t.bytes, sum.broken+t.broken
		sum.slowest = max(sum.slowest, t.slowest)
	}
	return sum
}

// add puts a toxic on every link.
func (ls *links) add(name, kind, stream, attributes string) error {
	var errs []error
	for _, l := range ls.all {
		_, err := l.toxic.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":%s}`, name, kind, stream, attributes)))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (ls *links) remove(ctx context.Context, name string) error {
	var errs []error
	for _, l := range ls.all {
		errs = append(errs, l.toxic.Toxics.RemoveToxic(ctx, name))
	}
	return errors.Join(errs...)
}

// cut closes every connection and refuses new ones until mend.
func (ls *links) cut() {
	for _, l := range ls.all {
		l.toxic.Stop()
	}
}

func (ls *links) mend() error {
	var errs []error
	for _, l := range ls.all {
		errs = append(errs, l.toxic.Start())
	}
	return errors.Join(errs...)
}

// loseNext has, on each link, the next successful answer to one of the requests lost.
func (ls *links) loseNext(keys ...wire.Key) {
	for _, l := range ls.all {
		l.mu.Lock()
		l.lose = map[wire.Key]bool{}
		for _, k := range keys {
			l.lose[k] = true
		}
		l.mu.Unlock()
	}
}

// lostSoFar is what was lost, without ending the order to lose.
func (ls *links) lostSoFar() []string {
	var out []string
	for _, l := range ls.all {
		l.mu.Lock()
		out = append(out, l.lost...)
		l.mu.Unlock()
	}
	return out
}
