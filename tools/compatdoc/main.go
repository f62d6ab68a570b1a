// Command compatdoc prints the compatibility guide: the table that judges
// sources is the one that documents them.
package main

import (
	"fmt"
	"os"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "compatdoc: it takes no arguments and prints to standard output")
		os.Exit(2)
	}
	fmt.Print(promotion.CompatibilityMarkdown())
}
