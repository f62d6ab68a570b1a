package flink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

const (
	defaultCallTimeout = 30 * time.Second
	// maxBody bounds one answer. What is asked for here is small; a stack trace
	// or a page of results may take some megabytes.
	maxBody = 64 << 20
	// getTries bounds how often a call without effect is made.
	getTries = 4
	// closeLimit bounds what is still asked for when the caller has stopped.
	closeLimit = 800 * time.Millisecond
)

// Config is common to all services.
type Config struct {
	// CallTimeout bounds one HTTP call; 0 means 30 s.
	CallTimeout time.Duration
	// Heartbeat is the interval at which an open session is kept alive; 0 means
	// 30 s. Gateways end idle sessions after 10 min by default.
	Heartbeat time.Duration
	// Secrets are texts that must appear in no error.
	Secrets []string
	// UserAgent is sent with every call; "" means Go's own.
	UserAgent string
}

// Sentinels, to be used with errors.Is.
var (
	// ErrUnreachable: no answer from the address.
	ErrUnreachable = errors.New("no answer")
	// ErrNotThisService: something answers there that is not the service.
	ErrNotThisService = errors.New("not this service")
	// ErrUnknownOutcome: the request may have been carried out.
	ErrUnknownOutcome = errors.New("the answer was lost, the request may have been carried out")
	// ErrJobNotFound: the asked service knows no such job. It says nothing about
	// whether the job runs or how it ended.
	ErrJobNotFound = errors.New("no such job")
)

// service is one REST service at one address.
type service struct {
	what   string // for errors: "SQL gateway", "job manager", "history server"
	base   string // without a trailing slash; may hold a user and password
	cfg    Config
	client *http.Client
}

func newService(what, address string, cfg Config) (*service, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("flink: %s: found an address that is no http or https URL; required: http://host:port", what)
	}
	u.RawQuery, u.Fragment = "", ""
	if cfg.CallTimeout <= 0 {
		cfg.CallTimeout = defaultCallTimeout
	}
	secrets := append([]string{}, cfg.Secrets...)
	if pw, ok := u.User.Password(); ok {
		secrets = append(secrets, pw, url.QueryEscape(pw), url.PathEscape(pw))
	}
	// Longer ones first, so that none is cut by another that is a part of it.
	sort.Slice(secrets, func(a, b int) bool { return len(secrets[a]) > len(secrets[b]) })
	cfg.Secrets = secrets
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true}
	return &service{what: what, base: strings.TrimRight(u.String(), "/"), cfg: cfg, client: &http.Client{Transport: transport,
		// Flink's services do not redirect: a redirect is a login page or another service.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

func (s *service) close() { s.client.CloseIdleConnections() }

// address is where the service is, without user and password.
func (s *service) address() string {
	u, err := url.Parse(s.base)
	if err != nil {
		return s.what
	}
	u.User = nil
	return u.String()
}

// clean takes the secrets out of a text.
func (s *service) clean(text string) string {
	for _, v := range s.cfg.Secrets {
		if v != "" {
			text = strings.ReplaceAll(text, v, "***")
		}
	}
	return text
}

// answer is an HTTP answer other than success.
type answer struct {
	status int
	texts  []string
}

func (a *answer) Error() string {
	line := fmt.Sprintf("HTTP status %d", a.status)
	if len(a.texts) > 0 {
		cs := causes(strings.Join(a.texts, "\n"))
		line += ": " + firstLine(cs[len(cs)-1])
	}
	return line
}

// get asks for something without an effect, again where that may help.
func (s *service) get(ctx context.Context, path string, into any) error {
	return s.repeat(ctx, func() error { return s.call(ctx, http.MethodGet, path, nil, into) })
}

// repeat makes a call that has no effect, or the same one however often it is
// made.
func (s *service) repeat(ctx context.Context, call func() error) error {
	pause := 100 * time.Millisecond
	for try := 1; ; try++ {
		err := call()
		if err == nil || try == getTries || !passing(err) || ctx.Err() != nil {
			return err
		}
		if wait.For(ctx, pause) != nil {
			return err
		}
		pause *= 3
	}
}

// passing says whether an error may go away by itself: no answer, or a proxy's
// word that there is none.
func passing(err error) bool {
	var a *answer
	if errors.As(err, &a) {
		return a.status == http.StatusBadGateway || a.status == http.StatusServiceUnavailable || a.status == http.StatusGatewayTimeout
	}
	return errors.Is(err, ErrUnreachable)
}

// call makes one HTTP call. Its error wraps ErrUnreachable when there was no
// answer, and ErrUnknownOutcome besides when the request may have arrived.
func (s *service) call(ctx context.Context, method, path string, body, into any) error {
	limit, done := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer done()
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("flink: %s: %w", s.what, err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(limit, method, s.base+path, in)
	if err != nil {
		return fmt.Errorf("flink: %s: %s", s.what, s.clean(err.Error()))
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", s.cfg.UserAgent)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return s.noAnswer(ctx, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return s.noAnswer(ctx, err)
	case len(data) > maxBody:
		return fmt.Errorf("flink: %s at %s: answer to %s larger than %d bytes", s.what, s.address(), path, maxBody)
	case resp.StatusCode >= 300:
		return s.refused(resp, data)
	case into == nil:
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("flink: %s at %s: the answer to %s is not the JSON of this service: %w", s.what, s.address(), path, ErrNotThisService)
	}
	return nil
}

// noAnswer says what kept an answer away. A connection that was never made has
// carried nothing.
func (s *service) noAnswer(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), ErrUnknownOutcome)
	}
	var uerr *url.Error
	if errors.As(err, &uerr) {
		err = uerr.Err // without the URL, which may hold a password
	}
	text := s.clean(err.Error())
	if errors.Is(err, context.DeadlineExceeded) {
		text = fmt.Sprintf("nothing within %s", s.cfg.CallTimeout)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("flink: %s at %s: %w: %s", s.what, s.address(), ErrUnreachable, text)
	}
	return fmt.Errorf("flink: %s at %s: %w: %s (%w)", s.what, s.address(), ErrUnreachable, text, ErrUnknownOutcome)
}

func (s *service) refused(resp *http.Response, data []byte) error {
	var failed struct {
		Errors []string `json:"errors"`
	}
	if json.Unmarshal(data, &failed) != nil || failed.Errors == nil {
		where := ""
		if to := resp.Header.Get("Location"); to != "" {
			where = " to another address"
		}
		err := error(&answer{status: resp.StatusCode})
		if passing(err) {
			return fmt.Errorf("flink: %s at %s: %w", s.what, s.address(), err)
		}
		return fmt.Errorf("flink: %s at %s: HTTP status %d%s without the JSON of this service: %w", s.what, s.address(), resp.StatusCode, where, ErrNotThisService)
	}
	a := &answer{status: resp.StatusCode}
	for _, t := range failed.Errors {
		a.texts = append(a.texts, s.clean(t))
	}
	return fmt.Errorf("flink: %s at %s: %w", s.what, s.address(), a)
}
