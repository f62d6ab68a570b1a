package row

import (
	"encoding/binary"
	"math"
)

// Encoder writes COMPACTED rows, the layout of Fluss' KV tables: null bits, one
// a column, then the columns that are not null one after the other. Bind gives
// it a batch of column vectors, Append writes one row of them.
//
// An Encoder is not safe for use by several goroutines.
type Encoder struct {
	root    *node
	unread  []int // columns in which the bound batch has an unreadable timestamp
	scratch *node // for AppendValues, so that a bound batch stays bound
}

// NewEncoder returns an Encoder for rows of the given columns.
func NewEncoder(types []DataType) (*Encoder, error) {
	root, err := newRoot(types)
	if err != nil {
		return nil, err
	}
	return &Encoder{root: root}, nil
}

// Bind takes one vector a column, all of the same length, for the Appends that
// follow. It checks the vectors whole: kinds against types, lengths and offsets,
// ranges of small integers, nulls in NOT NULL columns. The error names the
// column and what was found; the encoder then has no batch. The vectors must not
// change until the next Bind.
func (e *Encoder) Bind(cols []*Vector) error {
	e.unread = e.unread[:0]
	if err := e.root.bindRow("column", cols); err != nil {
		e.root.unbind()
		return err
	}
	for i := range e.root.children {
		if e.root.children[i].unread {
			e.unread = append(e.unread, i)
		}
	}
	return nil
}

// Unreadable reports whether row pos holds a timestamp that Fluss servers store
// but the Java client can't read back, and in which column: precision above 3,
// before 1970-01-01, with digits below the millisecond, at any depth. It returns
// at once when the bound batch has none.
func (e *Encoder) Unreadable(pos int) (column int, ok bool) {
	if len(e.unread) == 0 {
		return -1, false
	}
	for _, i := range e.unread {
		if e.root.children[i].unreadable(pos) {
			return i, true
		}
	}
	return -1, false
}

// Append appends row pos of the bound batch to dst and returns it. It allocates
// only to grow dst, and may write to dst's capacity behind the row. pos must be
// below the number of bound rows, else it panics as a slice index does.
func (e *Encoder) Append(dst []byte, pos int) []byte { return e.root.appendRow(dst, pos) }

// AppendValues appends a row of Go values, one a column (see FromValues for
// their types), to dst and returns it. A bound batch stays bound.
func (e *Encoder) AppendValues(dst []byte, values []any) ([]byte, error) {
	if e.scratch == nil {
		e.scratch = e.root.unboundCopy()
	}
	if err := e.scratch.bindValues("column", values); err != nil {
		return dst, err
	}
	return e.scratch.appendRow(dst, 0), nil
}

// appendRow appends the children's values at pos as a COMPACTED row.
func (n *node) appendRow(dst []byte, pos int) []byte {
	dst = withRoom(dst, n.room)
	b, at := dst[:cap(dst)], len(dst)
	at = n.putNulls(b, at, pos)
	return n.appendFields(b[:at], pos)
}

// putNulls writes the null bits of row pos at b[at:].
func (n *node) putNulls(b []byte, at, pos int) int {
	for first := 0; first < len(n.children); first += 8 {
		b[at] = 0
		if n.anyNulls {
			b[at] = nullBits(n.children[first:min(first+8, len(n.children))], pos)
		}
		at++
	}
	return at
}

// nullBits returns the null bits of up to eight columns, without a branch on
// whether a value is null.
func nullBits(columns []node, pos int) (flags byte) {
	for i := range columns {
		if nulls := columns[i].nulls; nulls != nil {
			flag := byte(0)
			if nulls[pos] {
				flag = 1
			}
			flags |= flag << (i & 7)
		}
	}
	return flags
}

// appendFields appends the children's values at pos, nulls left out. dst must
// have room for n.room bytes less its null bits; before every child there is
// room for it and all behind it, strings and nested values excepted, which make
// their own.
//
// The loop keeps its state in registers because no common case calls anything:
// variable-length numbers, the most frequent values, are all written by the code
// behind the switch (as putVarint does it), short strings in place.
func (n *node) appendFields(dst []byte, pos int) []byte {
	le := binary.LittleEndian
	b, at := dst[:cap(dst)], len(dst)
	children := n.children
	for i := range children {
		c := &children[i]
		if c.nulls != nil && c.nulls[pos] {
			continue
		}
		var u uint64
		switch c.op {
		case opInt32:
			u = uint64(uint32(c.i32[pos]))
		case opInt64:
			u = uint64(c.i64[pos])
		case opBytes:
			from, size := int(c.offsets[pos]), int(c.offsets[pos+1]-c.offsets[pos])
			if size > shortBytes || len(b)-at < 1+shortBytes+c.after || from+shortBytes > len(c.data) {
				b, at = putBytes(b, at, c.data[from:from+size], c.after)
				continue
			}
			// What is copied too much is overwritten by what comes next.
			in, out := c.data[from:from+shortBytes], b[at:at+1+shortBytes]
			out[0] = byte(size)
			le.PutUint64(out[1:], le.Uint64(in))
			le.PutUint64(out[9:], le.Uint64(in[8:]))
			at += 1 + size
			continue
		case opFloat64:
			le.PutUint64(b[at:], math.Float64bits(c.f64[pos]))
			at += 8
			continue
		default:
			b, at = c.putOther(b, at, pos)
			continue
		}
		size := 1
		switch {
		case u < 1<<7:
		case u < 1<<14:
			u, size = u&0x7f|u<<1&0x7f00|0x80, 2
		case u < 1<<21:
			u, size = u&0x7f|u<<1&0x7f00|u<<2&0x7f0000|0x8080, 3
		case u < 1<<28:
			u, size = u&0x7f|u<<1&0x7f00|u<<2&0x7f0000|u<<3&0x7f000000|0x808080, 4
		case u < 1<<56:
			u, size = spread(u)
		default:
			at = putVarint(b, at, u)
			continue
		}
		le.PutUint64(b[at:], u)
		at += size
	}
	return b[:at]
}

// shortBytes is the length up to which a string is copied as two words.
const shortBytes = 16

// putOther writes the value at pos of a column that is none of the most
// frequent ones at b[at:], and returns b, grown if need be, and the position
// behind the value.
func (n *node) putOther(b []byte, at, pos int) ([]byte, int) {
	le := binary.LittleEndian
	switch n.op {
	case opTimestamp:
		at = putVarint(b, at, uint64(n.i64[pos]))
		return b, putVarint(b, at, uint64(uint32(n.nanos[pos])))
	case opBool:
		b[at] = 0
		if n.bools[pos] {
			b[at] = 1
		}
		return b, at + 1
	case opInt8:
		b[at] = byte(n.i32[pos])
		return b, at + 1
	case opInt16:
		le.PutUint16(b[at:], uint16(n.i32[pos]))
		return b, at + 2
	case opFloat32:
		le.PutUint32(b[at:], math.Float32bits(n.f32[pos]))
		return b, at + 4
	case opBigDecimal:
		return putBytes(b, at, leastWidth(n.data[n.offsets[pos]:n.offsets[pos+1]]), n.after)
	}
	dst := append(b[:at], 0)
	dst = withRoom(setLength(n.appendBlock(dst, pos), at), n.after)
	return dst[:cap(dst)], len(dst)
}

// putBytes writes the length of value and value at b[at:] and leaves room for
// after more bytes. It returns b, grown if need be, and the position behind.
func putBytes(b []byte, at int, value []byte, after int) ([]byte, int) {
	if need := roomVarint32 + len(value) + after; len(b)-at < need {
		b = withRoom(b[:at], need)
		b = b[:cap(b)]
	}
	at = putVarint(b, at, uint64(len(value)))
	return b, at + copy(b[at:], value)
}
