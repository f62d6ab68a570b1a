package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
)

var _ datasource.DataSourceWithConfigure = (*lakeCompatibilityDataSource)(nil)

// lakeCompatibilityDataSource is fluss_lake_compatibility: the preview as data.
type lakeCompatibilityDataSource struct {
	data *providerData // nil while Terraform only validates
}

func newLakeCompatibilityDataSource() datasource.DataSource { return &lakeCompatibilityDataSource{} }

func (d *lakeCompatibilityDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_lake_compatibility"
}

func (d *lakeCompatibilityDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.data = fromProviderData(req.ProviderData, &resp.Diagnostics)
}

// Read reports incompatibilities as data and fails only if it could not look.
func (d *lakeCompatibilityDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	const summary = "Unable to read lake compatibility"
	var model compatibilityModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !d.data.ready() {
		resp.Diagnostics.AddError(summary, d.data.unconfigured()+
			" A data source is read in the plan. What to do: apply what the provider's configuration depends on first, or add depends_on.")
		return
	}
	ctx = d.data.secrets.context(ctx)
	report, err := lookAt(ctx, d.data, model.spec())
	if err != nil {
		resp.Diagnostics.Append(errorDiagnostics(summary, err, promotionAttributes, d.data.secrets, "")...)
		return
	}
	model.setReport(report, d.data.secrets)
	resp.Diagnostics.Append(resp.State.Set(ctx, &model)...)
}
