// Command widetable makes a Paimon table of many partitions and files, to plan.
//
// usage: widetable [-partitions N] [-files N] [-buckets N] [-deleted N] DIR
//
// DIR is the table's folder, below a database's: WAREHOUSE/NAME.db/TABLE.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/widetable"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "widetable:", err)
		os.Exit(1)
	}
}

func run() error {
	var o widetable.Options
	flag.IntVar(&o.Partitions, "partitions", 10_000, "partitions, at most 60000 (links to one file)")
	flag.IntVar(&o.FilesPerPartition, "files", 10, "live data files in each")
	flag.IntVar(&o.Buckets, "buckets", 2, "buckets")
	flag.IntVar(&o.Deleted, "deleted", 10_000, "files that were written and compacted away again")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("required: one folder")
	}
	dir := flag.Arg(0)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	from := time.Now()
	t, err := widetable.Write(dir, o)
	if err != nil {
		return err
	}
	fmt.Printf("%d partitions, %d files of %d bytes, %d records, %d rows, %d manifests of %d bytes, in %.1f s\n",
		t.Partitions, t.Files, t.Bytes, t.Records, t.Rows, t.Manifests, t.ManifestBytes, time.Since(from).Seconds())
	return nil
}
