// Command terraform-provider-fluss serves the provider to Terraform.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/fluss-lake/terraform-provider-fluss/internal/provider"
)

// version is set by the release build.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve on its own for a debugger; prints how Terraform attaches")
	flag.Parse()

	if !*debug {
		provider.FollowTerraform(os.Exit)
	}
	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address:         provider.Address,
		Debug:           *debug,
		ProtocolVersion: 6,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-fluss:", err)
		os.Exit(1)
	}
}
