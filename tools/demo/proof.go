package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

// shown is how many rows are printed; all are compared.
const shown = 8

// proof looks every key up in Fluss, with Fluss's Python client, which shares no
// code with the provider, and compares the rows with the Paimon table's.
func (d demo) proof(ctx context.Context, s *stack.Stack) error {
	say("The proof: rows looked up through Fluss (pyfluss) beside the rows of the Paimon table")
	out, err := exec.CommandContext(ctx, d.bin("paimoncat"), "-warehouse", d.warehouse(), "-table", database+"."+table).Output()
	if err != nil {
		return fmt.Errorf("paimoncat: %w", err)
	}
	var paimon []map[string]any
	for line := range strings.Lines(string(out)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return err
		}
		for _, c := range []string{"__bucket", "__offset", "__timestamp"} {
			delete(row, c) // Fluss 0.9's own columns
		}
		paimon = append(paimon, row)
	}
	py, err := pyoracle.New(ctx)
	if err != nil {
		return err
	}
	keys := make([]pyoracle.Row, len(paimon))
	for i, row := range paimon {
		keys[i] = pyoracle.Row{"order_id": row["order_id"]}
	}
	fluss, err := py.Lookup(ctx, pyoracle.Fluss{Bootstrap: s.Bootstrap, Table: database + "." + table}, keys)
	if err != nil {
		return err
	}
	different := 0
	for i, row := range paimon {
		a, b := text(row), text(fluss[i])
		if a != b {
			different++
		}
		if i < shown || (a != b && different < shown) {
			fmt.Printf("Paimon  %s\nFluss   %s\n", a, b)
		}
	}
	if different > 0 {
		return fmt.Errorf("%d of %d rows differ", different, len(paimon))
	}
	fmt.Printf("… all %d rows are equal\n", len(paimon))
	return nil
}

// text is a row as JSON with its columns by name.
func text(row map[string]any) string {
	b, err := json.Marshal(row)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
