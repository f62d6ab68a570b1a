package orc

import (
	"bytes"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc/orcpb"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"google.golang.org/protobuf/proto"
)

// builder writes ORC files byte by byte, sound ones and others.
type builder struct {
	codec   codec
	block   int
	types   []*orcpb.Type
	stripes []builtStripe
	ps      func(*orcpb.PostScript)
	footer  func(*orcpb.Footer)
	end     func(*orcpb.StripeFooter)
}

type builtStripe struct {
	rows      uint64
	zone      string
	encodings []*orcpb.ColumnEncoding // nil: all DIRECT_V2 but of structs and numbers of a fixed width
	streams   []builtStream
}

type builtStream struct {
	column int
	kind   streamKind
	data   []byte
	raw    bool // data is as it stands in the file
}

func typeOf(k fileKind, below ...uint32) *orcpb.Type {
	return &orcpb.Type{Kind: proto.Uint32(uint32(k)), Subtypes: below}
}

func structOf(names []string, below ...uint32) *orcpb.Type {
	t := typeOf(kindStruct, below...)
	t.FieldNames = names
	return t
}

// one is a file of one column "c" of a type without types below.
func one(k fileKind, rows uint64, streams ...builtStream) builder {
	return builder{types: []*orcpb.Type{structOf([]string{"c"}, 1), typeOf(k)}, stripes: []builtStripe{{rows: rows, streams: streams}}}
}

func compress(c codec, b []byte) []byte {
	switch c {
	case codecZlib:
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, 6)
		_, _ = w.Write(b)
		_ = w.Close()
		return out.Bytes()
	case codecSnappy:
		return snappy.Encode(nil, b)
	case codecLZ4:
		out := make([]byte, lz4.CompressBlockBound(len(b)))
		n, _ := lz4.CompressBlock(b, out, nil)
		return out[:n]
	case codecZstd:
		w, _ := zstd.NewWriter(nil)
		return w.EncodeAll(b, nil)
	}
	return b
}

// chunks compresses b, every other chunk left as it is.
func (f builder) chunks(b []byte) (out []byte) {
	if f.codec == codecNone {
		return b
	}
	for i := 0; len(b) > 0; i++ {
		n := min(len(b), f.block)
		chunk, original := compress(f.codec, b[:n]), 0
		if len(chunk) == 0 || len(chunk) > n || i%2 == 1 {
			chunk, original = b[:n], 1
		}
		v := len(chunk)<<1 | original
		out = append(append(out, byte(v), byte(v>>8), byte(v>>16)), chunk...)
		b = b[n:]
	}
	return out
}

func marshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func (f builder) bytes() []byte {
	if f.block == 0 {
		f.block = 64
	}
	out := []byte(magic)
	footer := &orcpb.Footer{Types: f.types, HeaderLength: proto.Uint64(3)}
	rows := uint64(0)
	for _, s := range f.stripes {
		info := &orcpb.StripeInformation{Offset: proto.Uint64(uint64(len(out))), NumberOfRows: proto.Uint64(s.rows), IndexLength: proto.Uint64(0)}
		end := &orcpb.StripeFooter{WriterTimezone: proto.String(s.zone), Columns: s.encodings}
		for _, t := range f.types[len(s.encodings):] {
			e := encDirect
			switch fileKind(t.GetKind()) {
			case kindShort, kindInt, kindLong, kindDate, kindString, kindVarchar, kindChar, kindBinary, kindDecimal, kindTimestamp, kindInstant, kindList, kindMap:
				e = encDirectV2
			}
			end.Columns = append(end.Columns, &orcpb.ColumnEncoding{Kind: proto.Uint32(uint32(e))})
		}
		start := len(out)
		for _, st := range s.streams {
			data := st.data
			if !st.raw {
				data = f.chunks(data)
			}
			end.Streams = append(end.Streams, &orcpb.Stream{Kind: proto.Uint32(uint32(st.kind)), Column: proto.Uint32(uint32(st.column)), Length: proto.Uint64(uint64(len(data)))})
			out = append(out, data...)
		}
		info.DataLength = proto.Uint64(uint64(len(out) - start))
		if f.end != nil {
			f.end(end)
		}
		tail := f.chunks(marshal(end))
		info.FooterLength = proto.Uint64(uint64(len(tail)))
		out = append(out, tail...)
		footer.Stripes = append(footer.Stripes, info)
		rows += s.rows
	}
	footer.NumberOfRows = proto.Uint64(rows)
	if f.footer != nil {
		f.footer(footer)
	}
	tail := f.chunks(marshal(footer))
	ps := &orcpb.PostScript{FooterLength: proto.Uint64(uint64(len(tail))), Compression: proto.Uint32(uint32(f.codec)),
		CompressionBlockSize: proto.Uint64(uint64(f.block)), Version: []uint32{0, 12}, Magic: proto.String(magic)}
	if f.ps != nil {
		f.ps(ps)
	}
	post := marshal(ps)
	return append(append(append(out, tail...), post...), byte(len(post)))
}

type (
	typeMessage     = orcpb.Type
	encodingMessage = orcpb.ColumnEncoding
)

// nestedFile has structs that are null, so that those below are not there: c is
// ROW<x BIGINT, l ARRAY<BIGINT>> of (1, [7]), null, (null, null), (3, [8, 9]).
func nestedFile() builder {
	return builder{
		types: []*orcpb.Type{structOf([]string{"c"}, 1), structOf([]string{"x", "l"}, 2, 3), typeOf(kindLong), typeOf(kindList, 4), typeOf(kindLong)},
		stripes: []builtStripe{{rows: 4, streams: []builtStream{
			{column: 1, kind: streamPresent, data: []byte{0xff, 0xb0}},
			{column: 2, kind: streamPresent, data: []byte{0xff, 0xa0}}, {column: 2, kind: streamData, data: []byte{0x46, 0x01, 0x26}},
			{column: 3, kind: streamPresent, data: []byte{0xff, 0xa0}}, {column: 3, kind: streamLength, data: []byte{0x46, 0x01, 0x12}},
			{column: 4, kind: streamData, data: []byte{0xc0, 0x02, 0x0e, 0x02}},
		}}},
	}
}
