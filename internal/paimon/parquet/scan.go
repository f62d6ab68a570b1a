package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Types of the Thrift compact protocol, as they stand in field headers.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
const (
	thriftTrue = iota + 1
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
	thriftUUID
)

// maxThriftDepth is far above the nesting of Parquet's metadata (about 8).
const maxThriftDepth = 32

// minStruct is the least number of bytes a struct in a list has in Parquet's
// metadata (a column order: union field, its empty struct's end, its own end).
// It bounds the memory a decoder takes for a list by the bytes of the list.
const minStruct = 3

var errDepth = errors.New("thrift: nested too deep")

// scanStruct returns the length of the Thrift struct at the start of b. It
// refuses what a decoder would answer with unbounded memory or recursion:
// lists claiming more elements than there are bytes for, and deep nesting. The
// error is io.ErrUnexpectedEOF when b ends before the struct does.
func scanStruct(b []byte) (int, error) {
	s := scanner{b: b}
	if err := s.structure(0); err != nil {
		return s.off, err
	}
	return s.off, nil
}

type scanner struct {
	b   []byte
	off int
}

func (s *scanner) byte() (byte, error) {
	if s.off >= len(s.b) {
		return 0, io.ErrUnexpectedEOF
	}
	s.off++
	return s.b[s.off-1], nil
}

func (s *scanner) uvarint() (uint64, error) {
	v, n := binary.Uvarint(s.b[s.off:])
	switch {
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	case n < 0:
		return 0, errors.New("thrift: varint of more than 64 bits")
	}
	s.off += n
	return v, nil
}

func (s *scanner) skip(n uint64) error {
	if n > uint64(len(s.b)-s.off) {
		return io.ErrUnexpectedEOF
	}
	s.off += int(n)
	return nil
}

func (s *scanner) structure(depth int) error {
	if depth > maxThriftDepth {
		return errDepth
	}
	for {
		h, err := s.byte()
		if err != nil || h == 0 {
			return err
		}
		if h>>4 == 0 {
			if _, err := s.uvarint(); err != nil { // the field's id
				return err
			}
		}
		if t := h & 0xf; t != thriftTrue && t != thriftFalse { // a bool field is its header
			if err := s.value(t, depth); err != nil {
				return err
			}
		}
	}
}

func (s *scanner) value(t byte, depth int) error {
	switch t {
	case thriftTrue, thriftFalse, thriftByte:
		return s.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := s.uvarint()
		return err
	case thriftDouble:
		return s.skip(8)
	case thriftUUID:
		return s.skip(16)
	case thriftBinary:
		n, err := s.uvarint()
		if err != nil {
			return err
		}
		return s.skip(n)
	case thriftList, thriftSet:
		return s.list(depth + 1)
	case thriftMap:
		return s.mapping(depth + 1)
	case thriftStruct:
		return s.structure(depth + 1)
	default:
		return fmt.Errorf("thrift: unknown type %d", t)
	}
}

func (s *scanner) list(depth int) error {
	if depth > maxThriftDepth {
		return errDepth
	}
	h, err := s.byte()
	if err != nil {
		return err
	}
	n := uint64(h >> 4)
	if n == 15 {
		if n, err = s.uvarint(); err != nil {
			return err
		}
	}
	least := uint64(1)
	if h&0xf == thriftStruct {
		least = minStruct
	}
	if n > uint64(len(s.b)-s.off)/least {
		return io.ErrUnexpectedEOF
	}
	for range n {
		if err := s.value(h&0xf, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) mapping(depth int) error {
	if depth > maxThriftDepth {
		return errDepth
	}
	n, err := s.uvarint()
	if err != nil || n == 0 {
		return err
	}
	types, err := s.byte()
	if err != nil {
		return err
	}
	if n > uint64(len(s.b)-s.off)/2 {
		return io.ErrUnexpectedEOF
	}
	for range n {
		if err := s.value(types>>4, depth); err != nil {
			return err
		}
		if err := s.value(types&0xf, depth); err != nil {
			return err
		}
	}
	return nil
}
