package provider

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// working counts the calls of a Promoter under way in this process.
var working atomic.Int64

// orphanCheck is how often a provider looks whether its Terraform still lives.
const orphanCheck = time.Second

// FollowTerraform ties the life of the process to that of the Terraform that
// started it. exit is os.Exit in a program.
//
// A SIGTERM to the whole process group, as service managers and CI systems send
// it, does not kill the provider: Terraform gets it too, cancels what runs and
// ends the provider when that has wound down. Only so the journal and the state
// are true afterwards.
//
// A provider whose Terraform was killed would live on for ever, and as the owner
// of an operation it would seem alive to later applies. It ends when the calls
// under way, whose contexts are cancelled by then, have wound down, or at a
// SIGTERM.
func FollowTerraform(exit func(code int)) {
	terraform := os.Getppid()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	ticks := time.NewTicker(orphanCheck)
	safego.Start(func() error {
		for {
			select {
			case <-signals:
				if os.Getppid() != terraform {
					exit(128 + int(syscall.SIGTERM))
				}
			case <-ticks.C:
				if os.Getppid() != terraform && working.Load() == 0 {
					exit(1)
				}
			}
		}
	}, func(error) {})
}
