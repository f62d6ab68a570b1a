package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

const (
	summaryPreview = "Lake promotion preview"
	summarySkipped = "Lake promotion preview skipped"
)

// ModifyPlan is the preview. It runs in the plan and, in a new process, again
// at apply before Create; what it makes known must be the same both times. So
// it makes nothing known that may move: the results of a promotion are unknown
// until it is enabled, and never change after that.
//
// Terraform destroy makes two plans: first an ordinary one of the configuration,
// which a provider can't tell from any other and whose errors end it, then one
// with a null plan for each resource. Only -refresh=false leaves the first out.
// So what is in the state must not get errors for what a destroy would mend.
func (r *lakePromotionResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.data == nil {
		return
	}
	ctx = r.data.secrets.context(ctx)
	if req.Plan.Raw.IsNull() {
		var state promotionModel
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(r.planRemoval(ctx, state.ref(), state.removeOptions())...)
		}
		return
	}
	var plan, config promotionModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	var prior *promotionModel
	if !req.State.Raw.IsNull() {
		prior = &promotionModel{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}

	if prior != nil {
		imported, diags := req.Private.GetKey(ctx, importedKey)
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(refuseChanges(prior, &plan, &config, string(imported) == importedNew)...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	replacing, diags := req.Private.GetKey(ctx, plannedKey)
	resp.Diagnostics.Append(diags...)
	own, replaced, conflict := r.claim(ctx, &plan, prior, replacing != nil)
	defer func() { own.decide(resp.Diagnostics.HasError()) }()
	if text := conflict.text(plan.name()); text != "" {
		resp.Diagnostics.AddAttributeError(path.Root("table"), "Table is promoted twice", text)
		return
	}
	if prior != nil {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, plannedKey, []byte(`true`))...)
	}

	if prior != nil && prior.enabled() {
		plan.setResultsFrom(prior)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
		return // only settings change: nothing to look at
	}
	plan.setResultsUnknown(&config)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if name := plan.unknownInput(&config); name != "" {
		resp.Diagnostics.AddAttributeWarning(path.Root(name), summarySkipped,
			fmt.Sprintf("The argument %q is not known yet. The promotion is checked at apply, before anything is changed.", name))
		return
	}
	if !r.data.ready() {
		resp.Diagnostics.AddWarning(summarySkipped,
			r.data.unconfigured()+" The promotion is checked at apply, before anything is changed.")
		return
	}
	if replaced != nil {
		resp.Diagnostics.Append(r.planRemoval(ctx, replaced.ref, replaced.opts)...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	spec := specFor(&plan, prior)
	if replaced != nil {
		// Complete now and gone when the new one is created: not in the way.
		// Of this half of a replacement Terraform shows errors, but no warnings.
		spec.OperationID = replaced.ref.OperationID
	}
	diags = r.preview(ctx, spec)
	switch {
	case prior != nil:
		diags = withoutErrors(diags, plan.name())
	case replaced != nil && diags.HasError():
		diags.AddError("Lake promotion can't be made again", fmt.Sprintf(
			"This plan replaces the promotion of %s, and what is wrong with it would be found only after the Fluss table was dropped.\n"+
				"What to do: mend what the other errors say. To drop the Fluss table and not promote again: "+
				"terraform destroy -refresh=false -target=ADDRESS, which does not plan a promotion first.", plan.name()))
	}
	resp.Diagnostics.Append(diags...)
}

// withoutErrors makes one warning of all errors about a promotion that is in the
// state. Terraform destroy plans the configuration first, as any plan, and an
// error would keep it from destroying what can't go on. Nothing is lost: the
// Update of an apply looks again and refuses.
func withoutErrors(diags diag.Diagnostics, name promotion.TableName) diag.Diagnostics {
	if !diags.HasError() {
		return diags
	}
	parts := []string{"It is unfinished, and terraform apply will refuse to go on with it for what follows. terraform destroy removes it."}
	for _, d := range diags.Errors() {
		parts = append(parts, sentence(d.Summary())+"\n"+d.Detail())
	}
	var out diag.Diagnostics
	out.Append(diags.Warnings()...)
	out.AddWarning(named("Lake promotion can't go on", name), joinParagraphs(parts...))
	return out
}

// specFor is what Run is asked for: the plan, and the operation that the state
// knows.
func specFor(plan, prior *promotionModel) promotion.Spec {
	spec := plan.spec()
	if prior != nil {
		spec.OperationID = prior.OperationID.ValueString()
	}
	return spec
}

// claim enters the resource into the claims of this walk. replaced is the
// promotion that is removed first, if this is the second half of a replacement.
func (r *lakePromotionResource) claim(ctx context.Context, plan, prior *promotionModel, replacing bool) (own *creation, replaced *priorClaim, found conflict) {
	if prior != nil {
		return nil, nil, r.data.claims.existing(ctx, prior.ref(), prior.removeOptions())
	}
	if plan.Database.IsUnknown() || plan.Table.IsUnknown() {
		return nil, nil, noConflict
	}
	return r.data.claims.created(plan.name(), replacing)
}

// text is the message about a conflict; "" without one.
func (c conflict) text(name promotion.TableName) string {
	switch c {
	case secondOne:
		return fmt.Sprintf("Found: another resource of this configuration for %s.\nRequired: one resource for a table.\n"+
			"What to do: remove one of them; for one that is in the state already use a removed block with destroy = false.", name)
	case rightfulOne:
		return fmt.Sprintf("Found: another resource of this configuration is to be created for %s, the table of this one.\n"+
			"Required: one resource for a table.\nWhat to do: remove the other one. This one is in the state and needs no change.", name)
	}
	return ""
}

// planRemoval asks whether a removal would be refused, so that it is the plan
// that fails and not the apply.
func (r *lakePromotionResource) planRemoval(ctx context.Context, ref promotion.Ref, opts promotion.RemoveOptions) diag.Diagnostics {
	if !r.data.ready() {
		return nil // Delete checks the same
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err := guard(ctx, func() error { return r.data.promoter.CheckRemove(ctx, ref, opts) })
	if err == nil {
		return nil
	}
	return errorDiagnostics("Lake promotion can't be destroyed", err, promotionAttributes, r.data.secrets, "")
}

// preview fails with one diagnostic for each incompatibility, or warns once with
// what apply would do.
func (r *lakePromotionResource) preview(ctx context.Context, spec promotion.Spec) diag.Diagnostics {
	var diags diag.Diagnostics
	report, err := lookAt(ctx, r.data, spec)
	if err != nil {
		return errorDiagnostics("Unable to preview lake promotion", err, promotionAttributes, r.data.secrets, "")
	}
	for _, p := range report.Errors() {
		diags.Append(problemDiagnostic(p, promotionAttributes, r.data.secrets, ""))
	}
	if diags.HasError() {
		return diags
	}
	diags.AddWarning(named(summaryPreview, spec.Name), r.data.secrets.clean(previewText(report, spec)))
	return diags
}

// lookAt runs a preview within a time limit of its own: Terraform sets none for
// plans.
func lookAt(ctx context.Context, data *providerData, spec promotion.Spec) (*promotion.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var report *promotion.Report
	err := guard(ctx, func() (err error) {
		report, err = data.promoter.Preview(ctx, spec)
		return err
	})
	if err == nil && report == nil {
		err = errors.New("internal error: no report; this is a defect of the provider, please report it")
	}
	return report, err
}

// refuseChanges says which arguments can't be changed. No argument replaces the
// resource: a replacement would drop a Fluss table that others use, and nothing
// in a plan should do that unasked.
//
// imported says that the state comes from an import: what the journal does not
// tell is null there and may be filled in.
func refuseChanges(prior, plan, config *promotionModel, imported bool) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, name := range []struct {
		attribute   string
		prior, plan attr.Value
	}{
		{"database", prior.Database, plan.Database},
		{"table", prior.Table, plan.Table},
	} {
		if changed(name.prior, name.plan) {
			diags.AddAttributeError(path.Root(name.attribute), "Lake promotion can't move to another table", fmt.Sprintf(
				"Found: this resource is the promotion of %s, and %s is to become %s.\n"+
					"Required: a resource of its own for each table.\n"+
					"What to do: let Terraform forget this promotion and leave it as it is:\n\n"+
					"    removed {\n      from = fluss_lake_promotion.NAME\n      lifecycle { destroy = false }\n    }\n\n"+
					"and write a new resource for the other table. If that is promoted already: terraform import fluss_lake_promotion.NAME DATABASE.TABLE",
				prior.name(), name.attribute, name.plan))
		}
	}
	if diags.HasError() || !tableExists(prior.stage()) {
		return diags
	}

	refuse := func(attribute string, was, wanted attr.Value, why, fix string) {
		switch {
		case !changed(was, wanted):
		case imported && was.IsNull():
			diags.AddAttributeWarning(path.Root(attribute), named(attribute+" is taken as it is after an import", prior.name()), fmt.Sprintf(
				"Found: %s for an imported promotion, of which the journal does not tell this argument.\n"+
					"It is written to the state, compared with nothing, and changes nothing.", valueText(wanted)))
		default:
			diags.AddAttributeError(path.Root(attribute), "Argument can't be changed after the table was created", fmt.Sprintf(
				"Found: %s is to change %s; the promotion of %s is at stage %s.\nWhy: %s\nWhat to do: set it back, or %s",
				attribute, changeText(was, wanted), prior.name(), prior.stage(), why, fix))
		}
	}
	// terraform destroy plans the configuration first, and this error ends that
	// plan too.
	const again = "destroy this promotion (terraform destroy -refresh=false; the Paimon table and its rows stay) and promote the table again."
	refuse("partitions", prior.Partitions, plan.Partitions,
		"the partitions that Fluss holds are chosen when the promotion begins; this release can't add or leave any later.", again)
	refuse("table_properties", prior.TableProperties, plan.TableProperties,
		"the properties are set when the Fluss table is created; this release doesn't alter them later.",
		"change the Fluss table itself (ALTER TABLE … SET in Flink SQL) and leave the argument as it is, or "+again)
	refuse("lake_layout", prior.LakeLayout, plan.LakeLayout,
		"the layout of the Paimon table was settled when the Fluss table was created.", again)
	if !unfinished(prior.stage()) && !config.SourceSnapshotID.IsNull() {
		refuse("source_snapshot_id", prior.SourceSnapshotID, config.SourceSnapshotID,
			"this snapshot was promoted; what was written since came through Fluss.", again)
	}
	return diags
}

// changed says whether a planned value is known to differ from the prior one.
func changed(prior, planned attr.Value) bool {
	return whollyKnown(planned) && !planned.Equal(prior)
}

// tableExists says whether an operation at this stage has a Fluss table that was
// made with its arguments.
func tableExists(stage promotion.Stage) bool {
	switch stage {
	case "", promotion.StageValidated, promotion.StageFailed:
		return false
	}
	return true
}

// unfinished says whether a promotion at this stage has not been enabled.
func unfinished(stage promotion.Stage) bool {
	return stage != promotion.StageEnabled && stage != promotion.StageDisabled
}

// valueText is a value for a message. Of a map it tells the keys only: property
// values may be secret, and a provider is not told which are.
func valueText(v attr.Value) string {
	if v.IsNull() {
		return "unset"
	}
	if m, ok := v.(types.Map); ok {
		return fmt.Sprintf("values for %s", quoteList(slices.Sorted(maps.Keys(m.Elements()))))
	}
	return v.String()
}

// changeText says how a value is to change; of a map, which keys.
func changeText(was, wanted attr.Value) string {
	from, fromMap := was.(types.Map)
	to, toMap := wanted.(types.Map)
	if !fromMap || !toMap {
		return fmt.Sprintf("from %s to %s", valueText(was), valueText(wanted))
	}
	keys := map[string]bool{}
	for _, pair := range [][2]types.Map{{from, to}, {to, from}} {
		other := pair[1].Elements()
		for key, value := range pair[0].Elements() {
			if o, ok := other[key]; !ok || !o.Equal(value) {
				keys[key] = true
			}
		}
	}
	return "for " + quoteList(slices.Sorted(maps.Keys(keys)))
}
