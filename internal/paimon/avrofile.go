package paimon

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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
//
// The container's frames are walked here rather than by the library's own
// container reader, which takes memory by lengths it has not checked, does not
// bound what a block unpacks to, and takes a file cut within a block for a
// whole one.
func readAvro[T any](file string, data []byte, required ...string) (records []T, err error) {
	err = safego.Do(func() (err error) {
		records, err = decodeContainer[T](data, required)
		return err
	})
	if err != nil {
		return nil, corrupt(file, "%v", err)
	}
	return records, nil
}

func decodeContainer[T any](data []byte, required []string) ([]T, error) {
	// A configuration of its own per file, because it caches each schema.
	cfg := avro.Config{MaxByteSliceSize: maxAvroField, MaxSliceAllocSize: maxAvroSlice}.Freeze()
	in := avro.NewReader(nil, 0, avro.WithReaderConfig(cfg)).Reset(data)
	var h ocf.Header
	in.ReadVal(ocf.HeaderSchema, &h)
	if in.Error != nil {
		return nil, fmt.Errorf("header: %w", in.Error)
	}
	if h.Magic != [4]byte{'O', 'b', 'j', 1} {
		return nil, fmt.Errorf("it does not begin as an Avro container does")
	}
	// So is the cache of names: files repeat record names for other records.
	schema, err := avro.ParseBytesWithCache(h.Meta["avro.schema"], "", &avro.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	foreignArrays, err := checkAvroSchema(schema, required)
	if err != nil {
		return nil, err
	}
	var records []T
	left := int64(maxAvroBytes)
	values := avro.NewReader(nil, 0, avro.WithReaderConfig(cfg))
	for {
		if _ = in.Peek(); errors.Is(in.Error, io.EOF) {
			return records, nil
		}
		count, size := in.ReadLong(), in.ReadLong()
		if in.Error != nil {
			return nil, fmt.Errorf("block header: %w", in.Error)
		}
		if count < 0 || size < 0 || size > int64(len(data)) {
			return nil, fmt.Errorf("a block says it has %d records in %d bytes; the file has %d bytes", count, size, len(data))
		}
		block := make([]byte, size)
		in.Read(block)
		var sync [16]byte
		in.Read(sync[:])
		if in.Error != nil {
			return nil, fmt.Errorf("the file ends within a block: %w", in.Error)
		}
		if sync != h.Sync {
			return nil, fmt.Errorf("a block is not followed by the file's marker")
		}
		block, err := unpack(ocf.CodecName(h.Meta["avro.codec"]), block, left)
		if err != nil {
			return nil, err
		}
		left -= int64(len(block))
		if count > int64(len(block)) {
			return nil, fmt.Errorf("a block says it has %d records in %d bytes", count, len(block))
		}
		if foreignArrays {
			s := skimmer{r: values.Reset(block), left: int64(len(block))}
			for range count {
				s.skim(schema)
			}
			if values.Error != nil {
				return nil, fmt.Errorf("after record %d: %w", len(records), values.Error)
			}
		}
		values.Reset(block)
		for range count {
			var r T
			values.ReadVal(schema, &r)
			if values.Error != nil {
				return nil, fmt.Errorf("record %d: %w", len(records), values.Error)
			}
			records = append(records, r)
		}
		if _ = values.Peek(); !errors.Is(values.Error, io.EOF) {
			return nil, fmt.Errorf("a block has bytes after its last record")
		}
		values.Error = nil
	}
}

// zstdDecoder is stateless in the way it is used here, and shared.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxAvroBytes))
})

// unpack undoes a block's codec; more than limit bytes are an error.
func unpack(codec ocf.CodecName, block []byte, limit int64) ([]byte, error) {
	tooBig := fmt.Errorf("it unpacks to more than %d bytes", int64(maxAvroBytes))
	switch codec {
	case ocf.Null, "":
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
		if block, err = dec.DecodeAll(block, nil); err != nil {
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

// checkAvroSchema asks for a record with the required fields, and refuses
// recursive types, which metadata does not have and which a decoder can
// exhaust its stack on. It reports whether there are arrays or maps besides
// those this package decodes.
func checkAvroSchema(s avro.Schema, required []string) (foreignArrays bool, err error) {
	rec, ok := s.(*avro.RecordSchema)
	if !ok {
		return false, fmt.Errorf("its schema is not a record")
	}
	names := map[string]bool{}
	for _, f := range rec.Fields() {
		names[f.Name()] = true
	}
	for _, want := range required {
		if !names[want] {
			return false, fmt.Errorf("its records have no field %s", want)
		}
	}
	open := map[avro.Schema]bool{}
	var walk func(s avro.Schema, name string) error
	walk = func(s avro.Schema, name string) error {
		if open[s] || len(open) > maxTypeDepth {
			return fmt.Errorf("its schema is recursive or nested more than %d deep", maxTypeDepth)
		}
		open[s] = true
		defer delete(open, s)
		var children []avro.Schema
		switch s := s.(type) {
		case *avro.RecordSchema:
			for _, f := range s.Fields() {
				if err := walk(f.Type(), f.Name()); err != nil {
					return err
				}
			}
		case *avro.ArraySchema:
			foreignArrays = foreignArrays || !avroArrays[name]
			children = append(children, s.Items())
		case *avro.MapSchema:
			foreignArrays = true
			children = append(children, s.Values())
		case *avro.UnionSchema:
			children = s.Types()
		case *avro.RefSchema:
			children = append(children, s.Schema())
		}
		for _, c := range children {
			if err := walk(c, name); err != nil {
				return err
			}
		}
		return nil
	}
	err = walk(s, "")
	return foreignArrays, err
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
