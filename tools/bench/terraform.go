package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// What the provider is called in the results: with the source, with the large
	// table, with that of many columns.
	ours         = "terraform apply"
	oursLarge    = "terraform apply, ten times the rows"
	oursBroad    = "terraform apply, large values"
	providerName = "terraform-provider-fluss"
	nullName     = "terraform-provider-nothing"
)

func oursTable(j job) string { return fmt.Sprintf("ours_%s_%d", j.source, j.round) }

// installProviders copies the built provider, and the one that does nothing, to
// where Terraform is told to find them: a build during the run must not change
// what is measured.
func (b *bench) installProviders() error {
	bin := filepath.Join(b.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for name, built := range map[string]string{providerName: providerName, nullName: "nullprovider"} {
		binary, err := os.ReadFile(filepath.Join(b.root, "bin", built))
		if err != nil {
			return fmt.Errorf("the provider is not built, run make build: %w", err)
		}
		if err := os.WriteFile(filepath.Join(bin, name), binary, 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(b.cliConfig(), fmt.Appendf(nil, "provider_installation {\n  dev_overrides {\n    \"fluss-lake/fluss\"   = %q\n    \"fluss-lake/nothing\" = %q\n  }\n  direct {}\n}\n", bin, bin), 0o644)
}

func (b *bench) cliConfig() string { return filepath.Join(b.dir, "terraform.rc") }

const configuration = `terraform {
  required_providers {
    fluss = {
      source = "fluss-lake/fluss"
    }
  }
}

provider "fluss" {
  bootstrap_servers = [%q]
}

resource "fluss_lake_promotion" "bench" {
  database       = %q
  table          = %q
  prepare_source = true
  lake_layout    = "legacy"
  verification   = "none"
}
`

// terraform makes a command about the promotion of one table.
func (b *bench) terraform(ctx context.Context, table string, args ...string) (*exec.Cmd, *bytes.Buffer, error) {
	return b.terraformWith(ctx, table, fmt.Sprintf(configuration, b.stack.Bootstrap, database, table), args...)
}

// terraformWith makes a command in a folder of its own. It gets none of the
// settings that the caller's environment may hold for Terraform or the provider.
func (b *bench) terraformWith(ctx context.Context, name, text string, args ...string) (*exec.Cmd, *bytes.Buffer, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "terraform", append(args, "-input=false", "-no-color")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") && !strings.HasPrefix(v, "FLUSS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TF_CLI_CONFIG_FILE="+b.cliConfig(), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	// Ctrl-C reaches the whole process group: Terraform must get one interrupt,
	// from here, since it kills its providers at the second.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	return cmd, &out, nil
}

func failed(cmd *exec.Cmd, out *bytes.Buffer, err error) error {
	return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, lastLines(out.String(), 40))
}

// apply promotes a copy of the source. Its time is that of the load stage, by
// the journal; the wall time is that of the whole command.
func (b *bench) apply(ctx context.Context, j job) (load, error) {
	table := oursTable(j)
	if err := b.duplicate(j.source, table); err != nil {
		return load{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, aTurn)
	defer cancel()
	cmd, out, err := b.terraform(ctx, table, "apply", "-auto-approve")
	if err != nil {
		return load{}, err
	}
	m, err := b.meter()
	if err != nil {
		return load{}, err
	}
	if err := cmd.Start(); err != nil {
		return load{}, err
	}
	w := watchChildren(cmd.Process.Pid, providerName)
	err = cmd.Wait()
	provider, watchErr := w.stop()
	if err != nil {
		return load{}, failed(cmd, out, err)
	}
	if watchErr != nil {
		return load{}, watchErr
	}
	l, err := m.stop()
	if err != nil {
		return load{}, err
	}
	l.peak, l.user, l.system = provider.peak, provider.user, provider.system
	l.client = provider.user + provider.system
	if l.took, err = b.cluster.loadTime(ctx, table); err != nil {
		return load{}, err
	}
	logf("  provider: %.2f s user and %.2f s system CPU, peak %.0f MiB in %d samples; terraform apply took %.2f s",
		l.user.Seconds(), l.system.Seconds(), mib(l.peak), provider.samples, l.wall.Seconds())
	return l, b.loaded(ctx, table, j.rows)
}
