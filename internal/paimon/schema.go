package paimon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Schema is one schema version of a table (file schema/schema-ID).
type Schema struct {
	Version        int // of the file's layout: 1, 2 or 3
	ID             int64
	Fields         []Field
	HighestFieldID int // counts dropped columns too
	PartitionKeys  []string
	PrimaryKeys    []string // in key order; empty for append tables
	Options        map[string]string
	Comment        *string
	NullComment    bool // "comment": null was written
	TimeMillis     int64

	optionOrder []string // as the file has them
	extra       []member // top-level keys this reader does not know, as the file has them
}

type member struct {
	key string
	raw json.RawMessage
}

// ParseSchema reads a schema file. It refuses versions above 3 and content
// that contradicts itself.
func ParseSchema(data []byte) (*Schema, error) {
	members, err := objectMembers(data)
	if err != nil {
		return nil, fmt.Errorf("paimon: schema: %w", err)
	}
	s := &Schema{Version: 1, ID: -1, HighestFieldID: -1, Options: map[string]string{}}
	for _, m := range members {
		if err := s.set(m); err != nil {
			return nil, fmt.Errorf("paimon: schema: %q: %w", m.key, err)
		}
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("paimon: schema: %w", err)
	}
	return s, nil
}

func (s *Schema) set(m member) (err error) {
	switch m.key {
	case "version":
		return json.Unmarshal(m.raw, &s.Version)
	case "id":
		return json.Unmarshal(m.raw, &s.ID)
	case "fields":
		s.Fields, err = parseFields(m.raw, 0)
		return err
	case "highestFieldId":
		return json.Unmarshal(m.raw, &s.HighestFieldID)
	case "partitionKeys":
		return json.Unmarshal(m.raw, &s.PartitionKeys)
	case "primaryKeys":
		return json.Unmarshal(m.raw, &s.PrimaryKeys)
	case "options":
		options, err := objectMembers(m.raw)
		if err != nil {
			return err
		}
		for _, o := range options {
			var v string
			if err := json.Unmarshal(o.raw, &v); err != nil {
				return fmt.Errorf("%q: %w", o.key, err)
			}
			if _, twice := s.Options[o.key]; !twice {
				s.optionOrder = append(s.optionOrder, o.key)
			}
			s.Options[o.key] = v
		}
		return nil
	case "comment":
		s.Comment = nil // a key met twice: the last one counts
		err := json.Unmarshal(m.raw, &s.Comment)
		s.NullComment = s.Comment == nil
		return err
	case "timeMillis":
		return json.Unmarshal(m.raw, &s.TimeMillis)
	}
	s.extra = append(s.extra, m)
	return nil
}

func (s *Schema) check() error {
	if s.Version < 1 || s.Version > 3 {
		return fmt.Errorf("version is %d; this reader knows 1 to 3", s.Version)
	}
	if s.ID < 0 {
		return fmt.Errorf("there is no id, or it is negative")
	}
	if s.Fields == nil {
		return fmt.Errorf("there are no fields")
	}
	ids := map[int]bool{}
	if err := checkFields(s.Fields, ids); err != nil {
		return err
	}
	columns := set(s.Fields, func(f *Field) string { return f.Name })
	for what, keys := range map[string][]string{"partitionKeys": s.PartitionKeys, "primaryKeys": s.PrimaryKeys} {
		seen := map[string]bool{}
		for _, k := range keys {
			if !columns[k] {
				return fmt.Errorf("%s names %q, which is not a column", what, clip(k))
			}
			if seen[k] {
				return fmt.Errorf("%s names %q twice", what, clip(k))
			}
			seen[k] = true
		}
	}
	return nil
}

func checkFields(fields []Field, ids map[int]bool) error {
	names := map[string]bool{}
	for _, f := range fields {
		switch {
		case names[f.Name]:
			return fmt.Errorf("there are two fields %q", clip(f.Name))
		case ids[f.ID]:
			return fmt.Errorf("there are two fields with the id %d", f.ID)
		}
		names[f.Name], ids[f.ID] = true, true
		if err := checkNested(f.Type, ids); err != nil {
			return fmt.Errorf("field %q: %w", clip(f.Name), err)
		}
	}
	return nil
}

func checkNested(t DataType, ids map[int]bool) error {
	for _, c := range []*DataType{t.Element, t.Key, t.Value} {
		if c != nil {
			if err := checkNested(*c, ids); err != nil {
				return err
			}
		}
	}
	if t.Kind == Row {
		return checkFields(t.Fields, ids)
	}
	return nil
}

// JSON writes the schema as Paimon does: same keys, same order, same layout.
// Keys that ParseSchema did not know follow at the end.
func (s *Schema) JSON() ([]byte, error) {
	var w jacksonWriter
	strs := func(key string, list []string) {
		w.key(key)
		w.array(len(list), func(i int) { w.text(list[i]) })
	}
	w.object(func() {
		w.key("version")
		w.number(int64(s.Version))
		w.key("id")
		w.number(s.ID)
		w.key("fields")
		w.fields(s.Fields)
		w.key("highestFieldId")
		w.number(int64(s.HighestFieldID))
		strs("partitionKeys", s.PartitionKeys)
		strs("primaryKeys", s.PrimaryKeys)
		w.key("options")
		w.object(func() {
			for _, k := range s.optionKeys() {
				w.key(k)
				w.text(s.Options[k])
			}
		})
		if s.Comment != nil {
			w.key("comment")
			w.text(*s.Comment)
		} else if s.NullComment {
			w.key("comment")
			w.raw("null")
		}
		w.key("timeMillis")
		w.number(s.TimeMillis)
		for _, m := range s.extra {
			w.key(m.key)
			w.buf = append(w.buf, m.raw...)
		}
	})
	if !json.Valid(w.buf) {
		return nil, fmt.Errorf("paimon: schema %d: a key that was carried over is not JSON", s.ID)
	}
	return w.buf, nil
}

// optionKeys is the file's order, then what was added since, by name.
func (s *Schema) optionKeys() []string {
	keys := make([]string, 0, len(s.Options))
	for _, k := range s.optionOrder {
		if _, ok := s.Options[k]; ok {
			keys = append(keys, k)
		}
	}
	known := len(keys)
	ordered := set(keys, func(k *string) string { return *k })
	for k := range s.Options {
		if !ordered[k] {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys[known:])
	return keys
}

// Clone returns a copy whose fields, keys and options can be replaced without
// touching s. What types point to is shared: replace a type, do not change it.
func (s *Schema) Clone() *Schema {
	c := *s
	c.Fields = slices.Clone(s.Fields)
	c.PartitionKeys, c.PrimaryKeys = slices.Clone(s.PartitionKeys), slices.Clone(s.PrimaryKeys)
	c.Options = make(map[string]string, len(s.Options))
	for k, v := range s.Options {
		c.Options[k] = v
	}
	return &c
}

// Field returns the column of that name.
func (s *Schema) Field(name string) (Field, bool) {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return s.Fields[i], true
		}
	}
	return Field{}, false
}

// fieldsOf are the columns of names that check has seen to be columns.
func (s *Schema) fieldsOf(names []string) []Field {
	fields := make([]Field, len(names))
	if len(names) <= 8 { // the usual, where a search is the fastest
		for i, n := range names {
			fields[i], _ = s.Field(n)
		}
		return fields
	}
	at := make(map[string]int, len(s.Fields))
	for i := range s.Fields {
		at[s.Fields[i].Name] = i
	}
	for i, n := range names {
		if c, ok := at[n]; ok {
			fields[i] = s.Fields[c]
		}
	}
	return fields
}

func set[T any](list []T, name func(*T) string) map[string]bool {
	m := make(map[string]bool, len(list))
	for i := range list {
		m[name(&list[i])] = true
	}
	return m
}

// fieldByID returns the top-level column of that id.
func (s *Schema) fieldByID(id int) (Field, bool) {
	for i := range s.Fields {
		if s.Fields[i].ID == id {
			return s.Fields[i], true
		}
	}
	return Field{}, false
}

// TrimmedPrimaryKeys is the primary key without the partition columns: what
// data files are sorted by.
func (s *Schema) TrimmedPrimaryKeys() []string {
	var keys []string
	partition := set(s.PartitionKeys, func(k *string) string { return *k })
	for _, k := range s.PrimaryKeys {
		if !partition[k] {
			keys = append(keys, k)
		}
	}
	return keys
}

// BucketKeys is the option bucket-key, else the trimmed primary key.
func (s *Schema) BucketKeys() []string {
	text := s.Option("bucket-key", "")
	if text == "" {
		return s.TrimmedPrimaryKeys()
	}
	keys := strings.Split(text, ",")
	for i := range keys {
		keys[i] = strings.TrimSpace(keys[i])
	}
	return keys
}

// Bucket is the option bucket: above 0 a fixed count, -1 dynamic or unaware,
// -2 postponed. Where it is not set, files of version 1 mean 1, later ones -1.
func (s *Schema) Bucket() (int, error) {
	def := "-1"
	if s.Version == 1 {
		def = "1"
	}
	text := s.Option("bucket", def)
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < -2 || n == 0 {
		return 0, fmt.Errorf("paimon: schema %d: option bucket=%s; required is a count above 0, -1 or -2", s.ID, clip(text))
	}
	return n, nil
}

// FileFormat is the option file.format, which new files get; a file's own
// format is its name's ending. Where it is not set, files of versions 1 and 2
// mean orc, later ones parquet.
func (s *Schema) FileFormat() string {
	def := "parquet"
	if s.Version <= 2 {
		def = "orc"
	}
	return strings.ToLower(s.Option("file.format", def))
}

// Option returns an option's text, or def where it is not set.
func (s *Schema) Option(key, def string) string {
	if v, ok := s.Options[key]; ok {
		return v
	}
	return def
}

// optionBool reads a boolean option as Paimon does: "true" in any case.
func (s *Schema) optionBool(key string, def bool) bool {
	v, ok := s.Options[key]
	if !ok {
		return def
	}
	return strings.EqualFold(strings.TrimSpace(v), "true")
}

func parseFields(raw json.RawMessage, depth int) ([]Field, error) {
	if depth > maxTypeDepth {
		return nil, fmt.Errorf("type is nested more than %d deep", maxTypeDepth)
	}
	var items []struct {
		ID          *int            `json:"id"`
		Name        *string         `json:"name"`
		Type        json.RawMessage `json:"type"`
		Description json.RawMessage `json:"description"`
		Default     json.RawMessage `json:"defaultValue"`
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	fields := make([]Field, len(items))
	for i, it := range items {
		if it.ID == nil || it.Name == nil || it.Type == nil {
			return nil, fmt.Errorf("field %d lacks id, name or type", i)
		}
		t, err := parseType(it.Type, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", clip(*it.Name), err)
		}
		f := Field{ID: *it.ID, Name: *it.Name, Type: t}
		if f.Description, f.NullDescription, err = optionalText(it.Description); err != nil {
			return nil, fmt.Errorf("description of field %q: %w", clip(f.Name), err)
		}
		if f.Default, f.NullDefault, err = optionalText(it.Default); err != nil {
			return nil, fmt.Errorf("default of field %q: %w", clip(f.Name), err)
		}
		fields[i] = f
	}
	return fields, nil
}

func optionalText(raw json.RawMessage) (v *string, null bool, err error) {
	if raw == nil {
		return nil, false, nil
	}
	err = json.Unmarshal(raw, &v)
	return v, v == nil, err
}

// objectMembers splits a JSON object into its members, in order.
func objectMembers(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if tok != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object")
	}
	var members []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		m := member{key: key.(string)} // the decoder gives nothing else here
		if err := dec.Decode(&m.raw); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if dec.More() {
		return nil, fmt.Errorf("something follows the JSON object")
	}
	return members, nil
}
