package suite

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// leastBlock names a promotion's table and nothing else.
func leastBlock(db, table, more string) string {
	return fmt.Sprintf("resource \"fluss_lake_promotion\" \"t\" {\n  database = %q\n  table = %q\n%s}\n", db, table, more)
}

func (e *env) noTable(t *testing.T, db, table string) {
	t.Helper()
	c, err := fluss.Connect(timeout(t, 20*time.Second), fluss.Config{Bootstrap: []string{e.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exists, err := c.TableExists(timeout(t, 20*time.Second), fluss.TablePath{Database: db, Table: table})
	if err != nil || exists {
		t.Errorf("%s.%s is still in Fluss: %v", db, table, err)
	}
}

// The recovery guide's way to remove what a killed apply has left: import into a
// block that names the table, then destroy; also when the source is gone.
func TestRecoverByImportAndDestroy(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(map[bool]string{false: "source there", true: "source gone"}[lost], func(t *testing.T) {
			e := need(t)
			db := e.database(t)
			e.benchTable(t, db)
			out, err := e.atLoad(t, e.workspace(t, e.promotion(db, "big", "")), db, func(_, provider int) {
				if err := syscall.Kill(provider, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			})
			if err == nil {
				t.Fatalf("apply succeeded although its provider was killed:\n%s", out)
			}
			before := inventory(t, e.tableDir(db, "big"))
			w := e.workspace(t, leastBlock(db, "big", ""))
			w.must("import", address, db+".big")
			if lost {
				if err := os.RemoveAll(e.tableDir(db, "big")); err != nil {
					t.Fatal(err)
				}
				if plan := flatten(w.must("plan")); !strings.Contains(plan, "Lake promotion can't go on: "+db+".big") || !strings.Contains(plan, "The Paimon table does not exist") {
					t.Errorf("the plan does not say that it can't go on:\n%s", plan)
				}
				w.fails([]string{"apply", "-auto-approve"}, "The Paimon table does not exist")
			}
			w.must("destroy", "-auto-approve", "-target="+address)
			e.noTable(t, db, "big")
			if w.state(address) != nil {
				t.Error("it is still in the state")
			}
			if !lost {
				sameFiles(t, before, inventory(t, e.tableDir(db, "big")))
			}
		})
	}
}

// An enabled promotion that is imported into the least block has an empty plan,
// and is destroyed once it is no longer protected.
func TestRecoverEnabledByImportAndDestroy(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.smallTable(t, db, "small")
	e.workspace(t, e.promotion(db, "small", "")).apply()
	w := e.workspace(t, leastBlock(db, "small", ""))
	w.must("import", address, db+".small")
	w.must("plan", "-detailed-exitcode") // exit code 2 would be a change
	w.fails([]string{"destroy", "-auto-approve"}, "The promotion is protected against deletion")
	w.config(fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n}\n", e.Bootstrap) + leastBlock(db, "small", "  deletion_protection = false\n"))
	w.apply()
	w.must("plan", "-detailed-exitcode")
	w.must("destroy", "-auto-approve")
	e.noTable(t, db, "small")
}

// The compatibility data source as a gate and as the source of a pin: the same
// configuration is right before the promotion, after it, and when the tiering
// service has moved the lake on.
func TestCompatibilityBeforeAndAfterThePromotion(t *testing.T) {
	e := need(t)
	db := e.database(t)
	e.smallTable(t, db, "small")
	data := fmt.Sprintf("data \"fluss_lake_compatibility\" \"t\" {\n  database = %q\n  table = %q\n  prepare_source = true\n%s"+
		"  lifecycle {\n    postcondition {\n      condition = self.compatible\n      error_message = jsonencode(self.errors)\n    }\n  }\n}\n"+
		"output \"pin\" { value = \"pin ${data.fluss_lake_compatibility.t.pin_snapshot_id}\" }\n", db, "small", e.layout())
	w := e.workspace(t, data+e.promotion(db, "small", "  source_snapshot_id = data.fluss_lake_compatibility.t.pin_snapshot_id"))
	w.apply()
	state := w.state(address)
	pinned := state["source_snapshot_id"].(float64)
	w.must("plan", "-detailed-exitcode")
	e.exec(t, fmt.Sprintf("INSERT INTO fluss.`%s`.small VALUES (1001, 'new')", db))
	e.tiered(t, db, "small", pinned, func() bool { return true })
	w.must("plan", "-detailed-exitcode")
	if out := w.must("output", "pin"); !strings.Contains(out, fmt.Sprintf("pin %.0f", pinned)) {
		t.Errorf("the pin has moved from %.0f: %s", pinned, out)
	}
}
