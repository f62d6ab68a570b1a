package promotion

// compatRule is one rule that is not about a single option. The text of the
// guide comes from here as well, so What is written for readers of the guide.
type compatRule struct {
	ID       string
	Severity Severity
	// Prepare says that prepare_source can make the change.
	Prepare bool
	Summary string // static, one sentence
	What    string // when the rule applies
	Why     string
}

const (
	onlyLegacy = "Fluss 0.9 writes every row to the lake with the columns __bucket, __offset and __timestamp, and its tiering fails on a table without them"
	noUnion    = "the reader of Fluss 0.9 takes the offset of a row from the column __offset, which is null in rows that Paimon wrote"
)

// compatRules lists the rules in the order of the guide.
var compatRules = []compatRule{
	{ID: "name.database", Severity: SeverityError, Summary: "The database name is not one that Fluss allows",
		What: "a database name with anything but ASCII letters, digits, `_` and `-`, above 200 characters, or starting with `__`",
		Why:  "the Fluss table has the names of the Paimon table, and Fluss refuses this one"},
	{ID: "name.table", Severity: SeverityError, Summary: "The table name is not one that Fluss allows",
		What: "the same for the table name",
		Why:  "the Fluss table has the names of the Paimon table, and Fluss refuses this one"},

	{ID: "layout.required", Severity: SeverityError, Summary: "Fluss 0.9 needs the legacy lake layout",
		What: "a cluster of Fluss 0.9 without `lake_layout = \"legacy\"`", Why: onlyLegacy + "; Flink union reads of the promoted rows fail on 0.9, because " + noUnion},
	{ID: "layout.not-legacy", Severity: SeverityError, Summary: "The legacy lake layout is for Fluss 0.9 only",
		What: "`lake_layout = \"legacy\"` on a cluster of Fluss 1.0", Why: "Fluss 1.0 keeps the Paimon table's columns as they are"},
	{ID: "layout.union-read", Severity: SeverityWarning, Summary: "Flink union reads fail on Fluss 0.9",
		What: "every promotion on Fluss 0.9", Why: noUnion},
	{ID: "layout.date-lookup", Severity: SeverityWarning, Summary: "Flink SQL lookups by a DATE partition column fail on Fluss 0.9",
		What: "a key table partitioned by a DATE column on Fluss 0.9", Why: "the Flink connector of Fluss 0.9 runs a SELECT on the whole key as a union read when a partition column is a DATE"},

	{ID: "column.reserved", Severity: SeverityError, Summary: "A column name is reserved by Fluss",
		What: "columns `__bucket`, `__offset`, `__timestamp`, `_change_type`, `_log_offset`, `_commit_timestamp`",
		Why:  "Fluss refuses tables with these columns and adds some of them itself"},
	{ID: "column.system", Severity: SeverityError, Summary: "The table has the system columns of Fluss 0.9",
		What: "the three system columns of Fluss 0.9 on a cluster of Fluss 1.0",
		Why:  "Fluss 1.0 would take the table for one that Fluss 0.9 wrote and read their values, which are null in rows that Paimon wrote"},
	{ID: "column.system-missing", Severity: SeverityError, Prepare: true, Summary: "The system columns of Fluss 0.9 are missing",
		What: "Fluss 0.9: the columns `__bucket INT`, `__offset BIGINT`, `__timestamp TIMESTAMP(3) WITH LOCAL TIME ZONE`, nullable, at the end", Why: onlyLegacy},

	{ID: "type.length", Severity: SeverityError, Prepare: true, Summary: "A column's length limit has no Fluss type",
		What: "`VARCHAR(n)` or `VARBINARY(n)`, key and partition columns and nested types included: it becomes `STRING` or `BYTES`",
		Why:  "Fluss has STRING and BYTES only and compares the lake's types exactly; Paimon reads old files with the wider type"},
	{ID: "type.map-key-length", Severity: SeverityError, Summary: "A length limit in a map key has no Fluss type",
		What: "`VARCHAR(n)` or `VARBINARY(n)` in the key of a MAP, at any depth",
		Why:  "Fluss has STRING and BYTES only; another key type in a new schema makes Paimon's own reads of all existing files fail, so it is never written"},
	{ID: "type.time", Severity: SeverityError, Summary: "TIME with fractions of a second has no Fluss type in the lake",
		What: "`TIME(p)` with p above 0, at any depth",
		Why:  "Fluss makes every TIME a TIME(0) in the lake; changing the type in a new schema makes Paimon's own reads of all existing files fail, so it is never done"},
	{ID: "type.map-key", Severity: SeverityError, Summary: "A MAP with a nullable key cannot be promoted",
		What: "`MAP` whose key type is nullable, at any depth; the Flink default",
		Why:  "Fluss makes map keys NOT NULL; changing that in a new schema makes Paimon's own reads of all existing files fail, so it is never done"},
	{ID: "type.avro-precision", Severity: SeverityError, Summary: "Avro files cannot hold a column's timestamps",
		What: "`TIMESTAMP(p)` or `TIMESTAMP_LTZ(p)` with p above 6, at any depth, while `file.format` or `file.format.per.level` is avro",
		Why:  "Avro has timestamps of at most 6 digits: every writer, tiering included, fails at the first file"},
	{ID: "type.avro-name", Severity: SeverityError, Summary: "Avro files cannot hold a column of this name",
		What: "a column or field name with other characters than letters, digits and `_`, or a digit first, while `file.format` or `file.format.per.level` is avro",
		Why:  "Avro restricts names: every writer, tiering included, fails at the first file"},
	{ID: "type.unsupported", Severity: SeverityError, Summary: "A column's type does not exist in Fluss",
		What: "`MULTISET`, `VARIANT`, `BLOB`, `VECTOR`, at any depth", Why: "Fluss has no such type"},
	{ID: "type.nested-default", Severity: SeverityError, Summary: "A field inside a ROW has a default value",
		What: "a default value of a field inside a ROW", Why: "Fluss compares nested fields with their defaults and has none itself"},
	{ID: "type.key-column", Severity: SeverityError, Summary: "A key column has a type that Fluss does not allow in keys",
		What: "`ARRAY`, `MAP` or `ROW` in the primary key or bucket key", Why: "Fluss cannot encode such a key"},
	{ID: "type.before-1970", Severity: SeverityWarning, Summary: "A column may hold timestamps before 1970 with digits below the millisecond",
		What: "a key table with a TIMESTAMP or TIMESTAMP_LTZ column of precision 4 to 9 whose file statistics reach before 1970, or are missing",
		Why:  "Fluss stores such a value and looks it up, but no client can read it from the changelog: union reads and the tiering of the whole cluster stop at it; the load ends at the first such row"},

	{ID: "key.partition-columns", Severity: SeverityError, Summary: "The primary key does not hold all partition columns",
		What: "a primary key without one of the partition columns (cross-partition upsert)", Why: "in Fluss a key lives in one partition for good"},
	{ID: "key.only-partitions", Severity: SeverityError, Summary: "The primary key holds nothing but partition columns",
		What: "a primary key equal to the partition columns", Why: "Fluss needs a key inside the partition"},

	{ID: "key.nullable", Severity: SeverityError, Summary: "A primary key column is nullable",
		What: "a primary key column whose type is nullable, as newer versions of Paimon allow", Why: "key columns are NOT NULL in Fluss, which compares the types exactly"},

	{ID: "bucket.invalid", Severity: SeverityError, Summary: "The bucket option cannot be read",
		What: "a `bucket` that is no number, or 0, or below -2", Why: "the bucket of a row is not known"},
	{ID: "bucket.dynamic", Severity: SeverityError, Summary: "A key table with dynamic buckets cannot be promoted",
		What: "a key table with `bucket=-1`", Why: "Fluss finds a key's bucket by its hash and a fixed count; a dynamic bucket is known only from Paimon's hash index"},
	{ID: "bucket.cross-partition", Severity: SeverityError, Summary: "A key table with cross-partition upsert cannot be promoted",
		What: "a key table with `bucket=-1` whose key lacks a partition column", Why: "Fluss finds a key's bucket by its hash and a fixed count, inside one partition"},
	{ID: "bucket.postponed", Severity: SeverityError, Summary: "A table with postponed buckets cannot be promoted",
		What: "`bucket=-2`", Why: "rows not compacted yet have no bucket, and fixing the count in the schema makes rows visible that a read did not show"},
	{ID: "bucket.append-without-key", Severity: SeverityError, Summary: "An append table with buckets has no bucket key",
		What: "an append table with `bucket` above 0 and no `bucket-key`", Why: "Fluss would spread rows by another rule than Paimon"},
	{ID: "bucket.key", Severity: SeverityError, Summary: "The bucket key cannot be a Fluss bucket key",
		What: "a `bucket-key` with spaces, with columns that do not exist, with partition columns, or not part of the primary key",
		Why:  "Fluss compares the option as text with its own bucket key, which is made of columns of the key inside a partition"},
	{ID: "bucket.limit", Severity: SeverityError, Summary: "The table has more buckets than the cluster allows",
		What: "more buckets than the cluster's `max.bucket.num`", Why: "the cluster refuses the table"},

	{ID: "partition.type", Severity: SeverityError, Summary: "A partition column's type cannot be one in Fluss",
		What: "a partition column of type DECIMAL, BINARY, VARBINARY, BYTES or a nested type",
		Why:  "Fluss has no partition value of that type that names the same directory"},
	{ID: "partition.legacy-name", Severity: SeverityError, Summary: "Setting partition.legacy-name=false would lose the table's partitions",
		What: "`partition.legacy-name` unset or true, data, and a partition column of type DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ",
		Why:  "Fluss demands partition.legacy-name=false, which changes the directory names of such columns: every reader of the table would look for its files where they are not"},
	{ID: "partition.time-zone", Severity: SeverityError, Summary: "A partition column's directory names depend on a time zone",
		What: "a partition column of type TIMESTAMP_LTZ", Why: "with partition.legacy-name=false Paimon names such directories in the time zone of each process, so that Fluss's services and other writers would disagree"},
	{ID: "partition.null", Severity: SeverityError, Summary: "The table has partitions without a value",
		What: "a null, empty or blank partition value, or the text of `partition.default-name`",
		Why:  "Fluss has no such partition, all of these share one directory in Paimon, and Flink union reads of the whole table fail while they exist"},
	{ID: "partition.value", Severity: SeverityError, Summary: "A partition value is not one that Fluss allows",
		What: "a selected partition with a value of anything but ASCII letters, digits, `_` and `-`, above 200 characters, or starting with `__`",
		Why:  "Fluss cannot have a partition of that name; its rows stay readable through the lake, but could not be looked up, changed or deleted through Fluss"},
	{ID: "partition.left-out", Severity: SeverityWarning, Summary: "Some partitions that are left out can never be partitions in Fluss",
		What: "a partition left out of `partitions` whose value Fluss does not allow",
		Why:  "their rows stay readable through the lake, but cannot be looked up, changed or deleted through Fluss"},
	{ID: "partition.text", Severity: SeverityWarning, Summary: "Fluss names some partitions otherwise than Paimon",
		What: "partition columns of type TIME, TIMESTAMP, FLOAT or DOUBLE", Why: "union reads match partitions by their names; that has been seen right only where both names are the same text"},
	{ID: "partition.limit", Severity: SeverityError, Summary: "The selection has more partitions than the cluster allows",
		What: "more selected partitions than the cluster's `max.partition.num`", Why: "the cluster refuses further partitions"},
	{ID: "partition.selection", Severity: SeverityError, Summary: "The selection names a partition that the source does not have",
		What: "an entry of `partitions` that is not in the source snapshot", Why: "only partitions of the source snapshot can be loaded"},
	{ID: "partition.path", Severity: SeverityError, Summary: "A partition's files are not where the table's options say",
		What: "a partition whose directory is spelled otherwise than the table's options give, as pypaimon does",
		Why:  "Paimon and Fluss compute the directory from the partition's value and would not find the files"},

	{ID: "files.total-buckets", Severity: SeverityError, Summary: "Some files were written with another bucket count",
		What: "live files whose bucket count differs from the option `bucket`", Why: "a key would be looked for in the wrong bucket, and tiering fails on such a partition for the whole cluster"},
	{ID: "files.bucket", Severity: SeverityError, Summary: "Some files lie in a bucket that the table does not have",
		What: "live files of a bucket below 0 or not below the bucket count", Why: "Fluss has no bucket for their rows"},
	{ID: "files.level-0", Severity: SeverityError, Summary: "The table has rows that no read shows before a compaction",
		What: "a key table with deletion vectors and live files in level 0",
		Why:  "reads with deletion vectors leave level 0 out, so the load would miss rows and deletes that show in Paimon at the next compaction"},
	{ID: "files.partial-columns", Severity: SeverityError, Summary: "Some files hold only a part of the columns",
		What: "live files written by data evolution", Why: "rows are spread over several files, which Fluss does not read"},
	{ID: "files.external", Severity: SeverityWarning, Summary: "Some data files lie outside the table's directory",
		What: "live files under `data-file.external-paths`", Why: "this provider and the cluster's services need access to these places as well"},
	{ID: "files.deletion-vectors", Severity: SeverityWarning, Summary: "Paimon readers see changes only after a compaction",
		What: "a key table with deletion vectors", Why: "tiered rows lie in level 0, which reads with deletion vectors leave out until a compaction"},

	{ID: "option.partition.legacy-name", Severity: SeverityError, Prepare: true, Summary: "The option partition.legacy-name must be false",
		What: "`partition.legacy-name` is not the text `false`, and no partition's directory depends on it",
		Why:  "Fluss compares it as text, also for tables without partitions; no path changes"},
	{ID: "option.bucket-key", Severity: SeverityError, Prepare: true, Summary: "The bucket key must be spelled out",
		What: "a key table without `bucket-key`: it becomes the primary key without the partition columns", Why: "Fluss compares it as text; the rows' buckets stay the same"},
	{ID: "option.bucket", Severity: SeverityError, Prepare: true, Summary: "The bucket count must be spelled out",
		What: "`bucket` left to its default, or spelled otherwise than as a plain number", Why: "Fluss compares it as text"},
	{ID: "option.changelog-producer", Severity: SeverityError, Prepare: true, Summary: "The option changelog-producer must be input on Fluss 0.9",
		What: "Fluss 0.9: a key table whose `changelog-producer` is not `input`", Why: "Fluss 0.9 compares it as text; batch reads do not depend on it"},
	{ID: "option.fluss", Severity: SeverityError, Prepare: true, Summary: "The options of the Fluss table must be stored on the Paimon table on Fluss 0.9",
		What: "Fluss 0.9: each property of the Fluss table as `fluss.` and its key", Why: "Fluss 0.9 compares them as text; their values are known once the Fluss table is created"},
	{ID: "option.fluss-tied", Severity: SeverityError, Summary: "The table is tied to a Fluss table",
		What: "`fluss.table.datalake.enabled=true` is stored on the table, and not acknowledged",
		Why:  "a Fluss table, of this cluster or another, may still be writing to it"},
	{ID: "option.fluss-was-tied", Severity: SeverityWarning, Summary: "The table was tied to a Fluss table before",
		What: "other `fluss.*` options are stored on the table", Why: "they are left over from a Fluss table; if that table still exists it must stay disabled"},
	{ID: "option.unvalidated", Severity: SeverityError, Summary: "The table has an option that this provider does not know",
		What: "an option that is not in the tables below, under `unvalidated_properties = \"deny\"`", Why: "what it does to rows or files has not been looked at"},

	{ID: "property.owned", Severity: SeverityError, Summary: "This table property is set by the promotion",
		What: "`table_properties` with a key that the promotion or the source decides", Why: "the promotion would no longer be what was checked"},
	{ID: "property.meaning", Severity: SeverityError, Summary: "This table property would change what the promoted rows mean",
		What: "`table_properties` with a merge engine, time limits of rows, another row format, auto-partitioning", Why: "Fluss and the lake would show different rows"},
	{ID: "property.unknown", Severity: SeverityError, Summary: "This table property is not known to the server",
		What: "`table_properties` with a key that the server's generation does not know", Why: "the server refuses properties it does not know, and stores others on the Paimon table for good"},
	{ID: "property.replication", Severity: SeverityError, Summary: "The table would have more replicas than the cluster has tablet servers",
		What: "`table.replication.factor`, or without it the cluster's `default.replication.factor`, above the number of live tablet servers, while the Fluss table is still to be created",
		Why:  "the cluster refuses to create the table"},
	{ID: "property.value", Severity: SeverityError, Summary: "This table property's value cannot be read",
		What: "`table_properties` with a value of the wrong form", Why: "the server would refuse the table"},
}

// ruleTable is compatRules by ID.
var ruleTable = func() map[string]compatRule {
	m := make(map[string]compatRule, len(compatRules))
	for _, r := range compatRules {
		m[r.ID] = r
	}
	return m
}()
