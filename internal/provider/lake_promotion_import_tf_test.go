package provider

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// factories serve the provider over a fake cluster in this process.
func factories(c *fakeCluster) map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"fluss": func() (tfprotov6.ProviderServer, error) {
			return providerserver.NewProtocol6(NewWithPromoter("test", c.connect)())(), nil
		},
	}
}

func TestTFCreateReadImport(t *testing.T) {
	t.Parallel()
	const address = "fluss_lake_promotion.orders"
	c := newFakeCluster(t)
	c.script(t, fakeScript{Partitioned: true})
	config := providerBlock + orders(`prepare_source = true
  lake_layout      = "legacy"
  partitions       = [{ dt = "2026-11-28" }]
  table_properties = { "table.datalake.freshness" = "1min" }
  deletion_protection = false`)
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(c),
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate),
						plancheck.ExpectUnknownValue(address, tfjsonpath.New("source_snapshot_id")),
						plancheck.ExpectUnknownValue(address, tfjsonpath.New("source_changes")),
						plancheck.ExpectUnknownValue(address, tfjsonpath.New("initialized_partitions")),
						plancheck.ExpectUnknownValue(address, tfjsonpath.New("bucket_offsets")),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(address, tfjsonpath.New("id"), knownvalue.StringExact("sales.orders")),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("stage"), knownvalue.StringExact("enabled")),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("cluster_id"), knownvalue.StringExact("cluster-1")),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("operation_id"), knownvalue.StringExact("operation-1")),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("table_id"), knownvalue.Int64Exact(11)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("source_snapshot_id"), knownvalue.Int64Exact(7)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("rows_loaded"), knownvalue.Int64Exact(1000)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("bucket_offsets").AtMapKey("3"), knownvalue.Int64Exact(250)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("load_job_id"), knownvalue.Null()),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("promoted_at"), knownvalue.StringExact("2026-11-30T12:00:00Z")),
				},
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "sales.orders", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"deletion_protection"},
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "sales",
				ExpectError: regexp.MustCompile(`Required: database.table`),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "sales.nothing",
				ExpectError: regexp.MustCompile(`(?s)Cannot import non-existent remote object|does not exist any more`),
			},
		},
	})
}

// TestTFImportThenEmptyPlan imports a promotion that another state has made,
// with all of its arguments in the configuration and with the least.
func TestTFImportThenEmptyPlan(t *testing.T) {
	t.Parallel()
	const importBlock = `
import {
  to = fluss_lake_promotion.orders
  id = "sales.orders"
}
`
	const made = `prepare_source = true
  verification     = "full"
  table_properties = { "table.datalake.freshness" = "1min" }`
	for _, c := range []struct {
		name, config string
		script       fakeScript
		want         string
	}{
		{"as it was made", orders(made), fakeScript{}, "1 imported, 0 added, 0 changed, 0 destroyed"},
		{"the least", orders(`table_properties = { "table.datalake.freshness" = "1min" }`), fakeScript{}, "1 imported, 0 added, 0 changed, 0 destroyed"},
		{"the journal does not know it", orders(made), fakeScript{ForgetSpec: true}, "1 imported, 0 added, 1 changed, 0 destroyed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := newTerraformDir(t), newTerraformDir(t)
			first.write(t, providerBlock+orders(made))
			first.apply(t)
			second.cluster.dir = first.cluster.dir
			second.env = append(second.env, envCluster+"="+first.cluster.dir)
			second.cluster.script(t, c.script)
			second.write(t, providerBlock+c.config+importBlock)
			wantTexts(t, second.apply(t), c.want)
			if out, code := second.run(t, "plan", "-detailed-exitcode"); code != 0 {
				t.Errorf("the plan after it is not empty: exit code %d\n%s", code, out)
			}
			if n := first.cluster.count("run sales.orders"); n != 1 {
				t.Errorf("%d runs, want 1", n)
			}
		})
	}
	t.Run("after the first update arguments count", func(t *testing.T) {
		d := newTerraformDir(t)
		table := fakeTable{Result: promotion.Result{ClusterID: "cluster-1", OperationID: "operation-1", Stage: promotion.StageEnabled, TableID: 11}}
		d.cluster.put(ordersName, &table)
		d.cluster.script(t, fakeScript{ForgetSpec: true})
		d.write(t, providerBlock+orders(`table_properties = { a = "1" }`)+importBlock)
		wantTexts(t, d.ok(t, "plan"), "table_properties is taken as it is after an import: sales.orders")
		d.apply(t)
		d.write(t, providerBlock+orders(`table_properties = { a = "2" }`))
		d.fails(t, []string{"Argument can't be changed after the table was created"}, "plan")
		d.write(t, providerBlock+orders(`table_properties = { a = "1" }
  lake_layout = "legacy"`))
		d.fails(t, []string{"lake_layout is to change from unset"}, "plan")
	})
	t.Run("an unfinished promotion goes on", func(t *testing.T) {
		d := newTerraformDir(t)
		table := fakeTable{Result: promotion.Result{ClusterID: "cluster-1", OperationID: "operation-1", Stage: promotion.StageLoading, TableID: 11}}
		d.cluster.put(ordersName, &table)
		d.write(t, providerBlock+ordersBlock+importBlock)
		wantTexts(t, d.apply(t), "1 imported, 0 added, 1 changed, 0 destroyed")
		d.wantStage(t, "orders", "enabled")
	})
}

func TestTF115ImportByIdentity(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	resource.UnitTest(t, resource.TestCase{
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		ProtoV6ProviderFactories: factories(c),
		Steps: []resource.TestStep{
			{
				Config: providerBlock + ordersBlock,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectIdentity("fluss_lake_promotion.orders", map[string]knownvalue.Check{
						"database": knownvalue.StringExact("sales"),
						"table":    knownvalue.StringExact("orders"),
					}),
				},
			},
			{
				ResourceName: "fluss_lake_promotion.orders", ImportState: true,
				ImportStateKind: resource.ImportBlockWithResourceIdentity,
			},
			{Config: providerBlock + orders(`deletion_protection = false`)}, // for the test's own destroy
		},
	})
}
