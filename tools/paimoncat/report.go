package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func init() { modes = append(modes, reportMode) }

// reportMode prints whether and how the table can be promoted to Fluss.
func reportMode(flags *flag.FlagSet) mode {
	report := flags.Bool("report", false, "print the compatibility report, one JSON object, instead of rows")
	generation := flags.String("generation", "1.0", "the Fluss generation to judge for: 1.0 or 0.9")
	return mode{
		wanted: func(opt options) (bool, error) {
			switch {
			case !*report && opt.given["generation"]:
				return false, fmt.Errorf("-generation says what -report judges for; give both or neither")
			case *report && opt.given["snapshot"]:
				return false, fmt.Errorf("-report judges the table as it is now and takes no -snapshot; leave one of the two out")
			}
			return *report, nil
		},
		run: func(ctx context.Context, opt options, out io.Writer) error {
			rep, err := promotion.ReportTable(ctx, opt.warehouse, promotion.TableName{Database: opt.database, Table: opt.table}, *generation)
			if err != nil {
				return err
			}
			enc := json.NewEncoder(out)
			enc.SetEscapeHTML(false)
			return enc.Encode(rep)
		},
	}
}
