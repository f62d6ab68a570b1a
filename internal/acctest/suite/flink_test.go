package suite

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
)

// flinkProvider is a provider block with the stack's Flink, and more.
func (e *env) flinkProvider(more string) string {
	return fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n  flink = { sql_gateway_url = %q, history_server_url = %q }\n%s}\n",
		e.Bootstrap, e.GatewayURL, e.HistoryURL, more)
}

// byFlink has a promotion loaded by Flink, by a job that outlives the loss of a
// task manager.
const byFlink = "  load = {\n    engine = \"flink\"\n    flink = { settings = { \"restart-strategy.type\" = \"fixed-delay\", \"restart-strategy.fixed-delay.attempts\" = \"50\" } }\n  }\n"

// jobsOf are the Flink jobs of an operation, newest first.
func (e *env) jobsOf(t *testing.T, operation any) []flink.Job {
	t.Helper()
	jobs, err := flink.NewJobs(e.FlinkRest, e.HistoryURL, flink.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.Close()
	list, err := jobs.Named(timeout(t, 30*time.Second), fmt.Sprintf("fluss-promotion-%v", operation))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// oneJob fails unless exactly one job loaded the promotion, has finished, and is
// the one in the state.
func (e *env) oneJob(t *testing.T, state map[string]any) {
	t.Helper()
	list := e.jobsOf(t, state["operation_id"])
	if len(list) != 1 || list[0].ID != state["load_job_id"] || list[0].State != flink.StateFinished {
		t.Errorf("load_job_id %v, jobs of the operation: %+v", state["load_job_id"], list)
	}
	if state["bytes_loaded"] != nil {
		t.Errorf("bytes_loaded %v; a job does not tell it", state["bytes_loaded"])
	}
}

// Selected partitions of a key table are loaded by a job of Flink, logged in
// with a password; no secret is anywhere.
func TestFlinkPromotesSelectedPartitions(t *testing.T) {
	e := need(t)
	db := e.database(t)
	users := e.Users()
	if len(users) == 0 {
		t.Fatal("found a stack without users; required: one, for a login with SASL")
	}
	user := slices.Sorted(maps.Keys(users))[0]
	secrets := []string{users[user], "planted-access-key", "planted-'secret'-key"}
	e.orders(t, db, "events", "id BIGINT, dt STRING", "dt, id", "PARTITIONED BY (dt) WITH ('bucket'='2')")
	tbl := fmt.Sprintf("lake.`%s`.events", db)
	e.exec(t, fmt.Sprintf("INSERT INTO %s (id, name, amount, n, ts, d, ltz, flag, dt) SELECT %s, '2024-01-0' || CAST(1 + MOD(id, 3) AS STRING) "+
		"FROM default_catalog.default_database.numbers WHERE id <= 600", tbl, ordersSelect),
		fmt.Sprintf("DELETE FROM %s WHERE dt = '2024-01-02' AND id > 450", tbl))
	cols := append(columns("dt"), ordersColumns...)
	before := inventory(t, e.tableDir(db, "events"))
	selected := e.lakeRows(t, db, "events", cols, "WHERE dt <> '2024-01-03'")

	w := newWorkspace(t, fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n  flink = { sql_gateway_url = %q }\n"+
		"  sasl = { username = %q, password = %q }\n  lake = { warehouse = %q, options = { \"s3.access-key\" = %q, \"s3.secret-key\" = %q } }\n}\n",
		e.SASLBootstrap, e.GatewayURL, user, secrets[0], e.Warehouse, secrets[1], secrets[2])+
		e.promotion(db, "events", byFlink+"  verification = \"full\"\n  partitions = [{ dt = \"2024-01-01\" }, { dt = \"2024-01-02\" }]\n"))
	trace := filepath.Join(w.dir, "trace.log")
	w.env = append(w.env, "TF_LOG=TRACE", "TF_LOG_PATH="+trace)
	w.env = slices.DeleteFunc(w.env, func(s string) bool { return strings.HasPrefix(s, "TF_LOG_PROVIDER=") })
	printed := w.must("plan")
	sameFiles(t, before, inventory(t, e.tableDir(db, "events"))) // a plan writes nothing
	printed += w.apply()
	state := w.state(address)
	if state["stage"] != "enabled" || state["rows_loaded"] != float64(len(selected)) || text(state["initialized_partitions"]) != `[{"dt":"2024-01-01"},{"dt":"2024-01-02"}]` {
		t.Fatalf("stage %v, rows_loaded %v of %d, partitions %s", state["stage"], state["rows_loaded"], len(selected), text(state["initialized_partitions"]))
	}
	e.oneJob(t, state)
	sameFiles(t, before, inventory(t, e.tableDir(db, "events")), "schema/schema-")
	e.compareLookups(t, db, "events", []string{"dt", "id"}, selected)
	if sum := e.registered(t, db, "events", state, 4); sum != int64(len(selected)) {
		t.Errorf("registered offsets add up to %d, %d rows were loaded", sum, len(selected))
	}
	printed += w.must("plan", "-detailed-exitcode")

	texts := map[string]string{"output": printed, "state": text(state)}
	for name, path := range map[string]string{"trace": trace, "state file": filepath.Join(w.dir, "terraform.tfstate")} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	if !strings.Contains(texts["trace"], "lake promotion progress") && !strings.Contains(texts["trace"], "terraform-provider-fluss") {
		t.Error("the trace has nothing of the provider")
	}
	journal, err := e.py(t).Log(timeout(t, time.Minute), e.fluss("promotion", "journal"))
	if err != nil {
		t.Fatal(err)
	}
	texts["journal"] = text(journal)
	if !strings.Contains(texts["journal"], "job-submitted") {
		t.Error("the journal has no submitted job")
	}
	logs, err := e.FlinkLogs()
	if err != nil {
		t.Fatal(err)
	}
	for process, log := range logs { // a Fluss server's has its own settings, the users' passwords too
		texts["log of "+process] = log
	}
	for where, text := range texts {
		for _, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s holds %s: …%s", where, secret, text[max(0, at-300):at+40])
			}
		}
	}
}

// The provider is killed while the job writes, and the next apply, which has
// attached to the job, is ended by its time limit: the job goes on, and a third
// apply ends the promotion. One job has loaded everything.
func TestFlinkJobOutlivesApply(t *testing.T) {
	e := need(t)
	db := e.database(t)
	made := e.benchTable(t, db)
	before := inventory(t, e.tableDir(db, "big"))
	w := newWorkspace(t, e.flinkProvider("")+e.promotion(db, "big", byFlink))
	paused := false
	resume := func() {
		if paused {
			if err := e.Resume("flink-taskmanager"); err != nil {
				t.Error(err)
			}
		}
		paused = false
	}
	defer resume()
	if out, err := e.atLoad(t, w, db, func(_, provider int) {
		// So that the job does not end meanwhile.
		if err := e.Pause("flink-taskmanager"); err != nil {
			t.Fatal(err)
		}
		paused = true
		if err := syscall.Kill(provider, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}); err == nil {
		t.Fatalf("apply succeeded although its provider was killed:\n%s", out)
	}

	w.config(e.flinkProvider("") + e.promotion(db, "big", byFlink+"  timeouts = { create = \"8s\" }\n"))
	w.fails([]string{"apply", "-auto-approve"}, "stage loading", "apply attaches to it", "timeouts.create", "goes on without this process", "terraform import")
	if w.state(address) != nil {
		t.Error("the timed-out create is in the state")
	}
	resume()

	w.config(e.flinkProvider("") + e.promotion(db, "big", byFlink))
	w.apply()
	state := w.state(address)
	if state["stage"] != "enabled" || state["rows_loaded"] != float64(made.Rows) {
		t.Fatalf("stage %v, rows_loaded %v of %d", state["stage"], state["rows_loaded"], made.Rows)
	}
	e.oneJob(t, state)
	sameFiles(t, before, inventory(t, e.tableDir(db, "big")), "schema/schema-")
	e.whole(t, db, made)
	w.must("plan", "-detailed-exitcode")
}

// What is wrong with Flink is said by the plan and by the apply, and nothing is
// changed.
func TestFlinkRefused(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.smallTable(t, db, "t")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	block := func(gateway string) string {
		return fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n  flink = { sql_gateway_url = %q }\n}\n", e.Bootstrap, gateway)
	}
	plain := fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n}\n", e.Bootstrap)
	named := func(which, name string) string {
		return fmt.Sprintf("  load = {\n    engine = \"flink\"\n    flink = { %s = %q }\n  }\n", which, name)
	}
	for name, c := range map[string]struct {
		provider, load string
		want           []string
	}{
		"no flink":        {plain, byFlink, []string{"No Flink is configured", "sql_gateway_url"}},
		"gateway down":    {block(closed), byFlink, []string{"Unable to use the Flink SQL Gateway", "no answer", closed}},
		"not a gateway":   {block(e.FlinkRest), byFlink, []string{"Unable to use the Flink SQL Gateway", "knows no /api_versions", "port 8083"}},
		"no such catalog": {e.flinkProvider(""), named("paimon_catalog", "nowhere"), []string{"Flink cannot use the Paimon catalog", "nowhere"}},
		"wrong catalog":   {e.flinkProvider(""), named("fluss_catalog", "default_catalog"), []string{"Flink cannot use the Fluss catalog", "default_catalog"}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			w := newWorkspace(t, c.provider+e.promotion(db, "t", c.load))
			e.unchanged(t, db, "t", func() {
				out := w.fails([]string{"plan"}, c.want...) + w.fails([]string{"apply", "-auto-approve"}, c.want...)
				if strings.Contains(out, "org.apache.") || strings.Contains(out, "\tat ") {
					t.Errorf("Java shows through:\n%s", out)
				}
			})
		})
	}
}
