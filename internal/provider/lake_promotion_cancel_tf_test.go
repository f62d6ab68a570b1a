package provider

import (
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// The action against each thing that it can find, from a root module of its own.
func TestTF115CancelAction(t *testing.T) {
	t.Parallel()
	acctest.NeedTerraform(t, 14) // actions
	const invoke = "-invoke=action.fluss_lake_promotion_cancel.stop"
	block := func(more string) string {
		return providerBlock + `
action "fluss_lake_promotion_cancel" "stop" {
  config {
    database = "sales"
    table    = "orders"
` + more + `
  }
}
`
	}
	loading := func(d *terraformDir, stage promotion.Stage) {
		d.cluster.put(ordersName, &fakeTable{Result: promotion.Result{ClusterID: "cluster-1", OperationID: "operation-1", Stage: stage, TableID: 11}})
	}
	t.Run("running", func(t *testing.T) {
		d := newTerraformDir(t)
		loading(d, promotion.StageLoading)
		d.write(t, block(`reason = "maintenance window is over"`))
		wantTexts(t, d.ok(t, "apply", "-auto-approve", invoke), "Waiting for the end of operation operation-1", "Stopped: operation operation-1", "cancelled")
		if n := d.cluster.count("cancel sales.orders maintenance window is over"); n != 1 {
			t.Errorf("asked %d times: %v", n, d.cluster.calls())
		}
	})
	t.Run("over already", func(t *testing.T) {
		d := newTerraformDir(t)
		loading(d, promotion.StageFailed)
		d.write(t, block(""))
		wantTexts(t, d.ok(t, "apply", "-auto-approve", invoke), "Nothing is running: operation operation-1, stage failed")
	})
	t.Run("no promotion", func(t *testing.T) {
		d := newTerraformDir(t)
		d.write(t, block(""))
		d.fails(t, []string{"Unable to cancel the promotion", "sales.orders"}, "apply", "-auto-approve", invoke)
	})
	t.Run("its end is not seen in time", func(t *testing.T) {
		d := newTerraformDir(t)
		loading(d, promotion.StageLoading)
		d.cluster.script(t, fakeScript{Run: "wait"})
		d.write(t, block(`timeout = "1s"`))
		d.fails(t, []string{"its end was not seen within 1s", "with a longer timeout"}, "apply", "-auto-approve", invoke)
	})
	t.Run("bad input", func(t *testing.T) {
		d := newTerraformDir(t)
		d.write(t, block(`timeout = "soon"`))
		d.fails(t, []string{`Found: "soon"`}, "validate")
	})
}
