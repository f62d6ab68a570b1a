package fluss

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// The JSON form of a table in CREATE_TABLE and GET_TABLE_INFO, in the order in
// which the Java client writes it. Source: table JSON of the published client
// classes of 0.9.1-incubating and 1.0.0, which agree.
type tableJSON struct {
	Version          int               `json:"version"`
	Schema           *schemaJSON       `json:"schema"`
	Comment          *string           `json:"comment,omitempty"`
	PartitionKey     []string          `json:"partition_key"`
	BucketKey        *[]string         `json:"bucket_key,omitempty"`
	BucketCount      int               `json:"bucket_count,omitempty"`
	Properties       map[string]string `json:"properties"`
	CustomProperties map[string]string `json:"custom_properties"`
}

type schemaJSON struct {
	Version        int          `json:"version"`
	Columns        []columnJSON `json:"columns"`
	PrimaryKey     []string     `json:"primary_key,omitempty"`
	AutoIncrement  []string     `json:"auto_increment_column,omitempty"`
	HighestFieldID int          `json:"highest_field_id"`
}

type columnJSON struct {
	Name    string         `json:"name"`
	Type    *typeJSON      `json:"data_type"`
	Comment *string        `json:"comment,omitempty"`
	Agg     *aggregateJSON `json:"agg_function,omitempty"`
	ID      int            `json:"id"`
}

type aggregateJSON struct {
	Type       string            `json:"type"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

const tableJSONVersion = 1

// MarshalJSON gives the table JSON of CREATE_TABLE. Column IDs count from 0 in
// the columns' order, the fields of ROW types included, depth first.
func (d TableDescriptor) MarshalJSON() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	t := tableJSON{Version: tableJSONVersion, Comment: d.Comment, PartitionKey: d.PartitionKeys,
		BucketCount: d.BucketCount, Properties: d.Properties, CustomProperties: d.CustomProperties}
	// These three must be there, empty or not.
	if t.PartitionKey == nil {
		t.PartitionKey = []string{}
	}
	if t.Properties == nil {
		t.Properties = map[string]string{}
	}
	if t.CustomProperties == nil {
		t.CustomProperties = map[string]string{}
	}
	// The server wants the bucket key whenever the bucket count is stated.
	if d.BucketKey != nil || d.BucketCount > 0 {
		key := d.bucketKey()
		if key == nil {
			key = []string{}
		}
		t.BucketKey = &key
	}
	s := &schemaJSON{Version: tableJSONVersion, PrimaryKey: d.PrimaryKey, AutoIncrement: d.AutoIncrement}
	next := 0
	for _, c := range d.Columns {
		typ := c.Type
		if slices.Contains(d.PrimaryKey, c.Name) {
			typ.Nullable = false
		}
		col := columnJSON{Name: c.Name, Comment: c.Comment, ID: next}
		next++
		var err error
		if col.Type, err = typeToJSON(typ, &next); err != nil {
			return nil, fmt.Errorf("fluss: column %q: %w", c.Name, err)
		}
		if c.Aggregate != "" {
			col.Agg = &aggregateJSON{Type: c.Aggregate, Parameters: c.AggregateParameters}
		}
		s.Columns = append(s.Columns, col)
	}
	s.HighestFieldID = next - 1
	t.Schema = s
	return encodeJSON(t)
}

func (d *TableDescriptor) check() error {
	if len(d.Columns) == 0 {
		return errors.New("fluss: a table needs at least one column")
	}
	seen := map[string]bool{}
	for _, c := range d.Columns {
		if seen[c.Name] {
			return fmt.Errorf("fluss: column %q is given twice", c.Name)
		}
		seen[c.Name] = true
	}
	for what, keys := range map[string][]string{"primary key": d.PrimaryKey, "partition key": d.PartitionKeys, "bucket key": d.BucketKey} {
		for _, k := range keys {
			if !seen[k] {
				return fmt.Errorf("fluss: the %s names column %q, which is not among the columns", what, k)
			}
		}
	}
	return nil
}

// encodeJSON is json.Marshal without escaping <, > and &.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("fluss: encoding table JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON is ParseTableDescriptor.
func (d *TableDescriptor) UnmarshalJSON(data []byte) error {
	p, err := ParseTableDescriptor(data)
	if err == nil {
		*d = *p
	}
	return err
}

// ParseTableDescriptor reads table JSON. Members it doesn't know are passed
// over; types it doesn't know are an error that names the column.
func ParseTableDescriptor(data []byte) (*TableDescriptor, error) {
	var t tableJSON
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("fluss: table JSON of %d bytes: %w", len(data), err)
	}
	if t.Schema == nil {
		return nil, errors.New("fluss: table JSON has no schema")
	}
	if t.Version > tableJSONVersion || t.Schema.Version > tableJSONVersion {
		return nil, fmt.Errorf("fluss: table JSON has version %d (schema %d); this client reads version %d", t.Version, t.Schema.Version, tableJSONVersion)
	}
	d := &TableDescriptor{PrimaryKey: t.Schema.PrimaryKey, AutoIncrement: t.Schema.AutoIncrement, PartitionKeys: t.PartitionKey,
		BucketCount: t.BucketCount, Comment: t.Comment, Properties: t.Properties, CustomProperties: t.CustomProperties}
	if len(d.PartitionKeys) == 0 {
		d.PartitionKeys = nil
	}
	if t.BucketKey != nil {
		d.BucketKey = *t.BucketKey
	}
	if d.BucketCount < 0 {
		return nil, fmt.Errorf("fluss: table JSON has a bucket count of %d", d.BucketCount)
	}
	for _, c := range t.Schema.Columns {
		typ, err := typeFromJSON(c.Type, 0)
		if err != nil {
			return nil, fmt.Errorf("fluss: column %q: %w", c.Name, err)
		}
		col := Column{Name: c.Name, Type: typ, Comment: c.Comment, ID: c.ID}
		if c.Agg != nil {
			col.Aggregate, col.AggregateParameters = c.Agg.Type, c.Agg.Parameters
		}
		d.Columns = append(d.Columns, col)
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	return d, nil
}

// marshalType gives the JSON of a column type to be added by ALTER_TABLE; the
// server assigns the field IDs of ROW types.
func marshalType(t row.DataType) ([]byte, error) {
	next := 0
	j, err := typeToJSON(t, &next)
	if err != nil {
		return nil, err
	}
	return encodeJSON(j)
}
