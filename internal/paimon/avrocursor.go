package paimon

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hamba/avro/v2"
)

// cursor reads Avro's binary encoding from a block. Manifests of large tables
// have a hundred thousand entries of forty values of which a plan needs ten;
// the library's decoder makes all of them, through reflection, on the heap. The
// cursor makes none: it skips values, or gives views of the block. Schemas are the
// library's. After an error every read gives zero values.
type cursor struct {
	b    []byte // what is left
	left int    // array and map elements that may still come: no more than the block has bytes
	err  error
}

var errAvroShort = errors.New("it ends within a value")

func (c *cursor) reset(block []byte) { *c = cursor{b: block, left: len(block)} }

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err, c.b = err, nil
	}
}

// long reads an int or a long: both are zigzag varints, as Go's own are.
func (c *cursor) long() int64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		n := c.b[0]
		c.b = c.b[1:]
		return int64(n>>1) ^ -int64(n&1)
	}
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail(errAvroShort)
		return 0
	}
	c.b = c.b[n:]
	return v
}

// take gives the next n bytes.
func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.b)) {
		c.fail(errAvroShort)
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

// bytes reads a string or bytes.
func (c *cursor) bytes() []byte { return c.take(c.long()) }

// elements calls one for each element of an array or a map.
func (c *cursor) elements(one func(c *cursor)) {
	for c.err == nil {
		n := c.long()
		if n < 0 { // the block's size in bytes follows
			n = -n
			c.long()
		}
		if n == 0 {
			return
		}
		if n < 0 || n > int64(c.left) {
			c.fail(errors.New("an array or map has more elements than the block has bytes"))
			return
		}
		c.left -= int(n)
		for range n {
			one(c)
		}
	}
}

// step reads or skips one value.
type step func(c *cursor)

// skipper makes the step that reads over a value of a schema. Schemas are
// bounded by checkAvroSchema.
func skipper(s avro.Schema) step {
	switch s := s.(type) {
	case *avro.RecordSchema:
		steps := make([]step, len(s.Fields()))
		for i, f := range s.Fields() {
			steps[i] = skipper(f.Type())
		}
		return all(steps)
	case *avro.RefSchema:
		return skipper(s.Schema())
	case *avro.UnionSchema:
		steps := make([]step, len(s.Types()))
		for i, t := range s.Types() {
			steps[i] = skipper(t)
		}
		return func(c *cursor) {
			if i := c.long(); i >= 0 && i < int64(len(steps)) {
				steps[i](c)
			} else {
				c.fail(fmt.Errorf("it has choice %d of a union of %d", i, len(steps)))
			}
		}
	case *avro.ArraySchema:
		one := skipper(s.Items())
		return func(c *cursor) { c.elements(one) }
	case *avro.MapSchema:
		value := skipper(s.Values())
		return func(c *cursor) {
			c.elements(func(c *cursor) {
				c.bytes()
				value(c)
			})
		}
	case *avro.FixedSchema:
		n := int64(s.Size())
		return func(c *cursor) { c.take(n) }
	}
	switch s.Type() {
	case avro.String, avro.Bytes:
		return func(c *cursor) { c.bytes() }
	case avro.Int, avro.Long, avro.Enum:
		return func(c *cursor) { c.long() }
	case avro.Float:
		return func(c *cursor) { c.take(4) }
	case avro.Double:
		return func(c *cursor) { c.take(8) }
	case avro.Boolean:
		return func(c *cursor) { c.take(1) }
	}
	return func(*cursor) {} // null
}

func all(steps []step) step {
	return func(c *cursor) {
		for _, s := range steps {
			s(c)
		}
	}
}

// valueReader gives a value's content; present is false for a null.
type valueReader[T any] func(c *cursor) (v T, present bool)

// nullable makes a reader of a field that is of a type, or of a union of null
// and such a type. Want names the types that get can read.
func nullable[T any](f *avro.Field, get func(c *cursor) T, want ...avro.Type) (valueReader[T], error) {
	s := f.Type()
	is := func(s avro.Schema) bool {
		for _, t := range want {
			if s.Type() == t {
				return true
			}
		}
		return false
	}
	if is(s) {
		return func(c *cursor) (T, bool) { return get(c), c.err == nil }, nil
	}
	u, ok := s.(*avro.UnionSchema)
	if !ok || len(u.Types()) != 2 {
		return nil, fmt.Errorf("its field %s is of type %s; required is %s", f.Name(), clip(s.String()), want[0])
	}
	types := u.Types()
	for value := range types {
		if is(types[value]) && types[1-value].Type() == avro.Null {
			return func(c *cursor) (v T, present bool) {
				switch i := c.long(); i {
				case int64(value):
					return get(c), c.err == nil
				case int64(1 - value):
				default:
					c.fail(fmt.Errorf("it has choice %d of a union of 2", i))
				}
				return v, false
			}, nil
		}
	}
	return nil, fmt.Errorf("its field %s is of type %s; required is %s", f.Name(), clip(s.String()), want[0])
}

// longField makes the step that stores a number; a null becomes absent.
func longField(f *avro.Field, to *int64, absent int64) (step, error) {
	read, err := nullable(f, (*cursor).long, avro.Int, avro.Long)
	if err != nil {
		return nil, err
	}
	return func(c *cursor) {
		v, present := read(c)
		if !present {
			v = absent
		}
		*to = v
	}, nil
}

// bytesField makes the step that stores a view of a string or bytes; a null
// becomes nil, which an empty one is not.
func bytesField(f *avro.Field, to *[]byte) (step, error) {
	read, err := nullable(f, (*cursor).bytes, avro.String, avro.Bytes)
	if err != nil {
		return nil, err
	}
	return func(c *cursor) { *to, _ = read(c) }, nil
}

// arrayField makes the step that stores the elements of an array; a null
// becomes nil, which an empty one is not. One makes the reader of an element.
func arrayField[T any](f *avro.Field, to *[]T, element func(items avro.Schema) (func(c *cursor) T, error)) (step, error) {
	var items avro.Schema
	find := func(s avro.Schema) {
		if a, ok := s.(*avro.ArraySchema); ok {
			items = a.Items()
		}
	}
	find(f.Type())
	if u, ok := f.Type().(*avro.UnionSchema); ok {
		for _, t := range u.Types() {
			find(t)
		}
	}
	var one func(c *cursor) T
	if items != nil {
		var err error
		if one, err = element(items); err != nil {
			return nil, fmt.Errorf("its field %s: %w", f.Name(), err)
		}
	}
	buf := make([]T, 0, 8) // never nil
	read, err := nullable(f, func(c *cursor) []T {
		buf = buf[:0]
		c.elements(func(c *cursor) { buf = append(buf, one(c)) })
		return buf
	}, avro.Array)
	if err != nil {
		return nil, err
	}
	return func(c *cursor) { *to, _ = read(c) }, nil
}

// texts reads elements that are strings.
func texts(items avro.Schema) (func(c *cursor) []byte, error) {
	if items.Type() != avro.String && items.Type() != avro.Bytes {
		return nil, fmt.Errorf("its elements are of type %s; required is string", clip(items.String()))
	}
	return (*cursor).bytes, nil
}

// counts reads elements that are longs or null, which becomes -1.
func counts(items avro.Schema) (func(c *cursor) int64, error) {
	f, err := avro.NewField("element", items)
	if err != nil {
		return nil, err
	}
	var n int64
	read, err := longField(f, &n, -1)
	if err != nil {
		return nil, err
	}
	return func(c *cursor) int64 {
		read(c)
		return n
	}, nil
}
