package paimon

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	lib "github.com/hamba/avro/v2"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/avro"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// Bounds of an Avro metadata file: unpacked bytes of the whole, bytes of one
// value, elements of one array.
const (
	maxAvroBytes = 1 << 30
	maxAvroField = 64 << 20
	maxAvroSlice = 1 << 20
)

// readAvro decodes every record of an Avro object container file into a T, by
// the field names of the writer's schema: fields that T lacks are skipped,
// those that the file lacks stay zero. Required lists the top-level fields
// that must be there. File names the file in errors.
func readAvro[T any](file string, data []byte, required ...string) (records []T, err error) {
	// A configuration of its own per file, because it caches each schema.
	cfg := lib.Config{MaxByteSliceSize: maxAvroField, MaxSliceAllocSize: maxAvroSlice}.Freeze()
	values := lib.NewReader(nil, 0, lib.WithReaderConfig(cfg))
	err = walkAvro(file, data, required, func(schema avroSchema, count int64, block []byte) error {
		// The library believes the lengths of arrays that it skips.
		if err := schema.file.Check(count, block); err != nil {
			return fmt.Errorf("after record %d: %w", len(records), err)
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
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// avroSchema is a file's own schema: a record, without recursion.
type avroSchema struct {
	record *lib.RecordSchema
	file   *avro.Container
}

// walkAvro gives the blocks of an Avro object container file, unpacked, with
// how many records they say they have. A block is only good until the next one.
func walkAvro(file string, data []byte, required []string, block func(schema avroSchema, count int64, block []byte) error) error {
	if err := safego.Do(func() error { return walkContainer(data, required, block) }); err != nil {
		return corrupt(file, "%w", err)
	}
	return nil
}

func walkContainer(data []byte, required []string, each func(schema avroSchema, count int64, block []byte) error) error {
	c, err := avro.OpenContainer(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	if err := checkAvroSchema(c.Schema, required); err != nil {
		return err
	}
	blocks := c.Blocks(maxAvroBytes)
	defer blocks.Close()
	for {
		count, block, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		blocks.Limit -= int64(len(block))
		if err := each(avroSchema{c.Schema, c}, count, block); err != nil {
			return err
		}
	}
}

// maxSchemaFields bounds the values of one record of a metadata file, where it
// has no arrays: without it a schema of a few lines, whose records name one
// another twice, describes records without end.
const maxSchemaFields = 1000

// checkAvroSchema asks for a record with the required fields and not too many
// values.
func checkAvroSchema(rec *lib.RecordSchema, required []string) error {
	names := map[string]bool{}
	for _, f := range rec.Fields() {
		names[f.Name()] = true
	}
	for _, want := range required {
		if !names[want] {
			return fmt.Errorf("its records have no field %s", want)
		}
	}
	sizes := map[lib.Schema]int{}
	var size func(s lib.Schema) int // at most a little above maxSchemaFields
	size = func(s lib.Schema) int {
		if n, ok := sizes[s]; ok {
			return n
		}
		n := 1
		add := func(s lib.Schema) {
			if n <= maxSchemaFields {
				n += size(s)
			}
		}
		switch s := s.(type) {
		case *lib.RecordSchema:
			for _, f := range s.Fields() {
				add(f.Type())
			}
			sizes[s] = n
		case *lib.ArraySchema:
			add(s.Items())
		case *lib.MapSchema:
			add(s.Values())
		case *lib.UnionSchema:
			for _, c := range s.Types() {
				add(c)
			}
		case *lib.RefSchema:
			add(s.Schema())
		}
		return n
	}
	if size(rec) > maxSchemaFields {
		return fmt.Errorf("its records have more than %d values", maxSchemaFields)
	}
	return nil
}
