// Package pyoracle asks Python's Fluss and Paimon clients what tables hold. The
// acceptance tests compare the provider's work with their answers: pyfluss and
// pypaimon share no code with this project.
//
// Rows go in and out as JSON objects in the text form described in common.py.
package pyoracle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

//go:embed *.py requirements.txt
var files embed.FS

// Python is an environment with pyfluss and pypaimon and the scripts to run in it.
type Python struct {
	exe     string
	scripts string
	served  *server // of Serve; nil: every call is a process of its own
}

// Row is a row in text form: column to null, string, list or object.
type Row = map[string]any

// New makes the environment in the cache's folder venv, once for all processes.
func New(ctx context.Context) (*Python, error) {
	wanted, err := files.ReadFile("requirements.txt")
	if err != nil {
		return nil, fmt.Errorf("pyoracle: %w", err)
	}
	exe, err := Environment(ctx, "venv", string(wanted))
	if err != nil {
		return nil, err
	}
	cache, err := stack.CacheDir()
	if err != nil {
		return nil, fmt.Errorf("pyoracle: %w", err)
	}
	p := &Python{exe: exe}
	p.scripts, err = writeScripts(cache)
	return p, err
}

// Environment makes a virtual environment in the named folder of the cache, once
// for all processes, with the packages of requirements, in pip's format, and
// returns its Python.
func Environment(ctx context.Context, name, requirements string) (string, error) {
	cache, err := stack.CacheDir()
	if err != nil {
		return "", fmt.Errorf("pyoracle: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("pyoracle: %w", err)
	}
	unlock, err := stack.Lock(ctx, filepath.Join(cache, "."+name+".lock"))
	if err != nil {
		return "", fmt.Errorf("pyoracle: lock the cache: %w", err)
	}
	defer unlock()
	venv := filepath.Join(cache, name)
	exe, stamp := filepath.Join(venv, "bin", "python"), filepath.Join(venv, "requirements.txt")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == requirements {
		return exe, nil
	}
	python, err := stack.FindPython()
	if err != nil {
		return "", err
	}
	list, err := os.CreateTemp("", "requirements-*.txt")
	if err != nil {
		return "", fmt.Errorf("pyoracle: %w", err)
	}
	defer os.Remove(list.Name())
	_, err = list.WriteString(requirements)
	if err := errors.Join(err, list.Close()); err != nil {
		return "", fmt.Errorf("pyoracle: %w", err)
	}
	for _, command := range [][]string{
		{python, "-m", "venv", "--clear", venv},
		{exe, "-m", "pip", "install", "-q", "-r", list.Name()},
	} {
		if out, err := output(ctx, nil, command...); err != nil {
			return "", fmt.Errorf("pyoracle: make the environment %s: %w: %s", name, err, lastLine(out.Bytes()))
		}
	}
	if err := os.WriteFile(stamp, []byte(requirements), 0o644); err != nil {
		return "", fmt.Errorf("pyoracle: %w", err)
	}
	return exe, nil
}

// writeScripts puts the scripts into a folder named by their content.
func writeScripts(cache string) (string, error) {
	sum := sha256.New()
	content := map[string][]byte{}
	names, err := fs.Glob(files, "*")
	if err != nil {
		return "", fmt.Errorf("pyoracle: %w", err)
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("pyoracle: %w", err)
		}
		content[name] = data
		fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
	}
	dir := filepath.Join(cache, "pyoracle", hex.EncodeToString(sum.Sum(nil))[:16])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("pyoracle: %w", err)
	}
	for name, data := range content {
		path := filepath.Join(dir, name)
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
			continue
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return "", fmt.Errorf("pyoracle: %w", err)
		}
	}
	return dir, nil
}

// Error is a failure a client reported.
type Error struct {
	Script  string
	Message string // its first line
	Code    int    // Fluss's error code; 0 when it has none
}

func (e *Error) Error() string { return fmt.Sprintf("pyoracle: %s: %s", e.Script, e.Message) }

// Executable is the Python with every package of requirements.txt.
func (p *Python) Executable() string { return p.exe }

// Run runs one of the scripts with its arguments and reads its answer into into.
func (p *Python) Run(ctx context.Context, script string, args, into any) error {
	in, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("pyoracle: %s: %w", script, err)
	}
	out, err := p.answer(ctx, script, in)
	if err != nil {
		return fmt.Errorf("pyoracle: %s: %w", script, err)
	}
	var failed struct {
		Error string `json:"error"`
		Code  int    `json:"code"`
	}
	if err := json.Unmarshal(out, &failed); err != nil {
		return fmt.Errorf("pyoracle: %s: its answer: %w", script, err)
	}
	if failed.Error != "" {
		first, _, _ := strings.Cut(failed.Error, "\n")
		return &Error{Script: script, Message: first, Code: failed.Code}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("pyoracle: %s: its answer: %w", script, err)
	}
	return nil
}

func (p *Python) answer(ctx context.Context, script string, in []byte) ([]byte, error) {
	if p.served != nil {
		return p.served.ask(ctx, script, in)
	}
	out, err := output(ctx, in, p.exe, filepath.Join(p.scripts, script))
	if err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// output runs a command in a process group of its own; ending ctx ends the group.
func output(ctx context.Context, in []byte, command ...string) (*bytes.Buffer, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return &out, errors.Join(ctx.Err(), err)
		}
		return &out, fmt.Errorf("%w: %s", err, lastLine(errs.Bytes()))
	}
	return &out, nil
}

func lastLine(data []byte) string {
	text := strings.TrimSpace(string(data))
	return text[strings.LastIndexByte(text, '\n')+1:]
}
