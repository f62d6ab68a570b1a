package row

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Record is one record of a KV batch, sharing memory with the batch's bytes. A
// nil Row deletes the key.
type Record struct{ Key, Row []byte }

// KVBatch is a KV record batch read back.
type KVBatch struct {
	SchemaID int16
	WriterID int64
	Sequence int32
	Records  []Record
}

// DecodeBatch reads one whole KV record batch and checks its length, version,
// checksum and record count. Keys and rows are not looked into.
func DecodeBatch(data []byte) (*KVBatch, error) {
	if len(data) < batchHeader || len(data) > math.MaxInt32 {
		return nil, fmt.Errorf("fluss: row: batch of %d bytes, need %d at least", len(data), batchHeader)
	}
	le := binary.LittleEndian
	if size := le.Uint32(data[offsetLength:]); int64(size) != int64(len(data)-offsetMagic) {
		return nil, fmt.Errorf("fluss: row: batch of %d bytes says %d follow its length, need %d", len(data), size, len(data)-offsetMagic)
	}
	if magic := data[offsetMagic]; magic != 0 {
		return nil, fmt.Errorf("fluss: row: batch of version (magic) %d, need 0", magic)
	}
	if found, need := le.Uint32(data[offsetCRC:]), crc32.Checksum(data[offsetSchema:], castagnoli); found != need {
		return nil, fmt.Errorf("fluss: row: batch with checksum %08x, need %08x", found, need)
	}
	b := &KVBatch{
		SchemaID: int16(le.Uint16(data[offsetSchema:])),
		WriterID: int64(le.Uint64(data[offsetWriter:])),
		Sequence: int32(le.Uint32(data[offsetSequence:])),
	}
	count := int(int32(le.Uint32(data[offsetCount:])))
	d := decoder{data[batchHeader:]}
	const leastRecord = 5 // length and key length
	if count < 0 || count > len(d.rest)/leastRecord {
		return nil, fmt.Errorf("fluss: row: batch of %d bytes says it has %d records", len(data), count)
	}
	b.Records = make([]Record, count)
	for i := range b.Records {
		var err error
		if b.Records[i], err = d.record(); err != nil {
			return nil, fmt.Errorf("fluss: row: record %d of %d: %w", i, count, err)
		}
	}
	if len(d.rest) > 0 {
		return nil, fmt.Errorf("fluss: row: %d bytes behind the last record", len(d.rest))
	}
	return b, nil
}

func (d *decoder) record() (Record, error) {
	size, err := d.take(4)
	if err != nil {
		return Record{}, err
	}
	body, err := d.take(int(int32(binary.LittleEndian.Uint32(size))))
	if err != nil {
		return Record{}, err
	}
	r := decoder{body}
	key, err := r.counted()
	if err != nil {
		return Record{}, fmt.Errorf("key: %w", err)
	}
	if len(r.rest) == 0 {
		return Record{Key: key}, nil
	}
	return Record{Key: key, Row: r.rest}, nil
}
