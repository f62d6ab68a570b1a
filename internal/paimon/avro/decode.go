package avro

import (
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// decoder appends values of one type, as the writer has it, to a vector of the
// type wanted.
type decoder interface {
	// begin empties the vector for a new batch.
	begin()
	// read appends the next value. What it appends after an error is not used.
	read(c *Cursor)
	// null appends a null.
	null()
	// finish sets the vector's length and nulls.
	finish()
	vector() *vector.Vector
}

// column is what every decoder has. Nulls are noted only from the first one of
// a batch on: columns without any cost nothing.
type column struct {
	v     vector.Vector
	nulls []bool
}

func (d *column) vector() *vector.Vector { return &d.v }

func (d *column) empty() { d.nulls = d.nulls[:0] }

// markNull makes slot i null.
func (d *column) markNull(i int) {
	for len(d.nulls) < i {
		d.nulls = append(d.nulls, false)
	}
	d.nulls = append(d.nulls, true)
}

func (d *column) end(n int) {
	d.v.Len, d.v.Nulls = n, nil
	if len(d.nulls) == 0 {
		return
	}
	for len(d.nulls) < n {
		d.nulls = append(d.nulls, false)
	}
	d.v.Nulls = d.nulls
}

// nullable reads a union of null and something else.
type nullable struct {
	decoder
	at int64 // the branch of null, 0 or 1
}

func (d *nullable) read(c *Cursor) {
	switch i := c.Long(); i {
	case d.at:
		d.null()
	case 1 - d.at:
		d.decoder.read(c)
	default:
		c.Fail(noBranch(i, 2))
	}
}

// single reads a union of one type.
type single struct{ decoder }

func (d *single) read(c *Cursor) {
	if i := c.Long(); i != 0 {
		c.Fail(noBranch(i, 1))
		return
	}
	d.decoder.read(c)
}

type bools struct{ column }

func (d *bools) begin()         { d.empty(); d.v.Bools = d.v.Bools[:0] }
func (d *bools) read(c *Cursor) { d.v.Bools = append(d.v.Bools, c.bool()) }
func (d *bools) null()          { d.markNull(len(d.v.Bools)); d.v.Bools = append(d.v.Bools, false) }
func (d *bools) finish()        { d.end(len(d.v.Bools)) }

// ints reads numbers that must lie from low to high.
type ints struct {
	column
	low, high int64
}

func (d *ints) begin() { d.empty(); d.v.Int32s = d.v.Int32s[:0] }

func (d *ints) read(c *Cursor) {
	v := c.number()
	if v < d.low || v > d.high {
		c.Fail(outOfRange(v, d.low, d.high))
	}
	d.v.Int32s = append(d.v.Int32s, int32(v))
}

func outOfRange(v, low, high int64) error {
	return unsupportedf("value %d does not fit the wanted range %d to %d", v, low, high)
}

func (d *ints) null()   { d.markNull(len(d.v.Int32s)); d.v.Int32s = append(d.v.Int32s, 0) }
func (d *ints) finish() { d.end(len(d.v.Int32s)) }

// microTimes reads microseconds of the day as milliseconds.
type microTimes struct{ ints }

func (d *microTimes) read(c *Cursor) {
	v := floorDiv(c.number(), 1000)
	if v < d.low || v > d.high {
		c.Fail(outOfRange(v, d.low, d.high))
	}
	d.v.Int32s = append(d.v.Int32s, int32(v))
}

type longs struct{ column }

func (d *longs) begin()         { d.empty(); d.v.Int64s = d.v.Int64s[:0] }
func (d *longs) read(c *Cursor) { d.v.Int64s = append(d.v.Int64s, c.number()) }
func (d *longs) null()          { d.markNull(len(d.v.Int64s)); d.v.Int64s = append(d.v.Int64s, 0) }
func (d *longs) finish()        { d.end(len(d.v.Int64s)) }

// microLongs reads microseconds as milliseconds, floored.
type microLongs struct{ longs }

func (d *microLongs) read(c *Cursor) { d.v.Int64s = append(d.v.Int64s, floorDiv(c.number(), 1000)) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// stamps reads points in time as milliseconds and nanoseconds within them.
type stamps struct {
	column
	perMilli int64 // 1 or 1000
}

func (d *stamps) begin() {
	d.empty()
	d.v.Int64s, d.v.Nanos = d.v.Int64s[:0], d.v.Nanos[:0]
}

func (d *stamps) read(c *Cursor) {
	v := c.number()
	millis := floorDiv(v, d.perMilli)
	d.v.Int64s = append(d.v.Int64s, millis)
	d.v.Nanos = append(d.v.Nanos, int32(v-millis*d.perMilli)*1000)
}

func (d *stamps) null() {
	d.markNull(len(d.v.Int64s))
	d.v.Int64s, d.v.Nanos = append(d.v.Int64s, 0), append(d.v.Nanos, 0)
}

func (d *stamps) finish() { d.end(len(d.v.Int64s)) }

type floats struct{ column }

func (d *floats) begin()         { d.empty(); d.v.Float32s = d.v.Float32s[:0] }
func (d *floats) read(c *Cursor) { d.v.Float32s = append(d.v.Float32s, c.float()) }
func (d *floats) null()          { d.markNull(len(d.v.Float32s)); d.v.Float32s = append(d.v.Float32s, 0) }
func (d *floats) finish()        { d.end(len(d.v.Float32s)) }

type doubles struct{ column }

func (d *doubles) begin()         { d.empty(); d.v.Float64s = d.v.Float64s[:0] }
func (d *doubles) read(c *Cursor) { d.v.Float64s = append(d.v.Float64s, c.double()) }
func (d *doubles) null()          { d.markNull(len(d.v.Float64s)); d.v.Float64s = append(d.v.Float64s, 0) }
func (d *doubles) finish()        { d.end(len(d.v.Float64s)) }

// widened reads floats as doubles.
type widened struct{ doubles }

func (d *widened) read(c *Cursor) { d.v.Float64s = append(d.v.Float64s, float64(c.float())) }

// texts reads strings, bytes and, with size set, fixed.
type texts struct {
	column
	size int64 // -1: the value says it
}

func (d *texts) begin() {
	d.empty()
	d.v.Data, d.v.Offsets = d.v.Data[:0], append(d.v.Offsets[:0], 0)
}

// value is the bytes of the next value, in the block.
func (d *texts) value(c *Cursor) []byte {
	if d.size >= 0 {
		return c.take(d.size)
	}
	return c.Bytes()
}

func (d *texts) read(c *Cursor) {
	b := d.value(c)
	c.used += len(b)
	d.v.Data = append(d.v.Data, b...)
	d.v.Offsets = append(d.v.Offsets, int32(len(d.v.Data)))
}

func (d *texts) null() {
	d.markNull(len(d.v.Offsets) - 1)
	d.v.Offsets = append(d.v.Offsets, int32(len(d.v.Data)))
}

func (d *texts) finish() { d.end(len(d.v.Offsets) - 1) }
