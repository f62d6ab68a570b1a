package paimon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Merge engines, as the option merge-engine names them.
const (
	engineDeduplicate = "deduplicate"
	engineFirstRow    = "first-row"
)

func (t *Table) mergeEngine() string {
	return strings.ToLower(t.Schema().Option("merge-engine", engineDeduplicate))
}

func (t *Table) vectorsEnabled() bool {
	return t.Schema().optionBool("deletion-vectors.enabled", false)
}

// CanRead says whether ReadBucket gives exactly Paimon's rows for every bucket
// of the plan, read with the newest schema. The error is UnsupportedErrors:
// everything that stands in the way, by name.
func (t *Table) CanRead(plan *Plan) error { return t.CanReadAs(plan, t.Schema()) }

// CanReadAs is CanRead for a read with another schema of the table.
func (t *Table) CanReadAs(plan *Plan, schema *Schema) error {
	var buckets []*BucketFiles
	for _, p := range plan.Partitions {
		buckets = append(buckets, p.Buckets...)
	}
	return t.canRead(plan, schema, buckets)
}

func (t *Table) canRead(plan *Plan, schema *Schema, buckets []*BucketFiles) error {
	var found UnsupportedErrors
	found = append(found, t.unsupportedOptions(schema)...)
	found = append(found, t.unsupportedColumns(schema)...)
	found = append(found, t.unsupportedFiles(plan, schema, buckets)...)
	if len(found) == 0 {
		return nil
	}
	return found
}

// readerOptions change what a plain read shows, wherever they are stored.
var readerOptions = []string{
	"scan.snapshot-id", "scan.tag-name", "scan.timestamp", "scan.timestamp-millis", "scan.watermark", "scan.version",
	"scan.file-creation-time-millis", "scan.creation-time-millis", "scan.fallback-branch", "incremental-between", "incremental-between-timestamp",
	"incremental-to-auto-tag", "branch",
}

// unsupportedOptions looks at the newest options, which are the ones that
// count for every read.
func (t *Table) unsupportedOptions(schema *Schema) (found UnsupportedErrors) {
	s := t.Schema()
	refuse := func(key, why string) {
		found = append(found, &UnsupportedError{What: fmt.Sprintf(`option "%s=%s"`, key, clip(s.Options[key])), Where: fmt.Sprintf("table %q", t.name), Why: why})
	}
	if kind := strings.ToLower(s.Option("type", "table")); kind != "table" && kind != "materialized-table" {
		refuse("type", `only tables of type "table" and "materialized-table" have snapshots of rows`)
	}
	for _, key := range readerOptions {
		if _, ok := s.Options[key]; ok {
			refuse(key, "it is stored in the table and changes which rows every reader sees; reset it with ALTER TABLE")
		}
	}
	if mode := strings.ToLower(s.Option("scan.mode", "default")); !slices.Contains([]string{"default", "latest-full", "full"}, mode) {
		refuse("scan.mode", "it is stored in the table and changes which rows every reader sees; reset it with ALTER TABLE")
	}
	for _, key := range []string{"query-auth.enabled", "chain-table.enabled", "data-evolution.enabled"} {
		if s.optionBool(key, false) {
			refuse(key, "rows are then not simply those of the live files")
		}
	}
	if format := strings.ToLower(s.Option("manifest.format", "avro")); format != "avro" {
		refuse("manifest.format", "only avro manifests are read")
	}
	if _, err := s.Bucket(); err != nil {
		refuse("bucket", "it is a count above 0, -1 or -2")
	}
	if len(schema.PrimaryKeys) == 0 {
		return found
	}
	if key := "deletion-vectors.merge-on-read"; t.vectorsEnabled() && s.optionBool(key, false) {
		refuse(key, "level-0 files are then read as well and merged, which this reader does not do for tables with deletion vectors; compact the table and reset the option")
	}
	switch engine := t.mergeEngine(); engine {
	case engineFirstRow:
		return found // files are read one by one: what follows does not matter
	case engineDeduplicate:
	default:
		refuse("merge-engine", "this reader merges by the engines deduplicate (the default) and first-row only")
	}
	if s.Option("sequence.field", "") != "" {
		refuse("sequence.field", "this reader orders the records of a key by their sequence numbers only")
	}
	for _, key := range []string{"ignore-delete", "deduplicate.ignore-delete", "first-row.ignore-delete", "partial-update.ignore-delete"} {
		if s.optionBool(key, false) {
			refuse(key, "Paimon then skips deletes that lie in the files, and shows the rows they deleted")
		}
	}
	for _, key := range []string{"sequence.snapshot-ordering", "primary-key.nullable", "pk-clustering-override"} {
		if s.optionBool(key, false) {
			refuse(key, "it changes how files are sorted or merged, which this reader does not follow")
		}
	}
	return found
}

func (t *Table) unsupportedColumns(schema *Schema) (found UnsupportedErrors) {
	refuse := func(f Field, what, why string) {
		found = append(found, &UnsupportedError{What: what, Where: fmt.Sprintf("table %q, column %q", t.name, f.Name), Why: why})
	}
	for _, f := range schema.Fields {
		if bad, ok := unreadableType(f.Type); ok {
			refuse(f, "type "+bad.String(), "this reader does not know its values")
		}
	}
	keys := schema.keyFields()
	if len(schema.PrimaryKeys) > 0 && len(keys) == 0 {
		found = append(found, &UnsupportedError{What: "a primary key of partition columns only", Where: fmt.Sprintf("table %q", t.name), Why: "its files are then sorted by nothing"})
	}
	for _, f := range append(keys, schema.partitionFields()...) {
		if vectorKind(f.Type) >= vectorKind(DataType{Kind: Array}) {
			refuse(f, "key type "+f.Type.String(), "keys and partitions of nested types are not ordered")
		}
	}
	return found
}

// unreadableType finds a type that no data file is read for.
func unreadableType(t DataType) (DataType, bool) {
	return findType(t, func(t DataType) bool {
		switch t.Kind {
		case Multiset, Variant, Blob, VectorType:
			return true
		}
		return false
	})
}

// missingInFormat finds a type that no file of a format holds, and why.
func missingInFormat(format string, t DataType) (bad DataType, why string, missing bool) {
	if format != "avro" {
		return bad, "", false
	}
	highest := 0
	bad, missing = findType(t, func(t DataType) (beyond bool) {
		highest, beyond = beyondAvro(t)
		return beyond
	})
	return bad, fmt.Sprintf("Avro files hold this type up to precision %d, so that the file can't be what its schema says; rewrite it with file.format=parquet and a full compaction", highest), missing
}

func (t *Table) unsupportedFormat(f DataFile) *UnsupportedError {
	return &UnsupportedError{What: fmt.Sprintf("file format %q", fileFormat(f.Name)), Where: fmt.Sprintf("table %q, data file %s", t.name, f.Name),
		Why: fmt.Sprintf("this reader reads %s data files; rewrite them with file.format=parquet and a full compaction", strings.Join(slices.Sorted(maps.Keys(formats)), ", "))}
}

func (t *Table) unsupportedFiles(plan *Plan, schema *Schema, buckets []*BucketFiles) (found UnsupportedErrors) {
	type kind struct {
		format string
		schema int64
	}
	formatsSeen, kindsSeen := map[string]bool{}, map[kind]bool{}
	vectorsOff := !t.vectorsEnabled()
	for _, b := range buckets {
		if vectorsOff && len(b.DeletionVectors) > 0 {
			vectorsOff = false // say it once
			found = append(found, &UnsupportedError{What: "deletion vectors of live files with deletion-vectors.enabled unset", Where: fmt.Sprintf("table %q", t.name),
				Why: "the rows they delete are deleted or not, depending on the reader; set the option or compact the table"})
		}
		for _, f := range t.visibleFiles(schema, b) {
			format := fileFormat(f.Name)
			if formats[format] == nil && !formatsSeen[format] {
				formatsSeen[format] = true
				found = append(found, t.unsupportedFormat(f))
			}
			if k := (kind{format, f.SchemaID}); !kindsSeen[k] {
				kindsSeen[k] = true
				found = append(found, t.unsupportedCasts(plan, schema, f)...)
			}
		}
	}
	return found
}

// unsupportedCasts looks for changes of type between a file's schema and the
// one it is read with.
func (t *Table) unsupportedCasts(plan *Plan, schema *Schema, f DataFile) (found UnsupportedErrors) {
	old := plan.schemas[f.SchemaID]
	if old == nil {
		return nil // not of this plan; opening the file says what is wrong
	}
	for _, c := range schema.Fields {
		o, ok := old.fieldByID(c.ID)
		if !ok || slices.Contains(schema.PartitionKeys, c.Name) {
			continue
		}
		where := fmt.Sprintf("table %q, column %q, data file %s of schema %d", t.name, c.Name, f.Name, f.SchemaID)
		if bad, why, missing := missingInFormat(fileFormat(f.Name), o.Type); missing {
			found = append(found, &UnsupportedError{What: "type " + bad.String() + " in Avro", Where: where, Why: why})
		}
		if name, bad := backtick(o); bad && fileFormat(f.Name) == "orc" {
			found = append(found, &UnsupportedError{What: fmt.Sprintf("the name %q in ORC", clip(name)), Where: where,
				Why: "Paimon loses the values of a field whose name has a backtick when it reads ORC, so what its rows are is not settled; rewrite the table with file.format=parquet"})
		}
		if _, err := newConverter(o.Type, c.Type); err != nil {
			found = append(found, &UnsupportedError{What: err.Error(), Where: where,
				Why: "this reader does not know how Paimon casts it; rewrite the old files with a full compaction"})
		}
	}
	return found
}

// backtick finds a name with a backtick in a field, at any depth.
func backtick(f Field) (name string, found bool) {
	if strings.Contains(f.Name, "`") {
		return f.Name, true
	}
	var in func(t DataType) (string, bool)
	in = func(t DataType) (string, bool) {
		for _, f := range t.Fields {
			if name, found := backtick(f); found {
				return name, true
			}
		}
		for _, c := range childTypes(t) {
			if name, found := in(c); found {
				return name, true
			}
		}
		return "", false
	}
	return in(f.Type)
}
