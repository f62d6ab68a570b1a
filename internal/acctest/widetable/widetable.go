// Package widetable writes Paimon tables of many partitions and files, as fast
// as the disk takes them, for tests and measurements of planning.
//
// The table is one that Paimon itself can read: a primary-key table of ten
// columns, partitioned by a text, with the manifests that a long row of commits
// leaves behind, compactions among them. Its data files are small. They
// are the same ten in every partition, by hard links: partition values come
// from the manifests, so each partition has its own rows all the same.
package widetable

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Options say how large a table is.
type Options struct {
	Partitions int // at least 1
	// FilesPerPartition are live data files; at least 1. Each bucket has one
	// file in the highest level, and the rest are in level 0.
	FilesPerPartition int
	Buckets           int // at least 1, at most FilesPerPartition
	// Deleted are files that were written and compacted away again: an ADD and a
	// DELETE each, in manifests of different commits, and no data file.
	Deleted int
	// Properties are table options beyond the bucket count.
	Properties map[string]string
}

// Table is what was written.
type Table struct {
	Partitions, Files int
	Rows              int64 // live, after merging
	Records           int64 // in live files
	Bytes             int64 // of live files
	Manifests         int
	ManifestBytes     int64
}

const (
	// mergedEntries is how many entries fit into the 8 MiB that Paimon merges
	// manifests to.
	mergedEntries = 50_000
	// commits is how many manifests Paimon lets gather before it merges them.
	commits = 29
	// writtenLately is the part of the files that those commits wrote.
	writtenLately = 0.3
)

// Write makes the table in a folder that must not exist, whose parent does.
func Write(dir string, o Options) (Table, error) {
	if o.Partitions < 1 || o.FilesPerPartition < 1 || o.Buckets < 1 || o.Buckets > o.FilesPerPartition || o.Deleted < 0 {
		return Table{}, fmt.Errorf("widetable: %+v: required are partitions, files and buckets from 1 on, and no more buckets than files", o)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return Table{}, fmt.Errorf("widetable: %w", err)
	}
	for _, d := range []string{"schema", "snapshot", "manifest", "templates"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return Table{}, fmt.Errorf("widetable: %w", err)
		}
	}
	w := &writer{dir: dir, o: o, rand: rand.New(rand.NewPCG(1, 2))}
	if err := w.write(); err != nil {
		return Table{}, fmt.Errorf("widetable: %w", err)
	}
	return w.table, os.RemoveAll(filepath.Join(dir, "templates"))
}

type writer struct {
	dir       string
	o         Options
	rand      *rand.Rand // the same table every time
	templates []template
	table     Table
}

// now is the time of every commit: files of one size and options are equal.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli()

func (w *writer) write() error {
	if err := w.writeTemplates(); err != nil {
		return err
	}
	live, err := w.linkFiles()
	if err != nil {
		return err
	}
	if err := w.writeSchema(); err != nil {
		return err
	}
	manifests, err := w.writeManifests(live)
	if err != nil {
		return err
	}
	return w.writeSnapshot(manifests)
}

// partition is the text of partition i.
func partition(i int) string {
	return time.Date(2000, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// linkFiles makes every partition's folder and data files, and their entries.
func (w *writer) linkFiles() ([]entry, error) {
	live := make([]entry, 0, w.o.Partitions*w.o.FilesPerPartition)
	for i := range w.o.Partitions {
		dt := partition(i)
		raw := row(dt)
		for b := range w.o.Buckets {
			if err := os.MkdirAll(w.bucketDir(dt, b), 0o755); err != nil {
				return nil, err
			}
		}
		for _, t := range w.templates {
			e := w.entry(raw, t)
			if err := os.Link(t.path, filepath.Join(w.bucketDir(dt, t.bucket), e.File.FileName)); err != nil {
				return nil, err
			}
			live = append(live, e)
			w.table.Records += t.rows
			w.table.Bytes += t.size
		}
		w.table.Rows += int64(w.o.Buckets) * rowsPerFile
	}
	w.table.Partitions, w.table.Files = w.o.Partitions, len(live)
	return live, nil
}

func (w *writer) bucketDir(dt string, bucket int) string {
	return filepath.Join(w.dir, "dt="+dt, "bucket-"+strconv.Itoa(bucket))
}

// writeManifests spreads the entries as Paimon's own merging would have them:
// most in a few large manifests, the rest in one of each late commit. Entries of
// a large manifest are in the order of partitions, as a merge leaves them.
func (w *writer) writeManifests(live []entry) ([]manifestMeta, error) {
	var large, late []entry
	for _, e := range live {
		if w.rand.Float64() < writtenLately {
			late = append(late, e)
		} else {
			large = append(large, e)
		}
	}
	for range w.o.Deleted {
		e := w.entry(row(partition(w.rand.IntN(w.o.Partitions))), w.templates[w.rand.IntN(len(w.templates))])
		large = append(large, e)
		e.Kind = 1
		late = append(late, e)
	}
	w.rand.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
	var metas []manifestMeta
	for len(large) > 0 {
		n := min(mergedEntries, len(large))
		m, err := w.writeManifest(large[:n])
		if err != nil {
			return nil, err
		}
		metas, large = append(metas, m), large[n:]
	}
	for left := commits; left > 0; left-- {
		n := (len(late) + left - 1) / left
		m, err := w.writeManifest(late[:n])
		if err != nil {
			return nil, err
		}
		metas, late = append(metas, m), late[n:]
	}
	return metas, nil
}

func (w *writer) writeSchema() error {
	options := map[string]string{"bucket": strconv.Itoa(w.o.Buckets), "bucket-key": "id", "partition.legacy-name": "false"}
	for k, v := range w.o.Properties {
		options[k] = v
	}
	type field struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
		Type string `json:"type"`
	}
	fields := make([]field, len(columns))
	for i, c := range columns {
		fields[i] = field{i, c.name, c.paimon}
	}
	return w.writeJSON("schema/schema-0", map[string]any{
		"version": 3, "id": 0, "fields": fields, "highestFieldId": len(fields) - 1, "partitionKeys": []string{"dt"},
		"primaryKeys": []string{"dt", "id"}, "options": options, "timeMillis": now,
	})
}

func (w *writer) writeSnapshot(manifests []manifestMeta) error {
	last := len(manifests) - 1
	base, delta := "manifest-list-"+w.uuid()+"-0", "manifest-list-"+w.uuid()+"-1"
	if err := w.writeList(base, manifests[:last]); err != nil {
		return err
	}
	if err := w.writeList(delta, manifests[last:]); err != nil {
		return err
	}
	const id = 1
	err := w.writeJSON(fmt.Sprint("snapshot/snapshot-", id), map[string]any{
		"version": 3, "id": id, "schemaId": 0, "baseManifestList": base, "deltaManifestList": delta, "commitUser": "widetable", "commitIdentifier": 1,
		"commitKind": "COMPACT", "timeMillis": now, "totalRecordCount": w.table.Records, "deltaRecordCount": 0,
	})
	if err != nil {
		return err
	}
	for _, hint := range []string{"LATEST", "EARLIEST"} {
		if err := os.WriteFile(filepath.Join(w.dir, "snapshot", hint), []byte(strconv.Itoa(id)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, name), data, 0o644)
}

// uuid is a random (version 4) UUID of the table's own sequence.
func (w *writer) uuid() string {
	a, b := w.rand.Uint64(), w.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>48&0xfff, b&0xffffffffffff)
}
