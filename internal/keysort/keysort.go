// Package keysort brings records into the order of their keys' bytes in bounded
// memory. What does not fit into memory at once is sorted in windows, which are
// written into a temporary file and merged.
//
// A Fluss server keeps the rows of a bucket in this order. Rows that come in it
// cost the server less than half: it looks for every key before it stores a row,
// and finds neighbours where it has just been; and the files of its key-value
// store do not overlap, so that they need not be merged.
package keysort

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// Sorter sorts records. It is filled with Add, and with Spill whenever it is
// full; then Sort is called, and TakeInto until nothing is left, and Reset. It is
// not safe for use by several goroutines.
type Sorter struct {
	limit int64 // bytes of the window
	dir   string

	window row.Window
	file   *os.File
	name   string // of the file, where it could not be removed while open
	runs   []run  // the spilled windows, one behind the other
	rows   int    // in the file
	taken  int

	sources []*source
	merge   merge
	spare   []*spilled // readers, kept from one Sort to the next
}

// New returns a Sorter that sorts about window bytes at once. Its file, if one
// is needed, is made in the folder dir.
func New(window int64, dir string) *Sorter {
	s := &Sorter{limit: window, dir: dir}
	s.window.Expect(window)
	return s
}

// Add adds the record of row pos under the key pos, see row.Batch.Add.
func (s *Sorter) Add(key *row.KeyEncoder, row *row.Encoder, pos int) {
	s.window.Add(key, row, pos, pos)
}

// Full tells whether the window is full.
func (s *Sorter) Full() bool { return s.window.Size() >= s.limit }

// Rows returns the number of records added since Reset.
func (s *Sorter) Rows() int { return s.rows + s.window.Rows() }

// Size returns the bytes of the records added since Reset.
func (s *Sorter) Size() int64 { return s.Spilled() + s.window.Size() }

// Spilled returns the bytes in the file.
func (s *Sorter) Spilled() int64 {
	if len(s.runs) == 0 {
		return 0
	}
	return s.runs[len(s.runs)-1].end
}

// Spill sorts the window and writes it into the file, which leaves the window
// empty. After an error everything is as it was before.
func (s *Sorter) Spill() error {
	if s.window.Rows() == 0 {
		return nil
	}
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	s.window.Sort()
	from := s.Spilled()
	to := &summed{w: io.NewOffsetWriter(s.file, from)}
	n, err := s.window.WriteTo(to)
	if err != nil {
		return fmt.Errorf("sorting: %w", err)
	}
	s.rows += s.window.Rows()
	s.runs = append(s.runs, run{from: from, end: from + n, sum: to.sum})
	s.window.Reset()
	return nil
}

// create makes the file. Nothing is left of it when the process ends, however it
// ends, where an open file can be removed.
func (s *Sorter) create() error {
	f, err := os.CreateTemp(s.dir, "terraform-provider-fluss-sort-")
	if err != nil {
		return fmt.Errorf("sorting: %w", err)
	}
	s.file = f
	if err := os.Remove(f.Name()); err != nil {
		s.name = f.Name()
	}
	return nil
}

// Sort makes the records ready to be taken.
func (s *Sorter) Sort() error {
	s.window.Sort()
	if len(s.runs) == 0 {
		return nil
	}
	s.taken, s.sources = 0, s.sources[:0]
	add := func(c *source) error {
		err := c.next()
		if err == nil {
			s.sources = append(s.sources, c)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	for i, r := range s.runs {
		if i == len(s.spare) {
			s.spare = append(s.spare, newSpilled())
		}
		s.spare[i].open(s.file, r)
		if err := add(&source{from: s.spare[i]}); err != nil {
			return err
		}
	}
	if err := add(&source{from: inMemory{&s.window}}); err != nil {
		return err
	}
	s.merge.begin(s.sources)
	return nil
}

// TakeInto moves records into b, in their order, until b has maxRows or is as
// large as maxBytes, or none is left, and tells whether any is left.
func (s *Sorter) TakeInto(b *row.Batch, maxBytes, maxRows int) (more bool, err error) {
	if len(s.runs) == 0 {
		return s.window.TakeInto(b, maxBytes, maxRows) > 0, nil
	}
	least := s.merge.least()
	for ; least != nil && b.Rows() < maxRows && b.Size() < maxBytes; least = s.merge.least() {
		b.AddRecord(least.record)
		s.taken++
		if err := least.next(); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		s.merge.moved()
	}
	if least != nil {
		return true, nil
	}
	if s.taken != s.Rows() {
		return false, fmt.Errorf("sorting: %d records came back of %d", s.taken, s.Rows())
	}
	return false, nil
}

// Reset empties the sorter, keeping its memory but not the file's space.
func (s *Sorter) Reset() error {
	s.window.Reset()
	s.sources, s.rows = s.sources[:0], 0
	if len(s.runs) == 0 {
		return nil
	}
	s.runs = s.runs[:0]
	if err := s.file.Truncate(0); err != nil {
		return fmt.Errorf("sorting: %w", err)
	}
	return nil
}

// Close gives the file and the memory up.
func (s *Sorter) Close() error {
	f, name := s.file, s.name
	*s = *New(s.limit, s.dir)
	if f == nil {
		return nil
	}
	err := f.Close()
	if name != "" {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
