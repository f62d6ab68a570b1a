package row

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	maxVarint32 = 5
	maxVarint64 = 10
)

// putVarint writes u as unsigned LEB128 at b[n:] and returns the position
// behind it. It may overwrite up to 8 bytes, 10 when u needs more than 8; b must
// have room for them.
//
// Values of one column mostly have one or two widths, so the choice of width is
// a branch the processor predicts, and what follows needn't wait for it; the
// bytes of each width are made all at once.
func putVarint(b []byte, n int, u uint64) int {
	le := binary.LittleEndian
	switch {
	case u < 1<<7:
		b[n] = byte(u)
		return n + 1
	case u < 1<<14:
		le.PutUint16(b[n:], uint16(u&0x7f|u<<1&0x7f00|0x80))
		return n + 2
	case u < 1<<21:
		le.PutUint32(b[n:], uint32(u&0x7f|u<<1&0x7f00|u<<2&0x7f0000|0x8080))
		return n + 3
	case u < 1<<28:
		le.PutUint32(b[n:], uint32(u&0x7f|u<<1&0x7f00|u<<2&0x7f0000|u<<3&0x7f000000|0x808080))
		return n + 4
	}
	x, size := spread(u)
	le.PutUint64(b[n:], x)
	if size > 8 {
		le.PutUint16(b[n+8:], lastVarintBytes(u))
	}
	return n + size
}

// spread returns the first eight LEB128 bytes of u in a little-endian word, and
// the number of all.
func spread(u uint64) (word uint64, size int) {
	size = (bits.Len64(u|1) + 6) * 37 >> 8 // a division by 7, exact up to 70
	u = u&0x0fffffff | u&0x00fffffff0000000<<4
	u = u&0x00003fff00003fff | u&0x0fffc0000fffc000<<2
	u = u&0x007f007f007f007f | u&0x3f803f803f803f80<<1
	return u | 0x8080808080808080&(1<<(8*uint(size-1))-1), size
}

// lastVarintBytes returns the ninth and tenth LEB128 bytes of u in a
// little-endian word; they are not part of a u that needs fewer.
func lastVarintBytes(u uint64) uint16 {
	last := uint16(u >> 56)
	return last | last>>7<<8
}

// setLength puts the LEB128 of the number of bytes behind dst[at] there, where
// one byte was kept for it, and moves them when it needs more than one.
func setLength(dst []byte, at int) []byte {
	size := len(dst) - at - 1
	if size < 1<<7 {
		dst[at] = byte(size)
		return dst
	}
	var length [maxVarint64]byte
	n := binary.PutUvarint(length[:], uint64(size))
	dst = append(dst, length[1:n]...) // only the room counts
	copy(dst[at+n:], dst[at+1:at+1+size])
	copy(dst[at:], length[:n])
	return dst
}

// withRoom returns dst with room for n more bytes behind its length.
func withRoom(dst []byte, n int) []byte {
	if cap(dst)-len(dst) < n {
		return slices.Grow(dst, n)
	}
	return dst
}

// appendZeros appends n zero bytes.
func appendZeros(dst []byte, n int) []byte {
	dst = withRoom(dst, n)
	from := len(dst)
	dst = dst[:from+n]
	clear(dst[from:])
	return dst
}

// leastWidth drops the bytes in front of a big-endian two's complement number
// that only repeat its sign, as Java's BigInteger.toByteArray has it.
func leastWidth(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}
