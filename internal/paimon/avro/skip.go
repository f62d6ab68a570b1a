package avro

import (
	"fmt"

	lib "github.com/hamba/avro/v2"
)

// skipper moves a cursor over one value.
type skipper func(c *Cursor)

// Skip makes what moves a cursor over one value of a schema.
func Skip(s lib.Schema) func(c *Cursor) {
	if skip := (skippers{}).of(s); skip != nil {
		return skip
	}
	return func(*Cursor) {}
}

// skippers makes the skippers of a file, one for each of its types.
type skippers map[lib.Schema]skipper

// of returns how to skip a value; nil when it has no bytes. Every other skipper
// takes at least one byte, so that skipping ends where the block does.
func (m skippers) of(s lib.Schema) skipper {
	s = target(s)
	if f, ok := m[s]; ok {
		return f
	}
	f := m.build(s)
	m[s] = f
	return f
}

func (m skippers) build(s lib.Schema) skipper {
	switch s := s.(type) {
	case *lib.RecordSchema:
		var fields []skipper
		for _, f := range s.Fields() {
			if skip := m.of(f.Type()); skip != nil {
				fields = append(fields, skip)
			}
		}
		switch len(fields) {
		case 0:
			return nil
		case 1:
			return fields[0]
		}
		return func(c *Cursor) {
			for _, skip := range fields {
				if skip(c); c.err != nil {
					return
				}
			}
		}
	case *lib.UnionSchema:
		return m.union(s)
	case *lib.ArraySchema:
		return skipElements(m.of(s.Items()))
	case *lib.MapSchema:
		value := m.of(s.Values())
		return skipElements(func(c *Cursor) {
			if c.Bytes(); value != nil {
				value(c)
			}
		})
	case *lib.FixedSchema:
		n := int64(s.Size())
		if n == 0 {
			return nil
		}
		return func(c *Cursor) { c.take(n) }
	case *lib.EnumSchema:
		return func(c *Cursor) { c.Long() }
	}
	switch s.Type() {
	case lib.String, lib.Bytes:
		return func(c *Cursor) { c.Bytes() }
	case lib.Int, lib.Long:
		return func(c *Cursor) { c.number() }
	case lib.Float:
		return func(c *Cursor) { c.take(4) }
	case lib.Double:
		return func(c *Cursor) { c.take(8) }
	case lib.Boolean:
		return func(c *Cursor) { c.take(1) }
	}
	return nil // null
}

func (m skippers) union(s *lib.UnionSchema) skipper {
	branches := make([]skipper, len(s.Types()))
	for i, t := range s.Types() {
		branches[i] = m.of(t)
	}
	return func(c *Cursor) {
		i := c.Long()
		if uint64(i) >= uint64(len(branches)) {
			c.Fail(noBranch(i, len(branches)))
			return
		}
		if skip := branches[i]; skip != nil && c.err == nil {
			skip(c)
		}
	}
}

func noBranch(i int64, n int) error {
	return corruptf("branch %d of a union of %d", i, n)
}

func skipElements(item skipper) skipper {
	return func(c *Cursor) {
		for c.err == nil {
			n, size := c.elements()
			switch {
			case n == 0:
				return
			case size >= 0:
				c.take(size)
			case item != nil:
				for ; n > 0 && c.err == nil; n-- {
					item(c)
				}
			}
		}
	}
}

// Check walks the count records of a block without decoding them: they end
// where the block does, and no length in them is longer than the bytes that
// are there. For decoders that do not look.
func (c *Container) Check(count int64, block []byte) error {
	skip := skippers{}.of(c.Schema)
	cur := Cursor{b: block}
	for i := range count {
		if skip != nil {
			skip(&cur)
		}
		if cur.err != nil {
			return fmt.Errorf("record %d of the block: %w", i, cur.err)
		}
	}
	if cur.pos != len(block) {
		return errLeft
	}
	return nil
}

var errLeft = corruptf("a block has bytes after its last record")
