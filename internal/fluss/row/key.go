package row

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// KeyFormat is a layout of key bytes.
type KeyFormat uint8

const (
	// KeyCompacted is the key columns as in a COMPACTED row, without null bits.
	KeyCompacted KeyFormat = iota + 1
	// KeyPaimon is Paimon's BinaryRow of the key columns.
	KeyPaimon
)

// String returns "compacted" or "paimon".
func (f KeyFormat) String() string {
	switch f {
	case KeyCompacted:
		return "compacted"
	case KeyPaimon:
		return "paimon"
	}
	return fmt.Sprintf("unknown key format %d", uint8(f))
}

// Lake formats, the values of table.datalake.format whose key layout and
// bucketing are known here. A table without the property is LakeNone.
const (
	LakeNone   = ""
	LakePaimon = "paimon"
	LakeLance  = "lance"
)

// KeyFormatOf returns the layouts of a table's primary key bytes and bucket key
// bytes. lakeFormat is the table's table.datalake.format ("" when absent),
// kvFormatVersion its table.kv.format-version (0 when absent), and
// bucketKeyIsPhysicalKey tells whether the bucket key is the whole primary key
// less the partition columns. Both are 0, which NewKeyEncoder refuses, for a
// lake format whose layout is not known.
func KeyFormatOf(lakeFormat string, kvFormatVersion int, bucketKeyIsPhysicalKey bool) (primary, bucket KeyFormat) {
	switch lakeFormat {
	case LakeNone, LakeLance:
		return KeyCompacted, KeyCompacted
	case LakePaimon:
		if kvFormatVersion >= 2 && !bucketKeyIsPhysicalKey {
			return KeyCompacted, KeyPaimon
		}
		return KeyPaimon, KeyPaimon
	}
	return 0, 0
}

// KeyEncoder writes primary key or bucket key bytes. Use is as with Encoder; its
// columns are the key columns in key order. It is not safe for use by several
// goroutines.
type KeyEncoder struct {
	root    *node
	scratch *node
	format  KeyFormat
}

// NewKeyEncoder returns a KeyEncoder for key columns of the given types, which
// may not be ARRAY, MAP or ROW. A compacted key refuses nulls even in nullable
// columns.
func NewKeyEncoder(f KeyFormat, types []DataType) (*KeyEncoder, error) {
	types, err := keyTypes(f, types)
	if err != nil {
		return nil, err
	}
	root, err := newRoot(types)
	if err != nil {
		return nil, err
	}
	return &KeyEncoder{root: root, format: f}, nil
}

// keyTypes returns the types as the format has them in keys.
func keyTypes(f KeyFormat, types []DataType) ([]DataType, error) {
	if f != KeyCompacted && f != KeyPaimon {
		return nil, errors.New("fluss: row: key layout of the table's lake format is not known, need none, paimon or lance")
	}
	out := make([]DataType, len(types))
	for i, t := range types {
		if t.Kind == Array || t.Kind == Map || t.Kind == Row {
			return nil, fmt.Errorf("fluss: row: key column %d has type %s, need one without parts", i, t)
		}
		if f == KeyCompacted {
			t.Nullable = false
		}
		out[i] = t
	}
	return out, nil
}

// Bind takes one vector a key column; see Encoder.Bind.
func (e *KeyEncoder) Bind(cols []*Vector) error {
	if err := e.root.bindRow("key column", cols); err != nil {
		e.root.unbind()
		return err
	}
	return nil
}

// Append appends the key of row pos of the bound batch to dst; see
// Encoder.Append.
func (e *KeyEncoder) Append(dst []byte, pos int) []byte { return e.append(e.root, dst, pos) }

// AppendValues appends the key of Go values, one a key column (see FromValues),
// to dst. A bound batch stays bound.
func (e *KeyEncoder) AppendValues(dst []byte, values []any) ([]byte, error) {
	if e.scratch == nil {
		e.scratch = e.root.unboundCopy()
	}
	if err := e.scratch.bindValues("key column", values); err != nil {
		return dst, err
	}
	return e.append(e.scratch, dst, 0), nil
}

func (e *KeyEncoder) append(n *node, dst []byte, pos int) []byte {
	if e.format == KeyCompacted {
		return n.appendFields(withRoom(dst, n.room), pos)
	}
	// Most keys are one number.
	if c := &n.children[0]; len(n.children) == 1 && c.nulls == nil {
		switch c.op {
		case opInt64:
			return binary.LittleEndian.AppendUint64(append(dst, noNulls...), uint64(c.i64[pos]))
		case opInt32:
			return binary.LittleEndian.AppendUint64(append(dst, noNulls...), uint64(uint32(c.i32[pos])))
		}
	}
	return n.appendBinaryRow(dst, pos)
}

// noNulls begins a BinaryRow of one column that has a value.
const noNulls = "\x00\x00\x00\x00\x00\x00\x00\x00"
