package promotion

import (
	"fmt"
	"slices"
	"strings"
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
	b.WriteString("A promotion that succeeds is no guarantee for options this page does not name, for custom features, or for newer versions of Paimon.\n\n")
	writeRules(&b, "## What `prepare_source = true` changes", "One new schema version of the Paimon table, metadata only. Without it the plan fails and shows the statement, where `ALTER TABLE` can make the change.",
		func(r compatRule) bool { return r.Prepare })
	writeRules(&b, "## What cannot be promoted", "", func(r compatRule) bool { return !r.Prepare && r.Severity == SeverityError })
	writeRules(&b, "## What is warned of", "", func(r compatRule) bool { return r.Severity == SeverityWarning })
	b.WriteString("## Options of the Paimon table\n\nThe rule is `option.` and the option's name. An option that is in none of these tables is reported as not validated; with `unvalidated_properties = \"deny\"` it has to be listed in `acknowledged_properties`.\n\n")
	for _, c := range classOrder {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", c.title, c.text)
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
	for _, group := range [][]optionRule{optionRulesJudged, optionRulesFree} {
		for _, r := range group {
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
