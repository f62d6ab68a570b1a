package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
)

//go:embed pyread.py
var pyRead []byte

// The readers, as results.reads names them.
const (
	readerOurs     = "ours"
	readerJava     = "Paimon Java"
	readerPypaimon = "pypaimon"
	readerRust     = "pypaimon-rust"

	rustVersion      = "0.4.0"
	rustRequirements = "pypaimon-rust==" + rustVersion + "\npyarrow\n"

	readRuns    = 3 // overlapping
	readAtMost  = 1_000_000
	readUpdates = 0.1
)

// oneRead is what one read of the table gave and took.
type oneRead struct {
	tableSums
	wall, cpu float64 // seconds
}

// reader is a process that reads the table once for each line it is sent.
type reader struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	log  bytes.Buffer
}

func startReader(ctx context.Context, name string, command []string) (*reader, error) {
	r := &reader{name: name, cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	r.cmd.Stderr = &r.log
	r.cmd.WaitDelay = 5 * time.Second
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.cmd.Start()
}

func (r *reader) read() (s oneRead, err error) {
	if _, err = io.WriteString(r.in, "\n"); err == nil {
		var line string
		if line, err = r.out.ReadString('\n'); err == nil {
			if _, err = fmt.Sscan(line, &s.rows, &s.sum, &s.wall, &s.cpu); err == nil {
				return s, nil
			}
		}
	}
	err = errors.Join(err, r.end())
	return s, fmt.Errorf("%s: %w\n%s", r.name, err, lastLines(r.log.String(), 20))
}

// end ends the process; it may be called again.
func (r *reader) end() error {
	if r.cmd.ProcessState != nil {
		return nil
	}
	return errors.Join(r.in.Close(), r.cmd.Wait())
}

// readOnce reads the table database.t with this project's reader.
func readOnce(ctx context.Context, warehouse, suffix string) (s oneRead, err error) {
	from, err := cpuSeconds()
	if err != nil {
		return s, err
	}
	start := time.Now()
	if s.tableSums, err = readPaimon(ctx, warehouse, suffix); err != nil {
		return s, err
	}
	s.wall = time.Since(start).Seconds()
	until, err := cpuSeconds()
	s.cpu = until - from
	return s, err
}

// readParquetTable measures reads, with merge, of a table of three overlapping
// Parquet files by its wall time, without the start of any process: this
// project's reader and the peers as they are shipped, in
// turns. All must see the same rows and sums.
func (b *bench) readParquetTable(ctx context.Context) error {
	py, err := pyoracle.New(ctx)
	if err != nil {
		return err
	}
	warehouse := filepath.Join(b.dir, "parquet-warehouse")
	b.results.readRows = min(b.opt.rows, readAtMost)
	logf("making a Paimon table of %d overlapping Parquet files: %d rows", readRuns, b.results.readRows)
	updates := readUpdates
	made, err := py.WriteBench(ctx, pyoracle.PaimonBench{Warehouse: warehouse, Table: database + ".t", Rows: b.results.readRows, Buckets: 1, Updates: &updates, Commits: readRuns})
	if err != nil {
		return err
	}
	peers, err := b.startReaders(ctx, warehouse)
	for _, p := range peers {
		defer p.end() //nolint:errcheck // ended with its error below
	}
	if err != nil {
		return err
	}
	var want tableSums
	for range javaWarm {
		for _, p := range peers {
			if p.name == readerPypaimon {
				continue // it compiles nothing, and takes a minute
			}
			if _, err := p.read(); err != nil {
				return err
			}
		}
		one, err := readOnce(ctx, warehouse, ".parquet")
		if err != nil {
			return err
		}
		want = one.tableSums
	}
	if int64(want.rows) != made.Rows {
		return fmt.Errorf("a table of %d rows gave this reader %d", made.Rows, want.rows)
	}
	for range b.opt.rounds {
		for _, p := range peers {
			s, err := p.read()
			if err != nil {
				return err
			}
			if err := b.tookRead(p.name, s, want); err != nil {
				return err
			}
			// Ours beside each, so that it meets what they meet.
			if s, err = readOnce(ctx, warehouse, ".parquet"); err != nil {
				return err
			}
			if err := b.tookRead(readerOurs, s, want); err != nil {
				return err
			}
		}
	}
	for _, p := range peers {
		err = errors.Join(err, p.end())
	}
	return err
}

// startReaders starts the peers that are wanted.
func (b *bench) startReaders(ctx context.Context, warehouse string) (all []*reader, err error) {
	start := func(name string, command []string) error {
		r, err := startReader(ctx, name, command)
		if err == nil {
			all = append(all, r)
		}
		return err
	}
	if b.opt.wants(readVsJava) {
		command, err := b.compileJava(ctx, "ReadTable", readTable)
		if err != nil {
			return all, err
		}
		if err := start(readerJava, append(command, warehouse, database, "t")); err != nil {
			return all, err
		}
	}
	script, err := b.python(ctx, "pyread.py", pyRead)
	if err != nil {
		return all, err
	}
	if b.opt.wants(readVsRust) {
		exe, err := pyoracle.Environment(ctx, "venv-rust", rustRequirements)
		if err != nil {
			return all, err
		}
		if err := start(readerRust, []string{exe, script[1], "pypaimon-rust", warehouse, database, "t"}); err != nil {
			return all, err
		}
	}
	if b.opt.wants(readVsPypaimon) {
		return all, start(readerPypaimon, append(script, "pypaimon", warehouse, database, "t"))
	}
	return all, nil
}

func (b *bench) tookRead(name string, s oneRead, want tableSums) error {
	if s.tableSums != want {
		return fmt.Errorf("a read by %s gave %+v; required: %+v", name, s.tableSums, want)
	}
	logf("reading the table: %s %.3f s wall, %.3f s of CPU", name, s.wall, s.cpu)
	b.results.reads[name] = append(b.results.reads[name], float64(s.rows)/s.wall)
	return nil
}
