package paimon

// Kind is the root of a Paimon data type.
type Kind uint8

const (
	Boolean Kind = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Char
	VarChar // STRING is VARCHAR(MaxLength)
	Binary
	VarBinary // BYTES is VARBINARY(MaxLength)
	Decimal
	Date
	Time
	Timestamp
	TimestampLTZ
	Array
	Map
	Row
	Multiset
	Variant
	Blob
	VectorType
)

// MaxLength is the length of STRING and BYTES.
const MaxLength = 2147483647

// DataType is a Paimon data type. Length is used by CHAR, VARCHAR, BINARY,
// VARBINARY and VECTOR, Precision by DECIMAL, TIME and the timestamps, Scale by
// DECIMAL, Element by ARRAY, MULTISET and VECTOR, Key and Value by MAP, Fields
// by ROW.
type DataType struct {
	Kind      Kind
	Nullable  bool
	Length    int
	Precision int
	Scale     int
	Element   *DataType
	Key       *DataType
	Value     *DataType
	Fields    []Field
}

// Field is a column of a schema, or a field of a ROW. ID is unique over the
// whole schema and never reused. Description and Default are nil when absent;
// a JSON null is kept apart from absence by NullDescription, because Paimon
// Java reads a JSON null there as the text "null"; NullDefault does the same
// for Default.
type Field struct {
	ID              int
	Name            string
	Type            DataType
	Description     *string
	NullDescription bool
	Default         *string
	NullDefault     bool // "defaultValue": null was written
}
