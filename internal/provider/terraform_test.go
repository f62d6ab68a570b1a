package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
)

// The environment that makes the test binary a provider over a fake cluster.
const (
	envServe   = "FLUSS_TEST_SERVE"
	envCluster = "FLUSS_TEST_CLUSTER"
)

// TestMain makes the test binary the provider when Terraform starts it, so that
// tests can send signals to Terraform and its real child process.
func TestMain(m *testing.M) {
	if os.Getenv(envServe) == "" {
		os.Exit(m.Run())
	}
	FollowTerraform(os.Exit)
	cluster := &fakeCluster{dir: os.Getenv(envCluster)}
	err := providerserver.Serve(context.Background(), NewWithPromoter("test", cluster.connect), providerserver.ServeOpts{Address: Address})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// terraformDir is a working folder of the Terraform command, with the test
// binary as the provider.
type terraformDir struct {
	dir     string
	cluster *fakeCluster
	env     []string
}

const header = `
terraform {
  required_providers {
    fluss = { source = "registry.terraform.io/fluss-lake/fluss" }
  }
}
`

const providerBlock = `
provider "fluss" {
  bootstrap_servers = ["fluss.invalid:9123"]
}
`

func newTerraformDir(t *testing.T) *terraformDir {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "terraform-provider-fluss")); err != nil {
		t.Fatal(err)
	}
	rc := filepath.Join(bin, "terraform.rc")
	text := fmt.Sprintf("provider_installation {\n  dev_overrides { %q = %q }\n  direct {}\n}\n", Address, bin)
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &terraformDir{dir: t.TempDir(), cluster: newFakeCluster(t)}
	d.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
		// The race detector sleeps for a second at the end of a process, and
		// Terraform starts several of them for each command.
		"GORACE=atexit_sleep_ms=0", envServe+"=1", envCluster+"="+d.cluster.dir)
	return d
}

func (d *terraformDir) write(t *testing.T, config string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "main.tf"), []byte(header+config), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is a Terraform command in a process group of its own.
func (d *terraformDir) command(ctx context.Context, out *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, acctest.Terraform(), args...)
	cmd.Dir, cmd.Env = d.dir, d.env
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs Terraform and returns what it printed, with white space folded as
// Terraform breaks lines, and its exit code.
func (d *terraformDir) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	err := d.command(ctx, &out, append(args, "-no-color")...).Run()
	return fold(out.String()), exitCode(t, err)
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// fold undoes the frames and line breaks of Terraform's messages.
func fold(text string) string {
	text = strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// ok runs Terraform and fails the test unless it exits with 0.
func (d *terraformDir) ok(t *testing.T, args ...string) string {
	t.Helper()
	out, code := d.run(t, args...)
	if code != 0 {
		t.Fatalf("terraform %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// fails runs Terraform and fails the test unless it exits with 1 and prints all
// of the texts.
func (d *terraformDir) fails(t *testing.T, texts []string, args ...string) string {
	t.Helper()
	out, code := d.run(t, args...)
	if code != 1 {
		t.Fatalf("terraform %s: exit code %d, want 1\n%s", strings.Join(args, " "), code, out)
	}
	wantTexts(t, out, texts...)
	return out
}

func (d *terraformDir) apply(t *testing.T, args ...string) string {
	t.Helper()
	return d.ok(t, append([]string{"apply", "-auto-approve", "-input=false"}, args...)...)
}

func wantTexts(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, fold(text)) {
			t.Errorf("output lacks %q:\n%s", text, out)
		}
	}
}

// stateObject is a resource in the state.
type stateObject struct {
	Status     string         `json:"status"` // "tainted" or ""
	Attributes map[string]any `json:"attributes"`
}

// state is the object of a resource in the state file; nil without one.
func (d *terraformDir) state(t *testing.T, name string) *stateObject {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, "terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 { // empty after Terraform was killed
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Resources []struct {
			Type      string        `json:"type"`
			Name      string        `json:"name"`
			Instances []stateObject `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Resources {
		if r.Type == "fluss_lake_promotion" && r.Name == name && len(r.Instances) > 0 {
			return &r.Instances[0]
		}
	}
	return nil
}

// wantStage fails the test unless the resource is in the state, not tainted, at
// the stage.
func (d *terraformDir) wantStage(t *testing.T, name, stage string) *stateObject {
	t.Helper()
	o := d.state(t, name)
	switch {
	case o == nil:
		t.Fatalf("fluss_lake_promotion.%s is not in the state", name)
	case o.Status != "":
		t.Fatalf("fluss_lake_promotion.%s is %s", name, o.Status)
	case o.Attributes["stage"] != stage:
		t.Fatalf("stage is %v, want %s", o.Attributes["stage"], stage)
	}
	return o
}

// interrupt starts an apply, sends a signal once the call has been made, and
// returns what Terraform printed and its exit code. group sends the signal to
// Terraform's whole process group.
func (d *terraformDir) interrupt(t *testing.T, sig syscall.Signal, group bool, call string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := d.command(ctx, &out, append([]string{"apply", "-auto-approve", "-input=false", "-no-color"}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for d.cluster.count(call) == 0 || len(d.cluster.tables()) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("terraform ended before %q: %v\n%s", call, err, fold(out.String()))
		case <-time.After(50 * time.Millisecond):
		}
	}
	time.Sleep(200 * time.Millisecond) // past what Run does before it waits
	pid := cmd.Process.Pid
	if group {
		pid = -pid
	}
	if err := syscall.Kill(pid, sig); err != nil {
		t.Error(err)
	}
	code := exitCode(t, <-ended)
	return fold(out.String()), code
}
