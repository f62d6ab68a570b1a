package row

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseType reads the SQL text of a type as DataType.String writes it, such as
// "DECIMAL(10, 2) NOT NULL" or "MAP<STRING NOT NULL, ARRAY<INT>>". Type names
// may have any case; precision, scale and length may be left out where SQL has
// a default (CHAR 1, BINARY 1, DECIMAL 10 and 0, TIME 0, TIMESTAMP 6). A map's
// key type becomes NOT NULL, as in Fluss. The error says where reading stopped.
func ParseType(s string) (DataType, error) {
	p := typeParser{text: s}
	t, err := p.parse(0)
	if err != nil {
		return DataType{}, err
	}
	p.space()
	if p.at < len(s) {
		return DataType{}, p.fail("the end of the type")
	}
	if err := t.Validate(); err != nil {
		return DataType{}, fmt.Errorf("%w in %q", err, s)
	}
	return t, nil
}

type typeParser struct {
	text string
	at   int
}

func (p *typeParser) fail(want string) error {
	found := p.text[p.at:]
	if len(found) > 20 {
		found = found[:20] + "…"
	}
	return fmt.Errorf("fluss: row: type %q: found %q at position %d, need %s", p.text, found, p.at, want)
}

func (p *typeParser) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t' || p.text[p.at] == '\n') {
		p.at++
	}
}

// take consumes c, after white space, when it comes next.
func (p *typeParser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// word reads an upper-cased word of letters, digits and underscores.
func (p *typeParser) word() string {
	p.space()
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			break
		}
		p.at++
	}
	return strings.ToUpper(p.text[from:p.at])
}

var kindsByName = func() map[string]Kind {
	m := make(map[string]Kind, len(kindNames))
	for k, name := range kindNames {
		if name != "" {
			m[name] = Kind(k)
		}
	}
	return m
}()

func (p *typeParser) parse(depth int) (DataType, error) {
	if depth > maxNesting {
		return DataType{}, fmt.Errorf("fluss: row: type nested deeper than %d levels", maxNesting)
	}
	p.space()
	from := p.at
	kind, ok := kindsByName[p.word()]
	if !ok {
		p.at = from
		return DataType{}, p.fail("a type name")
	}
	t := DataType{Kind: kind}
	var err error
	switch kind {
	case Char, Binary:
		t.Length = 1
		err = p.numbers(&t.Length)
	case Decimal:
		t.Precision = 10
		err = p.numbers(&t.Precision, &t.Scale)
	case Time:
		err = p.numbers(&t.Precision)
	case Timestamp, TimestampLTZ:
		t.Precision = 6
		err = p.numbers(&t.Precision)
	case Array:
		t.Element, err = p.part(depth, '<', '>')
	case Map:
		if t.Key, err = p.part(depth, '<', ','); err == nil {
			t.Key.Nullable = false
			t.Value, err = p.part(depth, 0, '>')
		}
	case Row:
		t.Fields, err = p.fields(depth)
	}
	if err != nil {
		return DataType{}, err
	}
	t.Nullable, err = p.nullable()
	return t, err
}

// numbers reads an optional "(1)" or "(1, 2)"; numbers left out keep their value.
func (p *typeParser) numbers(into ...*int) error {
	if !p.take('(') {
		return nil
	}
	for i, n := range into {
		if i > 0 && !p.take(',') {
			break
		}
		p.space()
		from := p.at
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		v, err := strconv.ParseInt(p.text[from:p.at], 10, 32)
		if err != nil {
			p.at = from
			return p.fail("a number up to 2147483647")
		}
		*n = int(v)
	}
	if !p.take(')') {
		return p.fail("a closing parenthesis")
	}
	return nil
}

// part reads one type between the open and end characters (open 0: none).
func (p *typeParser) part(depth int, open, end byte) (*DataType, error) {
	if open != 0 && !p.take(open) {
		return nil, p.fail(strconv.QuoteRune(rune(open)))
	}
	t, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.take(end) {
		return nil, p.fail(strconv.QuoteRune(rune(end)))
	}
	return &t, nil
}

func (p *typeParser) fields(depth int) ([]Field, error) {
	if !p.take('<') {
		return nil, p.fail("'<'")
	}
	var fields []Field
	if p.take('>') {
		return fields, nil
	}
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		t, err := p.parse(depth + 1)
		if err != nil {
			return nil, err
		}
		f := Field{Name: name, Type: t}
		if p.take('\'') {
			if f.Description, err = p.quoted('\''); err != nil {
				return nil, err
			}
		}
		fields = append(fields, f)
		if p.take('>') {
			return fields, nil
		}
		if !p.take(',') {
			return nil, p.fail("',' or '>'")
		}
	}
}

// name reads a field name, in backquotes or a plain word.
func (p *typeParser) name() (string, error) {
	if p.take('`') {
		return p.quoted('`')
	}
	from := p.at
	if p.word() == "" {
		return "", p.fail("a field name")
	}
	return p.text[from:p.at], nil
}

// quoted reads up to the closing quote, in which a doubled quote stands for one.
func (p *typeParser) quoted(quote byte) (string, error) {
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		if c == quote {
			if p.at >= len(p.text) || p.text[p.at] != quote {
				return b.String(), nil
			}
			p.at++
		}
		b.WriteByte(c)
	}
	return "", p.fail("a closing " + strconv.QuoteRune(rune(quote)))
}

// nullable reads an optional NOT NULL or NULL; without it the type is nullable.
func (p *typeParser) nullable() (bool, error) {
	from := p.at
	switch p.word() {
	case "NOT":
		if p.word() != "NULL" {
			p.at = from
			return false, p.fail("NOT NULL")
		}
		return false, nil
	case "NULL":
		return true, nil
	}
	p.at = from
	return true, nil
}
