package orc

import (
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/orc/orcpb"
	"google.golang.org/protobuf/encoding/protowire"
)

// streamKind is a stream's role, numbered as in a stripe's footer.
type streamKind uint32

const (
	streamPresent    streamKind = 0
	streamData       streamKind = 1
	streamLength     streamKind = 2
	streamDictionary streamKind = 3
	streamSecondary  streamKind = 5
)

var streamNames = map[streamKind]string{streamPresent: "PRESENT", streamData: "DATA", streamLength: "LENGTH",
	streamDictionary: "DICTIONARY_DATA", streamSecondary: "SECONDARY"}

// encoding is a column's encoding in a stripe, numbered as in its footer.
type encoding uint32

const (
	encDirect       encoding = 0
	encDictionary   encoding = 1
	encDirectV2     encoding = 2
	encDictionaryV2 encoding = 3
)

// v2 tells the version of the integers' run-length encoding.
func (e encoding) v2() bool { return e == encDirectV2 || e == encDictionaryV2 }

// span is a part of the file.
type span struct{ off, length int64 }

type streamKey struct {
	column int
	kind   streamKind
}

// wholeStripe is the size up to which what is wanted of a stripe is read at
// once, with what lies between.
const wholeStripe = 1 << 20

// stripe is the stripe being read.
type stripe struct {
	file    *File
	zone    string // the writer's; empty if none is named
	columns []*orcpb.ColumnEncoding
	spans   map[streamKey]span
	all     []byte // the file from allOff on, if read at once
	allOff  int64
}

// openStripe reads the footer of a stripe and finds the streams of the columns
// in needed.
func (f *File) openStripe(i int, needed []bool, buf []byte) (*stripe, error) {
	info := f.footer.GetStripes()[i]
	if info.GetFooterLength() > maxMeta {
		return nil, unsupportedf("a stripe footer of %d bytes, at most %d", info.GetFooterLength(), maxMeta)
	}
	raw := make([]byte, info.GetFooterLength())
	streams := info.GetOffset()
	end := streams + info.GetIndexLength() + info.GetDataLength()
	if err := f.readAt(raw, int64(end)); err != nil {
		return nil, err
	}
	var footer orcpb.StripeFooter
	if err := f.message(raw, &footer, map[protowire.Number]int{1: maxStreams, 2: maxColumns}); err != nil {
		return nil, fmt.Errorf("stripe footer: %w", err)
	}
	if n := len(footer.GetColumns()); n != f.columns {
		return nil, corruptf("the stripe footer has encodings of %d columns, the file has %d", n, f.columns)
	}
	s := &stripe{file: f, zone: footer.GetWriterTimezone(), columns: footer.GetColumns(), spans: map[streamKey]span{}}
	first, last := end, streams
	at := streams
	for _, st := range footer.GetStreams() {
		if st.GetLength() > end-at {
			return nil, corruptf("the streams reach beyond the %d bytes of the stripe", end-streams)
		}
		off := at
		at += st.GetLength()
		if int64(st.GetColumn()) >= int64(f.columns) {
			return nil, corruptf("a stream of column %d, the file has %d", st.GetColumn(), f.columns)
		}
		kind := streamKind(st.GetKind())
		if !needed[st.GetColumn()] || streamNames[kind] == "" {
			continue
		}
		key := streamKey{int(st.GetColumn()), kind}
		if _, ok := s.spans[key]; ok {
			return nil, corruptf("column %d has two %s streams", key.column, streamNames[kind])
		}
		s.spans[key] = span{int64(off), int64(st.GetLength())}
		if st.GetLength() > 0 {
			first, last = min(first, off), max(last, at)
		}
	}
	if last > first && last-first <= wholeStripe {
		s.all, s.allOff = grow(buf[:0], int(last-first)), int64(first)
		if err := f.readAt(s.all, s.allOff); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// has tells whether a column has a stream.
func (s *stripe) has(n *node, kind streamKind) bool {
	_, ok := s.spans[streamKey{n.id, kind}]
	return ok
}

// bind makes st a column's stream of a kind, which is empty if the stripe has
// none.
func (s *stripe) bind(st *stream, n *node, kind streamKind) {
	sp := s.spans[streamKey{n.id, kind}]
	var data []byte
	if s.all != nil && sp.length > 0 {
		data = s.all[sp.off-s.allOff:][:sp.length]
	}
	st.reset(s.file, sp, data)
}

// encoding returns a column's encoding, which must be one of those accepted.
func (s *stripe) encoding(n *node, accepted ...encoding) (encoding, error) {
	e := encoding(s.columns[n.id].GetKind())
	for _, a := range accepted {
		if e == a {
			return e, nil
		}
	}
	return 0, unsupportedf("encoding of number %d of a column of type %s", uint32(e), n.kind)
}
