package orc

import (
	"errors"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

// column reads one node of the schema, and all below it, into a vector.
type column interface {
	vector() *vector.Vector
	// begin makes the column start at a stripe.
	begin(*stripe) error
	// read fills the vector with the next n slots. Those set in absent are
	// slots of null structs, for which the file has nothing; nil if none is.
	read(n int, absent []bool) error
	// size is about the bytes of the batch.
	size() int
	// release gives up the buffers.
	release()
}

// batchLimits bound one vector of the batch at hand. They are lower while the
// batch can be made smaller, which errBatchSize asks for.
type batchLimits struct{ bytes, elements int }

const (
	// maxSharedBytes bounds one vector while its batch can be made smaller.
	maxSharedBytes = 4 * vector.BatchBytes
	// maxBatchElements bounds the elements of lists: a few bytes can stand for
	// very many.
	maxBatchElements = 1 << 26
)

// maxBatchBytes bounds the bytes of one vector; its offsets are 32 bits. It is
// changed by tests only.
var maxBatchBytes = 1 << 30

// limitsOf gives the limits of a batch of n rows.
func limitsOf(n int) batchLimits {
	if n > 1 {
		return batchLimits{maxSharedBytes, 1 << 22}
	}
	return batchLimits{maxBatchBytes, maxBatchElements}
}

// errBatchSize makes the Reader try again with fewer rows.
var errBatchSize = errors.New("one batch of rows is too large")

func (l *batchLimits) checkBytes(n int64) error {
	if n > int64(l.bytes) {
		return unsupportedf("%w: more than %d bytes of one column", errBatchSize, l.bytes)
	}
	return nil
}

func (l *batchLimits) checkElements(n int64) error {
	if n > int64(l.elements) {
		return unsupportedf("%w: more than %d elements", errBatchSize, l.elements)
	}
	return nil
}

// base is what all columns have: the PRESENT stream and the vector.
type base struct {
	node   *node
	v      vector.Vector
	limits *batchLimits

	bits    boolReader
	present bool // the stripe has the stream
	nulls   []bool
}

func (c *base) vector() *vector.Vector { return &c.v }

func (c *base) beginBase(s *stripe) {
	c.present = s.has(c.node, streamPresent)
	s.bind(&c.bits.stream, c.node, streamPresent)
	c.bits.begin()
}

// slots reads which of the next n slots are null, and returns how many are
// not: of those there are values.
func (c *base) slots(n int, absent []bool) (int, error) {
	c.v.Len, c.v.Nulls = n, nil
	there := n
	if absent != nil {
		there = n - countTrue(absent[:n])
	}
	if !c.present || there == 0 {
		if there < n {
			c.v.Nulls = absent[:n]
		}
		return there, nil
	}
	b, skip, err := c.bits.bytes(there)
	if err != nil {
		return 0, where("PRESENT", err)
	}
	values := countOnes(b, skip, there)
	if values == n {
		return n, nil
	}
	c.nulls = grow(c.nulls, n)
	expand(c.nulls[:there], b, skip, 0xff)
	if there < n {
		spread(c.nulls, there, absent)
		for i, a := range absent[:n] {
			c.nulls[i] = c.nulls[i] || a
		}
	}
	c.v.Nulls = c.nulls
	return values, nil
}

func (c *base) release() { c.bits.release() }

func countTrue(s []bool) (n int) {
	for _, b := range s {
		one := 0 // counted without a branch: nulls come at random
		if b {
			one = 1
		}
		n += one
	}
	return n
}

// spread moves the n values at the start of f to the slots not null, from the
// last one back so that nothing is overwritten before it has moved. It ends
// where no null is left before. Nulls come at random: a null's slot is written
// too, with anything, rather than branched around.
func spread[T any](f []T, n int, nulls []bool) {
	f = f[:len(nulls)]
	for i := len(nulls) - 1; i >= n && n > 0; i-- {
		f[i] = f[n-1]
		moved := 0
		if !nulls[i] {
			moved = 1
		}
		n -= moved
	}
}

// newColumn returns the reader of a node as t, or says why the file's type
// can't be read as that.
func (r *Reader) newColumn(n *node, t Type) (column, error) {
	r.needed[n.id] = true
	b := base{node: n, limits: &r.limits}
	b.v.Kind = t.Vector()
	is := func(kinds ...fileKind) bool {
		for _, k := range kinds {
			if n.kind == k {
				return true
			}
		}
		return false
	}
	switch t.Kind {
	case Boolean:
		if is(kindBoolean) {
			return &boolColumn{base: b}, nil
		}
	case Int8, Int16, Int32, Int64:
		if is(kindByte, kindShort, kindInt, kindLong) {
			return newIntColumn(b, t), nil
		}
	case Time:
		if is(kindInt) {
			return newIntColumn(b, t), nil
		}
	case Date:
		if is(kindDate) {
			return newIntColumn(b, t), nil
		}
	case Float:
		if is(kindFloat) {
			return &floatColumn{base: b}, nil
		}
	case Double:
		if is(kindFloat, kindDouble) {
			return &doubleColumn{base: b}, nil
		}
	case String:
		if is(kindString, kindVarchar, kindChar) {
			return &bytesColumn{base: b}, nil
		}
	case Binary:
		if is(kindBinary) {
			return &bytesColumn{base: b}, nil
		}
	case Decimal:
		if is(kindDecimal) {
			return newDecimalColumn(b, t)
		}
	case Timestamp:
		if is(kindTimestamp, kindInstant) {
			return &timestampColumn{base: b, clock: n.kind == kindTimestamp || r.file.clockInstants}, nil
		}
	case List:
		if is(kindList) {
			return r.newListColumn(b, t)
		}
	case Map:
		if is(kindMap) {
			return r.newListColumn(b, t)
		}
	case Struct:
		if is(kindStruct) {
			return r.newStructColumn(b, t)
		}
	}
	return nil, unsupportedf("column %q is %s in the file, which can't be read as %s", n.path, n.kind, t)
}
