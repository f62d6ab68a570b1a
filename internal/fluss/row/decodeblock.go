package row

import (
	"encoding/binary"
	"fmt"
)

// decodeBlock reads the block of an ARRAY, MAP or ROW value.
func decodeBlock(t DataType, b []byte) (any, error) {
	switch t.Kind {
	case Array:
		return decodeArray("element", *t.Element, b)
	case Map:
		return decodeMap(t, b)
	}
	d := decoder{b}
	return d.row(len(t.Fields),
		func(i int) DataType { return t.Fields[i].Type },
		func(i int) string { return fmt.Sprintf("field %q", t.Fields[i].Name) })
}

func decodeMap(t DataType, b []byte) (any, error) {
	d := decoder{b}
	size, err := d.take(4)
	if err != nil {
		return nil, fmt.Errorf("size of the keys: %w", err)
	}
	block, err := d.take(int(int32(binary.LittleEndian.Uint32(size))))
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	key := *t.Key
	key.Nullable = false
	keys, err := decodeArray("key", key, block)
	if err != nil {
		return nil, err
	}
	values, err := decodeArray("value", *t.Value, d.rest)
	if err != nil {
		return nil, err
	}
	if len(keys) != len(values) {
		return nil, fmt.Errorf("found %d keys and %d values", len(keys), len(values))
	}
	m := make(MapValue, len(keys))
	for i := range m {
		m[i] = MapEntry{keys[i], values[i]}
	}
	return m, nil
}

// decodeArray reads an ARRAY block.
func decodeArray(part string, t DataType, b []byte) ([]any, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("array: found %d bytes, need 4 for its size", len(b))
	}
	width := fixedWidth(t)
	count := int(int32(binary.LittleEndian.Uint32(b)))
	if count < 0 || count > len(b)/width {
		return nil, fmt.Errorf("array of %d elements in %d bytes", count, len(b))
	}
	header := arrayHeader(count)
	fixed := roundUp8(header + count*width)
	if fixed > len(b) {
		return nil, fmt.Errorf("array of %d elements: found %d bytes, need %d", count, len(b), fixed)
	}
	block := slotBlock{data: b, next: fixed}
	values := make([]any, count)
	for i := range values {
		var err error
		if b[4+i/8]>>(i%8)&1 == 0 {
			values[i], err = block.value(t, b[header+i*width:header+(i+1)*width])
		} else if !t.Nullable {
			err = errNull
		}
		if err != nil {
			return nil, fmt.Errorf("%s %d (%s): %w", part, i, t, err)
		}
	}
	return values, nil
}

// decodeBinaryRow reads a Paimon BinaryRow into values.
func decodeBinaryRow(types []DataType, b []byte, values []any) error {
	header := binaryRowHeader(len(types))
	fixed := header + slotSize*len(types)
	if len(b) < fixed {
		return fmt.Errorf("found %d bytes, need at least %d", len(b), fixed)
	}
	if b[0] != 0 {
		return fmt.Errorf("found row kind %d, need 0", b[0])
	}
	block := slotBlock{data: b, next: fixed}
	for i, t := range types {
		var err error
		if b[(8+i)/8]>>(i%8)&1 == 0 {
			values[i], err = block.value(t, b[header+slotSize*i:header+slotSize*(i+1)])
		} else if !t.Nullable {
			err = errNull
		}
		if err != nil {
			return fmt.Errorf("column %d (%s): %w", i, t, err)
		}
	}
	return nil
}

// slotBlock is a block of slots and the bytes they refer to. Writers append
// those in the order of the slots, so a reference may only point behind the one
// before: without that rule a few bytes, referred to again and again, would
// unfold into any amount of values.
type slotBlock struct {
	data []byte
	next int // where the bytes referred to next begin, at the earliest
}

// refer returns size bytes at the offset in the upper half of slot.
func (s *slotBlock) refer(slot uint64, size int) ([]byte, error) {
	offset := int(slot >> 32)
	if offset < s.next || offset > len(s.data) || size < 0 || size > len(s.data)-offset {
		return nil, fmt.Errorf("found a reference to %d bytes at %d, need them within %d to %d", size, offset, s.next, len(s.data))
	}
	s.next = offset + size
	return s.data[offset:s.next], nil
}

// value reads the value of a slot, whose width is that of t.
func (s *slotBlock) value(t DataType, slot []byte) (any, error) {
	var u uint64
	if len(slot) == slotSize {
		u = binary.LittleEndian.Uint64(slot)
	}
	low := int(int32(uint32(u)))
	switch t.Kind {
	case Char, String, Binary, Bytes:
		if flag := slot[inlineSize]; flag >= 0x80 {
			size := int(flag & 0x7f)
			if size > inlineSize {
				return nil, fmt.Errorf("found an inline value of %d bytes, need at most %d", size, inlineSize)
			}
			return bytesValue(t, slot[:size]), nil
		}
		b, err := s.refer(u, low)
		if err != nil {
			return nil, err
		}
		return bytesValue(t, b), nil
	case Decimal:
		if t.Precision > maxInt64Decimal {
			b, err := s.refer(u, low)
			if err != nil {
				return nil, err
			}
			return bigDecimalValue(t, b)
		}
	case Timestamp, TimestampLTZ:
		if t.Precision > maxMillisTimestamp {
			b, err := s.refer(u, 8)
			if err != nil {
				return nil, err
			}
			return timestampValue(int64(binary.LittleEndian.Uint64(b)), uint32(u))
		}
	case Array, Map, Row:
		b, err := s.refer(u, low)
		if err != nil {
			return nil, err
		}
		return decodeBlock(t, b)
	}
	return fixedValue(t, slot)
}
