package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// streamBuffer is how many bytes of a streamed page are read at once.
	streamBuffer = 32 << 10
	// streamWindow is the largest window of a zstd frame that is streamed: the
	// decoder keeps as much of what it has decoded.
	streamWindow = 8 << 20
)

// largePage is the uncompressed size above which a page of byte arrays is not
// held whole: writers look at a page's size every hundred rows or more, and
// those may be large. It is changed by tests only.
var largePage = 4 << 20

// pageStream gives the contents of one data page piece by piece.
type pageStream struct {
	codec   format.CompressionCodec
	values  *bufio.Reader // uncompressed
	left    int64         // of values' bytes, as the header claims
	crc     hash.Hash32   // nil: not to be checked
	wantCRC uint32
	done    func()
}

var zstdStreams sync.Pool // of *zstd.Decoder

var streamReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, streamBuffer) }}

// tryStream begins the page at hand as a stream if that is worth it and its
// codec can; false leaves it to be held whole, and what is wrong with it to be
// found then.
func (p *pages) tryStream() (bool, error) {
	h := &p.header
	if !p.streams || int(h.UncompressedPageSize) <= largePage {
		return false, nil
	}
	off := p.off - int64(p.w-p.r)
	if int64(h.CompressedPageSize) > p.end-off {
		return false, nil
	}
	var s *pageStream
	var values int32
	var err error
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid && h.DataPageHeader.V.Encoding == format.Plain:
		v1 := &h.DataPageHeader.V
		values = v1.NumValues
		if s, _, err = p.openStream(off, 0, p.codec); s == nil || err != nil {
			return false, err
		}
		p.repEnc, p.defEnc = nil, nil
		if p.leaf.rep > 0 {
			if p.repEnc, err = s.levels(v1.RepetitionLevelEncoding); err != nil {
				err = fmt.Errorf("repetition levels: %w", err)
			}
		}
		if p.leaf.def > 0 && err == nil {
			if p.defEnc, err = s.levels(v1.DefinitionLevelEncoding); err != nil {
				err = fmt.Errorf("definition levels: %w", err)
			}
		}
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid && h.DataPageHeaderV2.V.Encoding == format.Plain:
		v2 := &h.DataPageHeaderV2.V
		values = v2.NumValues
		rep, def := int(v2.RepetitionLevelsByteLength), int(v2.DefinitionLevelsByteLength)
		if most := int(min(h.CompressedPageSize, h.UncompressedPageSize)); rep < 0 || def < 0 || rep > most || def > most-rep {
			return false, nil
		}
		codec := p.codec
		if v2.IsCompressed.Valid && !v2.IsCompressed.V {
			codec = format.Uncompressed
		}
		var head []byte
		if s, head, err = p.openStream(off, rep+def, codec); s == nil || err != nil {
			return false, err
		}
		p.repEnc, p.defEnc = head[:rep:cap(head)], head[rep:]
	default:
		return false, nil
	}
	p.off, p.r, p.w = off+int64(h.CompressedPageSize), 0, 0
	p.stream = s
	if err != nil {
		return false, err
	}
	return true, p.hold(&p.page, values, format.Plain, nil)
}

// endStream makes sure that the streamed page at hand is as its header says.
func (p *pages) endStream() error {
	if p.stream == nil {
		return nil
	}
	err := p.stream.end()
	p.stream.close()
	p.stream = nil
	return err
}

// openStream begins a data page at offset off of the file, whose first skip
// bytes are not compressed and are given back, with padding behind them. It
// gives nil where the page must be held whole: its codec has no stream, or
// keeps too much.
func (p *pages) openStream(off int64, skip int, codec format.CompressionCodec) (s *pageStream, head []byte, err error) {
	h := &p.header
	s = &pageStream{codec: codec, left: int64(h.UncompressedPageSize) - int64(skip), done: func() {}}
	var body io.Reader = io.NewSectionReader(p.file.in, off, int64(h.CompressedPageSize))
	if h.CRC != 0 {
		s.crc, s.wantCRC = crc32.NewIEEE(), uint32(h.CRC)
		body = io.TeeReader(body, s.crc)
	}
	in := bufio.NewReaderSize(body, streamBuffer)
	head = make([]byte, skip, skip+padding)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, nil, corruptf("levels: %w", err)
	}
	var out io.Reader
	switch codec {
	case format.Uncompressed:
		out = in
	case format.Gzip:
		r, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, damaged(codec, err)
		}
		out = r
	case format.Brotli:
		out = brotli.NewReader(in)
	case format.Zstd:
		frame, err := in.Peek(zstd.HeaderMaxSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, damaged(codec, err)
		}
		var fh zstd.Header
		if err := fh.Decode(frame); err != nil || fh.Skippable || fh.SingleSegment && fh.FrameContentSize > streamWindow || fh.WindowSize > streamWindow {
			return nil, nil, nil //nolint:nilerr // whoever decodes it whole says what is wrong
		}
		d, _ := zstdStreams.Get().(*zstd.Decoder)
		if d == nil {
			if d, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(streamWindow)); err != nil {
				return nil, nil, err
			}
		}
		if err := d.Reset(in); err != nil {
			return nil, nil, damaged(codec, err)
		}
		s.done = func() {
			if d.Reset(nil) == nil {
				zstdStreams.Put(d)
			}
		}
		out = d
	default:
		return nil, nil, nil
	}
	s.values = streamReaders.Get().(*bufio.Reader)
	s.values.Reset(out)
	return s, head, nil
}

// read fills dst with the page's next bytes.
func (s *pageStream) read(dst []byte) error {
	if int64(len(dst)) > s.left {
		return short(len(dst), int(s.left))
	}
	s.left -= int64(len(dst))
	if _, err := io.ReadFull(s.values, dst); err != nil {
		return s.damage(err)
	}
	return nil
}

func (s *pageStream) damage(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corruptf("%s page ends before the bytes that its header claims: %w", s.codec, io.ErrUnexpectedEOF)
	}
	return damaged(s.codec, err)
}

// levels reads levels with their length before them, as a page of version 1
// has.
func (s *pageStream) levels(enc format.Encoding) ([]byte, error) {
	if enc != format.RLE {
		return nil, unsupportedf("levels in encoding %s", enc)
	}
	var length [4]byte
	if err := s.read(length[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(length[:])
	if int64(n) > s.left {
		return nil, corruptf("%d bytes, the page has %d: %w", n, s.left, io.ErrUnexpectedEOF)
	}
	levels := make([]byte, n, int(n)+padding)
	return levels, s.read(levels)
}

// appendPlain appends len(ends) PLAIN values of BYTE_ARRAY to data, which may
// have most bytes, and sets where each ends in data.
func (s *pageStream) appendPlain(data []byte, ends []int32, most int) ([]byte, error) {
	var length [4]byte
	for i := range ends {
		if err := s.read(length[:]); err != nil {
			return data, err
		}
		n := int64(binary.LittleEndian.Uint32(length[:]))
		if n > s.left {
			return data, short(int(n), int(s.left))
		}
		at := len(data)
		if int64(at)+n > int64(most) {
			return data, errBatchBytes
		}
		data = room(data, int(n))[:at+int(n)]
		if err := s.read(data[at:]); err != nil {
			return data, err
		}
		ends[i] = int32(len(data))
	}
	return data, nil
}

// end makes sure that the page has the bytes its header claims and no more, and
// that they are those of its checksum.
func (s *pageStream) end() error {
	if _, err := io.CopyN(io.Discard, s.values, s.left); err != nil {
		return s.damage(err)
	}
	if _, err := s.values.ReadByte(); err == nil {
		return corruptf("%s page has more bytes than its header claims", s.codec)
	} else if !errors.Is(err, io.EOF) {
		return damaged(s.codec, err)
	}
	if s.crc != nil && s.crc.Sum32() != s.wantCRC {
		return errChecksum
	}
	return nil
}

// close gives up the buffers.
func (s *pageStream) close() {
	s.values.Reset(nil)
	streamReaders.Put(s.values)
	s.done()
}
