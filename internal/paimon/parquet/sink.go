package parquet

import (
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/parquet-go/parquet-go/format"
)

// sink decodes a leaf's values into slots of a vector.
type sink interface {
	// chunk, dictionary, forget and page are those of decoder.
	chunk()
	dictionary(data []byte, n int) error
	forget()
	page(enc format.Encoding, data []byte, n int) error
	// begin empties v for a new batch of that many rows of the file.
	begin(v *vector.Vector, rows int)
	// size gives v n slots, keeping what it has.
	size(v *vector.Vector, n int)
	// read puts the page's next n values into slots at to at+n. All slots
	// before have been read, left null or spread.
	read(v *vector.Vector, at, n int) error
	// null leaves slots at to at+n without a value.
	null(v *vector.Vector, at, n int)
	// spread moves the values just read into slots at and up to those of the
	// slots at to at+len(nulls) that are not null, in order.
	spread(v *vector.Vector, at, n int, nulls []bool)
}

// fixedSink fills one of a vector's slices of fixed-size values.
type fixedSink[T any] struct {
	decoder[T]
	of func(*vector.Vector) *[]T
}

func (s *fixedSink[T]) begin(v *vector.Vector, _ int) { f := s.of(v); *f = (*f)[:0] }

func (s *fixedSink[T]) size(v *vector.Vector, n int) { f := s.of(v); *f = grow(*f, n) }

func (s *fixedSink[T]) read(v *vector.Vector, at, n int) error {
	return s.decoder.read((*s.of(v))[at : at+n])
}

func (s *fixedSink[T]) null(*vector.Vector, int, int) {}

func (s *fixedSink[T]) spread(v *vector.Vector, at, n int, nulls []bool) {
	spread((*s.of(v))[at:at+len(nulls)], n, nulls)
}

// spread moves the n values at the start of f to the slots not null, from the
// last one back so that nothing is overwritten before it has moved. It ends
// where no null is left before. Nulls come at random: a null's slot is written
// too, with anything, rather than branched around.
func spread[T any](f []T, n int, nulls []bool) {
	f = f[:len(nulls)]
	for i := len(nulls) - 1; i >= n && n > 0; i-- {
		f[i] = f[n-1]
		moved := 0
		if !nulls[i] {
			moved = 1
		}
		n -= moved
	}
}

// stamp is a point in time: milliseconds since the epoch and nanoseconds
// within the millisecond.
type stamp struct {
	millis int64
	nanos  int32
}

// stampSink fills the two slices of a vector.Timestamp.
type stampSink struct {
	decoder[stamp]
	buf [indexes]stamp
}

func (s *stampSink) begin(v *vector.Vector, _ int) { v.Int64s, v.Nanos = v.Int64s[:0], v.Nanos[:0] }

func (s *stampSink) size(v *vector.Vector, n int) {
	v.Int64s, v.Nanos = grow(v.Int64s, n), grow(v.Nanos, n)
}

func (s *stampSink) read(v *vector.Vector, at, n int) error {
	millis, nanos := v.Int64s[at:at+n], v.Nanos[at:at+n]
	for len(millis) > 0 {
		b := s.buf[:min(len(millis), indexes)]
		if err := s.decoder.read(b); err != nil {
			return err
		}
		for i := range b {
			millis[i], nanos[i] = b[i].millis, b[i].nanos
		}
		millis, nanos = millis[len(b):], nanos[len(b):]
	}
	return nil
}

func (s *stampSink) null(*vector.Vector, int, int) {}

func (s *stampSink) spread(v *vector.Vector, at, n int, nulls []bool) {
	spread(v.Int64s[at:at+len(nulls)], n, nulls)
	spread(v.Nanos[at:at+len(nulls)], n, nulls)
}

// discard is the sink of a leaf read for its levels only.
type discard struct{}

func (discard) chunk()                                  {}
func (discard) dictionary([]byte, int) error            { return nil }
func (discard) forget()                                 {}
func (discard) page(format.Encoding, []byte, int) error { return nil }
func (discard) begin(*vector.Vector, int)               {}
func (discard) size(*vector.Vector, int)                {}
func (discard) read(*vector.Vector, int, int) error     { return nil }
func (discard) null(*vector.Vector, int, int)           {}
func (discard) spread(*vector.Vector, int, int, []bool) {}
