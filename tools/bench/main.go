// Command bench measures the provider beside its peers and against its bounds,
// and writes bench.json.
//
// usage: bench [-rounds N] [-rows N] [-only REGEXP] [-out FILE] [-guide FILE [-from FILE]] [-timeout D] [-keep]
//
// It starts the real stack on free ports, makes one primary-key table of 10
// columns and 4 buckets with a tenth of its keys updated by a second commit, and
// then takes turns in rounds: every peer and terraform apply with the built
// provider load it, each into a fresh Fluss table on the same servers. One round
// with a smaller table goes before and does not count; medians are compared. It
// stops the stack whatever happens. It needs Linux: memory and CPU are read from
// /proc.
//
//	load_vs_flink    rows a second of the load stage; a Flink batch INSERT at its best parallelism
//	load_vs_java     of the whole terraform apply; a JVM with Fluss's UpsertWriter and Paimon's reader
//	load_vs_pyfluss  the same beside pyfluss fed by pypaimon
//	load_vs_limit    of the load stage; the same batches, encoded beforehand, only sent
//	cpu_vs_java      CPU time of the provider and of that JVM
//	load_vs_java_3_servers, load_vs_java_replication_3  load_vs_java with three tablet servers
//	growth_20m       rows a second of ten times the rows beside the rows
//	memory_2m, memory_20m  the provider's highest resident memory then, against its bound
//	memory_wide      the same of a table of 200 columns with values of 100 KB
//	plan_time        terraform plan of the table, against its bound
//	cold_start       terraform plan of a small table; a provider that does nothing
//
// and of another table, of 10,000 partitions and 100,000 files (tools/widetable),
//
//	preview_time     terraform plan, against its bound
//	preview_memory   the provider's highest resident memory then, against its bound
//	preview_vs_java  listing its live files, beside Paimon's own reader; each a process of its own
//
// These need no servers:
//
//	read_vs_java, read_vs_pypaimon, read_vs_pypaimon_rust  rows a second of a merged read of three overlapping Parquet files
//	orc_read_vs_java     of processor time of a merged read of a table of ORC files
//	orc_scan_vs_pyarrow  the same of an ORC file
//	encode_rows          the same of rows, keys and batches in Fluss's formats, against its bound
//
// Java peers are compiled with javac. With -guide the guide's page is written too;
// with -from nothing is measured, the page is made from the file's results, which
// were made with the same -rows.
// STACK_LIBS=DIR runs another build's lib, plugins and flink folders.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

const (
	// fullRows is the size the project's bounds are about.
	fullRows = 2_000_000
	planRuns = 5
	slots    = 4
)

// options are what the command line asks for.
type options struct {
	rounds, rows int
	only         *regexp.Regexp
	out          string
	guide, from  string
	timeout      time.Duration
	keep         bool
}

func main() {
	do := run
	if len(os.Args) > 1 && os.Args[1] == planArgument {
		do = func() error { return planOnce(context.Background(), os.Args[2:]) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(root string, args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 3, "how often each load and read is measured")
	f.IntVar(&o.rows, "rows", fullRows, "rows of the table; the bounds are judged at the default only")
	only := f.String("only", "", "only the comparisons whose names match this regular expression")
	f.StringVar(&o.out, "out", filepath.Join(root, "bench.json"), "file for the results")
	f.StringVar(&o.guide, "guide", "", "file for the guide's page about the results")
	f.StringVar(&o.from, "from", "", "measure nothing: make the guide's page from this file of results")
	f.DurationVar(&o.timeout, "timeout", 4*time.Hour, "how long everything may take")
	f.BoolVar(&o.keep, "keep", false, "leave the stack running and say where")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.rounds < 1 || o.rows < 1000 || o.timeout <= 0 || o.from != "" && o.guide == "" {
		return o, errors.New("required: -rounds from 1 on, -rows from 1000 on, -from only with -guide, no other arguments")
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	if !slices.ContainsFunc(comparisons, func(c comparing) bool { return o.wants(c.name) }) {
		return o, fmt.Errorf("-only %s matches none of the comparisons", *only)
	}
	return o, nil
}

func (o options) wants(names ...string) bool {
	return slices.ContainsFunc(names, o.only.MatchString)
}

var began = time.Now()

// logf tells what is being done; the results alone go to standard output.
func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// phase measures some comparisons.
type phase struct {
	names   []string
	servers bool
	run     func(*bench, context.Context) error
}

// phases in the order in which they run: those without servers have the machine
// for themselves.
var phases = []phase{
	{[]string{orcScan}, false, (*bench).scanORC},
	{[]string{orcRead}, false, (*bench).readORCTable},
	{[]string{readVsJava, readVsPypaimon, readVsRust}, false, (*bench).readParquetTable},
	{[]string{encodeRows}, false, (*bench).encode},
	{[]string{previewTime, previewMemory, previewVsJava}, true, (*bench).wideTable},
	{[]string{planTime}, true, (*bench).plans},
	{[]string{coldStart}, true, (*bench).coldStarts},
	{loadNames, true, (*bench).loads},
	{[]string{memoryWide}, true, (*bench).broadLoads},
	{[]string{loadServers3, loadReplicated3}, false, (*bench).replicatedLoads}, // of their own
}

func run() error {
	root, err := stack.RepositoryRoot()
	if err != nil {
		return err
	}
	opt, err := parse(root, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if opt.from != "" {
		list, err := readResults(opt.from)
		if err != nil {
			return err
		}
		return writeGuide(opt.guide, list, opt.rows)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, opt.timeout)
	defer cancel()
	return measure(ctx, root, opt)
}

// measure runs the phases that were asked for and reports. A phase that fails
// does not keep the others from being measured and written.
func measure(ctx context.Context, root string, opt options) (err error) {
	dir, err := os.MkdirTemp("", "fluss-bench-")
	if err != nil {
		return err
	}
	b := &bench{opt: opt, root: root, dir: dir, results: results{rows: opt.rows, reads: map[string][]float64{}}}
	defer func() {
		if !opt.keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	defer func() { err = errors.Join(err, b.stop(ctx)) }()
	var failed []error
	for _, p := range phases {
		if !opt.wants(p.names...) {
			continue
		}
		if p.servers && b.stack == nil {
			if err := b.start(ctx); err != nil {
				failed = append(failed, err)
				break
			}
		}
		if err := p.run(b, ctx); err != nil {
			logf("failed: %v", err)
			failed = append(failed, fmt.Errorf("%s: %w", p.names, err))
		}
		if cause := context.Cause(ctx); cause != nil {
			failed = append(failed, cause)
			break
		}
	}
	return errors.Join(errors.Join(failed...), b.results.report(opt, os.Stdout))
}

// bench is one run of the program.
type bench struct {
	opt     options
	root    string // of the repository
	dir     string // for Terraform, the providers and tables that need no servers
	stack   *stack.Stack
	cluster *cluster
	results results
}

// start starts the servers of most phases.
func (b *bench) start(ctx context.Context) error {
	return b.startWith(ctx, stack.Options{SQLGateway: b.opt.wants(loadVsFlink), TaskSlots: slots, ServerProperties: wideLimits})
}

func (b *bench) startWith(ctx context.Context, o stack.Options) error {
	if err := b.installProviders(); err != nil {
		return err
	}
	o.Bench, o.DieWithParent, o.Libs, o.Logf = true, !b.opt.keep, os.Getenv("STACK_LIBS"), logf
	var err error
	if b.stack, err = stack.Start(ctx, o); err != nil {
		return err
	}
	b.cluster, err = connect(ctx, b.stack.Bootstrap)
	return err
}

func (b *bench) stop(ctx context.Context) error {
	if b.cluster != nil {
		b.cluster.client.Close()
	}
	if b.stack == nil {
		return nil
	}
	if b.opt.keep {
		logf("the stack is left running in %s; stop it with: go run ./tools/stack down -remove -dir %s", b.stack.Dir, b.stack.Dir)
		logf("Terraform's folders are in %s", b.dir)
		return nil
	}
	limit, done := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
	defer done()
	return b.stack.Stop(limit)
}
