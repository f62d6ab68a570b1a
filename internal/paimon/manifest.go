package paimon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// DataFile is one live data file.
type DataFile struct {
	Name           string
	Size           int64  // bytes
	RowCount       int64  // records, deletes included
	DeleteRowCount *int64 // records that are retractions; nil: not counted (old files)
	MinKey, MaxKey []byte // BinaryRow of the trimmed primary key; nil in append tables
	SchemaID       int64
	Level          int
	TotalBuckets   int // of the partition when this file was written
	ExternalPath   *string
	FirstRowID     *int64
	// WriteCols names the columns that the file holds, when HasWriteCols; else
	// it holds all of its schema's.
	WriteCols    []string
	HasWriteCols bool
	// Stats are those that the plan was asked to keep.
	Stats []ColumnStats
}

// DVRef says where the deletion vector of a data file lies.
type DVRef struct {
	IndexFile   string // path within the file system
	Offset      int64
	Length      int64  // bytes; see readDeletionVector for what they cover
	Cardinality *int64 // deleted rows; nil: not counted
}

// The Avro records of manifest lists and index manifests. A pointer is a
// nullable field. For those of manifests see entry.
type (
	avroManifestMeta struct {
		Version  int32  `avro:"_VERSION"`
		FileName string `avro:"_FILE_NAME"`
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
