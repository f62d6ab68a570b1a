package row

import (
	"errors"
	"fmt"
)

// opcode is what an encoder does with one column's value. There is one for
// every pair of layout and Vector slice, so that the loop over a row's columns
// is a single switch without interface calls.
type opcode uint8

const (
	opBool opcode = iota + 1
	opInt8
	opInt16
	opInt32
	opInt64
	opFloat32
	opFloat64
	opBytes
	opBigDecimal
	opTimestamp
	opList
	opMap
	opStruct
)

// What one value may need in a COMPACTED row beyond the bytes of a string or
// nested block. Varints are stored eight bytes at a time, so a short one still
// needs that much room.
const (
	roomVarint32  = 8
	roomVarint64  = 10
	roomTimestamp = roomVarint64 + roomVarint32
)

// node is one column, or one part of a nested column, with its vector's slices
// once bound. The root of an encoder is a node with op opStruct whose children
// are the columns.
type node struct {
	op       opcode
	unread   bool // bound values below include one the Java client can't read
	anyNulls bool // opStruct: some child has nulls
	room     int  // opStruct: bytes to have free before a row is begun
	after    int  // bytes to have free once this column is written
	nulls    []bool
	i64      []int64
	i32      []int32
	offsets  []int32
	data     []byte
	nanos    []int32
	bools    []bool
	f32      []float32
	f64      []float64
	children []node
	typ      DataType
}

// newRoot builds the unbound node of a row of the given columns.
func newRoot(types []DataType) (*node, error) {
	if len(types) == 0 {
		return nil, errors.New("fluss: row: no columns, need at least one")
	}
	root := &node{op: opStruct, children: make([]node, len(types))}
	for i, t := range types {
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("%w (column %d)", err, i)
		}
		root.children[i].init(t)
	}
	root.setRoom()
	return root, nil
}

// init sets up n for a valid type t.
func (n *node) init(t DataType) {
	n.typ = t
	switch t.Kind {
	case TinyInt:
		n.op = opInt8
	case SmallInt:
		n.op = opInt16
	case Array:
		n.op = opList
		n.children = make([]node, 1)
		n.children[0].init(*t.Element)
	case Map:
		n.op = opMap
		n.children = make([]node, 2)
		key := *t.Key
		key.Nullable = false
		n.children[0].init(key)
		n.children[1].init(*t.Value)
	case Row:
		n.op = opStruct
		n.children = make([]node, len(t.Fields))
		for i, f := range t.Fields {
			n.children[i].init(f.Type)
		}
		n.setRoom()
	default:
		switch t.VectorKind() {
		case VBool:
			n.op = opBool
		case VInt32:
			n.op = opInt32
		case VInt64:
			n.op = opInt64
		case VFloat32:
			n.op = opFloat32
		case VFloat64:
			n.op = opFloat64
		case VTimestamp:
			n.op = opTimestamp
		case VBytes:
			n.op = opBytes
			if t.Kind == Decimal {
				n.op = opBigDecimal
			}
		}
	}
}

// setRoom computes how many bytes a row of n's children needs before each of
// them, strings and nested blocks not counted.
func (n *node) setRoom() {
	total := 0
	for i := len(n.children) - 1; i >= 0; i-- {
		c := &n.children[i]
		c.after = total
		switch c.op {
		case opBool, opInt8:
			total++
		case opInt16:
			total += 2
		case opFloat32:
			total += 4
		case opFloat64:
			total += 8
		case opInt64:
			total += roomVarint64
		case opTimestamp:
			total += roomTimestamp
		default: // opInt32, and the length in front of everything else
			total += roomVarint32
		}
	}
	n.room = total + (len(n.children)+7)/8
}

// bindRow binds one vector a column. what is what errors call a column.
func (n *node) bindRow(what string, cols []*Vector) error {
	if len(cols) != len(n.children) {
		return fmt.Errorf("fluss: row: %d vectors, need one for each of %d %ss", len(cols), len(n.children), what)
	}
	n.anyNulls = false
	rows := 0
	for i, v := range cols {
		c := &n.children[i]
		switch {
		case v == nil:
			return fmt.Errorf("fluss: row: %s %d (%s): no vector", what, i, c.typ)
		case v.Len < 0:
			return fmt.Errorf("fluss: row: %s %d (%s): vector of %d values", what, i, c.typ, v.Len)
		case i == 0:
			rows = v.Len
		case v.Len != rows:
			return fmt.Errorf("fluss: row: %s %d (%s): vector of %d values, need %d as in the first", what, i, c.typ, v.Len, rows)
		}
		if err := c.bind(v, 0, rows, nil); err != nil {
			return fmt.Errorf("fluss: row: %s %d (%s): %w", what, i, c.typ, err)
		}
		n.anyNulls = n.anyNulls || c.nulls != nil
	}
	return nil
}

// unbind drops the vectors, so that nothing of a refused batch can be encoded.
func (n *node) unbind() {
	n.unread = false
	n.nulls, n.i64, n.i32, n.offsets, n.data = nil, nil, nil, nil, nil
	n.nanos, n.bools, n.f32, n.f64 = nil, nil, nil, nil
	for i := range n.children {
		n.children[i].unbind()
	}
}

// bind takes the slices of v after checking everything the encoders rely on for
// positions from to to: that the slices are long enough, offsets rise, values
// fit their type and no null stands where none may be. above are the null flags
// of the rows around this value, which share its positions: below a null row
// anything may stand.
func (n *node) bind(v *Vector, from, to int, above [][]bool) error {
	if want := n.typ.VectorKind(); v == nil {
		return fmt.Errorf("no vector, need %s", want)
	} else if v.Kind != want {
		return fmt.Errorf("vector kind %s, need %s", v.Kind, want)
	}
	if v.Len < to {
		return fmt.Errorf("vector of %d values, need %d", v.Len, to)
	}
	n.nulls, n.unread = nil, false
	if v.Nulls != nil {
		if err := atLeast("Nulls", len(v.Nulls), v.Len); err != nil {
			return err
		}
		n.nulls = v.Nulls[:v.Len]
		if !n.typ.Nullable {
			for i := from; i < to; i++ {
				if n.nulls[i] && !anySet(above, i) {
					return fmt.Errorf("null at position %d, need a value", i)
				}
			}
		}
	}
	switch n.op {
	case opBool:
		n.bools = v.Bools
		return atLeast("Bools", len(v.Bools), v.Len)
	case opInt32:
		n.i32 = v.Int32s
		return atLeast("Int32s", len(v.Int32s), v.Len)
	case opInt8, opInt16:
		n.i32 = v.Int32s
		if err := atLeast("Int32s", len(v.Int32s), v.Len); err != nil {
			return err
		}
		return n.checkSmall(from, to, above)
	case opInt64:
		n.i64 = v.Int64s
		return atLeast("Int64s", len(v.Int64s), v.Len)
	case opFloat32:
		n.f32 = v.Float32s
		return atLeast("Float32s", len(v.Float32s), v.Len)
	case opFloat64:
		n.f64 = v.Float64s
		return atLeast("Float64s", len(v.Float64s), v.Len)
	case opTimestamp:
		n.i64, n.nanos = v.Int64s, v.Nanos
		if err := atLeast("Int64s", len(v.Int64s), v.Len); err != nil {
			return err
		}
		if err := atLeast("Nanos", len(v.Nanos), v.Len); err != nil {
			return err
		}
		return n.checkTimestamps(from, to, above)
	case opBytes, opBigDecimal:
		n.data = v.Data
		if err := n.bindOffsets(v, from, to, len(v.Data)); err != nil || n.op == opBytes {
			return err
		}
		return n.checkBigDecimals(from, to, above)
	case opList, opMap:
		return n.bindElements(v, from, to)
	default:
		return n.bindFields(v, from, to, above)
	}
}

func atLeast(slice string, found, need int) error {
	if found < need {
		return fmt.Errorf("vector of %d values with %d entries in %s", need, found, slice)
	}
	return nil
}

// anySet reports whether any of the flag slices is set at i.
func anySet(flags [][]bool, i int) bool {
	for _, f := range flags {
		if f[i] {
			return true
		}
	}
	return false
}

// isNull reports whether nothing is encoded for position i.
func (n *node) isNull(i int, above [][]bool) bool {
	return n.nulls != nil && n.nulls[i] || anySet(above, i)
}

// bindOffsets checks that offsets rise from 0 on and end within size. Offsets
// outside from to to are not looked at: nothing reads them.
func (n *node) bindOffsets(v *Vector, from, to, size int) error {
	if len(v.Offsets) < v.Len+1 {
		return fmt.Errorf("vector of %d values with %d entries in Offsets, need one more than values", v.Len, len(v.Offsets))
	}
	n.offsets = v.Offsets
	used := v.Offsets[from : to+1]
	last := used[0]
	if last < 0 {
		return fmt.Errorf("offset %d at position %d, need 0 or more", last, from)
	}
	for _, o := range used[1:] {
		if o < last {
			return fmt.Errorf("offsets fall from %d to %d", last, o)
		}
		last = o
	}
	if int(last) > size {
		return fmt.Errorf("offset %d at position %d, need at most %d", last, to, size)
	}
	return nil
}

// checkSmall refuses a TINYINT or SMALLINT outside its range, which would be
// cut off silently.
func (n *node) checkSmall(from, to int, above [][]bool) error {
	bits := 8
	if n.op == opInt16 {
		bits = 16
	}
	half := int32(1) << (bits - 1)
	outside := uint32(0)
	for _, x := range n.i32[from:to] {
		outside |= uint32(x+half) >> bits
	}
	if outside == 0 {
		return nil
	}
	for i := from; i < to; i++ { // a null's slot holds anything
		if x := n.i32[i]; (x < -half || x >= half) && !n.isNull(i, above) {
			return fmt.Errorf("value %d at position %d, need %d to %d", x, i, -half, half-1)
		}
	}
	return nil
}

// checkTimestamps refuses nanoseconds outside a millisecond and notes whether
// Unreadable has to look at this vector.
func (n *node) checkTimestamps(from, to int, above [][]bool) error {
	millis, nanos := n.i64[from:to], n.nanos[from:to]
	outside, unread := int32(0), int64(0)
	for i, x := range nanos {
		outside |= x | (999_999 - x)
		unread |= millis[i] & -int64(x) // negative when both millis < 0 and nanos > 0
	}
	n.unread = unread < 0
	if outside >= 0 {
		return nil
	}
	for i := from; i < to; i++ {
		if x := n.nanos[i]; (x < 0 || x > 999_999) && !n.isNull(i, above) {
			return fmt.Errorf("%d nanoseconds within the millisecond at position %d, need 0 to 999999", x, i)
		}
	}
	return nil
}

func (n *node) checkBigDecimals(from, to int, above [][]bool) error {
	for i := from; i < to; i++ {
		size := len(leastWidth(n.data[n.offsets[i]:n.offsets[i+1]]))
		if (size == 0 || size > bigDecimalSize) && !n.isNull(i, above) {
			return fmt.Errorf("unscaled value of %d bytes at position %d, need 1 to %d", size, i, bigDecimalSize)
		}
	}
	return nil
}

func (n *node) bindElements(v *Vector, from, to int) error {
	if len(v.Children) != len(n.children) {
		return fmt.Errorf("vector with %d children, need %d", len(v.Children), len(n.children))
	}
	if err := n.bindOffsets(v, from, to, 1<<31-1); err != nil {
		return err
	}
	first, last := int(v.Offsets[from]), int(v.Offsets[to])
	for i := range n.children {
		part := "element"
		if n.op == opMap {
			part = [...]string{"key", "value"}[i]
		}
		c := &n.children[i]
		if err := c.bind(v.Children[i], first, last, nil); err != nil {
			return fmt.Errorf("%s (%s): %w", part, c.typ, err)
		}
		n.unread = n.unread || c.unread
	}
	return nil
}

func (n *node) bindFields(v *Vector, from, to int, above [][]bool) error {
	if len(v.Children) != len(n.children) {
		return fmt.Errorf("vector with %d children, need one for each of %d fields", len(v.Children), len(n.children))
	}
	if n.nulls != nil {
		above = append(above[:len(above):len(above)], n.nulls)
	}
	n.anyNulls = false
	for i := range n.children {
		c := &n.children[i]
		if err := c.bind(v.Children[i], from, to, above); err != nil {
			return fmt.Errorf("field %q (%s): %w", n.typ.Fields[i].Name, c.typ, err)
		}
		n.anyNulls = n.anyNulls || c.nulls != nil
		n.unread = n.unread || c.unread
	}
	return nil
}

// unreadable reports whether the value at pos holds, at any depth, a timestamp
// the Java client can't read back. It descends only where bind saw one.
func (n *node) unreadable(pos int) bool {
	if !n.unread || n.nulls != nil && n.nulls[pos] {
		return false
	}
	switch n.op {
	case opTimestamp:
		return n.i64[pos] < 0 && n.nanos[pos] != 0
	case opList, opMap:
		for i := range n.children {
			for k := int(n.offsets[pos]); k < int(n.offsets[pos+1]); k++ {
				if n.children[i].unreadable(k) {
					return true
				}
			}
		}
	case opStruct:
		for i := range n.children {
			if n.children[i].unreadable(pos) {
				return true
			}
		}
	}
	return false
}
