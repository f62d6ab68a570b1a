package suite

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
)

// randomTable is a table made of a seed alone: its schema, options and what is
// done to it. It keeps its columns as ALTER leaves them.
type randomTable struct {
	*rand.Rand
	seed    uint64
	db      string
	name    string
	keys    []sqlColumn // of the primary key, without partition columns
	parts   []sqlColumn
	others  []sqlColumn
	keyed   bool
	options map[string]string
	avro    bool // Avro has no blanks and points in names, and no nanoseconds
	log     []string
	added   int
}

// sqlColumn is a column or a field: its type and how a value of it is written.
type sqlColumn struct {
	name  string
	typ   string
	value func(r *rand.Rand) string
	wider string // a type that its type may become; "" none
}

func newRandomTable(db string, seed uint64) *randomTable {
	r := &randomTable{Rand: newRand(seed), seed: seed, db: db, name: fmt.Sprintf("t%d", seed), options: map[string]string{}}
	formats := "parquet,orc,avro"
	if f := os.Getenv(formatsVariable); f != "" {
		formats = f
	}
	r.options["file.format"] = pick(r.Rand, strings.Split(formats, ",")...)
	r.avro = r.options["file.format"] == "avro"
	r.keyed = r.IntN(4) > 0
	for i := range r.IntN(3) {
		c := r.keyColumn()
		c.name = fmt.Sprintf("%s%d", pick(r.Rand, "dt", "分区", "p"), i)
		r.parts = append(r.parts, c)
	}
	if r.keyed {
		for i := range 1 + r.IntN(2) {
			c := r.keyColumn()
			c.name = fmt.Sprintf("%s%d", pick(r.Rand, "id", "Ключ", "select"), i)
			r.keys = append(r.keys, c)
		}
	}
	n := 1 + r.IntN(8)
	if r.IntN(12) == 0 {
		n = 120
	}
	for i := range n {
		c := r.anyColumn(3)
		c.name = r.named(fmt.Sprintf("%s%d", pick(r.Rand, "c", "a.b", "列", "Order", "value"), i))
		r.others = append(r.others, c)
	}
	r.chooseOptions()
	return r
}

// named makes a name that the table's format has.
func (r *randomTable) named(name string) string {
	if r.avro {
		return strings.NewReplacer(" ", "_", ".", "_").Replace(name)
	}
	return name
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (r *randomTable) chance(percent int) bool { return r.IntN(100) < percent }

// keyColumn is of a type that Flink hashes and sorts keys of; few values, so
// that keys meet again.
func (r *randomTable) keyColumn() sqlColumn {
	few := func(texts ...string) func(*rand.Rand) string {
		return func(r *rand.Rand) string { return pick(r, texts...) }
	}
	return pick(r.Rand,
		sqlColumn{typ: "INT", value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(12) - 6) }},
		sqlColumn{typ: "BIGINT", value: few("-9223372036854775807", "0", "1", "7", "9223372036854775807")},
		sqlColumn{typ: "STRING", value: few("'a'", "'b/c'", "'é'", "'2024-01-01'", "'雪%'", "'a long key of text'", "'a long key of words'")},
		sqlColumn{typ: "DATE", value: few("DATE '2023-02-27'", "DATE '2026-03-01'", "DATE '1969-12-31'", "DATE '1970-01-01'")},
		sqlColumn{typ: "BOOLEAN", value: few("TRUE", "FALSE")},
		sqlColumn{typ: "DECIMAL(30, 4)", value: few("CAST('-12345678901234567890.1234' AS DECIMAL(30, 4))", "CAST('0.0001' AS DECIMAL(30, 4))", "CAST('7' AS DECIMAL(30, 4))")},
		sqlColumn{typ: "TIMESTAMP(3)", value: few("TIMESTAMP '1969-12-31 23:59:59.999'", "TIMESTAMP '2024-02-29 12:00:00.000'", "TIMESTAMP '2024-02-29 12:34:56.780'")},
		sqlColumn{typ: "SMALLINT", value: few("CAST(-3 AS SMALLINT)", "CAST(300 AS SMALLINT)")},
	)
}

// anyColumn is of any type that can be promoted, nested at most depth levels.
func (r *randomTable) anyColumn(depth int) sqlColumn {
	if depth > 0 && r.chance(30) {
		c, d := r.anyColumn(depth-1), r.anyColumn(depth-1)
		// Two values for the elements of one array or map. Those with a MAP are the
		// same, as Flink would cast one to the other's nullability.
		inner := func(r *rand.Rand) (string, string) {
			v := c.value(r)
			if hasMap(c.typ) {
				return v, v
			}
			return v, c.value(r)
		}
		kind := r.IntN(3)
		if hasMap(c.typ + d.typ) {
			kind = 0 // Flink names the fields of a ROW by a cast only
		}
		switch kind {
		case 0:
			typ := "ARRAY<" + c.typ + ">"
			return sqlColumn{typ: typ, value: orNull(typ, func(r *rand.Rand) string {
				v, w := inner(r)
				return cast(typ, fmt.Sprintf("ARRAY[%s, %s]", v, w))
			})}
		case 1:
			typ := "MAP<STRING, " + c.typ + ">"
			return sqlColumn{typ: typ, value: orNull(typ, func(r *rand.Rand) string {
				v, w := inner(r)
				return cast(typ, fmt.Sprintf("MAP[CAST('k' AS STRING), %s, CAST('雪%d' AS STRING), %s]", v, r.IntN(5), w))
			})}
		}
		typ := fmt.Sprintf("ROW<`%s` %s, `名` %s>", r.named("f a"), c.typ, d.typ)
		return sqlColumn{typ: typ, value: orNull(typ, func(r *rand.Rand) string {
			return cast(typ, fmt.Sprintf("ROW(%s, %s)", c.value(r), d.value(r)))
		})}
	}
	p := r.IntN(10)
	if r.avro {
		p = min(p, 6)
	}
	stamp := func(prefix string) func(r *rand.Rand) string {
		return func(r *rand.Rand) string {
			at := pick(r, "1969-12-31 23:59:59", "1970-01-01 00:00:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59", "2024-02-29 12:34:56", "1883-11-18 12:00:00")
			if p > 0 {
				at += "." + fmt.Sprintf("%09d", r.IntN(1_000_000_000))[:p]
			}
			return fmt.Sprintf("CAST(TIMESTAMP '%s' AS %s(%d))", at, prefix, p)
		}
	}
	precision, scale := 1+r.IntN(38), 0
	scale = r.IntN(precision + 1)
	size := 1 + r.IntN(9)
	oneOf := func(typ string, of ...string) func(r *rand.Rand) string {
		return func(r *rand.Rand) string { return cast(typ, pick(r, of...)) }
	}
	sized := func(name string) string { return fmt.Sprintf("%s(%d)", name, size) }
	decimal := fmt.Sprintf("DECIMAL(%d, %d)", precision, scale)
	texts := []string{"''", "'a'", "'雪'", "'it''s \"quoted\" \\ text'", "'trailing  '"}
	c := pick(r.Rand,
		sqlColumn{typ: "BOOLEAN", value: oneOf("BOOLEAN", "TRUE", "FALSE")},
		sqlColumn{typ: "TINYINT", value: oneOf("TINYINT", "-128", "127", "0"), wider: "BIGINT"},
		sqlColumn{typ: "SMALLINT", value: oneOf("SMALLINT", "-32768", "32767"), wider: "INT"},
		sqlColumn{typ: "INT", value: oneOf("INT", "-2147483648", "2147483647", "5"), wider: "BIGINT"},
		sqlColumn{typ: "BIGINT", value: oneOf("BIGINT", "-9223372036854775807", "9223372036854775807", "6")},
		sqlColumn{typ: "FLOAT", value: oneOf("FLOAT", "1.5", "-0.25", "65536.5"), wider: "DOUBLE"},
		sqlColumn{typ: "DOUBLE", value: oneOf("DOUBLE", "1.5", "-0.125", "1234.0625")},
		sqlColumn{typ: decimal, value: func(r *rand.Rand) string {
			digits := fmt.Sprintf("%019d%019d", r.Int64(), r.Int64())[:precision]
			return fmt.Sprintf("CAST('%s%s.%s' AS %s)", pick(r, "", "-"), digits[:precision-scale], digits[precision-scale:], decimal)
		}},
		sqlColumn{typ: sized("CHAR"), value: oneOf(sized("CHAR"), texts...)},
		sqlColumn{typ: sized("VARCHAR"), value: oneOf(sized("VARCHAR"), texts...), wider: "STRING"},
		sqlColumn{typ: "STRING", value: oneOf("STRING", texts...)},
		sqlColumn{typ: sized("BINARY"), value: oneOf(sized("BINARY"), "x'00ff'", "x'0102030405060708090a'")},
		sqlColumn{typ: sized("VARBINARY"), value: oneOf(sized("VARBINARY"), "x''", "x'00ff'", "x'0102030405060708090a'"), wider: "BYTES"},
		sqlColumn{typ: "BYTES", value: oneOf("BYTES", "x''", "x'80'")},
		sqlColumn{typ: "DATE", value: oneOf("DATE", "DATE '0001-01-01'", "DATE '1969-12-31'", "DATE '9999-12-31'", "DATE '2024-02-29'")},
		sqlColumn{typ: "TIME", value: oneOf("TIME", "TIME '00:00:00'", "TIME '23:59:59'")},
		sqlColumn{typ: fmt.Sprintf("TIMESTAMP(%d)", p), value: stamp("TIMESTAMP")},
		sqlColumn{typ: fmt.Sprintf("TIMESTAMP_LTZ(%d)", p), value: stamp("TIMESTAMP_LTZ")},
	)
	c.value = orNull(c.typ, c.value)
	return c
}

// cast gives a value its type. Flink can't cast to a type with a MAP in it: the
// column it is inserted into makes its type then.
func cast(typ, value string) string {
	if hasMap(typ) {
		return value
	}
	return fmt.Sprintf("CAST(%s AS %s)", value, typ)
}

func hasMap(typ string) bool { return strings.Contains(typ, "MAP<") }

func orNull(typ string, value func(r *rand.Rand) string) func(r *rand.Rand) string {
	return func(r *rand.Rand) string {
		if !hasMap(typ) && r.IntN(6) == 0 {
			return fmt.Sprintf("CAST(NULL AS %s)", typ)
		}
		return value(r)
	}
}

func (r *randomTable) chooseOptions() {
	maybe := func(percent int, key string, values ...string) {
		if r.chance(percent) {
			r.options[key] = pick(r.Rand, values...)
		}
	}
	r.options["bucket"] = fmt.Sprint(1 + r.IntN(5))
	switch {
	case r.keyed:
		maybe(30, "bucket-key", r.keys[0].name)
		maybe(30, "changelog-producer", "input", "lookup", "full-compaction")
		if r.chance(30) {
			r.options["deletion-vectors.enabled"] = "true"
			delete(r.options, "changelog-producer")
			maybe(50, "deletion-vectors.bitmap64", "true")
		}
		maybe(40, "num-sorted-run.compaction-trigger", "1", "2", "5")
		maybe(30, "num-levels", "3", "4")
		maybe(20, "write-only", "true")
		maybe(30, "data-file.thin-mode", "true")
	case r.chance(60):
		r.options["bucket"] = "-1"
		maybe(30, "row-tracking.enabled", "true")
	default:
		// A plain column that Flink can hash.
		r.others = append(r.others, sqlColumn{name: "bk", typ: "INT", value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(50)) }})
		r.options["bucket-key"] = "bk"
	}
	if r.avro {
		maybe(60, "file.compression", "zstd", "snappy")
	} else {
		maybe(60, "file.compression", "zstd", "snappy", "lz4")
	}
	maybe(30, "file.suffix.include.compression", "true")
	maybe(30, "target-file-size", "1 kb")
	maybe(30, "metadata.stats-mode", "none", "counts", "full", "truncate(2)")
	maybe(20, "metadata.stats-dense-store", "false")
	maybe(40, "manifest.compression", "null", "deflate", "snappy", "zstandard")
	maybe(30, "manifest.merge-min-count", "2")
	maybe(25, "data-file.path-directory", "data", "a/b")
	maybe(40, "partition.legacy-name", "true", "false")
	maybe(20, "data-file.prefix", "d-")
	if r.chance(20) {
		r.options["data-file.external-paths"] = "EXTERNAL"
		r.options["data-file.external-paths.strategy"] = "round-robin"
	}
}

func (r *randomTable) columns() []sqlColumn {
	return append(append(append([]sqlColumn{}, r.parts...), r.keys...), r.others...)
}

func (r *randomTable) path() string {
	return fmt.Sprintf("lake.%s.%s", flinksql.Identifier(r.db), flinksql.Identifier(r.name))
}

func names(columns []sqlColumn) string {
	var out []string
	for _, c := range columns {
		out = append(out, flinksql.Identifier(c.name))
	}
	return strings.Join(out, ", ")
}

// create is the CREATE TABLE statement; warehouse is where external files go.
func (r *randomTable) create(warehouse string) string {
	var defs, with []string
	for _, c := range r.columns() {
		defs = append(defs, flinksql.Identifier(c.name)+" "+c.typ)
	}
	if r.keyed {
		defs = append(defs, fmt.Sprintf("PRIMARY KEY (%s) NOT ENFORCED", names(append(append([]sqlColumn{}, r.parts...), r.keys...))))
	}
	for _, k := range slices.Sorted(maps.Keys(r.options)) {
		v := r.options[k]
		if v == "EXTERNAL" {
			v = "file://" + warehouse + "/external-" + r.name
		}
		with = append(with, flinksql.Literal(k)+" = "+flinksql.Literal(v))
	}
	sql := fmt.Sprintf("CREATE TABLE %s (%s)", r.path(), strings.Join(defs, ", "))
	if len(r.parts) > 0 {
		sql += fmt.Sprintf(" PARTITIONED BY (%s)", names(r.parts))
	}
	return r.noted(sql + " WITH (" + strings.Join(with, ", ") + ")")
}

// insert writes some rows; now and then it replaces what is there.
func (r *randomTable) insert(round int) string {
	var rows []string
	n := 3 + r.IntN(10)
	if slices.ContainsFunc(r.others, func(c sqlColumn) bool { return hasMap(c.typ) }) {
		n = 1 // rows of one VALUES get one type, for which Flink would cast maps
	}
	for range n {
		var values []string
		for _, c := range r.columns() {
			values = append(values, c.value(r.Rand))
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	verb := "INTO"
	if round == 2 && r.chance(20) {
		verb = "OVERWRITE"
	}
	return r.noted(fmt.Sprintf("INSERT %s %s VALUES %s", verb, r.path(), strings.Join(rows, ", ")))
}

// between is what happens after a round of inserts: deletes, compactions,
// changes of the schema, tags.
func (r *randomTable) between(round int) (sql []string) {
	do := func(format string, args ...any) { sql = append(sql, r.noted(fmt.Sprintf(format, args...))) }
	table := flinksql.Literal(r.db + "." + r.name)
	i := r.IntN(len(r.others))
	c := &r.others[i]
	switch r.IntN(9) {
	case 0, 1:
		if r.keyed {
			k := r.keys[0]
			do("DELETE FROM %s WHERE %s = %s", r.path(), flinksql.Identifier(k.name), k.value(r.Rand))
		}
	case 2:
		if r.keyed {
			do("CALL sys.compact(`table` => %s, compact_strategy => '%s')", table, pick(r.Rand, "full", "minor"))
		}
	case 3:
		n := sqlColumn{name: fmt.Sprintf("added%d", r.added)}
		n.typ, n.value = "STRING", func(r *rand.Rand) string { return pick(r, "'new'", "CAST(NULL AS STRING)") }
		r.added++
		do("ALTER TABLE %s ADD %s %s", r.path(), flinksql.Identifier(n.name), n.typ)
		r.others = append(r.others, n)
	case 4:
		if c.name != "bk" {
			renamed := r.named(fmt.Sprintf("renamed %d", round))
			do("ALTER TABLE %s RENAME %s TO %s", r.path(), flinksql.Identifier(c.name), flinksql.Identifier(renamed))
			c.name = renamed
		}
	case 5:
		if c.name != "bk" && len(r.others) > 2 {
			do("ALTER TABLE %s DROP %s", r.path(), flinksql.Identifier(c.name))
			r.others = append(r.others[:i:i], r.others[i+1:]...)
		}
	case 6:
		if c.wider != "" && c.name != "bk" {
			do("ALTER TABLE %s MODIFY %s %s", r.path(), flinksql.Identifier(c.name), c.wider)
			c.typ, c.wider = c.wider, ""
		}
	case 7:
		do("CALL sys.create_tag(`table` => %s, tag => 'tag%d')", table, round)
	}
	return sql
}

func (r *randomTable) noted(sql string) string {
	r.log = append(r.log, sql)
	return sql
}

// String is everything that was done to the table.
func (r *randomTable) String() string { return strings.Join(r.log, ";\n") }
