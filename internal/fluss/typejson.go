package fluss

import (
	"errors"
	"fmt"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// typeJSON is a data type in table JSON; "nullable" is written only when false.
type typeJSON struct {
	Type      string      `json:"type"`
	Nullable  *bool       `json:"nullable,omitempty"`
	Length    *int        `json:"length,omitempty"`
	Precision *int        `json:"precision,omitempty"`
	Scale     *int        `json:"scale,omitempty"`
	Element   *typeJSON   `json:"element_type,omitempty"`
	Key       *typeJSON   `json:"key_type,omitempty"`
	Value     *typeJSON   `json:"value_type,omitempty"`
	Fields    []fieldJSON `json:"fields,omitempty"`
}

type fieldJSON struct {
	Name        string    `json:"name"`
	Type        *typeJSON `json:"field_type"`
	Description *string   `json:"description,omitempty"`
	ID          int       `json:"field_id"`
}

// typeRoots are the names of the types in table JSON.
var typeRoots = map[row.Kind]string{
	row.Boolean: "BOOLEAN", row.TinyInt: "TINYINT", row.SmallInt: "SMALLINT", row.Int: "INTEGER", row.BigInt: "BIGINT",
	row.Float: "FLOAT", row.Double: "DOUBLE", row.Char: "CHAR", row.String: "STRING", row.Binary: "BINARY", row.Bytes: "BYTES",
	row.Decimal: "DECIMAL", row.Date: "DATE", row.Time: "TIME_WITHOUT_TIME_ZONE",
	row.Timestamp: "TIMESTAMP_WITHOUT_TIME_ZONE", row.TimestampLTZ: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
	row.Array: "ARRAY", row.Map: "MAP", row.Row: "ROW",
}

var typeKinds = func() map[string]row.Kind {
	m := make(map[string]row.Kind, len(typeRoots))
	for k, n := range typeRoots {
		m[n] = k
	}
	return m
}()

// maxTypeDepth bounds how deep types may be nested.
const maxTypeDepth = 100

// typeToJSON converts a type; next is the next field ID to be given out.
func typeToJSON(t row.DataType, next *int) (*typeJSON, error) {
	root, ok := typeRoots[t.Kind]
	if !ok {
		return nil, fmt.Errorf("type kind %d is not known", t.Kind)
	}
	j := &typeJSON{Type: root}
	if !t.Nullable {
		no := false
		j.Nullable = &no
	}
	var err error
	switch t.Kind {
	case row.Char, row.Binary:
		j.Length = &t.Length
	case row.Decimal:
		j.Precision, j.Scale = &t.Precision, &t.Scale
	case row.Time, row.Timestamp, row.TimestampLTZ:
		j.Precision = &t.Precision
	case row.Array:
		if t.Element == nil {
			return nil, errors.New("ARRAY has no element type")
		}
		if j.Element, err = typeToJSON(*t.Element, next); err != nil {
			return nil, err
		}
	case row.Map:
		if t.Key == nil || t.Value == nil {
			return nil, errors.New("MAP has no key or value type")
		}
		key := *t.Key
		key.Nullable = false // the servers have no other map keys
		if j.Key, err = typeToJSON(key, next); err != nil {
			return nil, err
		}
		if j.Value, err = typeToJSON(*t.Value, next); err != nil {
			return nil, err
		}
	case row.Row:
		j.Fields = []fieldJSON{}
		for _, f := range t.Fields {
			field := fieldJSON{Name: f.Name, ID: *next}
			*next++
			if f.Description != "" {
				field.Description = &f.Description
			}
			if field.Type, err = typeToJSON(f.Type, next); err != nil {
				return nil, fmt.Errorf("field %q: %w", f.Name, err)
			}
			j.Fields = append(j.Fields, field)
		}
	}
	return j, nil
}

func typeFromJSON(j *typeJSON, depth int) (row.DataType, error) {
	if j == nil {
		return row.DataType{}, errors.New("the type is missing")
	}
	if depth > maxTypeDepth {
		return row.DataType{}, fmt.Errorf("the type is nested deeper than %d levels", maxTypeDepth)
	}
	kind, ok := typeKinds[j.Type]
	if !ok {
		return row.DataType{}, fmt.Errorf("type %q is not known", j.Type)
	}
	t := row.DataType{Kind: kind, Nullable: j.Nullable == nil || *j.Nullable}
	number := func(v *int, name string, dst *int, low, high int) error {
		if v == nil {
			return fmt.Errorf("%s has no %s", j.Type, name)
		}
		if *v < low || *v > high {
			return fmt.Errorf("%s has %s %d; allowed is %d to %d", j.Type, name, *v, low, high)
		}
		*dst = *v
		return nil
	}
	nested := func(from *typeJSON, name string, dst **row.DataType) error {
		sub, err := typeFromJSON(from, depth+1)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", name, j.Type, err)
		}
		*dst = &sub
		return nil
	}
	var err error
	switch kind {
	case row.Char, row.Binary:
		err = number(j.Length, "length", &t.Length, 1, 1<<31-1)
	case row.Decimal:
		if err = number(j.Precision, "precision", &t.Precision, 1, 38); err == nil {
			err = number(j.Scale, "scale", &t.Scale, 0, t.Precision)
		}
	case row.Time, row.Timestamp, row.TimestampLTZ:
		err = number(j.Precision, "precision", &t.Precision, 0, 9)
	case row.Array:
		err = nested(j.Element, "element", &t.Element)
	case row.Map:
		if err = nested(j.Key, "key", &t.Key); err == nil {
			err = nested(j.Value, "value", &t.Value)
		}
	case row.Row:
		for _, f := range j.Fields {
			typ, err := typeFromJSON(f.Type, depth+1)
			if err != nil {
				return row.DataType{}, fmt.Errorf("field %q: %w", f.Name, err)
			}
			field := row.Field{Name: f.Name, Type: typ}
			if f.Description != nil {
				field.Description = *f.Description
			}
			t.Fields = append(t.Fields, field)
		}
	}
	return t, err
}
