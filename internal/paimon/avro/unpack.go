package avro

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// unpacker undoes a codec, reusing its memory from block to block.
type unpacker struct {
	out     []byte
	deflate io.ReadCloser
}

// maxBlock bounds the unpacked bytes of a block, whatever a walk's own limit. Writers begin a
// new block after 64 KB, so that only the bytes of one record make it larger.
const maxBlock = 256 << 20

// zstdDecoder is stateless in the way it is used here, and shared.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
})

// unpack undoes a block's codec. The codec's own errors are not wrapped: some
// are io.EOF, which would be taken for the file's end. More than limit bytes
// are an error. The result is valid until the next call.
func (u *unpacker) unpack(codec string, block []byte, limit int64) (out []byte, err error) {
	switch codec {
	case "null", "":
		out = block
	case "deflate":
		if u.deflate == nil {
			u.deflate = flate.NewReader(bytes.NewReader(block))
		} else if err := u.deflate.(flate.Resetter).Reset(bytes.NewReader(block), nil); err != nil {
			return nil, err
		}
		out, err = u.readAll(u.deflate, limit)
	case "bzip2":
		out, err = u.readAll(bzip2.NewReader(bytes.NewReader(block)), limit)
	case "snappy":
		return u.snappy(block, limit)
	case "zstandard":
		return u.zstd(block, limit)
	default:
		return nil, unsupportedf("its codec is %q; this reader knows null, deflate, snappy, bzip2 and zstandard", clip(codec))
	}
	if err != nil {
		return nil, corruptf("%s block: %v", codec, err)
	}
	if int64(len(out)) > limit {
		return nil, tooBig(limit)
	}
	return out, nil
}

func tooBig(limit int64) error {
	return unsupportedf("a block unpacks to more than %d bytes", limit)
}

// readAll reads up to limit bytes, and one more if there are more.
func (u *unpacker) readAll(r io.Reader, limit int64) ([]byte, error) {
	b := u.out[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):min(int64(cap(b)), limit+1)])
		b = b[:len(b)+n]
		u.out = b
		if err == io.EOF || err == nil && int64(len(b)) > limit {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// snappy blocks end with the big-endian CRC-32 of what they unpack to.
func (u *unpacker) snappy(block []byte, limit int64) ([]byte, error) {
	if len(block) < 4 {
		return nil, corruptf("snappy block of %d bytes has no checksum", len(block))
	}
	body, sum := block[:len(block)-4], block[len(block)-4:]
	n, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, corruptf("snappy block: %v", err)
	}
	if int64(n) > limit {
		return nil, tooBig(limit)
	}
	// No snappy element makes more than 64 bytes of 2.
	if n > 32*len(body)+64 {
		return nil, corruptf("snappy block of %d bytes says it unpacks to %d", len(body), n)
	}
	out, err := snappy.Decode(u.out[:cap(u.out)], body)
	if err != nil {
		return nil, corruptf("snappy block: %v", err)
	}
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(out) {
		return nil, corruptf("snappy block: the checksum is wrong")
	}
	u.out = out
	return out, nil
}

func (u *unpacker) zstd(block []byte, limit int64) ([]byte, error) {
	dec, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	// The decoder takes as much memory as the frame says it needs; no block of
	// 4 bytes makes more than 128 KiB.
	var h zstd.Header
	if h.Decode(block) == nil && h.HasFCS && h.FrameContentSize > uint64(min(limit, 1<<15*int64(len(block)))) {
		return nil, corruptf("zstandard block of %d bytes says it unpacks to %d", len(block), h.FrameContentSize)
	}
	out, err := dec.DecodeAll(block, u.out[:0])
	if err != nil {
		return nil, corruptf("zstandard block: %v", err)
	}
	u.out = out
	if int64(len(out)) > limit {
		return nil, tooBig(limit)
	}
	return out, nil
}

func (u *unpacker) close() { u.out, u.deflate = nil, nil }
