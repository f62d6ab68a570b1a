package promotion

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon"
)

// changeFlussOptions is the SourceChange.What of the options that Fluss 0.9
// wants stored on the Paimon table.
const changeFlussOptions = "options fluss.*"

// PreparedSchema builds the one new schema version that makes the Paimon table
// what Fluss demands: base, the judgement's changes and, on Fluss 0.9, the
// properties of the created Fluss table as fluss.* options. created is needed
// on 0.9 only. Its ID is base's plus one. It is nil when nothing has to change.
// It fails when the judgement holds something that no schema version cures.
func PreparedSchema(base *paimon.Schema, j *Judgement, generation string, created *fluss.TableInfo) (*paimon.Schema, error) {
	if j.Verdict == VerdictReject {
		return nil, fmt.Errorf("promotion: schema %d cannot be prepared: the table was judged not promotable: %w", base.ID, j.Errors())
	}
	if len(j.Changes) == 0 {
		return nil, nil
	}
	next := base.Clone()
	for _, c := range j.Changes {
		if err := applyChange(next, c); err != nil {
			return nil, err
		}
	}
	if generation == generation09 {
		if created == nil {
			return nil, fmt.Errorf("promotion: schema %d: Fluss 0.9 needs the properties of the created Fluss table", base.ID)
		}
		stampFlussOptions(next, created)
	}
	if sameOptions(next.Options, base.Options) && sameFields(next.Fields, base.Fields) {
		return nil, nil
	}
	next.ID = base.ID + 1
	next.TimeMillis = max(time.Now().UnixMilli(), base.TimeMillis)
	return next, nil
}

// applyChange makes one change of a schema. Making it twice is making it once.
func applyChange(s *paimon.Schema, c SourceChange) error {
	if c.What == changeFlussOptions {
		return nil // values are known to PreparedSchema only
	}
	if key, ok := strings.CutPrefix(c.What, "option "); ok {
		if c.To == "" {
			delete(s.Options, key)
		} else {
			s.Options[key] = c.To
		}
		return nil
	}
	column, ok := strings.CutPrefix(c.What, "column ")
	if !ok {
		return fmt.Errorf("promotion: unknown change of the source %q", c.What)
	}
	if name, ok := strings.CutSuffix(column, " added"); ok {
		i := slices.IndexFunc(systemColumns, func(f paimon.Field) bool { return f.Name == name && f.Type.String() == c.To })
		if i < 0 {
			return fmt.Errorf("promotion: unknown change of the source %q to %q", c.What, c.To)
		}
		if f, there := s.Field(name); there && f.Type.String() == c.To {
			return nil // made before
		}
		s.HighestFieldID++
		s.Fields = append(s.Fields, paimon.Field{ID: s.HighestFieldID, Name: name, Type: systemColumns[i].Type})
		return nil
	}
	name, ok := strings.CutSuffix(column, " type")
	i := slices.IndexFunc(s.Fields, func(f paimon.Field) bool { return f.Name == name })
	if !ok || i < 0 {
		return fmt.Errorf("promotion: unknown change of the source %q", c.What)
	}
	wide := widened(s.Fields[i].Type)
	if wide.String() != c.To {
		return fmt.Errorf("promotion: column %q: changing its type from %s to %s is not a widening of lengths", name, s.Fields[i].Type, c.To)
	}
	s.Fields[i].Type = wide
	return nil
}

// stampFlussOptions stores the properties of a Fluss table as Fluss 0.9 does,
// in place of those of an earlier attempt.
func stampFlussOptions(s *paimon.Schema, created *fluss.TableInfo) {
	for k := range s.Options {
		if strings.HasPrefix(k, "fluss.") {
			delete(s.Options, k)
		}
	}
	for _, props := range []map[string]string{created.Descriptor.Properties, created.Descriptor.CustomProperties} {
		for k, v := range props {
			// Options for Paimon itself travel without the prefix.
			if !strings.HasPrefix(k, "paimon.") && !strings.HasPrefix(k, "table.datalake.paimon.") {
				s.Options["fluss."+k] = v
			}
		}
	}
	s.Options["fluss."+enabledProperty] = "false"
}

// SameContent compares a newer schema with base and all of the planned changes;
// base may have them already. IDs, times and the fluss.* and lakestream.* options are left
// out: preparing and enabling each add a schema version, and Fluss stores its
// properties as options. Paimon Java writes a JSON null as the text "null" and
// the defaults of old schema files as options; these count as equal. The
// difference is for people, and empty when the contents are the same.
func SameContent(base, now *paimon.Schema, planned []SourceChange) (same bool, difference string) {
	want := base.Clone()
	for _, c := range planned {
		if err := applyChange(want, c); err != nil {
			return false, err.Error()
		}
	}
	if d := fieldsDifference(want.Fields, now.Fields); d != "" {
		return false, d
	}
	for _, k := range [][3]any{
		{"partition keys", want.PartitionKeys, now.PartitionKeys},
		{"primary key", want.PrimaryKeys, now.PrimaryKeys},
	} {
		if a, b := k[1].([]string), k[2].([]string); !slices.Equal(a, b) {
			return false, fmt.Sprintf("%s: was %v, is %v", k[0], a, b)
		}
	}
	if a, b := asJavaReads(want.Comment, want.NullComment), asJavaReads(now.Comment, now.NullComment); deref(a) != deref(b) {
		return false, fmt.Sprintf("comment: was %q, is %q", deref(a), deref(b))
	}
	if want.HighestFieldID != now.HighestFieldID {
		return false, fmt.Sprintf("highest column ID: was %d, is %d", want.HighestFieldID, now.HighestFieldID)
	}
	return optionsDifference(effectiveOptions(want), effectiveOptions(now))
}

// effectiveOptions are the options without Fluss's own and with the defaults of
// old schema files spelled out.
func effectiveOptions(s *paimon.Schema) map[string]string {
	o := map[string]string{}
	for k, v := range s.Options {
		if !strings.HasPrefix(k, "fluss.") && !strings.HasPrefix(k, "lakestream.") {
			o[k] = v
		}
	}
	if _, ok := o["bucket"]; !ok && s.Version == 1 {
		o["bucket"] = "1"
	}
	if _, ok := o["file.format"]; !ok && s.Version <= 2 {
		o["file.format"] = s.FileFormat()
	}
	return o
}

func optionsDifference(want, now map[string]string) (same bool, difference string) {
	var diff []string
	for k, v := range want {
		switch w, ok := now[k]; {
		case !ok:
			diff = append(diff, fmt.Sprintf("option %s: was %q, is not set", k, v))
		case v != w:
			diff = append(diff, fmt.Sprintf("option %s: was %q, is %q", k, v, w))
		}
	}
	for k, v := range now {
		if _, ok := want[k]; !ok {
			diff = append(diff, fmt.Sprintf("option %s: was not set, is %q", k, v))
		}
	}
	slices.Sort(diff)
	return len(diff) == 0, strings.Join(diff, "; ")
}

func sameOptions(a, b map[string]string) bool {
	same, _ := optionsDifference(a, b)
	return same
}

func sameFields(a, b []paimon.Field) bool { return fieldsDifference(a, b) == "" }

// fieldsDifference says where two lists of fields first differ.
func fieldsDifference(want, now []paimon.Field) string {
	for i := range max(len(want), len(now)) {
		switch {
		case i >= len(now):
			return fmt.Sprintf("column %q is gone", want[i].Name)
		case i >= len(want):
			return fmt.Sprintf("column %q %s is new", now[i].Name, now[i].Type)
		}
		a, b := fieldText(want[i]), fieldText(now[i])
		if a != b {
			return fmt.Sprintf("column %d: was %s, is %s", i+1, a, b)
		}
	}
	return ""
}

// fieldText is everything about a field, for comparing and for people.
func fieldText(f paimon.Field) string {
	text := fmt.Sprintf("%q (ID %d) %s", f.Name, f.ID, f.Type)
	if d := asJavaReads(f.Description, f.NullDescription); d != nil {
		text += " comment " + strconv.Quote(*d)
	}
	if d := asJavaReads(f.Default, f.NullDefault); d != nil {
		text += " default " + strconv.Quote(*d)
	}
	return text + nestedText(f.Type)
}

// nestedText tells apart what a type's own text leaves out: IDs, comments and
// defaults of nested fields.
func nestedText(t paimon.DataType) string {
	var parts []string
	for _, inner := range []*paimon.DataType{t.Element, t.Key, t.Value} {
		if inner != nil {
			if n := nestedText(*inner); n != "" {
				parts = append(parts, n)
			}
		}
	}
	for _, f := range t.Fields {
		parts = append(parts, fieldText(f))
	}
	if len(parts) == 0 {
		return ""
	}
	return " [" + strings.Join(parts, ", ") + "]"
}
