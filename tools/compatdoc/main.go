// Command compatdoc prints the compatibility guide: the table that judges
// sources is the one that documents them.
package main

import (
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func main() { fmt.Print(promotion.CompatibilityMarkdown()) }
