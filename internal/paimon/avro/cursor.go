package avro

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"
)

// Cursor reads values out of a block, one after another. It works on the block's
// bytes in place, with encoding/binary's numbers, which are Avro's: what it gives
// are numbers and views of the block, no length is believed beyond the bytes
// that are there, and after an error every read gives zero. The library's
// decoder would make each value on the heap.
type Cursor struct {
	b    []byte
	pos  int
	err  error
	used int // bytes of memory that values of varying size took, by and large
}

// Reset puts the cursor at the begin of a block. An error stays.
func (c *Cursor) Reset(b []byte) { c.b, c.pos = b, 0 }

// Err is the first error.
func (c *Cursor) Err() error { return c.err }

// Left is how many bytes of the block are still to be read.
func (c *Cursor) Left() int { return len(c.b) - c.pos }

// Fail ends the cursor with an error, unless it has one.
func (c *Cursor) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.pos = len(c.b)
}

// errShort says that a block ends before the values it should hold.
var errShort = corruptf("the block's contents end too early: %w", io.ErrUnexpectedEOF)

// Long reads an int or a long that most often has one byte: a length, a count,
// the branch of a union.
func (c *Cursor) Long() int64 {
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
func (c *Cursor) number() int64 {
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
		c.Fail(errShort)
	default:
		c.Fail(errOverflow)
	}
	return v
}

func (c *Cursor) bool() bool {
	if c.pos >= len(c.b) {
		c.Fail(errShort)
		return false
	}
	x := c.b[c.pos]
	c.pos++
	if x > 1 {
		c.Fail(corruptf("a boolean of the byte %d", x))
	}
	return x == 1
}

func (c *Cursor) float() float32 {
	if len(c.b)-c.pos < 4 {
		c.Fail(errShort)
		return 0
	}
	v := binary.LittleEndian.Uint32(c.b[c.pos:])
	c.pos += 4
	return math.Float32frombits(v)
}

func (c *Cursor) double() float64 {
	if len(c.b)-c.pos < 8 {
		c.Fail(errShort)
		return 0
	}
	v := binary.LittleEndian.Uint64(c.b[c.pos:])
	c.pos += 8
	return math.Float64frombits(v)
}

// Bytes reads a string or bytes: a view of the block.
func (c *Cursor) Bytes() []byte { return c.take(c.Long()) }

func (c *Cursor) take(n int64) []byte {
	if n < 0 || n > int64(len(c.b)-c.pos) {
		c.Fail(errShort)
		return nil
	}
	b := c.b[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

// elements reads the header of a run of array or map elements: how many follow
// and, when the writer says it, in how many bytes (else -1). Zero elements end
// the array.
func (c *Cursor) elements() (count, size int64) {
	count, size = c.Long(), -1
	if count < 0 {
		count = -count
		if size = c.Long(); size < 0 || count < 0 {
			c.Fail(corruptf("an array with an impossible count"))
			return 0, 0
		}
	}
	if left := int64(len(c.b) - c.pos); count > left || size > left {
		c.Fail(corruptf("an array has %d elements in %d bytes: more elements than the block has bytes", count, left))
		return 0, 0
	}
	return count, size
}

// Each calls one for every element of an array; one has to take a byte or more.
func (c *Cursor) Each(one func(c *Cursor)) {
	for c.err == nil {
		n, _ := c.elements()
		if n == 0 {
			return
		}
		for ; n > 0 && c.err == nil; n-- {
			one(c)
		}
	}
}
