package promotion

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

var flussName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// isFlussName says whether Fluss allows the text as the name of a database or
// table, or as a partition value.
func isFlussName(s string) bool {
	return flussName.MatchString(s) && !strings.HasPrefix(s, "__")
}

const nameRequired = "1 to 200 of A-Z, a-z, 0-9, _ and -, not starting with __"

func (j *judge) names() {
	if db := j.in.Name.Database; !isFlussName(db) {
		j.add("name.database", Problem{Attribute: []string{"database"}, Found: strconv.Quote(db), Required: nameRequired,
			Fix: "move the table to a database of such a name: CREATE DATABASE, then ALTER TABLE … RENAME TO"})
	}
	if t := j.in.Name.Table; !isFlussName(t) {
		statement := fmt.Sprintf("ALTER TABLE %s RENAME TO %s;", j.sqlTable(), sqlName(cleanName(t)))
		j.add("name.table", Problem{Attribute: []string{"table"}, Found: strconv.Quote(t), Required: nameRequired, Fix: statement}, statement)
	}
}

// cleanName proposes a name that Fluss allows.
func cleanName(s string) string {
	out := strings.Map(func(r rune) rune {
		if r < 0x80 && flussName.MatchString(string(r)) {
			return r
		}
		return '_'
	}, s)
	if out = strings.TrimLeft(out, "_"); out == "" {
		out = "t"
	}
	return out[:min(len(out), 200)]
}

// keys judges primary key and partition columns.
func (j *judge) keys() {
	s := j.in.Schema
	if j.keyed {
		var missing []string
		for _, p := range s.PartitionKeys {
			if !slices.Contains(s.PrimaryKeys, p) {
				missing = append(missing, p)
			}
		}
		for _, k := range s.PrimaryKeys {
			if f, ok := s.Field(k); ok && f.Type.Nullable {
				j.add("key.nullable", Problem{Found: fmt.Sprintf("key column %q %s", k, f.Type), Required: f.Type.String() + " NOT NULL",
					Fix: "copy the rows into a new table whose key columns are NOT NULL and promote that one"})
			}
		}
		switch {
		case len(missing) > 0:
			j.add("key.partition-columns", Problem{
				Found:    fmt.Sprintf("primary key %s, without the partition columns %s", quoteAll(s.PrimaryKeys), quoteAll(missing)),
				Required: "a primary key that holds every partition column",
				Fix:      "copy the rows into a new table with such a key and promote that one",
			})
		case len(s.TrimmedPrimaryKeys()) == 0:
			j.add("key.only-partitions", Problem{
				Found:    "primary key " + quoteAll(s.PrimaryKeys),
				Required: "at least one key column that is no partition column",
				Fix:      "copy the rows into a new table with such a key and promote that one",
			})
		}
	}
	keys := slices.Concat(s.PrimaryKeys, s.BucketKeys())
	slices.Sort(keys)
	for _, k := range slices.Compact(keys) {
		f, ok := s.Field(k)
		if ok && (f.Type.Kind == paimon.Array || f.Type.Kind == paimon.Map || f.Type.Kind == paimon.Row) {
			j.add("type.key-column", Problem{Found: fmt.Sprintf("key column %q %s", k, f.Type), Required: "no ARRAY, MAP or ROW in keys",
				Fix: "copy the rows into a new table with another key and promote that one"})
		}
	}
}

// bucketing judges bucket and bucket-key and plans their spelling out.
func (j *judge) bucketing() {
	const newTable = "no statement can change it: copy the rows into a new table with a fixed bucket count and promote that one"
	text, set := j.option("bucket")
	n, err := j.in.Schema.Bucket()
	reject := func(rule, found, required string) {
		j.class(OptionRejected, "bucket")
		j.add(rule, Problem{Found: found, Required: required, Fix: newTable})
	}
	found := "bucket = " + text
	if !set {
		found = fmt.Sprintf("bucket is not set, which means %d here", n)
	}
	fixed := "bucket above 0"
	switch {
	case err != nil:
		reject("bucket.invalid", found, "a count above 0, or -1 without a primary key")
		return
	case n == -2:
		j.buckets = n
		reject("bucket.postponed", found, fixed)
		return
	case n == -1 && j.keyed:
		j.buckets = n
		rule := "bucket.dynamic"
		if slices.ContainsFunc(j.in.Schema.PartitionKeys, func(p string) bool { return !slices.Contains(j.in.Schema.PrimaryKeys, p) }) {
			rule = "bucket.cross-partition"
		}
		reject(rule, found, fixed)
		return
	}
	j.buckets = n
	if want := strconv.Itoa(n); text != want {
		j.class(OptionMustSet, "bucket")
		c := SourceChange{What: "option bucket", From: text, To: want}
		if !j.hasData() {
			c.Statement = j.alterSet("bucket", want)
		}
		j.change("option.bucket", c, Problem{Found: found, Required: "bucket = " + want,
			Fix: j.orPrepare(c.Statement, "bucket")})
	} else {
		j.class(OptionAccepted, "bucket")
	}
	j.bucketKey()
}

// orPrepare is the statement, or what to say where ALTER refuses it.
func (j *judge) orPrepare(statement, option string) string {
	if statement != "" {
		return statement
	}
	return fmt.Sprintf("ALTER TABLE refuses to set %s on a table that has a snapshot; set prepare_source = true", option)
}

func (j *judge) bucketKey() {
	s := j.in.Schema
	text, set := j.option("bucket-key")
	if !set {
		switch {
		case j.keyed:
			j.class(OptionMustSet, "bucket-key")
			c := SourceChange{What: "option bucket-key", To: strings.Join(s.TrimmedPrimaryKeys(), ",")}
			if !j.hasData() {
				c.Statement = j.alterSet("bucket-key", c.To)
			}
			j.change("option.bucket-key", c, Problem{Found: "bucket-key is not set", Required: "bucket-key = " + c.To,
				Fix: j.orPrepare(c.Statement, "bucket-key")})
		case j.buckets > 0:
			j.add("bucket.append-without-key", Problem{
				Found: fmt.Sprintf("bucket = %d and no bucket-key", j.buckets), Required: "a bucket-key, or bucket = -1",
				Fix: "copy the rows into a new table with a bucket-key, or with bucket = -1, and promote that one"})
		}
		return
	}
	var wrong string
	keys := strings.Split(text, ",")
	for _, k := range keys {
		_, ok := s.Field(k)
		switch {
		case j.buckets == -1:
			wrong = "the table has no buckets"
		case !ok:
			wrong = fmt.Sprintf("%q is not a column", k)
		case slices.Contains(s.PartitionKeys, k):
			wrong = fmt.Sprintf("%q is a partition column", k)
		case j.keyed && !slices.Contains(s.PrimaryKeys, k):
			wrong = fmt.Sprintf("%q is not part of the primary key", k)
		}
	}
	if wrong == "" {
		j.class(OptionAccepted, "bucket-key")
		return
	}
	j.class(OptionRejected, "bucket-key")
	j.add("bucket.key", Problem{
		Found:    fmt.Sprintf("bucket-key = %q: %s", text, wrong),
		Required: "columns of the key that are no partition columns, joined by commas without spaces",
		Fix:      "copy the rows into a new table with such a bucket-key and promote that one",
	})
}

// movedKinds are the types whose directory text depends on
// partition.legacy-name.
var movedKinds = []paimon.Kind{paimon.Date, paimon.Time, paimon.Timestamp, paimon.TimestampLTZ}

func (j *judge) legacyPartitionNames() {
	const key = "partition.legacy-name"
	text, set := j.option(key)
	if text == "false" {
		j.class(OptionAccepted, key)
		return
	}
	if !strings.EqualFold(strings.TrimSpace(text), "false") && j.hasData() {
		var moved []string
		for _, p := range j.in.Schema.PartitionKeys {
			if f, ok := j.in.Schema.Field(p); ok && slices.Contains(movedKinds, f.Type.Kind) {
				moved = append(moved, fmt.Sprintf("%s %s", p, f.Type))
			}
		}
		if len(moved) > 0 {
			j.class(OptionRejected, key)
			j.add("partition.legacy-name", Problem{
				Found:    fmt.Sprintf("partition columns %s under %s%s", quoteAll(moved), orUnset(key, text, set), j.bothSpellings()),
				Required: "partition.legacy-name = false from before the first row on",
				Fix:      "copy the rows into a new table that was created WITH ('partition.legacy-name' = 'false') and promote that one; do not set the option on this table",
			})
			return
		}
	}
	j.class(OptionMustSet, key)
	j.change("option."+key, SourceChange{What: "option " + key, From: text, To: "false", Statement: j.alterSet(key, "false")},
		Problem{Found: orUnset(key, text, set), Required: key + " = false"})
}

// bothSpellings shows the folder of one partition as it is and as it would be
// under partition.legacy-name=false; "" when no partition is known.
func (j *judge) bothSpellings() string {
	if j.in.Plan == nil || j.in.Table == nil {
		return ""
	}
	for _, p := range j.in.Plan.Partitions {
		now, err := j.in.Table.PartitionDir(p.Partition)
		if err != nil {
			continue // a value without a stable folder; its type is refused
		}
		then, err := j.in.Table.PartitionSpec(p.Partition, false)
		if err != nil {
			continue
		}
		parts := make([]string, 0, len(then))
		for _, k := range j.in.Schema.PartitionKeys {
			parts = append(parts, k+"="+then[k])
		}
		if now, then := strings.Trim(now, "/"), strings.Join(parts, "/"); now != then {
			return fmt.Sprintf("; the files in %s would be looked for in %s", now, then)
		}
	}
	return ""
}

func orUnset(key, text string, set bool) string {
	if !set {
		return key + " is not set"
	}
	return key + " = " + text
}

func (j *judge) changelogProducer() {
	const key = "changelog-producer"
	text, set := j.option(key)
	if j.in.Generation != generation09 || !j.keyed || text == "input" {
		if set {
			j.class(OptionAccepted, key)
		}
		return
	}
	j.class(OptionMustSet, key)
	j.change("option."+key, SourceChange{What: "option " + key, From: text, To: "input", Statement: j.alterSet(key, "input")},
		Problem{Found: orUnset(key, text, set), Required: key + " = input"})
}
