package flink

import (
	"maps"
	"slices"
	"strings"
)

// Identifier quotes a name for SQL.
func Identifier(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Literal quotes a text for SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Options are quoted 'key'='value' pairs, in the keys' order.
func Options(values map[string]string) string {
	pairs := make([]string, 0, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, Literal(k)+"="+Literal(values[k]))
	}
	return strings.Join(pairs, ", ")
}
