package orc

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// byteReader decodes the byte run-length encoding.
type byteReader struct {
	stream
	left    int  // values left in the run
	literal bool // the run's values are in the stream
	value   byte
}

func (r *byteReader) begin() { r.left = 0 }

func (r *byteReader) read(dst []byte) error {
	for len(dst) > 0 {
		if r.left == 0 {
			b, err := r.peek(2)
			if err != nil {
				return err
			}
			if len(b) < 2 {
				return errShort
			}
			if b[0] < 0x80 {
				r.left, r.literal, r.value = int(b[0])+3, false, b[1]
				r.skip(2)
			} else {
				r.left, r.literal = 256-int(b[0]), true
				r.skip(1)
			}
		}
		n := min(len(dst), r.left)
		if r.literal {
			b, err := r.peek(n)
			if err != nil {
				return err
			}
			if n > len(b) {
				return errShort
			}
			copy(dst[:n], b)
			r.skip(n)
		} else {
			for i := range dst[:n] {
				dst[i] = r.value
			}
		}
		r.left -= n
		dst = dst[n:]
	}
	return nil
}

// boolReader decodes bits, the highest of a byte first, in byte runs.
type boolReader struct {
	byteReader
	last    byte // its low bits are not taken yet
	rest    int  // how many
	scratch []byte
}

func (r *boolReader) begin() {
	r.byteReader.begin()
	r.rest = 0
}

// bytes reads the bytes that hold the next n bits, those left of the byte
// before as a first byte, and returns them and how many of its high bits are
// not wanted.
func (r *boolReader) bytes(n int) (b []byte, skip int, err error) {
	more := max(0, (n-r.rest+7)/8)
	first := 0
	if r.rest > 0 {
		first = 1
	}
	r.scratch = grow(r.scratch, first+more)
	if first == 1 {
		r.scratch[0] = r.last
		skip = 8 - r.rest
	}
	if err := r.read(r.scratch[first:]); err != nil {
		return nil, 0, err
	}
	r.rest += 8*more - n
	r.last = r.scratch[len(r.scratch)-1]
	return r.scratch, skip, nil
}

// eightBools has the bits of each byte as bools, the highest first.
var eightBools = func() (t [256][8]bool) {
	for b := range t {
		for i := range 8 {
			t[b][i] = b>>(7-i)&1 != 0
		}
	}
	return t
}()

// bools puts the next bits into dst, inverted if invert is 0xff.
func (r *boolReader) bools(dst []bool, invert byte) error {
	if len(dst) == 0 {
		return nil
	}
	b, skip, err := r.bytes(len(dst))
	if err != nil {
		return err
	}
	expand(dst, b, skip, invert)
	return nil
}

func expand(dst []bool, b []byte, skip int, invert byte) {
	if skip > 0 {
		dst = dst[copy(dst, eightBools[b[0]^invert][skip:]):]
		b = b[1:]
	}
	for len(dst) >= 8 {
		*(*[8]bool)(dst) = eightBools[b[0]^invert]
		dst, b = dst[8:], b[1:]
	}
	if len(dst) > 0 {
		copy(dst, eightBools[b[0]^invert][:])
	}
}

// countOnes counts the bits set of n bits.
func countOnes(b []byte, skip, n int) int {
	ones := 0
	for i, c := range b {
		if i == 0 {
			c &= 0xff >> skip
		}
		if i == len(b)-1 {
			c &= 0xff << (8*len(b) - skip - n)
		}
		ones += bits.OnesCount8(c)
	}
	return ones
}

// maxRun is the most values of one integer run.
const maxRun = 512

// intReader decodes both versions of the integer run-length encoding.
type intReader struct {
	stream
	v2, signed bool
	pos, n     int // of run, not taken yet
	run        [maxRun]int64
}

// begin makes the reader decode a stripe's stream.
func (r *intReader) begin(e encoding, signed bool) {
	r.v2, r.signed, r.pos, r.n = e.v2(), signed, 0, 0
}

func (r *intReader) read(dst []int64) error {
	for len(dst) > 0 {
		if r.pos < r.n {
			k := copy(dst, r.run[r.pos:r.n])
			r.pos += k
			dst = dst[k:]
			continue
		}
		out := dst
		if len(dst) < maxRun {
			out = r.run[:]
		}
		n, err := r.next(out[:maxRun])
		if err != nil {
			return err
		}
		if len(dst) < maxRun {
			r.pos, r.n = 0, n
		} else {
			dst = dst[n:]
		}
	}
	return nil
}

// next decodes one run into out, which has room for any.
func (r *intReader) next(out []int64) (int, error) {
	b, err := r.peek(maxPeek)
	if err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, errShort
	}
	var n, used int
	switch {
	case !r.v2:
		n, used, err = r.runV1(out, b)
	case b[0]>>6 == 0:
		n, used, err = r.shortRepeat(out, b)
	case len(b) < 2:
		err = errShort
	case b[0]>>6 == 1:
		n, used, err = r.direct(out, b)
	case b[0]>>6 == 2:
		n, used, err = r.patched(out, b)
	default:
		n, used, err = r.delta(out, b)
	}
	r.skip(used)
	return n, err
}

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// varint reads an unsigned base 128 varint, of 64 bits at most, or a signed one.
func varint(b []byte, signed bool) (int64, int, error) {
	v, n := binary.Uvarint(b)
	if n == 0 {
		return 0, 0, errShort
	}
	if n < 0 {
		return 0, 0, corruptf("an integer of more than 64 bits")
	}
	if signed {
		return zigzag(v), n, nil
	}
	return int64(v), n, nil
}

func (r *intReader) runV1(out []int64, b []byte) (n, used int, err error) {
	if b[0] < 0x80 {
		if len(b) < 3 {
			return 0, 0, errShort
		}
		n = int(b[0]) + 3
		step := int64(int8(b[1]))
		v, size, err := varint(b[2:], r.signed)
		if err != nil {
			return 0, 0, err
		}
		for i := range out[:n] {
			out[i] = v
			v += step
		}
		return n, 2 + size, nil
	}
	n, used = 256-int(b[0]), 1
	for i := range out[:n] {
		v, size, err := varint(b[used:], r.signed)
		if err != nil {
			return 0, 0, err
		}
		out[i] = v
		used += size
	}
	return n, used, nil
}

// bigEndian reads an integer of up to 8 bytes.
func bigEndian(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

func (r *intReader) shortRepeat(out []int64, b []byte) (n, used int, err error) {
	width := int(b[0]>>3&7) + 1
	if len(b) < 1+width {
		return 0, 0, errShort
	}
	u := bigEndian(b[1 : 1+width])
	v := int64(u)
	if r.signed {
		v = zigzag(u)
	}
	n = int(b[0]&7) + 3
	for i := range out[:n] {
		out[i] = v
	}
	return n, 1 + width, nil
}

// widths are the bit widths of their 5-bit codes.
var widths = [32]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48, 56, 64}

// head reads the two bytes that direct, patched and delta runs begin with.
func head(b []byte) (code, n int) {
	return int(b[0] >> 1 & 31), int(b[0]&1)<<8 + int(b[1]) + 1
}

func (r *intReader) direct(out []int64, b []byte) (n, used int, err error) {
	code, n := head(b)
	width := widths[code]
	used = 2 + (n*width+7)/8
	if len(b) < used {
		return 0, 0, errShort
	}
	unpack(out[:n], b[2:], width)
	if r.signed {
		for i, v := range out[:n] {
			out[i] = zigzag(uint64(v))
		}
	}
	return n, used, nil
}

// unpack reads big-endian values of a width in bits. Behind the bytes of b
// there is padding.
func unpack(out []int64, b []byte, width int) {
	switch width {
	case 8:
		for i, c := range b[:len(out)] {
			out[i] = int64(c)
		}
	case 16:
		for i := range out {
			out[i] = int64(binary.BigEndian.Uint16(b[2*i:]))
		}
	case 32:
		for i := range out {
			out[i] = int64(binary.BigEndian.Uint32(b[4*i:]))
		}
	case 64:
		for i := range out {
			out[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
		}
	default: // at most 56 bits, so that a value is within 8 bytes
		b = b[:(len(out)*width+7)/8+8]
		shift := uint(64-width) & 63
		for i, bit := 0, 0; i < len(out); i, bit = i+1, bit+width {
			v := binary.BigEndian.Uint64(b[bit>>3:])
			out[i] = int64(v << (uint(bit) & 7) >> shift)
		}
	}
}

// patchWidth is the width that an entry of a patch list is padded to.
func patchWidth(bits int) int {
	switch {
	case bits <= 24:
		return bits
	case bits <= 32:
		return (bits + 1) &^ 1
	default:
		return (bits + 7) &^ 7
	}
}

func (r *intReader) patched(out []int64, b []byte) (n, used int, err error) {
	if len(b) < 4 {
		return 0, 0, errShort
	}
	code, n := head(b)
	width := widths[code]
	baseBytes := int(b[2]>>5) + 1
	patchBits := widths[b[2]&31]
	gapBits := int(b[3]>>5) + 1
	patches := int(b[3] & 31)
	if patchBits+gapBits > 64 {
		return 0, 0, corruptf("patches of %d and %d bits, at most 64 together", gapBits, patchBits)
	}
	entry := patchWidth(patchBits + gapBits)
	dataAt := 4 + baseBytes
	patchAt := dataAt + (n*width+7)/8
	used = patchAt + (patches*entry+7)/8
	if len(b) < used {
		return 0, 0, errShort
	}
	magnitude := bigEndian(b[4:dataAt])
	sign := uint64(1) << (8*baseBytes - 1)
	base := int64(magnitude &^ sign)
	if magnitude&sign != 0 {
		base = -base
	}
	unpack(out[:n], b[dataAt:], width)
	var list [31]int64
	unpack(list[:patches], b[patchAt:], entry)
	at := 0
	for _, p := range list[:patches] {
		at += int(uint64(p) >> patchBits)
		value := uint64(p) & (1<<patchBits - 1)
		if value == 0 { // only there to skip over more than a gap can say
			continue
		}
		if at >= n {
			return 0, 0, corruptf("a patch of value %d of a run of %d", at, n)
		}
		out[at] |= int64(value << width)
	}
	for i := range out[:n] {
		out[i] += base
	}
	return n, used, nil
}

func (r *intReader) delta(out []int64, b []byte) (n, used int, err error) {
	code, n := head(b)
	base, size, err := varint(b[2:], r.signed)
	if err != nil {
		return 0, 0, err
	}
	used = 2 + size
	step, size, err := varint(b[used:], true)
	if err != nil {
		return 0, 0, err
	}
	used += size
	if code == 0 { // the same step throughout
		for i := range out[:n] {
			out[i] = base
			base += step
		}
		return n, used, nil
	}
	width := widths[code]
	if n < 2 {
		return 0, 0, fmt.Errorf("%w: a run of deltas with a single value", ErrCorrupt)
	}
	steps := out[2:n]
	if len(b) < used+(len(steps)*width+7)/8 {
		return 0, 0, errShort
	}
	unpack(steps, b[used:], width)
	used += (len(steps)*width + 7) / 8
	out[0] = base
	base += step
	out[1] = base
	if step < 0 {
		for i, d := range steps {
			base -= d
			steps[i] = base
		}
	} else {
		for i, d := range steps {
			base += d
			steps[i] = base
		}
	}
	return n, used, nil
}
