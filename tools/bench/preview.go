package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/widetable"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// wide is the table whose preview is measured.
const wide = "wide"

var wideOptions = widetable.Options{Partitions: 10_000, FilesPerPartition: 10, Buckets: 2, Deleted: 10_000}

var wideFiles = wideOptions.Partitions * wideOptions.FilesPerPartition

// wideLimits let the wide table be promoted: the preview must come to its end.
var wideLimits = map[string]string{"max.partition.num": "20000", "max.bucket.num": "1000000"}

// wideTable makes the wide table and measures what is wanted of it.
func (b *bench) wideTable(ctx context.Context) error {
	logf("making the Paimon table %s.%s: %d partitions", database, wide, wideOptions.Partitions)
	if err := os.MkdirAll(filepath.Dir(b.tableDir(wide)), 0o755); err != nil {
		return err
	}
	t, err := widetable.Write(b.tableDir(wide), wideOptions)
	if err != nil {
		return err
	}
	logf("made: %d files, %d manifests of %d bytes", t.Files, t.Manifests, t.ManifestBytes)
	syscall.Sync()
	if b.opt.wants(previewTime, previewMemory) {
		if err := b.previews(ctx); err != nil {
			return err
		}
	}
	if b.opt.wants(previewVsJava) {
		return b.againstJava(ctx)
	}
	return nil
}

// previews measures terraform plan of the wide table, and the memory of its
// provider.
func (b *bench) previews(ctx context.Context) error {
	if err := b.calm(ctx, "terraform plan of %d partitions, %d times", wideOptions.Partitions, planRuns); err != nil {
		return err
	}
	for range planRuns {
		cmd, out, err := b.terraform(ctx, wide, "plan")
		if err != nil {
			return err
		}
		from := time.Now()
		if err := cmd.Start(); err != nil {
			return err
		}
		w := watchChildren(cmd.Process.Pid, providerName)
		err = cmd.Wait()
		took := time.Since(from)
		provider, watchErr := w.stop()
		if err != nil {
			return failed(cmd, out, err)
		}
		if watchErr != nil {
			return watchErr
		}
		all := fmt.Sprintf("all %d.", wideOptions.Partitions)
		if !strings.Contains(out.String(), all) || !strings.Contains(out.String(), "1 to add") {
			return fmt.Errorf("terraform plan: found no preview of %q in its output:\n%s", all, out)
		}
		logf("  %.3f s; provider: %.2f s of CPU, peak %.0f MiB, output of %d bytes", took.Seconds(), (provider.user + provider.system).Seconds(), mib(provider.peak), out.Len())
		b.results.previews = append(b.results.previews, load{took: took, peak: provider.peak})
	}
	return nil
}

//go:embed PlanTable.java
var planTable []byte

// againstJava takes turns planning the wide table with Paimon's own reader and
// with ours, each in a process that begins and ends with it.
func (b *bench) againstJava(ctx context.Context) error {
	java, err := b.compileJava(ctx, "PlanTable", planTable)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	commands := [][]string{append(java, b.stack.Warehouse, database, wide), {self, planArgument, b.stack.Warehouse, database, wide}}
	if err := b.calm(ctx, "planning by Paimon Java and by this reader, %d times in turns", b.opt.rounds); err != nil {
		return err
	}
	for range b.opt.rounds {
		var said [2]string
		for i, c := range commands {
			var out, log bytes.Buffer
			cmd := exec.CommandContext(ctx, c[0], c[1:]...)
			cmd.Stdout, cmd.Stderr = &out, &log
			from := time.Now()
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s: %w\n%s", filepath.Base(c[0]), err, log.String())
			}
			took := time.Since(from)
			said[i] = strings.TrimSpace(out.String())
			logf("  %s: %.3f s wall, %.2f s of CPU", filepath.Base(c[0]), took.Seconds(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
			b.results.planned[i] = append(b.results.planned[i], took)
		}
		if said[0] != said[1] || said[0] == "" {
			return fmt.Errorf("plan of Paimon is %q (partitions, files, records, bytes), this reader %q", said[0], said[1])
		}
	}
	return nil
}

// planArgument makes this program plan a table and print what PlanTable.java
// prints. Its other arguments are the warehouse, the database, the table.
const planArgument = "plan-table"

func planOnce(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("required: warehouse, database, table")
	}
	fs, root, err := storage.Open(args[0], nil)
	if err != nil {
		return err
	}
	table, err := paimon.OpenCatalog(fs, root).Table(ctx, args[1], args[2])
	if err != nil {
		return err
	}
	snap, err := table.LatestSnapshot(ctx)
	if err != nil {
		return err
	}
	plan, err := table.Plan(ctx, snap)
	if err != nil {
		return err
	}
	var files int
	var records, size int64
	for _, p := range plan.Partitions {
		files, records, size = files+p.Files, records+p.Records, size+p.Bytes
	}
	fmt.Println(len(plan.Partitions), files, records, size)
	return nil
}
