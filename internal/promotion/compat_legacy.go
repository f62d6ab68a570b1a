package promotion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// systemColumns are the columns that Fluss 0.9 puts at the end of its lake
// tables.
var systemColumns = []paimon.Field{
	{Name: "__bucket", Type: paimon.DataType{Kind: paimon.Int, Nullable: true}},
	{Name: "__offset", Type: paimon.DataType{Kind: paimon.BigInt, Nullable: true}},
	{Name: "__timestamp", Type: paimon.DataType{Kind: paimon.TimestampLTZ, Precision: 3, Nullable: true}},
}

// reservedColumns may not be columns of a Fluss table.
var reservedColumns = []string{"__bucket", "__offset", "__timestamp", "_change_type", "_log_offset", "_commit_timestamp"}

func systemColumnNames() []string {
	names := make([]string, len(systemColumns))
	for i, f := range systemColumns {
		names[i] = f.Name
	}
	return names
}

// endsInSystemColumns says whether the last three columns are exactly Fluss
// 0.9's system columns.
func endsInSystemColumns(fields []paimon.Field) bool {
	n := len(systemColumns)
	if len(fields) < n {
		return false
	}
	for i, f := range fields[len(fields)-n:] {
		if f.Name != systemColumns[i].Name || f.Type.String() != systemColumns[i].Type.String() {
			return false
		}
	}
	return true
}

// layout judges lake_layout against the cluster's generation.
func (j *judge) layout() {
	attr := []string{"lake_layout"}
	switch {
	case j.in.Generation == generation10 && j.in.Layout == layoutLegacy:
		j.add("layout.not-legacy", Problem{Attribute: attr,
			Found: `lake_layout = "legacy" and a cluster of Fluss 1.0`, Required: "lake_layout left out", Fix: "remove lake_layout"})
	case j.in.Generation == generation09 && j.in.Layout != layoutLegacy:
		j.add("layout.required", Problem{Attribute: attr,
			Found: "a cluster of Fluss 0.9 and no lake_layout", Required: `lake_layout = "legacy"`,
			Fix: `set lake_layout = "legacy" if point lookups, changelogs, tiering and Paimon's own reads are what you need; use a cluster of Fluss 1.0 for Flink union reads`})
	case j.in.Generation == generation09:
		j.add("layout.union-read", Problem{
			Found: "a cluster of Fluss 0.9",
			Fix:   "read the table through Paimon, or look rows up by key; Flink union reads need Fluss 1.0"})
	}
	if j.in.Generation == generation09 && j.keyed {
		for _, k := range j.in.Schema.PartitionKeys {
			if f, ok := j.in.Schema.Field(k); ok && f.Type.Kind == paimon.Date {
				j.add("layout.date-lookup", Problem{Found: fmt.Sprintf("partition column %q %s", k, f.Type),
					Fix: "look rows up with a Fluss client instead of Flink SQL, or use a cluster of Fluss 1.0"})
				break
			}
		}
	}
}

// legacyColumns plans what only Fluss 0.9 demands of the schema: the system
// columns and the stamped options.
func (j *judge) legacyColumns() {
	if j.in.Generation != generation09 {
		return
	}
	if !j.out.Prepared && !slices.ContainsFunc(j.columns, func(f paimon.Field) bool { return slices.Contains(systemColumnNames(), f.Name) }) {
		for _, c := range systemColumns {
			j.change("column.system-missing", SourceChange{
				What: "column " + c.Name + " added", To: c.Type.String(),
				Statement: fmt.Sprintf("ALTER TABLE %s ADD %s %s;", j.sqlTable(), sqlName(c.Name), flinkType(c.Type)),
			}, Problem{Found: fmt.Sprintf("no column %q", c.Name), Required: fmt.Sprintf("%q %s as one of the last three columns", c.Name, c.Type)})
		}
	}
	from := "options of an earlier attempt"
	if !slices.ContainsFunc(optionKeysOf(j.in.Schema), func(k string) bool { return strings.HasPrefix(k, "fluss.") }) {
		from = ""
	}
	j.change("option.fluss", SourceChange{What: changeFlussOptions, From: from, To: "the properties of the Fluss table to be created"},
		Problem{
			Found:    "no fluss.* options of the Fluss table to be created",
			Required: "each of its properties as fluss.<key>",
			Fix:      "set prepare_source = true: the values are known only once the Fluss table is created",
		})
}

// flinkType is a type as Flink SQL spells it.
func flinkType(t paimon.DataType) string {
	if t.Kind == paimon.TimestampLTZ {
		return fmt.Sprintf("TIMESTAMP_LTZ(%d)", t.Precision)
	}
	return t.String()
}

func optionKeysOf(s *paimon.Schema) []string {
	keys := make([]string, 0, len(s.Options))
	for k := range s.Options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
