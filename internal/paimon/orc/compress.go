package orc

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codec is the compression of a file, numbered as in its postscript.
type codec uint32

const (
	codecNone codec = iota
	codecZlib
	codecSnappy
	codecLZO
	codecLZ4
	codecZstd
	codecBrotli
)

var codecNames = [...]string{"NONE", "ZLIB", "SNAPPY", "LZO", "LZ4", "ZSTD", "BROTLI"}

func (c codec) check() error {
	switch c {
	case codecNone, codecZlib, codecSnappy, codecLZ4, codecZstd:
		return nil
	case codecLZO, codecBrotli:
		return unsupportedf("compression %s; this package reads NONE, ZLIB, SNAPPY, LZ4 and ZSTD", codecNames[c])
	}
	return unsupportedf("compression of number %d; this package reads NONE, ZLIB, SNAPPY, LZ4 and ZSTD", uint32(c))
}

// chunkHeader reads the three bytes before a chunk.
func chunkHeader(b []byte) (size int, original bool, err error) {
	if len(b) < 3 {
		return 0, false, corruptf("a chunk's header is cut short: %w", io.ErrUnexpectedEOF)
	}
	v := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	return v >> 1, v&1 != 0, nil
}

// zstdWindow is the largest window a frame may ask for; chunks are smaller.
const zstdWindow = 64 << 20

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0), // as many DecodeAll at once as there are processors
		zstd.WithDecoderMaxWindow(zstdWindow),
		zstd.WithDecodeAllCapLimit(true)) // never more than a chunk
})

type inflater struct {
	src bytes.Reader
	r   io.ReadCloser
}

var inflaters = sync.Pool{New: func() any {
	f := new(inflater)
	f.r = flate.NewReader(&f.src)
	return f
}}

// bound is the room that a chunk may need decompressed, block at most.
func (c codec) bound(src []byte, block int) int {
	switch c {
	case codecSnappy:
		if n, err := snappy.DecodedLen(src); err == nil {
			return min(n, block)
		}
	case codecLZ4:
		return min(256*len(src), block)
	case codecZlib:
		return min(1040*len(src), block)
	case codecZstd:
		var h zstd.Header
		if err := h.Decode(src); err == nil && h.HasFCS {
			return int(min(h.FrameContentSize, uint64(block)))
		}
	}
	return block
}

// decompress decompresses a chunk into dst and returns its length.
func (c codec) decompress(dst, src []byte) (n int, err error) {
	switch c {
	case codecZlib:
		n, err = inflate(dst, src)
	case codecSnappy:
		if n, err = snappy.DecodedLen(src); err == nil && n > len(dst) {
			return 0, corruptf("a SNAPPY chunk of %d bytes, at most %d", n, len(dst))
		}
		if err == nil {
			_, err = snappy.Decode(dst, src)
		}
	case codecLZ4:
		n, err = lz4.UncompressBlock(src, dst)
	case codecZstd:
		var d *zstd.Decoder
		if d, err = zstdDecoder(); err != nil {
			return 0, err
		}
		var out []byte
		out, err = d.DecodeAll(src, dst[:0:len(dst)])
		n = len(out)
	default:
		return 0, c.check()
	}
	if err != nil {
		return 0, corruptf("a %s chunk: %w", codecNames[c], err)
	}
	return n, nil
}

// inflate decompresses ZLIB, which is raw deflate in ORC.
func inflate(dst, src []byte) (int, error) {
	f := inflaters.Get().(*inflater)
	defer inflaters.Put(f)
	f.src.Reset(src)
	if err := f.r.(flate.Resetter).Reset(&f.src, nil); err != nil {
		return 0, err
	}
	for n := 0; ; {
		var beyond [1]byte
		to := dst[n:]
		if len(to) == 0 {
			to = beyond[:]
		}
		m, err := f.r.Read(to)
		switch {
		case m > 0 && n == len(dst):
			return 0, corruptf("it has more than %d bytes", len(dst))
		case err == io.EOF:
			return n + m, nil
		case err != nil:
			return 0, err
		}
		n += m
	}
}
