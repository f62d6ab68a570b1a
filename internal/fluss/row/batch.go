package row

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// A KV record batch (magic 0, little-endian) begins with this header; records
// follow, each an int32 length of the rest, an unsigned LEB128 key length, the
// key, and the row. A record without row bytes deletes its key.
const (
	offsetLength   = 0  // int32, of everything behind it
	offsetMagic    = 4  // int8
	offsetCRC      = 5  // uint32, CRC-32C of everything behind it
	offsetSchema   = 9  // int16
	offsetWriter   = 12 // int64, behind one byte of attributes
	offsetSequence = 20 // int32
	offsetCount    = 24 // int32
	batchHeader    = 28
)

// NoWriter and NoSequence are the writer id and sequence of a batch sent without
// the server's check for repeats.
const (
	NoWriter   int64 = -1
	NoSequence int32 = -1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one KV record batch being built, reusable through Reset. The zero
// Batch is empty and of schema 0. It is not safe for use by several goroutines.
//
// Fluss servers refuse more than 131,023 changelog records in a batch (an update
// makes two) and frames above 100 MB: the caller bounds Rows and Size.
type Batch struct {
	buf    []byte
	rows   int
	schema int16
}

// NewBatch returns an empty batch with memory for about size bytes.
func NewBatch(size int) *Batch { return &Batch{buf: make([]byte, 0, batchHeader+size)} }

// Reset empties b for rows of the given schema, keeping its memory.
func (b *Batch) Reset(schemaID int16) {
	b.buf = appendZeros(b.buf[:0], batchHeader)
	b.rows, b.schema = 0, schemaID
}

// Add appends the record of row rowPos of row's bound batch under the key
// keyPos of key's. A nil row deletes the key. Nothing is copied twice and
// nothing allocated once b's memory has grown.
func (b *Batch) Add(key *KeyEncoder, row *Encoder, keyPos, rowPos int) {
	buf, at := b.begin()
	buf = key.Append(buf, keyPos)
	buf = setLength(buf, at+4)
	if row != nil {
		buf = row.Append(buf, rowPos)
	}
	b.end(buf, at)
}

// AddRaw appends a record of encoded key and row bytes. A nil row deletes the
// key.
func (b *Batch) AddRaw(key, row []byte) {
	buf, at := b.begin()
	buf = append(buf, key...)
	buf = setLength(buf, at+4)
	b.end(append(buf, row...), at)
}

// AddRecord appends a whole record, its length included, as a Window gives it.
func (b *Batch) AddRecord(record []byte) {
	if len(b.buf) < batchHeader {
		b.Reset(b.schema)
	}
	b.buf = append(b.buf, record...)
	b.rows++
}

// begin appends room for a record's length and a one-byte key length.
func (b *Batch) begin() (buf []byte, at int) {
	if len(b.buf) < batchHeader {
		b.Reset(b.schema)
	}
	return append(b.buf, 0, 0, 0, 0, 0), len(b.buf)
}

// end fills in the length of the record that began at at.
func (b *Batch) end(buf []byte, at int) {
	binary.LittleEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	b.buf = buf
	b.rows++
}

// Rows returns the number of records, deletes included.
func (b *Batch) Rows() int { return b.rows }

// Size returns the number of bytes Finish would return.
func (b *Batch) Size() int { return max(len(b.buf), batchHeader) }

// Finish fills in the header and checksum and returns the whole batch, which
// shares b's memory until the next Reset or Add. It may be called again, to send
// the same records under another writer id or sequence. It returns nil when b is
// larger than the format can say, 2 GiB.
func (b *Batch) Finish(writerID int64, sequence int32) []byte {
	if len(b.buf) < batchHeader {
		b.Reset(b.schema)
	}
	if len(b.buf) > math.MaxInt32 {
		return nil
	}
	le := binary.LittleEndian
	le.PutUint32(b.buf[offsetLength:], uint32(len(b.buf)-offsetMagic))
	b.buf[offsetMagic] = 0
	le.PutUint16(b.buf[offsetSchema:], uint16(b.schema))
	b.buf[offsetSchema+2] = 0 // attributes
	le.PutUint64(b.buf[offsetWriter:], uint64(writerID))
	le.PutUint32(b.buf[offsetSequence:], uint32(sequence))
	le.PutUint32(b.buf[offsetCount:], uint32(b.rows))
	le.PutUint32(b.buf[offsetCRC:], crc32.Checksum(b.buf[offsetSchema:], castagnoli))
	return b.buf
}
