// Package vector holds column vectors: the form in which every data-file
// format hands decoded values to the merge reader. It knows nothing of any
// file format and nothing of tables.
package vector

// Kind says which of a Vector's slices hold its values.
type Kind uint8

const (
	// Bool values are in Bools.
	Bool Kind = iota + 1
	// Int32 values are in Int32s: TINYINT, SMALLINT, INT, DATE (days since
	// 1970-01-01) and TIME (milliseconds of the day).
	Int32
	// Int64 values are in Int64s: BIGINT, DECIMAL of precision up to 18
	// (unscaled), TIMESTAMP and TIMESTAMP_LTZ of precision up to 3
	// (milliseconds since the epoch).
	Int64
	// Float32 values are in Float32s.
	Float32
	// Float64 values are in Float64s.
	Float64
	// Bytes values are Data[Offsets[i]:Offsets[i+1]]: CHAR, VARCHAR, STRING
	// (UTF-8), BINARY, VARBINARY, BYTES, and DECIMAL of precision above 18
	// (big-endian two's complement of the unscaled value, least width).
	Bytes
	// Timestamp values are Int64s (milliseconds since the epoch, floored)
	// plus Nanos (0 to 999999, nanoseconds within that millisecond):
	// TIMESTAMP and TIMESTAMP_LTZ of precision above 3.
	Timestamp
	// List values are Children[0] positions Offsets[i] to Offsets[i+1].
	List
	// Map values are entries Offsets[i] to Offsets[i+1] of Children[0]
	// (keys) and Children[1] (values).
	Map
	// Struct values are position i of every child.
	Struct
)

// Vector is one column of a batch: Len values, of which those with Nulls[i]
// set are null (Nulls is nil when none is). A null's slot in the value slices
// exists and holds anything; a null Bytes, List or Map slot is empty.
//
// A Vector and all its slices belong to whoever filled it; they are reused for
// the next batch unless the filler says otherwise.
type Vector struct {
	Kind     Kind
	Len      int
	Nulls    []bool
	Bools    []bool
	Int32s   []int32
	Int64s   []int64
	Nanos    []int32
	Float32s []float32
	Float64s []float64
	Offsets  []int32 // Len+1 entries
	Data     []byte
	Children []*Vector
}

// IsNull reports whether value i is null.
func (v *Vector) IsNull(i int) bool { return v.Nulls != nil && v.Nulls[i] }

// BytesAt returns value i of a Bytes vector, sharing memory with it.
func (v *Vector) BytesAt(i int) []byte { return v.Data[v.Offsets[i]:v.Offsets[i+1]] }
