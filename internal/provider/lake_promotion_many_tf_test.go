package provider

import (
	"testing"
	"time"
)

// TestTFManyPartitions keeps a table with more partitions than a cluster allows
// by default (1000) in state: the plan after it is empty, and its time grows with
// their number and not with its square, which here would be many minutes.
func TestTFManyPartitions(t *testing.T) {
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.cluster.script(t, fakeScript{Initialized: 2000})
	from := time.Now()
	d.apply(t)
	if _, code := d.run(t, "plan", "-detailed-exitcode"); code != 0 {
		t.Errorf("the plan after it is not empty: exit code %d", code)
	}
	if took := time.Since(from); took > 100*time.Second {
		t.Errorf("apply and plan took %s", took)
	}
	o := d.wantStage(t, "orders", "enabled")
	list, _ := o.Attributes["initialized_partitions"].([]any)
	if len(list) != 2000 {
		t.Fatalf("%d partitions in state", len(list))
	}
	last, _ := list[1999].(map[string]any)
	if last["dt"] != "2026-001999" {
		t.Errorf("the last partition is %v", list[1999])
	}
}
