package flink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A gateway and a job manager in one server, for what real ones can't be made
// to do at a chosen moment: lost answers, proxies, slow statements, odd versions.
type fake struct {
	*httptest.Server
	mux *http.ServeMux
}

func newFake(t *testing.T, versions string) *fake {
	f := &fake{mux: http.NewServeMux()}
	f.Server = httptest.NewServer(f.mux)
	t.Cleanup(f.Close)
	if versions != "" {
		f.answer("GET /api_versions", `{"versions":[`+versions+`]}`)
		for _, v := range []string{"v1", "v2", "v3", "v4"} {
			f.answer("GET /"+v+"/info", `{"productName":"Apache Flink","version":"9.8.7"}`)
		}
	}
	return f
}

func (f *fake) answer(pattern, body string) {
	f.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
}

func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestVersionNegotiation(t *testing.T) {
	for _, c := range []struct{ offered, want string }{
		{`"V1","V2","V3"`, "v3"}, {`"V1","V2","V3","V4","V9"`, "v4"}, {`"V1"`, "v1"}, {`"v2"`, "v2"},
	} {
		g, err := Connect(short(t), newFake(t, c.offered).URL, Config{})
		if err != nil || g.APIVersion != c.want || g.Flink != "9.8.7" {
			t.Errorf("%s: %+v, %v; want %s", c.offered, g, err, c.want)
		}
	}
	_, err := Connect(short(t), newFake(t, `"V7"`).URL, Config{})
	if !errors.Is(err, ErrNotThisService) || !strings.Contains(err.Error(), "V7") {
		t.Errorf("only V7: %v", err)
	}
}

// What is not a gateway is called so, and what does not answer is called that.
func TestNotAGateway(t *testing.T) {
	web := func(f http.HandlerFunc) string {
		s := httptest.NewServer(f)
		t.Cleanup(s.Close)
		return s.URL
	}
	for name, url := range map[string]string{
		"a web page":     web(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }),
		"a login page":   web(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }),
		"not found page": web(func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }),
		"a job manager": web(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"errors":["Not found: /api_versions"]}`)
		}),
		"other JSON": web(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"versions":[],"productName":"x"}`) }),
	} {
		if _, err := Connect(short(t), url, Config{}); !errors.Is(err, ErrNotThisService) || errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	if _, err := Connect(short(t), closed.URL, Config{}); !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("a closed port: %v", err)
	}
	for _, bad := range []string{"", "localhost:8083", "ftp://x", "http://", "::"} {
		if _, err := Connect(short(t), bad, Config{}); err == nil || !strings.Contains(err.Error(), "http://host:port") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPasswordsAndSecretsStayOut(t *testing.T) {
	f := newFake(t, `"V2"`)
	f.mux.HandleFunc("POST /v2/sessions", func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != "me" || p != "pa ss" {
			t.Errorf("user %q, password %q", u, p)
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"errors":["java.lang.RuntimeException: cannot use hunter2 nor pa ss"]}`)
	})
	url := strings.Replace(f.URL, "http://", "http://me:pa%20ss@", 1)
	g, err := Connect(short(t), url, Config{Secrets: []string{"hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Open(short(t), nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "pa ss") || !strings.Contains(err.Error(), "cannot use *** nor ***") {
		t.Errorf("error %v", err)
	}
	f.Close()
	if _, err = g.Open(short(t), nil); err == nil || strings.Contains(err.Error(), "pa%20ss") || strings.Contains(err.Error(), "me:") {
		t.Errorf("error %v", err)
	}
}

// statements serves the operations of one session; each result is a handler.
func (f *fake) statements(t *testing.T, results map[string]http.HandlerFunc) *Session {
	f.answer("POST /v2/sessions", `{"sessionHandle":"s"}`)
	f.answer("DELETE /v2/sessions/s", `{"status":"CLOSED"}`)
	f.mux.HandleFunc("POST /v2/sessions/s/statements", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Statement string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"operationHandle":%q}`, in.Statement)
	})
	for op, h := range results {
		f.mux.HandleFunc("GET /v2/sessions/s/operations/"+op+"/result/{token}", h)
		f.answer("DELETE /v2/sessions/s/operations/"+op+"/close", `{"status":"CLOSED"}`)
	}
	g, err := Connect(short(t), f.URL, Config{Heartbeat: 20 * time.Millisecond, CallTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Open(short(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func next(op string, n int) string {
	return fmt.Sprintf("/v2/sessions/s/operations/%s/result/%d?rowFormat=JSON", op, n)
}

func TestPagesRetriesAndHeartbeat(t *testing.T) {
	f := newFake(t, `"V2"`)
	var asked, beats atomic.Int32
	f.mux.HandleFunc("POST /v2/sessions/s/heartbeat", func(w http.ResponseWriter, _ *http.Request) { beats.Add(1); fmt.Fprint(w, `{}`) })
	s := f.statements(t, map[string]http.HandlerFunc{"pages": func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		switch token := r.PathValue("token"); {
		case n == 1:
			fmt.Fprintf(w, `{"resultType":"NOT_READY","nextResultUri":%q}`, next("pages", 0))
		case n == 2: // a proxy between
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>bad gateway</html>")
		case token == "0":
			fmt.Fprintf(w, `{"resultType":"PAYLOAD","jobID":"j","nextResultUri":%q,"results":{"columns":[{"name":"n"}],"data":[{"kind":"INSERT","fields":[9223372036854775807]}]}}`, next("pages", 1))
		case token == "1":
			fmt.Fprint(w, `{"resultType":"EOS","results":{"data":[{"fields":[null]}]}}`)
		}
	}})
	r, err := s.Query(short(t), "read", "pages")
	if err != nil || r.JobID != "j" || len(r.Rows) != 2 || r.Text(0, 0) != "9223372036854775807" || r.Text(1, 0) != "" || r.Text(7, 7) != "" || r.Columns[0] != "n" {
		t.Errorf("result %+v, %v", r, err)
	}
	for beats.Load() == 0 && short(t).Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	if err := s.Close(short(t)); err != nil {
		t.Error(err)
	}
	n := beats.Load()
	time.Sleep(60 * time.Millisecond)
	if beats.Load() != n {
		t.Error("heartbeats go on after the session was closed")
	}
}

// A statement is never sent twice, and a lost answer to it is called unknown.
func TestLostAnswers(t *testing.T) {
	f := newFake(t, `"V2"`)
	hang := func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			c.Close()
		}
	}
	var sent atomic.Int32
	s := f.statements(t, map[string]http.HandlerFunc{"lost": hang, "gone": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		data, err := os.ReadFile(filepath.Join("testdata", "traces", "session-lost.txt"))
		if err != nil {
			t.Error(err)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"errors": []string{string(data)}}); err != nil {
			t.Error(err)
		}
	}, "nojob": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"resultType":"EOS","results":{"data":[{"fields":["OK"]}]}}`)
	}})
	for _, op := range []string{"lost", "gone", "nojob"} {
		if _, err := s.Submit(short(t), "submit", op); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("%s: %v", op, err)
		}
	}
	f2 := newFake(t, `"V2"`)
	f2.answer("POST /v2/sessions", `{"sessionHandle":"s"}`)
	f2.answer("DELETE /v2/sessions/s", `{}`)
	f2.mux.HandleFunc("POST /v2/sessions/s/statements", func(w http.ResponseWriter, r *http.Request) { sent.Add(1); hang(w, r) })
	g, err := Connect(short(t), f2.URL, Config{})
	if err != nil {
		t.Fatal(err)
	}
	s2, err := g.Open(short(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s2.Submit(short(t), "submit", "INSERT"); !errors.Is(err, ErrUnknownOutcome) || sent.Load() != 1 {
		t.Errorf("sent %d times: %v", sent.Load(), err)
	}
}

// A caller who stops waits less than a second, and the statement is cancelled.
func TestCancelWhileWaiting(t *testing.T) {
	f := newFake(t, `"V2"`)
	cancelled := make(chan struct{}, 1)
	f.mux.HandleFunc("POST /v2/sessions/s/operations/never/cancel", func(w http.ResponseWriter, _ *http.Request) { cancelled <- struct{}{}; fmt.Fprint(w, `{}`) })
	closed := make(chan struct{}, 1)
	f.mux.HandleFunc("DELETE /v2/sessions/s/", func(w http.ResponseWriter, _ *http.Request) { closed <- struct{}{}; fmt.Fprint(w, `{}`) })
	s := f.statements(t, map[string]http.HandlerFunc{"never": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"resultType":"NOT_READY","nextResultUri":%q}`, next("never", 0))
	}})
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	began := time.Now()
	_, err := s.Query(ctx, "wait", "never")
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("error %v", err)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("took %s", d)
	}
	<-cancelled
}

// jobs serves one job whose answers change from call to call.
func (f *fake) job(id string, states ...string) {
	var n atomic.Int32
	f.mux.HandleFunc("GET /jobs/"+id, func(w http.ResponseWriter, _ *http.Request) {
		state := states[min(int(n.Add(1)), len(states))-1]
		switch state {
		case "404":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"errors":["org.apache.flink.runtime.rest.NotFoundException: Job not found"]}`)
		case "503":
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"errors":["Service temporarily unavailable due to an ongoing leader election. Please refresh."]}`)
		default:
			fmt.Fprintf(w, `{"jid":%q,"name":"n","state":%q,"start-time":5,"end-time":-1,"vertices":[{"id":"v"}]}`, id, state)
		}
	})
	f.answer("GET /jobs/"+id+"/vertices/v", `{"subtasks":[{"subtask":0,"attempt":0}]}`)
	f.answer("GET /jobs/"+id+"/exceptions", `{"root-exception":null,"exceptionHistory":{"entries":[]}}`)
}

func TestAwait(t *testing.T) {
	f := newFake(t, "")
	f.job("restarts", "INITIALIZING", "RUNNING", "503", "503", "FAILING", "RESTARTING", "404", "SUSPENDED", "RECONCILING", "RUNNING", "FINISHED")
	f.job("lost", "RUNNING", "404")
	f.job("moved", "404")
	past := newFake(t, "")
	past.job("moved", "FAILED")
	j, err := NewJobs(f.URL, past.URL, Config{})
	if err != nil {
		t.Fatal(err)
	}
	j.Poll, j.Patience = time.Millisecond, 300*time.Millisecond
	var seen []string
	job, err := j.Await(short(t), "restarts", func(j Job) { seen = append(seen, string(j.State)) })
	if err != nil || job.State != StateFinished || strings.Join(seen, " ") != "INITIALIZING RUNNING FAILING RESTARTING SUSPENDED RECONCILING RUNNING FINISHED" {
		t.Errorf("%+v, %v, saw %v", job, err, seen)
	}
	if job, err := j.Await(short(t), "lost", nil); !errors.Is(err, ErrJobNotFound) || job.State.Terminal() {
		t.Errorf("a job that nobody knows any more: %+v, %v", job, err)
	}
	if job, err := j.Await(short(t), "moved", nil); err != nil || job.State != StateFailed || job.Source != "history server" {
		t.Errorf("a job only the history server knows: %+v, %v", job, err)
	}
	f.Close()
	if job, err := j.Await(short(t), "moved", nil); err != nil || job.State != StateFailed {
		t.Errorf("the job manager is gone: %+v, %v", job, err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	j.Patience = time.Hour
	if _, err := j.Await(ctx, "lost", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestNotAJobManager(t *testing.T) {
	f := newFake(t, `"V2"`)
	f.answer("GET /overview", `{}`)
	j, err := NewJobs(f.URL, "", Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Cluster(short(t)); !errors.Is(err, ErrNotThisService) {
		t.Errorf("error %v", err)
	}
	if _, err := NewJobs("x", "", Config{}); err == nil {
		t.Error("an address without a scheme went through")
	}
	if _, err := NewJobs(f.URL, "x", Config{}); err == nil {
		t.Error("a history address without a scheme went through")
	}
}
