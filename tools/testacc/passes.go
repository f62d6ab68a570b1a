package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// newTerraform marks tests that need a Terraform newer than the one on PATH;
// they run under 1.15 only.
const newTerraform = "TF115"

// passes are the two runs of the tests: with the Terraform on PATH, everything
// that it can do; with 1.15, what needs it and the provider's own tests.
func passes(root string, pkgs []string, only string) []pass {
	out := []pass{{name: "terraform on PATH", only: only, pkgs: pkgs,
		maySkip: func(test string) bool { return strings.Contains(test, newTerraform) }}}
	if only == "" {
		only = newTerraform + "|TestTF"
	}
	return append(out, pass{name: "terraform 1.15", only: only, pkgs: []string{"./internal/provider/...", "./internal/acctest/suite"},
		env:     []string{"TF_ACC_TERRAFORM_PATH=" + filepath.Join(root, "internal", "acctest", "terraform-1.15")},
		maySkip: func(string) bool { return false }})
}

type tally struct{ passed, failed int }

func (t *tally) add(o tally) { t.passed, t.failed = t.passed+o.passed, t.failed+o.failed }

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

// runTests runs one pass, printing the output of what failed.
func runTests(ctx context.Context, root string, env []string, p pass) (tally, error) {
	args := []string{"test", "-json", "-count=1", "-p=1", "-timeout=60m"}
	if p.only != "" {
		args = append(args, "-run", p.only)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, p.pkgs...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(env, p.env...), os.Stderr
	// The tests end by themselves on an interrupt, so that they clean up. They are
	// a process group of their own, which gets it whole: the go command passes
	// none on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return tally{}, err
	}
	if err := cmd.Start(); err != nil {
		return tally{}, err
	}
	t, readErr := follow(out, p)
	runErr := cmd.Wait()
	switch {
	case readErr != nil:
		return t, readErr
	case ctx.Err() != nil:
		return t, ctx.Err()
	case runErr != nil && t.failed == 0:
		return t, fmt.Errorf("go test: %w", runErr)
	}
	return t, nil
}

func follow(out io.Reader, p pass) (tally, error) {
	var t tally
	output := map[string]*strings.Builder{}
	sc := bufio.NewScanner(out)
	sc.Buffer(make([]byte, 1<<20), 64<<20)
	for sc.Scan() {
		var e event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			fmt.Println(sc.Text()) // a build error, for example
			continue
		}
		key := e.Package + " " + e.Test
		if output[key] == nil {
			output[key] = &strings.Builder{}
		}
		switch e.Action {
		case "output", "build-output":
			if e.Action == "build-output" || (e.Test == "" && strings.HasPrefix(e.Output, "ok ")) {
				fmt.Print(e.Output)
			}
			output[key].WriteString(e.Output)
		case "pass":
			if e.Test != "" {
				t.passed++
				if e.Elapsed >= 1 {
					fmt.Printf("  pass %s (%.1fs)\n", e.Test, e.Elapsed)
				}
			}
			delete(output, key)
		case "skip":
			if e.Test != "" && !p.maySkip(e.Test) {
				fmt.Printf("SKIPPED, which counts as failed: %s\n%s", key, output[key])
				t.failed++
			}
			delete(output, key)
		case "fail":
			fmt.Printf("FAIL %s\n%s", key, output[key])
			t.failed++
			delete(output, key)
		}
	}
	return t, sc.Err()
}
