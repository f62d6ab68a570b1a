package flinksql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

const trace = `<Exception on server side:
org.apache.flink.table.gateway.api.utils.SqlGatewayException: Failed to fetchResults.
	at org.apache.flink.table.gateway.rest.handler.Some.handle(Some.java:1)
	at java.base/java.lang.Thread.run(Thread.java:840)
Caused by: org.apache.flink.table.api.ValidationException: SQL validation failed. Column 'nope' not found
	at org.apache.flink.Some.validate(Some.java:2)
	... 7 more
Caused by: org.apache.calcite.runtime.CalciteException: Column 'nope' not found
Was expecting one of:
    "a" ...
	at org.apache.calcite.Some.find(Some.java:3)
	... 9 more

End of exception on server side>`

func TestCauses(t *testing.T) {
	want := []string{
		"org.apache.flink.table.gateway.api.utils.SqlGatewayException: Failed to fetchResults.",
		"org.apache.flink.table.api.ValidationException: SQL validation failed. Column 'nope' not found",
		"org.apache.calcite.runtime.CalciteException: Column 'nope' not found\nWas expecting one of:\n\"a\" ...",
	}
	got := causes("Internal server error.\n" + trace)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("causes %q\nwant %q", got, want)
	}
	text := (&Error{Statement: "SELECT  nope\nFROM t", Causes: got}).Error()
	if want := "flinksql: SELECT nope FROM t: org.apache.flink.table.api.ValidationException: SQL validation failed. Column 'nope' not found; caused by org.apache.calcite.runtime.CalciteException: Column 'nope' not found"; text != want {
		t.Errorf("error %q\nwant %q", text, want)
	}
	for _, plain := range []string{"", "no trace at all", "at the start"} {
		if got := causes(plain); len(got) != 1 {
			t.Errorf("causes of %q: %q", plain, got)
		}
	}
}

func TestQuoting(t *testing.T) {
	if got := Identifier("a`b"); got != "`a``b`" {
		t.Errorf("identifier %s", got)
	}
	if got := Literal("it's"); got != "'it''s'" {
		t.Errorf("literal %s", got)
	}
}

func TestTypeText(t *testing.T) {
	for want, in := range map[string]string{
		"INTEGER NOT NULL": `{"type":"INTEGER","nullable":false}`,
		"DECIMAL(10, 2)":   `{"type":"DECIMAL","nullable":true,"precision":10,"scale":2}`,
		"VARCHAR(7)":       `{"type":"VARCHAR","nullable":true,"length":7}`,
		"plain":            `"plain"`,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if got := typeText(v); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// A gateway that is slow, pages its results, and never finishes one statement:
// what a real one cannot be made to do at a chosen moment.
func slowGateway(t *testing.T, cancelled chan<- struct{}) *httptest.Server {
	mux := http.NewServeMux()
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	answer("POST /v2/sessions", `{"sessionHandle":"s"}`)
	mux.HandleFunc("POST /v2/sessions/s/statements", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Statement string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"operationHandle":%q}`, strings.Fields(in.Statement)[0])
	})
	result := "GET /v2/sessions/s/operations/"
	answer(result+"pages/result/0", `{"resultType":"NOT_READY","nextResultUri":"/v2/sessions/s/operations/pages/result/1"}`)
	answer(result+"pages/result/1", `{"resultType":"PAYLOAD","jobID":"j","nextResultUri":"/v2/sessions/s/operations/pages/result/2",
		"results":{"columns":[{"name":"n","logicalType":{"type":"BIGINT"}}],"data":[{"kind":"INSERT","fields":[9223372036854775807]}]}}`)
	answer(result+"pages/result/2", `{"resultType":"EOS","results":{"data":[{"kind":"INSERT","fields":[null]}]}}`)
	answer(result+"never/result/0", `{"resultType":"NOT_READY","nextResultUri":"/v2/sessions/s/operations/never/result/0"}`)
	answer("DELETE /v2/sessions/s/operations/pages/close", `{"status":"CLOSED"}`)
	answer("DELETE /v2/sessions/s", `{"status":"CLOSED"}`)
	mux.HandleFunc("POST /v2/sessions/s/operations/never/cancel", func(w http.ResponseWriter, _ *http.Request) {
		close(cancelled)
		fmt.Fprint(w, `{"status":"CANCELED"}`)
	})
	mux.HandleFunc(result+"broken/result/0", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		data, err := json.Marshal(map[string]any{"errors": []string{"Internal server error.", trace}})
		if err != nil {
			t.Error(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func TestPagesErrorsAndCancel(t *testing.T) {
	cancelled := make(chan struct{})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	s, err := Open(ctx, slowGateway(t, cancelled).URL+"/", map[string]string{"k": "v"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Query(ctx, "pages")
	want := &Result{JobID: "j", Columns: []Column{{"n", "BIGINT"}}, Rows: []Row{
		{"INSERT", []any{json.Number("9223372036854775807")}}, {"INSERT", []any{nil}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("result %+v, %v\nwant %+v", got, err, want)
	}
	if texts := got.Texts(); !reflect.DeepEqual(texts, [][]string{{"9223372036854775807"}, {"NULL"}}) {
		t.Errorf("texts %v", texts)
	}
	_, err = s.Query(ctx, "broken")
	var failed *Error
	if !errors.As(err, &failed) || !strings.HasPrefix(failed.Root(), "org.apache.calcite.runtime.CalciteException: Column 'nope' not found") {
		t.Errorf("error %v", err)
	}
	short, end := context.WithTimeout(ctx, 200*time.Millisecond)
	defer end()
	if _, err := s.Query(short, "never"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a statement that never ends: %v", err)
	}
	select {
	case <-cancelled:
	case <-ctx.Done():
		t.Error("the statement was not cancelled")
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}
