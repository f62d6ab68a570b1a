// Package flinksql runs SQL through Flink's SQL Gateway. The acceptance tests
// use it as a reader and writer of Paimon and Fluss tables that shares no code
// with the provider.
package flinksql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody bounds one answer of the gateway; larger results come in pages.
const maxBody = 256 << 20

// Session is a session of the gateway: its catalogs, settings and current
// database last until Close. Statements run one after another.
type Session struct {
	url    string // of the session
	client *http.Client
}

// Column is a column of a result, with its type in SQL's spelling.
type Column struct {
	Name string
	Type string
}

// Row is one row of a result. A value is nil, bool, json.Number, string (also
// for dates, times, timestamps; base64 for bytes), []any or map[string]any, as
// in Flink's JSON row format.
type Row struct {
	Kind   string // INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE
	Values []any
}

// Result is all a statement returned.
type Result struct {
	Columns []Column
	Rows    []Row
	JobID   string // of the Flink job, when the statement made one
}

// Error is a statement the gateway refused or failed to run.
type Error struct {
	Statement string
	Causes    []string // first lines of the exceptions, outermost first
}

// Error names the causes by their first lines, without the gateway's own
// wrappers and repetitions.
func (e *Error) Error() string {
	var texts []string
	for i, c := range e.Causes {
		line, _, _ := strings.Cut(c, "\n")
		last := i == len(e.Causes)-1
		if !last && (strings.HasPrefix(line, "org.apache.flink.table.gateway.") || strings.HasSuffix(e.Causes[i+1], line)) {
			continue
		}
		texts = append(texts, strings.TrimSpace(line))
	}
	return fmt.Sprintf("flinksql: %s: %s", shorten(e.Statement), strings.Join(texts, "; caused by "))
}

// Root is the innermost cause.
func (e *Error) Root() string { return e.Causes[len(e.Causes)-1] }

// Open opens a session that runs statements in batch mode and returns from an
// INSERT when its job has ended. The settings are added to, or replace, these.
func Open(ctx context.Context, gatewayURL string, settings map[string]string) (*Session, error) {
	base := strings.TrimSuffix(gatewayURL, "/") + "/v2/sessions"
	s := &Session{url: base, client: &http.Client{}}
	set := map[string]string{"execution.runtime-mode": "batch", "table.dml-sync": "true"}
	for k, v := range settings {
		set[k] = v
	}
	var opened struct {
		Handle string `json:"sessionHandle"`
	}
	if err := s.ask(ctx, http.MethodPost, base, map[string]any{"properties": set}, &opened); err != nil {
		return nil, fmt.Errorf("flinksql: open a session: %w", err)
	}
	s.url = base + "/" + opened.Handle
	return s, nil
}

// Close ends the session and what it still runs.
func (s *Session) Close(ctx context.Context) error {
	if err := s.ask(ctx, http.MethodDelete, s.url, nil, nil); err != nil {
		return fmt.Errorf("flinksql: close the session: %w", err)
	}
	return nil
}

// Exec runs statements one after another up to the first that fails.
func (s *Session) Exec(ctx context.Context, statements ...string) error {
	for _, q := range statements {
		if _, err := s.Query(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Query runs one statement to its end and returns all its rows. A failure of
// the statement is an *Error. When ctx ends, the statement is cancelled.
func (s *Session) Query(ctx context.Context, statement string) (*Result, error) {
	var op struct {
		Handle string `json:"operationHandle"`
	}
	if err := s.ask(ctx, http.MethodPost, s.url+"/statements", map[string]any{"statement": statement}, &op); err != nil {
		return nil, statementError(statement, err)
	}
	operation := s.url + "/operations/" + op.Handle
	result, err := s.fetch(ctx, operation)
	if err != nil && ctx.Err() != nil {
		cancel, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		if stop := s.ask(cancel, http.MethodPost, operation+"/cancel", map[string]any{}, nil); stop != nil {
			err = errors.Join(err, fmt.Errorf("flinksql: cancel: %w", stop))
		}
	}
	if err != nil {
		return nil, statementError(statement, err)
	}
	if err := s.ask(ctx, http.MethodDelete, operation+"/close", nil, nil); err != nil {
		return nil, statementError(statement, err)
	}
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
			Type any    `json:"logicalType"`
		} `json:"columns"`
		Data []struct {
			Kind   string `json:"kind"`
			Fields []any  `json:"fields"`
		} `json:"data"`
	} `json:"results"`
}

func (s *Session) fetch(ctx context.Context, operation string) (*Result, error) {
	result := &Result{}
	host := s.url[:strings.Index(s.url, "/v2/")]
	next := operation + "/result/0?rowFormat=JSON"
	for next != "" {
		var p page
		if err := s.ask(ctx, http.MethodGet, next, nil, &p); err != nil {
			return nil, err
		}
		if p.JobID != "" {
			result.JobID = p.JobID
		}
		if result.Columns == nil {
			for _, c := range p.Results.Columns {
				result.Columns = append(result.Columns, Column{Name: c.Name, Type: typeText(c.Type)})
			}
		}
		for _, d := range p.Results.Data {
			result.Rows = append(result.Rows, Row{Kind: d.Kind, Values: d.Fields})
		}
		if p.Type == "EOS" {
			break
		}
		if p.Next != "" {
			next = host + p.Next
		}
		if p.Type == "NOT_READY" || len(p.Results.Data) == 0 {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return result, nil
}

// typeText makes one line of a column's type as the gateway gives it.
func typeText(v any) string {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(v)
	}
	text := fmt.Sprint(m["type"])
	var sizes []string
	for _, k := range []string{"length", "precision", "scale"} {
		if n, ok := m[k]; ok {
			sizes = append(sizes, fmt.Sprint(n))
		}
	}
	if len(sizes) > 0 {
		text += "(" + strings.Join(sizes, ", ") + ")"
	}
	if m["nullable"] == false {
		text += " NOT NULL"
	}
	return text
}

// refusal is an answer other than success, with the gateway's error texts.
type refusal struct {
	status string
	texts  []string
}

func (r *refusal) Error() string { return r.status + ": " + strings.Join(r.texts, ": ") }

func (s *Session) ask(ctx context.Context, method, url string, body, into any) error {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return err
	}
	if len(data) > maxBody {
		return fmt.Errorf("answer larger than %d bytes", maxBody)
	}
	if resp.StatusCode >= 300 {
		var failed struct {
			Errors []string `json:"errors"`
		}
		if json.Unmarshal(data, &failed) != nil || len(failed.Errors) == 0 {
			failed.Errors = []string{string(data)}
		}
		return &refusal{status: resp.Status, texts: failed.Errors}
	}
	if into == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("answer of %s: %w", method, err)
	}
	return nil
}

// statementError turns the gateway's stack trace into its causes.
func statementError(statement string, err error) error {
	var r *refusal
	if !errors.As(err, &r) {
		return fmt.Errorf("flinksql: %s: %w", shorten(statement), err)
	}
	return &Error{Statement: statement, Causes: causes(strings.Join(r.texts, "\n"))}
}

// causes are the messages of a Java stack trace, outermost first and without
// the frames; each message may have several lines.
func causes(trace string) []string {
	var out []string
	open := false
	for _, line := range strings.Split(trace, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text == "Internal server error." || strings.HasPrefix(text, "End of exception"):
			open = false
			continue
		case strings.HasPrefix(text, "at ") || strings.HasPrefix(text, "... "):
			open = false
			continue
		case strings.HasPrefix(text, "<Exception on server side:"):
			if text = strings.TrimSpace(strings.TrimPrefix(text, "<Exception on server side:")); text == "" {
				open = false
				continue
			}
		case strings.HasPrefix(text, "Caused by: "):
			text, open = strings.TrimPrefix(text, "Caused by: "), false
		}
		if open {
			out[len(out)-1] += "\n" + text
		} else {
			out = append(out, text)
		}
		open = true
	}
	if len(out) == 0 {
		return []string{trace}
	}
	return out
}

func shorten(statement string) string {
	text := strings.Join(strings.Fields(statement), " ")
	if r := []rune(text); len(r) > 120 {
		text = string(r[:120]) + "…"
	}
	return text
}

// CreatePaimonCatalog makes a catalog over a Paimon warehouse, a folder.
func (s *Session) CreatePaimonCatalog(ctx context.Context, name, warehouse string) error {
	return s.Exec(ctx, fmt.Sprintf("CREATE CATALOG %s WITH ('type'='paimon', 'warehouse'=%s)", Identifier(name), Literal(warehouse)))
}

// CreateFlussCatalog makes a catalog over a Fluss cluster.
func (s *Session) CreateFlussCatalog(ctx context.Context, name, bootstrap string) error {
	return s.Exec(ctx, fmt.Sprintf("CREATE CATALOG %s WITH ('type'='fluss', 'bootstrap.servers'=%s)", Identifier(name), Literal(bootstrap)))
}

// Identifier quotes a name.
func Identifier(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Literal quotes a string.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Texts are the rows as text, a value as fmt.Sprint prints it and NULL for null.
func (r *Result) Texts() [][]string {
	out := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		for _, v := range row.Values {
			if v == nil {
				out[i] = append(out[i], "NULL")
			} else {
				out[i] = append(out[i], fmt.Sprint(v))
			}
		}
	}
	return out
}
