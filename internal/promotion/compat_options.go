package promotion

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// alterRule says what ALTER TABLE ... RESET does with an option.
type alterRule uint8

const (
	// alterFree: ALTER changes the option at any time.
	alterFree alterRule = iota
	// alterEmpty: ALTER refuses once the table has a snapshot.
	alterEmpty
)

// optionRule is what one Paimon option, or several alike, mean for a promotion.
type optionRule struct {
	// Keys are option names, separated by spaces. A "*" stands for any text.
	Keys string
	// Class is the class of every value or, when Bad is set, of those values
	// for which Bad is true; the others are of class Else.
	Class OptionClass
	Bad   func(value string) bool
	Else  OptionClass
	// When says in words which values are of Class, for the guide.
	When string
	Why  string
	// Alter says whether ALTER can take the option away.
	Alter alterRule
	// Ask means: only the user can judge it. It is no problem once the key is
	// in acknowledged_properties.
	Ask bool
	// With means: the class follows that of the option With, which carries the
	// problem. Values without an offending With are of class Else.
	With string
	// Layout means: the layout rules judge the option and give the problem.
	Layout bool
	// Fix replaces the statement that resets the option. {table} and {compact}
	// stand for the table in SQL and the statement of a full compaction.
	Fix string
}

func not(values ...string) func(string) bool {
	return func(v string) bool {
		return !slices.ContainsFunc(values, func(w string) bool { return strings.EqualFold(strings.TrimSpace(v), w) })
	}
}

// optionTable is optionRules by exact key, and those with a "*" apart.
type optionTable struct {
	exact    map[string]*optionRule
	patterns []optionPattern // the longest first
}

type optionPattern struct {
	pattern string
	rule    *optionRule
}

var optionIndex = func() optionTable {
	t := optionTable{exact: map[string]*optionRule{}}
	for _, group := range [][]optionRule{optionRulesJudged, optionRulesFree} {
		for i := range group {
			for _, key := range strings.Fields(group[i].Keys) {
				if strings.Contains(key, "*") {
					t.patterns = append(t.patterns, optionPattern{key, &group[i]})
				} else {
					t.exact[key] = &group[i]
				}
			}
		}
	}
	slices.SortStableFunc(t.patterns, func(a, b optionPattern) int { return len(b.pattern) - len(a.pattern) })
	return t
}()

func (t optionTable) find(key string) *optionRule {
	if r, ok := t.exact[key]; ok {
		return r
	}
	for _, p := range t.patterns {
		if matchPattern(p.pattern, key) {
			return p.rule
		}
	}
	return nil
}

// matchPattern compares key with a pattern in which "*" stands for at least
// one character.
func matchPattern(pattern, key string) bool {
	head, tail, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern == key
	}
	if !strings.HasPrefix(key, head) {
		return false
	}
	for i := len(head) + 1; i <= len(key); i++ {
		if matchPattern(tail, key[i:]) {
			return true
		}
	}
	return false
}

// offends says whether a value is one that the rule's Class is about.
func (r *optionRule) offends(j *judge, value string) bool {
	if r.With != "" {
		v, set := j.option(r.With)
		with := optionIndex.exact[r.With]
		return set && with != nil && with.offends(j, v)
	}
	return r.Bad == nil || r.Bad(value)
}

// options puts every option of the source into its class.
func (j *judge) options() {
	keys := make([]string, 0, len(j.in.Schema.Options))
	for k := range j.in.Schema.Options {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	tied := []string{}
	for _, key := range keys {
		if strings.HasPrefix(key, "fluss.") {
			tied = append(tied, key)
			continue
		}
		j.judgeOption(key, j.in.Schema.Options[key])
	}
	j.tiedOptions(tied)
}

func (j *judge) judgeOption(key, value string) {
	rule := optionIndex.find(key)
	if rule == nil {
		j.unvalidated(key, value)
		return
	}
	if rule.Layout {
		return
	}
	class := rule.Class
	if !rule.offends(j, value) {
		class = rule.Else
	} else if rule.With == "" && (class == OptionRejected || class == OptionMustSet) {
		if rule.Ask && j.acknowledged(key) {
			class = OptionAccepted
		} else {
			j.optionProblem(key, value, rule)
		}
	}
	if class == OptionMirrored && j.in.Generation == generation09 {
		class = OptionAccepted // 0.9 does not compare it
	}
	j.class(class, key)
}

func (j *judge) optionProblem(key, value string, rule *optionRule) {
	p := Problem{
		Severity: SeverityError,
		Summary:  fmt.Sprintf("The source's option %s cannot be promoted", key),
		Found:    fmt.Sprintf("%s = %s", key, value),
		Required: "the option is not set",
		Why:      rule.Why,
	}
	if rule.When != "" {
		p.Required = fmt.Sprintf("%s is not set, or not %s", key, rule.When)
	}
	var statement string
	switch {
	case rule.Fix != "":
		p.Fix = strings.NewReplacer("{table}", j.sqlTable(), "{compact}", j.sqlCompact()).Replace(rule.Fix)
	case rule.Alter == alterFree || !j.hasData():
		statement = j.alterReset(key)
		p.Fix = statement
	default:
		p.Fix = "ALTER TABLE refuses to change " + key + " on a table that has a snapshot; copy the rows into a new table without it and promote that one"
	}
	if rule.Ask {
		p.Fix += fmt.Sprintf(" Or, if you have checked it, add %q to acknowledged_properties.", key)
	}
	if statement == "" {
		j.add("option."+key, p)
		return
	}
	j.add("option."+key, p, statement)
}

func (j *judge) unvalidated(key, value string) {
	j.class(OptionUnvalidated, key)
	j.out.Unvalidated = append(j.out.Unvalidated, key)
	if !j.in.DenyUnvalidated || j.acknowledged(key) {
		return
	}
	j.add("option.unvalidated", Problem{
		Attribute: []string{"unvalidated_properties"},
		Found:     fmt.Sprintf("%s = %s", key, shownValue(key, value)),
		Required:  "only known options, or this one acknowledged",
		Fix:       fmt.Sprintf("add %q to acknowledged_properties once you know what it does, or remove it: %s", key, j.alterReset(key)),
	}, j.alterReset(key))
}

// secretKey matches the names of options whose values are not shown: options
// that are not known may be anything, such as a file system's credentials.
var secretKey = regexp.MustCompile(`(?i)secret|password|passwd|token|credential|access[-_.]?key|account[-_.]?key|signature|\bsas\b`)

func shownValue(key, value string) string {
	if secretKey.MatchString(key) {
		return "(not shown)"
	}
	return value
}

// tiedOptions judges the fluss.* options, which Fluss stores on a Paimon table
// that it writes to.
func (j *judge) tiedOptions(keys []string) {
	if len(keys) == 0 {
		return
	}
	const enabled = "fluss.table.datalake.enabled"
	own := j.in.OperationID != "" && j.in.Schema.Options["fluss."+operationProperty] == j.in.OperationID
	for _, k := range keys {
		j.class(OptionAccepted, k)
	}
	switch {
	case own:
	case j.optionTrue(enabled) && !j.acknowledged(enabled):
		j.add("option.fluss-tied", Problem{
			Found:    enabled + " = true",
			Required: "no Fluss table writes to this Paimon table",
			Fix: fmt.Sprintf("drop or disable the Fluss table that it belongs to; then %s, or add %q to acknowledged_properties",
				strings.TrimSuffix(j.alterReset(enabled), ";"), enabled),
		}, j.alterReset(enabled))
	default:
		j.add("option.fluss-was-tied", Problem{
			Found:    "stored options " + quoteAll(keys),
			Required: "no Fluss table of this or another cluster is enabled on this Paimon table",
		})
	}
}
