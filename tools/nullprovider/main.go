// Command nullprovider is a Terraform provider that does nothing: one resource
// that keeps its name. A plan with it takes what Terraform and the plugin
// framework take; tools/bench compares the provider's start with it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return nothing{} },
		providerserver.ServeOpts{Address: "registry.terraform.io/fluss-lake/nothing"})
	if err != nil {
		fmt.Fprintln(os.Stderr, "nullprovider:", err)
		os.Exit(1)
	}
}

type nothing struct{}

func (nothing) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "nothing"
}

func (nothing) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (nothing) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (nothing) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (nothing) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return thing{} }}
}

// thing is the resource "nothing".
type thing struct{}

type thingModel struct {
	Name types.String `tfsdk:"name"`
}

func (thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "nothing"
}

func (thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"name": schema.StringAttribute{Required: true}}}
}

func (thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// Read leaves the state as it is.
func (thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m thingModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
