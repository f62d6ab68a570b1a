package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

var (
	_ planmodifier.String = kept{}
	_ planmodifier.Set    = kept{}
	_ planmodifier.Map    = kept{}
)

// settled is a default for arguments that say how to promote. While a promotion
// is unfinished, leaving one out means the default. Once it is enabled they are
// history, so leaving one out keeps what the state holds: an import, which
// fills them from the journal, gives an empty plan for a configuration with
// them and for one without.
type settled[T any] struct{ def T }

func (s settled[T]) Description(context.Context) string {
	return fmt.Sprintf("defaults to %v until the promotion is enabled, then to the value in the state", s.def)
}

func (s settled[T]) MarkdownDescription(ctx context.Context) string { return s.Description(ctx) }

type settledStringModifier struct{ settled[string] }

func settledString(def string) planmodifier.String {
	return settledStringModifier{settled[string]{def}}
}

func (s settledStringModifier) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	switch {
	case !req.ConfigValue.IsNull():
	case !req.StateValue.IsNull() && isEnabled(ctx, req.State):
		resp.PlanValue = req.StateValue
	default:
		resp.PlanValue = types.StringValue(s.def)
	}
}

type settledBoolModifier struct{ settled[bool] }

func settledBool(def bool) planmodifier.Bool {
	return settledBoolModifier{settled[bool]{def}}
}

func (s settledBoolModifier) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	switch {
	case !req.ConfigValue.IsNull():
	case !req.StateValue.IsNull() && isEnabled(ctx, req.State):
		resp.PlanValue = req.StateValue
	default:
		resp.PlanValue = types.BoolValue(s.def)
	}
}

// kept is for arguments of which a table is made, and which have no default:
// left out they are null, but once the table exists they keep what the state
// holds. So a promotion can be imported, and then changed or destroyed, with a
// configuration that names no more than its table. onlyImported limits that to
// imported promotions: where this configuration has set the argument before,
// leaving it out is a change, and is refused.
type kept struct{ onlyImported bool }

func (k kept) Description(context.Context) string {
	return "left out, it keeps the value in the state once the table exists"
}

func (k kept) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (k kept) keeps(ctx context.Context, config, state attr.Value, prior tfsdk.State, private privateState) bool {
	if !config.IsNull() || state.IsNull() || !tableExists(stageIn(ctx, prior)) {
		return false
	}
	if !k.onlyImported {
		return true
	}
	imported, diags := private.GetKey(ctx, importedKey)
	return !diags.HasError() && imported != nil
}

func (k kept) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if resp.PlanValue = req.ConfigValue; k.keeps(ctx, req.ConfigValue, req.StateValue, req.State, req.Private) {
		resp.PlanValue = req.StateValue
	}
}

func (k kept) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if resp.PlanValue = req.ConfigValue; k.keeps(ctx, req.ConfigValue, req.StateValue, req.State, req.Private) {
		resp.PlanValue = req.StateValue
	}
}

func (k kept) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	if resp.PlanValue = req.ConfigValue; k.keeps(ctx, req.ConfigValue, req.StateValue, req.State, req.Private) {
		resp.PlanValue = req.StateValue
	}
}

// isEnabled says whether the prior state is of an enabled promotion.
func isEnabled(ctx context.Context, state tfsdk.State) bool {
	return stageIn(ctx, state) == promotion.StageEnabled
}

// stageIn is the stage in the prior state; "" without one.
func stageIn(ctx context.Context, state tfsdk.State) promotion.Stage {
	if state.Raw.IsNull() {
		return ""
	}
	var stage types.String
	if diags := state.GetAttribute(ctx, path.Root("stage"), &stage); diags.HasError() {
		return ""
	}
	return promotion.Stage(stage.ValueString())
}
