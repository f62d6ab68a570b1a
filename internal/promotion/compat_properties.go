package promotion

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// propertyRule is what a Fluss table property in table_properties means.
type propertyRule struct {
	// Key may end in "*".
	Key string
	// Rule is the rule it breaks: "" when a user may set it.
	Rule string
	// Since is the first generation that knows it; "" means 0.9.
	Since string
	// Keyed: for key tables only.
	Keyed bool
	// OK tests the value; Form says in words what it wants.
	OK   func(string) bool
	Form string
	Why  string // with Rule
	Fix  string // with Rule: what to do besides removing it
}

var flussDuration = regexp.MustCompile(`^(?i)\s*\d+\s*(ns|nano|nanos|nanosecond|nanoseconds|us|µs|micro|micros|microsecond|microseconds|ms|milli|millis|millisecond|milliseconds|s|sec|secs|second|seconds|m|min|minute|minutes|h|hour|hours|d|day|days)?\s*$`)

func isBool(s string) bool { return isTrue(s) || strings.EqualFold(strings.TrimSpace(s), "false") }

func isPositive(s string) bool {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return err == nil && n > 0
}

func oneOf(values ...string) func(string) bool {
	return func(s string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(strings.TrimSpace(s), v) })
	}
}

const (
	boolForm     = "true or false"
	durationForm = "a duration such as 30s, 5min or 7d"
	countForm    = "a whole number above 0"
	fromSource   = "it comes from the source"
)

// propertyRules are tried in order. The last ones of a prefix are general.
var propertyRules = []propertyRule{
	{Key: "table.datalake.enabled", Rule: "property.owned", Why: "the promotion enables the table as its last step, once the rows are loaded and registered"},
	{Key: "table.datalake.format", Rule: "property.owned", Why: "the cluster stamps it, and the promotion goes to Paimon"},
	{Key: "table.datalake.freshness", OK: flussDuration.MatchString, Form: durationForm},
	{Key: "table.datalake.auto-compaction", OK: isBool, Form: boolForm},
	{Key: "table.datalake.auto-expire-snapshot", OK: isBool, Form: boolForm},
	{Key: "table.datalake.database-name", Rule: "property.owned", Why: "the Fluss table is promoted over the Paimon table of its own name"},
	{Key: "table.datalake.table-name", Rule: "property.owned", Why: "the Fluss table is promoted over the Paimon table of its own name"},
	{Key: "table.datalake.historical-partition.enabled", Rule: "property.meaning", Why: "lookups on partitions that were not loaded would be answered by another way that has not been checked"},
	{Key: "table.datalake.*", Rule: "property.owned", Why: "the lake is the cluster's"},
	{Key: "table.kv.format", OK: oneOf("COMPACTED"), Form: "COMPACTED, in which the rows are loaded"},
	{Key: "table.kv.format-version", Rule: "property.owned", Why: "the server stamps the version that keeps Paimon's buckets"},
	{Key: "table.kv.standby-replica.enabled", Since: generation10, Keyed: true, OK: isBool, Form: boolForm},
	{Key: "table.kv.*", Rule: "property.meaning", Why: "rows would vanish from Fluss that the lake keeps"},
	{Key: "table.log.format", OK: oneOf("ARROW"), Form: "ARROW, which tiering has been seen to read"},
	{Key: "table.log.ttl", OK: flussDuration.MatchString, Form: durationForm},
	{Key: "table.log.local-ttl", Since: generation10, OK: flussDuration.MatchString, Form: durationForm},
	{Key: "table.log.tiered.local-segments", OK: isPositive, Form: countForm},
	{Key: "table.statistics.columns", Since: generation10, OK: func(string) bool { return true }, Form: "column names"},
	{Key: "table.replication.factor", OK: isPositive, Form: countForm},
	{Key: "table.merge-engine", Rule: "property.meaning", Why: "Fluss would merge later writes otherwise than Paimon does"},
	{Key: "table.merge-engine.*", Rule: "property.meaning", Why: "Fluss would merge later writes otherwise than Paimon does"},
	{Key: "table.delete.behavior", Keyed: true, OK: oneOf("ALLOW", "IGNORE", "DISABLE"), Form: "ALLOW, IGNORE or DISABLE"},
	{Key: "table.changelog.image", OK: oneOf("FULL"), Form: "FULL, which tiering has been seen to write"},
	{Key: "table.auto-partition.enabled", OK: oneOf("false"), Form: "false: auto-partitioning drops old partitions, which a promoted table has from the first day"},
	{Key: "table.auto-partition.*", Rule: "property.meaning", Why: "auto-partitioning drops old partitions, which a promoted table has from the first day",
		Fix: "to keep old partitions out of Fluss, list the others in partitions: those left out stay readable through the lake"},
	{Key: "table.*", Rule: "property.unknown"},
	{Key: "bucket.num", Rule: "property.owned", Why: fromSource},
	{Key: "bucket.key", Rule: "property.owned", Why: fromSource},
	{Key: "paimon.*", Rule: "property.owned", Why: "options are mirrored from the source where the server compares them, and only where both sides then mean the same"},
	{Key: "*", Rule: "property.unknown"},
}

// properties judges table_properties.
func (j *judge) properties() {
	keys := make([]string, 0, len(j.in.TableProperties))
	for k := range j.in.TableProperties {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, key := range keys {
		value := j.in.TableProperties[key]
		i := slices.IndexFunc(propertyRules, func(r propertyRule) bool { return matchPattern(r.Key, key) })
		p := Problem{Attribute: []string{"table_properties", key}, Found: fmt.Sprintf("%s = %s", key, value), Fix: "remove " + key}
		if i < 0 { // an empty key
			p.Required = "a table.* property"
			j.add("property.unknown", p)
			continue
		}
		r := propertyRules[i]
		switch {
		case r.Rule != "":
			p.Required, p.Why = key+" left out", r.Why
			if r.Fix != "" {
				p.Fix += "; " + r.Fix
			}
			if r.Rule == "property.unknown" {
				p.Required = "one of " + settableProperties(j.in.Generation)
			}
			j.add(r.Rule, p)
		case r.Since == generation10 && j.in.Generation == generation09:
			p.Required = "one of " + settableProperties(j.in.Generation)
			j.add("property.unknown", p)
		case r.Keyed && !j.keyed:
			p.Required, p.Why = key+" left out", "it is for tables with a primary key"
			j.add("property.unknown", p)
		case !r.OK(value):
			p.Required, p.Fix = r.Form, "correct or remove "+key
			j.add("property.value", p)
		}
	}
	j.replication()
}

// replication compares the number of replicas with the servers that could hold
// them.
func (j *judge) replication() {
	const key = "table.replication.factor"
	text, set := j.in.TableProperties[key]
	factor, p := j.in.Replication, Problem{Attribute: []string{"table_properties"},
		Found: fmt.Sprintf("default.replication.factor = %d in the cluster's configuration", j.in.Replication)}
	if set {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return // reported as a value of the wrong form
		}
		factor, p = n, Problem{Attribute: []string{"table_properties", key}, Found: fmt.Sprintf("%s = %s", key, text)}
	}
	if j.in.TabletServers == 0 || factor <= j.in.TabletServers {
		return
	}
	p.Found += fmt.Sprintf(", and %d live tablet servers", j.in.TabletServers)
	p.Required = fmt.Sprintf("at most %d replicas", j.in.TabletServers)
	p.Fix = fmt.Sprintf("start more tablet servers, or set table_properties = { %q = \"%d\" }", key, j.in.TabletServers)
	j.add("property.replication", p)
}

// settableProperties lists the properties a user may set.
func settableProperties(generation string) string {
	var keys []string
	for _, r := range propertyRules {
		if r.Rule == "" && (r.Since == "" || generation == generation10) {
			keys = append(keys, r.Key)
		}
	}
	return strings.Join(keys, ", ")
}
