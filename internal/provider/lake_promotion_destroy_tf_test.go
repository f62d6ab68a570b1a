package provider

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// madeBy puts a promotion into the fake cluster that somebody else has made.
func madeBy(d *terraformDir, stage promotion.Stage, spec promotion.Spec) {
	d.cluster.put(ordersName, &fakeTable{Spec: spec, Result: promotion.Result{
		ClusterID: "cluster-1", OperationID: "operation-1", Stage: stage, TableID: 11, SelectedPartitions: spec.Partitions,
	}})
}

// wholeSpec sets every argument of which a table is made.
func wholeSpec() promotion.Spec {
	return promotion.Spec{
		Name: ordersName, PrepareSource: true, LakeLayout: layoutLegacy,
		TableProperties: map[string]string{"table.datalake.freshness": "1min"},
		Partitions:      []map[string]string{{"dt": "2026-11-29"}},
	}
}

// The recovery guide's way: a block that names no more than the table, an
// import, and a destroy.
func TestTFImportIntoTheLeastBlockThenDestroy(t *testing.T) {
	t.Parallel()
	t.Run("unfinished", func(t *testing.T) {
		d := newTerraformDir(t)
		madeBy(d, promotion.StageLoading, wholeSpec())
		d.write(t, providerBlock+ordersBlock)
		d.ok(t, "import", "fluss_lake_promotion.orders", "sales.orders")
		d.ok(t, "destroy", "-auto-approve", "-target=fluss_lake_promotion.orders")
		if len(d.cluster.tables()) != 0 {
			t.Error("the table is still there")
		}
	})
	t.Run("enabled", func(t *testing.T) {
		d := newTerraformDir(t)
		madeBy(d, promotion.StageEnabled, wholeSpec())
		d.write(t, providerBlock+ordersBlock)
		d.ok(t, "import", "fluss_lake_promotion.orders", "sales.orders")
		if out, code := d.run(t, "plan", "-detailed-exitcode"); code != 0 {
			t.Errorf("the plan is not empty: exit code %d\n%s", code, out)
		}
		d.fails(t, []string{"Promotion is protected"}, "destroy", "-auto-approve")
		d.write(t, providerBlock+orders("deletion_protection = false"))
		d.apply(t)
		o := d.wantStage(t, "orders", "enabled")
		if o.Attributes["lake_layout"] != "legacy" || o.Attributes["partitions"] == nil || o.Attributes["table_properties"] == nil {
			t.Errorf("what the table was made with is not in the state: %v", o.Attributes)
		}
		// Also after the update the least block is enough, and what it sets counts.
		if out, code := d.run(t, "plan", "-detailed-exitcode"); code != 0 {
			t.Errorf("the plan is not empty: exit code %d\n%s", code, out)
		}
		d.write(t, providerBlock+orders("deletion_protection = false\n"+`partitions = [{ dt = "2026-11-28" }]`))
		d.fails(t, []string{"partitions is to change", "terraform destroy -refresh=false"}, "plan")
		d.fails(t, []string{"partitions is to change"}, "destroy", "-auto-approve")
		d.ok(t, "destroy", "-auto-approve", "-refresh=false")
		if len(d.cluster.tables()) != 0 {
			t.Error("the table is still there")
		}
	})
}

// What speaks against going on with a promotion does not keep Terraform from
// destroying it, although destroy plans it first. An apply is refused.
func TestTFDestroyWhatCannotGoOn(t *testing.T) {
	t.Parallel()
	incompatible := promotion.Problems{
		{Severity: promotion.SeverityError, Attribute: []string{"table"}, Summary: "The Paimon table does not exist", Found: "no folder"},
		{Severity: promotion.SeverityError, Summary: "Merge engine can't be promoted", Found: "aggregation", Required: "deduplicate"},
	}
	texts := []string{"Lake promotion can't go on: sales.orders", "terraform apply will refuse"}
	for _, c := range []struct {
		name   string
		script fakeScript
		block  string
		texts  []string
	}{
		{"incompatible", fakeScript{Problems: incompatible, Run: "refuse"}, ordersBlock,
			[]string{"The Paimon table does not exist. Found: no folder", "Merge engine can't be promoted. Found: aggregation Required: deduplicate"}},
		{"moved on from the pin", fakeScript{Snapshot: 9}, orders("source_snapshot_id = 7"), []string{"Source is at another snapshot", "snapshot 9"}},
		{"unable to look", fakeScript{PreviewError: "schema-3: unexpected end of file", Run: "refuse"}, ordersBlock, []string{"schema-3: unexpected end of file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTerraformDir(t)
			madeBy(d, promotion.StageLoading, promotion.Spec{Name: ordersName})
			d.write(t, providerBlock+c.block)
			d.ok(t, "import", "fluss_lake_promotion.orders", "sales.orders")
			d.cluster.script(t, c.script)
			out := d.ok(t, "plan")
			wantTexts(t, out, append(texts, c.texts...)...)
			if _, code := d.run(t, "apply", "-auto-approve"); code != 1 {
				t.Errorf("apply: exit code %d, want 1", code)
			}
			d.wantStage(t, "orders", "loading")
			d.ok(t, "plan", "-destroy")
			d.ok(t, "destroy", "-auto-approve")
			if len(d.cluster.tables()) != 0 || d.state(t, "orders") != nil {
				t.Error("the promotion is still there")
			}
		})
	}
	t.Run("a replacement is no way out", func(t *testing.T) {
		d := newTerraformDir(t)
		d.write(t, providerBlock+orders("deletion_protection = false"))
		d.apply(t)
		d.cluster.script(t, fakeScript{Problems: incompatible})
		d.fails(t, []string{"Merge engine can't be promoted", "Lake promotion can't be made again"}, "plan", "-replace=fluss_lake_promotion.orders")
		d.ok(t, "destroy", "-auto-approve")
	})
}

// Two resources get one table whose name is not known in the first plan: then
// and later the one that came too late is told.
func TestTFTableTwiceWithNamesThatWereNotKnown(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	block := func(name string) string {
		return strings.NewReplacer(`"orders" {`, `"`+name+`" {`, `"sales"`, `terraform_data.later.output`).Replace(ordersBlock)
	}
	config := providerBlock + strings.Replace(unknownValue, `"x"`, `"sales"`, 1) + block("orders") + block("again")
	d.write(t, config)
	d.fails(t, []string{"Table is promoted twice"}, "apply", "-auto-approve")
	owner, late := "orders", "again"
	if d.state(t, owner) == nil {
		owner, late = late, owner
	}
	d.wantStage(t, owner, "enabled")
	for range 4 { // Terraform asks in no fixed order
		out := d.fails(t, []string{"with fluss_lake_promotion." + late}, "plan")
		if strings.Contains(out, "with fluss_lake_promotion."+owner+",") {
			t.Errorf("the owner of the table is blamed:\n%s", out)
		}
	}
	// Without protection, too, the plan of the late one fails.
	d.write(t, strings.Replace(config, `"`+owner+`" {`, `"`+owner+"\" {\ndeletion_protection = false", 1))
	d.ok(t, "apply", "-auto-approve", "-target=fluss_lake_promotion."+owner)
	for range 4 {
		d.fails(t, []string{"with fluss_lake_promotion." + late}, "plan")
	}
	if n := d.cluster.count("start sales.orders"); n != 1 {
		t.Errorf("%d operations were started, want 1", n)
	}
}

func TestTFImportIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", " ", "orders", ".", ".orders", "sales.", "a.sales.orders", "sales orders", "sales. orders", " sales.orders", "sales.orders ",
		"`sales`.`orders`", `"sales"."orders"`, "'sales.orders'", "sälés.orders", "sales.注文", "sales/orders", "sales.__orders", "sales.orders\n",
		strings.Repeat("s", 201) + ".orders",
	} {
		if name, ok := nameFromID(id); ok {
			t.Errorf("%q is taken as %v", id, name)
		}
	}
	if name, ok := nameFromID("sales-1.Orders_2"); !ok || name.Database != "sales-1" || name.Table != "Orders_2" {
		t.Errorf("%v, %t", name, ok)
	}
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	for _, id := range []string{"", "orders", "a.sales.orders", "`sales`.`orders`"} {
		d.fails(t, []string{"Invalid import ID", "Found: " + strconv.Quote(id), "database.table, such as sales.orders"},
			"import", "fluss_lake_promotion.orders", id)
	}
	if calls := d.cluster.count("observe sales.orders"); calls != 0 {
		t.Errorf("%d looks at the cluster, want 0", calls)
	}
}

// Numbers that are none are refused in validate, in words about the argument.
func TestTFNumbers(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	data := func(line string) string {
		return "data \"fluss_lake_compatibility\" \"orders\" {\n  database = \"sales\"\n  table = \"orders\"\n" + line + "\n}\n"
	}
	for _, c := range []struct {
		config string
		texts  []string // found and required, by turns
	}{
		{orders("source_snapshot_id = 1.5\nload = { parallelism = 2.5, batch_bytes = 1e30, max_in_flight = 0.1, spill_bytes = -1 }") + data(`source_snapshot_id = 0`),
			[]string{"1.5", "a whole number from 1 on", "2.5", "a whole number from 1 to 1024", "1e+30", "a whole number from 1024 to 67108864",
				"0.1", "a whole number from 1 to 5", "-1", "a whole number from 0 to 1125899906842624", "0", "a whole number from 1 on"}},
		{orders(`source_snapshot_id = 9223372036854775808`) + data(`source_snapshot_id = -7`),
			[]string{"9223372036854775808", "a whole number from 1 on, at most 9223372036854775807", "-7", "a whole number from 1 on"}},
		{orders(`source_snapshot_id = 1e300`), []string{"1e+300", "a whole number from 1 on, at most 9223372036854775807"}},
		{"max_concurrent_loads = 0.5", []string{"0.5", "a whole number from 1 to 64"}},
		{"max_concurrent_loads = 1e20", []string{"1e+20", "a whole number from 1 to 64"}},
	} {
		if strings.HasPrefix(c.config, "max_") {
			d.write(t, strings.Replace(providerBlock, "}", c.config+"\n}", 1)+ordersBlock)
		} else {
			d.write(t, providerBlock+c.config)
		}
		var texts []string
		for i := 0; i < len(c.texts); i += 2 {
			texts = append(texts, "Found: "+c.texts[i]+". Required: "+c.texts[i+1]+".")
		}
		out := d.fails(t, append(texts, "Invalid number"), "validate")
		if strings.Contains(out, "provider developers") {
			t.Errorf("the framework's own message:\n%s", out)
		}
	}
	d.write(t, providerBlock+orders("source_snapshot_id = 7\nload = { parallelism = 2, batch_bytes = 65536, max_in_flight = 5, spill_bytes = 0 }"))
	d.apply(t)
	if o := d.wantStage(t, "orders", "enabled"); o.Attributes["source_snapshot_id"] != float64(7) {
		t.Errorf("source_snapshot_id is %v", o.Attributes["source_snapshot_id"])
	}
}
