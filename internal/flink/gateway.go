package flink

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

// apiVersions are the versions of the gateway's API that this client speaks,
// best first. What it uses is in all of them.
var apiVersions = []string{"V4", "V3", "V2", "V1"}

// Gateway is a SQL Gateway.
type Gateway struct {
	s *service
	// APIVersion is the version of the REST API in use, such as "v3".
	APIVersion string
	// Flink is Flink's version, such as "1.20.3".
	Flink string
}

// Connect looks for a SQL Gateway at a URL and agrees with it on a version of
// its API.
func Connect(ctx context.Context, address string, cfg Config) (*Gateway, error) {
	s, err := newService("SQL gateway", address, cfg)
	if err != nil {
		return nil, err
	}
	if s.cfg.Heartbeat <= 0 {
		s.cfg.Heartbeat = 30 * time.Second
	}
	g := &Gateway{s: s}
	var offered struct {
		Versions []string `json:"versions"`
	}
	if err := s.get(ctx, "/api_versions", &offered); err != nil {
		return nil, notGateway(s, err)
	}
	for _, v := range apiVersions {
		if slices.ContainsFunc(offered.Versions, func(o string) bool { return strings.EqualFold(o, v) }) {
			g.APIVersion = strings.ToLower(v)
			break
		}
	}
	if g.APIVersion == "" {
		return nil, fmt.Errorf("flink: SQL gateway at %s: found API versions %q; required: one of %q: %w", s.address(), offered.Versions, apiVersions, ErrNotThisService)
	}
	var info struct {
		Product string `json:"productName"`
		Version string `json:"version"`
	}
	if err := s.get(ctx, "/"+g.APIVersion+"/info", &info); err != nil {
		return nil, notGateway(s, err)
	}
	if info.Product != "Apache Flink" {
		return nil, fmt.Errorf("flink: SQL gateway at %s: found product %q; required: Apache Flink: %w", s.address(), info.Product, ErrNotThisService)
	}
	g.Flink = info.Version
	return g, nil
}

// notGateway adds what a wrong address usually is.
func notGateway(s *service, err error) error {
	var a *answer
	if errors.As(err, &a) && !passing(err) {
		return fmt.Errorf("flink: SQL gateway at %s: found a service that knows no /api_versions (a job manager's own REST service, perhaps); required: the gateway's REST endpoint, by default on port 8083: %w",
			s.address(), ErrNotThisService)
	}
	return err
}

// Close lets idle connections go.
func (g *Gateway) Close() { g.s.close() }

// Address is the gateway's URL without user and password.
func (g *Gateway) Address() string { return g.s.address() }

// Session is a session of a gateway: its catalogs and settings last until
// Close. Statements run one after another.
type Session struct {
	g    *Gateway
	path string

	stop context.CancelFunc
	done chan struct{}
	once sync.Once
}

// Open opens a session with settings of Flink. Close it.
func (g *Gateway) Open(ctx context.Context, settings map[string]string) (*Session, error) {
	var opened struct {
		Handle string `json:"sessionHandle"`
	}
	base := "/" + g.APIVersion + "/sessions"
	// Opening twice leaves a session behind that ends when idle.
	err := g.s.repeat(ctx, func() error {
		return g.s.call(ctx, "POST", base, map[string]any{"properties": settings}, &opened)
	})
	if err != nil {
		return nil, asFailure("open a session of the SQL gateway", err)
	}
	if opened.Handle == "" {
		return nil, fmt.Errorf("flink: SQL gateway at %s: a session without a handle: %w", g.Address(), ErrNotThisService)
	}
	s := &Session{g: g, path: base + "/" + url.PathEscape(opened.Handle), done: make(chan struct{})}
	alive, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	safego.Start(func() error { return s.beat(alive) }, func(error) { close(s.done) })
	return s, nil
}

// beat keeps the session from ending as idle. A lost session shows itself at
// the next statement.
func (s *Session) beat(ctx context.Context) error {
	t := time.NewTicker(s.g.s.cfg.Heartbeat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			_ = s.g.s.call(ctx, "POST", s.path+"/heartbeat", map[string]any{}, nil) // see above
		}
	}
}

// Close ends the session and what it still runs itself; jobs that it has
// submitted go on. It does so also when ctx has ended.
func (s *Session) Close(ctx context.Context) error {
	var err error
	s.once.Do(func() {
		s.stop()
		<-s.done
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), closeTime(ctx))
		defer done()
		err = asFailure("close the session of the SQL gateway", s.g.s.call(limit, "DELETE", s.path, nil, nil))
	})
	return err
}

func closeTime(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return closeLimit
	}
	return 10 * time.Second
}

// Config is the session's configuration: Flink's own with the session's
// settings. It may hold secrets: take out single keys, log none.
func (s *Session) Config(ctx context.Context) (map[string]string, error) {
	var conf struct {
		Properties map[string]string `json:"properties"`
	}
	if err := s.g.s.get(ctx, s.path, &conf); err != nil {
		return nil, asFailure("configuration of the SQL gateway", err)
	}
	return conf.Properties, nil
}

// Result is all a statement returned.
type Result struct {
	Columns []string
	Rows    [][]any // nil, bool, json.Number, string, []any or map[string]any, as in Flink's JSON row format
	JobID   string  // of the Flink job, when the statement made one
}

// Text is a value of the result as text; "" for null and outside the result.
func (r *Result) Text(row, column int) string {
	if row < 0 || row >= len(r.Rows) || column < 0 || column >= len(r.Rows[row]) || r.Rows[row][column] == nil {
		return ""
	}
	return fmt.Sprint(r.Rows[row][column])
}

// Exec runs one statement to its end. doing names it for errors: the text of
// the statement, which may hold secrets, is in none.
func (s *Session) Exec(ctx context.Context, doing, statement string) error {
	_, err := s.Query(ctx, doing, statement)
	return err
}

// Query runs one statement to its end and returns all its rows. What the
// gateway or the statement refuses is a *Failure. When ctx ends, the statement is cancelled. The
// error wraps ErrUnknownOutcome when the statement may have been carried out.
func (s *Session) Query(ctx context.Context, doing, statement string) (*Result, error) {
	var op struct {
		Handle string `json:"operationHandle"`
	}
	err := s.g.s.call(ctx, "POST", s.path+"/statements", map[string]any{"statement": statement}, &op)
	if err != nil {
		return nil, asFailure(doing, err)
	}
	operation := s.path + "/operations/" + url.PathEscape(op.Handle)
	result, err := s.results(ctx, operation)
	if err != nil {
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer done()
		if ctx.Err() != nil {
			_ = s.g.s.call(limit, "POST", operation+"/cancel", map[string]any{}, nil) // Close ends it as well
			return nil, fmt.Errorf("%s: %w (%w)", doing, context.Cause(ctx), ErrUnknownOutcome)
		}
		_ = s.g.s.call(limit, "DELETE", operation+"/close", nil, nil) // Close of the session ends it as well
		err = asFailure(doing, err)
		var f *Failure
		if !errors.As(err, &f) || f.Kind == KindSessionLost {
			// The statement was accepted; what became of it is not known.
			err = fmt.Errorf("%w (%w)", err, ErrUnknownOutcome)
		}
		return nil, err
	}
	_ = s.g.s.call(ctx, "DELETE", operation+"/close", nil, nil) // only frees memory of the gateway early
	return result, nil
}

// page is an answer to a fetch of results.
type page struct {
	Type    string `json:"resultType"` // NOT_READY, PAYLOAD, EOS
	Next    string `json:"nextResultUri"`
	JobID   string `json:"jobID"`
	Results struct {
		Columns []struct {
			Name string `json:"name"`
		} `json:"columns"`
		Data []struct {
			Fields []any `json:"fields"`
		} `json:"data"`
	} `json:"results"`
}

var resultToken = regexp.MustCompile(`/result/(\d+)`)

// results fetches page by page. A page can be fetched again under its token.
func (s *Session) results(ctx context.Context, operation string) (*Result, error) {
	r := &Result{}
	token, pause := int64(0), 20*time.Millisecond
	format := "?rowFormat=JSON"
	if s.g.APIVersion == "v1" {
		format = "" // its only one
	}
	for {
		var p page
		if err := s.g.s.get(ctx, operation+"/result/"+strconv.FormatInt(token, 10)+format, &p); err != nil {
			return nil, err
		}
		if p.JobID != "" {
			r.JobID = p.JobID
		}
		if r.Columns == nil {
			for _, c := range p.Results.Columns {
				r.Columns = append(r.Columns, c.Name)
			}
		}
		for _, d := range p.Results.Data {
			r.Rows = append(r.Rows, d.Fields)
		}
		if p.Type == "EOS" || (p.Next == "" && p.Type != "NOT_READY") {
			return r, nil
		}
		if m := resultToken.FindStringSubmatch(p.Next); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("flink: SQL gateway at %s: result token %q: %w", s.g.Address(), m[1], ErrNotThisService)
			}
			token = n
		}
		if p.Type != "NOT_READY" && len(p.Results.Data) > 0 {
			pause = 20 * time.Millisecond
			continue
		}
		if err := wait.For(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(pause*2, time.Second)
	}
}

// FixedJobID is the setting that chooses a job's ID before it is submitted, 32
// hexadecimal digits. A cluster refuses a second job of an ID that it knows,
// also after the first has ended (KindDuplicateJob), so that a submission may be repeated. It is an internal
// option of Flink (PipelineOptionsInternal): whether it took effect shows in
// the ID that Submit returns.
const FixedJobID = "$internal.pipeline.job-id"

// jobID matches Flink's job IDs.
var jobID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Submit runs a statement that makes a job, with table.dml-sync off, and
// returns the job's ID once the cluster has accepted it.
func (s *Session) Submit(ctx context.Context, doing, statement string) (string, error) {
	r, err := s.Query(ctx, doing, statement)
	if err != nil {
		return "", err
	}
	id := r.JobID
	if id == "" {
		id = r.Text(0, 0) // API version 1 names it in the result only
	}
	if !jobID.MatchString(id) {
		return "", fmt.Errorf("flink: %s: the gateway named no job (%w)", doing, ErrUnknownOutcome)
	}
	return id, nil
}
