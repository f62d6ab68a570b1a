package orc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// where adds the stream's name to an error.
func where(stream string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("stream %s: %w", stream, err)
}

// boolColumn reads BOOLEAN.
type boolColumn struct {
	base
	data boolReader
}

func (c *boolColumn) begin(s *stripe) error {
	c.beginBase(s)
	s.bind(&c.data.stream, c.node, streamData)
	c.data.begin()
	_, err := s.encoding(c.node, encDirect)
	return err
}

func (c *boolColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	c.v.Bools = grow(c.v.Bools, n)
	if err := c.data.bools(c.v.Bools[:k], 0); err != nil {
		return where("DATA", err)
	}
	if k < n {
		spread(c.v.Bools, k, c.v.Nulls)
	}
	return nil
}

func (c *boolColumn) size() int { return c.v.Len }

func (c *boolColumn) release() {
	c.base.release()
	c.data.release()
}

// intColumn reads BYTE, SHORT, INT, LONG and DATE.
type intColumn struct {
	base
	low, high int64 // of the values the wanted type has
	bytes     byteReader
	ints      intReader
	scratch8  []byte
	scratch   []int64
}

func newIntColumn(b base, t Type) *intColumn {
	c := &intColumn{base: b, low: math.MinInt32, high: math.MaxInt32}
	switch t.Kind {
	case Int8:
		c.low, c.high = math.MinInt8, math.MaxInt8
	case Int16:
		c.low, c.high = math.MinInt16, math.MaxInt16
	case Int64:
		c.low, c.high = math.MinInt64, math.MaxInt64
	}
	return c
}

func (c *intColumn) begin(s *stripe) error {
	c.beginBase(s)
	if c.node.kind == kindByte {
		s.bind(&c.bytes.stream, c.node, streamData)
		c.bytes.begin()
		_, err := s.encoding(c.node, encDirect)
		return err
	}
	e, err := s.encoding(c.node, encDirect, encDirectV2)
	s.bind(&c.ints.stream, c.node, streamData)
	c.ints.begin(e, true)
	return err
}

func (c *intColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	if c.v.Kind == vector.Int64 {
		c.v.Int64s = grow(c.v.Int64s, n)
		if err := c.values(c.v.Int64s[:k]); err != nil {
			return where("DATA", err)
		}
		if k < n {
			spread(c.v.Int64s, k, c.v.Nulls)
		}
		return nil
	}
	c.scratch = grow(c.scratch, k)
	if err := c.values(c.scratch); err != nil {
		return where("DATA", err)
	}
	c.v.Int32s = grow(c.v.Int32s, n)
	out := c.v.Int32s[:k]
	low, high := c.low, c.high
	for i, v := range c.scratch {
		if v < low || v > high {
			return corruptf("stream DATA: the value %d, outside of the wanted type's range", v)
		}
		out[i] = int32(v)
	}
	if k < n {
		spread(c.v.Int32s, k, c.v.Nulls)
	}
	return nil
}

func (c *intColumn) values(dst []int64) error {
	if c.node.kind != kindByte {
		return c.ints.read(dst)
	}
	c.scratch8 = grow(c.scratch8, len(dst))
	if err := c.bytes.read(c.scratch8); err != nil {
		return err
	}
	for i, b := range c.scratch8 {
		dst[i] = int64(int8(b))
	}
	return nil
}

func (c *intColumn) size() int { return 8 * c.v.Len }

func (c *intColumn) release() {
	c.base.release()
	c.bytes.release()
	c.ints.release()
}

// floatColumn reads FLOAT as Float.
type floatColumn struct {
	base
	data stream
}

func (c *floatColumn) begin(s *stripe) error {
	c.beginBase(s)
	s.bind(&c.data, c.node, streamData)
	_, err := s.encoding(c.node, encDirect)
	return err
}

func (c *floatColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	c.v.Float32s = grow(c.v.Float32s, n)
	err = fixed(&c.data, 4, c.v.Float32s[:k], func(dst []float32, b []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	})
	if k < n {
		spread(c.v.Float32s, k, c.v.Nulls)
	}
	return where("DATA", err)
}

func (c *floatColumn) size() int { return 4 * c.v.Len }

func (c *floatColumn) release() {
	c.base.release()
	c.data.release()
}

// doubleColumn reads FLOAT and DOUBLE as Double.
type doubleColumn struct {
	base
	data stream
}

func (c *doubleColumn) begin(s *stripe) error {
	c.beginBase(s)
	s.bind(&c.data, c.node, streamData)
	_, err := s.encoding(c.node, encDirect)
	return err
}

func (c *doubleColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	c.v.Float64s = grow(c.v.Float64s, n)
	if c.node.kind == kindFloat {
		err = fixed(&c.data, 4, c.v.Float64s[:k], func(dst []float64, b []byte) {
			for i := range dst {
				dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
			}
		})
	} else {
		err = fixed(&c.data, 8, c.v.Float64s[:k], func(dst []float64, b []byte) {
			for i := range dst {
				dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			}
		})
	}
	if k < n {
		spread(c.v.Float64s, k, c.v.Nulls)
	}
	return where("DATA", err)
}

func (c *doubleColumn) size() int { return 8 * c.v.Len }

func (c *doubleColumn) release() {
	c.base.release()
	c.data.release()
}

// fixed reads values of a fixed width in bytes.
func fixed[T any](s *stream, width int, dst []T, decode func([]T, []byte)) error {
	for len(dst) > 0 {
		b, err := s.peek(width)
		if err != nil {
			return err
		}
		n := min(len(dst), len(b)/width)
		if n == 0 {
			return errShort
		}
		decode(dst[:n], b[:n*width])
		s.skip(n * width)
		dst = dst[n:]
	}
	return nil
}
