package avro

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"
)

// cursor reads values out of a block. It works on the block's bytes in place,
// with encoding/binary's numbers, which are Avro's: a value is decoded straight
// into its vector, no length is believed beyond the bytes that are there, and
// after an error every read gives zero.
type cursor struct {
	b    []byte
	pos  int
	err  error
	used int // bytes of memory that values of varying size took, by and large
}

func (c *cursor) reset(b []byte) { c.b, c.pos = b, 0 }

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.pos = len(c.b)
}

// errShort says that a block ends before the values it should hold.
var errShort = corruptf("the block's contents end too early: %w", io.ErrUnexpectedEOF)

// long reads an int or a long that most often has one byte: a length, a count,
// the branch of a union.
func (c *cursor) long() int64 {
	if b := c.b[c.pos:]; len(b) > 0 && b[0] < 0x80 {
		c.pos++
		return short[b[0]]
	}
	return c.number()
}

// short are the numbers of one byte.
var short = func() (table [0x80]int64) {
	for x := range table {
		table[x] = int64(x>>1) ^ -int64(x&1)
	}
	return table
}()

// number reads an int or a long of any length. Up to 8 bytes are read at once:
// a branch for each byte would be guessed wrong as often as not.
func (c *cursor) number() int64 {
	if len(c.b)-c.pos >= 8 {
		x := binary.LittleEndian.Uint64(c.b[c.pos:])
		if last := ^x & 0x8080808080808080; last != 0 { // the high bit of the last byte, and others behind it
			c.pos += bits.TrailingZeros64(last)/8 + 1
			x &= (last ^ (last - 1)) & 0x7f7f7f7f7f7f7f7f
			x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
			x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
			x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
			return int64(x>>1) ^ -int64(x&1)
		}
	}
	v, n := binary.Varint(c.b[c.pos:])
	switch {
	case n > 0:
		c.pos += n
	case n == 0:
		c.fail(errShort)
	default:
		c.fail(errOverflow)
	}
	return v
}

func (c *cursor) bool() bool {
	if c.pos >= len(c.b) {
		c.fail(errShort)
		return false
	}
	x := c.b[c.pos]
	c.pos++
	if x > 1 {
		c.fail(corruptf("a boolean of the byte %d", x))
	}
	return x == 1
}

func (c *cursor) float() float32 {
	if len(c.b)-c.pos < 4 {
		c.fail(errShort)
		return 0
	}
	v := binary.LittleEndian.Uint32(c.b[c.pos:])
	c.pos += 4
	return math.Float32frombits(v)
}

func (c *cursor) double() float64 {
	if len(c.b)-c.pos < 8 {
		c.fail(errShort)
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b[c.pos:])
	c.pos += 8
	return math.Float64frombits(v)
}

// bytes reads a length and so many bytes, which stay in the block.
func (c *cursor) bytes() []byte { return c.take(c.long()) }

func (c *cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.b)-c.pos) {
		c.fail(errShort)
		return nil
	}
	b := c.b[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

// elements reads the header of a run of array or map elements: how many follow
// and, when the writer says it, in how many bytes (else -1). Zero elements end
// the array.
func (c *cursor) elements() (count, size int64) {
	count, size = c.long(), -1
	if count < 0 {
		count = -count
		if size = c.long(); size < 0 || count < 0 {
			c.fail(corruptf("an array with an impossible count"))
			return 0, 0
		}
	}
	if left := int64(len(c.b) - c.pos); count > left || size > left {
		c.fail(corruptf("an array has %d elements in %d bytes: more elements than the block has bytes", count, left))
		return 0, 0
	}
	return count, size
}
