package parquet

import (
	"encoding/binary"
	"math"

	"github.com/parquet-go/bitpack"
)

// padding is the number of readable bytes behind the end of every buffer a
// decoder reads from: unpacking and copying work in blocks of up to 32 bytes.
const padding = 64

// hybrid decodes Parquet's RLE/bit-packed hybrid: levels, dictionary indexes
// and RLE booleans. It decodes as it is asked, so a run's claimed length costs
// nothing. The source must have padding bytes of capacity behind its end.
type hybrid struct {
	src   []byte
	width uint

	run    int // values left in the current run
	packed bool
	value  int32  // of a repeated run
	bits   []byte // of a bit-packed run
	pos    int    // values already taken from bits
}

func (h *hybrid) reset(src []byte, width uint) {
	*h = hybrid{src: src, width: width}
	if width == 0 {
		h.run = math.MaxInt // all values are 0; nothing need be stored for them
	}
}

// fill makes run positive.
func (h *hybrid) fill() error {
	for h.run == 0 {
		header, n := binary.Uvarint(h.src)
		if n <= 0 {
			return errShort
		}
		h.src = h.src[n:]
		count := header >> 1
		if count > math.MaxInt32 {
			return corruptf("a run of %d values", count)
		}
		if header&1 == 0 {
			size := int(h.width+7) / 8
			if len(h.src) < size {
				return errShort
			}
			var v uint32
			for i := range size {
				v |= uint32(h.src[i]) << (8 * i)
			}
			if h.width < 32 && v>>h.width != 0 {
				return corruptf("run value %d does not fit %d bits", v, h.width)
			}
			h.src = h.src[size:]
			h.run, h.packed, h.value = int(count), false, int32(v)
			continue
		}
		// Groups of eight. Some writers cut the last group at the page's end.
		size := min(count*uint64(h.width), uint64(len(h.src)))
		h.bits, h.src = h.src[:size], h.src[size:]
		h.run, h.packed, h.pos = int(min(count*8, size*8/uint64(h.width))), true, 0
		if count > 0 && h.run == 0 {
			return errShort
		}
	}
	return nil
}

// peek returns the values of the run at hand: its length, and its one value if
// it is a repeated run.
func (h *hybrid) peek() (n int, value int32, repeated bool, err error) {
	if h.run == 0 {
		if err := h.fill(); err != nil {
			return 0, 0, false, err
		}
	}
	return h.run, h.value, !h.packed, nil
}

// skip drops n values of a run that peek found repeated.
func (h *hybrid) skip(n int) { h.run -= n }

// read fills dst.
func (h *hybrid) read(dst []int32) error {
	for len(dst) > 0 {
		if h.run == 0 {
			if err := h.fill(); err != nil {
				return err
			}
		}
		n := min(h.run, len(dst))
		if h.packed {
			h.unpack(dst[:n])
		} else {
			for i := range dst[:n] {
				dst[i] = h.value
			}
		}
		h.run -= n
		dst = dst[n:]
	}
	return nil
}

// unpack takes len(dst) values of the bit-packed run. The block unpacker starts
// at byte boundaries, which every eighth value has.
func (h *hybrid) unpack(dst []int32) {
	for len(dst) > 0 && h.pos%8 != 0 {
		dst[0] = h.one()
		dst = dst[1:]
	}
	if n := len(dst) &^ 7; n > 0 {
		bitpack.Unpack(dst[:n], h.bits[h.pos/8*int(h.width):], h.width)
		h.pos += n
		dst = dst[n:]
	}
	for i := range dst {
		dst[i] = h.one()
	}
}

func (h *hybrid) one() int32 {
	bit := h.pos * int(h.width)
	h.pos++
	b := h.bits[bit/8:]
	w := binary.LittleEndian.Uint64(b[:8]) // within the padding
	return int32(w >> (bit & 7) & (1<<h.width - 1))
}
