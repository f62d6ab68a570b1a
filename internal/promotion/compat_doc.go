package promotion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// classOrder is the order of the guide's option tables, with their titles.
var classOrder = []struct {
	class OptionClass
	title string
	text  string
}{
	{OptionRejected, "Rejected", "A table that has one of these, with such a value, is not promoted."},
	{OptionMustSet, "To be removed or acknowledged first", "Remove the option, or, where it says so, list it in `acknowledged_properties` once you have checked it."},
	{OptionMirrored, "Mirrored", "Kept, and on Fluss 1.0 given to the Fluss table as `paimon.<option>`, because the server compares it as text."},
	{OptionAccepted, "Accepted", "Kept, with the same meaning after the promotion."},
	{OptionNoInfluence, "Without influence", "Kept; they touch neither the rows that a read shows nor where they lie."},
}

// CompatibilityMarkdown is the guide's page on what can be promoted, made from
// the tables that the judge uses.
func CompatibilityMarkdown() string {
	var b strings.Builder
	b.WriteString("---\npage_title: \"What can be promoted\"\nsubcategory: \"\"\ndescription: |-\n  Which Paimon tables can be promoted in place, and what has to change first.\n---\n\n")
	b.WriteString("# What can be promoted\n\n")
	b.WriteString("`terraform plan` checks a Paimon table against these rules, and names the rule in its answer. The checks are the provider's own: Fluss's servers enable most unsound tables without a word, and one such table can stop the tiering of a whole cluster.\n\n")
	writeVersions(&b)
	b.WriteString("A promotion that succeeds is no guarantee for options this page does not name, for custom features, or for newer versions of Paimon.\n\n")
	writeRules(&b, "## What `prepare_source = true` changes", "One new schema version of the Paimon table, metadata only. Without it the plan fails and shows the statement, where `ALTER TABLE` can make the change.",
		func(r compatRule) bool { return r.Prepare })
	writeRules(&b, "## What cannot be promoted", "", func(r compatRule) bool { return !r.Prepare && r.Severity == SeverityError })
	writeRules(&b, "## What is warned of", "", func(r compatRule) bool { return r.Severity == SeverityWarning })
	b.WriteString("## Options of the Paimon table\n\nThe rule is `option.` and the option's name. An option that is in none of these tables is reported as not validated; with `unvalidated_properties = \"deny\"` it has to be listed in `acknowledged_properties`.\n\n")
	for _, c := range classOrder {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", c.title, c.text)
		if c.class == OptionNoInfluence {
			writeFreeOptions(&b)
		}
		writeOptions(&b, c.class)
	}
	b.WriteString("## Properties of the Fluss table\n\n`table_properties` takes these:\n\n| property | value | for |\n|---|---|---|\n")
	for _, r := range propertyRules {
		if r.Rule == "" {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Key, cell(r.Form), propertyScope(r))
		}
	}
	return b.String()
}

// writeVersions says what is supported. The file formats are the reader's own
// list, so that they are true when it learns another one.
func writeVersions(b *strings.Builder) {
	b.WriteString("## Versions\n\n| what | supported | tested |\n|---|---|---|\n")
	for _, v := range [][3]string{
		{"Fluss 0.9", "with `lake_layout = \"legacy\"`", "0.9.1, on running servers"},
		{"Fluss 1.0", "yes", "the rules hold what a development build of August 2026 answered for each sample table; the provider itself is tested against the bytes of its client, and no promotion was run on it, because its server is in no package registry"},
		{"Paimon tables", "schema versions 1 to 3, snapshot versions up to 3", "written by Paimon 1.3.1 and 1.4.2 (Java, Flink) and by pypaimon 1.4.2"},
		{"Paimon options", "those of 1.3.1, 1.4.2, 2.0.0 and the development head of August 2026 are named here", "a test holds the list and wants a verdict for each name"},
		{"Paimon catalog", "filesystem", "filesystem"},
	} {
		fmt.Fprintf(b, "| %s | %s | %s |\n", v[0], v[1], v[2])
	}
	formats := make([]string, 0, len(fileFormats))
	for _, f := range fileFormats {
		how := "log tables only, whose rows are not loaded"
		if slices.Contains(paimon.FileFormats(), f) {
			how = "key and log tables"
		}
		formats = append(formats, f+": "+how)
	}
	fmt.Fprintf(b, "\nData files: %s. A key table's rows are loaded by the provider, so it has to read their format; a log table's rows stay where they are.\n\n", strings.Join(formats, "; "))
}

// writeFreeOptions writes the options without influence, by what they are for:
// most of Paimon's options are among them.
func writeFreeOptions(b *strings.Builder) {
	b.WriteString("| what for | options |\n|---|---|\n")
	for _, r := range optionRulesFree {
		keys := strings.Fields(r.Keys)
		slices.Sort(keys)
		fmt.Fprintf(b, "| %s | `%s` |\n", cell(r.Why), strings.Join(keys, "`, `"))
	}
	b.WriteString("\nAnd with these values:\n\n")
}

func propertyScope(r propertyRule) string {
	var parts []string
	if r.Since == generation10 {
		parts = append(parts, "Fluss 1.0")
	}
	if r.Keyed {
		parts = append(parts, "key tables")
	}
	return strings.Join(parts, ", ")
}

func writeRules(b *strings.Builder, title, text string, want func(compatRule) bool) {
	fmt.Fprintf(b, "%s\n\n", title)
	if text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	b.WriteString("| rule | when | why |\n|---|---|---|\n")
	for _, r := range compatRules {
		if want(r) {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", r.ID, cell(r.What), cell(r.Why))
		}
	}
	b.WriteString("\n")
}

// writeOptions writes the options of a class: those whose offending values are
// of it, and those whose other values are.
func writeOptions(b *strings.Builder, class OptionClass) {
	type line struct{ key, when, why string }
	var lines []line
	for _, r := range optionRulesJudged {
		for _, key := range strings.Fields(r.Keys) {
			switch {
			case r.Class == class:
				when := r.When
				if r.Ask {
					when = strings.TrimPrefix(when+"; can be acknowledged", "; ")
				}
				lines = append(lines, line{key, when, r.Why})
			case r.Else == class:
				lines = append(lines, line{key, "otherwise", ""})
			}
		}
	}
	slices.SortFunc(lines, func(x, y line) int { return strings.Compare(x.key, y.key) })
	b.WriteString("| option | values | why |\n|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", l.key, cell(l.when), cell(l.why))
	}
	b.WriteString("\n")
}

// cell makes text fit a table's cell.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", "\\|"), "\n", " ")
}
