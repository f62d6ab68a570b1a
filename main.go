// Command terraform-provider-fluss serves the provider to Terraform.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	godebug "runtime/debug"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/fluss-lake/terraform-provider-fluss/internal/provider"
)

// version is set by the release build.
var version = "dev"

// memoryLimit is where the garbage collector begins to work harder, in bytes.
// A load holds about half of it; without a limit the heap would grow to twice
// of what it holds. GOMEMLIMIT overrides it.
const memoryLimit = 192 << 20

func main() {
	debug := flag.Bool("debug", false, "serve on its own for a debugger; prints how Terraform attaches")
	flag.Parse()

	if os.Getenv("GOMEMLIMIT") == "" {
		godebug.SetMemoryLimit(memoryLimit)
	}
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
