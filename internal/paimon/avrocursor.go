package paimon

import (
	"fmt"

	lib "github.com/hamba/avro/v2"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/avro"
)

// Manifests of large tables have a hundred thousand entries of forty values, of
// which a plan needs ten. The steps made here skip values, or store views of the
// block; the schemas are bounded by checkAvroSchema.

// step reads or skips one value.
type step func(c *avro.Cursor)

func all(steps []step) step {
	return func(c *avro.Cursor) {
		for _, s := range steps {
			s(c)
		}
	}
}

// valueReader gives a value's content; present is false for a null.
type valueReader[T any] func(c *avro.Cursor) (v T, present bool)

// nullable makes a reader of a field that is of a type, or of a union of null
// and such a type. Want names the types that get can read.
func nullable[T any](f *lib.Field, get func(c *avro.Cursor) T, want ...lib.Type) (valueReader[T], error) {
	s := f.Type()
	is := func(s lib.Schema) bool {
		for _, t := range want {
			if s.Type() == t {
				return true
			}
		}
		return false
	}
	if is(s) {
		return func(c *avro.Cursor) (T, bool) { return get(c), c.Err() == nil }, nil
	}
	u, ok := s.(*lib.UnionSchema)
	if !ok || len(u.Types()) != 2 {
		return nil, fmt.Errorf("its field %s is of type %s; required is %s", f.Name(), clip(s.String()), want[0])
	}
	types := u.Types()
	for value := range types {
		if is(types[value]) && types[1-value].Type() == lib.Null {
			return func(c *avro.Cursor) (v T, present bool) {
				switch i := c.Long(); i {
				case int64(value):
					return get(c), c.Err() == nil
				case int64(1 - value):
				default:
					c.Fail(fmt.Errorf("it has choice %d of a union of 2", i))
				}
				return v, false
			}, nil
		}
	}
	return nil, fmt.Errorf("its field %s is of type %s; required is %s", f.Name(), clip(s.String()), want[0])
}

// longField makes the step that stores a number; a null becomes absent.
func longField(f *lib.Field, to *int64, absent int64) (step, error) {
	read, err := nullable(f, (*avro.Cursor).Long, lib.Int, lib.Long)
	if err != nil {
		return nil, err
	}
	return func(c *avro.Cursor) {
		v, present := read(c)
		if !present {
			v = absent
		}
		*to = v
	}, nil
}

// bytesField makes the step that stores a view of a string or bytes; a null
// becomes nil, which an empty one is not.
func bytesField(f *lib.Field, to *[]byte) (step, error) {
	read, err := nullable(f, (*avro.Cursor).Bytes, lib.String, lib.Bytes)
	if err != nil {
		return nil, err
	}
	return func(c *avro.Cursor) { *to, _ = read(c) }, nil
}

// arrayField makes the step that stores the elements of an array; a null
// becomes nil, which an empty one is not. One makes the reader of an element.
func arrayField[T any](f *lib.Field, to *[]T, element func(items lib.Schema) (func(c *avro.Cursor) T, error)) (step, error) {
	var items lib.Schema
	find := func(s lib.Schema) {
		if a, ok := s.(*lib.ArraySchema); ok {
			items = a.Items()
		}
	}
	find(f.Type())
	if u, ok := f.Type().(*lib.UnionSchema); ok {
		for _, t := range u.Types() {
			find(t)
		}
	}
	var one func(c *avro.Cursor) T
	if items != nil {
		var err error
		if one, err = element(items); err != nil {
			return nil, fmt.Errorf("its field %s: %w", f.Name(), err)
		}
	}
	buf := make([]T, 0, 8) // never nil
	read, err := nullable(f, func(c *avro.Cursor) []T {
		buf = buf[:0]
		c.Each(func(c *avro.Cursor) { buf = append(buf, one(c)) })
		return buf
	}, lib.Array)
	if err != nil {
		return nil, err
	}
	return func(c *avro.Cursor) { *to, _ = read(c) }, nil
}

// texts reads elements that are strings.
func texts(items lib.Schema) (func(c *avro.Cursor) []byte, error) {
	if items.Type() != lib.String && items.Type() != lib.Bytes {
		return nil, fmt.Errorf("its elements are of type %s; required is string", clip(items.String()))
	}
	return (*avro.Cursor).Bytes, nil
}

// counts reads elements that are longs or null, which becomes -1.
func counts(items lib.Schema) (func(c *avro.Cursor) int64, error) {
	f, err := lib.NewField("element", items)
	if err != nil {
		return nil, err
	}
	var n int64
	read, err := longField(f, &n, -1)
	if err != nil {
		return nil, err
	}
	return func(c *avro.Cursor) int64 {
		read(c)
		return n
	}, nil
}
