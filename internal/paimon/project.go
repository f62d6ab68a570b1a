package paimon

import (
	"fmt"
	"slices"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// System columns of primary-key files.
const (
	keyPrefix      = "_KEY_"
	sequenceColumn = "_SEQUENCE_NUMBER"
	kindColumn     = "_VALUE_KIND"
)

// maxPartitionText bounds a partition value that is repeated for every row of
// a batch; longer ones could not name a folder.
const maxPartitionText = 64 << 10

// outputColumn is how one wanted column is made of what a file holds.
type outputColumn struct {
	from    int            // the file column it comes from; -1: the constant
	convert converter      // nil: as it is
	fixed   *vector.Vector // of a partition column, or null; as long as a batch
	view    vector.Vector  // fixed, cut to the batch at hand
}

// projection is what is read of one data file and how the wanted columns, the
// key, the sequence numbers and the kinds come out of it.
type projection struct {
	columns  []fileColumn
	outputs  []outputColumn
	keys     []int // file columns of the key; nil: not read
	sequence int   // -1: not read
	kind     int   // -1: not read
}

// parts says which columns besides the wanted ones are read.
type parts struct{ key, sequence, kind bool }

// newProjection maps the wanted columns of schema to a file of fileSchema, by
// field id, and says what has to be read of it.
func newProjection(file openedFile, f DataFile, fileSchema, schema *Schema, wanted []Field, partition Partition, want parts, batchRows int) (*projection, error) {
	p := &projection{sequence: -1, kind: -1}
	add := func(name string, t DataType) int {
		if i := slices.IndexFunc(p.columns, func(c fileColumn) bool { return c.Name == name }); i >= 0 {
			return i
		}
		p.columns = append(p.columns, fileColumn{name, t})
		return len(p.columns) - 1
	}
	if want.key {
		for _, k := range schema.keyFields() {
			old, ok := fileSchema.fieldByID(k.ID)
			if !ok {
				return nil, corrupt(f.Name, "its schema %d has no key column %q", f.SchemaID, k.Name)
			}
			if vectorKind(old.Type) != vectorKind(k.Type) || old.Type.Scale != k.Type.Scale {
				return nil, fmt.Errorf("key column %q: change of type from %s to %s", k.Name, old.Type, k.Type)
			}
			name := keyPrefix + old.Name
			if !file.Has(name) { // thin mode: the key is in the value columns
				name = old.Name
			}
			p.keys = append(p.keys, add(name, old.Type))
		}
	}
	if want.sequence {
		p.sequence = add(sequenceColumn, DataType{Kind: BigInt})
	}
	if want.kind {
		p.kind = add(kindColumn, DataType{Kind: TinyInt})
	}
	keyFields := schema.keyFields()
	for _, w := range wanted {
		o := outputColumn{from: -1}
		if i := slices.Index(schema.PartitionKeys, w.Name); i >= 0 {
			if variableLen(partition.Values[i]) > maxPartitionText {
				return nil, corrupt(f.Name, "the value of its partition column %q has more than %d bytes", w.Name, maxPartitionText)
			}
			o.fixed = constant(w.Type, partition.Values[i], batchRows)
			p.outputs = append(p.outputs, o)
			continue
		}
		old, ok := fileSchema.fieldByID(w.ID)
		if !ok || f.HasWriteCols && !slices.Contains(f.WriteCols, old.Name) {
			o.fixed = constant(w.Type, nil, batchRows)
			p.outputs = append(p.outputs, o)
			continue
		}
		var err error
		if o.convert, err = newConverter(old.Type, w.Type); err != nil {
			return nil, fmt.Errorf("column %q: %w", w.Name, err)
		}
		if i := slices.IndexFunc(keyFields, func(k Field) bool { return k.ID == w.ID }); i >= 0 && want.key {
			o.from = p.keys[i] // the same value, decoded once
		} else {
			o.from = add(old.Name, old.Type)
		}
		p.outputs = append(p.outputs, o)
	}
	return p, nil
}

// variableLen is the bytes of a value of variable length.
func variableLen(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 0
}

// apply fills dst with the wanted columns of a batch of n rows.
func (p *projection) apply(dst, columns []*vector.Vector, n int) []*vector.Vector {
	dst = dst[:0]
	for i := range p.outputs {
		switch o := &p.outputs[i]; {
		case o.from < 0:
			dst = append(dst, o.cut(n))
		case o.convert != nil:
			dst = append(dst, o.convert(columns[o.from]))
		default:
			dst = append(dst, columns[o.from])
		}
	}
	return dst
}

// cut is the first n values of the fixed vector.
func (o *outputColumn) cut(n int) *vector.Vector {
	o.view = cutVector(o.fixed, n)
	return &o.view
}

func cutVector(v *vector.Vector, n int) vector.Vector {
	c := *v
	c.Len = n
	c.Nulls = cutSlice(v.Nulls, n)
	c.Bools, c.Int32s, c.Int64s, c.Nanos = cutSlice(v.Bools, n), cutSlice(v.Int32s, n), cutSlice(v.Int64s, n), cutSlice(v.Nanos, n)
	c.Float32s, c.Float64s = cutSlice(v.Float32s, n), cutSlice(v.Float64s, n)
	if v.Offsets != nil {
		c.Offsets = v.Offsets[:n+1]
	}
	if v.Kind == vector.Struct && v.Len != n {
		c.Children = make([]*vector.Vector, len(v.Children))
		for i, child := range v.Children {
			cut := cutVector(child, n)
			c.Children[i] = &cut
		}
	}
	return c
}

func cutSlice[T any](s []T, n int) []T {
	if s == nil {
		return nil
	}
	return s[:n]
}
