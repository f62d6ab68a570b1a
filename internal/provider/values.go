package provider

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// Values from Terraform may be null or unknown at any depth, and a required
// argument need not be known. So collections are read element by element here,
// never decoded into Go slices and maps, which fails on the first unknown.

// whollyKnown says whether a value and all within it is known.
func whollyKnown(v attr.Value) bool {
	if v == nil || v.IsNull() {
		return true
	}
	if v.IsUnknown() {
		return false
	}
	switch v := v.(type) {
	case basetypes.ListValue:
		return allKnown(v.Elements())
	case basetypes.SetValue:
		return allKnown(v.Elements())
	case basetypes.MapValue:
		return allKnown(slices.Collect(maps.Values(v.Elements())))
	case basetypes.ObjectValue:
		return allKnown(slices.Collect(maps.Values(v.Attributes())))
	}
	return true
}

func allKnown(values []attr.Value) bool {
	for _, v := range values {
		if !whollyKnown(v) {
			return false
		}
	}
	return true
}

// member is an attribute of an object; nil if the object is null or unknown.
func member(o types.Object, name string) attr.Value {
	if o.IsNull() || o.IsUnknown() {
		return nil
	}
	return o.Attributes()[name]
}

// stringOr is the text of a string value; def if it is nil, null, unknown or of
// another type.
func stringOr(v attr.Value, def string) string {
	if s, ok := v.(types.String); ok && !s.IsNull() && !s.IsUnknown() {
		return s.ValueString()
	}
	return def
}

// intOr is a number value; def if it is nil, null, unknown, of another type or
// not a whole number that an int64 holds, which wholeNumber refuses.
//
// Arguments are Number attributes and not Int64 ones: of a fraction or an
// oversized value, the framework's conversion to Int64 says that the provider
// has a defect, before any validator is asked.
func intOr(v attr.Value, def int64) int64 {
	if n, ok := v.(types.Number); ok && !n.IsNull() && !n.IsUnknown() {
		if i, accuracy := n.ValueBigFloat().Int64(); accuracy == big.Exact {
			return i
		}
	}
	return def
}

// numberOrNull is the Number form of a result.
func numberOrNull(n *int64) types.Number {
	if n == nil {
		return types.NumberNull()
	}
	return types.NumberValue(new(big.Float).SetInt64(*n))
}

// stringList is the known strings of a list or set; nil if it has none.
func stringList(v interface{ Elements() []attr.Value }) []string {
	var out []string
	for _, e := range v.Elements() {
		if s, ok := e.(types.String); ok && !s.IsNull() && !s.IsUnknown() {
			out = append(out, s.ValueString())
		}
	}
	return out
}

// stringMap is the known strings of a map; nil if v is nil, null, unknown or of
// another type.
func stringMap(v attr.Value) map[string]string {
	m, ok := v.(types.Map)
	if !ok || m.IsNull() || m.IsUnknown() {
		return nil
	}
	out := make(map[string]string, len(m.Elements()))
	for k, e := range m.Elements() {
		if s, ok := e.(types.String); ok && !s.IsNull() && !s.IsUnknown() {
			out[k] = s.ValueString()
		}
	}
	return out
}

// partitionType is one partition: its values by column.
var partitionType = types.MapType{ElemType: types.StringType}

// partitionSpecs reads a set or list of partitions, sorted, so that the same
// selection always has the same form. It is nil for a null set.
func partitionSpecs(v types.Set) []map[string]string {
	if v.IsNull() || v.IsUnknown() {
		return nil
	}
	out := make([]map[string]string, 0, len(v.Elements()))
	for _, e := range v.Elements() {
		out = append(out, stringMap(e))
	}
	slices.SortFunc(out, func(a, b map[string]string) int {
		return strings.Compare(partitionText(a), partitionText(b))
	})
	return out
}

// partitionText is a partition as "a=1/b=2", columns sorted.
func partitionText(spec map[string]string) string {
	var b strings.Builder
	for i, column := range slices.Sorted(maps.Keys(spec)) {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(column)
		b.WriteByte('=')
		b.WriteString(spec[column])
	}
	return b.String()
}

// partitionSet is the Terraform form of partitions; null for nil.
func partitionSet(specs []map[string]string) types.Set {
	if specs == nil {
		return types.SetNull(partitionType)
	}
	elements := make([]attr.Value, 0, len(specs))
	for _, spec := range specs {
		elements = append(elements, mapValue(spec))
	}
	return types.SetValueMust(partitionType, elements)
}

// partitionList is the Terraform form of partitions, by their text; empty for
// nil. It is a list for its speed: Terraform's plugin framework compares each
// element of a set with every other, several times a plan, which at 1000
// partitions took half a minute of CPU.
func partitionList(specs []map[string]string) types.List {
	sorted := slices.SortedStableFunc(slices.Values(specs), func(a, b map[string]string) int {
		return strings.Compare(partitionText(a), partitionText(b))
	})
	elements := make([]attr.Value, 0, len(sorted))
	for _, spec := range sorted {
		elements = append(elements, mapValue(spec))
	}
	return types.ListValueMust(partitionType, elements)
}

// mapValue is the Terraform form of a map of strings; empty for nil.
func mapValue(m map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(m))
	for k, v := range m {
		elements[k] = types.StringValue(v)
	}
	return types.MapValueMust(types.StringType, elements)
}

// listValue is the Terraform form of strings; empty for nil.
func listValue(list []string) types.List {
	elements := make([]attr.Value, 0, len(list))
	for _, v := range list {
		elements = append(elements, types.StringValue(v))
	}
	return types.ListValueMust(types.StringType, elements)
}

// stringOrNull is null for "", which servers and journals use for "none".
func stringOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}
