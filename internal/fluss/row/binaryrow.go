package row

import (
	"encoding/binary"
	"math"
)

// The blocks of ARRAY and MAP values and Paimon's BinaryRow share one idea: a
// part of fixed-width slots, then the bytes of whatever does not fit a slot,
// each padded to 8 bytes and found by an offset from the block's start.

const (
	slotSize       = 8
	inlineSize     = 7  // strings up to this length stand in their slot
	bigDecimalSize = 16 // kept for every DECIMAL of precision above 18
)

func roundUp8(n int) int { return (n + 7) &^ 7 }

// elementWidth is the width of one element in an ARRAY block.
func (op opcode) elementWidth() int {
	switch op {
	case opBool, opInt8:
		return 1
	case opInt16:
		return 2
	case opInt32, opFloat32:
		return 4
	}
	return slotSize
}

// arrayHeader is the size of an ARRAY block's count and null bits.
func arrayHeader(count int) int { return 4 + (count+31)/32*4 }

// appendBlock appends the nested value at pos without its length.
func (n *node) appendBlock(dst []byte, pos int) []byte {
	switch n.op {
	case opStruct:
		return n.appendRow(dst, pos)
	case opList:
		return n.children[0].appendArray(dst, int(n.offsets[pos]), int(n.offsets[pos+1]))
	}
	from, to := int(n.offsets[pos]), int(n.offsets[pos+1])
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = n.children[0].appendArray(dst, from, to)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return n.children[1].appendArray(dst, from, to)
}

// appendArray appends positions from to to of n as an ARRAY block.
func (n *node) appendArray(dst []byte, from, to int) []byte {
	base, count, width := len(dst), to-from, n.op.elementWidth()
	header := arrayHeader(count)
	dst = appendZeros(dst, roundUp8(header+count*width))
	binary.LittleEndian.PutUint32(dst[base:], uint32(count))
	for i := range count {
		if n.nulls != nil && n.nulls[from+i] {
			dst[base+4+i/8] |= 1 << (i % 8)
			continue
		}
		dst = n.putSlot(dst, base, base+header+i*width, from+i)
	}
	return dst
}

// putSlot writes the value at pos into its slot at dst[at:], which is zero, and
// appends what does not fit to dst. base is where the block begins in dst.
func (n *node) putSlot(dst []byte, base, at, pos int) []byte {
	le := binary.LittleEndian
	switch n.op {
	case opBool:
		if n.bools[pos] {
			dst[at] = 1
		}
	case opInt8:
		dst[at] = byte(n.i32[pos])
	case opInt16:
		le.PutUint16(dst[at:], uint16(n.i32[pos]))
	case opInt32:
		le.PutUint32(dst[at:], uint32(n.i32[pos]))
	case opInt64:
		le.PutUint64(dst[at:], uint64(n.i64[pos]))
	case opFloat32:
		le.PutUint32(dst[at:], math.Float32bits(n.f32[pos]))
	case opFloat64:
		le.PutUint64(dst[at:], math.Float64bits(n.f64[pos]))
	case opBytes:
		value := n.data[n.offsets[pos]:n.offsets[pos+1]]
		if len(value) <= inlineSize {
			copy(dst[at:], value)
			dst[at+inlineSize] = 0x80 | byte(len(value))
			break
		}
		putReference(dst, base, at, len(value))
		dst = append(dst, value...)
		dst = appendZeros(dst, roundUp8(len(value))-len(value))
	case opBigDecimal:
		value := leastWidth(n.data[n.offsets[pos]:n.offsets[pos+1]])
		putReference(dst, base, at, len(value))
		dst = append(dst, value...)
		dst = appendZeros(dst, bigDecimalSize-len(value))
	case opTimestamp:
		putReference(dst, base, at, int(n.nanos[pos]))
		dst = le.AppendUint64(dst, uint64(n.i64[pos]))
	default:
		block := len(dst)
		dst = n.appendBlock(dst, pos)
		size := len(dst) - block
		putReference(dst[:block], base, at, size)
		dst = appendZeros(dst, roundUp8(size)-size)
	}
	return dst
}

// putReference fills the slot at dst[at:] with the offset of dst's end from
// base and, in the low half, low: a length or nanoseconds.
func putReference(dst []byte, base, at, low int) {
	binary.LittleEndian.PutUint64(dst[at:], uint64(uint32(len(dst)-base))<<32|uint64(uint32(low)))
}

// binaryRowHeader is the size of a BinaryRow's kind byte and null bits.
func binaryRowHeader(fields int) int { return (fields + 63 + 8) / 64 * 8 }

// appendBinaryRow appends the children's values at pos as a Paimon BinaryRow.
func (n *node) appendBinaryRow(dst []byte, pos int) []byte {
	base, header := len(dst), binaryRowHeader(len(n.children))
	dst = appendZeros(dst, header+slotSize*len(n.children))
	for i := range n.children {
		c := &n.children[i]
		if c.nulls != nil && c.nulls[pos] {
			dst[base+(8+i)/8] |= 1 << (i % 8)
			continue
		}
		dst = c.putSlot(dst, base, base+header+slotSize*i, pos)
	}
	return dst
}
