// Command bench measures the provider beside its peer, a Flink batch INSERT from
// the same Paimon table into the same servers, and writes bench.json.
//
// usage: bench [-rounds N] [-rows N] [-only REGEXP] [-out FILE] [-keep]
//
// It starts the real stack on free ports, makes one primary-key table of 10
// columns and 4 buckets with a tenth of its keys updated by a second commit, and
// then takes turns: Flink with parallelism 1, Flink with parallelism 2, and
// terraform apply with the built provider, each into a fresh Fluss table. One
// round with a smaller table goes before and does not count. It stops the stack
// whatever happens. It needs Linux: memory and CPU are read from
// /proc.
//
//	load_vs_flink  rows a second of the load; the peer at its better parallelism
//	memory_2m      the provider's highest resident memory, against its bound
//	plan_time      terraform plan of the table, against its bound
//	orc_scan_vs_pyarrow  rows a second of processor time of the ORC reader
//	orc_read_vs_java  the same of a merged read of a Paimon table of ORC files; these two need no stack
//
// and of another table, of 10,000 partitions and 100,000 files (tools/widetable),
//
//	preview_time     terraform plan, against its bound
//	preview_memory   the provider's highest resident memory then, against its bound
//	preview_vs_java  listing its live files, beside Paimon's own reader; each a process of its own (javac is required)
//
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

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/widetable"
)

const (
	database = "bench"
	source   = "source"
	warmUp   = "warm_up"
	buckets  = 4
	// fullRows is the size the project's bounds are about.
	fullRows = 2_000_000
	planRuns = 5
	slots    = 2
)

// options are what the command line asks for.
type options struct {
	rounds, rows int
	only         *regexp.Regexp
	out          string
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

func parse(root string) (options, error) {
	rounds := flag.Int("rounds", 3, "how often each load is measured")
	rows := flag.Int("rows", fullRows, "rows of the table; the bounds are judged at the default only")
	only := flag.String("only", "", "only the comparisons whose names match this regular expression")
	out := flag.String("out", filepath.Join(root, "bench.json"), "file for the results")
	keep := flag.Bool("keep", false, "leave the stack running and say where")
	flag.Parse()
	o := options{rounds: *rounds, rows: *rows, out: *out, keep: *keep}
	if flag.NArg() > 0 || o.rounds < 1 || o.rows < 1000 {
		return o, errors.New("required: -rounds from 1 on, -rows from 1000 on, no other arguments")
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	for _, c := range comparisons {
		if o.only.MatchString(c.name) {
			return o, nil
		}
	}
	return o, fmt.Errorf("-only %s matches none of the comparisons", *only)
}

func (o options) wants(name string) bool { return o.only.MatchString(name) }

var began = time.Now()

// logf tells what is being done; the results alone go to standard output.
func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

func run() (err error) {
	root, err := stack.RepositoryRoot()
	if err != nil {
		return err
	}
	opt, err := parse(root)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()

	dir, err := os.MkdirTemp("", "fluss-bench-")
	if err != nil {
		return err
	}
	defer func() {
		if !opt.keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	b := &bench{opt: opt, dir: dir, results: results{rows: opt.rows}}
	if opt.wants(orcScan) {
		if err := b.scanORC(ctx); err != nil {
			return err
		}
	}
	if opt.wants(orcRead) {
		if err := b.readORCTable(ctx); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(comparisons, func(c comparing) bool { return c.name != orcScan && c.name != orcRead && opt.wants(c.name) }) {
		return b.results.report(opt, os.Stdout)
	}
	// A copy: a build during the run must not change what is measured.
	if err := b.installProvider(filepath.Join(root, "bin", "terraform-provider-fluss")); err != nil {
		return err
	}
	b.stack, err = stack.Start(ctx, stack.Options{Bench: true, SQLGateway: opt.wants(loadVsFlink), TaskSlots: slots, DieWithParent: !opt.keep,
		ServerProperties: wideLimits, Libs: os.Getenv("STACK_LIBS"), Logf: logf})
	if err != nil {
		return err
	}
	defer func() {
		if opt.keep {
			logf("the stack is left running in %s; stop it with: go run ./tools/stack down -remove -dir %s", b.stack.Dir, b.stack.Dir)
			logf("Terraform's folders are in %s", dir)
			return
		}
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
		defer done()
		err = errors.Join(err, b.stack.Stop(limit))
	}()
	if err := b.measure(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return fmt.Errorf("%w (%w)", err, cause)
		}
		return err
	}
	return b.results.report(opt, os.Stdout)
}

// bench is one run of the program.
type bench struct {
	opt     options
	dir     string // for Terraform and the provider
	stack   *stack.Stack
	cluster *cluster
	results results
}

// measure makes the tables, takes the measurements in turns and fills results.
func (b *bench) measure(ctx context.Context) error {
	if err := b.makeTables(ctx); err != nil {
		return err
	}
	if b.opt.wants(previewTime) || b.opt.wants(previewMemory) {
		if err := b.previews(ctx); err != nil {
			return err
		}
	}
	if b.opt.wants(previewVsJava) {
		if err := b.againstJava(ctx); err != nil {
			return err
		}
	}
	if !b.opt.wants(planTime) && !b.opt.wants(loadVsFlink) && !b.opt.wants(memory2M) {
		return nil
	}
	var err error
	if b.cluster, err = connect(ctx, b.stack.Bootstrap); err != nil {
		return err
	}
	defer b.cluster.client.Close()
	if b.opt.wants(planTime) {
		if err := b.plans(ctx); err != nil {
			return err
		}
	}
	if !b.opt.wants(loadVsFlink) && !b.opt.wants(memory2M) {
		return nil
	}
	var turns []turn
	if b.opt.wants(loadVsFlink) {
		peer, err := b.openFlink(ctx)
		if err != nil {
			return err
		}
		b.results.flinkVersion = peer.version
		for _, p := range []int{1, 2} {
			turns = append(turns, turn{flinkName(p), func(ctx context.Context, j job) (load, error) { return peer.load(ctx, j, p) }})
		}
	}
	turns = append(turns, turn{ours, b.apply})
	logf("a round with %d rows that does not count: the Java processes load and compile their code", b.warmRows())
	for _, t := range turns {
		if _, err := t.run(ctx, job{source: warmUp, rows: b.warmRows()}); err != nil {
			return fmt.Errorf("round that does not count, %s: %w", t.name, err)
		}
	}
	for round := range b.opt.rounds {
		for i := range turns {
			// Another one begins each round: nobody always follows the same one.
			t := turns[(i+round)%len(turns)]
			if err := b.take(ctx, t, job{source: source, rows: b.opt.rows, round: round + 1}); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, t.name, err)
			}
		}
	}
	return nil
}

// turn is one way to load a table.
type turn struct {
	name string
	run  func(ctx context.Context, j job) (load, error)
}

// job is what is to be loaded. Its round makes the names of the tables that it
// is loaded into.
type job struct {
	source string
	rows   int
	round  int // 0 does not count
}

func (b *bench) warmRows() int { return min(b.opt.rows, 200_000) }

// take waits until the servers are quiet, then measures one turn.
func (b *bench) take(ctx context.Context, t turn, j job) error {
	waited, err := b.settle(ctx)
	if err != nil {
		return err
	}
	average, err := loadAverage()
	if err != nil {
		return err
	}
	logf("round %d of %d: %s (servers quiet after %.1f s; load average %s)", j.round, b.opt.rounds, t.name, waited.Seconds(), average)
	l, err := t.run(ctx, j)
	if err != nil {
		return err
	}
	l.name, l.round, l.loadAverage = t.name, j.round, average
	logf("  %.2f s, %.0f rows/s", l.took.Seconds(), l.rate(j.rows))
	b.results.loads = append(b.results.loads, l)
	return nil
}

// makeTables makes the source tables and one copy for each apply.
func (b *bench) makeTables(ctx context.Context) error {
	if b.opt.wants(previewTime) || b.opt.wants(previewMemory) || b.opt.wants(previewVsJava) {
		logf("making the Paimon table %s.%s: %d partitions", database, wide, wideOptions.Partitions)
		if err := os.MkdirAll(filepath.Dir(b.tableDir(wide)), 0o755); err != nil {
			return err
		}
		t, err := widetable.Write(b.tableDir(wide), wideOptions)
		if err != nil {
			return err
		}
		logf("made: %d files, %d manifests of %d bytes", t.Files, t.Manifests, t.ManifestBytes)
		syscall.Sync()
	}
	if !b.opt.wants(planTime) && !b.opt.wants(loadVsFlink) && !b.opt.wants(memory2M) {
		return nil
	}
	py, err := pyoracle.New(ctx)
	if err != nil {
		return err
	}
	for _, j := range []job{{source: warmUp, rows: b.warmRows()}, {source: source, rows: b.opt.rows}} {
		logf("making the Paimon table %s.%s: %d rows, %d buckets", database, j.source, j.rows, buckets)
		t, err := py.WriteBench(ctx, pyoracle.PaimonBench{Warehouse: b.stack.Warehouse, Table: database + "." + j.source, Rows: j.rows, Buckets: buckets})
		if err != nil {
			return err
		}
		logf("made: %d rows, %d stored", t.Rows, t.Stored)
	}
	for round := range b.opt.rounds + 1 {
		from := source
		if round == 0 {
			from = warmUp
		}
		if err := os.CopyFS(b.tableDir(oursTable(round)), os.DirFS(b.tableDir(from))); err != nil {
			return err
		}
	}
	// What was just written must not be on its way to the disk during a load.
	syscall.Sync()
	return nil
}

func (b *bench) tableDir(table string) string {
	return filepath.Join(b.stack.Warehouse, database+".db", table)
}
