package paimon

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	lib "github.com/hamba/avro/v2"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/avro"
)

// entry is one entry of a manifest: a data file that was added or deleted.
type entry struct {
	id        [16]byte // see identity
	partition string   // BinaryRow with its arity
	bucket    int32
	delete    bool
	file      DataFile
}

// rawEntry is an entry as the file has it: views of the block that is read.
type rawEntry struct {
	version, kind, bucket, totalBuckets               int64
	partition                                         []byte
	name, minKey, maxKey, embeddedIndex, externalPath []byte
	size, rows, schemaID, level, deleteRows, firstRow int64
	extraFiles, valueStatsCols, writeCols             [][]byte
	keyStats, valueStats                              rawStats
}

// rawStats are BinaryRows with arity, and a null count a column (-1: not
// counted).
type rawStats struct {
	min, max []byte
	nulls    []int64
}

// absent is what stands for null where a number can be negative.
const absent = math.MinInt64

// entryReader decodes the entries of one manifest, by the names of the
// writer's schema.
type entryReader struct {
	plan   *planner
	file   string
	cursor avro.Cursor
	raw    rawEntry
	read   step // one entry into raw
	stats  map[int64]*statsReader

	digest []byte // buffer
	keys   []byte // free room for keys
	last   string // partition of the entry before
}

// required are the fields of an entry and of its file that every writer has.
var (
	requiredOfEntry = []string{"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"}
	requiredOfFile  = []string{"_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_SCHEMA_ID", "_LEVEL"}
)

// readManifest returns the entries of a manifest, in order, in pieces.
func (p *planner) readManifest(ctx context.Context, name string) (pieces [][]entry, err error) {
	file, data, err := p.table.readMetadata(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &entryReader{plan: p, file: file, stats: map[int64]*statsReader{}}
	var outside error // of something else than this file
	err = walkAvro(file, data, requiredOfEntry, func(schema avroSchema, count int64, block []byte) error {
		if outside = ctx.Err(); outside != nil {
			return outside
		}
		if r.read == nil {
			if err := r.compile(schema.record); err != nil {
				return err
			}
		}
		// No entry has fewer bytes than required fields.
		if count > int64(len(block)/(len(requiredOfEntry)+len(requiredOfFile)-1)) {
			return fmt.Errorf("a block says it has %d entries in %d bytes", count, len(block))
		}
		entries := make([]entry, count)
		r.cursor.Reset(block)
		for i := range entries {
			r.raw = rawEntry{deleteRows: absent, firstRow: absent}
			r.read(&r.cursor)
			if r.cursor.Err() != nil {
				return fmt.Errorf("entry %d of a block: %w", i, r.cursor.Err())
			}
			if err := r.raw.check(); err != nil {
				return fmt.Errorf("entry %d of a block: %w", i, err)
			}
			if outside = r.fill(ctx, &entries[i]); outside != nil {
				return outside
			}
		}
		if r.cursor.Left() > 0 {
			return errors.New("a block has bytes after its last record")
		}
		pieces = append(pieces, entries)
		return nil
	})
	if outside != nil {
		err = outside
	}
	return pieces, err
}

// compile makes the steps of the writer's schema.
func (r *entryReader) compile(schema *lib.RecordSchema) (err error) {
	raw := &r.raw
	r.read, err = compileRecord(schema, requiredOfEntry, map[string]func(*lib.Field) (step, error){
		"_VERSION":       number(&raw.version),
		"_KIND":          number(&raw.kind),
		"_PARTITION":     view(&raw.partition),
		"_BUCKET":        number(&raw.bucket),
		"_TOTAL_BUCKETS": number(&raw.totalBuckets),
		"_FILE": func(f *lib.Field) (step, error) {
			return record(f, requiredOfFile, map[string]func(*lib.Field) (step, error){
				"_FILE_NAME":           view(&raw.name),
				"_FILE_SIZE":           number(&raw.size),
				"_ROW_COUNT":           number(&raw.rows),
				"_MIN_KEY":             view(&raw.minKey),
				"_MAX_KEY":             view(&raw.maxKey),
				"_KEY_STATS":           r.rawStats(&raw.keyStats),
				"_VALUE_STATS":         r.rawStats(&raw.valueStats),
				"_SCHEMA_ID":           number(&raw.schemaID),
				"_LEVEL":               number(&raw.level),
				"_EXTRA_FILES":         textList(&raw.extraFiles),
				"_DELETE_ROW_COUNT":    number(&raw.deleteRows),
				"_EMBEDDED_FILE_INDEX": view(&raw.embeddedIndex),
				"_VALUE_STATS_COLS":    textList(&raw.valueStatsCols),
				"_EXTERNAL_PATH":       view(&raw.externalPath),
				"_FIRST_ROW_ID":        number(&raw.firstRow),
				"_WRITE_COLS":          textList(&raw.writeCols),
			})
		},
	})
	return err
}

// rawStats reads statistics where the plan keeps any.
func (r *entryReader) rawStats(to *rawStats) func(*lib.Field) (step, error) {
	return func(f *lib.Field) (step, error) {
		if len(r.plan.opts.Stats) == 0 {
			return avro.Skip(f.Type()), nil
		}
		return record(f, []string{"_MIN_VALUES", "_MAX_VALUES"}, map[string]func(*lib.Field) (step, error){
			"_MIN_VALUES":  view(&to.min),
			"_MAX_VALUES":  view(&to.max),
			"_NULL_COUNTS": func(f *lib.Field) (step, error) { return arrayField(f, &to.nulls, counts) },
		})
	}
}

func number(to *int64) func(*lib.Field) (step, error) {
	return func(f *lib.Field) (step, error) { return longField(f, to, absent) }
}

func view(to *[]byte) func(*lib.Field) (step, error) {
	return func(f *lib.Field) (step, error) { return bytesField(f, to) }
}

func textList(to *[][]byte) func(*lib.Field) (step, error) {
	return func(f *lib.Field) (step, error) { return arrayField(f, to, texts) }
}

// record makes the step of a field that is a record. Writers before 0.9 made
// such fields nullable; one that is null lacks what is required.
func record(f *lib.Field, required []string, fields map[string]func(*lib.Field) (step, error)) (step, error) {
	s, null := f.Type(), int64(absent)
	if u, ok := s.(*lib.UnionSchema); ok && u.Nullable() {
		at, other := u.Indices()
		s, null = u.Types()[other], int64(at)
	}
	if ref, ok := s.(*lib.RefSchema); ok {
		s = ref.Schema()
	}
	rec, ok := s.(*lib.RecordSchema)
	if !ok {
		return nil, fmt.Errorf("its field %s is of type %s; required is a record", f.Name(), clip(s.String()))
	}
	read, err := compileRecord(rec, required, fields)
	if err != nil || null == absent {
		return read, err
	}
	return func(c *avro.Cursor) {
		switch i := c.Long(); i {
		case 1 - null:
			read(c)
		case null:
			c.Fail(fmt.Errorf("its %s is null", f.Name()))
		default:
			c.Fail(fmt.Errorf("it has choice %d of a union of 2", i))
		}
	}, nil
}

// compileRecord makes the step of a record: fields by name, others skipped.
func compileRecord(schema *lib.RecordSchema, required []string, fields map[string]func(*lib.Field) (step, error)) (step, error) {
	var steps []step
	found := map[string]bool{}
	for _, f := range schema.Fields() {
		found[f.Name()] = true
		make, wanted := fields[f.Name()]
		if !wanted {
			steps = append(steps, avro.Skip(f.Type()))
			continue
		}
		s, err := make(f)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	for _, want := range required {
		if !found[want] {
			return nil, fmt.Errorf("its records have no field %s", want)
		}
	}
	return all(steps), nil
}

// check refuses what no sound writer makes.
func (e *rawEntry) check() error {
	isInt32 := func(n int64) bool { return n == int64(int32(n)) }
	switch {
	case e.version != 2:
		return fmt.Errorf("it has version %d; this reader knows 2", e.version)
	case e.kind != kindAdd && e.kind != kindDelete:
		return fmt.Errorf("it has the kind %d; there are 0 (ADD) and 1 (DELETE)", e.kind)
	case !isFileName(string(e.name)):
		return fmt.Errorf("%q is not a file name", clip(string(e.name)))
	case e.rows < 0 || e.size < 0 || e.level < 0 || !isInt32(e.level) || !isInt32(e.bucket) || !isInt32(e.totalBuckets) || e.schemaID < 0:
		return fmt.Errorf("%s has %d rows, %d bytes, level %d, bucket %d of %d and schema %d", e.name, e.rows, e.size, e.level, e.bucket, e.totalBuckets, e.schemaID)
	}
	return nil
}

// fill makes of the views what a plan keeps.
func (r *entryReader) fill(ctx context.Context, e *entry) (err error) {
	raw := &r.raw
	r.digest = raw.identity(r.digest[:0])
	sum := sha256.Sum256(r.digest)
	e.id = [16]byte(sum[:])
	if string(raw.partition) != r.last {
		r.last = r.plan.intern(raw.partition)
	}
	e.partition, e.bucket, e.delete = r.last, int32(raw.bucket), raw.kind == kindDelete
	f := &e.file
	f.Name = string(raw.name)
	if e.delete {
		return nil // only its identity matters
	}
	f.Size, f.RowCount, f.SchemaID, f.Level, f.TotalBuckets = raw.size, raw.rows, raw.schemaID, int(raw.level), int(raw.totalBuckets)
	if r.plan.keyed {
		f.MinKey, f.MaxKey = r.keep(raw.minKey), r.keep(raw.maxKey)
	}
	switch raw.deleteRows {
	case absent:
	case 0:
		f.DeleteRowCount = &r.plan.none
	default:
		f.DeleteRowCount = &[]int64{raw.deleteRows}[0]
	}
	if raw.firstRow != absent {
		f.FirstRowID = &[]int64{raw.firstRow}[0]
	}
	if raw.externalPath != nil {
		f.ExternalPath = &[]string{string(raw.externalPath)}[0]
	}
	if raw.writeCols != nil {
		f.WriteCols, f.HasWriteCols = stringsOf(raw.writeCols), true
	}
	if len(r.plan.opts.Stats) > 0 {
		f.Stats, err = r.columnStats(ctx)
	}
	return err
}

// keep copies a key into room that the keys of many files share.
func (r *entryReader) keep(key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	if len(key) > cap(r.keys)-len(r.keys) {
		r.keys = make([]byte, 0, max(16<<10, len(key)))
	}
	at := len(r.keys)
	r.keys = append(r.keys, key...)
	return r.keys[at:len(r.keys):len(r.keys)]
}

func stringsOf(views [][]byte) []string {
	list := make([]string, len(views))
	for i, v := range views {
		list[i] = string(v)
	}
	return list
}

// identity appends what tells entries apart; a DELETE undoes the ADD of the
// same. A plan keeps a digest of it.
func (e *rawEntry) identity(b []byte) []byte {
	part := func(s []byte) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	optional := func(s []byte) {
		if s == nil {
			b = append(b, 0)
			return
		}
		b = append(b, 1)
		part(s)
	}
	part(e.partition)
	b = binary.AppendVarint(b, e.bucket)
	b = binary.AppendVarint(b, e.level)
	part(e.name)
	b = binary.AppendUvarint(b, uint64(len(e.extraFiles)))
	for _, x := range e.extraFiles {
		part(x)
	}
	optional(e.embeddedIndex)
	optional(e.externalPath)
	return b
}

// columnStats are the statistics that the plan keeps of the entry at hand.
func (r *entryReader) columnStats(ctx context.Context) ([]ColumnStats, error) {
	raw := &r.raw
	s := r.stats[raw.schemaID]
	if s == nil {
		schema, err := r.plan.table.SchemaByID(ctx, raw.schemaID)
		if errors.Is(err, ErrSchemaNotExist) {
			return nil, nil // an error if the file is live
		}
		if err != nil {
			return nil, err
		}
		s = newStatsReader(r.plan.statsColumns, schema)
		r.stats[raw.schemaID] = s
	}
	kept, err := s.read(raw, r.plan.opts.Keep)
	if err != nil {
		return nil, corrupt(r.file, "statistics of data file %s: %w", raw.name, err)
	}
	return slices.Clip(kept), nil
}
