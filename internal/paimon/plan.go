package paimon

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// Plan is the live files of one snapshot.
type Plan struct {
	Snapshot   *Snapshot         // nil: a table without snapshots
	Partitions []*PartitionFiles // by folder, then by value

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
}

// readers bounds how many manifests are read at once.
const readers = 8

// Plan reads the manifests of a snapshot, each once, several at a time, and
// gives the files that are live in it. A nil snapshot gives an empty plan.
func (t *Table) Plan(ctx context.Context, snap *Snapshot) (*Plan, error) {
	plan := &Plan{Snapshot: snap, schemas: map[int64]*Schema{}}
	if snap == nil {
		return plan, nil
	}
	entries, indexEntries, err := t.readManifests(ctx, snap)
	if err != nil {
		return nil, err
	}
	live, err := liveEntries(entries)
	if err != nil {
		return nil, fmt.Errorf("paimon: table %q: snapshot %d: %w", t.name, snap.ID, err)
	}
	if err := t.group(plan, live); err != nil {
		return nil, err
	}
	if err := t.addVectors(plan, indexEntries); err != nil {
		return nil, err
	}
	for _, e := range live {
		id := e.File.SchemaID
		if plan.schemas[id] == nil {
			if plan.schemas[id], err = t.SchemaByID(ctx, id); err != nil {
				return nil, fmt.Errorf("data file %s: %w", e.File.FileName, err)
			}
		}
	}
	return plan, nil
}

func (t *Table) readManifests(ctx context.Context, snap *Snapshot) ([][]avroEntry, []avroIndexEntry, error) {
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
	entries := make([][]avroEntry, len(names))
	var indexEntries []avroIndexEntry
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, n := range names {
		safego.Go(g, func() (err error) {
			entries[i], err = t.readManifest(ctx, n)
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
	return entries, indexEntries, nil
}

// liveEntries are the ADDs without a DELETE of the same identity. Names are
// unique, so the order of manifests does not matter.
func liveEntries(manifests [][]avroEntry) ([]*avroEntry, error) {
	type state struct {
		entry *avroEntry
		adds  int
	}
	states := map[string]*state{}
	var order []*state
	for _, entries := range manifests {
		for i := range entries {
			e := &entries[i]
			id := e.identity()
			s := states[id]
			if s == nil {
				s = &state{}
				states[id] = s
				order = append(order, s)
			}
			if e.Kind == kindDelete {
				s.adds--
			} else {
				s.adds++
			}
			if s.entry == nil || e.Kind == kindAdd {
				s.entry = e
			}
		}
	}
	var live []*avroEntry
	for _, s := range order {
		switch {
		case s.adds == 1:
			live = append(live, s.entry)
		case s.adds > 1:
			return nil, fmt.Errorf("the manifests add data file %s %d times more than they delete it: they are damaged", s.entry.File.FileName, s.adds)
		case s.adds < 0:
			return nil, fmt.Errorf("the manifests delete data file %s without having added it: they are damaged", s.entry.File.FileName)
		}
	}
	return live, nil
}

// group sorts live entries into partitions and buckets.
func (t *Table) group(plan *Plan, live []*avroEntry) error {
	types := typesOf(t.Schema().partitionFields())
	byRaw := map[string]*PartitionFiles{}
	dirs := map[*PartitionFiles]string{}
	for _, e := range live {
		p := byRaw[string(e.Partition)]
		if p == nil {
			values, err := DecodeBinaryRow(types, e.Partition)
			if err != nil {
				return fmt.Errorf("paimon: table %q: partition of data file %s: %w", t.name, e.File.FileName, err)
			}
			p = &PartitionFiles{Partition: Partition{Values: values, Raw: e.Partition}}
			byRaw[string(e.Partition)] = p
			plan.Partitions = append(plan.Partitions, p)
			if dirs[p], err = t.PartitionDir(p.Partition); err != nil {
				dirs[p] = "" // a value without a text sorts by its bytes
			}
		}
		var b *BucketFiles
		for _, have := range p.Buckets {
			if have.Bucket == int(e.Bucket) {
				b = have
			}
		}
		if b == nil {
			b = &BucketFiles{Bucket: int(e.Bucket)}
			p.Buckets = append(p.Buckets, b)
		}
		b.Files = append(b.Files, e.dataFile())
		b.TotalBuckets = int(e.TotalBuckets)
		p.Files++
		p.Bytes += e.File.FileSize
		p.Records += e.File.RowCount
	}
	sort.SliceStable(plan.Partitions, func(i, j int) bool {
		a, b := plan.Partitions[i], plan.Partitions[j]
		if c := strings.Compare(dirs[a], dirs[b]); c != 0 {
			return c < 0
		}
		return bytes.Compare(a.Partition.Raw, b.Partition.Raw) < 0
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
