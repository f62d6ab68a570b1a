package paimon

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// Plan is the live files of one snapshot.
type Plan struct {
	Snapshot   *Snapshot         // nil: a table without snapshots
	Partitions []*PartitionFiles // by folder, then by value
	StatsOf    []string          // columns whose statistics it was asked to keep

	schemas map[int64]*Schema // those of the live files
}

// PartitionFiles is the live files of one partition value, with their sums.
type PartitionFiles struct {
	Partition Partition
	Buckets   []*BucketFiles // by bucket
	Files     int
	Bytes     int64
	Records   int64 // before merging: deletes and older versions count
}

// BucketFiles is the live files of one bucket.
type BucketFiles struct {
	Bucket          int // -2: postponed, not assigned yet
	TotalBuckets    int // as the newest file says; -1: unaware. It is per file: see DataFile
	Files           []DataFile
	DeletionVectors map[string]DVRef // by data file name

	count int // of files
}

// readers bounds how many manifests are read at once.
const readers = 8

// PlanOptions say what a plan keeps beyond what a read needs.
type PlanOptions struct {
	// Stats names columns of the newest schema whose statistics are kept with
	// each file, where Keep, unless nil, says so. A large table's statistics are
	// most of its manifests, so it should keep few.
	Stats []string
	Keep  func(ColumnStats) bool
}

// Plan reads the manifests of a snapshot, each once, several at a time, and
// gives the files that are live in it. A nil snapshot gives an empty plan.
func (t *Table) Plan(ctx context.Context, snap *Snapshot) (*Plan, error) {
	return t.PlanWith(ctx, snap, PlanOptions{})
}

// PlanWith is Plan with options.
func (t *Table) PlanWith(ctx context.Context, snap *Snapshot, opts PlanOptions) (*Plan, error) {
	plan := &Plan{Snapshot: snap, StatsOf: opts.Stats, schemas: map[int64]*Schema{}}
	if snap == nil {
		return plan, nil
	}
	// A snapshot's schema is written before it. Without its file the newest one
	// that is left is an older one, and rows would be read with the wrong columns.
	if newest := t.Schema().ID; snap.SchemaID > newest {
		return nil, fmt.Errorf("paimon: table %q: snapshot %d was committed with schema %d, the newest schema read is %d: its file is missing or newer than the look at the table: %w: %s",
			t.name, snap.ID, snap.SchemaID, newest, ErrSchemaNotExist, t.schemaPath(snap.SchemaID))
	}
	p := &planner{table: t, opts: opts, keyed: len(t.Schema().PrimaryKeys) > 0, partitions: map[string]string{}}
	for _, c := range opts.Stats {
		f, ok := t.Schema().Field(c)
		if !ok {
			return nil, fmt.Errorf("paimon: table %q has no column %q to keep the statistics of", t.name, c)
		}
		p.statsColumns = append(p.statsColumns, f)
	}
	pieces, indexEntries, err := p.readManifests(ctx, snap)
	if err != nil {
		return nil, err
	}
	live, err := liveEntries(pieces)
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: snapshot %d: %w", t.name, snap.ID, err)
	}
	for _, e := range live {
		id := e.file.SchemaID
		if plan.schemas[id] == nil {
			if plan.schemas[id], err = t.SchemaByID(ctx, id); err != nil {
				return nil, fmt.Errorf("data file %s: %w", e.file.Name, err)
			}
		}
	}
	if err := t.group(plan, live); err != nil {
		return nil, err
	}
	if err := t.addVectors(plan, indexEntries); err != nil {
		return nil, err
	}
	return plan, nil
}

// planner makes one plan.
type planner struct {
	table        *Table
	opts         PlanOptions
	statsColumns []Field
	keyed        bool
	none         int64 // 0: what most files' delete counts point to

	mu         sync.Mutex
	partitions map[string]string
}

// intern gives one string for all entries of a partition.
func (p *planner) intern(raw []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.partitions[string(raw)]
	if !ok {
		s = string(raw)
		p.partitions[s] = s
	}
	return s
}

func (p *planner) readManifests(ctx context.Context, snap *Snapshot) ([][]entry, []avroIndexEntry, error) {
	t := p.table
	var names []string
	seen := map[string]bool{}
	for _, list := range []string{snap.BaseManifestList, snap.DeltaManifestList} {
		if list == "" {
			continue
		}
		more, err := t.readManifestList(ctx, list)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range more {
			if seen[n] {
				return nil, nil, corrupt(path.Join(t.path, "manifest", list), "snapshot %d lists the manifest %s twice", snap.ID, n)
			}
			seen[n] = true
		}
		names = append(names, more...)
	}
	pieces := make([][][]entry, len(names))
	var indexEntries []avroIndexEntry
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, n := range names {
		safego.Go(g, func() (err error) {
			pieces[i], err = p.readManifest(ctx, n)
			return err
		})
	}
	if snap.IndexManifest != nil {
		safego.Go(g, func() (err error) {
			indexEntries, err = t.readIndexManifest(ctx, *snap.IndexManifest)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	return slices.Concat(pieces...), indexEntries, nil
}

// liveEntries are the ADDs without a DELETE of the same identity. Names are
// unique, so the order of manifests does not matter.
func liveEntries(pieces [][]entry) ([]*entry, error) {
	type count struct{ net, adds int32 }
	total := 0
	for _, entries := range pieces {
		total += len(entries)
	}
	counts := make(map[[16]byte]count, total)
	for _, entries := range pieces {
		for i := range entries {
			e := &entries[i]
			c := counts[e.id]
			if e.delete {
				c.net--
			} else {
				c.net++
				c.adds++
			}
			counts[e.id] = c
		}
	}
	var live []*entry
	for _, entries := range pieces {
		for i := range entries {
			e := &entries[i]
			switch c := counts[e.id]; {
			case c.net > 1:
				return nil, fmt.Errorf("the manifests add data file %s %d times more than they delete it: they are damaged", e.file.Name, c.net)
			case c.net < 0:
				return nil, fmt.Errorf("the manifests delete data file %s without having added it: they are damaged", e.file.Name)
			case c.net == 1 && !e.delete:
				// Of several ADDs the last one counts.
				if c.adds--; c.adds == 0 {
					live = append(live, e)
				}
				counts[e.id] = c
			}
		}
	}
	return live, nil
}

// group sorts live entries into partitions and buckets.
func (t *Table) group(plan *Plan, live []*entry) error {
	types := typesOf(t.Schema().partitionFields())
	type place struct {
		partition string
		bucket    int32
	}
	byRaw := map[string]*PartitionFiles{}
	dirs := map[*PartitionFiles]string{}
	buckets := map[place]*BucketFiles{}
	bucketOf := make([]*BucketFiles, len(live))
	for i, e := range live {
		p := byRaw[e.partition]
		if p == nil {
			raw := []byte(e.partition)
			values, err := DecodeBinaryRow(types, raw)
			if err != nil {
				return fmt.Errorf("paimon: table %q: partition of data file %s: %w", t.name, e.file.Name, err)
			}
			p = &PartitionFiles{Partition: Partition{Values: values, Raw: raw}}
			byRaw[e.partition] = p
			plan.Partitions = append(plan.Partitions, p)
			if dirs[p], err = t.PartitionDir(p.Partition); err != nil {
				dirs[p] = "" // a value without a text sorts by its bytes
			}
		}
		at := place{e.partition, e.bucket}
		b := buckets[at]
		if b == nil {
			b = &BucketFiles{Bucket: int(e.bucket)}
			buckets[at] = b
			p.Buckets = append(p.Buckets, b)
		}
		b.count++
		bucketOf[i] = b
		b.TotalBuckets = e.file.TotalBuckets
		p.Files++
		p.Bytes += e.file.Size
		p.Records += e.file.RowCount
	}
	files := make([]DataFile, len(live))
	for i, e := range live {
		b := bucketOf[i]
		if b.Files == nil {
			b.Files, files = files[:0:b.count], files[b.count:]
		}
		b.Files = append(b.Files, e.file)
	}
	slices.SortStableFunc(plan.Partitions, func(a, b *PartitionFiles) int {
		if c := strings.Compare(dirs[a], dirs[b]); c != 0 {
			return c
		}
		return bytes.Compare(a.Partition.Raw, b.Partition.Raw)
	})
	for _, p := range plan.Partitions {
		slices.SortFunc(p.Buckets, func(a, b *BucketFiles) int { return a.Bucket - b.Bucket })
	}
	return nil
}

// indexTypeVectors is the index type of deletion vectors. Other index files
// (hash indexes of dynamic buckets, global indexes) say nothing about rows.
const indexTypeVectors = "DELETION_VECTORS"

// addVectors attaches deletion vectors to the live files of their partition
// and bucket; vectors of other files do not apply.
func (t *Table) addVectors(plan *Plan, entries []avroIndexEntry) error {
	if len(entries) == 0 {
		return nil
	}
	type place struct {
		raw    string
		bucket int
	}
	buckets := map[place]*BucketFiles{}
	partitions := map[place]Partition{}
	for _, p := range plan.Partitions {
		for _, b := range p.Buckets {
			at := place{string(p.Partition.Raw), b.Bucket}
			buckets[at], partitions[at] = b, p.Partition
		}
	}
	for i := range entries {
		e := &entries[i]
		at := place{string(e.Partition), int(e.Bucket)}
		b := buckets[at]
		if e.IndexType != indexTypeVectors || b == nil {
			continue
		}
		file, err := t.indexFilePath(e, partitions[at])
		if err != nil {
			return err
		}
		for _, r := range e.Ranges {
			if r == nil || !slices.ContainsFunc(b.Files, func(f DataFile) bool { return f.Name == r.DataFile }) {
				continue
			}
			if _, twice := b.DeletionVectors[r.DataFile]; twice {
				return fmt.Errorf("paimon: table %q: snapshot %d has two deletion vectors for data file %s: its index manifest is damaged", t.name, plan.Snapshot.ID, r.DataFile)
			}
			if b.DeletionVectors == nil {
				b.DeletionVectors = map[string]DVRef{}
			}
			b.DeletionVectors[r.DataFile] = DVRef{IndexFile: file, Offset: int64(r.Offset), Length: int64(r.Length), Cardinality: r.Cardinality}
		}
	}
	return nil
}

func (t *Table) indexFilePath(e *avroIndexEntry, p Partition) (string, error) {
	if e.ExternalPath != nil {
		return t.externalPath(*e.ExternalPath, e.FileName)
	}
	if !t.Schema().optionBool("index-file-in-data-file-dir", false) {
		return path.Join(t.path, "index", e.FileName), nil
	}
	dir, err := t.PartitionDir(p)
	if err != nil {
		return "", err
	}
	return path.Join(t.path, t.Schema().Option("data-file.path-directory", ""), dir, bucketDirName(int(e.Bucket)), e.FileName), nil
}
