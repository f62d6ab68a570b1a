package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const address = "fluss_lake_promotion.t"

// workspace is a Terraform working folder with the provider built for faults.
type workspace struct {
	dir  string
	base []string // environment
}

// newWorkspace writes the configuration of one promotion.
func newWorkspace(dir, provider, config string) (*workspace, error) {
	rc := filepath.Join(dir, "terraform.rc")
	files := map[string]string{
		rc:                            fmt.Sprintf("provider_installation {\n  dev_overrides { \"fluss-lake/fluss\" = %q }\n  direct {}\n}\n", filepath.Dir(provider)),
		filepath.Join(dir, "main.tf"): "terraform {\n  required_providers {\n    fluss = { source = \"fluss-lake/fluss\" }\n  }\n}\n" + config,
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return &workspace{dir: dir, base: append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")}, nil
}

// outcome is how a Terraform command ended.
type outcome struct {
	Command string  `json:"command"`
	Exit    int     `json:"exit"`
	Said    string  `json:"said"` // the errors' and warnings' summaries
	Seconds float64 `json:"seconds"`
	text    string
}

// running is a Terraform command under way.
type running struct {
	cmd   *exec.Cmd
	out   *bytes.Buffer
	began time.Time
	done  chan struct{}
	err   error
}

// start begins a command. When ctx ends, Terraform is interrupted, and killed
// half a minute later.
func (w *workspace) start(ctx context.Context, env []string, args ...string) (*running, error) {
	r := &running{out: &bytes.Buffer{}, began: time.Now(), done: make(chan struct{})}
	r.cmd = exec.CommandContext(ctx, "terraform", append(args, "-no-color")...)
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = w.dir, append(w.base[:len(w.base):len(w.base)], env...), r.out, r.out
	// A process group of its own: signals meant for this program stay here.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: 0}
	r.cmd.Cancel = func() error { return r.cmd.Process.Signal(syscall.SIGINT) }
	r.cmd.WaitDelay = 30 * time.Second
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { r.err = r.cmd.Wait(); close(r.done) }()
	return r, nil
}

// wait returns how the command ended.
func (r *running) wait() outcome {
	<-r.done
	o := outcome{Command: r.cmd.Args[1], Exit: r.cmd.ProcessState.ExitCode(), Seconds: time.Since(r.began).Round(time.Millisecond).Seconds(), text: r.out.String()}
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		o.text += "\n" + r.err.Error()
		o.Exit = -1
	}
	o.Said = summaries(o.text)
	return o
}

func (w *workspace) run(ctx context.Context, env []string, args ...string) (outcome, error) {
	r, err := w.start(ctx, env, args...)
	if err != nil {
		return outcome{}, err
	}
	return r.wait(), nil
}

var summaryLine = regexp.MustCompile(`(?m)^[│\s]*((?:Error|Warning): .*)$`)

// summaries are the first lines of all diagnostics but the preview's, with what
// the last error says was found.
func summaries(text string) string {
	var out []string
	for _, m := range summaryLine.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "Lake promotion preview") || strings.Contains(m[1], "overrides are in effect") || strings.Contains(m[1], "Provider development overrides") {
			continue
		}
		out = append(out, strings.TrimSpace(m[1]))
	}
	if i := strings.LastIndex(text, "Error: "); i >= 0 {
		if _, found, ok := strings.Cut(flatten(text[i:]), "Found: "); ok {
			out = append(out, "Found: "+found[:min(len(found), 160)])
		}
	}
	return strings.Join(out, "; ")
}

// flatten takes line breaks and the frame that Terraform draws out of a text.
func flatten(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(s)), " ")
}

// state is the promotion's attributes; nil when it is not in the state.
func (w *workspace) state(ctx context.Context) (map[string]any, error) {
	data, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) || len(bytes.TrimSpace(data)) == 0 {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	var s struct {
		Resources []struct {
			Type      string `json:"type"`
			Instances []struct {
				Status     string         `json:"status"`
				Attributes map[string]any `json:"attributes"`
			} `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("terraform.tfstate: %w", err)
	}
	for _, r := range s.Resources {
		if len(r.Instances) == 0 {
			continue
		}
		i := r.Instances[0]
		if i.Status != "" {
			return nil, fmt.Errorf("terraform.tfstate: the resource is %s", i.Status)
		}
		return i.Attributes, nil
	}
	return nil, nil
}

// processState is the state letter of a process, 0 when there is none.
func processState(pid int) byte {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	if end := bytes.LastIndexByte(data, ')'); end >= 0 && end+2 < len(data) {
		return data[end+2]
	}
	return 0
}
