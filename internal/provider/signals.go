package provider

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// OutliveTermination keeps a SIGTERM to the whole process group, as service
// managers and CI systems send it, from killing the provider at once. Terraform
// gets the signal too, cancels what runs and ends the provider when that has
// wound down; only so the journal and the state are true afterwards. A provider
// whose Terraform has gone dies of SIGTERM as any process does:
// it then calls exit, which is os.Exit in a program.
func OutliveTermination(exit func(code int)) {
	terraform := os.Getppid()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	safego.Start(func() error {
		for range signals {
			if os.Getppid() != terraform {
				exit(128 + int(syscall.SIGTERM))
			}
		}
		return nil
	}, func(error) {})
}
