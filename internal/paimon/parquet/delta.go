package parquet

import "encoding/binary"

// delta decodes DELTA_BINARY_PACKED integers as they are asked for.
// https://github.com/apache/parquet-format/blob/master/Encodings.md
type delta struct {
	src       []byte
	left      int // values left, of those the header claims
	first     bool
	value     int64
	minDelta  int64
	miniSize  int // values a miniblock
	minis     int // miniblocks a block
	widths    []byte
	mini      int    // miniblocks begun in this block
	width     uint   // of the miniblock at hand
	bits      []byte // of the miniblock at hand
	pos, size int    // values taken of it, values in it
}

// reset reads the header of src and returns the number of values it claims.
func (d *delta) reset(src []byte) (int, error) {
	*d = delta{src: src, first: true}
	var head [3]uint64
	for i := range head {
		v, err := d.uvarint()
		if err != nil {
			return 0, err
		}
		if v > 1<<31 {
			return 0, corruptf("delta header value %d", v)
		}
		head[i] = v
	}
	block, minis, count := head[0], head[1], head[2]
	if minis == 0 || block%minis != 0 || block/minis%8 != 0 || block == 0 {
		return 0, corruptf("delta blocks of %d values in %d miniblocks", block, minis)
	}
	d.minis, d.miniSize, d.left = int(minis), int(block/minis), int(count)
	d.mini = d.minis
	var err error
	d.value, err = d.varint()
	return d.left, err
}

func (d *delta) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.src)
	if n <= 0 {
		return 0, errShort
	}
	d.src = d.src[n:]
	return v, nil
}

func (d *delta) varint() (int64, error) {
	v, n := binary.Varint(d.src)
	if n <= 0 {
		return 0, errShort
	}
	d.src = d.src[n:]
	return v, nil
}

// next returns the next value. Sums wrap around, as the format says.
func (d *delta) next() (int64, error) {
	if d.left == 0 {
		return 0, errShort
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.pos == d.size {
		if err := d.miniblock(); err != nil {
			return 0, err
		}
	}
	v, err := d.unpackOne()
	d.value += d.minDelta + v
	return d.value, err
}

func (d *delta) miniblock() error {
	if d.mini == d.minis {
		var err error
		if d.minDelta, err = d.varint(); err != nil {
			return err
		}
		if len(d.src) < d.minis {
			return errShort
		}
		d.widths, d.src = d.src[:d.minis], d.src[d.minis:]
		d.mini = 0
	}
	d.width = uint(d.widths[d.mini])
	if d.width > 64 {
		return corruptf("delta width of %d bits", d.width)
	}
	d.mini++
	// The last miniblock of a page may be cut after the values it needs.
	n := min(d.miniSize/8*int(d.width), len(d.src))
	d.bits, d.src = d.src[:n], d.src[n:]
	d.pos, d.size = 0, d.miniSize
	return nil
}

func (d *delta) unpackOne() (int64, error) {
	bit := d.pos * int(d.width)
	d.pos++
	if bit+int(d.width) > len(d.bits)*8 {
		return 0, errShort
	}
	if d.width == 0 {
		return 0, nil
	}
	b := d.bits[bit/8:]
	b = b[:9] // within the padding
	shift := bit & 7
	v := binary.LittleEndian.Uint64(b)>>shift | uint64(b[8])<<(64-shift)
	if d.width < 64 {
		v &= 1<<d.width - 1
	}
	return int64(v), nil
}

// rest returns what follows the integers: it walks to their end.
func (d *delta) rest() ([]byte, error) {
	for d.left > 0 {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	// Miniblocks behind the last value have widths but no bytes; nothing to skip.
	return d.src, nil
}
