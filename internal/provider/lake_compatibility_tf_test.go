package provider

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func TestTFCompatibility(t *testing.T) {
	t.Parallel()
	const address = "data.fluss_lake_compatibility.orders"
	config := providerBlock + `
data "fluss_lake_compatibility" "orders" {
  database       = "sales"
  table          = "orders"
  partitions     = [{ dt = "2026-11-29" }]
  prepare_source = true
}
`
	c := newFakeCluster(t)
	check := func(at tfjsonpath.Path, want knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(address, at, want)
	}
	root := func(name string) tfjsonpath.Path { return tfjsonpath.New(name) }
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(c),
		Steps: []resource.TestStep{
			{
				PreConfig: func() {
					c.script(t, fakeScript{Partitioned: true, Changes: []promotion.SourceChange{{What: "option bucket-key", To: "id"}}})
				},
				Config: config,
				ConfigStateChecks: []statecheck.StateCheck{
					check(root("id"), knownvalue.StringExact("sales.orders")),
					check(root("compatible"), knownvalue.Bool(true)),
					check(root("errors"), knownvalue.ListSizeExact(0)),
					check(root("snapshot_id"), knownvalue.Int64Exact(7)),
					check(root("schema_id"), knownvalue.Int64Exact(2)),
					check(root("primary_key"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("id")})),
					check(root("rows"), knownvalue.Int64Exact(1000)),
					check(root("options").AtMapKey("unvalidated"), knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("team.owner")})),
					check(root("options").AtMapKey("rejected"), knownvalue.ListSizeExact(0)),
					check(root("source_partitions").AtSliceIndex(0).AtMapKey("selected"), knownvalue.Bool(false)),
					check(root("source_partitions").AtSliceIndex(1).AtMapKey("values").AtMapKey("dt"), knownvalue.StringExact("2026-11-29")),
					check(root("source_partitions").AtSliceIndex(1).AtMapKey("selected"), knownvalue.Bool(true)),
					check(root("source_changes").AtSliceIndex(0).AtMapKey("to"), knownvalue.StringExact("id")),
					check(root("source_changes").AtSliceIndex(0).AtMapKey("from"), knownvalue.Null()),
					check(root("existing"), knownvalue.Null()),
				},
			},
			{
				PreConfig: func() {
					c.script(t, fakeScript{Problems: promotion.Problems{{
						Severity: promotion.SeverityError, Attribute: []string{"table_properties", "table.log.ttl"}, Rule: "property.unknown",
						Summary: "Property is not known", Fix: "remove it", PrepareFixes: true,
					}}})
				},
				Config: config,
				ConfigStateChecks: []statecheck.StateCheck{
					check(root("compatible"), knownvalue.Bool(false)),
					check(root("errors").AtSliceIndex(0).AtMapKey("rule"), knownvalue.StringExact("property.unknown")),
					check(root("errors").AtSliceIndex(0).AtMapKey("attribute"), knownvalue.StringExact("table_properties.table.log.ttl")),
					check(root("errors").AtSliceIndex(0).AtMapKey("fix"), knownvalue.StringExact("remove it")),
					check(root("errors").AtSliceIndex(0).AtMapKey("prepare_source_can_do"), knownvalue.Bool(true)),
				},
			},
			{
				PreConfig:   func() { c.script(t, fakeScript{PreviewError: "connection refused"}) },
				Config:      config,
				ExpectError: regexp.MustCompile("connection refused"),
			},
		},
	})
}

// The documented use, a gate and a pin, holds before the promotion and after it,
// also when the tiering service has moved the lake on.
func TestTFCompatibilityBeforeAndAfterThePromotion(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/data-sources/fluss_lake_compatibility/data-source.tf")
	if err != nil {
		t.Fatal(err)
	}
	d := newTerraformDir(t)
	d.write(t, providerBlock+string(example)+`
output "looked" { value = data.fluss_lake_compatibility.orders }
`)
	d.apply(t)
	if o := d.wantStage(t, "orders", "enabled"); o.Attributes["source_snapshot_id"] != float64(7) {
		t.Errorf("snapshot %v was promoted, want 7", o.Attributes["source_snapshot_id"])
	}
	looked := func() map[string]any {
		var v map[string]any
		out := d.ok(t, "output", "-json", "looked")
		if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &v); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return v
	}
	if v := looked(); v["existing"] != nil || v["pin_snapshot_id"] != float64(7) {
		t.Errorf("before: existing %v, pin %v", v["existing"], v["pin_snapshot_id"])
	}
	d.cluster.script(t, fakeScript{Snapshot: 9}) // the tiering service has committed
	wantTexts(t, d.apply(t), "0 added, 0 changed, 0 destroyed")
	v := looked()
	if v["compatible"] != true || v["snapshot_id"] != float64(9) || v["pin_snapshot_id"] != float64(7) {
		t.Errorf("after: compatible %v, snapshot %v, pin %v", v["compatible"], v["snapshot_id"], v["pin_snapshot_id"])
	}
	if e, _ := v["existing"].(map[string]any); e["promoted"] != true || e["stage"] != "enabled" || e["operation_id"] != "operation-1" {
		t.Errorf("after: existing %v", v["existing"])
	}
	// Another Paimon table of the same name is not what was promoted.
	d.cluster.script(t, fakeScript{Recreated: true})
	d.fails(t, []string{"Resource postcondition failed", "Table is promoted already"}, "plan")
}

func TestTFCompatibilityWithoutAClient(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, unknownValue+`
provider "fluss" {
  bootstrap_servers = ["${terraform_data.later.output}:9123"]
}
data "fluss_lake_compatibility" "orders" {
  database = "sales"
  table    = "orders"
}
`)
	d.fails(t, []string{"Unable to read lake compatibility", `"bootstrap_servers" is not known yet`}, "plan")
}
