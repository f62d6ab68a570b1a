package provider

import (
	"context"
	"net/url"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func flinkLoadAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Only for engine `flink`.",
		Attributes: map[string]schema.Attribute{
			"settings": schema.MapAttribute{
				ElementType: types.StringType,
				Optional:    true,
				MarkdownDescription: "Settings of Flink for the job, such as `restart-strategy.type`: names that begin with `pipeline.`, " +
					"`execution.`, `restart-strategy.`, `table.exec.`, `table.optimizer.` or `cluster.fine-grained-resource-management.`. " +
					"The job's name, its ID and the batch mode are the provider's.",
				Validators: []validator.Map{noNullElements{}},
			},
			"paimon_catalog": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A catalog that the gateway's sessions have, over the cluster's lake. Default: one is created in the session " +
					"from the lake's warehouse and the provider's `lake.options`.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"fluss_catalog": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "A catalog that the gateway's sessions have, over the Fluss cluster. Default: one is created in the session " +
					"from the provider's `bootstrap_servers` and `sasl`.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			},
		},
	}
}

// flinkLoad is nil where load has no flink block.
func flinkLoad(v attr.Value) *promotion.FlinkLoad {
	o, ok := v.(types.Object)
	if !ok || o.IsNull() || o.IsUnknown() {
		return nil
	}
	return &promotion.FlinkLoad{
		LakeCatalog:  stringOr(member(o, "paimon_catalog"), ""),
		FlussCatalog: stringOr(member(o, "fluss_catalog"), ""),
		Settings:     stringMap(member(o, "settings")),
	}
}

// loadValidator refuses what the chosen engine would leave unread.
type loadValidator struct{}

func (loadValidator) Description(context.Context) string {
	return "has only what the engine uses"
}

func (v loadValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (loadValidator) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	load := req.ConfigValue
	engine := member(load, "engine")
	if load.IsNull() || load.IsUnknown() || engine != nil && engine.IsUnknown() {
		return
	}
	used := map[string]string{"batch_bytes": engineNative, "max_in_flight": engineNative, "spill_bytes": engineNative, "flink": engineFlink}
	for name, of := range used {
		if v := member(load, name); v != nil && !v.IsNull() && stringOr(engine, engineNative) != of {
			resp.Diagnostics.AddAttributeError(req.Path.AtName(name), "Argument of another load engine",
				"Found: "+name+" with engine = "+strconv.Quote(stringOr(engine, engineNative))+".\nRequired: engine = "+strconv.Quote(of)+
					".\nWhat to do: leave "+name+" out, or choose that engine.")
		}
	}
	flink, ok := member(load, "flink").(types.Object)
	if !ok {
		return
	}
	if s := member(flink, "settings"); s != nil && whollyKnown(s) {
		if bad := promotion.CheckFlinkSettings(stringMap(s)); bad != "" {
			resp.Diagnostics.AddAttributeError(req.Path.AtName("flink").AtName("settings"), "Setting of Flink that can't be passed on",
				"Found: "+bad+".\nRequired: settings of the job alone.\nWhat to do: take it out.")
		}
	}
}

// urlValidator accepts http and https URLs. It shows none: a URL may hold a
// password.
type urlValidator struct{}

func (urlValidator) Description(context.Context) string { return "must be an http or https URL" }

func (v urlValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (urlValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	u, err := url.Parse(req.ConfigValue.ValueString())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid URL", "Found: a text that is none.\nRequired: an http or https URL, such as \"http://flink:8083\".")
	}
}
