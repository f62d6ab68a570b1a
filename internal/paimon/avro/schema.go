package avro

import (
	"fmt"

	lib "github.com/hamba/avro/v2"
)

// maxDepth bounds the nesting of schemas.
const maxDepth = 64

// checkSchema refuses recursive types, which tables and metadata do not have
// and on which a decoder can exhaust its stack.
func checkSchema(s lib.Schema) error {
	open, done := map[lib.Schema]bool{}, map[lib.Schema]bool{}
	var walk func(s lib.Schema, depth int) error
	walk = func(s lib.Schema, depth int) error {
		s = target(s)
		switch {
		case open[s]:
			return unsupportedf("its schema is recursive")
		case depth > maxDepth:
			return unsupportedf("its schema is nested more than %d deep", maxDepth)
		case done[s]:
			return nil
		}
		open[s] = true
		for _, c := range children(s) {
			if err := walk(c, depth+1); err != nil {
				return err
			}
		}
		delete(open, s)
		done[s] = true
		return nil
	}
	return walk(s, 0)
}

// target is what a schema stands for.
func target(s lib.Schema) lib.Schema {
	if ref, ok := s.(*lib.RefSchema); ok {
		return ref.Schema()
	}
	return s
}

func children(s lib.Schema) []lib.Schema {
	switch s := s.(type) {
	case *lib.RecordSchema:
		var types []lib.Schema
		for _, f := range s.Fields() {
			types = append(types, f.Type())
		}
		return types
	case *lib.ArraySchema:
		return []lib.Schema{s.Items()}
	case *lib.MapSchema:
		return []lib.Schema{s.Values()}
	case *lib.UnionSchema:
		return s.Types()
	}
	return nil
}

// describe names a schema for a message: the type, its logical type, and of
// nested types no more than the first level.
func describe(s lib.Schema) string {
	switch s := target(s).(type) {
	case *lib.UnionSchema:
		text := "a union of"
		for i, t := range s.Types() {
			if i > 0 {
				text += ","
			}
			if i == 10 {
				text += fmt.Sprintf(" and %d more", len(s.Types())-i)
				break
			}
			text += " " + describeType(t)
		}
		return text
	default:
		return describeType(s)
	}
}

func describeType(s lib.Schema) string {
	s = target(s)
	name := string(s.Type())
	switch s := s.(type) {
	case *lib.ArraySchema:
		return "array of " + string(target(s.Items()).Type())
	case *lib.MapSchema:
		return "map of " + string(target(s.Values()).Type())
	case *lib.FixedSchema:
		name = fmt.Sprintf("fixed(%d)", s.Size())
	}
	return name + logicalText(s)
}

func logicalText(s lib.Schema) string {
	if l, ok := s.(lib.LogicalTypeSchema); ok && l.Logical() != nil {
		if d, ok := l.Logical().(*lib.DecimalLogicalSchema); ok {
			return fmt.Sprintf(" (decimal(%d, %d))", d.Precision(), d.Scale())
		}
		return fmt.Sprintf(" (%s)", l.Logical().Type())
	}
	if p, ok := s.(lib.PropertySchema); ok {
		if name, ok := p.Prop("logicalType").(string); ok {
			return fmt.Sprintf(" (%s)", clip(name))
		}
	}
	return ""
}

// logical is the logical type of a schema, "" if it has none. One that the
// library does not know, or does not know of that type, is given too: its
// values are not plain ones.
func logical(s lib.Schema) lib.LogicalType {
	if l, ok := s.(lib.LogicalTypeSchema); ok && l.Logical() != nil {
		return l.Logical().Type()
	}
	if p, ok := s.(lib.PropertySchema); ok {
		if name, ok := p.Prop("logicalType").(string); ok && name != "" {
			return lib.LogicalType(name)
		}
	}
	return ""
}
