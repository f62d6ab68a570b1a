package fluss

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Defaults of Config.
const (
	DefaultRequestTimeout  = 30 * time.Second
	DefaultDialTimeout     = 10 * time.Second
	DefaultRetryTimeout    = 60 * time.Second
	DefaultMaxResponseSize = 128 << 20
)

// maxIdle is how long an unused connection is kept: servers close theirs after
// ten minutes, and a request that meets such a close would have an unknown
// outcome.
const maxIdle = 4 * time.Minute

// Config says how to reach a cluster.
type Config struct {
	// Bootstrap lists host:port addresses of any of the cluster's servers.
	Bootstrap []string
	// SASL is nil for a listener without authentication.
	SASL *SASL
	// RequestTimeout is how long one request may wait for its answer. The
	// servers leave some requests unanswered, so it is never unlimited; 0 means
	// DefaultRequestTimeout.
	RequestTimeout time.Duration
	// DialTimeout bounds connecting, including the login; 0 means
	// DefaultDialTimeout.
	DialTimeout time.Duration
	// RetryTimeout bounds a whole call, retries included, whose context has no
	// earlier deadline; 0 means DefaultRetryTimeout.
	RetryTimeout time.Duration
	// MaxResponseSize is the largest response accepted, in bytes; 0 means
	// DefaultMaxResponseSize.
	MaxResponseSize int
	// Dial opens connections; nil means TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Trace, if set, hears of every request that ended. It is called from many
	// goroutines and must return quickly.
	Trace func(Event)
}

// SASL holds credentials. They appear in no error and no trace event.
type SASL struct {
	// Mechanism is "PLAIN" or empty, which means PLAIN.
	Mechanism string
	Username  string
	Password  string
}

// String leaves the password out.
func (s SASL) String() string { return "SASL/PLAIN, user " + s.Username }

// GoString leaves the password out.
func (s SASL) GoString() string { return s.String() }

// Event is one request that ended; it carries nothing of the payload.
type Event struct {
	Server    string
	Request   string // API name
	Version   int16
	ID        int32
	Sent      int // bytes of the request frame
	Received  int // bytes of the response body
	Duration  time.Duration
	Err       error // nil, the server's error or a transport error
	Connected bool  // the event is a new connection, not a request
}

func (c Config) withDefaults() (Config, error) {
	if len(c.Bootstrap) == 0 {
		return c, errors.New("fluss: no bootstrap server is given: at least one host:port is required")
	}
	for _, a := range c.Bootstrap {
		host, port, err := net.SplitHostPort(a)
		if err != nil || host == "" || port == "" {
			return c, fmt.Errorf("fluss: bootstrap server %q is not of the form host:port", a)
		}
	}
	if c.SASL != nil {
		if m := c.SASL.Mechanism; m != "" && !strings.EqualFold(m, "PLAIN") {
			return c, fmt.Errorf("fluss: SASL mechanism %q is not supported; supported is PLAIN", m)
		}
		if c.SASL.Username == "" {
			return c, errors.New("fluss: SASL is configured without a user name")
		}
		if strings.ContainsRune(c.SASL.Username, 0) || strings.ContainsRune(c.SASL.Password, 0) {
			return c, errors.New("fluss: SASL user name and password must not contain a NUL character")
		}
	}
	def := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.RequestTimeout, DefaultRequestTimeout)
	def(&c.DialTimeout, DefaultDialTimeout)
	def(&c.RetryTimeout, DefaultRetryTimeout)
	if c.MaxResponseSize <= 0 {
		c.MaxResponseSize = DefaultMaxResponseSize
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	return c, nil
}
