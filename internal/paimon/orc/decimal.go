package orc

import (
	"math"
	"math/bits"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// decimalColumn reads DECIMAL: unscaled values as varints of any length, each
// with its own scale, since the Java writer drops trailing zeros.
type decimalColumn struct {
	base
	data    stream
	scales  intReader
	scale   int64
	scratch []int64
}

func newDecimalColumn(b base, t Type) (column, error) {
	if b.node.scale != t.Scale {
		return nil, unsupportedf("column %q has decimals of scale %d in the file, wanted %d", b.node.path, b.node.scale, t.Scale)
	}
	return &decimalColumn{base: b, scale: int64(t.Scale)}, nil
}

func (c *decimalColumn) begin(s *stripe) error {
	c.beginBase(s)
	e, err := s.encoding(c.node, encDirect, encDirectV2)
	s.bind(&c.data, c.node, streamData)
	s.bind(&c.scales.stream, c.node, streamSecondary)
	c.scales.begin(e, true)
	return err
}

func (c *decimalColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	c.scratch = grow(c.scratch, k)
	if err := c.scales.read(c.scratch); err != nil {
		return where("SECONDARY", err)
	}
	for i, s := range c.scratch {
		if s < 0 || s > 38 {
			return corruptf("stream SECONDARY: the scale %d", s)
		}
		c.scratch[i] = c.scale - s
	}
	if c.v.Kind == vector.Int64 {
		c.v.Int64s = grow(c.v.Int64s, n)
		if err := c.short(c.v.Int64s[:k]); err != nil {
			return where("DATA", err)
		}
		if k < n {
			spread(c.v.Int64s, k, c.v.Nulls)
		}
		return nil
	}
	return where("DATA", c.long(n))
}

var pow10 = func() (t [19]int64) {
	t[0] = 1
	for i := range t[1:] {
		t[i+1] = t[i] * 10
	}
	return t
}()

// short reads values that fit 64 bits.
func (c *decimalColumn) short(dst []int64) error {
	for i := 0; i < len(dst); {
		b, err := c.data.peek(maxDecimal)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return errShort
		}
		at := 0
		for ; i < len(dst) && (at == 0 || at+maxDecimal <= len(b)); i++ {
			var v uint64
			if c0 := b[at]; c0 < 0x80 {
				v = uint64(c0)
				at++
			} else {
				hi, lo, size, err := varint128(b[at:])
				if err != nil {
					return err
				}
				if hi != 0 {
					return unsupportedf("a decimal of more than 64 bits does not fit the wanted precision of at most %d", vector.LongDecimal)
				}
				v = lo
				at += size
			}
			value := zigzag(v)
			if shift := c.scratch[i]; shift != 0 {
				if value, err = rescale(value, shift); err != nil {
					return err
				}
			}
			dst[i] = value
		}
		c.data.skip(at)
	}
	return nil
}

// rescale multiplies by a power of ten, or divides where nothing gets lost.
func rescale(v, shift int64) (int64, error) {
	switch {
	case v == 0:
		return 0, nil
	case shift > 18 || shift < -18:
		return 0, overflow(shift)
	case shift < 0:
		if v%pow10[-shift] != 0 {
			return 0, overflow(shift)
		}
		return v / pow10[-shift], nil
	}
	hi, lo := bits.Mul64(magnitude(v), uint64(pow10[shift]))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, overflow(shift)
	}
	if v < 0 {
		return -int64(lo), nil
	}
	return int64(lo), nil
}

func overflow(shift int64) error {
	return corruptf("a decimal that does not fit its type when moved by %d digits", shift)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// maxDecimal is the most bytes of a value: 128 bits, seven a byte.
const maxDecimal = 19

// varint128 reads a varint of up to 128 bits.
func varint128(b []byte) (hi, lo uint64, size int, err error) {
	for i, c := range b {
		v := uint64(c & 0x7f)
		shift := uint(7 * i)
		switch {
		case shift < 64:
			lo |= v << shift
			if shift > 57 {
				hi |= v >> (64 - shift)
			}
		case shift == 126 && v > 3 || shift > 126:
			return 0, 0, 0, corruptf("a decimal of more than 128 bits")
		default:
			hi |= v << (shift - 64)
		}
		if c < 0x80 {
			return hi, lo, i + 1, nil
		}
	}
	return 0, 0, 0, errShort
}

// long reads values of any length up to 128 bits into big-endian two's
// complement of the least width.
func (c *decimalColumn) long(n int) error {
	if err := c.limits.checkBytes(17 * int64(len(c.scratch))); err != nil {
		return err
	}
	c.v.Offsets = grow(c.v.Offsets, n+1)
	c.v.Offsets[0] = 0
	out := c.v.Data[:0]
	next := 0
	for i := range n {
		if c.v.Nulls == nil || !c.v.Nulls[i] {
			b, err := c.data.peek(maxDecimal)
			if err != nil {
				return err
			}
			hi, lo, size, err := varint128(b)
			if err != nil {
				return err
			}
			c.data.skip(size)
			negative := lo&1 != 0
			lo, hi = lo>>1|hi<<63, hi>>1
			if negative { // its magnitude is one more than what is left
				var carry uint64
				lo, carry = bits.Add64(lo, 1, 0)
				hi += carry
			}
			if hi, lo, err = rescale128(hi, lo, c.scratch[next]); err != nil {
				return err
			}
			next++
			out = appendDecimal(out, hi, lo, negative)
		}
		c.v.Offsets[i+1] = int32(len(out))
	}
	c.v.Data = out
	return nil
}

// rescale128 does what rescale does with a magnitude of 128 bits, which it
// keeps below 2^127.
func rescale128(hi, lo uint64, shift int64) (uint64, uint64, error) {
	if hi|lo == 0 {
		return 0, 0, nil
	}
	for left := shift; left > 0; {
		step := min(left, 18)
		f := uint64(pow10[step])
		over, top := bits.Mul64(hi, f)
		carry, low := bits.Mul64(lo, f)
		sum, c := bits.Add64(top, carry, 0)
		if over != 0 || c != 0 {
			return 0, 0, overflow(shift)
		}
		hi, lo = sum, low
		left -= step
	}
	for left := shift; left < 0; {
		step := min(-left, 18)
		f := uint64(pow10[step])
		q, rest := bits.Div64(0, hi, f)
		var r uint64
		lo, r = bits.Div64(rest, lo, f)
		if r != 0 {
			return 0, 0, overflow(shift)
		}
		hi = q
		left += step
	}
	if hi > math.MaxInt64 {
		return 0, 0, overflow(shift)
	}
	return hi, lo, nil
}

// appendDecimal appends a magnitude with its sign as big-endian two's
// complement of the least width.
func appendDecimal(dst []byte, hi, lo uint64, negative bool) []byte {
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	// The bits that differ from the sign, and the sign's.
	sign := uint64(int64(hi) >> 63)
	width := bits.Len64(hi^sign) + 64
	if width == 64 {
		width = bits.Len64(lo ^ sign)
	}
	for i := width / 8; i >= 0; i-- {
		if i >= 8 {
			dst = append(dst, byte(hi>>(8*(i-8))))
		} else {
			dst = append(dst, byte(lo>>(8*i)))
		}
	}
	return dst
}

func (c *decimalColumn) size() int { return len(c.v.Data) + 8*c.v.Len }

func (c *decimalColumn) release() {
	c.base.release()
	c.data.release()
	c.scales.release()
}
