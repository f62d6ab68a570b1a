// Command demo promotes a sample Paimon table on a real stack on this machine
// and shows the proof.
//
// usage: demo up | down
//
// up starts ZooKeeper, a Fluss coordinator and a tablet server on loopback (or
// uses the ones it started before), runs terraform init, plan and apply on
// examples/quickstart, and compares rows looked up through Fluss, by Fluss's own
// Python client, with the rows of the Paimon table. It leaves the stack running.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

const (
	database = "sales"
	table    = "orders"
	version  = "0.1.0"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "up":
		err = up(ctx)
	case len(os.Args) == 2 && os.Args[1] == "down":
		err = down(ctx)
	default:
		err = errors.New("usage: demo up | down")
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		// What follows an interrupt are the complaints of what it has ended.
		fmt.Fprintln(os.Stderr, "demo: interrupted; make demo goes on from where it stopped, make demo-down stops what is running and removes it")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "demo: "+strings.TrimPrefix(err.Error(), "stack: "))
		os.Exit(1)
	}
}

// demo is where everything of one demonstration lies.
type demo struct {
	root string // of the repository
	dir  string // of the demonstration
}

func locate() (demo, error) {
	root, err := stack.RepositoryRoot()
	if err != nil {
		return demo{}, err
	}
	return demo{root: root, dir: filepath.Join(root, ".stack", "demo")}, nil
}

func (d demo) stackDir() string  { return filepath.Join(d.dir, "stack") }
func (d demo) warehouse() string { return filepath.Join(d.dir, "warehouse") }
func (d demo) work() string      { return filepath.Join(d.dir, "terraform") }
func (d demo) samples() string   { return filepath.Join(d.root, "testdata", "demo") }

func say(format string, args ...any) { fmt.Printf("\n== "+format+"\n", args...) }

func up(ctx context.Context) error {
	d, err := locate()
	if err != nil {
		return err
	}
	if err := needed(ctx); err != nil {
		return err
	}
	if err := d.sample(); err != nil {
		return err
	}
	s, err := d.start(ctx)
	if err != nil {
		return err
	}
	if err := d.terraform(ctx, s); err != nil {
		return err
	}
	if err := d.proof(ctx, s); err != nil {
		return err
	}
	say("The stack is left running")
	fmt.Printf(`Fluss:      %s (bootstrap server)
Warehouse:  %s
Terraform:  %s

To look around:
  # the Paimon table's rows
  %s -warehouse %s -table %s.%s
  # what was said of the table before it was promoted: the report on the sample itself
  %s -warehouse %s -table %s.%s -report -generation 0.9
  # the servers; their logs are in %s/logs
  %s status -dir %s
  # Terraform: plan, destroy, and apply again
  cd %s && export TF_CLI_CONFIG_FILE=%s FLUSS_BOOTSTRAP_SERVERS=%s && terraform plan
To stop it and remove its folder:
  make demo-down
`, s.Bootstrap, d.warehouse(), d.work(),
		d.bin("paimoncat"), d.warehouse(), database, table, d.bin("paimoncat"), d.samples(), database, table,
		d.stackDir(), d.bin("stack"), d.stackDir(), d.work(), d.cliConfig(), s.Bootstrap)
	return nil
}

func (d demo) bin(name string) string { return filepath.Join(d.root, "bin", name) }

func down(ctx context.Context) error {
	d, err := locate()
	if err != nil {
		return err
	}
	s, err := stack.Attach(d.stackDir(), logf)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("demo: nothing is running")
		return os.RemoveAll(d.dir)
	}
	if err != nil {
		return err
	}
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return os.RemoveAll(d.dir)
}

var began = time.Now()

func logf(format string, args ...any) {
	fmt.Printf("%6.1fs %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// sample copies the sample table into the demonstration's warehouse, once.
func (d demo) sample() error {
	to := filepath.Join(d.warehouse(), database+".db", table)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	say("Copying the sample table %s.%s (made by Flink with Paimon 1.3.1) into %s", database, table, d.warehouse())
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(filepath.Join(d.samples(), database+".db", table)))
}

// start starts the servers, or finds them running.
func (d demo) start(ctx context.Context) (*stack.Stack, error) {
	say("Starting ZooKeeper, a Fluss coordinator and a tablet server on loopback")
	s, err := stack.Start(ctx, stack.Options{Dir: d.stackDir(), Warehouse: d.warehouse(), Logf: logf})
	if errors.Is(err, stack.ErrRunning) {
		logf("already running")
		return stack.Attach(d.stackDir(), logf)
	}
	return s, err
}

func (d demo) cliConfig() string { return filepath.Join(d.dir, "terraform.rc") }

// terraform runs the quickstart with the provider that was just built, found
// through a file-system mirror, so that init works as for any provider.
func (d demo) terraform(ctx context.Context, s *stack.Stack) error {
	mirror := filepath.Join(d.dir, "mirror")
	place := filepath.Join(mirror, "registry.terraform.io", "fluss-lake", "fluss", version, runtime.GOOS+"_"+runtime.GOARCH)
	binary, err := os.ReadFile(d.bin("terraform-provider-fluss"))
	if err != nil {
		return fmt.Errorf("the provider is not built, run make build: %w", err)
	}
	files := map[string][]byte{
		filepath.Join(place, "terraform-provider-fluss_v"+version): binary,
		d.cliConfig(): fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror),
	}
	for path, data := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		// A running provider's file can't be written to: replace it.
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(path, data, 0o755); err != nil {
			return err
		}
	}
	config, err := os.ReadFile(filepath.Join(d.root, "examples", "quickstart", "main.tf"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.work(), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.work(), "main.tf"), config, 0o644); err != nil {
		return err
	}
	// The lock file pins the checksum of an earlier build.
	if err := os.RemoveAll(filepath.Join(d.work(), ".terraform.lock.hcl")); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-input=false"}, {"plan", "-input=false", "-out=plan"}, {"apply", "-input=false", "plan"}, {"state", "show", "fluss_lake_promotion.orders"},
	} {
		say("terraform %s", args[0])
		cmd := exec.CommandContext(ctx, "terraform", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = d.work(), os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+d.cliConfig(), "FLUSS_BOOTSTRAP_SERVERS="+s.Bootstrap,
			"TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
		// One interrupt, from here: in the terminal's process group Terraform would
		// get Ctrl-C twice, and kills its provider at the second.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("terraform %s: %w", args[0], err)
		}
	}
	return nil
}
