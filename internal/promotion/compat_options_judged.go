package promotion

import "strings"

// fileFormats are the formats of data files that a promoted table may have.
// What the provider itself can load is said by the reader's own check.
var fileFormats = []string{"parquet", "orc", "avro"}

// otherFormatInLevels says whether file.format.per.level ("0:avro,3:parquet")
// names a format that is not one of fileFormats, or cannot be read.
func otherFormatInLevels(value string) bool {
	for _, level := range strings.Split(value, ",") {
		if _, format, ok := strings.Cut(level, ":"); !ok || not(fileFormats...)(format) {
			return true
		}
	}
	return false
}

// optionRulesJudged are the options that decide something. Class tells what a
// value means; see optionRule. Options that Fluss's coordinator compares as
// text are mirrored as paimon.<option>, but only where both sides then mean the
// same: a mirror also silences the coordinator about tables that tiering cannot
// write.
var optionRulesJudged = []optionRule{
	// Judged by the layout rules.
	{Keys: "bucket", Class: OptionAccepted, Layout: true, When: "above 0, or -1 without a primary key", Why: "becomes the bucket count of the Fluss table"},
	{Keys: "bucket-key", Class: OptionAccepted, Layout: true, Why: "becomes the bucket key of the Fluss table; has to be spelled out for key tables"},
	{Keys: "partition.legacy-name", Class: OptionAccepted, Layout: true, When: "false", Why: "has to be false; set where no directory depends on it"},
	{Keys: "changelog-producer", Class: OptionAccepted, Layout: true, Why: "not compared by Fluss 1.0; has to be input for key tables on Fluss 0.9"},

	// Which row wins.
	{Keys: "merge-engine", Class: OptionRejected, Bad: not("deduplicate"), Else: OptionMirrored, When: "anything but deduplicate", Alter: alterEmpty,
		Why: "tiering writes Fluss's merged rows, and Paimon would merge them again: wrong rows, or the tiering of the whole cluster fails at the first change"},
	{Keys: "fields.default-aggregate-function fields.*.aggregate-function fields.*.sequence-group fields.*.ignore-retract fields.*.distinct fields.*.list-agg-delimiter fields.*.nested-key fields.*.nested-key-null-strategy fields.*.nested-sequence-field fields.*.count-limit fields.*.ts-field",
		Class: OptionRejected, With: "merge-engine", Else: OptionNoInfluence, When: "with a merge engine other than deduplicate", Why: "rules of a merge engine; without it they do nothing"},
	{Keys: "aggregation.remove-record-on-delete partial-update.remove-record-on-delete", Class: OptionRejected, Bad: isTrue, Else: OptionMirrored, When: "true", Alter: alterEmpty,
		Why: "a delete would reset rows in Paimon in another way than in Fluss"},
	{Keys: "partial-update.remove-record-on-sequence-group", Class: OptionRejected, Alter: alterEmpty, Why: "a delete would reset rows in Paimon in another way than in Fluss"},
	{Keys: "sequence.field", Class: OptionRejected,
		Why: "Paimon would order changes by this field and Fluss by arrival: after one late row the two sides differ, and the row can vanish from the lake",
		Fix: "only if the order of arrival may decide from now on: stop all writers, run {compact} and then ALTER TABLE {table} RESET ('sequence.field');"},
	{Keys: "sequence.field.sort-order", Class: OptionRejected, With: "sequence.field", Else: OptionNoInfluence, When: "with sequence.field", Why: "belongs to sequence.field"},
	{Keys: "sequence.snapshot-ordering", Class: OptionRejected, Bad: isTrue, Else: OptionNoInfluence, When: "true", Alter: alterEmpty, Why: "orders changes by snapshot, which the Paimon inside Fluss does not know"},
	{Keys: "write.sequence-number-init-mode", Class: OptionRejected, Bad: not("scan"), Else: OptionNoInfluence, When: "anything but scan",
		Why: "sequence numbers that tiering gives would not be seen by such writers, so that older rows win"},
	{Keys: "ignore-delete first-row.ignore-delete deduplicate.ignore-delete partial-update.ignore-delete ignore-update-before", Class: OptionRejected, Bad: isTrue, Else: OptionNoInfluence, When: "true", Alter: alterEmpty,
		Why: "deletes through Fluss would come back in the lake after tiering"},
	{Keys: "rowkind.field", Class: OptionRejected, Alter: alterEmpty, Why: "a column would decide whether a row is an insert or a delete for other writers, but not for Fluss"},
	{Keys: "upsert-key", Class: OptionRejected, Why: "other writers would merge rows by it, Fluss appends them"},
	{Keys: "primary-key.nullable", Class: OptionRejected, Bad: isTrue, Else: OptionNoInfluence, When: "true", Alter: alterEmpty, Why: "key columns are NOT NULL in Fluss"},
	{Keys: "primary-key partition", Class: OptionRejected, Alter: alterEmpty, Why: "a key stored as an option is not the key in the schema"},

	// Which bucket, which file, which row is visible.
	{Keys: "bucket-function.type", Class: OptionRejected, Bad: not("default"), Else: OptionMirrored, When: "anything but default", Alter: alterEmpty, Why: "Fluss finds a row's bucket by the default function only"},
	{Keys: "deletion-vectors.enabled", Class: OptionAccepted, Why: "allowed when no live file is in level 0 and partition columns are text; Paimon readers see tiered rows after a compaction only"},
	{Keys: "deletion-vectors.bitmap64", Class: OptionAccepted, Why: "the form of the vectors"},
	{Keys: "deletion-vectors.merge-on-read", Class: OptionRejected, Bad: isTrue, Else: OptionNoInfluence, When: "true", Why: "decides which rows a read shows, and the Paimon inside Fluss does not know it"},
	{Keys: "force-lookup index-file-in-data-file-dir", Class: OptionMirrored, Why: "does not change rows; Fluss compares it as text"},
	{Keys: "data-file.path-directory", Class: OptionMirrored, Why: "where data files lie; Fluss compares it as text"},
	{Keys: "data-file.thin-mode", Class: OptionMirrored, Why: "which columns files repeat; Fluss compares it as text"},
	{Keys: "row-tracking.enabled", Class: OptionMirrored, Why: "gives rows numbers; Fluss compares it as text, and tiering goes on numbering"},
	{Keys: "data-evolution.enabled", Class: OptionRejected, Bad: isTrue, Else: OptionMirrored, When: "true", Alter: alterEmpty, Why: "files hold different columns of the same rows"},
	{Keys: "pk-clustering-override", Class: OptionRejected, Bad: isTrue, Else: OptionMirrored, When: "true", Alter: alterEmpty, Why: "files are not sorted by the key"},
	{Keys: "blob-field blob-view-field blob-descriptor-field blob.stored-descriptor-fields blob-external-storage-path blob-external-storage-field vector-field", Class: OptionRejected, Alter: alterEmpty, Why: "Fluss has no BLOB or VECTOR columns"},
	{Keys: "file.format", Class: OptionRejected, Bad: not(fileFormats...), Else: OptionAccepted, When: "anything but " + strings.Join(fileFormats, ", "), Why: "tiering and readers must know the format of new files"},
	{Keys: "file.format.per.level", Class: OptionRejected, Bad: otherFormatInLevels, Else: OptionAccepted, When: "with a format other than " + strings.Join(fileFormats, ", "), Why: "tiering and readers must know the format of new files"},
	{Keys: "fields.*.map.storage-layout", Class: OptionRejected, Bad: not("default"), Else: OptionNoInfluence, When: "anything but default", Why: "files then hold the map's entries in columns of their own, which the Paimon inside Fluss does not know"},
	{Keys: "parquet.crypto.factory.class parquet.encryption.* orc.encrypt orc.mask", Class: OptionRejected, Why: "files would be encrypted, which neither the load nor Fluss's readers have keys for"},
	{Keys: "manifest.format", Class: OptionRejected, Bad: not("avro"), Else: OptionAccepted, When: "anything but avro", Why: "manifests in another format are not read"},
	{Keys: "type", Class: OptionRejected, Bad: not("table"), Else: OptionAccepted, When: "anything but table", Alter: alterEmpty, Why: "Fluss reads and writes ordinary tables only"},
	{Keys: "branch", Class: OptionRejected, Bad: not("main"), Else: OptionNoInfluence, When: "anything but main", Why: "only the main branch is promoted"},
	{Keys: "query-auth.enabled chain-table.enabled", Class: OptionRejected, Bad: isTrue, Else: OptionNoInfluence, When: "true", Why: "readers would get other rows than those in the table's files"},
	{Keys: "data-file.external-paths", Class: OptionAccepted, Why: "read by Paimon; provider and cluster need access to the places"},

	// What plain readers see.
	{Keys: "scan.snapshot-id scan.tag-name scan.timestamp scan.timestamp-millis scan.watermark scan.version log.scan.timestamp-millis scan.bucket scan.creation-time-millis scan.file-creation-time-millis scan.partitions scan.fallback-branch scan.fallback-snapshot-branch scan.fallback-delta-branch scan.primary-branch incremental-between incremental-between-timestamp incremental-to-auto-tag",
		Class: OptionRejected, Why: "stored on the table it changes what every plain reader sees"},
	{Keys: "scan.mode log.scan", Class: OptionRejected, Bad: not("default", "latest-full", "full"), Else: OptionNoInfluence, When: "anything but default, latest-full, full", Why: "stored on the table it changes what every plain reader sees"},
	{Keys: "batch-scan-mode stream-scan-mode", Class: OptionRejected, Bad: not("none"), Else: OptionNoInfluence, When: "anything but none", Why: "meant for single jobs of Paimon; stored on the table it changes what every plain reader sees"},
	{Keys: "key-value.sequence_number.enabled read.changelog", Class: OptionRejected, Bad: isTrue, Else: OptionNoInfluence, When: "true", Why: "readers would get columns that are not the table's"},
	{Keys: "log.system", Class: OptionRejected, Bad: not("none"), Else: OptionNoInfluence, When: "anything but none", Why: "streaming readers would take changes from a log system that Fluss does not feed"},
	{Keys: "scan.ignore-corrupt-files scan.ignore-lost-files", Class: OptionRejected, Bad: isTrue, Else: OptionNoInfluence, When: "true", Why: "readers would leave out rows without a word"},
	{Keys: "scan.*", Class: OptionRejected, Why: "an unknown scan option stored on the table may change what plain readers see"},

	// What vanishes by itself.
	{Keys: "record-level.expire-time", Class: OptionMustSet, Why: "compaction would remove rows from the lake that Fluss keeps"},
	{Keys: "record-level.time-field", Class: OptionMustSet, With: "record-level.expire-time", Else: OptionNoInfluence, When: "with record-level.expire-time", Why: "belongs to record-level.expire-time"},
	{Keys: "partition.expiration-time", Class: OptionMustSet, Ask: true, Why: "Paimon's writers would drop old partitions from the lake that Fluss keeps; with table.datalake.auto-expire-snapshot tiering does so too"},

	// What runs at each commit.
	{Keys: "commit.callbacks tag.callbacks", Class: OptionMustSet, Ask: true, Why: "the tiering service would have to load these classes; without them the tiering of the whole cluster fails"},
	{Keys: "commit.strict-mode.last-safe-snapshot", Class: OptionMustSet, Bad: not("-1"), Else: OptionNoInfluence, When: "anything but -1", Why: "commits of tiering would be refused after those of other writers, and the tiering of the whole cluster fails"},
	{Keys: "visibility-callback.enabled", Class: OptionMustSet, Ask: true, Bad: isTrue, Else: OptionNoInfluence, When: "true", Why: "a commit of tiering may wait until a compaction has run, and hold up the tiering of the whole cluster"},
	{Keys: "metadata.iceberg.storage", Class: OptionMustSet, Ask: true, Bad: not("disabled"), Else: OptionNoInfluence, When: "anything but disabled", Why: "the tiering service would write Iceberg metadata at each commit and needs what that takes"},

	// What Fluss's Paimon would not keep in step.
	{Keys: "add-column-before-partition", Class: OptionMustSet, Bad: isTrue, Else: OptionNoInfluence, When: "true", Why: "a column added through Fluss would be the last one in Fluss and another one in the lake"},
	{Keys: "pk-bitmap.index.columns pk-btree.index.columns pk-full-text.index.columns pk-multivalue.index.columns pk-vector.index.columns", Class: OptionMustSet, Ask: true, Why: "indexes of Paimon 2.0, which the Paimon inside Fluss does not keep up"},

	// Kept with the same meaning.
	{Keys: "write-only write.compaction-skip", Class: OptionAccepted, Why: "decides who compacts; Fluss overrides it for its own writes"},
	{Keys: "snapshot.num-retained.min snapshot.num-retained.max snapshot.time-retained", Class: OptionAccepted, Why: "the pinned snapshot must outlive the load"},
	{Keys: "partition.default-name", Class: OptionAccepted, Why: "matters for partitions without a value only, which are rejected"},
	{Keys: "orc.timestamp-ltz.legacy.type", Class: OptionAccepted, Why: "how ORC files hold TIMESTAMP_LTZ; read by Paimon"},
	{Keys: "bucket-append-ordered", Class: OptionAccepted, Why: "whether compaction keeps the order of an append table's buckets"},
	{Keys: "path", Class: OptionAccepted, Why: "the table's place, as its catalog gives it"},
	{Keys: "lakestream.*", Class: OptionAccepted, Why: "stored by the lake service of a Fluss table"},
}
