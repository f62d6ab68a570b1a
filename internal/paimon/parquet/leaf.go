package parquet

import (
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
	"github.com/parquet-go/parquet-go/format"
)

// aheadBatches is the number of batches that the page at hand has at most when
// the next one is unpacked ahead. Pages of many columns fall due together, and
// each takes longer to unpack than a batch.
const aheadBatches = 32

// levelsAtOnce is how many levels are decoded at a time.
const levelsAtOnce = 1024

// leafReader reads one leaf of the file, across pages and row groups, into a
// vector of its own. Flat leaves (no repetition, one level of optional at most)
// use flat, the others nested.
type leafReader struct {
	pages
	sink sink
	v    vector.Vector

	nulls []bool // of v; as long as nulls were looked at in this batch
	slots int    // of v, filled in this batch
	dict  dictionaryState

	inPage   int // levels left in the page
	rowsLeft int64
	rep, def hybrid
	maxDef   int32
	minSlot  int32

	// Levels decoded ahead in the page, and those of the batch (nested).
	repBuf, defBuf [levelsAtOnce]int32
	bufPos, bufEnd int
	batchRep       []uint8
	batchDef       []uint8
}

// dictionaryState is whether the chunk at hand has a dictionary.
type dictionaryState uint8

const (
	noDictionary dictionaryState = iota
	hasDictionary
	forgottenDictionary
)

func newLeafReader(f *File, n *node, s sink, t Type) *leafReader {
	r := &leafReader{sink: s, maxDef: int32(n.def), minSlot: int32(n.slot)}
	r.init(f, n)
	if b, ok := s.(*bytesSink); ok {
		r.streams = b.width == 0 && b.convert == nil
	}
	r.v.Kind = t.Vector()
	return r
}

// where adds to err the place it came from.
func (r *leafReader) where(err error) error {
	if err == nil {
		return nil
	}
	if r.group >= 0 && r.group < len(r.file.meta.RowGroups) {
		return fmt.Errorf("column %q, row group %d, page at offset %d: %w", r.leaf.path, r.group, r.page.off, err)
	}
	return fmt.Errorf("column %q: %w", r.leaf.path, err)
}

func (r *leafReader) begin(rows int) {
	r.sink.begin(&r.v, rows)
	r.v.Nulls, r.nulls, r.slots = nil, r.nulls[:0], 0
	r.batchRep, r.batchDef = r.batchRep[:0], r.batchDef[:0]
}

// end gives the vector its length and nulls.
func (r *leafReader) end() {
	r.v.Len = r.slots
	if len(r.nulls) > 0 {
		r.mask(r.slots, 0)
		r.v.Nulls = r.nulls
	}
}

// mask returns the null flags of slots at to at+n, none of them looked at
// before, all false.
func (r *leafReader) mask(at, n int) []bool {
	old := len(r.nulls)
	r.nulls = grow(r.nulls, at+n)
	clear(r.nulls[old:])
	return r.nulls[at:]
}

// nextPage makes inPage positive, or returns false at the end of the file's
// values for this leaf.
func (r *leafReader) nextPage() (bool, error) {
	for r.inPage == 0 {
		if err := r.endStream(); err != nil {
			return false, err
		}
		ahead, err := r.takeAhead()
		if err != nil {
			return false, err
		}
		if !ahead && r.left == 0 {
			if r.group >= 0 && r.rowsLeft != 0 {
				return false, corruptf("the column chunk ends %d rows before its row group", r.rowsLeft)
			}
			ok, err := r.nextGroup()
			if !ok || err != nil {
				return false, err
			}
			r.sink.chunk()
			r.dict = noDictionary
			r.rowsLeft = r.file.meta.RowGroups[r.group].NumRows
			continue
		}
		var dict *dictionaryPage
		if !ahead {
			dict, err = r.next()
		}
		if err != nil {
			return false, err
		}
		if dict != nil {
			if err := r.sink.dictionary(dict.data, dict.count); err != nil {
				return false, err
			}
			r.dictionaryUsed()
			r.dict = hasDictionary
			continue
		}
		if err := r.keepDictionary(); err != nil {
			return false, err
		}
		r.inPage = r.numValues
		r.rep.reset(r.repEnc, levelWidth(r.leaf.rep))
		r.def.reset(r.defEnc, levelWidth(r.leaf.def))
		if b, ok := r.sink.(*bytesSink); ok && r.stream != nil {
			b.streamed(r.stream)
			continue
		}
		if err := r.sink.page(r.encoding, r.values, r.numValues); err != nil {
			return false, err
		}
	}
	return true, nil
}

// keepDictionary gives the dictionary up at a page without indexes: writers go
// over to plain values when a dictionary has become too large, up to the chunk's
// end, and of many columns these dictionaries are much of what reading takes. A
// page of indexes that follows after all has it read again.
func (r *leafReader) keepDictionary() error {
	indexes := r.encoding == format.RLEDictionary || r.encoding == format.PlainDictionary //nolint:staticcheck // old files name it so
	switch {
	case !indexes && r.dict == hasDictionary:
		r.sink.forget()
		r.dict = forgottenDictionary
	case indexes && r.dict == forgottenDictionary:
		var again pages
		again.init(r.file, r.leaf)
		defer again.release()
		again.group = r.group - 1
		if _, err := again.nextGroup(); err != nil {
			return err
		}
		dict, err := again.next()
		if err != nil {
			return err
		}
		if dict == nil {
			return corruptf("page of dictionary indexes behind the chunk's dictionary, which is not at the chunk's beginning")
		}
		if err := r.sink.dictionary(dict.data, dict.count); err != nil {
			return err
		}
		r.dict = hasDictionary
	}
	return nil
}

// finished checks that no values are left behind the file's last row.
func (r *leafReader) finished() error {
	if r.coming != nil || r.bufPos != r.bufEnd || r.inPage != 0 || r.left != 0 || r.rowsLeft != 0 {
		return r.where(corruptf("the column has more values than the file has rows"))
	}
	return r.where(r.endStream())
}

// flat reads n rows of a leaf that has no repetition and no optional parent.
func (r *leafReader) flat(n int) error {
	r.begin(n)
	r.sink.size(&r.v, n)
	for n > 0 {
		ok, err := r.nextPage()
		if err != nil {
			return err
		}
		if !ok {
			return corruptf("the column ends %d rows before the file", n)
		}
		k := min(n, r.inPage)
		if k, err = r.flatRun(k); err != nil {
			return err
		}
		if r.rowsLeft -= int64(k); r.rowsLeft < 0 {
			return corruptf("the column chunk has more rows than its row group")
		}
		r.inPage -= k
		n -= k
	}
	r.end()
	if r.inPage <= aheadBatches*r.slots {
		r.lookAhead()
	}
	return nil
}

// flatRun reads up to k values of the page and returns how many.
func (r *leafReader) flatRun(k int) (int, error) {
	at := r.slots
	if r.maxDef == 0 {
		r.slots += k
		return k, r.sink.read(&r.v, at, k)
	}
	run, value, repeated, err := r.def.peek()
	if err != nil {
		return 0, fmt.Errorf("definition levels: %w", err)
	}
	if k = min(k, run); repeated {
		r.def.skip(k)
		r.slots += k
		if value == r.maxDef {
			return k, r.sink.read(&r.v, at, k)
		}
		nulls := r.mask(at, k)
		for i := range nulls {
			nulls[i] = true
		}
		r.sink.null(&r.v, at, k)
		return k, nil
	}
	levels := r.defBuf[:min(k, levelsAtOnce)]
	if err := r.def.read(levels); err != nil {
		return 0, fmt.Errorf("definition levels: %w", err)
	}
	r.slots += len(levels)
	return len(levels), r.place(at, levels)
}

// place reads the values of slots at to at+len(levels) by their definition
// levels, each of which stands for a slot.
func (r *leafReader) place(at int, levels []int32) error {
	values := 0
	for _, l := range levels {
		value := 0 // counted without a branch: nulls come at random
		if l == r.maxDef {
			value = 1
		}
		values += value
	}
	if values == len(levels) {
		return r.sink.read(&r.v, at, values)
	}
	nulls := r.mask(at, len(levels))
	highest := r.maxDef
	for i, l := range levels {
		nulls[i] = l != highest
	}
	if err := r.sink.read(&r.v, at, values); err != nil {
		return err
	}
	r.sink.spread(&r.v, at, values, nulls)
	return nil
}

// maxBatchSlots bounds the elements of one batch: a few bytes of levels can
// stand for very many.
const maxBatchSlots = 1 << 26

// nested reads n rows of any leaf: values into v, levels into batchRep and
// batchDef. A row ends where the next begins (repetition level 0), which may be
// pages later, or where its row group ends.
func (r *leafReader) nested(n int) error {
	r.begin(n)
	for rows := 0; ; {
		if r.bufPos == r.bufEnd {
			if rows == n && r.inPage == 0 && r.left == 0 {
				break
			}
			ok, err := r.nextPage()
			if err != nil {
				return err
			}
			if !ok {
				return corruptf("the column ends %d rows before the file", n-rows)
			}
			if err := r.decodeLevels(); err != nil {
				return err
			}
		}
		start := r.bufPos
		for r.bufPos < r.bufEnd {
			if r.repBuf[r.bufPos] == 0 {
				if rows == n {
					break
				}
				rows++
				r.rowsLeft--
			}
			r.bufPos++
		}
		if rows == 0 {
			return corruptf("the row group's first repetition level is not 0")
		}
		if r.rowsLeft < 0 {
			return corruptf("the column chunk has more rows than its row group")
		}
		if err := r.take(start, r.bufPos); err != nil {
			return err
		}
		if r.bufPos < r.bufEnd {
			break
		}
	}
	r.end()
	return nil
}

func (r *leafReader) decodeLevels() error {
	n := min(r.inPage, levelsAtOnce)
	r.inPage -= n
	r.bufPos, r.bufEnd = 0, n
	if err := r.rep.read(r.repBuf[:n]); err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if err := r.def.read(r.defBuf[:n]); err != nil {
		return fmt.Errorf("definition levels: %w", err)
	}
	for i := range n {
		if r.repBuf[i] > int32(r.leaf.rep) || r.defBuf[i] > r.maxDef {
			return corruptf("levels %d and %d, at most %d and %d", r.repBuf[i], r.defBuf[i], r.leaf.rep, r.maxDef)
		}
	}
	return nil
}

// take moves the decoded levels from start to end into the batch, and reads
// their values.
func (r *leafReader) take(start, end int) error {
	if start == end {
		return nil
	}
	if len(r.batchDef)+end-start > maxBatchSlots {
		return unsupportedf("%w: more than %d elements", errBatchSize, maxBatchSlots)
	}
	slots := start
	for i := start; i < end; i++ {
		def := r.defBuf[i]
		r.batchRep = append(r.batchRep, uint8(r.repBuf[i]))
		r.batchDef = append(r.batchDef, uint8(def))
		if def >= r.minSlot {
			r.defBuf[slots] = def // what stands here is in the batch already
			slots++
		}
	}
	levels := r.defBuf[start:slots]
	at := r.slots
	r.slots += len(levels)
	r.sink.size(&r.v, r.slots)
	return r.place(at, levels)
}
