package orc

import (
	"io"
	"math/bits"
	"sync"
)

const (
	// maxPeek is the most bytes a decoder looks at together: an integer run of
	// 512 values of 64 bits and its patches.
	maxPeek = 4608
	// padding is readable, without meaning, behind the bytes of peek.
	padding = 16
	// window is the part of a stream read from the file at once, more only if
	// a chunk is larger.
	window = 256 << 10
)

// stream gives the decompressed bytes of one stream of a stripe.
type stream struct {
	file     *File
	off, end int64  // of the file, not read yet
	raw      []byte // read, not decompressed yet
	rawBuf   []byte // backs raw, unless the stripe was read as a whole
	buf      []byte // decompressed, from pos on not taken yet; backed by own
	pos      int
	own      []byte
}

// reset makes the stream that of a span, whose bytes are given if read.
func (s *stream) reset(f *File, sp span, data []byte) {
	s.file, s.off, s.end, s.raw = f, sp.off, sp.off+sp.length, nil
	if data != nil {
		s.off, s.raw = s.end, data
	}
	s.buf, s.pos = s.own[:0], 0
}

func (s *stream) release() {
	putBuffer(s.own)
	putBuffer(s.rawBuf)
	*s = stream{}
}

// peek returns the next bytes: at least n (up to maxPeek) unless the stream
// ends before, with padding behind them in their memory.
func (s *stream) peek(n int) ([]byte, error) {
	if len(s.buf)-s.pos >= n {
		return s.buf[s.pos:], nil
	}
	return s.more(n)
}

func (s *stream) skip(n int) { s.pos += n }

func (s *stream) more(n int) ([]byte, error) {
	for len(s.buf)-s.pos < n && (len(s.raw) > 0 || s.off < s.end) {
		var err error
		if s.file.codec == codecNone {
			err = s.plain()
		} else {
			err = s.chunk()
		}
		if err != nil {
			return nil, err
		}
	}
	return s.buf[s.pos:], nil
}

// room moves what is left to the front of a buffer with room for n bytes more,
// which it returns.
func (s *stream) room(n int) []byte {
	left := s.buf[s.pos:]
	if need := len(left) + n + padding; cap(s.own) < need {
		old := s.own
		s.own = append(getBuffer(max(need, min(maxPeek, need+need/2))), left...)
		putBuffer(old)
	} else {
		copy(s.own[:cap(s.own)], left)
	}
	s.own = s.own[:cap(s.own)]
	s.buf, s.pos = s.own[:len(left)], 0
	return s.own[len(left):][:n]
}

// plain takes the next bytes of an uncompressed stream.
func (s *stream) plain() error {
	n := len(s.raw)
	if n == 0 {
		n = int(min(window, s.end-s.off))
	}
	dst := s.room(n)
	s.buf = s.own[:len(s.buf)+n]
	if len(s.raw) > 0 {
		copy(dst, s.raw)
		s.raw = nil
		return nil
	}
	err := s.file.readAt(dst, s.off)
	s.off += int64(n)
	return err
}

// chunk decompresses the next chunk.
func (s *stream) chunk() error {
	b, err := s.rawBytes(3)
	if err != nil {
		return err
	}
	size, original, err := chunkHeader(b)
	if err != nil {
		return err
	}
	if size > s.file.block {
		return corruptf("a chunk of %d bytes, at most %d", size, s.file.block)
	}
	if b, err = s.rawBytes(3 + size); err != nil {
		return err
	}
	s.raw = s.raw[3+size:]
	n := size
	if original {
		copy(s.room(n), b[3:])
	} else if n, err = s.file.codec.decompress(s.room(s.file.codec.bound(b[3:], s.file.block)), b[3:]); err != nil {
		return err
	}
	s.buf = s.own[:len(s.buf)+n]
	return nil
}

// rawBytes returns the next n bytes as they are in the file.
func (s *stream) rawBytes(n int) ([]byte, error) {
	if n <= len(s.raw) {
		return s.raw[:n], nil
	}
	if left := s.end - s.off; int64(n-len(s.raw)) > left {
		return nil, corruptf("a chunk is cut short: %d bytes, %d are left of the stream: %w", n, int64(len(s.raw))+left, io.ErrUnexpectedEOF)
	}
	have := len(s.raw)
	size := int(min(s.end-s.off+int64(have), max(int64(n), window)))
	if cap(s.rawBuf) < size {
		old := s.rawBuf
		s.rawBuf = append(getBuffer(size), s.raw...)
		putBuffer(old)
	} else {
		copy(s.rawBuf[:cap(s.rawBuf)], s.raw)
	}
	s.raw = s.rawBuf[:size]
	if err := s.file.readAt(s.raw[have:], s.off); err != nil {
		return nil, err
	}
	s.off += int64(size - have)
	return s.raw[:n], nil
}

// appendTo appends the next n bytes to dst.
func (s *stream) appendTo(dst []byte, n int) ([]byte, error) {
	for n > 0 {
		b, err := s.peek(1)
		if err != nil {
			return dst, err
		}
		if len(b) == 0 {
			return dst, errShort
		}
		b = b[:min(n, len(b))]
		dst = append(dst, b...)
		s.skip(len(b))
		n -= len(b)
	}
	return dst, nil
}

// errShort says that a stream ends before the values its stripe has.
var errShort = corruptf("the stream's contents end too early: %w", io.ErrUnexpectedEOF)

// bufferPools keep the buffers of closed readers by size: a table is many files
// read one after the other, with chunks of about the same size. They hold
// *[]byte.
var bufferPools [8 * 32]sync.Pool

// maxPooled is the largest buffer kept.
const maxPooled = 2 << 20

// bufferClass rounds a size up to one of eight in each doubling.
func bufferClass(n int) (class, size int) {
	n = max(n, 64)
	step := bits.Len(uint(n-1)) - 4
	size = (n + 1<<step - 1) >> step << step
	class = (size-1)>>step&7 | step<<3
	return class, size
}

// getBuffer returns a buffer of length 0 and at least n bytes of capacity,
// holding anything.
func getBuffer(n int) []byte {
	class, size := bufferClass(n)
	if size <= maxPooled {
		if b, ok := bufferPools[class].Get().(*[]byte); ok {
			return (*b)[:0]
		}
	}
	return make([]byte, 0, size)
}

func putBuffer(b []byte) {
	if cap(b) == 0 || cap(b) > maxPooled {
		return
	}
	if class, size := bufferClass(cap(b)); size == cap(b) {
		bufferPools[class].Put(&b)
	}
}
