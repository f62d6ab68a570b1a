package paimon

import (
	"fmt"
	"strconv"
)

// jacksonWriter writes JSON the way Paimon's own writer lays it out, so that a
// schema file written here differs from one written by Paimon only where the
// content differs.
type jacksonWriter struct {
	buf   []byte
	depth int
	first []bool // one an open object or array: nothing written in it yet
}

func (w *jacksonWriter) raw(s string) { w.buf = append(w.buf, s...) }

func (w *jacksonWriter) newline() {
	w.raw("\n")
	for range w.depth {
		w.raw("  ")
	}
}

func (w *jacksonWriter) object(body func()) {
	w.raw("{")
	w.depth++
	w.first = append(w.first, true)
	body()
	empty := w.first[len(w.first)-1]
	w.first = w.first[:len(w.first)-1]
	w.depth--
	if empty {
		w.raw(" ")
	} else {
		w.newline()
	}
	w.raw("}")
}

func (w *jacksonWriter) key(name string) {
	if !w.first[len(w.first)-1] {
		w.raw(",")
	}
	w.first[len(w.first)-1] = false
	w.newline()
	w.text(name)
	w.raw(" : ")
}

func (w *jacksonWriter) array(n int, item func(i int)) {
	w.raw("[ ")
	for i := range n {
		if i > 0 {
			w.raw(", ")
		}
		item(i)
	}
	if n > 0 {
		w.raw(" ")
	}
	w.raw("]")
}

func (w *jacksonWriter) number(n int64) { w.buf = strconv.AppendInt(w.buf, n, 10) }

// text writes a JSON string; only what JSON asks for is escaped.
func (w *jacksonWriter) text(s string) { w.buf = appendJSONString(w.buf, s) }

func (w *jacksonWriter) dataType(t DataType) {
	typeName := func(name string) {
		if !t.Nullable {
			name += " NOT NULL"
		}
		w.key("type")
		w.text(name)
	}
	child := func(key string, t DataType) {
		w.key(key)
		w.dataType(t)
	}
	switch t.Kind {
	case Array, Multiset, VectorType:
		w.object(func() {
			typeName(map[Kind]string{Array: "ARRAY", Multiset: "MULTISET", VectorType: "VECTOR"}[t.Kind])
			child("element", *t.Element)
			if t.Kind == VectorType {
				w.key("length")
				w.number(int64(t.Length))
			}
		})
	case Map:
		w.object(func() {
			typeName("MAP")
			child("key", *t.Key)
			child("value", *t.Value)
		})
	case Row:
		w.object(func() {
			typeName("ROW")
			w.key("fields")
			w.fields(t.Fields)
		})
	default:
		w.text(t.String())
	}
}

func (w *jacksonWriter) fields(fields []Field) {
	optional := func(key string, v *string, null bool) {
		switch {
		case v != nil:
			w.key(key)
			w.text(*v)
		case null:
			w.key(key)
			w.raw("null")
		}
	}
	w.array(len(fields), func(i int) {
		f := fields[i]
		w.object(func() {
			w.key("id")
			w.number(int64(f.ID))
			w.key("name")
			w.text(f.Name)
			w.key("type")
			w.dataType(f.Type)
			optional("description", f.Description, f.NullDescription)
			optional("defaultValue", f.Default, f.NullDefault)
		})
	})
}

// appendJSONString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\b':
			dst = append(dst, '\\', 'b')
		case r == '\f':
			dst = append(dst, '\\', 'f')
		case r < 0x20:
			dst = fmt.Appendf(dst, "\\u%04X", r)
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}
