package pyoracle

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// server is a Python process that runs one script after another.
type server struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errs   *tail
	closed bool
}

// Serve starts a long-lived process that runs the scripts, for callers that ask
// often: a script's own start takes a second. The process ends
// with ctx or Close. Calls wait for each other.
func (p *Python) Serve(ctx context.Context) (*Python, error) {
	s := &server{errs: &tail{}}
	s.cmd = exec.CommandContext(ctx, p.exe, filepath.Join(p.scripts, "serve.py"))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Stderr = s.errs
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("pyoracle: %w", err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pyoracle: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("pyoracle: start serve.py: %w", err)
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	return &Python{exe: p.exe, scripts: p.scripts, served: s}, nil
}

// Close ends the process of Serve.
func (p *Python) Close() error {
	if p.served == nil {
		return nil
	}
	return p.served.close()
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.in.Close(), s.cmd.Wait())
}

// ask sends one request and waits for its answer. A caller whose ctx ends ends
// the process too: its answer would be taken for the next one's.
func (s *server) ask(ctx context.Context, script string, args []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the process of Serve has ended: " + s.errs.last())
	}
	request, err := json.Marshal(map[string]any{"script": script, "arguments": json.RawMessage(args)})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.cmd.Process.Kill() })
	defer stop()
	if _, err = s.in.Write(append(request, '\n')); err == nil {
		var line []byte
		if line, err = s.out.ReadBytes('\n'); err == nil {
			return line, nil
		}
	}
	s.closed = true
	_ = s.in.Close()
	_ = s.cmd.Wait()
	return nil, errors.Join(ctx.Err(), fmt.Errorf("%w: %s", err, s.errs.last()))
}

// tail keeps the end of a process's standard error.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if n := len(t.data) - 8192; n > 0 {
		t.data = bytes.Clone(t.data[n:])
	}
	return len(p), nil
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lastLine(t.data)
}
