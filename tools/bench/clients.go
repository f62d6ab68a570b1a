package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
)

//go:embed LoadTable.java
var loadTable []byte

//go:embed pyload.py
var pyLoad []byte

const (
	javaName    = "Java client"
	pyflussName = "pyfluss"
	// javaThreads read and encode, one for each bucket as in the provider; the
	// client sends for all of them on one connection.
	javaThreads = 4
)

// python writes a script and returns the command that runs it in the
// environment of pyfluss and pypaimon.
func (b *bench) python(ctx context.Context, name string, script []byte) ([]string, error) {
	py, err := pyoracle.New(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, name)
	return []string{py.Executable(), file}, os.WriteFile(file, script, 0o600)
}

// loadBy loads the source with a client that is a program of its own, into a
// table made beforehand. The command gets the warehouse, the database, the
// source, the servers and the table before its other arguments.
//
// Its load is what the program counts, from planning the read to the last
// acknowledgement; the whole command is its process from start to end, with the
// start of the JVM or of Python, connecting and closing.
func (b *bench) loadBy(ctx context.Context, j job, kind string, command []string) (load, error) {
	table := fmt.Sprintf("%s_%d", kind, j.round)
	if _, err := b.cluster.create(ctx, table, b.tableDir(j.source)); err != nil {
		return load{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, aTurn)
	defer cancel()
	// The program, or its class, is the second of Python's arguments and the fourth of Java's.
	at := len(command)
	if kind == "java" {
		at--
	}
	args := append(append([]string{}, command[1:at]...), b.stack.Warehouse, database, j.source, b.stack.Bootstrap, table)
	cmd := exec.CommandContext(ctx, command[0], append(args, command[at:]...)...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	m, err := b.meter()
	if err != nil {
		return load{}, err
	}
	if err := cmd.Run(); err != nil {
		return load{}, fmt.Errorf("%s: %w\n%s", kind, err, lastLines(log.String(), 20))
	}
	l, err := m.stop()
	if err != nil {
		return load{}, err
	}
	var rows int
	var seconds float64
	if _, err := fmt.Sscan(strings.TrimSpace(out.String()), &rows, &seconds); err != nil || rows != j.rows {
		return load{}, fmt.Errorf("%s printed %q (%w); required: %d rows and the seconds they took", kind, out.String(), err, j.rows)
	}
	l.took = time.Duration(seconds * float64(time.Second))
	l.user, l.system = cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
	l.client = l.user + l.system
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		l.peak = usage.Maxrss << 10
	}
	return l, b.loaded(ctx, table, j.rows)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
