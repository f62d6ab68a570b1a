package orc

import (
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc/orcpb"
)

// maxDepth bounds the nesting of types.
const maxDepth = 64

// fileKind is a type of the file, numbered as in its footer.
type fileKind uint32

const (
	kindBoolean fileKind = iota
	kindByte
	kindShort
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindString
	kindBinary
	kindTimestamp
	kindList
	kindMap
	kindStruct
	kindUnion
	kindDecimal
	kindDate
	kindVarchar
	kindChar
	kindInstant
)

var fileKindNames = [...]string{"BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "STRING", "BINARY",
	"TIMESTAMP", "LIST", "MAP", "STRUCT", "UNION", "DECIMAL", "DATE", "VARCHAR", "CHAR", "TIMESTAMP_INSTANT",
	"GEOMETRY", "GEOGRAPHY"}

func (k fileKind) String() string {
	if int(k) < len(fileKindNames) {
		return fileKindNames[k]
	}
	return fmt.Sprintf("type of number %d", uint32(k))
}

// node is a type of the file with its place in it.
type node struct {
	id       int // column
	path     string
	kind     fileKind
	length   int // CHAR and VARCHAR: most characters; 0: any number
	scale    int
	names    []string // STRUCT
	children []*node
}

func (n *node) child(name string) *node {
	for i, s := range n.names {
		if s == name {
			return n.children[i]
		}
	}
	return nil
}

// buildSchema makes the tree of the footer's types, which are in pre-order:
// the number of a type is the number of its column in the stripes.
func (f *File) buildSchema() error {
	types := f.footer.GetTypes()
	if len(types) == 0 {
		return corruptf("the footer has no types")
	}
	b := schemaBuilder{types: types}
	root, err := b.build("", 0)
	if err != nil {
		return err
	}
	if b.next != len(types) {
		return corruptf("%d of %d types are outside of the schema", len(types)-b.next, len(types))
	}
	if root.kind != kindStruct {
		return unsupportedf("rows of type %s; this package reads rows of type STRUCT", root.kind)
	}
	f.root, f.columns = root, len(types)
	return nil
}

type schemaBuilder struct {
	types []*orcpb.Type
	next  int
}

func (b *schemaBuilder) build(path string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, unsupportedf("types nested deeper than %d levels", maxDepth)
	}
	t := b.types[b.next]
	n := &node{id: b.next, path: path, kind: fileKind(t.GetKind()), names: t.GetFieldNames()}
	b.next++
	sub := t.GetSubtypes()
	if n.kind != kindStruct {
		n.names = nil
	}
	children := 0
	switch n.kind {
	case kindList:
		children = 1
	case kindMap:
		children = 2
	case kindStruct:
		children = len(n.names)
	case kindUnion:
		children = len(sub)
	case kindChar, kindVarchar:
		n.length = int(t.GetMaximumLength())
	case kindDecimal:
		if t.GetPrecision() > 38 || t.GetScale() > 38 {
			return nil, corruptf("column %q is DECIMAL(%d, %d)", path, t.GetPrecision(), t.GetScale())
		}
		n.scale = int(t.GetScale())
	}
	if len(sub) != children {
		return nil, corruptf("column %q of type %s has %d types below, required %d", path, n.kind, len(sub), children)
	}
	for i, s := range sub {
		if int64(s) != int64(b.next) || b.next >= len(b.types) {
			return nil, corruptf("type %d below column %q is not in pre-order", s, path)
		}
		name := path + "." + [...]string{"key", "value"}[i&1]
		switch {
		case n.kind == kindStruct && path == "":
			name = n.names[i]
		case n.kind == kindStruct:
			name = path + "." + n.names[i]
		case n.kind == kindList:
			name = path + ".element"
		}
		c, err := b.build(clipPath(name), depth+1)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, c)
	}
	return n, nil
}

// clipPath bounds the memory of names, of which each is in all those below it.
func clipPath(s string) string {
	if len(s) > 256 {
		return s[:256]
	}
	return s
}
