package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// maxVectorBytes bounds the bytes of one vector; its offsets are 32 bits.
	maxVectorBytes = 1 << 30
	// maxSharedBytes is the bound while a batch can be made smaller.
	maxSharedBytes = 4 * vector.BatchBytes
)

// bytesSink fills a vector.Bytes.
type bytesSink struct {
	kind  format.Type
	width int // of a PLAIN value, 0 for BYTE_ARRAY
	most  int // bytes of the vector
	// convert appends the wanted form of a value; nil if it is the value.
	convert func(dst, value []byte) ([]byte, error)

	dictData []byte // with padding behind
	dictEnds []int32
	hasDict  bool
	source   source
	src      []byte
	stream   *pageStream
	index    hybrid
	trans    transcoder
	scratch  []byte
	buf      [indexes]int32
}

func (s *bytesSink) begin(v *vector.Vector, rows int) {
	if s.most = maxSharedBytes; rows == 1 {
		s.most = maxVectorBytes
	}
	v.Offsets, v.Data = grow(v.Offsets, 1), v.Data[:0]
	v.Offsets[0] = 0
}

func (s *bytesSink) size(v *vector.Vector, n int) { v.Offsets = grow(v.Offsets, n+1) }

func (s *bytesSink) null(v *vector.Vector, at, n int) {
	end := int32(len(v.Data))
	for i := at + 1; i <= at+n; i++ {
		v.Offsets[i] = end
	}
}

func (s *bytesSink) spread(v *vector.Vector, at, n int, nulls []bool) {
	ends := v.Offsets[at : at+len(nulls)+1]
	for i := len(nulls); i > n; i-- {
		ends[i] = ends[n]
		moved := 0
		if !nulls[i-1] {
			moved = 1
		}
		n -= moved
	}
}

func (s *bytesSink) chunk() { s.hasDict = false }

func (s *bytesSink) forget() { s.hasDict, s.dictEnds, s.dictData = false, nil, nil }

// dictionary copies the dictionary's values, converted: a lookup then copies
// them on.
func (s *bytesSink) dictionary(data []byte, n int) error {
	if err := checkDictionary(data, n, s.width); err != nil {
		return err
	}
	s.dictEnds = grow(s.dictEnds[:0], n+1)
	s.dictEnds[0] = 0
	if need := len(data) - 4*n + 2*padding; s.convert == nil && need > cap(s.dictData) { // no more than it takes
		s.dictData = make([]byte, 0, need)
	}
	most := s.most
	s.most = maxVectorBytes // a dictionary does not get smaller with the batch
	defer func() { s.most = most }()
	var err error
	s.dictData, _, err = s.appendPlain(s.dictData[:0], s.dictEnds[1:], data)
	if err != nil {
		return err
	}
	s.dictData = grow(s.dictData, len(s.dictData)+padding)[:len(s.dictData)]
	s.hasDict = true
	return nil
}

func (s *bytesSink) page(enc format.Encoding, data []byte, n int) error {
	var err error
	s.source, err = beginPage(enc, s.kind, s.width, data, n, s.hasDict, &s.index, &s.trans)
	s.src = data
	return err
}

// streamed begins a page whose values come piece by piece.
func (s *bytesSink) streamed(p *pageStream) { s.source, s.stream = fromStream, p }

func (s *bytesSink) read(v *vector.Vector, at, n int) error {
	ends := v.Offsets[at+1 : at+1+n]
	var err error
	switch s.source {
	case fromDictionary:
		v.Data, err = s.lookup(v.Data, ends)
	case fromStream:
		v.Data, err = s.stream.appendPlain(v.Data, ends, s.most)
	case fromTranscoder:
		for len(ends) > 0 && err == nil {
			var n int
			if s.scratch, n, err = s.trans.plain(s.scratch[:0], min(len(ends), transcodeValues)); err != nil {
				return err
			}
			s.scratch = grow(s.scratch, len(s.scratch)+padding)[:len(s.scratch)]
			v.Data, _, err = s.appendPlain(v.Data, ends[:n], s.scratch)
			ends = ends[n:]
		}
	default:
		var used int
		v.Data, used, err = s.appendPlain(v.Data, ends, s.src)
		s.src = s.src[used:]
	}
	return err
}

// appendPlain appends len(ends) PLAIN values of src to data and sets where each
// ends in data. It returns the number of bytes of src they took.
func (s *bytesSink) appendPlain(data []byte, ends []int32, src []byte) ([]byte, int, error) {
	if s.convert != nil {
		return s.appendConverted(data, ends, src)
	}
	if s.width > 0 {
		n := len(ends) * s.width
		if n > len(src) {
			return data, 0, short(n, len(src))
		}
		if len(data)+n > s.most {
			return data, 0, errBatchBytes
		}
		for i := range ends {
			ends[i] = int32(len(data) + (i+1)*s.width)
		}
		return append(data, src[:n]...), n, nil
	}
	pos, end := 0, len(data)
	for i := range ends {
		if len(src)-pos < 4 {
			return data, 0, short(pos+4, len(src))
		}
		l := int(binary.LittleEndian.Uint32(src[pos:]))
		if pos += 4; l > len(src)-pos {
			return data, 0, short(pos+l, len(src))
		}
		pos += l
		end += l
		if end > s.most {
			return data, 0, errBatchBytes
		}
		ends[i] = int32(end)
	}
	at := len(data)
	data = room(data, end-at)
	full, out := src[:len(src)+padding], data[:end+padding]
	pos = 0
	for _, e := range ends {
		pos += 4
		copyShort(out[at:], full[pos:], int(e)-at)
		pos += int(e) - at
		at = int(e)
	}
	return data[:end], pos, nil
}

// copyShort copies n bytes. Both slices have at least 16 bytes more than n, and
// what is behind the n bytes of dst is not in use: short values, which most
// are, move as one block.
func copyShort(dst, src []byte, n int) {
	if n <= 16 {
		*(*[16]byte)(dst) = *(*[16]byte)(src)
	} else {
		copy(dst[:n], src[:n])
	}
}

// room makes sure that n bytes and padding fit behind data.
func room(data []byte, n int) []byte {
	if need := len(data) + n + padding; need > cap(data) {
		return append(make([]byte, 0, need+need/4), data...)
	}
	return data
}

func (s *bytesSink) appendConverted(data []byte, ends []int32, src []byte) ([]byte, int, error) {
	pos := 0
	for i := range ends {
		l := s.width
		if l == 0 {
			if len(src)-pos < 4 {
				return data, 0, short(pos+4, len(src))
			}
			l = int(binary.LittleEndian.Uint32(src[pos:]))
			pos += 4
		}
		if l > len(src)-pos {
			return data, 0, short(pos+l, len(src))
		}
		var err error
		if data, err = s.convert(data, src[pos:pos+l]); err != nil {
			return data, 0, err
		}
		if len(data) > s.most {
			return data, 0, errBatchBytes
		}
		ends[i] = int32(len(data))
		pos += l
	}
	return data, pos, nil
}

func (s *bytesSink) lookup(data []byte, ends []int32) ([]byte, error) {
	for len(ends) > 0 {
		idx := s.buf[:min(len(ends), indexes)]
		if err := s.index.read(idx); err != nil {
			return data, err
		}
		at := len(data)
		end := at
		for k, i := range idx {
			if uint(uint32(i))+1 >= uint(len(s.dictEnds)) {
				return data, outside(i, len(s.dictEnds)-1)
			}
			end += int(s.dictEnds[i+1] - s.dictEnds[i])
			if end > s.most {
				return data, errBatchBytes
			}
			ends[k] = int32(end)
		}
		data = room(data, end-at)
		out, dict := data[:end+padding], s.dictData[:len(s.dictData)+padding]
		for k, i := range idx {
			copyShort(out[at:], dict[s.dictEnds[i]:], int(ends[k])-at)
			at = int(ends[k])
		}
		data = data[:end]
		ends = ends[len(idx):]
	}
	return data, nil
}

func short(want, have int) error {
	return corruptf("page of %d bytes of values, required %d: %w", have, want, io.ErrUnexpectedEOF)
}

// errBatchSize makes the Reader try again with fewer rows.
var (
	errBatchSize  = errors.New("one batch of rows is too large")
	errBatchBytes = unsupportedf("%w: more bytes of one column than its vector may have", errBatchSize)
)
