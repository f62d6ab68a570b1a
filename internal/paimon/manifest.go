package paimon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Stats are the statistics of a file's columns as a manifest holds them:
// BinaryRows with arity, and a null count a column (nil: not counted).
type Stats struct {
	MinValues  []byte
	MaxValues  []byte
	NullCounts []*int64
}

// DataFile is one live data file.
type DataFile struct {
	Name           string
	Size           int64  // bytes
	RowCount       int64  // records, deletes included
	DeleteRowCount *int64 // records that are retractions; nil: not counted (old files)
	MinKey, MaxKey []byte // BinaryRow of the trimmed primary key; arity 0 in append tables
	KeyStats       Stats
	ValueStats     Stats
	// ValueStatsCols names the columns that ValueStats has slots of, when
	// HasValueStatsCols; else there is one slot a column of the file's schema.
	ValueStatsCols    []string
	HasValueStatsCols bool
	MinSequence       int64
	MaxSequence       int64
	SchemaID          int64
	Level             int
	TotalBuckets      int  // of the partition when this file was written
	FileSource        *int // 0 append, 1 compact
	ExternalPath      *string
	ExtraFiles        []string
	FirstRowID        *int64
	// WriteCols names the columns that the file holds, when HasWriteCols; else
	// it holds all of its schema's.
	WriteCols      []string
	HasWriteCols   bool
	CreationMillis *int64 // of the writer's local clock, without time zone
}

// DVRef says where the deletion vector of a data file lies.
type DVRef struct {
	IndexFile   string // path within the file system
	Offset      int64
	Length      int64  // bytes; see readDeletionVector for what they cover
	Cardinality *int64 // deleted rows; nil: not counted
}

// The Avro records of manifest lists, manifests and index manifests. A pointer
// is a nullable field.
type (
	avroStats struct {
		MinValues  []byte   `avro:"_MIN_VALUES"`
		MaxValues  []byte   `avro:"_MAX_VALUES"`
		NullCounts []*int64 `avro:"_NULL_COUNTS"`
	}
	avroManifestMeta struct {
		Version        int32     `avro:"_VERSION"`
		FileName       string    `avro:"_FILE_NAME"`
		FileSize       int64     `avro:"_FILE_SIZE"`
		PartitionStats avroStats `avro:"_PARTITION_STATS"` // not used
	}
	avroEntry struct {
		Version      int32        `avro:"_VERSION"`
		Kind         int32        `avro:"_KIND"`
		Partition    []byte       `avro:"_PARTITION"`
		Bucket       int32        `avro:"_BUCKET"`
		TotalBuckets int32        `avro:"_TOTAL_BUCKETS"`
		File         avroDataFile `avro:"_FILE"`
	}
	avroDataFile struct {
		FileName          string    `avro:"_FILE_NAME"`
		FileSize          int64     `avro:"_FILE_SIZE"`
		RowCount          int64     `avro:"_ROW_COUNT"`
		MinKey            []byte    `avro:"_MIN_KEY"`
		MaxKey            []byte    `avro:"_MAX_KEY"`
		KeyStats          avroStats `avro:"_KEY_STATS"`
		ValueStats        avroStats `avro:"_VALUE_STATS"`
		MinSequence       int64     `avro:"_MIN_SEQUENCE_NUMBER"`
		MaxSequence       int64     `avro:"_MAX_SEQUENCE_NUMBER"`
		SchemaID          int64     `avro:"_SCHEMA_ID"`
		Level             int32     `avro:"_LEVEL"`
		ExtraFiles        []string  `avro:"_EXTRA_FILES"`
		CreationTime      *int64    `avro:"_CREATION_TIME"`
		DeleteRowCount    *int64    `avro:"_DELETE_ROW_COUNT"`
		EmbeddedFileIndex *[]byte   `avro:"_EMBEDDED_FILE_INDEX"`
		FileSource        *int32    `avro:"_FILE_SOURCE"`
		ValueStatsCols    *[]string `avro:"_VALUE_STATS_COLS"`
		ExternalPath      *string   `avro:"_EXTERNAL_PATH"`
		FirstRowID        *int64    `avro:"_FIRST_ROW_ID"`
		WriteCols         *[]string `avro:"_WRITE_COLS"`
	}
	avroIndexEntry struct {
		Version      int32          `avro:"_VERSION"`
		Kind         int32          `avro:"_KIND"`
		Partition    []byte         `avro:"_PARTITION"`
		Bucket       int32          `avro:"_BUCKET"`
		IndexType    string         `avro:"_INDEX_TYPE"`
		FileName     string         `avro:"_FILE_NAME"`
		FileSize     int64          `avro:"_FILE_SIZE"`
		RowCount     int64          `avro:"_ROW_COUNT"`
		Ranges       []*avroDVRange `avro:"_DELETIONS_VECTORS_RANGES"`
		ExternalPath *string        `avro:"_EXTERNAL_PATH"`
	}
	avroDVRange struct {
		DataFile    string `avro:"f0"`
		Offset      int32  `avro:"f1"`
		Length      int32  `avro:"f2"`
		Cardinality *int64 `avro:"_CARDINALITY"`
	}
)

const (
	kindAdd    = 0
	kindDelete = 1
)

// readMetadata reads a whole file of the manifest folder.
func (t *Table) readMetadata(ctx context.Context, name string) (file string, data []byte, err error) {
	file = path.Join(t.path, "manifest", name)
	data, err = t.fs.ReadFile(ctx, file, maxManifestBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil, fmt.Errorf("paimon: table %q: %w: %s", t.name, ErrFileMissing, file)
	}
	if err != nil {
		return file, nil, fmt.Errorf("paimon: table %q: %w", t.name, err)
	}
	return file, data, nil
}

// readManifestList returns the names of the manifests of a list, in order.
func (t *Table) readManifestList(ctx context.Context, name string) ([]string, error) {
	file, data, err := t.readMetadata(ctx, name)
	if err != nil {
		return nil, err
	}
	metas, err := readAvro[avroManifestMeta](file, data, "_VERSION", "_FILE_NAME")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(metas))
	for i, m := range metas {
		if m.Version != 2 {
			return nil, fmt.Errorf("paimon: %s: an entry has version %d; this reader knows 2", file, m.Version)
		}
		if !isFileName(m.FileName) {
			return nil, corrupt(file, "%q is not a file name", clip(m.FileName))
		}
		names[i] = m.FileName
	}
	return names, nil
}

// readManifest returns the entries of a manifest.
func (t *Table) readManifest(ctx context.Context, name string) ([]avroEntry, error) {
	file, data, err := t.readMetadata(ctx, name)
	if err != nil {
		return nil, err
	}
	entries, err := readAvro[avroEntry](file, data, "_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE")
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		switch f := &e.File; {
		case e.Version != 2:
			return nil, fmt.Errorf("paimon: %s: an entry has version %d; this reader knows 2", file, e.Version)
		case e.Kind != kindAdd && e.Kind != kindDelete:
			return nil, corrupt(file, "entry %d has the kind %d; there are 0 (ADD) and 1 (DELETE)", i, e.Kind)
		case !isFileName(f.FileName):
			return nil, corrupt(file, "entry %d: %q is not a file name", i, clip(f.FileName))
		case f.RowCount < 0 || f.FileSize < 0 || f.Level < 0:
			return nil, corrupt(file, "entry %d (%s) has %d rows, %d bytes and level %d", i, f.FileName, f.RowCount, f.FileSize, f.Level)
		}
	}
	return entries, nil
}

// readIndexManifest returns the entries of an index manifest.
func (t *Table) readIndexManifest(ctx context.Context, name string) ([]avroIndexEntry, error) {
	file, data, err := t.readMetadata(ctx, name)
	if err != nil {
		return nil, err
	}
	entries, err := readAvro[avroIndexEntry](file, data, "_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_INDEX_TYPE", "_FILE_NAME")
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		switch {
		case e.Version != 1:
			return nil, fmt.Errorf("paimon: %s: an entry has version %d; this reader knows 1", file, e.Version)
		case e.Kind != kindAdd:
			return nil, corrupt(file, "entry %d has the kind %d; an index manifest is complete and holds only 0 (ADD)", i, e.Kind)
		case !isFileName(e.FileName):
			return nil, corrupt(file, "entry %d: %q is not a file name", i, clip(e.FileName))
		}
	}
	return entries, nil
}

// identity is what tells entries apart; a DELETE undoes the ADD of the same.
func (e *avroEntry) identity() string {
	b := make([]byte, 0, 128)
	part := func(s []byte) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	optional := func(s []byte, present bool) {
		if !present {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		part(s)
	}
	f := &e.File
	part(e.Partition)
	b = binary.AppendVarint(b, int64(e.Bucket))
	b = binary.AppendVarint(b, int64(f.Level))
	part([]byte(f.FileName))
	b = binary.AppendUvarint(b, uint64(len(f.ExtraFiles)))
	for _, x := range f.ExtraFiles {
		part([]byte(x))
	}
	if f.EmbeddedFileIndex == nil {
		optional(nil, false)
	} else {
		optional(*f.EmbeddedFileIndex, true)
	}
	if f.ExternalPath == nil {
		optional(nil, false)
	} else {
		optional([]byte(*f.ExternalPath), true)
	}
	return string(b)
}

func (e *avroEntry) dataFile() DataFile {
	f := &e.File
	d := DataFile{
		Name: f.FileName, Size: f.FileSize, RowCount: f.RowCount, DeleteRowCount: f.DeleteRowCount,
		MinKey: f.MinKey, MaxKey: f.MaxKey, KeyStats: Stats(f.KeyStats), ValueStats: Stats(f.ValueStats),
		MinSequence: f.MinSequence, MaxSequence: f.MaxSequence, SchemaID: f.SchemaID,
		Level: int(f.Level), TotalBuckets: int(e.TotalBuckets),
		ExternalPath: f.ExternalPath, ExtraFiles: f.ExtraFiles, FirstRowID: f.FirstRowID, CreationMillis: f.CreationTime,
	}
	if f.FileSource != nil {
		source := int(*f.FileSource)
		d.FileSource = &source
	}
	if f.ValueStatsCols != nil {
		d.ValueStatsCols, d.HasValueStatsCols = *f.ValueStatsCols, true
	}
	if f.WriteCols != nil {
		d.WriteCols, d.HasWriteCols = *f.WriteCols, true
	}
	return d
}
