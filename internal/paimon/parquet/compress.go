package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// maxRatio is the highest ratio of uncompressed to compressed bytes each
// codec's format can reach (zstd: a block of 128 KiB in four bytes). A header
// claiming more is damaged, and is refused before memory is taken for it.
func maxRatio(codec format.CompressionCodec) int64 {
	switch codec {
	case format.Uncompressed:
		return 1
	case format.Snappy:
		return 32
	case format.Lz4, format.Lz4Raw:
		return 256
	case format.Gzip:
		return 1040
	default:
		return 1 << 15
	}
}

// smallPage is the size up to which a header's claim is believed without
// asking for its worth in compressed bytes.
const smallPage = 1 << 20

// zstdWindow bounds the window a frame may ask for. Level 22 uses 128 MiB.
const zstdWindow = 128 << 20

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(0), // as many DecodeAll at once as there are processors
		zstd.WithDecoderMaxWindow(zstdWindow),
		zstd.WithDecodeAllCapLimit(true)) // never more than the header claims
})

// decompress fills dst, whose length is what the page header claims, from src.
// Both shorter and longer contents are an error.
func decompress(codec format.CompressionCodec, dst, src []byte) error {
	n, err := decompressInto(codec, dst, src)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return corruptf("%s page has %d bytes, its header claims %d", codec, n, len(dst))
	}
	return nil
}

func decompressInto(codec format.CompressionCodec, dst, src []byte) (int, error) {
	switch codec {
	case format.Uncompressed:
		if len(src) != len(dst) {
			return len(src), nil
		}
		return copy(dst, src), nil
	case format.Snappy:
		n, err := snappy.DecodedLen(src)
		if err != nil || n != len(dst) {
			return n, damaged(codec, err)
		}
		_, err = snappy.Decode(dst, src)
		return n, damaged(codec, err)
	case format.Zstd:
		d, err := zstdDecoder()
		if err != nil {
			return 0, err
		}
		out, err := d.DecodeAll(src, dst[:0:len(dst)])
		return len(out), damaged(codec, err)
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return 0, damaged(codec, err)
		}
		return readExactly(codec, r, dst)
	case format.Brotli:
		return readExactly(codec, brotli.NewReader(bytes.NewReader(src)), dst)
	case format.Lz4Raw:
		n, err := lz4.UncompressBlock(src, dst)
		return n, damaged(codec, err)
	case format.Lz4:
		return hadoopLZ4(dst, src)
	default:
		return 0, unsupportedf("codec %s; this package reads %s", codec, typeNames(format.Uncompressed,
			format.Snappy, format.Gzip, format.Brotli, format.Lz4, format.Zstd, format.Lz4Raw))
	}
}

func damaged(codec format.CompressionCodec, err error) error {
	if err == nil {
		return nil
	}
	return corruptf("%s page: %w", codec, err)
}

// readExactly fills dst and makes sure that r ends there.
func readExactly(codec format.CompressionCodec, r io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, nil
	}
	if err != nil {
		return n, damaged(codec, err)
	}
	var more [1]byte
	if m, err := io.ReadFull(r, more[:]); m > 0 {
		return n + m, nil
	} else if err != io.EOF {
		return n, damaged(codec, err)
	}
	return n, nil
}

// hadoopLZ4 decodes the deprecated LZ4 codec: Hadoop's framing, of blocks with
// an uncompressed length followed by chunks with a compressed length (all big
// endian), or, from some writers under the same name, one raw block.
func hadoopLZ4(dst, src []byte) (int, error) {
	if n, ok := hadoopBlocks(dst, src); ok {
		return n, nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	return n, damaged(format.Lz4, err)
}

func hadoopBlocks(dst, src []byte) (total int, ok bool) {
	for len(src) > 0 {
		if len(src) < 8 {
			return 0, false
		}
		want := int(binary.BigEndian.Uint32(src))
		src = src[4:]
		if want > len(dst)-total {
			return 0, false
		}
		for end := total + want; total < end; {
			if len(src) < 4 {
				return 0, false
			}
			size := int(binary.BigEndian.Uint32(src))
			src = src[4:]
			if size > len(src) {
				return 0, false
			}
			n, err := lz4.UncompressBlock(src[:size], dst[total:end])
			if err != nil || n == 0 {
				return 0, false
			}
			total += n
			src = src[size:]
		}
	}
	return total, total == len(dst)
}
