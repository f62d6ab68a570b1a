// Package provider is Terraform's face of the promotion package: it turns
// configuration into a promotion.Spec and a promotion.Result into state. It
// knows no protocol and no file format.
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Address is the provider's source address.
const Address = "registry.terraform.io/fluss-lake/fluss"

var _ provider.ProviderWithActions = (*flussProvider)(nil)

type flussProvider struct {
	version string
	factory PromoterFactory
}

// New returns the provider as it is released.
func New(version string) func() provider.Provider {
	return NewWithPromoter(version, newService)
}

// NewWithPromoter returns the provider over another Promoter. Tests use it to
// show what Terraform makes of a promoter's answers.
func NewWithPromoter(version string, factory PromoterFactory) func() provider.Provider {
	return func() provider.Provider {
		return &flussProvider{version: version, factory: factory}
	}
}

func (p *flussProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "fluss"
	resp.Version = p.version
}

func (p *flussProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Promotes existing Apache Paimon tables, in place, to datalake-enabled Apache Fluss tables.",
		Attributes: map[string]schema.Attribute{
			"bootstrap_servers": schema.ListAttribute{
				ElementType: types.StringType,
				Optional:    true,
				MarkdownDescription: "Servers of the Fluss cluster to ask first, each as `host:port`; any of them will do. " +
					"Default: the environment variable `" + envBootstrapServers + "`, separated by commas.",
				Validators: []validator.List{
					listvalidator.SizeAtLeast(1),
					listvalidator.NoNullValues(),
					listvalidator.ValueStringsAre(hostPortValidator{}),
				},
			},
			"sasl": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Login for the cluster. Not set: no authentication, unless the environment variables " +
					"below are set.",
				Attributes: map[string]schema.Attribute{
					"mechanism": schema.StringAttribute{
						Optional: true,
						MarkdownDescription: "SASL mechanism; this release has `PLAIN`. Default: the environment variable `" +
							envSASLMechanism + "`, then `PLAIN`.",
						Validators: []validator.String{stringvalidator.OneOfCaseInsensitive("PLAIN")},
					},
					"username": schema.StringAttribute{
						Optional:            true,
						MarkdownDescription: "User name. Default: the environment variable `" + envSASLUsername + "`.",
						Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
					},
					"password": schema.StringAttribute{
						Optional:            true,
						Sensitive:           true,
						MarkdownDescription: "Password. Default: the environment variable `" + envSASLPassword + "`.",
						Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
					},
				},
			},
			"lake": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "The Paimon catalog that holds the source tables. Not set: found from the cluster's own " +
					"configuration. Set: compared with it, since the cluster must tier into the same catalog.",
				Attributes: map[string]schema.Attribute{
					"warehouse": schema.StringAttribute{
						Required:            true,
						MarkdownDescription: "Path or URI of the warehouse, as the Paimon option `warehouse`.",
						Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
					},
					"metastore": schema.StringAttribute{
						Optional:            true,
						MarkdownDescription: "Kind of the catalog; this release has `filesystem`, which is also the default.",
						Validators: []validator.String{availableValidator{
							what: "Paimon metastore", available: []string{"filesystem"},
						}},
					},
					"options": schema.MapAttribute{
						ElementType:         types.StringType,
						Optional:            true,
						Sensitive:           true,
						MarkdownDescription: "Further options of the catalog by their Paimon names, such as `s3.endpoint`.",
						Validators:          []validator.Map{noNullElements{}},
					},
				},
			},
			"flink": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "The Flink cluster that loads tables with `load = { engine = \"flink\" }`. Its SQL Gateway, job manager and " +
					"task managers need the Flink connectors of Fluss and Paimon, and must reach the Fluss cluster and the warehouse under the addresses given here.",
				Attributes: map[string]schema.Attribute{
					"sql_gateway_url": schema.StringAttribute{
						Required:            true,
						MarkdownDescription: "URL of a SQL Gateway, such as `http://flink:8083`. Flink 1.18 or later; 1.20 is tested.",
						Validators:          []validator.String{urlValidator{}},
					},
					"rest_url": schema.StringAttribute{
						Optional: true,
						MarkdownDescription: "URL of the job manager's REST service, such as `http://flink:8081`. Default: where the SQL Gateway's own " +
							"configuration says (`rest.address`, `rest.port`).",
						Validators: []validator.String{urlValidator{}},
					},
					"history_server_url": schema.StringAttribute{
						Optional:            true,
						MarkdownDescription: "URL of Flink's history server, which is asked about jobs that the job manager has forgotten. Default: none.",
						Validators:          []validator.String{urlValidator{}},
					},
				},
			},
			"journal": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "The Fluss table in which promotions keep their journal. It is created on first use; all who " +
					"promote tables of one cluster must name the same.",
				Attributes: map[string]schema.Attribute{
					"database": schema.StringAttribute{
						Optional:            true,
						MarkdownDescription: "Default `" + defaultJournalDatabase + "`.",
						Validators:          []validator.String{flussNameValidator{}},
					},
					"table": schema.StringAttribute{
						Optional:            true,
						MarkdownDescription: "Default `" + defaultJournalTable + "`.",
						Validators:          []validator.String{flussNameValidator{}},
					},
				},
			},
			"max_concurrent_loads": schema.NumberAttribute{
				Optional: true,
				MarkdownDescription: "How many loads may run at a time, default 1. Terraform starts up to ten resources at once; " +
					"the others wait for their turn, which counts towards their time limit.",
				Validators: []validator.Number{wholeNumber{min: 1, max: 64}},
			},
		},
	}
}

func (p *flussProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	data := &providerData{claims: newClaims(), running: newRunning()}
	resp.ResourceData, resp.DataSourceData, resp.ActionData = data, data, data

	var model providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if data.unknown = model.unknown(); data.unknown != "" {
		return // a plan before something exists that the configuration needs
	}
	cfg, diags := model.config(environment())
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	cfg.UserAgent = "terraform-provider-fluss/" + p.version
	data.secrets = cfg.Secrets()

	promoter, err := p.factory(cfg)
	if err != nil {
		resp.Diagnostics.Append(errorDiagnostics("Unable to configure the provider", err, providerAttributes, data.secrets, "")...)
		return
	}
	data.promoter = promoter
}

func (p *flussProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newLakePromotionResource}
}

func (p *flussProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{newLakePromotionCancelAction}
}

func (p *flussProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{newLakeCompatibilityDataSource}
}
