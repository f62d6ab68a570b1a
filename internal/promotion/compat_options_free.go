package promotion

// optionRulesFree are the options that touch neither the rows that a read
// shows nor where they lie. Names are those of Paimon 1.3 to 2.0.
var optionRulesFree = []optionRule{
	{Class: OptionNoInfluence, Why: "how writers buffer, sort and size files", Keys: `
		async-file-write auto-create file.block-size file.compression file.compression.per.level file.compression.zstd-level
		file.format.per.level file.suffix.include.compression data-file.prefix
		local-merge-buffer-size local-sort.max-num-file-handles page-size cache-page-size parquet.* orc.* avro.*
		overwrite-upgrade sort-engine sort-spill-buffer-size sort-spill-threshold spill-compression spill-compression.zstd-level
		target-file-size write-buffer-for-append write-buffer-size write-buffer-spill.max-disk-size write-buffer-spillable
		write-manifest-cache write-max-writers-to-spill write.batch-memory write.batch-size write.* zorder.var-length-contribution
		data-file.external-paths.strategy data-file.external-paths.specific-fs data-file.external-paths.weights
		delete-file.thread-num file-operation.thread-num`},
	{Class: OptionNoInfluence, Why: "when and how compaction runs; rows stay the same", Keys: `
		num-levels num-sorted-run.compaction-trigger num-sorted-run.stop-trigger full-compaction.delta-commits commit.force-compact
		compaction.bucket-distribution-strategy compaction.delete-ratio-threshold compaction.file-num-limit compaction.force-rewrite-all-files
		compaction.force-up-level-0 compaction.incremental-size-threshold compaction.max-size-amplification-percent compaction.max.file-num
		compaction.early-max.file-num compaction.min.file-num compaction.offpeak-ratio compaction.offpeak.start.hour compaction.offpeak.end.hour
		compaction.optimization-interval compaction.size-ratio compaction.skip-expired-partitions compaction.small-file-ratio
		compaction.total-size-threshold sort-compaction.local-sample.magnification sort-compaction.range-strategy precommit-compact
		clustering.columns clustering.strategy clustering.incremental clustering.incremental.mode clustering.incremental.optimize-write
		clustering.history-partition.idle-to-full-sort clustering.history-partition.limit unaware-bucket.compaction.parallelism
		blob-compaction.enabled`},
	{Class: OptionNoInfluence, Why: "manifests, statistics and indexes", Keys: `
		manifest.compression manifest.delete-file-drop-stats manifest.full-compaction-threshold-size manifest.merge-min-count
		manifest.target-file-size manifest-sort.enabled manifest-sort.max-rewrite-size manifest-sort.partition-field
		metadata.stats-dense-store metadata.stats-keep-first-n-columns metadata.stats-mode metadata.stats-mode.per.level fields.*.stats-mode
		file-index.in-manifest-threshold file-index.read.enabled file-index.* deletion-vector.index-file.target-size
		deletion-vectors.modifiable global-index.* vector-search.* visibility-callback.*`},
	{Class: OptionNoInfluence, Why: "how commits are tried and named", Keys: `
		commit.callback.* commit.custom-listeners commit.discard-duplicate-files commit.force-create-snapshot commit.max-retries
		commit.max-retry-wait commit.min-retry-wait commit.strict-mode.last-safe-snapshot commit.timeout commit.user-prefix
		dynamic-partition-overwrite snapshot.ignore-empty-commit row-tracking.partition-group-on-commit`},
	{Class: OptionNoInfluence, Why: "changelog files, which a batch read does not use", Keys: `
		changelog-file.compression changelog-file.format changelog-file.prefix changelog-file.stats-mode
		changelog-producer.row-deduplicate changelog-producer.row-deduplicate-ignore-fields changelog-producer.compaction-interval
		changelog.num-retained.max changelog.num-retained.min changelog.time-retained changelog.precommit-compact.thread-num changelog.precommit-compact
		delete.force-produce-changelog table-read.sequence-number.enabled`},
	{Class: OptionNoInfluence, Why: "when old snapshots, tags and consumers go", Keys: `
		snapshot.clean-empty-directories snapshot.expire.execution-mode snapshot.expire.limit snapshot.watermark-idle-timeout
		consumer-id consumer.changelog-only consumer.expiration-time consumer.ignore-progress consumer.mode
		tag.automatic-completion tag.automatic-creation tag.batch.customized-name tag.callback.* tag.create-success-file tag.creation-delay
		tag.creation-period tag.creation-period-duration tag.default-time-retained tag.num-retained-max tag.period-formatter tag.time-expire-enabled
		sink.process-time-zone sink.watermark-time-zone sink.savepoint.auto-tag`},
	{Class: OptionNoInfluence, Why: "details of partition expiry and of marking partitions done", Keys: `
		end-input.check-partition-expire end-input.watermark partition.end-input-to-done partition.expiration-batch-size
		partition.expiration-check-interval partition.expiration-max-num partition.expiration-strategy partition.idle-time-to-done
		partition.idle-time-to-report-statistic partition.mark-done-action partition.mark-done-action.custom.class
		partition.mark-done-action.http.params partition.mark-done-action.http.url partition.mark-done-action.mode
		partition.mark-done.recover-from-state partition.sink-strategy partition.time-interval partition.timestamp-format.strict
		partition.timestamp-formatter partition.timestamp-pattern`},
	{Class: OptionNoInfluence, Why: "bucket modes that are rejected by themselves; nothing with a fixed count", Keys: `
		dynamic-bucket.assigner-parallelism dynamic-bucket.initial-buckets dynamic-bucket.max-buckets dynamic-bucket.target-row-num
		cross-partition-upsert.bootstrap-parallelism cross-partition-upsert.index-ttl postpone.batch-write-fixed-bucket
		postpone.batch-write-fixed-bucket.max-parallelism postpone.default-bucket-num`},
	{Class: OptionNoInfluence, Why: "features of column types and tables that are rejected by themselves", Keys: `
		blob-as-descriptor blob-view.resolve.enabled blob-write-null-on-missing-file blob.split-by-file-size blob.target-file-size
		vector.file.format vector.target-file-size variant.* data-evolution.row-sidecar.* data-evolution.merge-into.file-pruning
		data-evolution.merge-into.source-persist chain-table.chain-partition-keys format-table.* object-location materialized-table.*
		scan.fallback-branch.read-fail-fast incremental-between-scan-mode incremental-between-tag-to-snapshot`},
	{Class: OptionNoInfluence, Why: "how lookups inside Paimon run", Keys: `
		lookup-compact lookup-compact.max-interval lookup-wait lookup.*`},
	{Class: OptionNoInfluence, Why: "how jobs read; they get the same rows", Keys: `
		read.batch-size read.shuffle-bucket-with-partition file-reader-async-threshold source.* streaming-read-overwrite
		streaming-read-append-overwrite streaming-read-mode streaming.read.snapshot.delay continuous.discovery-interval
		scan.manifest.parallelism scan.max-splits-per-task scan.plan-sort-partition scan.plan-auto-tag-for-read.time-retained
		scan.bounded scan.bounded.watermark scan.dedicated-split-generation scan.infer-parallelism scan.infer-parallelism.max
		scan.max-snapshot.count scan.parallelism scan.remove-normalize scan.split-enumerator.batch-size scan.split-enumerator.mode
		scan.watermark.alignment.group scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
		scan.watermark.emit.strategy scan.watermark.idle-timeout`},
	{Class: OptionNoInfluence, Why: "how Flink jobs write", Keys: `
		sink.* filesystem.job-level-settings.enabled unaware-bucket.no-shuffle`},
	{Class: OptionNoInfluence, Why: "what other catalogs show of the table", Keys: `
		metastore.partitioned-table metastore.tag-to-partition metastore.tag-to-partition.preview metadata.iceberg.*`},
	{Class: OptionNoInfluence, Why: "what later ALTER TABLE statements may do", Keys: `
		add-column-before-partition alter-column-null-to-not-null.disabled disable-explicit-type-casting`},
}
