package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

const (
	minTerraform = 11 // 1.11
	minPython    = 9  // 3.9
)

// needed says of everything that the demonstration starts whether it is there
// and new enough, before anything else is done: all that is wrong at once.
func needed(ctx context.Context) error {
	_, javaErr := stack.FindJava(ctx)
	err := errors.Join(javaErr, python(ctx), terraform(ctx))
	if err != nil {
		return fmt.Errorf("what it needs is not complete:\n%w", err)
	}
	return nil
}

func python(ctx context.Context) error {
	exe, err := stack.FindPython()
	if err != nil {
		return err
	}
	return atLeast(ctx, "Python", exe, []string{"--version"}, regexp.MustCompile(`Python 3\.([0-9]+)`), "3", minPython)
}

func terraform(ctx context.Context) error {
	exe, err := exec.LookPath("terraform")
	if err != nil {
		return fmt.Errorf("Terraform is missing: no terraform on PATH; Terraform 1.%d or later is required", minTerraform) //nolint:staticcheck // a name
	}
	return atLeast(ctx, "Terraform", exe, []string{"version", "-json"}, regexp.MustCompile(`"terraform_version": *"1\.([0-9]+)`), "1", minTerraform)
}

// atLeast runs a tool and wants the minor version that the pattern finds.
func atLeast(ctx context.Context, name, exe string, args []string, pattern *regexp.Regexp, major string, minor int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, exe, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s cannot be run: %w: %.200s", name, exe, err, out)
	}
	found := pattern.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("%s: %s says %.200q; %s.%d or later of major version %s is required", name, exe, out, major, minor, major)
	}
	if n, err := strconv.Atoi(string(found[1])); err != nil || n < minor {
		return fmt.Errorf("%s %s.%d or later is required, found %s.%s at %s", name, major, minor, major, found[1], exe)
	}
	return nil
}
