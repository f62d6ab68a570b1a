package paimon

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
)

// FileStats gives the statistics of a column of a data file. The column is one
// of the newest schema; least and greatest are of the type that the column has in the
// file's own schema. They bound the values but need not be values: strings are
// cut, and they cover versions and deletes that a read does not show. Where
// every value is null, both are nil and nulls is the row count. ok is
// false where nothing is known: the column was added later, or the writer
// collected no statistics.
func (t *Table) FileStats(ctx context.Context, f DataFile, column string) (least, greatest any, nulls int64, ok bool, err error) {
	field, found := t.Schema().Field(column)
	if !found {
		return nil, nil, 0, false, fmt.Errorf("paimon: table %q has no column %q", t.name, column)
	}
	schema, err := t.SchemaByID(ctx, f.SchemaID)
	if err != nil {
		return nil, nil, 0, false, err
	}
	old, found := schema.fieldByID(field.ID)
	if !found {
		return nil, nil, 0, false, nil
	}
	least, greatest, nulls, ok, err = columnStats(f.ValueStats, statsFields(schema, f), old, f.RowCount)
	if err == nil && !ok {
		if keys := schema.keyFields(); slices.ContainsFunc(keys, func(k Field) bool { return k.ID == old.ID }) {
			least, greatest, nulls, ok, err = columnStats(f.KeyStats, keys, old, f.RowCount)
		}
	}
	if err != nil {
		err = fmt.Errorf("paimon: table %q: statistics of data file %s, column %q: %w", t.name, f.Name, column, err)
	}
	return least, greatest, nulls, ok, err
}

// statsFields are the columns that a file's value statistics have slots of.
func statsFields(schema *Schema, f DataFile) []Field {
	names := f.ValueStatsCols
	switch {
	case f.HasValueStatsCols:
	case f.HasWriteCols:
		names = f.WriteCols
	default:
		return schema.Fields
	}
	fields := make([]Field, len(names))
	for i, n := range names {
		var ok bool
		if fields[i], ok = schema.Field(n); !ok {
			// A system column of another writer: it takes a slot that is never
			// asked for, of a type that decodes from any slot.
			fields[i] = Field{ID: -1, Name: n, Type: DataType{Kind: BigInt}}
		}
	}
	return fields
}

// keyFields are the columns of the trimmed primary key, in key order.
func (s *Schema) keyFields() []Field {
	var fields []Field
	for _, k := range s.TrimmedPrimaryKeys() {
		f, _ := s.Field(k) // ParseSchema saw to it that they exist
		fields = append(fields, f)
	}
	return fields
}

func columnStats(s Stats, fields []Field, column Field, rows int64) (least, greatest any, nulls int64, ok bool, err error) {
	slot := slices.IndexFunc(fields, func(f Field) bool { return f.ID == column.ID })
	if slot < 0 {
		return nil, nil, 0, false, nil
	}
	switch column.Type.Kind {
	case Array, Map, Row, Multiset, Variant, Blob, VectorType:
		return nil, nil, 0, false, nil
	}
	types := typesOf(fields)
	for i := range types {
		if i != slot {
			types[i] = DataType{Kind: BigInt} // decodes from any slot, and is not used
		}
	}
	for _, row := range [][]byte{s.MinValues, s.MaxValues} {
		if len(row) < 4 || int(binary.BigEndian.Uint32(row)) != len(types) {
			return nil, nil, 0, false, nil // a writer that keeps none leaves a row without fields
		}
	}
	mins, err := DecodeBinaryRow(types, s.MinValues)
	if err != nil {
		return nil, nil, 0, false, err
	}
	maxs, err := DecodeBinaryRow(types, s.MaxValues)
	if err != nil {
		return nil, nil, 0, false, err
	}
	if slot < len(s.NullCounts) && s.NullCounts[slot] != nil {
		nulls = *s.NullCounts[slot]
		if nulls == rows {
			return nil, nil, nulls, true, nil
		}
	}
	if mins[slot] == nil || maxs[slot] == nil {
		return nil, nil, nulls, false, nil
	}
	return mins[slot], maxs[slot], nulls, true, nil
}
