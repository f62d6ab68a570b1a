package orc

import (
	"math"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// timestampColumn reads TIMESTAMP and TIMESTAMP_INSTANT: seconds from the
// beginning of 2015 in the writer's zone (of instants, in UTC), and nanoseconds
// without their trailing zeros.
type timestampColumn struct {
	base
	clock    bool // what is wanted is what clocks showed in the writer's zone
	zone     *zone
	base2015 int64 // seconds since the epoch
	local    bool  // clock, and that is not UTC
	seconds  intReader
	nanos    intReader
	rest     []int64
}

func (c *timestampColumn) begin(s *stripe) error {
	c.beginBase(s)
	e, err := s.encoding(c.node, encDirect, encDirectV2)
	if err != nil {
		return err
	}
	if c.zone, err = loadZone(s.zone); err != nil {
		return err
	}
	c.local = c.clock && !c.zone.utc
	c.base2015 = utc2015
	if c.node.kind == kindTimestamp {
		c.base2015 = c.zone.base2015
	}
	s.bind(&c.seconds.stream, c.node, streamData)
	s.bind(&c.nanos.stream, c.node, streamSecondary)
	c.seconds.begin(e, true)
	c.nanos.begin(e, false)
	return nil
}

// maxSeconds keeps milliseconds within 64 bits.
const maxSeconds = math.MaxInt64 / 1000 / 2

func (c *timestampColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	c.v.Int64s, c.rest = grow(c.v.Int64s, n), grow(c.rest, k)
	millis, rest := c.v.Int64s[:k], c.rest
	if err := c.seconds.read(millis); err != nil {
		return where("DATA", err)
	}
	if err := c.nanos.read(rest); err != nil {
		return where("SECONDARY", err)
	}
	for i, s := range millis {
		ns := unpackNanos(rest[i])
		if ns > 999_999_999 || ns < -999_999_999 || s > maxSeconds || s < -maxSeconds {
			return corruptf("a timestamp of %d seconds and %d nanoseconds", s, ns)
		}
		part := ns / 1_000_000
		ns -= part * 1_000_000
		ms := (s+c.base2015)*1000 + part
		switch {
		case ms < 0 && part > 0:
			// The seconds were rounded towards zero. This takes back what that
			// added, as Java's reader does: only where it sees that something
			// was added. A fraction of the last second before 1970 looks like
			// one of the first second after it.
			ms -= 1000
		case ns < 0: // of pyarrow's writer, before 1970
			ms--
			ns += 1_000_000
		}
		if c.local {
			ms += c.zone.offset(ms)
		}
		millis[i], rest[i] = ms, ns
	}
	if k < n {
		spread(c.v.Int64s, k, c.v.Nulls)
	}
	if c.v.Kind != vector.Timestamp {
		return nil
	}
	c.v.Nanos = grow(c.v.Nanos, n)
	for i, ns := range rest {
		c.v.Nanos[i] = int32(ns)
	}
	if k < n {
		spread(c.v.Nanos, k, c.v.Nulls)
	}
	return nil
}

// unpackNanos gives back the trailing zeros, two at least if any, that the low
// three bits tell. Java's reader takes 32 bits of the rest, which makes sense of
// the negative numbers that pyarrow writes.
func unpackNanos(v int64) int64 {
	ns := int64(int32(uint64(v) >> 3))
	if zeros := v & 7; zeros != 0 {
		ns *= pow10[zeros+1]
	}
	return ns
}

func (c *timestampColumn) size() int { return 12 * c.v.Len }

func (c *timestampColumn) release() {
	c.base.release()
	c.seconds.release()
	c.nanos.release()
}
