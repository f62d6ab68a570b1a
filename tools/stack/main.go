// Command stack starts, shows and stops the real servers the acceptance tests,
// the benchmarks and the demonstration use. See its help.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

const usage = `Usage: stack COMMAND [FLAGS]

  up       start ZooKeeper, a Fluss coordinator and tablet servers; with
           -flink, -gateway, -history or -tiering also Flink; leave them running
  down     end the processes that up started (-remove: delete the folder too)
  status   list the processes and addresses
  logs     print logs: stack logs [-n LINES] [-f] [NAME…], all without a name
  fetch    download the released jars into the cache and verify them

stack COMMAND -h lists the flags. Every command takes -dir DIR, the folder of
the stack (default .stack in the repository). Downloads are kept in .cache of
the repository, or in $FLUSS_STACK_CACHE; $MAVEN_ARGS is given to Maven.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	var told parseError
	switch {
	case errors.Is(err, flag.ErrHelp): // asked for
	case errors.As(err, &told):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "stack: "+bare(err))
		os.Exit(1)
	}
}

// bare is an error's text without the name of this command, which errors of the
// package stack begin with too.
func bare(err error) string { return strings.TrimPrefix(strings.TrimSpace(err.Error()), "stack: ") }

func run(ctx context.Context, args []string, out io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer) error{
		"up": up, "down": down, "status": status, "logs": logs, "fetch": fetch,
	}
	switch {
	case len(args) == 0:
		fmt.Fprint(os.Stderr, usage)
		return parseError{errors.New("no command")}
	case slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]):
		_, err := fmt.Fprint(out, usage)
		return err
	case commands[args[0]] == nil:
		return fmt.Errorf("unknown command %q; required: up, down, status, logs or fetch, and flags behind it", args[0])
	}
	return commands[args[0]](ctx, args[1:], out)
}

// flags is a flag set with the flag all commands share.
func flags(name string) (*flag.FlagSet, func() (string, error)) {
	fs := flag.NewFlagSet("stack "+name, flag.ContinueOnError)
	dir := fs.String("dir", "", "folder of the stack (default: .stack in the repository)")
	return fs, func() (string, error) {
		if *dir != "" {
			return *dir, nil
		}
		root, err := stack.RepositoryRoot()
		if err != nil {
			return "", fmt.Errorf("%w, or give the stack's folder with -dir", err)
		}
		return filepath.Join(root, ".stack"), nil
	}
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, "stack: "+format+"\n", args...) }

// parse reads the flags of a command that takes no other arguments. One would end
// the flags, and what comes behind it, such as -dir, would be ignored.
func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return parseError{err}
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; %s takes flags only, see %s -h", fs.Arg(0), fs.Name(), fs.Name())
	}
	return nil
}

// parseError is an error of the command line that was told already.
type parseError struct{ error }

func (e parseError) Unwrap() error { return e.error }

// pairs is a repeatable flag of the given form, such as KEY=VALUE.
type pairs struct {
	form   string
	values map[string]string
}

func (p pairs) String() string { return "" }

func (p pairs) Set(s string) error {
	k, v, ok := strings.Cut(s, "=")
	if !ok || k == "" {
		return errors.New("required: " + p.form)
	}
	p.values[k] = v
	return nil
}

func up(ctx context.Context, args []string, out io.Writer) error {
	fs, dir := flags("up")
	opt := stack.Options{Logf: logf, ServerProperties: map[string]string{}, FlinkProperties: map[string]string{}, Users: map[string]string{}}
	fs.IntVar(&opt.TabletServers, "tablets", 1, "tablet servers, 1 to 3")
	fs.IntVar(&opt.Replication, "replication", 1, "replicas of a bucket")
	fs.StringVar(&opt.Warehouse, "warehouse", "", "folder of the Paimon warehouse (default: warehouse in the stack's folder)")
	fs.BoolVar(&opt.Flink, "flink", false, "start Flink's job manager and task manager")
	fs.BoolVar(&opt.SQLGateway, "gateway", false, "start Flink's SQL gateway too")
	fs.BoolVar(&opt.HistoryServer, "history", false, "start Flink's history server too")
	fs.IntVar(&opt.TaskSlots, "slots", 4, "task slots of Flink")
	fs.BoolVar(&opt.Tiering, "tiering", false, "submit Fluss's tiering service to Flink")
	fs.StringVar(&opt.Libs, "libs", os.Getenv("STACK_LIBS"), "folder with another build's lib, plugins and flink folders (default $STACK_LIBS)")
	fs.BoolVar(&opt.Bench, "bench", false, "leave out flags that trade speed for a fast start")
	fs.Var(pairs{"KEY=VALUE", opt.ServerProperties}, "set", "KEY=VALUE for every Fluss server's server.yaml; repeatable")
	fs.Var(pairs{"KEY=VALUE", opt.FlinkProperties}, "set-flink", "KEY=VALUE for Flink's config.yaml; repeatable")
	fs.Var(pairs{"NAME=PASSWORD", opt.Users}, "user", "NAME=PASSWORD that may log in on a second listener with SASL/PLAIN; repeatable")
	fresh := fs.Bool("fresh", false, "delete the data of an earlier, stopped stack in the folder first")
	if err := parse(fs, args); err != nil {
		return err
	}
	var err error
	if opt.Dir, err = dir(); err != nil {
		return err
	}
	old, err := stack.Attach(opt.Dir, logf)
	if err == nil && running(old) {
		if slices.ContainsFunc(old.Status(), func(p stack.ProcessStatus) bool { return !p.Alive }) {
			return fmt.Errorf("only some processes of %s are alive (see stack status); run stack down, then up again", opt.Dir)
		}
		logf("already up; its options stay as they are")
		return show(old, out)
	}
	if err == nil && *fresh {
		if err := old.Remove(); err != nil {
			return err
		}
	}
	s, err := stack.Start(ctx, opt)
	if err != nil {
		return err
	}
	return show(s, out)
}

func running(s *stack.Stack) bool {
	return slices.ContainsFunc(s.Status(), func(p stack.ProcessStatus) bool { return p.Alive })
}

func attach(dir func() (string, error)) (*stack.Stack, error) {
	d, err := dir()
	if err != nil {
		return nil, err
	}
	return stack.Attach(d, logf)
}

func down(ctx context.Context, args []string, _ io.Writer) error {
	fs, dir := flags("down")
	remove := fs.Bool("remove", false, "delete the stack's folder with all data")
	if err := parse(fs, args); err != nil {
		return err
	}
	s, err := attach(dir)
	if errors.Is(err, os.ErrNotExist) {
		logf("nothing to stop: %s", bare(err))
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.Stop(ctx); err != nil {
		return err
	}
	if *remove {
		return s.Remove()
	}
	return nil
}

func status(_ context.Context, args []string, out io.Writer) error {
	fs, dir := flags("status")
	if err := parse(fs, args); err != nil {
		return err
	}
	s, err := attach(dir)
	if err != nil {
		return err
	}
	if err := show(s, out); err != nil {
		return err
	}
	if !running(s) {
		return fmt.Errorf("nothing is running in %s", s.Dir)
	}
	return nil
}

func show(s *stack.Stack, out io.Writer) error {
	w := bufio.NewWriter(out)
	for _, p := range s.Status() {
		state := "running"
		if !p.Alive {
			state = "ended"
		}
		fmt.Fprintf(w, "%-18s %-8s pid %-8d", p.Name, state, p.PID)
		if p.Port != 0 {
			fmt.Fprintf(w, " port %d", p.Port)
		}
		fmt.Fprintln(w)
	}
	for _, line := range [][2]string{
		{"bootstrap", s.Bootstrap}, {"bootstrap with SASL", s.SASLBootstrap}, {"warehouse", s.Warehouse},
		{"flink", s.FlinkRest}, {"sql gateway", s.GatewayURL}, {"flink history", s.HistoryURL}, {"folder", s.Dir},
	} {
		if line[1] != "" {
			fmt.Fprintf(w, "%-20s %s\n", line[0]+":", line[1])
		}
	}
	return w.Flush()
}

func logs(ctx context.Context, args []string, out io.Writer) error {
	fs, dir := flags("logs")
	lines := fs.Int("n", 50, "how many of the last lines of each log")
	follow := fs.Bool("f", false, "go on printing what is added")
	var wanted []string
	for { // flags may stand before, between and behind the names
		if err := fs.Parse(args); err != nil {
			return parseError{err}
		}
		if fs.NArg() == 0 {
			break
		}
		wanted, args = append(wanted, fs.Arg(0)), fs.Args()[1:]
	}
	if *lines < 0 {
		return fmt.Errorf("-n %d; required: 0 or more lines", *lines)
	}
	s, err := attach(dir)
	if err != nil {
		return err
	}
	files, err := s.Logs()
	if err != nil {
		return err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(wanted) > 0 {
		for _, name := range wanted {
			if files[name] == "" {
				return fmt.Errorf("no log %q; there are: %s", name, strings.Join(names, ", "))
			}
		}
		names = wanted
	}
	offset := map[string]int64{}
	for _, name := range names {
		data, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		offset[name] = int64(len(data))
		all := strings.SplitAfter(string(data), "\n")
		if n := len(all) - 1 - *lines; n > 0 {
			all = all[n:]
		}
		fmt.Fprintf(out, "==> %s <==\n%s", files[name], strings.Join(all, ""))
	}
	for *follow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
		for _, name := range names {
			if err := more(files[name], offset, name, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// more prints what a log has gained, each line under its process's name.
func more(path string, offset map[string]int64, name string, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, offset[name], 1<<40))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	end := strings.LastIndexByte(string(data), '\n') + 1
	offset[name] += int64(end)
	for _, line := range strings.SplitAfter(string(data[:end]), "\n") {
		if line != "" {
			fmt.Fprintf(out, "%s: %s", name, line)
		}
	}
	return nil
}

func fetch(ctx context.Context, args []string, out io.Writer) error {
	fs, _ := flags("fetch")
	withFlink := fs.Bool("flink", false, "Flink's jars too")
	if err := parse(fs, args); err != nil {
		return err
	}
	dir, err := stack.Fetch(ctx, *withFlink, logf)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, dir)
	return err
}
