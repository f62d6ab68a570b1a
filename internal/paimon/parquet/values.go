package parquet

import "github.com/parquet-go/parquet-go/format"

// decoder decodes the values of a leaf, nulls left out, as Ts.
type decoder[T any] interface {
	// chunk begins a column chunk: the last one's dictionary is forgotten.
	chunk()
	// dictionary decodes a dictionary of n values in PLAIN form.
	dictionary(data []byte, n int) error
	// forget gives up the dictionary and its memory.
	forget()
	// page begins a data page of at most n values. The bytes must stay valid
	// until the next page, and have padding behind them.
	page(enc format.Encoding, data []byte, n int) error
	// read fills dst with the page's next values.
	read(dst []T) error
}

// plainFunc decodes len(dst) PLAIN values at the start of src into dst, and
// returns the number of bytes they took.
type plainFunc[T any] func(dst []T, src []byte) (int, error)

const indexes = 512 // dictionary indexes decoded at a time

// values decodes any physical type but BOOLEAN.
type values[T any] struct {
	kind  format.Type
	width int // bytes of a PLAIN value, 0 for BYTE_ARRAY
	plain plainFunc[T]

	dict    []T
	hasDict bool
	source  source
	src     []byte // fromPlain
	index   hybrid // fromDictionary
	trans   transcoder
	scratch []byte
	buf     [indexes]int32
}

// source says where a page's values come from.
type source uint8

const (
	fromPlain source = iota
	fromDictionary
	fromTranscoder
	fromStream // byte arrays only
)

func (d *values[T]) chunk() { d.hasDict = false }

func (d *values[T]) forget() { d.hasDict, d.dict = false, nil }

func (d *values[T]) dictionary(data []byte, n int) error {
	if err := checkDictionary(data, n, d.width); err != nil {
		return err
	}
	d.dict = grow(d.dict[:0], n)
	d.hasDict = true
	_, err := d.plain(d.dict, data)
	return err
}

// checkDictionary refuses a dictionary claiming more values than its bytes hold.
func checkDictionary(data []byte, n, width int) error {
	if width == 0 {
		width = 4 // of a BYTE_ARRAY value's length
	}
	if n > len(data)/width {
		return corruptf("dictionary of %d values in %d bytes", n, len(data))
	}
	return nil
}

func (d *values[T]) page(enc format.Encoding, data []byte, n int) error {
	var err error
	d.source, err = beginPage(enc, d.kind, d.width, data, n, d.hasDict, &d.index, &d.trans)
	d.src = data
	return err
}

// beginPage sets up the source of a page's values.
func beginPage(enc format.Encoding, kind format.Type, width int, data []byte, n int, hasDict bool,
	index *hybrid, trans *transcoder) (source, error) {
	switch enc {
	case format.Plain:
		return fromPlain, nil
	case format.RLEDictionary, format.PlainDictionary: //nolint:staticcheck // old files name it so
		if !hasDict {
			return 0, corruptf("page of dictionary indexes without a dictionary")
		}
		// One byte says the width of the indexes; a page of nulls has none.
		bits := byte(0)
		if len(data) > 0 {
			bits, data = data[0], data[1:]
		}
		if bits > 32 {
			return 0, corruptf("dictionary indexes of %d bits", bits)
		}
		index.reset(data, uint(bits))
		return fromDictionary, nil
	default:
		if len(data) == 0 { // a page of nulls
			return fromPlain, nil
		}
		t, err := newTranscoder(enc, kind, width, data, n)
		*trans = t
		return fromTranscoder, err
	}
}

func (d *values[T]) read(dst []T) error {
	switch d.source {
	case fromDictionary:
		return d.lookup(dst)
	case fromTranscoder:
		for len(dst) > 0 {
			var n int
			var err error
			if d.scratch, n, err = d.trans.plain(d.scratch[:0], min(len(dst), transcodeValues)); err != nil {
				return err
			}
			d.scratch = grow(d.scratch, len(d.scratch)+padding)[:len(d.scratch)]
			if _, err := d.plain(dst[:n], d.scratch); err != nil {
				return err
			}
			dst = dst[n:]
		}
		return nil
	default:
		n, err := d.plain(dst, d.src)
		if err != nil {
			return err
		}
		d.src = d.src[n:]
		return nil
	}
}

func (d *values[T]) lookup(dst []T) error {
	dict := d.dict
	for len(dst) > 0 {
		idx := d.buf[:min(len(dst), indexes)]
		if err := d.index.read(idx); err != nil {
			return err
		}
		out := dst[:len(idx)]
		for k, i := range idx {
			if uint(uint32(i)) >= uint(len(dict)) {
				return outside(i, len(dict))
			}
			out[k] = dict[i]
		}
		dst = dst[len(idx):]
	}
	return nil
}

func outside(index int32, size int) error {
	return corruptf("dictionary index %d, the dictionary has %d values", uint32(index), size)
}

// grow returns s with n elements, keeping those it has. New ones hold anything.
func grow[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	t := make([]T, n, n+n/4)
	copy(t, s)
	return t
}

// boolValues decodes BOOLEAN.
type boolValues struct {
	src  []byte
	bit  int
	rle  bool
	runs hybrid
	buf  [indexes]int32
}

func (d *boolValues) chunk() {}

func (d *boolValues) forget() {}

func (d *boolValues) dictionary([]byte, int) error {
	return corruptf("dictionary of BOOLEAN values")
}

func (d *boolValues) page(enc format.Encoding, data []byte, n int) error {
	switch enc {
	case format.Plain:
		d.src, d.bit, d.rle = data, 0, false
		return nil
	case format.RLE:
		d.rle = true
		if len(data) == 0 { // a page of nulls
			d.runs.reset(nil, 1)
			return nil
		}
		runs, _, err := levelsV1(data, format.RLE) // runs with their length before them, as levels have
		d.runs.reset(runs, 1)
		return err
	default:
		return unsupportedf("values of type BOOLEAN in encoding %s", enc)
	}
}

func (d *boolValues) read(dst []bool) error {
	if d.rle {
		for len(dst) > 0 {
			bits := d.buf[:min(len(dst), indexes)]
			if err := d.runs.read(bits); err != nil {
				return err
			}
			for i, b := range bits {
				dst[i] = b != 0
			}
			dst = dst[len(bits):]
		}
		return nil
	}
	if d.bit+len(dst) > 8*len(d.src) {
		return errShort
	}
	for i := range dst {
		dst[i] = d.src[(d.bit+i)/8]>>((d.bit+i)%8)&1 != 0
	}
	d.bit += len(dst)
	return nil
}
