package paimon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxTypeDepth bounds how deep types may be nested, so that a damaged schema
// can't exhaust the stack.
const maxTypeDepth = 64

// ParseType reads a type as schema files hold it: a string for atomic types
// ("DECIMAL(10, 2) NOT NULL"), an object for nested ones.
func ParseType(raw json.RawMessage) (DataType, error) { return parseType(raw, 0) }

func parseType(raw json.RawMessage, depth int) (DataType, error) {
	if depth > maxTypeDepth {
		return DataType{}, fmt.Errorf("type is nested more than %d deep", maxTypeDepth)
	}
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if len(trimmed) > 0 && trimmed[0] == '"' {
		var s string
		if err := json.Unmarshal(trimmed, &s); err != nil {
			return DataType{}, fmt.Errorf("type: %w", err)
		}
		return parseAtomic(s)
	}
	var o struct {
		Type    *string         `json:"type"`
		Element json.RawMessage `json:"element"`
		Key     json.RawMessage `json:"key"`
		Value   json.RawMessage `json:"value"`
		Fields  json.RawMessage `json:"fields"`
		Length  *int            `json:"length"`
	}
	if err := json.Unmarshal(trimmed, &o); err != nil {
		return DataType{}, fmt.Errorf("type: %w", err)
	}
	if o.Type == nil {
		return DataType{}, fmt.Errorf(`type object %s has no "type"`, clip(string(trimmed)))
	}
	name, nullable, err := cutNotNull(strings.ToUpper(*o.Type))
	if err != nil {
		return DataType{}, err
	}
	t := DataType{Nullable: nullable}
	child := func(raw json.RawMessage, what string) (*DataType, error) {
		if raw == nil {
			return nil, fmt.Errorf("%s type has no %q", name, what)
		}
		c, err := parseType(raw, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", what, name, err)
		}
		return &c, nil
	}
	switch name {
	case "ARRAY", "MULTISET", "VECTOR":
		t.Kind = map[string]Kind{"ARRAY": Array, "MULTISET": Multiset, "VECTOR": VectorType}[name]
		if t.Element, err = child(o.Element, "element"); err != nil {
			return DataType{}, err
		}
		if t.Kind == VectorType {
			if o.Length == nil || *o.Length < 1 {
				return DataType{}, fmt.Errorf(`VECTOR type has no "length" above 0`)
			}
			t.Length = *o.Length
		}
	case "MAP":
		t.Kind = Map
		if t.Key, err = child(o.Key, "key"); err != nil {
			return DataType{}, err
		}
		if t.Value, err = child(o.Value, "value"); err != nil {
			return DataType{}, err
		}
	case "ROW":
		t.Kind = Row
		if o.Fields == nil {
			return DataType{}, fmt.Errorf(`ROW type has no "fields"`)
		}
		if t.Fields, err = parseFields(o.Fields, depth+1); err != nil {
			return DataType{}, err
		}
	default:
		return DataType{}, fmt.Errorf("unknown nested type %q; known are ARRAY, MULTISET, MAP, ROW and VECTOR", clip(*o.Type))
	}
	return t, nil
}

// cutNotNull splits off "NOT NULL" (or "NULL"); s is in upper case.
func cutNotNull(s string) (name string, nullable bool, err error) {
	words := strings.Fields(s)
	n := len(words)
	switch {
	case n >= 2 && words[n-1] == "NULL" && words[n-2] == "NOT":
		return strings.Join(words[:n-2], " "), false, nil
	case n >= 2 && words[n-1] == "NULL":
		return strings.Join(words[:n-1], " "), true, nil
	case n == 0:
		return "", false, fmt.Errorf("type is empty")
	}
	return strings.Join(words, " "), true, nil
}

// atomicForm holds, for each way a type is spelled, what its numbers mean.
type atomicForm struct {
	kind   Kind
	params int // how many numbers may follow
	length int // default of a length
	prec   int // default of a precision
}

var atomics = map[string]atomicForm{
	"BOOLEAN": {kind: Boolean}, "TINYINT": {kind: TinyInt}, "SMALLINT": {kind: SmallInt},
	"INT": {kind: Int}, "INTEGER": {kind: Int}, "BIGINT": {kind: BigInt},
	"FLOAT": {kind: Float}, "DOUBLE": {kind: Double}, "DOUBLE PRECISION": {kind: Double},
	"CHAR": {kind: Char, params: 1, length: 1}, "VARCHAR": {kind: VarChar, params: 1, length: 1},
	"STRING": {kind: VarChar, length: MaxLength},
	"BINARY": {kind: Binary, params: 1, length: 1}, "VARBINARY": {kind: VarBinary, params: 1, length: 1},
	"BYTES":   {kind: VarBinary, length: MaxLength},
	"DECIMAL": {kind: Decimal, params: 2, prec: 10}, "NUMERIC": {kind: Decimal, params: 2, prec: 10}, "DEC": {kind: Decimal, params: 2, prec: 10},
	"DATE": {kind: Date}, "TIME": {kind: Time, params: 1}, "TIME WITHOUT TIME ZONE": {kind: Time, params: 1},
	"TIMESTAMP":                      {kind: Timestamp, params: 1, prec: 6},
	"TIMESTAMP WITHOUT TIME ZONE":    {kind: Timestamp, params: 1, prec: 6},
	"TIMESTAMP WITH LOCAL TIME ZONE": {kind: TimestampLTZ, params: 1, prec: 6},
	"TIMESTAMP_LTZ":                  {kind: TimestampLTZ, params: 1, prec: 6},
	"VARIANT":                        {kind: Variant}, "BLOB": {kind: Blob},
}

// parseAtomic reads a type string. Case and spaces do not matter.
func parseAtomic(s string) (DataType, error) {
	bad := func(why string) (DataType, error) {
		return DataType{}, fmt.Errorf("type %q: %s", clip(s), why)
	}
	upper := strings.ToUpper(s)
	var params []int
	if before, rest, ok := strings.Cut(upper, "("); ok {
		inside, after, ok := strings.Cut(rest, ")")
		if !ok {
			return bad("the bracket is not closed")
		}
		for _, p := range strings.Split(inside, ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(p), 10, 31)
			if err != nil {
				return bad("what is in the brackets is not numbers from 0 to 2147483647")
			}
			params = append(params, int(n))
		}
		upper = before + " " + after
	}
	name, nullable, err := cutNotNull(upper)
	if err != nil {
		return bad(err.Error())
	}
	a, ok := atomics[name]
	if !ok {
		return bad("unknown type")
	}
	if len(params) > a.params {
		return bad(fmt.Sprintf("takes at most %d numbers, found %d", a.params, len(params)))
	}
	t := DataType{Kind: a.kind, Nullable: nullable, Length: a.length, Precision: a.prec}
	if len(params) > 0 {
		if a.length > 0 {
			t.Length = params[0]
		} else {
			t.Precision = params[0]
		}
	}
	if len(params) > 1 {
		t.Scale = params[1]
	}
	switch {
	case a.length > 0 && t.Length < 1:
		return bad("the length must be at least 1")
	case t.Kind == Decimal && (t.Precision < 1 || t.Precision > 38 || t.Scale > t.Precision):
		return bad("precision must be 1 to 38 and scale 0 to the precision")
	case t.Kind != Decimal && t.Precision > 9:
		return bad("precision must be 0 to 9")
	}
	return t, nil
}

// clip shortens text of unknown length for an error message.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// String is Paimon's SQL form: "DECIMAL(10, 2) NOT NULL", "ARRAY<INT>",
// "ROW<`a` INT>".
func (t DataType) String() string {
	var b strings.Builder
	switch t.Kind {
	case Array:
		fmt.Fprintf(&b, "ARRAY<%s>", t.Element)
	case Multiset:
		fmt.Fprintf(&b, "MULTISET<%s>", t.Element)
	case VectorType:
		fmt.Fprintf(&b, "VECTOR<%s, %d>", t.Element, t.Length)
	case Map:
		fmt.Fprintf(&b, "MAP<%s, %s>", t.Key, t.Value)
	case Row:
		b.WriteString("ROW<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "`%s` %s", strings.ReplaceAll(f.Name, "`", "``"), f.Type)
			if f.Description != nil {
				fmt.Fprintf(&b, " '%s'", strings.ReplaceAll(*f.Description, "'", "''"))
			}
		}
		b.WriteString(">")
	default:
		b.WriteString(t.atomicName())
	}
	if !t.Nullable {
		b.WriteString(" NOT NULL")
	}
	return b.String()
}

// atomicName is the type string without nullability.
func (t DataType) atomicName() string {
	switch t.Kind {
	case Boolean:
		return "BOOLEAN"
	case TinyInt:
		return "TINYINT"
	case SmallInt:
		return "SMALLINT"
	case Int:
		return "INT"
	case BigInt:
		return "BIGINT"
	case Float:
		return "FLOAT"
	case Double:
		return "DOUBLE"
	case Char:
		return fmt.Sprintf("CHAR(%d)", t.Length)
	case VarChar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length)
	case Binary:
		return fmt.Sprintf("BINARY(%d)", t.Length)
	case VarBinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return fmt.Sprintf("VARBINARY(%d)", t.Length)
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Date:
		return "DATE"
	case Time:
		return fmt.Sprintf("TIME(%d)", t.Precision)
	case Timestamp:
		return fmt.Sprintf("TIMESTAMP(%d)", t.Precision)
	case TimestampLTZ:
		return fmt.Sprintf("TIMESTAMP(%d) WITH LOCAL TIME ZONE", t.Precision)
	case Variant:
		return "VARIANT"
	case Blob:
		return "BLOB"
	}
	return fmt.Sprintf("UNKNOWN(%d)", t.Kind)
}

// MarshalJSON writes the type as Paimon's schema files hold it.
func (t DataType) MarshalJSON() ([]byte, error) {
	var w jacksonWriter
	w.dataType(t)
	return w.buf, nil
}
