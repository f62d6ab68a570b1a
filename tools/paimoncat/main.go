// Command paimoncat prints the rows of a Paimon table, one JSON object a line,
// as a batch read of Paimon gives them: versions merged, deletes applied. It
// ends with status 1 and a message where it can't read a table exactly.
//
//	paimoncat -warehouse DIR -table db.t [-snapshot N]
//
// Without -snapshot it reads the newest snapshot with the newest schema; with
// it, that snapshot with the schema it was committed under. Value texts are
// those of testdata/paimon/README.md.
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
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
	"github.com/fluss-lake/terraform-provider-fluss/internal/storage"
)

// options are what the command line asks for.
type options struct {
	warehouse string
	database  string
	table     string
	snapshot  int64           // 0: the newest
	given     map[string]bool // flags that the command line has
}

// mode is another thing to do than printing rows; wanted tells whether the
// flags ask for it, or what contradicts among them.
type mode struct {
	wanted func(opt options) (bool, error)
	run    func(ctx context.Context, opt options, out io.Writer) error
}

// modes are registered, with their flags, by the init functions of this
// package's other files.
var modes []func(flags *flag.FlagSet) mode

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// A second Ctrl-C ends it at once, also where a pipe takes no more output.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "paimoncat:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("paimoncat", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints what is wrong, once
	opt := options{given: map[string]bool{}}
	var name string
	flags.StringVar(&opt.warehouse, "warehouse", "", "the warehouse's folder or file: URI")
	flags.StringVar(&name, "table", "", "the table, as database.table")
	flags.Int64Var(&opt.snapshot, "snapshot", 0, "read this snapshot, with its own schema (default: the newest)")
	var active []mode
	for _, register := range modes {
		active = append(active, register(flags))
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(os.Stderr)
		flags.Usage()
		return err
	case err != nil:
		return fmt.Errorf("%w; paimoncat -h lists the flags", err)
	}
	flags.Visit(func(f *flag.Flag) { opt.given[f.Name] = true })
	var ok bool
	opt.database, opt.table, ok = strings.Cut(name, ".")
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; everything is given by flags", flags.Arg(0))
	case opt.warehouse == "":
		return fmt.Errorf("-warehouse is missing")
	case !ok || opt.database == "" || opt.table == "":
		return fmt.Errorf("-table is %q; required is database.table", name)
	case opt.snapshot < 1 && opt.given["snapshot"]:
		return fmt.Errorf("-snapshot is %d; snapshots count from 1; leave the flag out for the newest", opt.snapshot)
	}
	buffered := bufio.NewWriterSize(out, 1<<16)
	do := printRows
	for _, m := range active {
		wanted, err := m.wanted(opt)
		if err != nil {
			return err
		}
		if wanted {
			do = m.run
		}
	}
	return errors.Join(do(ctx, opt, buffered), buffered.Flush())
}

// openTable opens the table that opt names.
func openTable(ctx context.Context, opt options) (*paimon.Table, error) {
	fs, root, err := storage.Open(opt.warehouse, nil)
	if err != nil {
		return nil, err
	}
	return paimon.OpenCatalog(fs, root).Table(ctx, opt.database, opt.table)
}

func printRows(ctx context.Context, opt options, out io.Writer) error {
	table, err := openTable(ctx, opt)
	if err != nil {
		return err
	}
	schema := table.Schema()
	var snap *paimon.Snapshot
	if opt.snapshot > 0 {
		if snap, err = table.Snapshot(ctx, opt.snapshot); err != nil {
			return err
		}
		if schema, err = table.SchemaByID(ctx, snap.SchemaID); err != nil {
			return err
		}
	} else if snap, err = table.LatestSnapshot(ctx); err != nil {
		return err
	}
	plan, err := table.Plan(ctx, snap)
	if err != nil {
		return err
	}
	// Before the first row is printed: half a table must not look like one.
	if err := table.CanReadAs(plan, schema); err != nil {
		return err
	}
	for _, p := range plan.Partitions {
		for _, b := range p.Buckets {
			if err := printBucket(ctx, table, plan, p, b, schema, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func printBucket(ctx context.Context, table *paimon.Table, plan *paimon.Plan, p *paimon.PartitionFiles, b *paimon.BucketFiles, schema *paimon.Schema, out io.Writer) (err error) {
	rows, err := table.ReadBucket(ctx, plan, p, b, paimon.ReadOptions{Schema: schema})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var line []byte
	for {
		refs, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for k, pos := range refs.Pos {
			batch := refs.Batches[0]
			if refs.Src != nil {
				batch = refs.Batches[refs.Src[k]]
			}
			line = append(paimon.AppendJSONRow(line[:0], schema.Fields, batch, int(pos)), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
	}
}
