package promotion

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// types judges the columns and their types, and plans the widening of length
// limits. It sets j.columns.
func (j *judge) types() {
	fields := j.in.Schema.Fields
	if endsInSystemColumns(fields) {
		if j.in.Generation == generation09 {
			j.out.Prepared = true
			fields = fields[:len(fields)-len(systemColumns)]
		} else {
			names := systemColumnNames()
			j.add("column.system", Problem{
				Found:    "columns " + quoteAll(names),
				Required: "the table's own columns only",
				Fix: fmt.Sprintf("if nothing reads these columns any more: %s",
					j.dropColumns(names)),
			}, j.dropColumns(names))
			fields = fields[:len(fields)-len(systemColumns)]
		}
	}
	j.columns = fields
	for _, f := range fields {
		if slices.Contains(reservedColumns, f.Name) {
			statement := fmt.Sprintf("ALTER TABLE %s RENAME %s TO %s;", j.sqlTable(), sqlName(f.Name), sqlName(strings.TrimLeft(f.Name, "_")+"_1"))
			j.add("column.reserved", Problem{
				Found:    fmt.Sprintf("column %q %s", f.Name, f.Type),
				Required: "no column of Fluss's own names " + quoteAll(reservedColumns),
				Fix:      statement,
			}, statement)
		}
		j.columnType(f)
	}
}

func (j *judge) dropColumns(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = sqlName(n)
	}
	return fmt.Sprintf("ALTER TABLE %s DROP (%s);", j.sqlTable(), strings.Join(quoted, ", "))
}

func (j *judge) columnType(f paimon.Field) {
	if wide := widened(f.Type); wide.String() != f.Type.String() {
		c := SourceChange{What: "column " + f.Name + " type", From: f.Type.String(), To: wide.String()}
		p := Problem{
			Found:    fmt.Sprintf("column %q %s", f.Name, f.Type),
			Required: wide.String(),
		}
		switch {
		case j.isKeyColumn(f.Name):
			p.Fix = "ALTER TABLE refuses to change the type of key and partition columns; set prepare_source = true"
		case f.Type.Kind == paimon.VarChar || f.Type.Kind == paimon.VarBinary:
			c.Statement = fmt.Sprintf("ALTER TABLE %s MODIFY %s %s;", j.sqlTable(), sqlName(f.Name), wide)
		default:
			p.Fix = "set prepare_source = true; ALTER TABLE does not change what is inside a nested type in every version"
		}
		j.change("type.length", c, p)
	}
	j.avroName(f.Name, f.Name)
	j.nestedType(f.Name, f.Type, false)
}

// avroName refuses a name that Avro's own rule for names does not allow, where
// Avro files are written; path is for messages.
func (j *judge) avroName(path, name string) {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			option, value := j.avroOption()
			if option == "" {
				return
			}
			j.add("type.avro-name", Problem{Found: fmt.Sprintf("column %q, under %s = %s", path, option, value),
				Required: "names of letters, digits and _, not beginning with a digit, or another file format", Fix: j.noAvro(option)}, j.noAvro(option))
			return
		}
	}
}

// noAvro is the statement after which new files are not Avro files.
func (j *judge) noAvro(option string) string {
	if option == "file.format.per.level" {
		return j.alterReset(option)
	}
	return j.alterSet(option, "parquet")
}

// avroOption is the option that makes new files of some level Avro files; ""
// when none does.
func (j *judge) avroOption() (option, value string) {
	if f := j.in.Schema.FileFormat(); strings.EqualFold(strings.TrimSpace(f), "avro") {
		return "file.format", f
	}
	const levels = "file.format.per.level"
	text, _ := j.option(levels)
	for _, level := range strings.Split(text, ",") {
		if _, f, _ := strings.Cut(level, ":"); strings.EqualFold(strings.TrimSpace(f), "avro") {
			return levels, text
		}
	}
	return "", ""
}

func (j *judge) isKeyColumn(name string) bool {
	return slices.Contains(j.in.Schema.PrimaryKeys, name) || slices.Contains(j.in.Schema.PartitionKeys, name)
}

// widened is the type without length limits, at every depth but in map keys:
// Paimon 1.3 and 1.4 read files with the narrower type under it, in all three
// formats, but refuse to read a map under another key type.
func widened(t paimon.DataType) paimon.DataType {
	wide := func(p *paimon.DataType) *paimon.DataType {
		if p == nil {
			return nil
		}
		w := widened(*p)
		return &w
	}
	switch t.Kind {
	case paimon.VarChar, paimon.VarBinary:
		t.Length = paimon.MaxLength
	case paimon.Array:
		t.Element = wide(t.Element)
	case paimon.Map:
		t.Value = wide(t.Value)
	case paimon.Row:
		t.Fields = slices.Clone(t.Fields)
		for i := range t.Fields {
			t.Fields[i].Type = widened(t.Fields[i].Type)
		}
	}
	return t
}

// nestedType judges a type and what is inside; path is for messages.
func (j *judge) nestedType(path string, t paimon.DataType, inKey bool) {
	found := fmt.Sprintf("column %q %s", path, t)
	switch t.Kind {
	case paimon.VarChar, paimon.VarBinary:
		if inKey && t.Length != paimon.MaxLength {
			j.add("type.map-key-length", Problem{Found: found, Required: widened(t).String(),
				Fix: "copy the rows into a new table with the wider type and promote that one"})
		}
	case paimon.Time:
		if t.Precision > 0 {
			j.add("type.time", Problem{Found: found, Required: "TIME(0)",
				Fix: "copy the rows into a new table that has TIME(0), or an INT of milliseconds, from its first schema on, and promote that one"})
		}
	case paimon.Timestamp, paimon.TimestampLTZ:
		if option, value := j.avroOption(); t.Precision > 6 && option != "" {
			statement := j.noAvro(option)
			j.add("type.avro-precision", Problem{Found: fmt.Sprintf("%s, under %s = %s", found, option, value), Required: "a precision of at most 6, or another file format",
				Fix: statement}, statement)
		}
	case paimon.Multiset, paimon.Variant, paimon.Blob, paimon.VectorType:
		j.add("type.unsupported", Problem{Found: found, Required: "a type that Fluss has",
			Fix: "copy the rows into a new table without this column and promote that one"})
	case paimon.Array:
		j.nestedType(path+".element", *t.Element, inKey)
	case paimon.Map:
		if t.Key.Nullable {
			j.add("type.map-key", Problem{Found: found, Required: fmt.Sprintf("MAP<%s NOT NULL, …>", t.Key),
				Fix: "copy the rows into a new table whose map key is NOT NULL from its first schema on, and promote that one"})
		}
		j.nestedType(path+".key", *t.Key, true)
		j.nestedType(path+".value", *t.Value, inKey)
	case paimon.Row:
		for _, f := range t.Fields {
			j.avroName(path+"."+f.Name, f.Name)
			if f.Default != nil || f.NullDefault {
				j.add("type.nested-default", Problem{
					Found:    fmt.Sprintf("field %q of column %q", f.Name, path),
					Required: "no default value inside a ROW",
					Fix:      "copy the rows into a new table without the default and promote that one",
				})
			}
			j.nestedType(path+"."+f.Name, f.Type, inKey)
		}
	}
}

// flussKinds are the kinds that have the same meaning on both sides.
var flussKinds = map[paimon.Kind]row.Kind{
	paimon.Boolean: row.Boolean, paimon.TinyInt: row.TinyInt, paimon.SmallInt: row.SmallInt, paimon.Int: row.Int,
	paimon.BigInt: row.BigInt, paimon.Float: row.Float, paimon.Double: row.Double, paimon.Char: row.Char,
	paimon.VarChar: row.String, paimon.Binary: row.Binary, paimon.VarBinary: row.Bytes, paimon.Decimal: row.Decimal,
	paimon.Date: row.Date, paimon.Time: row.Time, paimon.Timestamp: row.Timestamp, paimon.TimestampLTZ: row.TimestampLTZ,
	paimon.Array: row.Array, paimon.Map: row.Map, paimon.Row: row.Row,
}

// flussType is the Fluss type of a Paimon type. VARCHAR and VARBINARY of any
// length become STRING and BYTES. It fails for types that Fluss does not have.
func flussType(t paimon.DataType) (row.DataType, error) {
	kind, ok := flussKinds[t.Kind]
	if !ok {
		return row.DataType{}, fmt.Errorf("promotion: type %s does not exist in Fluss", t)
	}
	f := row.DataType{Kind: kind, Nullable: t.Nullable}
	child := func(c *paimon.DataType) (*row.DataType, error) {
		if c == nil {
			return nil, fmt.Errorf("promotion: type %s lacks an inner type", t)
		}
		ct, err := flussType(*c)
		return &ct, err
	}
	var err error
	switch t.Kind {
	case paimon.Char, paimon.Binary:
		f.Length = t.Length
	case paimon.Decimal:
		f.Precision, f.Scale = t.Precision, t.Scale
	case paimon.Time, paimon.Timestamp, paimon.TimestampLTZ:
		f.Precision = t.Precision
	case paimon.Array:
		f.Element, err = child(t.Element)
	case paimon.Map:
		if f.Key, err = child(t.Key); err == nil {
			f.Value, err = child(t.Value)
		}
	case paimon.Row:
		for _, n := range t.Fields {
			nt, err := flussType(n.Type)
			if err != nil {
				return row.DataType{}, err
			}
			f.Fields = append(f.Fields, row.Field{Name: n.Name, Type: nt, Description: deref(asJavaReads(n.Description, n.NullDescription))})
		}
	}
	return f, err
}

// asJavaReads is a text as Paimon Java reads it: a JSON null becomes the text
// "null" there.
func asJavaReads(text *string, null bool) *string {
	if text == nil && null {
		s := "null"
		return &s
	}
	return text
}
