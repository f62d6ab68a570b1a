package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
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

// isEnabled says whether the prior state is of an enabled promotion.
func isEnabled(ctx context.Context, state tfsdk.State) bool {
	if state.Raw.IsNull() {
		return false
	}
	var stage types.String
	diags := state.GetAttribute(ctx, path.Root("stage"), &stage)
	return !diags.HasError() && stage.ValueString() == string(promotion.StageEnabled)
}
