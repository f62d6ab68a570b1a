package provider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func TestTFPreview(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+orders(`prepare_source = true
  partitions = [{ dt = "2026-11-29" }]
  table_properties = { "table.log.ttl" = "1d" }`))

	t.Run("summary", func(t *testing.T) {
		d.cluster.script(t, fakeScript{
			Partitioned: true,
			Changes:     []promotion.SourceChange{{What: "option bucket-key", To: "id"}},
			Problems: promotion.Problems{{
				Severity: promotion.SeverityWarning, Rule: "option.partition.expiration-time", Summary: "Partitions expire in the lake",
			}},
		})
		out := d.ok(t, "plan")
		wantTexts(t, out, "Lake promotion preview", "snapshot 7, schema 2", "at most 1000 rows, 5.0 MiB in 8 files; buckets: 4",
			"1 of 2. NOT initialized", "dt=2026-11-28", "option bucket-key: unset -> id", "Note: Partitions expire in the lake",
			"stop writers, compaction jobs", "1 to add")
		if n := strings.Count(out, "Lake promotion preview"); n != 1 {
			t.Errorf("%d summaries, want 1", n)
		}
		for _, call := range d.cluster.calls() {
			if strings.HasPrefix(call, "run") {
				t.Errorf("plan made the call %q", call)
			}
		}
	})
	t.Run("one diagnostic for each incompatibility", func(t *testing.T) {
		d.cluster.script(t, fakeScript{Problems: promotion.Problems{
			{Severity: promotion.SeverityError, Attribute: []string{"table"}, Rule: "option.merge-engine", Summary: "Merge engine can't be promoted",
				Found: "aggregation", Required: "deduplicate", Why: "Fluss keeps the last row"},
			{Severity: promotion.SeverityError, Attribute: []string{"table_properties", "table.log.ttl"}, Summary: "Property is not known",
				Fix: "remove it"},
			{Severity: promotion.SeverityError, Summary: "Bucket key is not explicit", Fix: "ALTER TABLE …", PrepareFixes: true},
		}})
		d.fails(t, []string{
			"Merge engine can't be promoted", `table = "orders"`, "Found: aggregation", "Required: deduplicate", "Why: Fluss keeps the last row",
			"Property is not known", "What to do: remove it", "prepare_source = true makes this change for you",
		}, "plan")
	})
	t.Run("unable to look", func(t *testing.T) {
		d.cluster.script(t, fakeScript{PreviewError: "dial tcp: connection refused"})
		d.fails(t, []string{"Unable to preview lake promotion", "connection refused."}, "plan")
	})
}

// unknownValue makes a value that is not known in the first plan.
const unknownValue = `
resource "terraform_data" "later" { input = "x" }
`

func TestTFUnknownInputsSkipThePreview(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	for argument, value := range map[string]string{
		"database":                `terraform_data.later.output`,
		"table":                   `terraform_data.later.output`,
		"partitions":              `[{ dt = terraform_data.later.output }]`,
		"prepare_source":          `terraform_data.later.output == "x"`,
		"table_properties":        `{ "table.log.ttl" = terraform_data.later.output }`,
		"unvalidated_properties":  `terraform_data.later.output == "x" ? "deny" : "allow"`,
		"acknowledged_properties": `[terraform_data.later.output]`,
		"load":                    `{ parallelism = length(terraform_data.later.output) }`,
		"verification":            `terraform_data.later.output == "x" ? "full" : "none"`,
		"takeover":                `terraform_data.later.output == "x" ? "fence" : "resume"`,
		"on_source_change":        `terraform_data.later.output == "x" ? "fail" : "restart"`,
		"lake_layout":             `terraform_data.later.output == "x" ? "legacy" : null`,
		"source_snapshot_id":      `length(terraform_data.later.output) + 6`,
	} {
		t.Run(argument, func(t *testing.T) {
			block := orders(argument + " = " + value)
			if argument == "database" || argument == "table" {
				lines := strings.Split(ordersBlock, "\n")
				for i, line := range lines {
					if strings.HasPrefix(strings.TrimSpace(line), argument+" ") {
						lines[i] = argument + " = " + value
					}
				}
				block = strings.Join(lines, "\n")
			}
			d.write(t, providerBlock+unknownValue+block)
			d.cluster.forgetCalls(t)
			out := d.ok(t, "plan")
			wantTexts(t, out, "Lake promotion preview skipped", fmt.Sprintf("The argument %q is not known yet", argument))
			if n := strings.Count(out, "preview skipped"); n != 1 {
				t.Errorf("%d warnings, want 1\n%s", n, out)
			}
			for _, call := range d.cluster.calls() {
				if !strings.HasPrefix(call, "configure") {
					t.Errorf("call %q", call)
				}
			}
		})
	}
	t.Run("and the apply checks them", func(t *testing.T) {
		d.write(t, providerBlock+unknownValue+orders(`source_snapshot_id = length(terraform_data.later.output) + 6`))
		d.apply(t)
		d.wantStage(t, "orders", "enabled")
	})
}

func TestTFUnknownProviderConfiguration(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	for argument, value := range map[string]string{
		"bootstrap_servers":    `["${terraform_data.later.output}:9123"]`,
		"sasl":                 `{ username = "admin", password = terraform_data.later.output }`,
		"lake":                 `{ warehouse = terraform_data.later.output }`,
		"journal":              `{ table = terraform_data.later.output }`,
		"max_concurrent_loads": `length(terraform_data.later.output)`,
	} {
		t.Run(argument, func(t *testing.T) {
			config := "provider \"fluss\" {\n" + argument + " = " + value + "\n"
			if argument != "bootstrap_servers" {
				config += `bootstrap_servers = ["fluss.invalid:9123"]` + "\n"
			}
			d.write(t, unknownValue+config+"}\n"+ordersBlock)
			d.cluster.forgetCalls(t)
			out := d.ok(t, "plan")
			wantTexts(t, out, "Lake promotion preview skipped", fmt.Sprintf("The provider's argument %q is not known yet", argument))
			if calls := d.cluster.calls(); len(calls) != 0 {
				t.Errorf("calls: %q", calls)
			}
		})
	}
	t.Run("over an existing promotion", func(t *testing.T) {
		d.write(t, providerBlock+ordersBlock)
		d.apply(t)
		d.cluster.forgetCalls(t)
		d.write(t, unknownValue+"provider \"fluss\" {\nbootstrap_servers = [\"${terraform_data.later.output}:9123\"]\n}\n"+ordersBlock)
		out := d.ok(t, "plan")
		wantTexts(t, out, "1 to add, 0 to change, 0 to destroy")
		if calls := d.cluster.calls(); len(calls) != 0 {
			t.Errorf("calls: %q", calls)
		}
		d.apply(t)
		d.wantStage(t, "orders", "enabled")
	})
}

func TestTFValidateNeedsNoCluster(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	for _, c := range []struct{ config, text string }{
		{providerBlock + ordersBlock, ""},
		{"provider \"fluss\" {}\n" + ordersBlock, ""},
		{providerBlock + orders(`load = { engine = "flink", parallelism = 4, flink = { settings = { "pipeline.object-reuse" = "true" } } }`), ""},
		{providerBlock + orders(`load = { engine = "spark" }`), `Unavailable load engine`},
		{providerBlock + orders(`load = { flink = { fluss_catalog = "f" } }`), `Argument of another load engine`},
		{providerBlock + orders(`load = { engine = "flink", batch_bytes = 65536 }`), `Argument of another load engine`},
		{providerBlock + orders(`load = { engine = "flink", flink = { settings = { "pipeline.name" = "x" } } }`), `Setting of Flink that can't be passed on`},
		{"provider \"fluss\" {\n flink = { sql_gateway_url = \"flink:8083\" }\n}\n" + ordersBlock, "Invalid URL"},
		{providerBlock + orders(`partitions = []`), "at least 1 elements"},
		{providerBlock + orders(`partitions = [{}]`), "at least 1 elements"},
		{providerBlock + orders(`partitions = [{ dt = null }]`), "Null value"},
		{providerBlock + orders(`table_properties = { a = null }`), "Null value"},
		{providerBlock + orders(`table_properties = { "" = "x" }`), "Empty name in a map"},
		{providerBlock + orders(`table_properties = { " " = "1d" }`), `Found: the key " "`},
		{providerBlock + orders(`partitions = [{ "" = "x" }]`), "Empty name in a map"},
		{providerBlock + orders(`acknowledged_properties = [""]`), "Invalid option name"},
		{providerBlock + orders(`acknowledged_properties = ["team.owner", " "]`), `with fluss_lake_promotion.orders`},
		{providerBlock + orders(`acknowledged_properties = [null]`), "Null"},
		{providerBlock + orders(`timeouts = { create = "0s" }`), "Invalid time limit"},
		{providerBlock + orders(`timeouts = { create = "soon" }`), "soon"},
		{providerBlock + strings.Replace(ordersBlock, `"orders"`+"\n}", `"or.ders"`+"\n}", 1), "Invalid name"},
		{"provider \"fluss\" {\n bootstrap_servers = [\"localhost\"]\n}\n" + ordersBlock, "Invalid server address"},
		{"provider \"fluss\" {\n lake = { warehouse = \"/w\", metastore = \"hive\" }\n}\n" + ordersBlock, "Unavailable Paimon metastore"},
	} {
		d.write(t, c.config)
		if c.text == "" {
			d.ok(t, "validate")
		} else {
			d.fails(t, []string{c.text}, "validate")
		}
	}
	if calls := d.cluster.calls(); len(calls) != 0 {
		t.Errorf("calls: %q", calls)
	}
}

// TestTFUnvalidatedOptions: what was not validated is in the plan's warning and
// in the state; deny refuses at the attribute; acknowledging silences exactly
// the options that are named.
func TestTFUnvalidatedOptions(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.cluster.script(t, fakeScript{Unvalidated: []string{"team.cost", "team.owner"}})
	const told = "kept and not validated: "
	const refused = "The table has an option that this provider does not know"

	d.write(t, providerBlock+orders(""))
	wantTexts(t, d.ok(t, "plan"), told+"team.cost, team.owner.")

	d.write(t, providerBlock+orders(`unvalidated_properties = "deny"`))
	out := d.fails(t, []string{refused, `unvalidated_properties = "deny"`, "Found: team.cost = x", "Found: team.owner = x"}, "plan")
	if n := strings.Count(out, "Error: "); n != 2 {
		t.Errorf("%d errors, want one for each of 2 options:\n%s", n, out)
	}

	d.write(t, providerBlock+orders(`unvalidated_properties = "deny"
  acknowledged_properties = ["team.owner", "team.other"]`))
	out = d.fails(t, []string{"Found: team.cost = x"}, "plan")
	if strings.Contains(out, "Found: team.owner") {
		t.Errorf("an acknowledged option was refused:\n%s", out)
	}

	d.write(t, providerBlock+orders(`acknowledged_properties = ["team.owner"]`))
	wantTexts(t, d.ok(t, "plan"), told+"team.cost.")

	d.write(t, providerBlock+orders(`unvalidated_properties = "deny"
  acknowledged_properties = ["team.owner", "team.cost"]`))
	if out := d.ok(t, "plan"); strings.Contains(out, told) {
		t.Errorf("acknowledged options are told as not validated:\n%s", out)
	}
	d.apply(t)
	o := d.wantStage(t, "orders", "enabled")
	if got := fmt.Sprint(o.Attributes["unvalidated_option_keys"]); got != "[team.cost team.owner]" {
		t.Errorf("not validated, in the state: %s", got)
	}
	wantTexts(t, d.ok(t, "plan"), "No changes")
}

// TestTFSourceMovesBetweenPlanAndApply: a plan without a pin stays applicable,
// one with a pin fails before anything is done.
func TestTFSourceMovesBetweenPlanAndApply(t *testing.T) {
	t.Parallel()
	t.Run("without a pin", func(t *testing.T) {
		d := newTerraformDir(t)
		d.write(t, providerBlock+ordersBlock)
		d.ok(t, "plan", "-out=plan")
		d.cluster.script(t, fakeScript{Snapshot: 8})
		d.ok(t, "apply", "plan")
		if o := d.wantStage(t, "orders", "enabled"); o.Attributes["source_snapshot_id"] != 8.0 {
			t.Errorf("snapshot %v, want 8", o.Attributes["source_snapshot_id"])
		}
	})
	t.Run("with a pin from the data source", func(t *testing.T) {
		d := newTerraformDir(t)
		d.write(t, providerBlock+`
data "fluss_lake_compatibility" "orders" {
  database = "sales"
  table    = "orders"
}
`+orders("source_snapshot_id = data.fluss_lake_compatibility.orders.snapshot_id"))
		d.ok(t, "plan", "-out=plan")
		d.cluster.script(t, fakeScript{Snapshot: 8})
		d.cluster.forgetCalls(t)
		out := d.fails(t, []string{"Source is at another snapshot", "Required: snapshot 7"}, "apply", "plan")
		if strings.Contains(out, "inconsistent") {
			t.Errorf("not a clean error:\n%s", out)
		}
		if n := d.cluster.count("start sales.orders"); n != 0 {
			t.Errorf("%d operations were started", n)
		}
		if o := d.state(t, "orders"); o != nil {
			t.Errorf("in the state: %v", o)
		}
		d.apply(t)
		d.wantStage(t, "orders", "enabled")
	})
}

func TestTFTableTwiceInOneConfiguration(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	again := strings.Replace(ordersBlock, `"fluss_lake_promotion" "orders"`, `"fluss_lake_promotion" "again"`, 1)
	d.write(t, providerBlock+ordersBlock+again)
	d.fails(t, []string{"Table is promoted twice", "sales.orders"}, "plan")
	d.write(t, providerBlock+ordersBlock)
	d.apply(t)
	d.write(t, providerBlock+ordersBlock+again)
	d.fails(t, []string{"promoted"}, "plan")
	if n := d.cluster.count("start sales.orders"); n != 1 {
		t.Errorf("%d operations were started, want 1", n)
	}
}

func TestTFDestroy(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.apply(t)
	d.fails(t, []string{"Promotion is protected", "apply deletion_protection = false first"}, "plan", "-destroy")
	d.fails(t, []string{"Promotion is protected"}, "apply", "-auto-approve", "-replace=fluss_lake_promotion.orders")
	d.wantStage(t, "orders", "enabled")

	d.write(t, providerBlock) // the block removed
	d.fails(t, []string{"Promotion is protected"}, "plan")

	d.write(t, providerBlock+orders(`deletion_protection = false`))
	d.apply(t)
	wantTexts(t, d.ok(t, "plan", "-replace=fluss_lake_promotion.orders"), "1 to add, 0 to change, 1 to destroy")
	wantTexts(t, d.apply(t, "-replace=fluss_lake_promotion.orders"), "1 added, 0 changed, 1 destroyed")
	if n := d.cluster.count("start sales.orders"); n != 2 {
		t.Errorf("%d operations were started, want 2", n)
	}
	d.wantStage(t, "orders", "enabled")

	d.ok(t, "destroy", "-auto-approve")
	if len(d.cluster.tables()) != 0 {
		t.Error("the table is still there")
	}
}

func TestTFMovedAndRemoved(t *testing.T) {
	t.Parallel()
	d := newTerraformDir(t)
	d.write(t, providerBlock+ordersBlock)
	d.apply(t)
	d.write(t, providerBlock+strings.Replace(ordersBlock, `"fluss_lake_promotion" "orders"`, `"fluss_lake_promotion" "renamed"`, 1)+`
moved {
  from = fluss_lake_promotion.orders
  to   = fluss_lake_promotion.renamed
}
`)
	wantTexts(t, d.apply(t, "-refresh=false"), "0 added, 0 changed, 0 destroyed")
	d.wantStage(t, "renamed", "enabled")

	d.cluster.forgetCalls(t)
	d.write(t, providerBlock+`
removed {
  from = fluss_lake_promotion.renamed
  lifecycle { destroy = false }
}
`)
	d.apply(t)
	if o := d.state(t, "renamed"); o != nil {
		t.Errorf("in the state: %v", o)
	}
	if d.cluster.count("remove sales.orders") != 0 || len(d.cluster.tables()) != 1 {
		t.Error("forgetting a promotion has removed it")
	}
}
