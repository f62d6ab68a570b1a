package avro

import (
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// lists reads arrays, and maps: their children are the element, or the key and
// the value.
type lists struct {
	column
	item       reader    // appends one element to all children
	children   []decoder // of the vector
	itemBytes  int       // memory of an element's slots
	childCount int       // elements so far in this batch
}

// reader is the part of decoder that reads; element of a map is a reader of
// two decoders.
type reader interface{ read(c *Cursor) }

func (d *lists) begin() {
	d.empty()
	d.v.Offsets, d.childCount = append(d.v.Offsets[:0], 0), 0
	for _, c := range d.children {
		c.begin()
	}
}

func (d *lists) read(c *Cursor) {
	for c.err == nil {
		n, _ := c.elements()
		if n == 0 {
			break
		}
		// Elements may be far smaller in the file than in memory.
		if n > int64(maxUsed-c.used)/int64(d.itemBytes) {
			c.Fail(unsupportedf("one row takes more than %d bytes", maxUsed))
			break
		}
		c.used += int(n) * d.itemBytes
		d.childCount += int(n)
		for ; n > 0 && c.err == nil; n-- {
			d.item.read(c)
		}
	}
	d.v.Offsets = append(d.v.Offsets, int32(d.childCount))
}

func (d *lists) null() {
	d.markNull(len(d.v.Offsets) - 1)
	d.v.Offsets = append(d.v.Offsets, int32(d.childCount))
}

func (d *lists) finish() {
	d.end(len(d.v.Offsets) - 1)
	for _, c := range d.children {
		c.finish()
	}
}

// mapEntry reads an entry of an Avro map.
type mapEntry struct{ key, value decoder }

func (d mapEntry) read(c *Cursor) {
	if d.key.read(c); c.err == nil {
		d.value.read(c)
	}
}

// structs reads records.
type structs struct {
	column
	record *record
	n      int
}

func (d *structs) begin() {
	d.empty()
	d.n = 0
	for _, f := range d.record.decoders {
		f.begin()
	}
}

func (d *structs) read(c *Cursor) {
	d.record.read(c)
	for _, f := range d.record.missing {
		f.null()
	}
	d.n++
}

func (d *structs) null() {
	d.markNull(d.n)
	d.n++
	for _, f := range d.record.decoders {
		f.null()
	}
}

func (d *structs) finish() {
	d.end(d.n)
	for _, f := range d.record.decoders {
		f.finish()
	}
}

// absent stands for a field that the file does not have: all null.
type absent struct {
	t vector.Type
	v vector.Vector
	n int
}

func (d *absent) begin()                 { d.n = 0 }
func (d *absent) read(*Cursor)           { d.n++ }
func (d *absent) null()                  { d.n++ }
func (d *absent) finish()                { d.v.SetNull(d.t, d.n) }
func (d *absent) vector() *vector.Vector { return &d.v }

// record is the plan of reading a record: its fields in the writer's order,
// each decoded or skipped.
type record struct {
	steps    []step
	decoders []decoder // all, in the order wanted
	missing  []decoder // those without a step
}

// step is one field. Exactly one of decode and skip is set. A union of null and
// another type is taken apart here rather than by its decoder, which saves a
// call for most values of most tables.
type step struct {
	name   string
	decode decoder
	skip   skipper
	union  bool
	null   int64 // the branch of null, 0 or 1
}

// read reads a record; when the cursor has an error, of which step.
func (r *record) read(c *Cursor) int {
	for i := range r.steps {
		s := &r.steps[i]
		switch {
		case s.decode == nil:
			s.skip(c)
		case !s.union:
			s.decode.read(c)
		default:
			switch branch := c.Long(); branch {
			case 1 - s.null:
				s.decode.read(c)
			case s.null:
				s.decode.null()
			default:
				c.Fail(noBranch(branch, 2))
			}
		}
		if c.err != nil {
			return i
		}
	}
	return 0
}
