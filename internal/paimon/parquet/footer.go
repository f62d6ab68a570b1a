package parquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	magic          = "PAR1"
	encryptedMagic = "PARE"
	// maxFooter bounds the footer. Footers of real tables are kilobytes; a wide
	// table with thousands of row groups reaches a few megabytes.
	maxFooter = 64 << 20
)

// readFooter reads the footer at the end of the file: metadata, its length in
// four bytes, and the magic.
func (f *File) readFooter() error {
	const tail = 8
	if f.size < int64(len(magic))+tail {
		return corruptf("the file has %d bytes; the smallest Parquet file has %d", f.size, len(magic)+tail)
	}
	// One read gets the whole footer of nearly every file.
	buf := make([]byte, min(f.size, 32<<10))
	if err := readFull(f.in, buf, f.size-int64(len(buf))); err != nil {
		return fmt.Errorf("reading the footer: %w", err)
	}
	end := buf[len(buf)-tail:]
	switch string(end[4:]) {
	case magic:
	case encryptedMagic:
		return unsupportedf("the file is encrypted")
	default:
		return corruptf("the file ends in %q, required %q: it is not Parquet, or was cut short", end[4:], magic)
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > f.size-tail-int64(len(magic)) {
		return corruptf("the footer claims %d bytes; the file has %d", length, f.size)
	}
	if length > maxFooter {
		return unsupportedf("the footer has %d bytes, the limit is %d", length, maxFooter)
	}
	var footer []byte
	if length <= int64(len(buf)-tail) {
		footer = buf[int64(len(buf)-tail)-length : len(buf)-tail]
	} else {
		footer = make([]byte, length)
		if err := readFull(f.in, footer, f.size-tail-length); err != nil {
			return fmt.Errorf("reading the footer: %w", err)
		}
	}
	n, err := scanStruct(footer)
	if err != nil {
		return corruptf("footer: %w", err)
	}
	f.meta = new(format.FileMetaData)
	if err := decodeStruct(footer[:n], f.meta); err != nil {
		return corruptf("footer: %w", err)
	}
	return f.checkFooter()
}

func (f *File) checkFooter() error {
	m := f.meta
	if m.EncryptionAlgorithm.Value != nil {
		return unsupportedf("the file has encrypted columns")
	}
	var rows int64
	for i := range m.RowGroups {
		g := &m.RowGroups[i]
		if g.NumRows < 0 || rows+g.NumRows < rows {
			return corruptf("row group %d claims %d rows", i, g.NumRows)
		}
		rows += g.NumRows
	}
	if m.NumRows == 0 { // some writers leave it out
		m.NumRows = rows
	}
	if rows != m.NumRows {
		return corruptf("the footer claims %d rows, its row groups together %d", m.NumRows, rows)
	}
	return nil
}

// readFull reads len(p) bytes at off; fewer are an error.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return corruptf("%d bytes at offset %d, required %d: %w", n, off, len(p), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%d bytes at offset %d: %w", len(p), off, err)
}

// decodeStruct decodes b, which scanStruct has passed.
func decodeStruct(b []byte, v any) error {
	var p thrift.CompactProtocol
	return thrift.NewDecoder(p.NewReaderFromBytes(b)).Decode(v)
}
