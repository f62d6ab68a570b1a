package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// plans measures terraform plan of a table that was not promoted yet, as the
// user waits for it: Terraform's own start included.
func (b *bench) plans(ctx context.Context) error {
	if err := b.makeSource(ctx, source); err != nil {
		return err
	}
	if err := b.calm(ctx, "terraform plan, %d times", planRuns); err != nil {
		return err
	}
	for range planRuns {
		cmd, out, err := b.terraform(ctx, source, "plan")
		if err != nil {
			return err
		}
		took, err := planned(cmd, out, "Lake promotion preview")
		if err != nil {
			return err
		}
		logf("  %.3f s", took.Seconds())
		b.results.plans = append(b.results.plans, took)
	}
	return nil
}

// calm waits until the servers are quiet and says what is measured now.
func (b *bench) calm(ctx context.Context, format string, args ...any) error {
	if _, err := b.settle(ctx); err != nil {
		return err
	}
	average, err := loadAverage()
	if err != nil {
		return err
	}
	logf("%s (load average %s)", fmt.Sprintf(format, args...), average)
	return nil
}

// planned times a plan that is to add one resource and to say the text.
func planned(cmd *exec.Cmd, out *bytes.Buffer, text string) (time.Duration, error) {
	from := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, failed(cmd, out, err)
	}
	took := time.Since(from)
	if !strings.Contains(out.String(), text) || !strings.Contains(out.String(), "1 to add") {
		return 0, fmt.Errorf("terraform plan: found no %q of one resource to add in its output:\n%s", text, out)
	}
	return took, nil
}

const nullConfiguration = `terraform {
  required_providers {
    nothing = {
      source = "fluss-lake/nothing"
    }
  }
}

resource "nothing" "bench" {
  name = "bench"
}
`

// coldStarts takes turns planning a small table, and a resource of a provider
// that does nothing: what is left of the difference is this provider's.
func (b *bench) coldStarts(ctx context.Context) error {
	if err := b.makeSource(ctx, small); err != nil {
		return err
	}
	if err := b.calm(ctx, "terraform plan of %d rows and of a provider that does nothing, %d times in turns", smallRows, planRuns); err != nil {
		return err
	}
	for run := range planRuns + 1 {
		cmd, out, err := b.terraformWith(ctx, "nothing", nullConfiguration, "plan")
		if err != nil {
			return err
		}
		null, err := planned(cmd, out, "nothing.bench")
		if err != nil {
			return err
		}
		if cmd, out, err = b.terraform(ctx, small, "plan"); err != nil {
			return err
		}
		own, err := planned(cmd, out, "Lake promotion preview")
		if err != nil {
			return err
		}
		if run == 0 {
			continue // the programs are read from the disk
		}
		logf("  %.3f s, with nothing to do %.3f s", own.Seconds(), null.Seconds())
		b.results.colds[0], b.results.colds[1] = append(b.results.colds[0], null), append(b.results.colds[1], own)
	}
	return nil
}
