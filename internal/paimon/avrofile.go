package paimon

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// Bounds of an Avro metadata file: unpacked bytes of the whole, bytes of one
// value, elements of one array.
const (
	maxAvroBytes = 1 << 30
	maxAvroField = 64 << 20
	maxAvroSlice = 1 << 20
)

// avroArrays are the arrays that this package decodes. The library skips other
// arrays without looking whether their length can be true.
var avroArrays = map[string]bool{
	"_NULL_COUNTS": true, "_EXTRA_FILES": true, "_VALUE_STATS_COLS": true, "_WRITE_COLS": true, "_DELETIONS_VECTORS_RANGES": true,
}

// readAvro decodes every record of an Avro object container file into a T, by
// the field names of the writer's schema: fields that T lacks are skipped,
// those that the file lacks stay zero. Required lists the top-level fields
// that must be there. File names the file in errors.
func readAvro[T any](file string, data []byte, required ...string) (records []T, err error) {
	// A configuration of its own per file, because it caches each schema.
	cfg := avro.Config{MaxByteSliceSize: maxAvroField, MaxSliceAllocSize: maxAvroSlice}.Freeze()
	values := avro.NewReader(nil, 0, avro.WithReaderConfig(cfg))
	err = walkAvro(file, data, required, func(schema avroSchema, count int64, block []byte) error {
		if schema.foreignArrays {
			s := skimmer{r: values.Reset(block), left: int64(len(block))}
			for range count {
				s.skim(schema.record)
			}
			if values.Error != nil {
				return fmt.Errorf("after record %d: %w", len(records), values.Error)
			}
		}
		values.Reset(block)
		for range count {
			var r T
			values.ReadVal(schema.record, &r)
			if values.Error != nil {
				return fmt.Errorf("record %d: %w", len(records), values.Error)
			}
			records = append(records, r)
		}
		if _ = values.Peek(); !errors.Is(values.Error, io.EOF) {
			return fmt.Errorf("a block has bytes after its last record")
		}
		values.Error = nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// avroSchema is a file's own schema: a record, without recursion.
type avroSchema struct {
	record        *avro.RecordSchema
	foreignArrays bool // there are arrays or maps besides those in avroArrays
}

// walkAvro gives the blocks of an Avro object container file, unpacked, with
// how many records they say they have. A block is only good until the next one.
//
// The container's frames are walked here rather than by the library's own
// container reader, which takes memory by lengths it has not checked, does not
// bound what a block unpacks to, and takes a file cut within a block for a
// whole one.
func walkAvro(file string, data []byte, required []string, block func(schema avroSchema, count int64, block []byte) error) error {
	if err := safego.Do(func() error { return walkContainer(data, required, block) }); err != nil {
		return corrupt(file, "%w", err)
	}
	return nil
}

func walkContainer(data []byte, required []string, each func(schema avroSchema, count int64, block []byte) error) error {
	cfg := avro.Config{MaxByteSliceSize: maxAvroField, MaxSliceAllocSize: maxAvroSlice}.Freeze()
	in := avro.NewReader(nil, 0, avro.WithReaderConfig(cfg)).Reset(data)
	var h ocf.Header
	in.ReadVal(ocf.HeaderSchema, &h)
	if in.Error != nil {
		return fmt.Errorf("header: %w", in.Error)
	}
	if h.Magic != [4]byte{'O', 'b', 'j', 1} {
		return fmt.Errorf("it does not begin as an Avro container does")
	}
	// A cache of names of its own: files repeat record names for other records.
	parsed, err := avro.ParseBytesWithCache(h.Meta["avro.schema"], "", &avro.SchemaCache{})
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	schema, err := checkAvroSchema(parsed, required)
	if err != nil {
		return err
	}
	left := int64(maxAvroBytes)
	codec := ocf.CodecName(h.Meta["avro.codec"])
	if codec == "" {
		codec = ocf.Null
	}
	var packed, unpacked []byte
	for {
		if _ = in.Peek(); errors.Is(in.Error, io.EOF) {
			return nil
		}
		count, size := in.ReadLong(), in.ReadLong()
		if in.Error != nil {
			return fmt.Errorf("block header: %w", in.Error)
		}
		if count < 0 || size < 0 || size > int64(len(data)) {
			return fmt.Errorf("a block says it has %d records in %d bytes; the file has %d bytes", count, size, len(data))
		}
		packed = slices.Grow(packed[:0], int(size))[:size]
		in.Read(packed)
		var sync [16]byte
		in.Read(sync[:])
		if in.Error != nil {
			return fmt.Errorf("the file ends within a block: %w", in.Error)
		}
		if sync != h.Sync {
			return fmt.Errorf("a block is not followed by the file's marker")
		}
		block, err := unpack(codec, packed, unpacked[:0], left)
		if err != nil {
			return err
		}
		left -= int64(len(block))
		if count > int64(len(block)) {
			return fmt.Errorf("a block says it has %d records in %d bytes", count, len(block))
		}
		if err := each(schema, count, block); err != nil {
			return err
		}
		if codec != ocf.Null {
			unpacked = block
		}
	}
}

// zstdDecoder is stateless in the way it is used here, and shared.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxAvroBytes))
})

// unpack undoes a block's codec, into buf where it has room; more than limit
// bytes are an error. Without a codec it returns the block itself.
func unpack(codec ocf.CodecName, block, buf []byte, limit int64) ([]byte, error) {
	tooBig := fmt.Errorf("it unpacks to more than %d bytes", int64(maxAvroBytes))
	switch codec {
	case ocf.Null:
	case ocf.Deflate:
		out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(block)), limit+1))
		if err != nil {
			return nil, fmt.Errorf("deflate block: %w", err)
		}
		block = out
	case ocf.Snappy:
		if len(block) < 4 {
			return nil, fmt.Errorf("snappy block of %d bytes has no checksum", len(block))
		}
		body, sum := block[:len(block)-4], block[len(block)-4:]
		n, err := snappy.DecodedLen(body)
		if err != nil {
			return nil, fmt.Errorf("snappy block: %w", err)
		}
		// No snappy element makes more than 64 bytes of 2.
		if int64(n) > limit || n > 32*len(body)+64 {
			return nil, tooBig
		}
		out, err := snappy.Decode(nil, body)
		if err != nil {
			return nil, fmt.Errorf("snappy block: %w", err)
		}
		if [4]byte(sum) != beUint32(crc32.ChecksumIEEE(out)) {
			return nil, fmt.Errorf("snappy block: the checksum is wrong")
		}
		block = out
	case ocf.ZStandard:
		dec, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		// The decoder takes as much memory as the frame says it needs; no
		// block of 4 bytes makes more than 128 KiB.
		var h zstd.Header
		if h.Decode(block) == nil && h.HasFCS && h.FrameContentSize > uint64(min(limit, 1<<15*int64(len(block)))) {
			return nil, fmt.Errorf("zstandard block of %d bytes says it unpacks to %d", len(block), h.FrameContentSize)
		}
		if block, err = dec.DecodeAll(block, buf); err != nil {
			return nil, fmt.Errorf("zstandard block: %w", err)
		}
	default:
		return nil, fmt.Errorf("its codec is %q; this reader knows null, deflate, snappy and zstandard", clip(string(codec)))
	}
	if int64(len(block)) > limit {
		return nil, tooBig
	}
	return block, nil
}

func beUint32(n uint32) [4]byte { return [4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} }

// maxSchemaFields bounds the values of one record of a metadata file, where it
// has no arrays: without it a schema of a few lines, whose records name one
// another twice, describes records without end.
const maxSchemaFields = 1000

// checkAvroSchema asks for a record with the required fields, and refuses
// recursive types, which metadata does not have and which a decoder can
// exhaust its stack on.
func checkAvroSchema(s avro.Schema, required []string) (avroSchema, error) {
	rec, ok := s.(*avro.RecordSchema)
	if !ok {
		return avroSchema{}, fmt.Errorf("its schema is not a record")
	}
	out := avroSchema{record: rec}
	names := map[string]bool{}
	for _, f := range rec.Fields() {
		names[f.Name()] = true
	}
	for _, want := range required {
		if !names[want] {
			return out, fmt.Errorf("its records have no field %s", want)
		}
	}
	open, sizes := map[avro.Schema]bool{}, map[avro.Schema]int{}
	var walk func(s avro.Schema, name string) (int, error)
	walk = func(s avro.Schema, name string) (size int, err error) {
		if size, ok := sizes[s]; ok {
			return size, nil
		}
		if open[s] || len(open) > maxTypeDepth {
			return 0, fmt.Errorf("its schema is recursive or nested more than %d deep", maxTypeDepth)
		}
		open[s] = true
		defer delete(open, s)
		size = 1
		child := func(s avro.Schema, name string) {
			var n int
			if err == nil {
				n, err = walk(s, name)
			}
			if size += n; err == nil && size > maxSchemaFields {
				err = fmt.Errorf("its records have more than %d values", maxSchemaFields)
			}
		}
		switch s := s.(type) {
		case *avro.RecordSchema:
			for _, f := range s.Fields() {
				child(f.Type(), f.Name())
			}
			sizes[s] = size
		case *avro.ArraySchema:
			out.foreignArrays = out.foreignArrays || !avroArrays[name]
			child(s.Items(), name)
		case *avro.MapSchema:
			out.foreignArrays = true
			child(s.Values(), name)
		case *avro.UnionSchema:
			for _, c := range s.Types() {
				child(c, name)
			}
		case *avro.RefSchema:
			child(s.Schema(), name)
		}
		return size, err
	}
	_, err := walk(s, "")
	return out, err
}

// skimmer reads over values and stops at the first length that can't be true.
type skimmer struct {
	r    *avro.Reader
	left int64 // elements that may still come: no more than there are bytes
}

func (s *skimmer) skim(schema avro.Schema) {
	r := s.r
	if r.Error != nil {
		return
	}
	switch schema := schema.(type) {
	case *avro.RecordSchema:
		for _, f := range schema.Fields() {
			s.skim(f.Type())
		}
	case *avro.RefSchema:
		s.skim(schema.Schema())
	case *avro.UnionSchema:
		i := r.ReadInt()
		if i < 0 || int(i) >= len(schema.Types()) {
			r.ReportError("skim", "union index out of range")
			return
		}
		s.skim(schema.Types()[i])
	case *avro.ArraySchema:
		s.elements(func() { s.skim(schema.Items()) })
	case *avro.MapSchema:
		s.elements(func() {
			r.ReadBytes()
			s.skim(schema.Values())
		})
	case *avro.FixedSchema:
		r.SkipNBytes(schema.Size())
	case *avro.EnumSchema:
		r.ReadInt()
	case *avro.PrimitiveSchema:
		switch schema.Type() {
		case avro.String, avro.Bytes:
			r.ReadBytes()
		case avro.Int:
			r.ReadInt()
		case avro.Long:
			r.ReadLong()
		case avro.Float:
			r.SkipFloat()
		case avro.Double:
			r.SkipDouble()
		case avro.Boolean:
			r.ReadBool()
		}
	}
}

func (s *skimmer) elements(one func()) {
	for s.r.Error == nil {
		n, _ := s.r.ReadBlockHeader()
		if n == 0 {
			return
		}
		if s.left -= n; n < 0 || s.left < 0 {
			s.r.ReportError("skim", "array or map has more elements than the block has bytes")
			return
		}
		for range n {
			one()
		}
	}
}
