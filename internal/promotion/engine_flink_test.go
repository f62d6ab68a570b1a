package promotion

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// fakeGateway is a SQL gateway of a Flink that no test starts.
func fakeGateway(t *testing.T, answers map[string]string) *Service {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, body := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	svc, err := New(Config{Bootstrap: []string{"fluss.invalid:9123"}, Flink: &Flink{GatewayURL: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

func TestOldFlink(t *testing.T) {
	for version, tooOld := range map[string]bool{"1.17.2": true, "1.9.3": true, "0.10": true, "": true, "snapshot": true, "1.18.0": false, "1.20.3": false, "2.0-SNAPSHOT": false} {
		svc := fakeGateway(t, map[string]string{
			"GET /api_versions": `{"versions":["V1","V2"]}`, "GET /v2/info": fmt.Sprintf(`{"productName":"Apache Flink","version":%q}`, version),
		})
		g, err := svc.gateway(t.Context())
		if got := err != nil && strings.Contains(err.Error(), "The Flink version is too old"); got != tooOld || !tooOld && err != nil {
			t.Errorf("Flink %q: %v; too old %t", version, err, tooOld)
		}
		if err == nil {
			g.Close()
		}
	}
}

// A gateway that submits somewhere it does not name needs rest_url.
func TestJobManagerNotNamed(t *testing.T) {
	svc := fakeGateway(t, map[string]string{
		"GET /api_versions": `{"versions":["V2"]}`, "GET /v2/info": `{"productName":"Apache Flink","version":"1.20.3"}`,
		"POST /v2/sessions": `{"sessionHandle":"s"}`, "DELETE /v2/sessions/s": `{"status":"CLOSED"}`,
		"GET /v2/sessions/s": `{"properties":{"execution.target":"kubernetes-session"}}`,
	})
	_, err := svc.openFlink(t.Context(), nil)
	for _, want := range []string{"The address of Flink's job manager is not known", `"kubernetes-session"`, "flink.rest_url"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

// A value cannot leave its literal, nor a column's name its quotation marks.
func TestSelectionIsQuoted(t *testing.T) {
	schema := &paimon.Schema{
		Fields: []paimon.Field{
			{Name: "a`b", Type: paimon.DataType{Kind: paimon.VarChar, Length: 5}},
			{Name: "ts", Type: paimon.DataType{Kind: paimon.Timestamp, Precision: 3}},
		},
		PartitionKeys: []string{"a`b", "ts"},
	}
	const text = "x' OR 1=1 --"
	partition := func(selected bool) JudgedPartition {
		return JudgedPartition{Selected: selected, Spec: map[string]string{"a`b": "not this", "ts": text}, FlussSpec: map[string]string{"a`b": text, "ts": "not this"}}
	}
	e := &flinkEngine{r: &run{src: &source{schema: schema}, jdg: &Judgement{Partitions: []JudgedPartition{partition(true), partition(false), partition(true)}}}}
	want := func(what string, want ...string) {
		t.Helper()
		if got, err := e.wheres(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	want("without a selection", "")
	e.r.spec.Partitions = []map[string]string{{}}
	const one = "(`a``b` = CAST('x'' OR 1=1 --' AS STRING) AND `ts` = CAST('x'' OR 1=1 --' AS TIMESTAMP(3)))"
	want("two", " WHERE "+one+" OR "+one)
	e.r.jdg.Partitions = nil
	want("nothing", " WHERE FALSE")
	for range partitionsPerSelect + 1 {
		e.r.jdg.Partitions = append(e.r.jdg.Partitions, partition(true))
	}
	want("many", " WHERE "+strings.Repeat(one+" OR ", partitionsPerSelect-1)+one, " WHERE "+one)
}
