package keysort

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// readBuffer is the memory of each spilled window while they are merged.
const readBuffer = 32 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summed adds up the checksum of what passes.
type summed struct {
	w   io.Writer
	r   io.Reader
	sum uint32
}

func (s *summed) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.sum = crc32.Update(s.sum, castagnoli, p[:n])
	return n, err
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.sum = crc32.Update(s.sum, castagnoli, p[:n])
	return n, err
}

// run is where a sorted window is in the file.
type run struct {
	from, end int64
	sum       uint32 // CRC-32C
}

// source is a sorted window and the record that it has come to.
type source struct {
	from   interface{ next() ([]byte, error) } // io.EOF at the end
	record []byte                              // valid until next
	key    []byte
	ended  bool
}

func (c *source) next() error {
	var err error
	if c.record, err = c.from.next(); err != nil {
		c.ended = true
		return err
	}
	var ok bool
	if c.key, ok = row.RecordKey(c.record); !ok {
		return errDamaged
	}
	return nil
}

// inMemory is the window that was not spilled.
type inMemory struct{ window *row.Window }

func (m inMemory) next() ([]byte, error) {
	if r := m.window.Next(); r != nil {
		return r, nil
	}
	return nil, io.EOF
}

var errDamaged = errors.New("sorting: a temporary file has not kept what was written into it")

// spilled is a window that is read back.
type spilled struct {
	in     *bufio.Reader
	sum    *summed
	run    run
	left   int64 // bytes of the run
	held   int   // bytes of the record before that the reader still has
	larger []byte
}

func newSpilled() *spilled { return &spilled{in: bufio.NewReaderSize(nil, readBuffer)} }

func (s *spilled) open(file io.ReaderAt, r run) {
	s.sum = &summed{r: io.NewSectionReader(file, r.from, r.end-r.from)}
	s.in.Reset(s.sum)
	s.run, s.left, s.held = r, r.end-r.from, 0
}

func (s *spilled) next() ([]byte, error) {
	if _, err := s.in.Discard(s.held); err != nil {
		return nil, lost(err)
	}
	s.held = 0
	if s.left == 0 {
		if s.sum.sum != s.run.sum {
			return nil, errDamaged
		}
		return nil, io.EOF
	}
	head, err := s.in.Peek(4)
	if err != nil {
		return nil, lost(err)
	}
	size := 4 + int64(binary.LittleEndian.Uint32(head))
	if size > s.left {
		return nil, errDamaged
	}
	s.left -= size
	if size <= int64(s.in.Size()) {
		s.held = int(size)
		record, err := s.in.Peek(s.held)
		return record, lost(err)
	}
	if int64(cap(s.larger)) < size {
		s.larger = make([]byte, size)
	}
	_, err = io.ReadFull(s.in, s.larger[:size])
	return s.larger[:size], lost(err)
}

// lost is the error of what can't be read back; an end that comes too early is
// no end.
func lost(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errDamaged
	}
	return fmt.Errorf("sorting: %w", err)
}
