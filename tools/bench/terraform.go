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
	// ours is what the provider is called in the results.
	ours         = "terraform apply"
	providerName = "terraform-provider-fluss"
)

func oursTable(round int) string { return fmt.Sprintf("ours_%d", round) }

// installProvider copies the built provider to where Terraform is told to find it.
func (b *bench) installProvider(built string) error {
	binary, err := os.ReadFile(built)
	if err != nil {
		return fmt.Errorf("the provider is not built, run make build: %w", err)
	}
	bin := filepath.Join(b.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, providerName), binary, 0o755); err != nil {
		return err
	}
	return os.WriteFile(b.cliConfig(), fmt.Appendf(nil, "provider_installation {\n  dev_overrides {\n    \"fluss-lake/fluss\" = %q\n  }\n  direct {}\n}\n", bin), 0o644)
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

// terraform makes a command in a folder of the table's own. It gets none of the
// settings that the caller's environment may hold for Terraform or the provider.
func (b *bench) terraform(ctx context.Context, table string, args ...string) (*exec.Cmd, *bytes.Buffer, error) {
	dir := filepath.Join(b.dir, table)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	text := fmt.Appendf(nil, configuration, b.stack.Bootstrap, database, table)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), text, 0o644); err != nil {
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
	return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, out)
}

// plans measures terraform plan of a table that was not promoted yet, as the
// user waits for it: Terraform's own start included.
func (b *bench) plans(ctx context.Context) error {
	if _, err := b.settle(ctx); err != nil {
		return err
	}
	average, err := loadAverage()
	if err != nil {
		return err
	}
	logf("terraform plan, %d times (load average %s)", planRuns, average)
	for range planRuns {
		cmd, out, err := b.terraform(ctx, oursTable(1), "plan")
		if err != nil {
			return err
		}
		from := time.Now()
		if err := cmd.Run(); err != nil {
			return failed(cmd, out, err)
		}
		took := time.Since(from)
		if !strings.Contains(out.String(), "Lake promotion preview") || !strings.Contains(out.String(), "1 to add") {
			return fmt.Errorf("terraform plan: found no preview of a promotion in its output:\n%s", out)
		}
		logf("  %.3f s", took.Seconds())
		b.results.plans = append(b.results.plans, took)
	}
	return nil
}

// apply promotes a copy of the source. Its time is that of the load stage, by
// the journal; the wall time is that of the whole command.
func (b *bench) apply(ctx context.Context, j job) (load, error) {
	table := oursTable(j.round)
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
	return l, b.cluster.holds(ctx, table, j.rows)
}
