package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is one process of a stack, as recorded in its state file. A process
// ID alone may name another process later; with its start time it cannot.
type Process struct {
	Name    string   `json:"name"`
	PID     int      `json:"pid"`
	Started string   `json:"started"` // identity of the process, see processStart
	Command []string `json:"command"`
	Log     string   `json:"log"`
}

// alive says whether the recorded process, and no other of its ID, is running.
func (p *Process) alive() bool {
	started, err := processStart(p.PID)
	return err == nil && started == p.Started
}

// signal sends sig if the recorded process is running.
func (p *Process) signal(sig syscall.Signal) error {
	// The handle is taken first: it stays with this process even if the ID is
	// given to another one between the check and the signal.
	h, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("stack: signal %s: %w", p.Name, err)
	}
	defer func() { _ = h.Release() }() // cannot fail after FindProcess
	if !p.alive() {
		return nil
	}
	if err := h.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stack: signal %s (process %d): %w", p.Name, p.PID, err)
	}
	return nil
}

// end asks the processes to end, waits up to grace, then kills what is left,
// and at once when ctx ends.
func end(ctx context.Context, grace time.Duration, list ...*Process) error {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, p := range list {
			// A stopped process takes SIGTERM only once it is continued.
			if err := errors.Join(p.signal(sig), p.signal(syscall.SIGCONT)); err != nil {
				return err
			}
		}
		limit := time.NewTimer(grace)
		done := ctx.Done()
		if sig == syscall.SIGKILL {
			done = nil // a killed process is gone in a moment; see it go
		}
		for gone := false; !gone; {
			gone = true
			for _, p := range list {
				gone = gone && !p.alive()
			}
			if gone {
				limit.Stop()
				return nil
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-limit.C:
				gone = true
			case <-done:
				gone = true
			}
		}
		limit.Stop()
	}
	for _, p := range list {
		if p.alive() {
			return fmt.Errorf("stack: %s (process %d) is still there %s after SIGKILL", p.Name, p.PID, grace)
		}
	}
	return nil
}

// spawnSpec is a process to start.
type spawnSpec struct {
	name    string
	command []string
	env     []string // added to this process's own
	dir     string
	log     string // appended to
	parent  bool   // end it when this process dies
}

// spawn starts a process in a process group of its own, so that a Ctrl-C meant
// for the launcher does not end it unrecorded.
func spawn(s spawnSpec) (*Process, error) {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("stack: start %s: %w", s.name, err)
	}
	defer log.Close()
	cmd := exec.Command(s.command[0], s.command[1:]...)
	cmd.Dir, cmd.Env = s.dir, append(withoutJavaOptions(os.Environ()), s.env...)
	cmd.Stdout, cmd.Stderr = log, log
	groupOfItsOwn(cmd)
	if err := startCommand(cmd, s.parent); err != nil {
		return nil, fmt.Errorf("stack: start %s: %w", s.name, err)
	}
	p := &Process{Name: s.name, PID: cmd.Process.Pid, Command: s.command, Log: s.log}
	started, err := processStart(p.PID)
	if err != nil {
		// Not reaped yet, so the ID is still this process's.
		err = errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		return nil, fmt.Errorf("stack: start %s: it ended at once: %w; its last lines:\n%s", s.name, err, tailFile(s.log, 20))
	}
	p.Started = started
	go func() { _ = cmd.Wait() }() // reaps it; how it ended is in its log
	return p, nil
}

// withoutJavaOptions drops variables through which a user's settings would
// reach the servers unseen.
func withoutJavaOptions(env []string) []string {
	var out []string
	for _, e := range env {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "HADOOP_CONF_DIR", "FLUSS_PLUGINS_DIR", "FLINK_CONF_DIR", "FLINK_PLUGINS_DIR":
		default:
			out = append(out, e)
		}
	}
	return out
}

// probeTimeout bounds one question to a starting server.
const probeTimeout = 5 * time.Second

// await asks probe again and again until it answers nil, the process dies, or
// ctx ends; the errors carry the probe's last answer and the log's last lines.
func await(ctx context.Context, p *Process, what string, probe func(context.Context) error) error {
	for {
		if !p.alive() {
			return fmt.Errorf("stack: %s (process %d) ended while starting; the last lines of %s:\n%s", p.Name, p.PID, p.Log, tailFile(p.Log, 25))
		}
		one, cancel := context.WithTimeout(ctx, probeTimeout)
		err := probe(one)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("stack: %s: %s: %w (last answer: %w); the last lines of %s:\n%s", p.Name, what, ctx.Err(), err, p.Log, tailFile(p.Log, 25))
		}
	}
}

// tailFile is the last lines of a log, or why it cannot be read.
func tailFile(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(data) > tailBytes {
		data = data[len(data)-tailBytes:]
	}
	return lastLines(data, lines)
}

// checkLibs says whether a folder has the jars of another build.
func checkLibs(libs string, withFlink bool) error {
	folders := []string{"lib", filepath.Join("plugins", "paimon")}
	if withFlink {
		folders = append(folders, "flink")
	}
	for _, f := range folders {
		if _, err := jarsOf(filepath.Join(libs, f)); err != nil {
			return err
		}
	}
	return nil
}

// jarsOf is the class path of a folder's jars in the order of their names.
func jarsOf(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("stack: no jars in %s (%w); a build's folder has lib, plugins/paimon and, for Flink, flink", dir, errors.Join(err, fs.ErrNotExist))
	}
	return strings.Join(found, string(os.PathListSeparator)), nil
}
