package orc

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc/orcpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	magic = "ORC"
	// firstRead is read of the file's end at once; nearly every tail fits.
	firstRead = 16 << 10
	// maxMeta bounds decompressed metadata (a footer or a stripe's footer).
	maxMeta = 64 << 20
	// defaultBlock is the chunk size of files that do not say, maxBlock what
	// fits the 23 bits of a chunk's length.
	defaultBlock = 256 << 10
	maxBlock     = 1 << 23
	maxColumns   = 1 << 16
	maxStripes   = 1 << 20
	maxStreams   = 1 << 20
)

var unmarshal = proto.UnmarshalOptions{DiscardUnknown: true}

// readTail decodes the postscript and the footer.
func (f *File) readTail() error {
	if f.size < int64(len(magic))+1 {
		return corruptf("it has %d bytes, fewer than an ORC file can", f.size)
	}
	end := make([]byte, min(f.size, firstRead))
	if err := f.readAt(end, f.size-int64(len(end))); err != nil {
		return err
	}
	psLen := int64(end[len(end)-1])
	if psLen+1 > f.size-int64(len(magic)) {
		return corruptf("the postscript is %d bytes long in a file of %d", psLen, f.size)
	}
	var ps orcpb.PostScript
	if err := unmarshal.Unmarshal(end[int64(len(end))-1-psLen:len(end)-1], &ps); err != nil {
		return corruptf("postscript: %w", err)
	}
	if ps.GetMagic() != magic {
		// Before Hive 0.12 files had the magic at their start only.
		return corruptf("no ORC postscript at the end of the file: its magic is %q, required %q", clip(ps.GetMagic()), magic)
	}
	if v := ps.GetVersion(); len(v) > 0 && (v[0] != 0 || len(v) > 1 && v[1] > 12) {
		return unsupportedf("file version %v; this package reads 0.11 and 0.12", v)
	}
	if ps.GetStripeStatisticsLength() > 0 {
		return unsupportedf("encrypted columns: the postscript has encrypted stripe statistics")
	}
	f.codec = codec(ps.GetCompression())
	if err := f.codec.check(); err != nil {
		return err
	}
	block := ps.GetCompressionBlockSize()
	if block == 0 {
		block = defaultBlock
	}
	if f.codec != codecNone && block > maxBlock {
		return corruptf("compression block size %d, at most %d", block, maxBlock)
	}
	f.block = int(min(block, maxBlock))

	footerLen := ps.GetFooterLength()
	if footerLen > uint64(f.size-1-psLen) {
		return corruptf("the footer is %d bytes long in a file of %d", footerLen, f.size)
	}
	raw := make([]byte, 0)
	if tail := int64(footerLen) + psLen + 1; tail <= int64(len(end)) {
		raw = end[int64(len(end))-tail:][:footerLen]
	} else {
		if footerLen > maxMeta {
			return unsupportedf("a footer of %d bytes, at most %d", footerLen, maxMeta)
		}
		raw = append(raw, make([]byte, footerLen)...)
		if err := f.readAt(raw, f.size-tail); err != nil {
			return err
		}
	}
	f.footer = new(orcpb.Footer)
	if err := f.message(raw, f.footer, map[protowire.Number]int{3: maxStripes, 4: maxColumns}); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return f.checkFooter(f.size - 1 - psLen - int64(footerLen))
}

// checkFooter compares the stripes with the file: contentEnd is where they
// must have ended.
func (f *File) checkFooter(contentEnd int64) error {
	if f.footer.Encryption != nil {
		return unsupportedf("encrypted columns")
	}
	if f.footer.GetNumberOfRows() > math.MaxInt64 {
		return corruptf("%d rows", f.footer.GetNumberOfRows())
	}
	f.rows = int64(f.footer.GetNumberOfRows())
	left := uint64(f.rows)
	for i, s := range f.footer.GetStripes() {
		end := uint64(contentEnd)
		for _, n := range []uint64{s.GetOffset(), s.GetIndexLength(), s.GetDataLength(), s.GetFooterLength()} {
			if n > end {
				return corruptf("stripe %d reaches beyond the file's contents", i)
			}
			end -= n
		}
		if s.GetNumberOfRows() > left {
			return corruptf("the stripes have more than the %d rows of the footer", f.rows)
		}
		left -= s.GetNumberOfRows()
	}
	if left != 0 {
		return corruptf("the stripes have %d rows, the footer says %d", uint64(f.rows)-left, f.rows)
	}
	return nil
}

// message decompresses and decodes a metadata message. A repeated message
// takes far more memory than the two bytes an empty one has in the file, so
// limits has the most there may be of each by field number.
func (f *File) message(raw []byte, m proto.Message, limits map[protowire.Number]int) error {
	if f.codec != codecNone {
		var err error
		if raw, err = f.inflate(raw); err != nil {
			return err
		}
	}
	for b := raw; len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return corruptf("%w", protowire.ParseError(n))
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return corruptf("%w", protowire.ParseError(n))
		}
		b = b[n:]
		if most, ok := limits[number]; ok {
			if most == 0 {
				return unsupportedf("more repeated fields of number %d than this package takes", number)
			}
			limits[number] = most - 1
		}
	}
	if err := unmarshal.Unmarshal(raw, m); err != nil {
		return corruptf("%w", err)
	}
	return nil
}

// inflate decompresses all chunks of a metadata message.
func (f *File) inflate(raw []byte) ([]byte, error) {
	var out []byte
	for len(raw) > 0 {
		size, original, err := chunkHeader(raw)
		if err != nil {
			return nil, err
		}
		if raw = raw[3:]; size > len(raw) {
			return nil, corruptf("a chunk of %d bytes, %d are left", size, len(raw))
		}
		chunk := raw[:size]
		raw = raw[size:]
		if len(out)+f.block > maxMeta {
			return nil, unsupportedf("metadata of more than %d bytes", maxMeta)
		}
		if original {
			out = append(out, chunk...)
			continue
		}
		at := len(out)
		out = grow(out, at+f.block)
		n, err := f.codec.decompress(out[at:], chunk)
		if err != nil {
			return nil, err
		}
		out = out[:at+n]
	}
	return out, nil
}

func (f *File) readAt(p []byte, off int64) error {
	n, err := f.in.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = corruptf("it ends at byte %d, before the %d bytes it is said to have: %w", off+int64(n), f.size, io.ErrUnexpectedEOF)
	}
	return err
}

// clip shortens what a damaged file says for a message.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
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
