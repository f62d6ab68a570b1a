package orc

import (
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// listColumn reads LIST and MAP: lengths, and below them the elements, or the
// keys and values.
type listColumn struct {
	base
	lengths  intReader
	children []column
	scratch  []int64
	elements int
}

func (r *Reader) newListColumn(b base, t Type) (column, error) {
	c := &listColumn{base: b}
	for i, child := range b.node.children {
		cc, err := r.newColumn(child, t.Children[i])
		if err != nil {
			return nil, err
		}
		c.children = append(c.children, cc)
		c.v.Children = append(c.v.Children, cc.vector())
	}
	return c, nil
}

func (c *listColumn) begin(s *stripe) error {
	c.beginBase(s)
	e, err := s.encoding(c.node, encDirect, encDirectV2)
	if err != nil {
		return err
	}
	s.bind(&c.lengths.stream, c.node, streamLength)
	c.lengths.begin(e, false)
	return beginAll(s, c.children)
}

func beginAll(s *stripe, columns []column) error {
	for _, child := range columns {
		if child == nil {
			continue
		}
		if err := child.begin(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *listColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	c.scratch = grow(c.scratch, k)
	if err := c.lengths.read(c.scratch); err != nil {
		return where("LENGTH", err)
	}
	total := int64(0)
	for _, l := range c.scratch {
		if uint64(l) > maxBatchElements {
			return unsupportedf("a list of %d elements, at most %d", uint64(l), maxBatchElements)
		}
		total += l
	}
	if err := c.limits.checkElements(total); err != nil {
		return err
	}
	c.elements = int(total)
	c.v.Offsets = grow(c.v.Offsets, n+1)
	c.v.Offsets[0] = 0
	ends, end, next := c.v.Offsets[1:], int32(0), 0
	for i := range n {
		if c.v.Nulls == nil || !c.v.Nulls[i] {
			end += int32(c.scratch[next])
			next++
		}
		ends[i] = end
	}
	for i, child := range c.children {
		if err := child.read(c.elements, nil); err != nil {
			return below(c.node.children[i], err)
		}
	}
	return nil
}

func below(n *node, err error) error { return fmt.Errorf("field %q: %w", n.path, err) }

func (c *listColumn) size() int {
	total := 4 * c.v.Len
	for _, child := range c.children {
		total += child.size()
	}
	return total
}

func (c *listColumn) release() {
	c.base.release()
	c.lengths.release()
	for _, child := range c.children {
		child.release()
	}
}

// structColumn reads STRUCT. Fields the file does not have are null.
type structColumn struct {
	base
	children []column // nil: not in the file
	nodes    []*node
	types    []Type
}

func (r *Reader) newStructColumn(b base, t Type) (column, error) {
	c := &structColumn{base: b, types: t.Children}
	for i, name := range t.Names {
		var cc column
		v := new(vector.Vector)
		child := b.node.child(name)
		if child != nil {
			var err error
			if cc, err = r.newColumn(child, t.Children[i]); err != nil {
				return nil, err
			}
			v = cc.vector()
		}
		c.children, c.nodes = append(c.children, cc), append(c.nodes, child)
		c.v.Children = append(c.v.Children, v)
	}
	return c, nil
}

func (c *structColumn) begin(s *stripe) error {
	c.beginBase(s)
	if _, err := s.encoding(c.node, encDirect); err != nil {
		return err
	}
	return beginAll(s, c.children)
}

func (c *structColumn) read(n int, absent []bool) error {
	if _, err := c.slots(n, absent); err != nil {
		return err
	}
	for i, child := range c.children {
		if child == nil {
			c.v.Children[i].SetNull(c.types[i], n)
			continue
		}
		if err := child.read(n, c.v.Nulls); err != nil {
			return below(c.nodes[i], err)
		}
	}
	return nil
}

func (c *structColumn) size() int {
	total := c.v.Len
	for _, child := range c.children {
		if child != nil {
			total += child.size()
		}
	}
	return total
}

func (c *structColumn) release() {
	c.base.release()
	for _, child := range c.children {
		if child != nil {
			child.release()
		}
	}
}
