package paimon

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// ColumnStats are the statistics of a column of a data file.
type ColumnStats struct {
	Column string // of the newest schema
	// Least and Greatest bound the values but need not be values: texts are cut,
	// and they cover versions and deletes that a read does not show. They are of
	// the type that the column has in the file's own schema. Where every value is
	// null, both are nil and Nulls is the row count.
	Least, Greatest any
	Nulls           int64
	// Missing says that the writer collected none, so that nothing else is set.
	// Such statistics are kept only where PlanOptions.Keep says so, and not for
	// files older than the column.
	Missing bool
}

// statsReader picks the wanted columns out of the statistics of files of one
// schema.
type statsReader struct {
	columns []statsColumn
	schema  *Schema
	keys    []Field
}

// statsColumn is a wanted column as a file's schema has it, and its places in
// the statistics of files that have them of all columns; -1: none.
type statsColumn struct {
	name  string
	old   Field
	slot  int
	ofKey int
}

// newStatsReader looks the columns, which are of the newest schema, up in a
// file's own.
func newStatsReader(columns []Field, schema *Schema) *statsReader {
	r := &statsReader{schema: schema, keys: schema.keyFields()}
	for _, c := range columns {
		old, found := schema.fieldByID(c.ID)
		if !found {
			continue // added later
		}
		switch old.Type.Kind {
		case Array, Map, Row, Multiset, Variant, Blob, VectorType:
			continue
		}
		same := func(f Field) bool { return f.ID == old.ID }
		r.columns = append(r.columns, statsColumn{name: c.Name, old: old, slot: slices.IndexFunc(schema.Fields, same), ofKey: slices.IndexFunc(r.keys, same)})
	}
	return r
}

// read gives what is known of the columns and keep wants.
func (r *statsReader) read(e *rawEntry, keep func(ColumnStats) bool) (kept []ColumnStats, err error) {
	for i := range r.columns {
		c := &r.columns[i]
		slot, slots := c.slot, len(r.schema.Fields)
		// Dense statistics have slots of the columns listed, files of a part of the
		// columns of those.
		names := e.valueStatsCols
		if names == nil {
			names = e.writeCols
		}
		if names != nil {
			slots = len(names)
			slot = slices.IndexFunc(names, func(n []byte) bool { return string(n) == c.old.Name })
		}
		s, ok, err := columnStats(&e.valueStats, slot, slots, c.old.Type, e.rows)
		if err == nil && !ok {
			s, ok, err = columnStats(&e.keyStats, c.ofKey, len(r.keys), c.old.Type, e.rows)
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.name, err)
		}
		if !ok {
			s = ColumnStats{Missing: true}
		}
		if s.Column = c.name; keep == nil && ok || keep != nil && keep(s) {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// columnStats decodes one slot of the statistics' rows; ok is false where
// nothing is known.
func columnStats(s *rawStats, slot, slots int, t DataType, rows int64) (c ColumnStats, ok bool, err error) {
	if slot < 0 {
		return c, false, nil
	}
	for _, row := range [][]byte{s.min, s.max} {
		if len(row) < 4 || int64(binary.BigEndian.Uint32(row)) != int64(slots) {
			return c, false, nil // a writer that keeps none leaves a row without fields
		}
	}
	if c.Least, err = decodeField(t, s.min[4:], slot, slots); err != nil {
		return c, false, err
	}
	if c.Greatest, err = decodeField(t, s.max[4:], slot, slots); err != nil {
		return c, false, err
	}
	if slot < len(s.nulls) && s.nulls[slot] >= 0 {
		c.Nulls = s.nulls[slot]
		if c.Nulls == rows {
			c.Least, c.Greatest = nil, nil
			return c, true, nil
		}
	}
	return c, c.Least != nil && c.Greatest != nil, nil
}

// keyFields are the columns of the trimmed primary key, in key order.
func (s *Schema) keyFields() []Field { return s.fieldsOf(s.TrimmedPrimaryKeys()) }
