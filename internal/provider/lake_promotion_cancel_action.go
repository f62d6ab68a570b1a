package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

var _ action.ActionWithConfigure = (*lakePromotionCancelAction)(nil)

// defaultCancelWait is how long the action waits for the end of the operation.
const defaultCancelWait = 10 * time.Minute

// cancelAttributes are the arguments that problems of a cancellation may point to.
var cancelAttributes = attributeKinds{"database": plainAttribute, "table": plainAttribute, "reason": plainAttribute, "timeout": plainAttribute}

// lakePromotionCancelAction is fluss_lake_promotion_cancel: it asks a running
// promotion to stop and waits until its load is provably over.
type lakePromotionCancelAction struct {
	data *providerData // nil while Terraform only validates
}

type cancelModel struct {
	Database types.String `tfsdk:"database"`
	Table    types.String `tfsdk:"table"`
	Reason   types.String `tfsdk:"reason"`
	Timeout  types.String `tfsdk:"timeout"`
}

func newLakePromotionCancelAction() action.Action { return &lakePromotionCancelAction{} }

func (a *lakePromotionCancelAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_lake_promotion_cancel"
}

func (a *lakePromotionCancelAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Asks a running promotion to stop and waits until it is proven that nothing can write into its Fluss " +
			"table any more. Nothing is dropped: the next apply of the promotion loads anew, a destroy removes what is there. " +
			"The apply that runs the promotion holds its workspace's lock, so the action belongs in a root module of its own " +
			"(see the guide \"After an interruption\"). Needs Terraform 1.14; `promotionctl cancel` does the same without Terraform.",
		Attributes: map[string]schema.Attribute{
			"database": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Database of the table.",
				Validators:          []validator.String{flussNameValidator{}},
			},
			"table": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "The table whose promotion is to stop.",
				Validators:          []validator.String{flussNameValidator{}},
			},
			"reason": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Written into the journal with the request.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 1000)},
			},
			"timeout": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "How long to wait for the end, such as `30s` or `10m`. Default `10m`.",
				Validators:          []validator.String{durationValidator{}},
			},
		},
	}
}

func (a *lakePromotionCancelAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.data = fromProviderData(req.ProviderData, &resp.Diagnostics)
}

func (a *lakePromotionCancelAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	const summary = "Unable to cancel the promotion"
	var model cancelModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !a.data.ready() {
		resp.Diagnostics.AddError(summary, a.data.unconfigured())
		return
	}
	ctx = a.data.secrets.context(ctx)
	wait := defaultCancelWait
	if !model.Timeout.IsNull() {
		d, err := time.ParseDuration(model.Timeout.ValueString())
		if err != nil { // validated
			resp.Diagnostics.AddError(summary, err.Error())
			return
		}
		wait = d
	}
	limit, done := context.WithTimeout(ctx, wait)
	defer done()
	name := promotion.TableName{Database: model.Database.ValueString(), Table: model.Table.ValueString()}
	var out promotion.CancelOutcome
	err := guard(ctx, func() (err error) {
		out, err = a.data.promoter.Cancel(limit, name, stringOr(model.Reason, "cancelled with Terraform"), cancelProgress(resp.SendProgress))
		return err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		resp.Diagnostics.AddError(summary, fmt.Sprintf("Found: %s has been asked to stop, and its end was not seen within %s.\n"+
			"What to do: run the action again, with a longer timeout; the request stays.", describeOperation(out.Status), wait))
	case err != nil:
		resp.Diagnostics.Append(errorDiagnostics(summary, err, cancelAttributes, a.data.secrets, "")...)
	case !out.Requested:
		resp.SendProgress(action.InvokeProgressEvent{Message: "Nothing is running: " + describeOperation(out.Status) + "."})
	default:
		resp.SendProgress(action.InvokeProgressEvent{Message: "Stopped: " + describeOperation(out.Status) + "."})
	}
}

// progressEvery bounds how often the action says that it waits.
const progressEvery = 15 * time.Second

func cancelProgress(send func(action.InvokeProgressEvent)) func(*promotion.Status) {
	var last time.Time
	return func(st *promotion.Status) {
		if time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		send(action.InvokeProgressEvent{Message: "Waiting for the end of " + describeOperation(st) + "."})
	}
}

func describeOperation(st *promotion.Status) string {
	if st == nil {
		return "the operation"
	}
	text := fmt.Sprintf("operation %s, stage %s, %s", st.Result.OperationID, st.Result.Stage, st.Owner)
	if st.Ended != "" {
		text += ", " + string(st.Ended)
	}
	return text
}

// durationValidator accepts positive durations such as "30s".
type durationValidator struct{}

func (durationValidator) Description(context.Context) string { return "a duration above zero" }

func (v durationValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (durationValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || d <= 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid time limit",
			fmt.Sprintf("Found: %q.\nRequired: a duration above zero, such as \"30s\" or \"10m\".", req.ConfigValue.ValueString()))
	}
}
