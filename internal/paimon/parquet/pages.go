package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	readAhead = 64 << 10
	// maxHeader bounds a page header, which holds little but two statistics
	// values.
	maxHeader = 16 << 20
	// maxPage bounds an uncompressed page. Writers aim at 1 MiB and overshoot
	// by as much as a hundred values have before they look.
	maxPage = 1 << 30
	// chunkSlack is how far a chunk may reach past the size the footer gives:
	// old parquet-mr left the dictionary page's header out (PARQUET-816).
	chunkSlack = 100
)

// page is one data page, unpacked.
type page struct {
	off       int64  // in the file, for messages
	buf       []byte // what the page was unpacked into
	repEnc    []byte // its levels, RLE
	defEnc    []byte
	values    []byte // nil where they are streamed
	encoding  format.Encoding
	numValues int
}

// pages walks the pages of one leaf through all row groups. Its buffers hold
// one page, and are reused for the next; a page that is unpacked ahead has a
// buffer more.
type pages struct {
	page         // at hand
	ahead  page  // the one after it
	coming *task // which unpacks ahead; nil: it is not being unpacked
	file   *File
	leaf   *node
	group  int // row group at hand, -1 before the first

	codec     format.CompressionCodec
	off, end  int64 // of the chunk's bytes not read yet
	left      int64 // values of the chunk not met yet
	claimed   int64 // uncompressed bytes of the chunk, as the footer has it
	raw       []byte
	r, w      int // raw[r:w] is read from the file and not used yet
	header    format.PageHeader
	headerOff int64
	headed    bool // header is that of the page that raw[r:w] goes on with
	protocol  thrift.CompactProtocol
	reader    thrift.BytesReader
	decoder   *thrift.Decoder
	streams   bool // large pages may be
	stream    *pageStream
}

func (p *pages) init(f *File, leaf *node) {
	p.file, p.leaf, p.group = f, leaf, -1
	p.reader = p.protocol.NewReaderFromBytes(nil)
	p.decoder = thrift.NewDecoder(p.reader)
}

// release gives the buffers to other readers; the pages' bytes are gone.
func (p *pages) release() {
	if p.coming != nil {
		p.coming.cancel()
		p.coming = nil
		<-pagesAhead
	}
	putBuffer(p.raw)
	putBuffer(p.buf)
	putBuffer(p.ahead.buf)
	p.raw, p.page, p.ahead = nil, page{}, page{}
	if p.stream != nil {
		p.stream.close()
		p.stream = nil
	}
}

// nextGroup opens the leaf's chunk in the next row group; false after the last.
func (p *pages) nextGroup() (bool, error) {
	p.group++
	if p.group >= len(p.file.meta.RowGroups) {
		return false, nil
	}
	c := &p.file.meta.RowGroups[p.group].Columns[p.leaf.leaf]
	m := &c.MetaData
	if c.FilePath != "" {
		return false, unsupportedf("its data is in another file, %q", c.FilePath)
	}
	if c.CryptoMetadata.Value != nil || len(c.EncryptedColumnMetadata) > 0 {
		return false, unsupportedf("it is encrypted")
	}
	if m.Type != p.leaf.physical() {
		return false, corruptf("chunk of type %s, the schema says %s", m.Type, p.leaf.physical())
	}
	if m.NumValues == 0 { // an empty chunk need not have a place
		p.left = 0
		return true, nil
	}
	start := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	if m.NumValues < 0 || m.TotalCompressedSize < 0 || start < int64(len(magic)) || start > p.file.size ||
		m.TotalCompressedSize > p.file.size-start {
		return false, corruptf("chunk of %d values and %d bytes at offset %d in a file of %d bytes",
			m.NumValues, m.TotalCompressedSize, start, p.file.size)
	}
	p.codec, p.left, p.claimed = m.Codec, m.NumValues, m.TotalUncompressedSize
	p.off, p.end = start, min(start+m.TotalCompressedSize+chunkSlack, p.file.size)
	p.r, p.w, p.headed = 0, 0, false
	return true, nil
}

// have makes raw[r:w] hold at least n bytes.
func (p *pages) have(n int) error {
	if p.w-p.r >= n {
		return nil
	}
	left := p.w - p.r
	if int64(n-left) > p.end-p.off {
		return corruptf("the column chunk ends %d bytes too early: %w", int64(n-left)-(p.end-p.off), io.ErrUnexpectedEOF)
	}
	size := int(min(int64(max(n, readAhead)), int64(left)+p.end-p.off))
	if cap(p.raw) < size {
		grown := getBuffer(size)
		grown = grown[:cap(grown)]
		copy(grown, p.raw[p.r:p.w])
		putBuffer(p.raw)
		p.raw = grown
	} else {
		copy(p.raw[:cap(p.raw)], p.raw[p.r:p.w])
	}
	p.raw = p.raw[:cap(p.raw)]
	more := int(min(int64(len(p.raw)-left), p.end-p.off))
	if err := readFull(p.file.in, p.raw[left:left+more], p.off); err != nil {
		return err
	}
	p.off += int64(more)
	p.r, p.w = 0, left+more
	return nil
}

// readHeader decodes the page header at hand and takes it from raw, unless that
// has been done.
func (p *pages) readHeader() error {
	if p.headed {
		p.headed = false
		return nil
	}
	p.headerOff = p.off - int64(p.w-p.r)
	want := 1
	for {
		if err := p.have(want); err != nil {
			return err
		}
		n, err := scanStruct(p.raw[p.r:p.w])
		if errors.Is(err, io.ErrUnexpectedEOF) && p.w-p.r < maxHeader {
			want = min(2*(p.w-p.r), int(min(maxHeader, int64(p.w-p.r)+p.end-p.off)))
			if want <= p.w-p.r { // the chunk has no more bytes
				return corruptf("page header: %w", err)
			}
			continue
		}
		if err != nil {
			return corruptf("page header: %w", err)
		}
		p.header = format.PageHeader{}
		p.reader.ResetBytes(p.raw[p.r : p.r+n])
		p.decoder.Reset(p.reader)
		if err := p.decoder.Decode(&p.header); err != nil {
			return corruptf("page header: %w", err)
		}
		p.r += n
		break
	}
	h := &p.header
	if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
		return corruptf("page of %d bytes, %d uncompressed", h.CompressedPageSize, h.UncompressedPageSize)
	}
	if n := int64(h.UncompressedPageSize); n > smallPage {
		if n > int64(h.CompressedPageSize)*maxRatio(p.codec) {
			return corruptf("page of %d bytes claims to hold %d uncompressed, more than %s can",
				h.CompressedPageSize, n, p.codec)
		}
		// Writers differ in what they count, but a page is no larger than twice its chunk.
		if n > 2*p.claimed {
			return corruptf("page claims %d bytes uncompressed, its column chunk %d", n, p.claimed)
		}
	}
	return nil
}

// dictionaryPage is what a dictionary page holds: count values in PLAIN form.
type dictionaryPage struct {
	data  []byte
	count int
}

// next reads the next page of the chunk. It returns either a dictionary, or nil
// with the data page in p. Their bytes are valid until the following call and
// have padding behind them.
func (p *pages) next() (*dictionaryPage, error) {
	for {
		err := p.readHeader()
		p.page.off = p.headerOff
		if err != nil {
			return nil, err
		}
		if streamed, err := p.tryStream(); streamed || err != nil {
			return nil, err
		}
		body, err := p.body()
		if err != nil {
			return nil, err
		}
		h := &p.header
		switch h.Type {
		case format.DictionaryPage:
			if !h.DictionaryPageHeader.Valid {
				return nil, corruptf("dictionary page without its header")
			}
			d := &h.DictionaryPageHeader.V
			if d.Encoding != format.Plain && d.Encoding != format.PlainDictionary { //nolint:staticcheck // old files name it so
				return nil, unsupportedf("dictionary in encoding %s", d.Encoding)
			}
			if d.NumValues < 0 {
				return nil, corruptf("dictionary of %d values", d.NumValues)
			}
			data := p.room(0, int(h.UncompressedPageSize))
			if err := decompress(p.codec, data, body); err != nil {
				return nil, err
			}
			return &dictionaryPage{data, int(d.NumValues)}, nil
		case format.DataPage:
			return nil, p.dataV1(&p.page, body)
		case format.DataPageV2:
			return nil, p.dataV2(&p.page, body)
		case format.IndexPage:
			continue
		default:
			return nil, unsupportedf("page of type %d", h.Type)
		}
	}
}

// body takes the bytes of the page at hand, as they are in the file, from raw.
func (p *pages) body() ([]byte, error) {
	h := &p.header
	if err := p.have(int(h.CompressedPageSize)); err != nil {
		return nil, err
	}
	body := p.raw[p.r : p.r+int(h.CompressedPageSize)]
	p.r += len(body)
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(body) {
		return nil, errChecksum
	}
	return body, nil
}

// aheadMost is the uncompressed size up to which a page is unpacked ahead, and
// aheadPages how many of all readers may be at once.
const (
	aheadMost  = 2 << 20
	aheadPages = 6
)

var pagesAhead = make(chan struct{}, aheadPages)

// lookAhead has the chunk's next page unpacked while the one at hand is in use,
// if there is a processor for it.
func (p *pages) lookAhead() {
	if p.coming != nil || p.left == 0 || p.stream != nil || p.headed || cap(helpers) == 0 {
		return
	}
	select {
	case pagesAhead <- struct{}{}:
	default:
		return
	}
	if p.coming = begin(p.unpackAhead); p.coming == nil {
		<-pagesAhead
	}
}

// unpackAhead unpacks the next page into ahead, or reads no more than its header
// where it is not one of data or too large. It touches nothing of the page at
// hand.
func (p *pages) unpackAhead() error {
	p.ahead.numValues = 0
	err := p.readHeader()
	p.ahead.off = p.headerOff
	if err != nil {
		return err
	}
	h := &p.header
	if h.UncompressedPageSize > aheadMost || h.Type != format.DataPage && h.Type != format.DataPageV2 {
		p.headed = true
		return nil
	}
	body, err := p.body()
	if err != nil {
		return err
	}
	if h.Type == format.DataPage {
		return p.dataV1(&p.ahead, body)
	}
	return p.dataV2(&p.ahead, body)
}

// takeAhead makes the page that was unpacked ahead, if there is one, the page at
// hand.
func (p *pages) takeAhead() (bool, error) {
	if p.coming == nil {
		return false, nil
	}
	err := p.coming.result()
	p.coming = nil
	<-pagesAhead
	if err == nil && p.headed {
		return false, nil
	}
	p.page, p.ahead = p.ahead, p.page
	putBuffer(p.ahead.buf)
	p.ahead = page{}
	return true, err
}

var errChecksum = corruptf("checksum of the page does not match its bytes")

// room returns n bytes of buf behind the first skip ones, with padding behind.
func (p *page) room(skip, n int) []byte {
	if need := skip + n + padding; cap(p.buf) < need {
		grown := append(getBuffer(need), p.buf[:skip]...)
		putBuffer(p.buf)
		p.buf = grown
	}
	return p.buf[skip : skip+n]
}

// shed gives up a buffer of compressed bytes above most bytes once they are
// used.
func (p *pages) shed(most int) {
	if cap(p.raw) > most {
		rest := append(getBuffer(max(p.w-p.r, readAhead)), p.raw[p.r:p.w]...)
		putBuffer(p.raw)
		p.raw, p.r, p.w = rest[:cap(rest)], 0, len(rest)
	}
}

// dictionaryUsed gives up the buffers of a dictionary page, whose pages of
// indexes take far less: of many columns that would be another copy of all.
func (p *pages) dictionaryUsed() {
	if cap(p.buf) > readAhead {
		putBuffer(p.buf)
		p.buf = nil
	}
	p.shed(4 * readAhead)
}

func (p *pages) dataV1(to *page, body []byte) error {
	if !p.header.DataPageHeader.Valid {
		return corruptf("data page without its header")
	}
	h := &p.header.DataPageHeader.V
	data := to.room(0, int(p.header.UncompressedPageSize))
	if err := decompress(p.codec, data, body); err != nil {
		return err
	}
	p.shed(2 * readAhead)
	var err error
	to.repEnc, to.defEnc = nil, nil
	if p.leaf.rep > 0 {
		if to.repEnc, data, err = levelsV1(data, h.RepetitionLevelEncoding); err != nil {
			return fmt.Errorf("repetition levels: %w", err)
		}
	}
	if p.leaf.def > 0 {
		if to.defEnc, data, err = levelsV1(data, h.DefinitionLevelEncoding); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
	}
	return p.hold(to, h.NumValues, h.Encoding, data)
}

func levelsV1(data []byte, enc format.Encoding) (levels, rest []byte, err error) {
	if enc != format.RLE {
		return nil, nil, unsupportedf("levels in encoding %s", enc)
	}
	if len(data) < 4 {
		return nil, nil, corruptf("%w", io.ErrUnexpectedEOF)
	}
	n := binary.LittleEndian.Uint32(data)
	if data = data[4:]; uint64(n) > uint64(len(data)) {
		return nil, nil, corruptf("%d bytes, the page has %d: %w", n, len(data), io.ErrUnexpectedEOF)
	}
	return data[:n], data[n:], nil
}

func (p *pages) dataV2(to *page, body []byte) error {
	if !p.header.DataPageHeaderV2.Valid {
		return corruptf("data page without its header")
	}
	h := &p.header.DataPageHeaderV2.V
	rep, def := int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep > len(body) || def > len(body)-rep {
		return corruptf("levels of %d and %d bytes in a page of %d", rep, def, len(body))
	}
	// The levels stand uncompressed before the values.
	levels := rep + def
	size := int(p.header.UncompressedPageSize) - levels
	if size < 0 {
		return corruptf("levels of %d bytes in a page of %d uncompressed", levels, p.header.UncompressedPageSize)
	}
	head := to.room(0, levels+padding)
	copy(head, body[:levels])
	data := to.room(levels+padding, size)
	codec := p.codec
	if h.IsCompressed.Valid && !h.IsCompressed.V {
		codec = format.Uncompressed
	}
	if size > 0 || len(body) > levels && codec == format.Uncompressed {
		if err := decompress(codec, data, body[levels:]); err != nil {
			return err
		}
	}
	p.shed(2 * readAhead)
	to.repEnc, to.defEnc = to.buf[:rep:levels+padding], to.buf[rep:levels:levels+padding]
	return p.hold(to, h.NumValues, h.Encoding, data)
}

// hold makes to a page of n values.
func (p *pages) hold(to *page, n int32, enc format.Encoding, data []byte) error {
	if n < 0 || int64(n) > p.left {
		return corruptf("page of %d values, the column chunk has %d left", n, p.left)
	}
	p.left -= int64(n)
	to.numValues, to.encoding, to.values = int(n), enc, data
	return nil
}

// levelWidth is the number of bits of a level.
func levelWidth(highest uint8) uint { return uint(bits.Len8(highest)) }
