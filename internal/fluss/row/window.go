package row

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"slices"
)

// Window collects records and gives them out again in the order of their keys'
// bytes, which is the order in which a server's key-value store keeps them: it
// finds and inserts keys that come in this order, or near to it, at about half
// the cost. Rows in the order of their values are not in this order, because
// both key layouts are little-endian. The zero Window is empty. It is not safe
// for use by several goroutines.
type Window struct {
	chunks []Batch // memory of records; those from used on are free
	used   int
	recs   []windowRec
	other  []windowRec // memory for sorting
	size   int64
	expect int64 // of size, when full; 0: not known
	from   int   // of recs, the first that TakeInto has not given

	// The bytes that all keys begin with decide nothing. Paimon's layout has 8.
	first  []byte // the first key
	common int    // how many of its bytes all keys begin with
	late   int    // the record that shortened them; prefixes before it are wrong
}

// windowRec is where a record is.
type windowRec struct {
	prefix uint64 // of the key, behind what is common to all; big-endian
	place  uint32 // chunk and position in it
	length uint32 // of the whole record
}

const (
	// windowRecSize is what the window keeps of each record besides its bytes,
	// with the memory for sorting.
	windowRecSize = 32
	// windowChunk is how much is written into one piece of memory, so that a
	// growing window copies little. A longer record has a piece of its own.
	windowChunk = 1 << 20
	placeBits   = 21 // of a position in a chunk: windowChunk and a header
	// windowLearn is the number of records after which their mean size is known.
	windowLearn = 1024
)

// Expect tells that the window will be filled up to about that many bytes, as
// Size counts them, so that it grows once.
func (w *Window) Expect(size int64) { w.expect = size }

// Add adds a record as Batch.Add does. No record may be added between the first
// TakeInto and Reset. A window holds 2 GiB at most.
func (w *Window) Add(key *KeyEncoder, row *Encoder, keyPos, rowPos int) {
	if w.used == 0 || w.chunks[w.used-1].Size() >= windowChunk {
		if w.used == len(w.chunks) {
			var c Batch
			if w.used > 0 { // a small window needs less than one
				c.buf = make([]byte, 0, windowChunk+windowChunk/64)
			}
			w.chunks = append(w.chunks, c)
		}
		w.chunks[w.used].Reset(0)
		w.used++
	}
	c := &w.chunks[w.used-1]
	at := c.Size()
	c.Add(key, row, keyPos, rowPos)
	length := c.Size() - at
	k, _ := RecordKey(c.buf[at:])
	if len(w.recs) == 0 {
		w.first, w.common = append(w.first[:0], k...), len(k)
	}
	if len(k) < w.common || !bytes.Equal(k[:w.common], w.first[:w.common]) {
		n := min(w.common, len(k))
		for !bytes.Equal(k[:n], w.first[:n]) {
			n--
		}
		w.common, w.late = n, len(w.recs)
	}
	if len(w.recs) == cap(w.recs) && len(w.recs) >= windowLearn && w.size < w.expect {
		w.recs = slices.Grow(w.recs, int((w.expect-w.size)*int64(len(w.recs))/w.size)+windowLearn)
	}
	w.recs = append(w.recs, windowRec{prefix: keyPrefix(k[w.common:]), place: uint32((w.used-1)<<placeBits | at), length: uint32(length)})
	w.size += int64(length) + windowRecSize
}

// keyPrefix is the first 8 bytes of a key, as a number. Zeros follow a shorter
// one, so that two equal prefixes do not mean equal keys.
func keyPrefix(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// Rows returns the number of records added since Reset.
func (w *Window) Rows() int { return len(w.recs) }

// Size returns the bytes of memory that these take.
func (w *Window) Size() int64 { return w.size }

// Sort brings the records into the order of their keys' bytes, unsigned.
func (w *Window) Sort() {
	if len(w.recs) < 2 {
		return
	}
	for i, r := range w.recs[:w.late] {
		w.recs[i].prefix = keyPrefix(w.key(r)[w.common:])
	}
	w.sortByPrefix()
	// Where the prefix has not decided, whole keys do.
	for i := 0; i < len(w.recs); {
		j := i + 1
		for j < len(w.recs) && w.recs[j].prefix == w.recs[i].prefix {
			j++
		}
		if j-i > 1 {
			slices.SortFunc(w.recs[i:j], func(a, b windowRec) int { return bytes.Compare(w.key(a), w.key(b)) })
		}
		i = j
	}
}

// sortByPrefix is a radix sort from the last byte to the first. Bytes that are
// the same everywhere, of which numbers have many, cost nothing.
func (w *Window) sortByPrefix() {
	var counts [8][256]uint32
	for _, r := range w.recs {
		for b := range counts {
			counts[b][byte(r.prefix>>(8*b))]++
		}
	}
	w.other = slices.Grow(w.other[:0], len(w.recs))[:len(w.recs)]
	for b := range counts {
		count := &counts[b]
		if count[byte(w.recs[0].prefix>>(8*b))] == uint32(len(w.recs)) {
			continue
		}
		at := uint32(0)
		for v, n := range count {
			count[v] = at
			at += n
		}
		for _, r := range w.recs {
			v := byte(r.prefix >> (8 * b))
			w.other[count[v]] = r
			count[v]++
		}
		w.recs, w.other = w.other, w.recs
	}
}

// TakeInto moves records into b, in their order, until b has maxRows or is as
// large as maxBytes, or none is left, and tells how many are left.
func (w *Window) TakeInto(b *Batch, maxBytes, maxRows int) int {
	for w.from < len(w.recs) && b.Rows() < maxRows && b.Size() < maxBytes {
		b.AddRecord(w.record(w.recs[w.from]))
		w.from++
	}
	return len(w.recs) - w.from
}

// Next returns the next record, as Batch.AddRecord takes it, or nil when none is
// left. It shares the window's memory.
func (w *Window) Next() []byte {
	if w.from == len(w.recs) {
		return nil
	}
	w.from++
	return w.record(w.recs[w.from-1])
}

// WriteTo writes all records in their order, one behind the other, and leaves
// them in the window.
func (w *Window) WriteTo(to io.Writer) (int64, error) {
	out := bufio.NewWriterSize(to, 256<<10)
	var n int64
	for _, r := range w.recs {
		m, err := out.Write(w.record(r))
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, out.Flush()
}

// Reset empties the window, keeping its memory but that of single large records.
func (w *Window) Reset() {
	w.chunks = slices.DeleteFunc(w.chunks, func(c Batch) bool { return cap(c.buf) > 2*windowChunk })
	w.recs, w.used, w.size, w.from, w.late = w.recs[:0], 0, 0, 0, 0
}

// record is a whole record, with its length.
func (w *Window) record(r windowRec) []byte {
	at := r.place & (1<<placeBits - 1)
	return w.chunks[r.place>>placeBits].buf[at : at+r.length]
}

func (w *Window) key(r windowRec) []byte {
	key, _ := RecordKey(w.record(r))
	return key
}

// RecordKey is the key's part of a whole record, false when it has none.
func RecordKey(record []byte) ([]byte, bool) {
	if len(record) < 5 {
		return nil, false
	}
	rest := record[4:]
	n, used := uint64(rest[0]), 1
	if n >= 0x80 {
		n, used = binary.Uvarint(rest)
	}
	if used <= 0 || n > uint64(len(rest)-used) {
		return nil, false
	}
	return rest[used : used+int(n)], true
}
