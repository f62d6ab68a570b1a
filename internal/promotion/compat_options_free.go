package promotion

// optionRulesFree are the options that touch neither the rows that a read
// shows nor where they lie. Names are those of Paimon 1.3 to 2.0.
var optionRulesFree = []optionRule{
	{Class: OptionNoInfluence, Why: "how writers buffer, sort and size files", Keys: `
		async-file-write auto-create file.block-size file.compression file.compression.per.level file.compression.zstd-level
		file.suffix.include.compression data-file.prefix
		local-merge-buffer-size local-sort.max-num-file-handles page-size cache-page-size parquet.* orc.* avro.*
		overwrite-upgrade sort-engine sort-spill-buffer-size sort-spill-threshold spill-compression spill-compression.zstd-level
		target-file-size write-buffer-for-append write-buffer-size write-buffer-spill.max-disk-size write-buffer-spillable
		write-manifest-cache write-max-writers-to-spill write.batch-memory write.batch-size write.data-evolution.update-conflict-retry.max-attempts
		write.data-evolution.update-conflict-retry.wait-ms write.hive-style-dynamic-partition.enabled write.merge-schema
		write.merge-schema.explicit-cast write.merge-schema.type-widening write.use-v2-write target-file-row-num local-kv-db.block-size zorder.var-length-contribution
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
		manifest.compression manifest.delete-file-drop-stats manifest.full-compaction-threshold-size manifest.merge-min-count manifest.merge-optimize.enabled
		manifest.target-file-size manifest-sort.enabled manifest-sort.max-rewrite-size manifest-sort.partition-field
		metadata.stats-dense-store metadata.stats-keep-first-n-columns metadata.stats-mode metadata.stats-mode.per.level fields.*.stats-mode
		file-index.in-manifest-threshold file-index.read.enabled file-index.*.* deletion-vector.index-file.target-size
		deletion-vectors.modifiable visibility-callback.check-interval visibility-callback.timeout
		global-index.build.max-parallelism global-index.build.max-shard global-index.column-update-action global-index.enabled
		global-index.external-path global-index.row-count-per-shard global-index.search-mode global-index.thread-num
		full-text-index.search-mode scalar-index.search-mode vector-index.search-mode
		vector-search.distribute.enabled vector-search.lateral-join.batch-size vector-search.lateral-join.parallelism
		btree-index.* bitmap-index.* multivalue-index.* sorted-index.* lumina.* fields.*.pk-vector.index.type fields.*.pk-vector.index.options
		fields.*.pk-vector.distance.metric fields.*.pk-btree.index.options fields.*.pk-bitmap.index.options fields.*.pk-full-text.index.options
		fields.*.pk-multivalue.index.options`},
	{Class: OptionNoInfluence, Why: "how commits are tried and named", Keys: `
		commit.callback.*.param commit.custom-listeners commit.discard-duplicate-files commit.force-create-snapshot commit.max-retries
		commit.max-retry-wait commit.min-retry-wait commit.timeout commit.user-prefix
		dynamic-partition-overwrite snapshot.ignore-empty-commit row-tracking.partition-group-on-commit`},
	{Class: OptionNoInfluence, Why: "changelog files, which a batch read does not use", Keys: `
		changelog-file.compression changelog-file.format changelog-file.prefix changelog-file.stats-mode
		changelog-producer.row-deduplicate changelog-producer.row-deduplicate-ignore-fields changelog-producer.compaction-interval
		changelog.num-retained.max changelog.num-retained.min changelog.time-retained changelog.precommit-compact.thread-num changelog.precommit-compact.buffer-size changelog.precommit-compact
		delete.force-produce-changelog table-read.sequence-number.enabled`},
	{Class: OptionNoInfluence, Why: "when old snapshots, tags and consumers go", Keys: `
		snapshot.clean-empty-directories snapshot.expire.clean-empty-directories snapshot.expire.execution-mode snapshot.expire.limit snapshot.watermark-idle-timeout
		consumer-id consumer.changelog-only consumer.expiration-time consumer.ignore-progress consumer.mode
		tag.automatic-completion tag.automatic-creation tag.batch.customized-name tag.callback.*.param tag.create-success-file tag.creation-delay
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
		postpone.batch-write-fixed-bucket.max-parallelism postpone.batch-write-fixed-bucket.rescale-load-factor postpone.default-bucket-num
		postpone.merge-on-read postpone.target-row-num-per-bucket postpone.target-size-per-bucket`},
	{Class: OptionNoInfluence, Why: "features of column types and tables that are rejected by themselves", Keys: `
		blob-as-descriptor blob-descriptor.* blob-write-null-on-fetch-failure blob.copy-buffer-size blob-view.resolve.enabled blob-write-null-on-missing-file blob.split-by-file-size blob.target-file-size
		vector.file.format vector.target-file-size variant.inferShreddingSchema variant.shredding.adaptive.maxInferBufferRow
		variant.shredding.adaptive.retentionRatio variant.shredding.inferenceMode variant.shredding.maxInferBufferRow
		variant.shredding.maxSchemaDepth variant.shredding.maxSchemaWidth variant.shredding.minFieldCardinalityRatio variant.shreddingSchema
		data-evolution.compaction.rewrite-row-ids data-evolution.reassign.skip-contiguous-row-count
		data-evolution.row-id-conflict-rewrite.max-size data-evolution.row-sidecar.enabled data-evolution.row-sidecar.max-selected-rows
		data-evolution.row-sidecar.max-selection-ratio data-evolution.merge-into.file-pruning
		data-evolution.merge-into.source-persist chain-table.chain-partition-keys chain-table.split.key-range-enabled
		chain-table.streaming.merge-snapshot fields.*.map.shared-shredding.max-columns fields.*.map.shared-shredding.column-placement-policy
		log.changelog-mode log.consistency log.format log.ignore-delete log.key.format log.system.partitions log.system.replication
		log.system.auto-register log.system.auto-register-timeout kafka.bootstrap.servers kafka.topic
		format-table.commit-hive-sync-url format-table.enabled format-table.file.compression format-table.implementation
		format-table.partition-path-only-value format-table.repair.collect-statistics format-table.scan.list-parallelism
		format-table.statistics.parallelism csv.* json.* text.* mosaic.* delimiter escape field-delimiter header lineSep mode nullvalue quote seq
		object-location materialized-table.definition-query materialized-table.interval-freshness materialized-table.interval-freshness.time-unit
		materialized-table.logical-refresh-mode materialized-table.refresh-handler-bytes materialized-table.refresh-handler-description
		materialized-table.refresh-mode materialized-table.refresh-status
		scan.fallback-branch.read-fail-fast incremental-between-scan-mode incremental-between-tag-to-snapshot`},
	{Class: OptionNoInfluence, Why: "how lookups inside Paimon run", Keys: `
		lookup-compact lookup-compact.max-interval lookup-wait changelog-producer.lookup-wait lookup.async lookup.async-thread-number
		lookup.blob-as-descriptor lookup.bootstrap-parallelism lookup.cache lookup.cache-file-retention lookup.cache-max-disk-size
		lookup.cache-max-memory-size lookup.cache-rows lookup.cache-spill-compression lookup.cache.bloom.filter.enabled
		lookup.cache.bloom.filter.fpp lookup.cache.high-priority-pool-ratio lookup.continuous.discovery-interval lookup.dynamic-partition
		lookup.dynamic-partition.refresh-interval lookup.dynamic-partition.refresh.async lookup.hash-load-factor lookup.local-file-type
		lookup.merge-buffer-size lookup.merge-records-threshold lookup.refresh.async lookup.refresh.async.pending-snapshot-count
		lookup.refresh.full-load-threshold lookup.refresh.time-periods-blacklist lookup.remote-file.enabled
		lookup.remote-file.level-threshold rocksdb.*`},
	{Class: OptionNoInfluence, Why: "how jobs read; they get the same rows", Keys: `
		read.batch-size read.shuffle-bucket-with-partition file-reader-async-threshold read.allow.fullScan
		read.stream.maxBytesPerTrigger read.stream.maxFilesPerTrigger read.stream.maxRowsPerTrigger read.stream.maxTriggerDelayMs
		read.stream.minRowsPerTrigger requiredSparkConfsCheck.enabled legacy-timestamp-mapping.enabled
		source.checkpoint-align.enabled source.checkpoint-align.timeout source.operator-uid.suffix source.split.open-file-cost
		source.split.target-size source.split.target-size-with-column-pruning streaming-read.shuffle-bucket-with-partition
		log.scan.remove-normalize paimon.respect.minmaxsplitsize.enabled paimon.split.openfilecost streaming-read-overwrite
		streaming-read-append-overwrite streaming-read-mode streaming.read.snapshot.delay continuous.discovery-interval
		scan.manifest.parallelism scan.max-splits-per-task scan.plan-sort-partition scan.plan-auto-tag-for-read.time-retained
		scan.bounded scan.bounded.watermark scan.dedicated-split-generation scan.infer-parallelism scan.infer-parallelism.max
		scan.max-snapshot.count scan.parallelism scan.remove-normalize scan.split-enumerator.batch-size scan.split-enumerator.mode
		scan.watermark.alignment.group scan.watermark.alignment.max-drift scan.watermark.alignment.update-interval
		scan.watermark.emit.strategy scan.watermark.idle-timeout`},
	{Class: OptionNoInfluence, Why: "how Flink jobs write", Keys: `
		sink.clustering.by-columns sink.clustering.sample-factor sink.clustering.sort-in-cluster sink.clustering.strategy sink.committer-cpu
		sink.committer-memory sink.committer-operator-chaining sink.coordinator-commit.enabled sink.cross-partition.managed-memory
		sink.key-only-deletes.enabled sink.managed.writer-buffer-memory sink.operator-uid.suffix sink.parallelism
		sink.use-managed-memory-allocator sink.writer-coordinator.cache-expire-after-access sink.writer-coordinator.cache-memory
		sink.writer-coordinator.cache-soft-values sink.writer-coordinator.enabled sink.writer-coordinator.page-size
		sink.writer-coordinator.prefetch-manifests sink.writer-cpu sink.writer-memory sink.writer-refresh-detectors filesystem.job-level-settings.enabled unaware-bucket.no-shuffle`},
	{Class: OptionNoInfluence, Why: "what other catalogs show of the table", Keys: `
		metastore.partitioned-table metastore.tag-to-partition metastore.tag-to-partition.preview owner provider connector
		metadata.iceberg.compaction.max.file-num metadata.iceberg.compaction.min.file-num metadata.iceberg.database
		metadata.iceberg.delete-after-commit.enabled metadata.iceberg.format-version metadata.iceberg.glue.skip-archive
		metadata.iceberg.hadoop-conf-dir metadata.iceberg.hive-client-class metadata.iceberg.hive-conf-dir
		metadata.iceberg.hive-skip-update-stats metadata.iceberg.manifest-compression metadata.iceberg.manifest-legacy-version
		metadata.iceberg.previous-versions-max metadata.iceberg.storage-location metadata.iceberg.table metadata.iceberg.uri`},
	{Class: OptionNoInfluence, Why: "what later ALTER TABLE statements may do", Keys: `
		alter-column-null-to-not-null.disabled disable-explicit-type-casting`},
	{Class: OptionNoInfluence, Why: "options of catalogs; nothing reads them from a table", Keys: `
		allow-upper-case alter-table-cascade cache-enabled cache.* case-sensitive catalog-key catalog-options-table.enabled
		catalog.create-underlying-session-catalog client-pool-cache.eviction-interval-ms client-pool-cache.keys client-pool-size
		data-token.enabled default-database defaultDatabase disable-create-table-in-default-db dlf.* file-io.allow-cache hadoop-conf-dir
		header.* hive-conf-dir hive.skip-update-stats io-cache.* lineage-use-catalog-key-as-identifier local-cache.* location-in-properties
		lock-acquire-timeout lock-check-max-sleep lock-key-max-length lock.enabled lock.type metastore metastore.client.class prefix
		resolving-file-io.enabled sync-all-properties table.type token token.provider uri v1Function.enabled warehouse`},
	{Class: OptionNoInfluence, Why: "of Paimon before 1.3; nothing reads them any more", Keys: `
		append-only.assert-disorder compaction.max-sorted-run-num metadata.iceberg-compatible partition.mark-done-action.http.timeout
		record-level.time-field-type scan.push-down sequence.auto-padding streaming-compact streaming-read-atomic write-mode`},
}
