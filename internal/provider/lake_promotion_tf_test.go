package provider

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// These tests drive the real Terraform command over a fake cluster. They show
// the effects that the outcome table in terraform-behaviour relies on; what a
// promotion really does is tested on real servers.

const ordersBlock = `
resource "fluss_lake_promotion" "orders" {
  database = "sales"
  table    = "orders"
}
`

// dependent runs after the promotion and must not if that is unfinished.
const dependent = `
resource "terraform_data" "dependent" {
  input = fluss_lake_promotion.orders.operation_id
}
`

func orders(arguments string) string {
	return strings.Replace(ordersBlock, "}\n", arguments+"\n}\n", 1)
}

var ordersName = promotion.TableName{Database: "sales", Table: "orders"}

func TestTFInterruptedOnceResumes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		sig   syscall.Signal
		group bool
		run   string
	}{
		{"SIGINT", syscall.SIGINT, false, "wait"},
		{"SIGTERM", syscall.SIGTERM, false, "wait"},
		{"SIGTERM to the process group", syscall.SIGTERM, true, "wind-down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTerraformDir(t)
			d.write(t, providerBlock+ordersBlock+dependent)
			d.cluster.script(t, fakeScript{Run: c.run})
			out, code := d.interrupt(t, c.sig, c.group, "run sales.orders")
			if code != 1 {
				t.Errorf("exit code %d, want 1\n%s", code, out)
			}
			wantTexts(t, out, "Lake promotion interrupted: sales.orders", "at stage loading", "the next terraform apply goes on")
			if n := d.cluster.count("stopped sales.orders"); n != 1 {
				t.Errorf("the run wound down %d times, want 1", n)
			}
			o := d.wantStage(t, "orders", "loading")
			if o.Attributes["operation_id"] != "operation-1" || o.Attributes["source_snapshot_id"] != 7.0 {
				t.Errorf("state: %v", o.Attributes)
			}

			d.cluster.script(t, fakeScript{})
			plan := d.ok(t, "plan")
			wantTexts(t, plan, "fluss_lake_promotion.orders will be updated in-place", "Apply would: resume")
			if strings.Contains(plan, "1 to destroy") {
				t.Errorf("the plan destroys:\n%s", plan)
			}
			d.apply(t)
			d.wantStage(t, "orders", "enabled")
			if n := d.cluster.count("start sales.orders"); n != 1 {
				t.Errorf("%d operations were started, want 1", n)
			}
			if _, code := d.run(t, "plan", "-detailed-exitcode"); code != 0 {
				t.Errorf("the plan after it is not empty: exit code %d", code)
			}
		})
	}
}

// TestTFKilledTerraform: the provider winds down, ends, and the next apply goes
// on with what is in the cluster.
func TestTFKilledTerraform(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.cluster.script(t, fakeScript{Run: "wind-down"})
	d.interrupt(t, syscall.SIGKILL, false, "run sales.orders")
	var pid int
	for _, call := range d.cluster.calls() {
		fmt.Sscanf(call, "pid %d", &pid)
	}
	if pid == 0 {
		t.Fatalf("calls: %q", d.cluster.calls())
	}
	for end := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the provider, process %d, outlives Terraform", pid)
		}
	}
	if n := d.cluster.count("stopped sales.orders"); n != 1 {
		t.Errorf("the run wound down %d times, want 1", n)
	}
	if o := d.state(t, "orders"); o != nil {
		t.Errorf("in the state: %v", o)
	}

	d.cluster.script(t, fakeScript{})
	if err := os.Remove(filepath.Join(d.dir, ".terraform.tfstate.lock.info")); err != nil {
		t.Logf("no lock was left: %v", err)
	}
	d.apply(t)
	d.wantStage(t, "orders", "enabled")
	if n := d.cluster.count("start sales.orders"); n != 1 {
		t.Errorf("%d operations were started, want 1", n)
	}
}

func TestTFFailureLeavesNoState(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock+dependent)
	d.cluster.script(t, fakeScript{Run: "fail"})
	d.fails(t, []string{
		"Unable to create lake promotion", "key met twice in file data-1.parquet.",
		"Operation operation-1 stands at stage failed", "terraform import fluss_lake_promotion.NAME sales.orders",
	}, "apply", "-auto-approve")
	if o := d.state(t, "orders"); o != nil {
		t.Fatalf("in the state: %v", o)
	}
	out := d.ok(t, "plan")
	wantTexts(t, out, "2 to add, 0 to change, 0 to destroy")

	d.cluster.script(t, fakeScript{})
	d.apply(t)
	d.wantStage(t, "orders", "enabled")
	if n := d.cluster.count("start sales.orders"); n != 1 {
		t.Errorf("%d operations were started, want 1", n)
	}
}

func TestTFRefusedBeforeAnythingWasDone(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.cluster.script(t, fakeScript{Run: "refuse"})
	out := d.fails(t, []string{
		"Source can't be promoted", "merge-engine=aggregation", `table = "orders"`, "Neither the Paimon table nor a Fluss table was changed",
	}, "apply", "-auto-approve")
	if strings.Contains(out, "terraform import") {
		t.Errorf("an import line without an operation:\n%s", out)
	}
	if o := d.state(t, "orders"); o != nil {
		t.Fatalf("in the state: %v", o)
	}
}

func TestTFSuccessThatIsNone(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock+dependent)
	d.cluster.script(t, fakeScript{Run: "unsettled"})
	d.fails(t, []string{"ended without an error at stage loading"}, "apply", "-auto-approve")
	if o := d.state(t, "orders"); o != nil {
		t.Fatalf("in the state: %v", o)
	}
}

func TestTFTimeLimit(t *testing.T) {
	t.Parallel()
	t.Run("create", func(t *testing.T) {
		d := newTerraformDir(t)
		d.write(t, providerBlock+orders(`timeouts = { create = "1s" }`)+dependent)
		d.cluster.script(t, fakeScript{Run: "wait"})
		d.fails(t, []string{
			"Lake promotion did not finish in time", "time limit of 1s", "raise timeouts.create", "stands at stage loading",
		}, "apply", "-auto-approve")
		if o := d.state(t, "orders"); o != nil {
			t.Fatalf("in the state: %v", o)
		}
	})
	t.Run("update", func(t *testing.T) {
		d := newTerraformDir(t)
		d.write(t, providerBlock+ordersBlock)
		d.cluster.script(t, fakeScript{Run: "wait"})
		d.interrupt(t, syscall.SIGINT, false, "run sales.orders")
		d.write(t, providerBlock+orders(`timeouts = { update = "1s" }`))
		d.fails(t, []string{"did not finish in time", "raise timeouts.update", "goes on from where it stands"}, "apply", "-auto-approve")
		o := d.wantStage(t, "orders", "loading")
		if o.Attributes["timeouts"] != nil {
			t.Errorf("timeouts of a failed update were saved: %v", o.Attributes["timeouts"])
		}
	})
}

func TestTFUpdateFailureKeepsTheTrueStage(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.cluster.script(t, fakeScript{Run: "wait"})
	d.interrupt(t, syscall.SIGINT, false, "run sales.orders")
	d.cluster.script(t, fakeScript{Run: "fail"})
	d.fails(t, []string{"Unable to continue lake promotion", "key met twice"}, "apply", "-auto-approve")
	d.wantStage(t, "orders", "failed")
}

func TestTFSettingsChangeWithoutCalls(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.apply(t)
	all := []string{
		`timeouts = { create = "6h", delete = "10m" }`,
		`deletion_protection = false`,
		`allow_untiered_data_loss = true`,
		`load = { engine = "native", parallelism = 4, batch_bytes = 65536, max_in_flight = 2, spill_bytes = 1073741824 }`,
		`takeover = "resume"`,
		`on_source_change = "restart"`,
		`verification = "full"`,
		`unvalidated_properties = "deny"`,
		`acknowledged_properties = ["team.owner"]`,
		`prepare_source = true`,
	}
	for _, c := range []struct {
		name, arguments string
		protected       bool
	}{
		{"all set", strings.Join(all, "\n"), false},
		{"one changed", strings.Join(all[1:], "\n"), false},
		{"all left out", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.write(t, providerBlock+orders(c.arguments))
			d.cluster.forgetCalls(t)
			wantTexts(t, d.apply(t), "0 added, 1 changed, 0 destroyed")
			for _, call := range d.cluster.calls() {
				if !strings.HasPrefix(call, "configure") && !strings.HasPrefix(call, "observe") {
					t.Errorf("call %q", call)
				}
			}
			if out, code := d.run(t, "plan", "-detailed-exitcode"); code != 0 {
				t.Errorf("the plan after it is not empty: exit code %d\n%s", code, out)
			}
			o := d.wantStage(t, "orders", "enabled")
			if o.Attributes["rows_loaded"] != 1000.0 {
				t.Errorf("results were lost: %v", o.Attributes)
			}
			if o.Attributes["deletion_protection"] != c.protected {
				t.Errorf("deletion_protection is %v, want %v", o.Attributes["deletion_protection"], c.protected)
			}
		})
	}
}

func TestTFRefusedChanges(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.cluster.script(t, fakeScript{Partitioned: true})
	d.write(t, providerBlock+orders(`partitions = [{ dt = "2026-11-28" }]
  table_properties = { "table.datalake.freshness" = "1min" }`))
	d.apply(t)
	const base = `table_properties = { "table.datalake.freshness" = "1min" }
`
	for _, c := range []struct{ name, config, text string }{
		{"database", strings.Replace(orders(base), `"sales"`, `"archive"`, 1), "Lake promotion can't move to another table"},
		{"table", strings.Replace(orders(base), `= "orders"`, `= "orders2"`, 1), "lifecycle { destroy = false }"},
		{"partitions", orders(base + `partitions = [{ dt = "2026-11-28" }, { dt = "2026-11-29" }]`), "this release can't add or leave any later"},
		{"partitions left out", orders(base), "partitions is to change"},
		{"table_properties", orders(`partitions = [{ dt = "2026-11-28" }]
  table_properties = { "table.datalake.freshness" = "2min" }`), "this release doesn't alter them later"},
		{"lake_layout", orders(base + `partitions = [{ dt = "2026-11-28" }]
  lake_layout = "legacy"`), "lake_layout is to change from unset"},
		{"source_snapshot_id", orders(base + `partitions = [{ dt = "2026-11-28" }]
  source_snapshot_id = 8`), "source_snapshot_id is to change from 7 to 8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.write(t, providerBlock+c.config)
			d.fails(t, []string{c.text}, "plan")
		})
	}
	t.Run("the promoted snapshot as pin", func(t *testing.T) {
		d.write(t, providerBlock+orders(base+`partitions = [{ dt = "2026-11-28" }]
  source_snapshot_id = 7`))
		if out, code := d.run(t, "plan", "-detailed-exitcode"); code != 0 {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}

func TestTFGoneAndUnreadable(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.apply(t)

	d.cluster.script(t, fakeScript{ObserveError: "dial tcp: connection refused"})
	d.fails(t, []string{"Unable to read lake promotion", "connection refused", "is kept as it was"}, "plan")
	d.wantStage(t, "orders", "enabled")

	d.cluster.script(t, fakeScript{Warnings: promotion.Problems{{
		Severity: promotion.SeverityWarning, Attribute: []string{"partitions"}, Summary: "Partition is not initialized", Found: "dt=2026-11-30",
	}}})
	wantTexts(t, d.ok(t, "plan"), "Partition is not initialized", "dt=2026-11-30")

	d.cluster.script(t, fakeScript{})
	d.cluster.put(ordersName, nil)
	wantTexts(t, d.ok(t, "plan"), "Lake promotion is gone", "does not exist any more", "1 to add")
}

func TestTFDisabledIsDrift(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.apply(t)
	table := d.cluster.tables()["sales.orders"]
	table.Result.Stage = promotion.StageDisabled
	d.cluster.put(ordersName, &table)
	wantTexts(t, d.ok(t, "plan"), "will be updated in-place")
	d.apply(t)
	d.wantStage(t, "orders", "enabled")
}

func TestTFPanicIsAnError(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, `
provider "fluss" {
  bootstrap_servers = ["fluss.invalid:9123"]
  sasl = { username = "admin", password = "planted-secret" }
}
`+ordersBlock)
	d.cluster.script(t, fakeScript{Run: "panic"})
	out := d.fails(t, []string{"internal error: panic", "An operation may have begun", "terraform import"}, "apply", "-auto-approve")
	if strings.Contains(out, "planted-secret") {
		t.Errorf("a secret was printed:\n%s", out)
	}
}

// TestTFSecretsStayOut plants secrets in the configuration and in every text of
// the promoter, and looks for them wherever Terraform writes.
func TestTFSecretsStayOut(t *testing.T) {
	t.Parallel()
	const password, key = "planted-password", "planted-access-key"
	d := newTerraformDir(t)
	config := `
provider "fluss" {
  bootstrap_servers = ["fluss.invalid:9123"]
  sasl = { username = "admin", password = "` + password + `" }
  lake = { warehouse = "file:///lake", options = { "s3.access-key" = "` + key + `" } }
}
`
	log := filepath.Join(d.dir, "trace.log")
	d.env = append(d.env, "TF_LOG=TRACE", "TF_LOG_PATH="+log)
	d.write(t, config+ordersBlock)
	leak := "server said: " + password + " and " + key
	problem := promotion.Problem{Severity: promotion.SeverityError, Attribute: []string{"table"}, Summary: "Wrong " + key, Found: leak, Fix: leak}
	warning := problem
	warning.Severity = promotion.SeverityWarning

	var printed []string
	d.cluster.script(t, fakeScript{Problems: promotion.Problems{problem}})
	printed = append(printed, d.fails(t, []string{"server said: *** and ***"}, "plan"))
	d.cluster.script(t, fakeScript{PreviewError: leak})
	printed = append(printed, d.fails(t, []string{"server said: *** and ***"}, "plan"))
	d.cluster.script(t, fakeScript{Problems: promotion.Problems{warning}})
	printed = append(printed, d.apply(t))
	d.cluster.script(t, fakeScript{Warnings: promotion.Problems{warning}})
	printed = append(printed, d.ok(t, "plan"))
	d.cluster.script(t, fakeScript{ObserveError: leak})
	printed = append(printed, d.fails(t, []string{"server said: *** and ***"}, "plan"))
	d.cluster.script(t, fakeScript{RemoveError: leak})
	printed = append(printed, d.fails(t, []string{"server said: *** and ***"}, "destroy", "-auto-approve"))

	state, err := os.ReadFile(filepath.Join(d.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(trace), "lake promotion progress") {
		t.Error("the log lacks the progress of the promotion")
	}
	for where, text := range map[string]string{"output": strings.Join(printed, "\n"), "state": string(state), "log": string(trace)} {
		for _, secret := range []string{password, key} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s holds %s: …%s", where, secret, text[max(0, at-300):at+40])
			}
		}
	}
}
