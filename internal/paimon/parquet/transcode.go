package parquet

import (
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// A transcoder turns values of one of the less common encodings into PLAIN
// form, some at a time, so that everything behind it knows PLAIN only.
type transcoder interface {
	// plain appends at most n values to dst, at least one, and returns how many.
	plain(dst []byte, n int) ([]byte, int, error)
}

const (
	// transcodeValues is how many values are transcoded at a time.
	transcodeValues = 128
	// transcodeBytes is the size at which a run of them is cut: the delta
	// encodings of strings let a few bytes stand for many.
	transcodeBytes = 1 << 20
)

// newTranscoder returns the transcoder for a page of at most n values of
// encoding enc; width is that of a value, 0 for BYTE_ARRAY.
func newTranscoder(enc format.Encoding, kind format.Type, width int, data []byte, n int) (transcoder, error) {
	switch {
	case enc == format.DeltaBinaryPacked && (kind == format.Int32 || kind == format.Int64):
		t := &deltaInts{width: width}
		count, err := t.delta.reset(data)
		if err != nil {
			return nil, err
		}
		return t, checkCount(count, n)
	case enc == format.DeltaLengthByteArray && kind == format.ByteArray:
		t := new(deltaLengths)
		count, err := t.lengths.reset(data)
		if err != nil {
			return nil, err
		}
		walk := t.lengths
		if t.data, err = walk.rest(); err != nil {
			return nil, err
		}
		return t, checkCount(count, n)
	case enc == format.DeltaByteArray && (kind == format.ByteArray || kind == format.FixedLenByteArray):
		return newDeltaStrings(width, data, n)
	case enc == format.ByteStreamSplit && width > 0 && kind != format.Int96:
		if len(data)%width != 0 || len(data)/width > n {
			return nil, corruptf("%d bytes for at most %d values of %d", len(data), n, width)
		}
		return &split{width: width, data: data, count: len(data) / width}, nil
	default:
		return nil, unsupportedf("values of type %s in encoding %s", kind, enc)
	}
}

func checkCount(count, n int) error {
	if count > n {
		return corruptf("%d values in a page of %d", count, n)
	}
	return nil
}

type deltaInts struct {
	delta delta
	width int
}

func (t *deltaInts) plain(dst []byte, n int) ([]byte, int, error) {
	for range n {
		v, err := t.delta.next()
		if err != nil {
			return dst, 0, err
		}
		if t.width == 4 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(v)) // wraps, as the format says
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	}
	return dst, n, nil
}

type deltaLengths struct {
	lengths delta
	data    []byte
}

func (t *deltaLengths) plain(dst []byte, n int) ([]byte, int, error) {
	for i := range n {
		l, err := t.lengths.next()
		if err != nil {
			return dst, 0, err
		}
		if l < 0 || l > int64(len(t.data)) {
			return dst, 0, corruptf("value of %d bytes, the page has %d: %w", l, len(t.data), io.ErrUnexpectedEOF)
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(l))
		dst = append(dst, t.data[:l]...)
		t.data = t.data[l:]
		if len(dst) > transcodeBytes {
			return dst, i + 1, nil
		}
	}
	return dst, n, nil
}

// deltaStrings decodes DELTA_BYTE_ARRAY: each value is a prefix of the one
// before and a suffix of its own.
type deltaStrings struct {
	prefixes, suffixes delta
	data               []byte
	last               []byte
	width              int // 0: BYTE_ARRAY
}

func newDeltaStrings(width int, data []byte, n int) (*deltaStrings, error) {
	t := &deltaStrings{width: width}
	count, err := t.prefixes.reset(data)
	if err != nil {
		return nil, err
	}
	if err := checkCount(count, n); err != nil {
		return nil, err
	}
	walk := t.prefixes
	if data, err = walk.rest(); err != nil {
		return nil, err
	}
	if count, err = t.suffixes.reset(data); err != nil {
		return nil, err
	}
	walk = t.suffixes
	if t.data, err = walk.rest(); err != nil {
		return nil, err
	}
	return t, checkCount(count, n)
}

func (t *deltaStrings) plain(dst []byte, n int) ([]byte, int, error) {
	for i := range n {
		prefix, err := t.prefixes.next()
		if err != nil {
			return dst, 0, err
		}
		suffix, err := t.suffixes.next()
		if err != nil {
			return dst, 0, err
		}
		if prefix < 0 || prefix > int64(len(t.last)) || suffix < 0 || suffix > int64(len(t.data)) {
			return dst, 0, corruptf("prefix of %d bytes of %d, suffix of %d of %d", prefix, len(t.last), suffix, len(t.data))
		}
		t.last = append(t.last[:prefix], t.data[:suffix]...)
		t.data = t.data[suffix:]
		if t.width == 0 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t.last)))
		} else if len(t.last) != t.width {
			return dst, 0, corruptf("value of %d bytes, the column has %d", len(t.last), t.width)
		}
		dst = append(dst, t.last...)
		if len(dst) > transcodeBytes {
			return dst, i + 1, nil
		}
	}
	return dst, n, nil
}

// split decodes BYTE_STREAM_SPLIT: the first bytes of all values, then the
// second bytes, and so on.
type split struct {
	data       []byte
	width      int
	pos, count int
}

func (t *split) plain(dst []byte, n int) ([]byte, int, error) {
	if n > t.count-t.pos {
		return dst, 0, errShort
	}
	for i := t.pos; i < t.pos+n; i++ {
		for k := range t.width {
			dst = append(dst, t.data[k*t.count+i])
		}
	}
	t.pos += n
	return dst, n, nil
}
