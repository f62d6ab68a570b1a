package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

//go:embed orcscan.py
var orcScript []byte

// orcColumns are those of orcscan.py.
var orcColumns = []vector.Column{
	{Name: "id", Type: vector.Type{Kind: vector.LogicalInt64}}, {Name: "a", Type: vector.Type{Kind: vector.LogicalInt32}},
	{Name: "b", Type: vector.Type{Kind: vector.LogicalInt32}}, {Name: "c", Type: vector.Type{Kind: vector.LogicalInt64}},
	{Name: "price", Type: vector.Type{Kind: vector.LogicalDecimal, Precision: 12, Scale: 2}},
	{Name: "at", Type: vector.Type{Kind: vector.LogicalTimestamp, Precision: 3}}, {Name: "day", Type: vector.Type{Kind: vector.LogicalDate}},
	{Name: "status", Type: vector.Type{Kind: vector.LogicalString}}, {Name: "note", Type: vector.Type{Kind: vector.LogicalString}},
	{Name: "score", Type: vector.Type{Kind: vector.LogicalDouble}},
}

// scan is a pair of measurements, in rows a second of processor time: of that,
// because one thread is compared with one thread on a machine that may be busy.
type scan struct{ ours, peer float64 }

// scanORC measures this project's ORC reader beside pyarrow's, in turns.
func (b *bench) scanORC(ctx context.Context) error {
	if _, err := pyoracle.New(ctx); err != nil {
		return err
	}
	cache, err := stack.CacheDir()
	if err != nil {
		return err
	}
	script, file := filepath.Join(b.dir, "orcscan.py"), filepath.Join(b.dir, "scan.orc")
	if err := os.WriteFile(script, orcScript, 0o600); err != nil {
		return err
	}
	python := func(what string) (string, error) {
		out, err := exec.CommandContext(ctx, filepath.Join(cache, "venv", "bin", "python"), script, what, file).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("orcscan.py %s: %w: %s", what, err, exit.Stderr)
		}
		return strings.TrimSpace(string(out)), err
	}
	logf("making an ORC file")
	if _, err := python("make"); err != nil {
		return err
	}
	for range 5 {
		text, err := python("read")
		if err != nil {
			return err
		}
		var s scan
		if s.peer, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("orcscan.py read: %w", err)
		}
		if s.ours, err = readORC(file); err != nil {
			return err
		}
		logf("reading an ORC file: %.0f rows/s, pyarrow %.0f", s.ours, s.peer)
		b.results.scans = append(b.results.scans, s)
	}
	return nil
}

// readORC gives the rows a second of processor time.
func readORC(path string) (float64, error) {
	before, err := cpuSeconds()
	if err != nil {
		return 0, err
	}
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	f, err := orc.Open(in, info.Size(), path)
	if err != nil {
		return 0, err
	}
	r, err := f.Read(orcColumns, vector.ReadOptions{})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	rows := 0
	for {
		_, n, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		rows += n
	}
	after, err := cpuSeconds()
	return float64(rows) / (after - before), err
}

func cpuSeconds() (float64, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, err
}
