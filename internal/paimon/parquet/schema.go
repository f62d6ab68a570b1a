package parquet

import (
	"fmt"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// maxDepth bounds the nesting of schemas.
const maxDepth = 64

// node is one element of the file's schema tree.
type node struct {
	name     string
	path     string // dotted, from the top level, for messages
	parent   *node  // nil for the root
	elem     *format.SchemaElement
	children []*node
	leaf     int // position among the leaves, -1 for a group

	// Levels as in Dremel: def counts the optional and repeated elements from
	// the root to here, rep the repeated ones. slot is def of the nearest
	// repeated element above or here: an entry of a leaf below stands for a
	// value of this node exactly if its definition level reaches slot.
	def, rep, slot uint8
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (n *node) group() bool { return n.leaf < 0 }

func (n *node) repeated() bool { return n.repetition() == format.Repeated }

func (n *node) repetition() format.FieldRepetitionType {
	if n.elem.RepetitionType.Valid {
		return n.elem.RepetitionType.V
	}
	return format.Required
}

// firstLeaf is a leaf below n, or n itself; nil below empty groups.
func (n *node) firstLeaf() *node {
	if !n.group() {
		return n
	}
	for _, c := range n.children {
		if l := c.firstLeaf(); l != nil {
			return l
		}
	}
	return nil
}

// buildSchema makes the tree from the footer's depth-first list, and checks
// that every row group has one column chunk a leaf.
func (f *File) buildSchema() error {
	elems := f.meta.Schema
	if len(elems) == 0 {
		return corruptf("the footer has no schema")
	}
	b := schemaBuilder{elems: elems}
	root, err := b.build(nil, 0)
	if err != nil {
		return err
	}
	if b.next != len(elems) {
		return corruptf("the schema lists %d elements, its tree has %d", len(elems), b.next)
	}
	if !root.group() {
		return corruptf("the schema's root is not a group")
	}
	f.root, f.leaves = root, b.leaves
	f.bytes = make([]int64, len(b.leaves))
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if len(g.Columns) != len(f.leaves) {
			return corruptf("row group %d has %d columns, the schema %d", i, len(g.Columns), len(f.leaves))
		}
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			if m.TotalUncompressedSize > 0 {
				f.bytes[j] += m.TotalUncompressedSize
			}
		}
	}
	return nil
}

type schemaBuilder struct {
	elems  []format.SchemaElement
	next   int
	leaves []*node
}

func (b *schemaBuilder) build(parent *node, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, unsupportedf("the schema is nested deeper than %d levels", maxDepth)
	}
	if b.next >= len(b.elems) {
		return nil, corruptf("the schema's list ends before its tree does")
	}
	e := &b.elems[b.next]
	b.next++
	n := &node{name: e.Name, path: e.Name, parent: parent, elem: e, leaf: -1}
	if parent != nil {
		n.def, n.rep, n.slot = parent.def, parent.rep, parent.slot
		if depth > 1 {
			n.path = parent.path + "." + e.Name
		}
		switch n.repetition() {
		case format.Optional:
			n.def++
		case format.Repeated:
			n.def++
			n.rep++
			n.slot = n.def
		}
	}
	if e.Type.Valid {
		if e.NumChildren.Valid && e.NumChildren.V != 0 {
			return nil, corruptf("column %q is both a value and a group", n.path)
		}
		n.leaf = len(b.leaves)
		b.leaves = append(b.leaves, n)
		return n, nil
	}
	if e.NumChildren.V < 0 || int(e.NumChildren.V) > len(b.elems)-b.next {
		return nil, corruptf("column %q claims %d children", n.path, e.NumChildren.V)
	}
	n.children = make([]*node, e.NumChildren.V)
	for i := range n.children {
		c, err := b.build(n, depth+1)
		if err != nil {
			return nil, err
		}
		n.children[i] = c
	}
	return n, nil
}

func (n *node) physical() format.Type { return n.elem.Type.V }

// describe is the file's type of n for messages.
func (n *node) describe() string {
	if n.group() {
		if s := n.elem.LogicalType.String(); s != "" {
			return "group (" + s + ")"
		}
		return "group"
	}
	s := n.physical().String()
	if l := n.elem.LogicalType.String(); l != "" {
		return s + " (" + l + ")"
	}
	if c := n.elem.ConvertedType; c.Valid {
		return fmt.Sprintf("%s (converted type %d)", s, c.V)
	}
	return s
}

// decimal returns the scale of a leaf annotated as decimal.
func (n *node) decimal() (scale int, ok bool) {
	if t, ok := n.elem.LogicalType.Value.(*format.DecimalType); ok {
		return int(t.Scale), true
	}
	if c := n.elem.ConvertedType; c.Valid && c.V == deprecated.Decimal {
		return int(n.elem.Scale.V), true
	}
	return 0, false
}

// unit returns the time unit of a leaf annotated as time or timestamp.
func (n *node) unit() (unit time.Duration, ok bool) {
	switch t := n.elem.LogicalType.Value.(type) {
	case *format.TimestampType:
		if t.Unit.Value != nil {
			return t.Unit.Value.Duration(), true
		}
	case *format.TimeType:
		if t.Unit.Value != nil {
			return t.Unit.Value.Duration(), true
		}
	}
	if c := n.elem.ConvertedType; c.Valid {
		switch c.V {
		case deprecated.TimeMillis, deprecated.TimestampMillis:
			return time.Millisecond, true
		case deprecated.TimeMicros, deprecated.TimestampMicros:
			return time.Microsecond, true
		}
	}
	return 0, false
}

// annotation groups a leaf's logical or converted type by what it may be read
// as: a TIMESTAMP must not pass for a BIGINT unseen.
type annotation uint8

const (
	plainValue annotation = iota // none
	integer
	unsigned
	textual // string, enum, JSON, BSON, UUID
	decimalNumber
	date
	timeOfDay
	timestamp
	other // anything else: intervals, half floats, geography
)

func (n *node) annotation() annotation {
	switch t := n.elem.LogicalType.Value.(type) {
	case nil:
	case *format.IntType:
		if !t.IsSigned {
			return unsigned
		}
		return integer
	case *format.StringType, *format.EnumType, *format.JsonType, *format.BsonType, *format.UUIDType:
		return textual
	case *format.DecimalType:
		return decimalNumber
	case *format.DateType:
		return date
	case *format.TimeType:
		return timeOfDay
	case *format.TimestampType:
		return timestamp
	case *format.NullType:
		return plainValue
	default:
		return other
	}
	c := n.elem.ConvertedType
	if !c.Valid {
		return plainValue
	}
	switch c.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json, deprecated.Bson:
		return textual
	case deprecated.Decimal:
		return decimalNumber
	case deprecated.Date:
		return date
	case deprecated.TimeMillis, deprecated.TimeMicros:
		return timeOfDay
	case deprecated.TimestampMillis, deprecated.TimestampMicros:
		return timestamp
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return unsigned
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return integer
	}
	return other
}
