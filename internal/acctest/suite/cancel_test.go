package suite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
)

// cancelled runs an apply, asks it to stop while it loads, and wants: the apply
// ends with an error that says so, nothing of the load counts, the next apply
// loads anew, and no Paimon file has changed.
func (e *env) cancelled(t *testing.T, ask func(db string)) {
	t.Helper()
	db := e.database(t)
	made := e.benchTable(t, db)
	before := inventory(t, e.tableDir(db, "big"))
	w := e.workspace(t, e.promotion(db, "big", ""))
	out, err := e.atLoad(t, w, db, func(int, int) { ask(db) })
	if err == nil || !strings.Contains(flatten(out), "The promotion was cancelled on request") {
		t.Fatalf("error %v, output:\n%s", err, out)
	}
	if w.state(address) != nil {
		t.Error("the cancelled create is in the state")
	}
	first := e.tableID(t, db, "big")
	if plan := flatten(w.must("plan")); !strings.Contains(plan, "will be dropped and loaded again") {
		t.Errorf("the plan does not say what apply will do:\n%s", plan)
	}
	w.apply()
	if got := w.state(address); got["stage"] != "enabled" || got["table_id"] == float64(first) {
		t.Errorf("stage %v, table ID %v, it was %d", got["stage"], got["table_id"], first)
	}
	e.whole(t, db, made)
	sameFiles(t, before, inventory(t, e.tableDir(db, "big")), "schema/schema-")
}

func TestPromotionctlCancel(t *testing.T) {
	e := need(t)
	ctl := func(args ...string) (string, error) {
		cmd := exec.CommandContext(timeout(t, time.Minute), filepath.Join(filepath.Dir(os.Getenv("FLUSS_TEST_PROVIDER")), "promotionctl"), args...)
		cmd.Env = append(os.Environ(), "FLUSS_BOOTSTRAP_SERVERS="+e.Bootstrap)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	want := func(out string, err error, code int, texts ...string) {
		t.Helper()
		got := 0
		if exit, ok := err.(*exec.ExitError); ok {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != code {
			t.Errorf("exit status %d, want %d:\n%s", got, code, out)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("the output lacks %q:\n%s", text, out)
			}
		}
	}
	var name string
	e.cancelled(t, func(db string) {
		name = db + ".big"
		out, err := ctl("status", name)
		want(out, err, 0, "stage        loading", "of at most ", "last worker")
		out, err = ctl("cancel", name, "-reason", "a test")
		want(out, err, 0, "stop requested", "cancelled by process", "nothing of operation")
		out, err = ctl("watch", name)
		want(out, err, 3, "cancelled by process", "is not complete")
		out, err = ctl("status", name)
		want(out, err, 0, "cancel-requested  (a test)", "cancelled")
	})
	out, err := ctl("watch", name)
	want(out, err, 0, "enabled")
	out, err = ctl("status", name, "-json")
	want(out, err, 0, `"stage": "enabled"`)
	out, err = ctl("cancel", name)
	want(out, err, 1, "The promotion is complete")
}

// The action, from a root module of its own while the apply holds its workspace.
func TestTF115CancelMidLoad(t *testing.T) {
	e := need(t)
	acctest.NeedTerraform(t, 14) // actions
	e.cancelled(t, func(db string) {
		w := e.workspace(t, fmt.Sprintf(`
action "fluss_lake_promotion_cancel" "stop" {
  config {
    database = %q
    table    = "big"
    reason   = "a test"
  }
}
`, db))
		out := flatten(w.must("apply", "-auto-approve", "-invoke=action.fluss_lake_promotion_cancel.stop"))
		for _, text := range []string{"Waiting for the end of operation", "Stopped: operation", "cancelled"} {
			if !strings.Contains(out, text) {
				t.Errorf("the output lacks %q:\n%s", text, out)
			}
		}
	})
}
