package widetable

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"

	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
)

// The records of Paimon's manifests and manifest lists, version 2.
type (
	stats struct {
		MinValues  []byte    `avro:"_MIN_VALUES"`
		MaxValues  []byte    `avro:"_MAX_VALUES"`
		NullCounts *[]*int64 `avro:"_NULL_COUNTS"`
	}
	manifestMeta struct {
		Version         int32  `avro:"_VERSION"`
		FileName        string `avro:"_FILE_NAME"`
		FileSize        int64  `avro:"_FILE_SIZE"`
		NumAddedFiles   int64  `avro:"_NUM_ADDED_FILES"`
		NumDeletedFiles int64  `avro:"_NUM_DELETED_FILES"`
		PartitionStats  stats  `avro:"_PARTITION_STATS"`
		SchemaID        int64  `avro:"_SCHEMA_ID"`
		MinBucket       *int32 `avro:"_MIN_BUCKET"`
		MaxBucket       *int32 `avro:"_MAX_BUCKET"`
		MinLevel        *int32 `avro:"_MIN_LEVEL"`
		MaxLevel        *int32 `avro:"_MAX_LEVEL"`
	}
	entry struct {
		Version      int32    `avro:"_VERSION"`
		Kind         int32    `avro:"_KIND"` // 0 ADD, 1 DELETE
		Partition    []byte   `avro:"_PARTITION"`
		Bucket       int32    `avro:"_BUCKET"`
		TotalBuckets int32    `avro:"_TOTAL_BUCKETS"`
		File         dataFile `avro:"_FILE"`
	}
	dataFile struct {
		FileName       string   `avro:"_FILE_NAME"`
		FileSize       int64    `avro:"_FILE_SIZE"`
		RowCount       int64    `avro:"_ROW_COUNT"`
		MinKey         []byte   `avro:"_MIN_KEY"`
		MaxKey         []byte   `avro:"_MAX_KEY"`
		KeyStats       stats    `avro:"_KEY_STATS"`
		ValueStats     stats    `avro:"_VALUE_STATS"`
		MinSequence    int64    `avro:"_MIN_SEQUENCE_NUMBER"`
		MaxSequence    int64    `avro:"_MAX_SEQUENCE_NUMBER"`
		SchemaID       int64    `avro:"_SCHEMA_ID"`
		Level          int32    `avro:"_LEVEL"`
		ExtraFiles     []string `avro:"_EXTRA_FILES"`
		CreationTime   *int64   `avro:"_CREATION_TIME"`
		DeleteRowCount *int64   `avro:"_DELETE_ROW_COUNT"`
		EmbeddedIndex  *[]byte  `avro:"_EMBEDDED_FILE_INDEX"`
		FileSource     *int32   `avro:"_FILE_SOURCE"`
	}
)

// The fields of each record, as Paimon names and types them. Readers take what
// a writer leaves out as null.
const (
	statsFields = `{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},` +
		`{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}`
	recordHead     = `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[`
	manifestSchema = recordHead + `{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},` +
		`{"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[` +
		`{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},` +
		`{"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},` +
		`{"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS","fields":[` + statsFields + `]}},` +
		`{"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS","fields":[` + statsFields + `]}},` +
		`{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},{"name":"_SCHEMA_ID","type":"long"},` +
		`{"name":"_LEVEL","type":"int"},{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},` +
		`{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},` +
		`{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},` +
		`{"name":"_FILE_SOURCE","type":["null","int"],"default":null}]}}]}`
	listSchema = recordHead + `{"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},` +
		`{"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},` +
		`{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS","fields":[` + statsFields + `]}},` +
		`{"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_BUCKET","type":["null","int"],"default":null},{"name":"_MAX_BUCKET","type":["null","int"],"default":null},` +
		`{"name":"_MIN_LEVEL","type":["null","int"],"default":null},{"name":"_MAX_LEVEL","type":["null","int"],"default":null}]}`
)

// entry is the ADD of a partition's own copy of a template.
func (w *writer) entry(raw []byte, t template) entry {
	created, none, source := now, int64(0), int32(0)
	if t.level > 0 {
		source = 1
	}
	return entry{Version: 2, Partition: raw, Bucket: int32(t.bucket), TotalBuckets: int32(w.o.Buckets), File: dataFile{
		FileName: "data-" + w.uuid() + "-0.parquet", FileSize: t.size, RowCount: t.rows, MinKey: row(t.first.ID), MaxKey: row(t.last.ID),
		KeyStats:    stats{row(t.first.ID), row(t.last.ID), nulls(1)},
		ValueStats:  stats{t.first.values(), t.last.values(), nulls(len(columns))},
		MinSequence: t.first.Sequence, MaxSequence: t.last.Sequence, Level: int32(t.level), ExtraFiles: []string{},
		CreationTime: &created, DeleteRowCount: &none, FileSource: &source,
	}}
}

func nulls(n int) *[]*int64 {
	counts := make([]*int64, n)
	none := int64(0)
	for i := range counts {
		counts[i] = &none
	}
	return &counts
}

// values is the record as a row of the table's columns, texts cut to 16
// characters as the default metadata.stats-mode has it.
func (r record) values() []byte {
	cut := func(s string) string { return s[:min(16, len(s))] }
	return row(r.ID, cut(r.DT), cut(r.Name), cut(r.City), r.Quantity, r.Price, math.Float64bits(r.Amount), r.Day, r.timestamp(), cut(r.Note))
}

// timestamp is a TIMESTAMP of a precision above 3.
type timestamp struct {
	millis int64
	nanos  int32
}

// row is a BinaryRow with its arity in front. DECIMAL is its unscaled value,
// DOUBLE its bits, DATE its day.
func row(values ...any) []byte {
	header := (len(values) + 63 + 8) / 64 * 8
	b := make([]byte, header+8*len(values))
	for i, v := range values {
		slot := b[header+8*i:][:8]
		switch v := v.(type) {
		case int32:
			binary.LittleEndian.PutUint32(slot, uint32(v))
		case int64:
			binary.LittleEndian.PutUint64(slot, uint64(v))
		case uint64:
			binary.LittleEndian.PutUint64(slot, v)
		case timestamp:
			binary.LittleEndian.PutUint64(slot, uint64(len(b))<<32|uint64(v.nanos))
			b = binary.LittleEndian.AppendUint64(b, uint64(v.millis))
		case string:
			if len(v) <= 7 {
				copy(slot, v)
				slot[7] = 0x80 | byte(len(v))
				continue
			}
			binary.LittleEndian.PutUint64(slot, uint64(len(b))<<32|uint64(len(v)))
			b = append(b, v...)
			b = append(b, make([]byte, (8-len(v)%8)%8)...)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(values))), b...)
}

// writeManifest writes one manifest and says what a list says of it.
func (w *writer) writeManifest(entries []entry) (manifestMeta, error) {
	m := manifestMeta{Version: 2, FileName: "manifest-" + w.uuid() + "-0"}
	low, high := entries[0].Partition, entries[0].Partition
	minBucket, maxBucket, minLevel, maxLevel := int32(math.MaxInt32), int32(0), int32(math.MaxInt32), int32(0)
	for i := range entries {
		e := &entries[i]
		if e.Kind == 0 {
			m.NumAddedFiles++
		} else {
			m.NumDeletedFiles++
		}
		// The texts are all of one length, so that bytes compare as they do.
		if bytes.Compare(e.Partition, low) < 0 {
			low = e.Partition
		}
		if bytes.Compare(e.Partition, high) > 0 {
			high = e.Partition
		}
		minBucket, maxBucket = min(minBucket, e.Bucket), max(maxBucket, e.Bucket)
		minLevel, maxLevel = min(minLevel, e.File.Level), max(maxLevel, e.File.Level)
	}
	m.PartitionStats = stats{low, high, nulls(1)}
	m.MinBucket, m.MaxBucket, m.MinLevel, m.MaxLevel = &minBucket, &maxBucket, &minLevel, &maxLevel
	var err error
	m.FileSize, err = writeAvro(filepath.Join(w.dir, "manifest", m.FileName), manifestSchema, entries)
	w.table.Manifests++
	w.table.ManifestBytes += m.FileSize
	return m, err
}

func (w *writer) writeList(name string, metas []manifestMeta) error {
	_, err := writeAvro(filepath.Join(w.dir, "manifest", name), listSchema, metas)
	return err
}

// blockBytes is about how much Java's Avro writer puts into a block.
const blockBytes = 64_000

// writeAvro writes records into a container file and returns its size in bytes.
// The library's own container writer counts records, not bytes, for a block.
func writeAvro[T any](path, schema string, records []T) (int64, error) {
	s, err := avro.ParseWithCache(schema, "", &avro.SchemaCache{})
	if err != nil {
		return 0, err
	}
	api := avro.Config{}.Freeze()
	var b bytes.Buffer
	e, err := ocf.NewEncoderWithSchema(s, &b, ocf.WithCodec(ocf.ZStandard), ocf.WithBlockLength(1<<30), ocf.WithEncodingConfig(api))
	if err != nil {
		return 0, err
	}
	inBlock := 0
	var one []byte
	for i := range records {
		if i%64 == 0 { // records of a file are about equally large
			if one, err = api.Marshal(s, records[i]); err != nil {
				return 0, err
			}
		}
		if err := e.Encode(records[i]); err != nil {
			return 0, err
		}
		if inBlock += len(one); inBlock >= blockBytes {
			if err := e.Flush(); err != nil {
				return 0, err
			}
			inBlock = 0
		}
	}
	if err := e.Close(); err != nil {
		return 0, err
	}
	return int64(b.Len()), os.WriteFile(path, b.Bytes(), 0o644)
}
