package avro

import (
	"fmt"
	"math"

	lib "github.com/hamba/avro/v2"

	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

const millisPerDay = 24 * 60 * 60 * 1000

// builder compiles the writer's types into decoders.
type builder struct{ skip skippers }

type wantedField struct {
	name    string
	decoder decoder
}

// record plans the reading of a record for the fields wanted that it has.
func (b *builder) record(s *lib.RecordSchema, wanted []wantedField) (*record, error) {
	r := &record{}
	byName := map[string]decoder{}
	for _, w := range wanted {
		if byName[w.name] != nil {
			return r, fmt.Errorf("column %q is wanted twice", w.name)
		}
		byName[w.name] = w.decoder
	}
	for _, f := range s.Fields() {
		if d := byName[f.Name()]; d != nil {
			s := step{name: f.Name(), decode: d}
			if u, ok := d.(*nullable); ok {
				s.decode, s.union, s.null = u.decoder, true, u.at
			}
			r.steps = append(r.steps, s)
		} else if skip := b.skip.of(f.Type()); skip != nil {
			r.steps = append(r.steps, step{name: f.Name(), skip: skip})
		}
	}
	return r, nil
}

// build returns the decoder of the writer's s as t. Path names the column in
// errors.
func (b *builder) build(s lib.Schema, t vector.Type, path string) (decoder, error) {
	u, ok := target(s).(*lib.UnionSchema)
	if !ok {
		return b.value(target(s), t, path)
	}
	null := -1
	var value lib.Schema
	others := 0
	for i, branch := range u.Types() {
		if target(branch).Type() == lib.Null {
			null = i
		} else {
			value = branch
			others++
		}
	}
	if others != 1 {
		return nil, mismatch(s, t, path)
	}
	d, err := b.value(target(value), t, path)
	switch {
	case err != nil:
		return nil, err
	case null < 0:
		return &single{d}, nil
	default:
		return &nullable{d, int64(null)}, nil
	}
}

func mismatch(s lib.Schema, t vector.Type, path string) error {
	return unsupportedf("column %q is %s in the file, which can't be read as %s", path, describe(s), t)
}

func (b *builder) value(s lib.Schema, t vector.Type, path string) (decoder, error) {
	var d decoder
	var err error
	switch t.Kind {
	case vector.LogicalList:
		d, err = b.list(s, t, path)
	case vector.LogicalMap:
		d, err = b.mapping(s, t, path)
	case vector.LogicalStruct:
		d, err = b.structure(s, t, path)
	case vector.LogicalDecimal:
		d, err = decimal(s, t, path)
	default:
		d = leaf(s, t)
	}
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, mismatch(s, t, path)
	}
	d.vector().Kind = t.Vector()
	return d, nil
}

// leaf is the decoder of a type without parts; nil if there is none.
func leaf(s lib.Schema, t vector.Type) decoder {
	kind, annotation := s.Type(), logical(s)
	plain := annotation == ""
	integer := kind == lib.Int || kind == lib.Long
	switch t.Kind {
	case vector.LogicalBoolean:
		if kind == lib.Boolean && plain {
			return &bools{}
		}
	case vector.LogicalInt8, vector.LogicalInt16, vector.LogicalInt32:
		if integer && plain {
			bits := map[vector.Logical]int{vector.LogicalInt8: 8, vector.LogicalInt16: 16, vector.LogicalInt32: 32}[t.Kind]
			return &ints{low: -1 << (bits - 1), high: 1<<(bits-1) - 1}
		}
	case vector.LogicalInt64:
		if integer && plain {
			return &longs{}
		}
	case vector.LogicalFloat:
		if kind == lib.Float && plain {
			return &floats{}
		}
	case vector.LogicalDouble:
		if kind == lib.Double && plain {
			return &doubles{}
		}
		if kind == lib.Float && plain {
			return &widened{}
		}
	case vector.LogicalString:
		if kind == lib.String {
			return &texts{size: -1}
		}
		return rawBytes(s)
	case vector.LogicalBinary:
		if kind == lib.String && plain {
			return &texts{size: -1}
		}
		return rawBytes(s)
	case vector.LogicalDate:
		if kind == lib.Int && (plain || annotation == lib.Date) {
			return &ints{low: math.MinInt32, high: math.MaxInt32}
		}
	case vector.LogicalTime:
		return timeOfDay(kind, annotation, t)
	case vector.LogicalTimestamp:
		return timestamp(annotation, t)
	}
	return nil
}

func rawBytes(s lib.Schema) decoder {
	if logical(s) != "" {
		return nil
	}
	if f, ok := s.(*lib.FixedSchema); ok {
		return &texts{size: int64(f.Size())}
	}
	if s.Type() == lib.Bytes {
		return &texts{size: -1}
	}
	return nil
}

// timeOfDay reads milliseconds, which is what Paimon keeps, and microseconds.
// No writer puts a TIME of precision above 3 into Avro.
func timeOfDay(kind lib.Type, annotation lib.LogicalType, t vector.Type) decoder {
	r := ints{low: 0, high: millisPerDay - 1}
	switch {
	case kind == lib.Int && t.Precision <= 3 && (annotation == lib.TimeMillis || annotation == ""):
		return &r
	case kind == lib.Long && annotation == lib.TimeMicros:
		return &microTimes{r}
	}
	return nil
}

// timestamp takes the unit from the file and the meaning from the caller:
// Paimon annotates its TIMESTAMP as Avro annotates a point in time, and its
// TIMESTAMP_LTZ as Avro annotates a local time. A long without annotation has
// no unit, and none has digits below the microsecond.
func timestamp(annotation lib.LogicalType, t vector.Type) decoder {
	perMilli := int64(1)
	switch annotation {
	case lib.TimestampMillis, lib.LocalTimestampMillis:
	case lib.TimestampMicros, lib.LocalTimestampMicros:
		perMilli = 1000
	default:
		return nil
	}
	switch {
	case t.Precision > 6:
		return nil
	case t.Precision > 3:
		return &stamps{perMilli: perMilli}
	case perMilli == 1:
		return &longs{}
	default:
		return &microLongs{}
	}
}

// decimal reads decimals of the scale wanted. Without annotation, an integer is
// one at scale 0 only, and bytes are none: their unscaled value would be a
// guess.
func decimal(s lib.Schema, t vector.Type, path string) (decoder, error) {
	long := t.Precision > vector.LongDecimal
	annotation := logical(s)
	if kind := s.Type(); (kind == lib.Int || kind == lib.Long) && annotation == "" && t.Scale == 0 {
		if long {
			return &wholeDecimals{}, nil
		}
		return &longs{}, nil
	}
	l, ok := s.(lib.LogicalTypeSchema)
	if !ok || annotation != lib.Decimal {
		return nil, nil
	}
	d, ok := l.Logical().(*lib.DecimalLogicalSchema)
	if !ok { // with a precision or scale that can't be
		return nil, nil
	}
	if d.Scale() != t.Scale {
		return nil, unsupportedf("column %q has decimals of scale %d in the file, wanted %d", path, d.Scale(), t.Scale)
	}
	source := texts{size: -1}
	if f, ok := s.(*lib.FixedSchema); ok {
		source.size = int64(f.Size())
	}
	if long {
		return &longDecimals{source}, nil
	}
	return &decimals{source: source}, nil
}

func (b *builder) list(s lib.Schema, t vector.Type, path string) (decoder, error) {
	a, ok := s.(*lib.ArraySchema)
	if !ok {
		return nil, nil
	}
	item, err := b.build(a.Items(), t.Children[0], path+".element")
	if err != nil {
		return nil, err
	}
	return newLists(item, t, item), nil
}

// mapping reads an Avro map, whose keys are strings, or an array of records of
// the fields key and value, which is how other keys are written.
func (b *builder) mapping(s lib.Schema, t vector.Type, path string) (decoder, error) {
	keyPath, valuePath := path+".key", path+".value"
	switch s := s.(type) {
	case *lib.MapSchema:
		key, err := b.value(lib.NewPrimitiveSchema(lib.String, nil), t.Children[0], keyPath)
		if err != nil {
			return nil, err
		}
		value, err := b.build(s.Values(), t.Children[1], valuePath)
		if err != nil {
			return nil, err
		}
		return newLists(mapEntry{key, value}, t, key, value), nil
	case *lib.ArraySchema:
		entry, ok := target(s.Items()).(*lib.RecordSchema)
		if !ok || len(entry.Fields()) != 2 {
			return nil, nil
		}
		var wanted []wantedField
		for i, name := range []string{"key", "value"} {
			f := field(entry, name)
			if f == nil {
				return nil, nil
			}
			d, err := b.build(f, t.Children[i], path+"."+name)
			if err != nil {
				return nil, err
			}
			wanted = append(wanted, wantedField{name, d})
		}
		r, err := b.record(entry, wanted)
		if err != nil {
			return nil, err
		}
		return newLists(recordReader{r}, t, wanted[0].decoder, wanted[1].decoder), nil
	}
	return nil, nil
}

type recordReader struct{ *record }

func (r recordReader) read(c *Cursor) { r.record.read(c) }

func newLists(item reader, t vector.Type, children ...decoder) *lists {
	d := &lists{item: item, children: children}
	for i, c := range children {
		d.v.Children = append(d.v.Children, c.vector())
		d.itemBytes += slotBytes(t.Children[i])
	}
	return d
}

func field(s *lib.RecordSchema, name string) lib.Schema {
	for _, f := range s.Fields() {
		if f.Name() == name {
			return f.Type()
		}
	}
	return nil
}

func (b *builder) structure(s lib.Schema, t vector.Type, path string) (decoder, error) {
	rec, ok := s.(*lib.RecordSchema)
	if !ok {
		return nil, nil
	}
	d := &structs{}
	var wanted []wantedField
	var all, missing []decoder
	for i, name := range t.Names {
		f := field(rec, name)
		if f == nil {
			m := &absent{t: t.Children[i]}
			all, missing = append(all, m), append(missing, m)
			continue
		}
		c, err := b.build(f, t.Children[i], path+"."+name)
		if err != nil {
			return nil, err
		}
		all, wanted = append(all, c), append(wanted, wantedField{name, c})
	}
	var err error
	if d.record, err = b.record(rec, wanted); err != nil {
		return nil, err
	}
	d.record.decoders, d.record.missing = all, missing
	for _, c := range all {
		d.v.Children = append(d.v.Children, c.vector())
	}
	return d, nil
}

// slotBytes is about the memory of one value's slots, without what varies.
func slotBytes(t vector.Type) int {
	n := 1 // its null
	switch t.Vector() {
	case vector.Bool:
		n++
	case vector.Int32, vector.Float32, vector.Bytes, vector.List, vector.Map:
		n += 4
	case vector.Int64, vector.Float64:
		n += 8
	case vector.Timestamp:
		n += 12
	case vector.Struct:
		for _, c := range t.Children {
			n += slotBytes(c)
		}
	}
	return n
}
