package fluss

import (
	"context"
	"slices"
	"sync"
)

// pool keeps up to max connections per server address and hands out the least
// busy one. A server serves all requests of one connection on one of its
// threads, so several connections are what makes it use several cores.
type pool struct {
	max  int
	dial func(ctx context.Context, addr string) (*conn, error)

	mu      sync.Mutex
	closed  bool
	servers map[string]*serverConns
}

type serverConns struct {
	conns   []*conn
	dialing int
	changed chan struct{} // closed and replaced when a dial has ended
}

func newPool(max int, dial func(ctx context.Context, addr string) (*conn, error)) *pool {
	return &pool{max: max, dial: dial, servers: map[string]*serverConns{}}
}

// get gives the least busy connection to addr. It dials when there is none, or
// when all are busy and another one is allowed.
func (p *pool) get(ctx context.Context, addr string) (*conn, error) { return p.other(ctx, addr, nil) }

// other is get for who has a connection, last, and would rather have another:
// all that may be are dialed then.
func (p *pool) other(ctx context.Context, addr string, last *conn) (*conn, error) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, &transportError{server: addr, kind: ErrClosed}
		}
		s := p.servers[addr]
		if s == nil {
			s = &serverConns{changed: make(chan struct{})}
			p.servers[addr] = s
		}
		best := s.leastBusy(last)
		if best != nil && (best.load.Load() == 0 && last == nil || len(s.conns)+s.dialing >= p.max) {
			p.mu.Unlock()
			return best, nil
		}
		if len(s.conns)+s.dialing < p.max {
			s.dialing++
			p.mu.Unlock()
			c, err := p.dialNew(ctx, s, addr)
			if err != nil && best != nil && best.usable() {
				return best, nil // a server may limit the connections of a client
			}
			return c, err
		}
		wait := s.changed
		p.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, &transportError{server: addr, kind: ErrConnection, cause: ctx.Err()}
		}
	}
}

func (p *pool) dialNew(ctx context.Context, s *serverConns, addr string) (*conn, error) {
	c, err := p.dial(ctx, addr)
	p.mu.Lock()
	s.dialing--
	close(s.changed)
	s.changed = make(chan struct{})
	closed := p.closed
	if err == nil && !closed {
		s.conns = append(s.conns, c)
	}
	p.mu.Unlock()
	if err == nil && closed {
		c.fail(ErrClosed, nil)
		return nil, &transportError{server: addr, kind: ErrClosed}
	}
	return c, err
}

// leastBusy drops what can't be used any more and gives the connection with the
// fewest unanswered bytes, or nil. Of several it is the next one behind last.
func (s *serverConns) leastBusy(last *conn) *conn {
	keep := s.conns[:0]
	for _, c := range s.conns {
		if !c.usable() {
			continue
		}
		if c.stale() {
			c.retire()
			continue
		}
		keep = append(keep, c)
	}
	clear(s.conns[len(keep):])
	s.conns = keep
	var best *conn
	from := slices.Index(keep, last) + 1
	for i := range keep {
		if c := keep[(from+i)%len(keep)]; best == nil || c.load.Load() < best.load.Load() {
			best = c
		}
	}
	return best
}

// better reports whether a request of a bucket that has own unanswered bytes on
// cur would be clearly better off on another connection to the same server. The
// margin keeps buckets from moving to and fro.
func (p *pool) better(cur *conn, own int64) bool {
	others := cur.load.Load() - own
	if others <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.servers[cur.addr]
	if s == nil {
		return false
	}
	if len(s.conns)+s.dialing < p.max {
		return true
	}
	for _, c := range s.conns {
		if c != cur && others > 2*c.load.Load()+own && c.usable() {
			return true
		}
	}
	return false
}

// close breaks every connection; calls on them end with ErrClosed.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var all []*conn
	for _, s := range p.servers {
		all = append(all, s.conns...)
		s.conns = nil
	}
	p.mu.Unlock()
	for _, c := range all {
		c.fail(ErrClosed, nil)
	}
}
