package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

var (
	_ resource.ResourceWithConfigure   = (*lakePromotionResource)(nil)
	_ resource.ResourceWithIdentity    = (*lakePromotionResource)(nil)
	_ resource.ResourceWithImportState = (*lakePromotionResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*lakePromotionResource)(nil)
)

// lakePromotionResource is fluss_lake_promotion. Its lifecycle follows what
// Terraform was measured to do with each outcome: see outcome in
// lake_promotion_run.go.
type lakePromotionResource struct {
	data *providerData // nil while Terraform only validates
}

func newLakePromotionResource() resource.Resource { return &lakePromotionResource{} }

// readTimeout bounds a Read and a plan's look at the cluster. Terraform has no
// limit of its own for either.
const readTimeout = 5 * time.Minute

// importedKey marks a state that an import has filled, in private state, as
// importedNew until the first update and importedOld after that. Losing it only
// makes a plan stricter.
const (
	importedKey = "imported"
	importedNew = `true`
	importedOld = `"updated"`
)

// plannedKey marks in private state that a plan was made of a prior state, which
// tells the second half of a replacement from the creation of another resource.
const plannedKey = "planned"

func (r *lakePromotionResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_lake_promotion"
}

func (r *lakePromotionResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.data = fromProviderData(req.ProviderData, &resp.Diagnostics)
}

func (r *lakePromotionResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan promotionModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, diags := plan.Timeouts.Create(ctx, defaultCreateTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	state, diags := r.run(ctx, &plan, nil, timeLimit{option: "create", duration: limit})
	resp.Diagnostics.Append(diags...)
	// After an error there must be no state: with one, Terraform would mark the
	// resource as tainted and plan to destroy it.
	if state == nil || resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(writeState(ctx, &resp.State, resp.Identity, state)...)
}

func (r *lakePromotionResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, prior promotionModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if prior.enabled() {
		// ModifyPlan lets only settings through here that are Terraform's own or
		// have had their effect: nothing is to be asked or changed.
		plan.setResultsFrom(&prior)
		resp.Diagnostics.Append(importSettled(ctx, req.Private, resp.Private)...)
		resp.Diagnostics.Append(writeState(ctx, &resp.State, resp.Identity, &plan)...)
		return
	}
	limit, diags := plan.Timeouts.Update(ctx, defaultUpdateTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	state, diags := r.run(ctx, &plan, &prior, timeLimit{option: "update", duration: limit})
	resp.Diagnostics.Append(diags...)
	if state == nil {
		return // the prior state stays
	}
	resp.Diagnostics.Append(importSettled(ctx, req.Private, resp.Private)...)
	resp.Diagnostics.Append(writeState(ctx, &resp.State, resp.Identity, state)...)
}

func (r *lakePromotionResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state promotionModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	// Terraform before 1.12 keeps no identity, and every Read must return one.
	resp.Diagnostics.Append(writeIdentity(ctx, resp.Identity, &state)...)
	if !r.data.ready() {
		if state.imported() {
			resp.Diagnostics.AddError("Unable to import lake promotion",
				r.data.unconfigured()+" An import reads the promotion from the cluster.")
		}
		return
	}
	ctx = r.data.secrets.context(ctx)
	readCtx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var obs *promotion.Observation
	err := guard(ctx, func() (err error) {
		obs, err = r.data.promoter.Observe(readCtx, state.ref())
		return err
	})
	if err == nil && obs == nil {
		err = errors.New("internal error: no observation; this is a defect of the provider, please report it")
	}
	if err != nil {
		resp.Diagnostics.Append(errorDiagnostics("Unable to read lake promotion", err, promotionAttributes, r.data.secrets,
			fmt.Sprintf("The state of %s is kept as it was.", state.name()))...)
		return
	}
	resp.Diagnostics.Append(warningDiagnostics(obs.Warnings, state.name(), promotionAttributes, r.data.secrets)...)
	if obs.Gone {
		resp.Diagnostics.AddWarning(named("Lake promotion is gone", state.name()), r.data.secrets.clean(joinParagraphs(
			sentence(obs.GoneReason), "It is removed from the state.")))
		resp.State.RemoveResource(ctx)
		return
	}
	if state.imported() {
		state.fillArguments(obs.Spec, obs.Result.SelectedPartitions)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedKey, []byte(importedNew))...)
	}
	state.setResult(obs.Result)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

func (r *lakePromotionResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state promotionModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	const summary = "Unable to destroy lake promotion"
	if !r.data.ready() {
		resp.Diagnostics.AddError(summary, r.data.unconfigured())
		return
	}
	limit, diags := state.Timeouts.Delete(ctx, defaultDeleteTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := state.name()
	if !r.data.running.start(name) {
		resp.Diagnostics.AddError(summary, busyText(name))
		return
	}
	defer r.data.running.stop(name)

	ctx = r.data.secrets.context(ctx)
	removeCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := guard(ctx, func() error {
		return r.data.promoter.Remove(removeCtx, state.ref(), state.removeOptions())
	})
	if err == nil {
		return
	}
	tail := ""
	if ctx.Err() == nil && errors.Is(removeCtx.Err(), context.DeadlineExceeded) {
		tail = timeLimit{option: "delete", duration: limit}.text()
	}
	resp.Diagnostics.Append(errorDiagnostics(summary, err, promotionAttributes, r.data.secrets, tail)...)
}

func (r *lakePromotionResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var id promotionIdentity
	if req.ID == "" && req.Identity != nil && !req.Identity.Raw.IsNull() {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		if resp.Diagnostics.HasError() {
			return
		}
		if !validFlussName(id.Database.ValueString()) || !validFlussName(id.Table.ValueString()) {
			resp.Diagnostics.AddError("Invalid import identity", fmt.Sprintf("Found: database = %s, table = %s.\nRequired: of each, %s.",
				id.Database, id.Table, flussNameText))
			return
		}
	} else {
		name, ok := nameFromID(req.ID)
		if !ok {
			resp.Diagnostics.AddError("Invalid import ID", fmt.Sprintf(
				"Found: %q.\nRequired: database.table, such as sales.orders, without quotes; of each, %s.", req.ID, flussNameText))
			return
		}
		id = promotionIdentity{Database: types.StringValue(name.Database), Table: types.StringValue(name.Table)}
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("database"), id.Database)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("table"), id.Table)...)
	if resp.Identity != nil {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
	}
}

// nameFromID reads an import ID, "database.table". Neither name can have a dot.
func nameFromID(id string) (name promotion.TableName, ok bool) {
	database, table, _ := strings.Cut(id, ".")
	return promotion.TableName{Database: database, Table: table}, validFlussName(database) && validFlussName(table)
}

// privateState is what the framework's requests and responses have of it.
type privateState interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// importSettled notes that an imported promotion has been updated: from now on
// what the configuration sets is compared with the state.
func importSettled(ctx context.Context, was, now privateState) diag.Diagnostics {
	imported, diags := was.GetKey(ctx, importedKey)
	if imported != nil {
		diags.Append(now.SetKey(ctx, importedKey, []byte(importedOld))...)
	}
	return diags
}

// writeState writes state and identity. It must work after a cancellation: what
// was reached has to be saved just then.
func writeState(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, m *promotionModel) diag.Diagnostics {
	ctx = context.WithoutCancel(ctx)
	diags := state.Set(ctx, m)
	diags.Append(writeIdentity(ctx, identity, m)...)
	return diags
}

func writeIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, m *promotionModel) diag.Diagnostics {
	if identity == nil {
		return nil
	}
	return identity.Set(ctx, m.identity())
}
