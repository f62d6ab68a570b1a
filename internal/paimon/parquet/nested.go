package parquet

import (
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// nestedColumn reads a top-level field with anything below it: all its leaves
// for the rows of a batch, and from their levels the lists, maps and structs.
type nestedColumn struct {
	top    assembler
	leaves []*leafReader
}

func (c *nestedColumn) vector() *vector.Vector { return c.top.vector() }

func (c *nestedColumn) size() int {
	total := 0
	for _, l := range c.leaves {
		total += leafSize(&l.v) + 2*len(l.batchDef)
	}
	return total
}

func (c *nestedColumn) read(n int) error {
	for _, l := range c.leaves {
		if err := l.nested(n); err != nil {
			return l.where(err)
		}
	}
	slots, err := c.top.assemble()
	if err != nil {
		return err
	}
	if slots != n {
		return corruptf("column %q: levels of %d rows, read %d", c.leaves[0].leaf.path, slots, n)
	}
	return nil
}

func (c *nestedColumn) finished() error {
	for _, l := range c.leaves {
		if err := l.finished(); err != nil {
			return err
		}
	}
	return nil
}

func (c *nestedColumn) release() {
	for _, l := range c.leaves {
		l.release()
	}
}

// assembler makes one node's vector out of its leaves' batch.
type assembler interface {
	vector() *vector.Vector
	// assemble returns the number of slots.
	assemble() (int, error)
	// levels is a leaf below that tells the node's nulls and lengths.
	levels() *leafReader
}

// leafNode is a leaf: its reader has filled the vector.
type leafNode struct{ *leafReader }

func (n leafNode) vector() *vector.Vector { return &n.v }
func (n leafNode) assemble() (int, error) { return n.slots, nil }
func (n leafNode) levels() *leafReader    { return n.leafReader }

// nullNode stands for a struct field or map value the file does not have.
type nullNode struct {
	t Type
	v vector.Vector
}

func (n *nullNode) vector() *vector.Vector { return &n.v }
func (n *nullNode) assemble() (int, error) { return -1, nil }
func (n *nullNode) levels() *leafReader    { return nil }

// groupNode is a LIST, MAP or STRUCT.
type groupNode struct {
	node     *node
	repeated *node // of LIST and MAP: of which def says "has an element"
	// An entry stands for a slot if its definition level reaches slot and its
	// repetition level does not exceed rep; that is null below notNull.
	slot, rep, notNull uint8
	children           []assembler
	leaf               *leafReader
	v                  vector.Vector
	nulls              []bool
}

func (n *groupNode) vector() *vector.Vector { return &n.v }
func (n *groupNode) levels() *leafReader    { return n.leaf }

func (n *groupNode) assemble() (int, error) {
	slots, elements := 0, 0
	nulls, any := n.nulls[:0], false
	list := n.repeated != nil
	if list {
		n.v.Offsets = n.v.Offsets[:0]
	}
	for i, def := range n.leaf.batchDef {
		rep := n.leaf.batchRep[i]
		if rep > n.rep { // the slot at hand goes on
			if list && rep == n.repeated.rep {
				elements++
			}
			continue
		}
		if def < n.slot { // a list above is null or empty
			continue
		}
		null := def < n.notNull
		nulls = append(nulls, null)
		any = any || null
		slots++
		if list {
			n.v.Offsets = append(n.v.Offsets, int32(elements))
			if def >= n.repeated.def {
				elements++
			}
		}
	}
	n.nulls = nulls
	n.v.Len, n.v.Nulls = slots, nil
	if any {
		n.v.Nulls = nulls
	}
	below := slots
	if list {
		n.v.Offsets = append(n.v.Offsets, int32(elements))
		below = elements
	}
	for _, c := range n.children {
		got, err := c.assemble()
		if err != nil {
			return 0, err
		}
		if m, ok := c.(*nullNode); ok {
			m.v.SetNull(m.t, below)
		} else if got != below {
			return 0, corruptf("column %q: its fields differ in length, %d and %d", n.node.path, got, below)
		}
	}
	return slots, nil
}

func (f *File) newNested(n *node, t Type) (columnReader, error) {
	c := new(nestedColumn)
	b := nestedBuilder{file: f, column: c}
	top, err := b.build(n, t)
	if err != nil {
		return nil, err
	}
	c.top = top
	return c, nil
}

type nestedBuilder struct {
	file   *File
	column *nestedColumn
}

func (b *nestedBuilder) build(n *node, t Type) (assembler, error) {
	// A repeated field outside of LIST and MAP is a list of what it holds.
	if n.repeated() {
		if t.Kind != List {
			return nil, mismatch(n, t)
		}
		return b.list(n, n, n, t)
	}
	return b.value(n, t)
}

// value builds n without its repetition.
func (b *nestedBuilder) value(n *node, t Type) (assembler, error) {
	switch {
	case t.Kind == List && n.group():
		repeated, element := listElement(n)
		if repeated == nil {
			return nil, mismatch(n, t)
		}
		return b.list(n, repeated, element, t)
	case t.Kind == Map && n.group():
		return b.mapping(n, t)
	case t.Kind == Struct && n.group():
		return b.structure(n, t)
	case t.Kind < List && !n.group():
		s, err := newSink(n, t)
		if err != nil {
			return nil, err
		}
		return b.leaf(n, s, t), nil
	default:
		return nil, mismatch(n, t)
	}
}

func mismatch(n *node, t Type) error {
	return unsupportedf("column %q is %s in the file, which can't be read as %s", n.path, n.describe(), t)
}

func (b *nestedBuilder) leaf(n *node, s sink, t Type) leafNode {
	l := newLeafReader(b.file, n, s, t)
	b.column.leaves = append(b.column.leaves, l)
	return leafNode{l}
}

// listElement finds a list's repeated node and its element, which are one in
// the legacy forms of two levels (LogicalTypes.md, "Backward-compatibility
// rules" of LIST).
func listElement(n *node) (repeated, element *node) {
	if len(n.children) != 1 || !n.children[0].repeated() {
		return nil, nil
	}
	r := n.children[0]
	if !r.group() || len(r.children) != 1 || r.name == "array" || r.name == n.name+"_tuple" {
		return r, r
	}
	return r, r.children[0]
}

func (b *nestedBuilder) list(n, repeated, element *node, t Type) (assembler, error) {
	g := newGroup(n, t)
	g.repeated = repeated
	if n == repeated { // no node says "null": the list is never null
		g.slot, g.rep, g.notNull = n.parent.slot, n.parent.rep, 0
	}
	var child assembler
	var err error
	if element == repeated {
		child, err = b.value(element, t.Children[0])
	} else {
		child, err = b.build(element, t.Children[0])
	}
	if err != nil {
		return nil, err
	}
	return b.finish(g, []assembler{child})
}

func (b *nestedBuilder) mapping(n *node, t Type) (assembler, error) {
	if len(n.children) != 1 || !n.children[0].repeated() || !n.children[0].group() {
		return nil, mismatch(n, t)
	}
	entry := n.children[0]
	if len(entry.children) < 1 || len(entry.children) > 2 {
		return nil, mismatch(n, t)
	}
	g := newGroup(n, t)
	g.repeated = entry
	key, err := b.build(entry.children[0], t.Children[0])
	if err != nil {
		return nil, err
	}
	value := assembler(&nullNode{t: t.Children[1]})
	if len(entry.children) == 2 {
		if value, err = b.build(entry.children[1], t.Children[1]); err != nil {
			return nil, err
		}
	}
	return b.finish(g, []assembler{key, value})
}

func (b *nestedBuilder) structure(n *node, t Type) (assembler, error) {
	switch n.elem.LogicalType.Value.(type) {
	case *format.ListType, *format.MapType:
		return nil, mismatch(n, t)
	}
	if c := n.elem.ConvertedType; c.Valid && (c.V == deprecated.List || c.V == deprecated.Map) {
		return nil, mismatch(n, t)
	}
	children := make([]assembler, len(t.Names))
	for i, name := range t.Names {
		field := n.child(name)
		if field == nil {
			children[i] = &nullNode{t: t.Children[i]}
			continue
		}
		var err error
		if children[i], err = b.build(field, t.Children[i]); err != nil {
			return nil, err
		}
	}
	return b.finish(newGroup(n, t), children)
}

func newGroup(n *node, t Type) *groupNode {
	g := &groupNode{node: n, slot: n.slot, rep: n.rep, notNull: n.def}
	g.v.Kind = t.Vector()
	return g
}

// finish links the children, and finds the leaf that tells the levels: if none
// of the wanted children is in the file, one that is, for its levels alone.
func (b *nestedBuilder) finish(g *groupNode, children []assembler) (assembler, error) {
	g.children = children
	for _, c := range children {
		g.v.Children = append(g.v.Children, c.vector())
		if g.leaf == nil {
			g.leaf = c.levels()
		}
	}
	if g.leaf == nil {
		n := g.node.firstLeaf()
		if n == nil {
			return nil, unsupportedf("column %q is a group without fields in the file", g.node.path)
		}
		g.leaf = b.leaf(n, discard{}, Type{Kind: Boolean}).leafReader
	}
	return g, nil
}
