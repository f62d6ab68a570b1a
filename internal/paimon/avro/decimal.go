package avro

import (
	"math/bits"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// maxDecimalBytes holds the 38 digits of the largest decimal.
const maxDecimalBytes = 16

// decimals reads unscaled values that fit an int64 from big-endian two's
// complement.
type decimals struct {
	longs
	source texts
}

func (d *decimals) read(c *Cursor) {
	b := leastWidth(d.source.value(c))
	v := int64(0)
	switch {
	case c.err != nil:
	case len(b) == 0:
		c.Fail(errNoDecimal)
	case len(b) > 8:
		c.Fail(unsupportedf("decimal of %d bytes does not fit the wanted precision of at most %d", len(b), vector.LongDecimal))
	default:
		v = int64(int8(b[0]))
		for _, x := range b[1:] {
			v = v<<8 | int64(x)
		}
	}
	d.v.Int64s = append(d.v.Int64s, v)
}

var errNoDecimal = corruptf("decimal without bytes")

// longDecimals reads unscaled values as big-endian two's complement of least
// width.
type longDecimals struct{ texts }

func (d *longDecimals) read(c *Cursor) {
	b := leastWidth(d.value(c))
	switch {
	case c.err != nil:
	case len(b) == 0:
		c.Fail(errNoDecimal)
	case len(b) > maxDecimalBytes:
		c.Fail(unsupportedf("decimal of %d bytes does not fit the wanted precision of at most 38", len(b)))
	}
	c.used += len(b)
	d.v.Data = append(d.v.Data, b...)
	d.v.Offsets = append(d.v.Offsets, int32(len(d.v.Data)))
}

// leastWidth cuts the leading bytes that only repeat the sign.
func leastWidth(b []byte) []byte {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}

// wholeDecimals reads integers as decimals of scale 0 above the precision of an
// int64.
type wholeDecimals struct{ texts }

func (d *wholeDecimals) read(c *Cursor) {
	v := c.number()
	width := (bits.Len64(uint64(v^v>>63)) + 8) / 8 // its bits and the sign's, in bytes
	for i := width - 1; i >= 0; i-- {
		d.v.Data = append(d.v.Data, byte(v>>(8*i)))
	}
	c.used += width
	d.v.Offsets = append(d.v.Offsets, int32(len(d.v.Data)))
}
