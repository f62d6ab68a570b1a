package row

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestPartitionVectors(t *testing.T) {
	type vector struct {
		Type, Value, Error string
		PartitionValue     string `json:"partition_value"`
	}
	for _, version := range versions {
		for i, v := range loadVectors[vector](t, "partition-"+version) {
			t.Run(fmt.Sprintf("%s/%d_%s", version, i, v.Type), func(t *testing.T) {
				types := mustParse(t, v.Type)
				got, err := PartitionValue(types[0], parseValues(t, types, []*string{&v.Value})[0])
				if (err != nil) != (v.Error != "") || got != v.PartitionValue {
					t.Errorf("%q, %v; want %q, error %q", got, err, v.PartitionValue, v.Error)
				}
			})
		}
	}
}

func TestPartitionValue(t *testing.T) {
	for _, c := range []struct {
		typ   string
		value any
		want  string // or the error's end after "error: "
	}{
		{"DOUBLE", math.NaN(), "NaN"},
		{"DOUBLE", math.Inf(1), "Inf"},
		{"DOUBLE", math.Inf(-1), "-Inf"},
		{"DOUBLE", 1e7, "1_0E7"},
		{"DOUBLE", 9999999.0, "9999999_0"},
		{"DOUBLE", 0.001, "0_001"},
		{"DOUBLE", 0.00099, "9_9E-4"},
		{"DOUBLE", 2e23, "2_0E23"},
		{"FLOAT", float32(0.1), "0_1"},
		{"FLOAT", float32(1.1e10), "1_1E10"},
		{"TIMESTAMP(3)", TimestampValue{Millis: 120}, "1970-01-01-00-00-00_12"},
		{"TIMESTAMP(9)", TimestampValue{Millis: 1, Nanos: 20}, "1970-01-01-00-00-00_00100002"},
		{"INT", nil, "error: found null, need a value"},
		{"INT", "1", "error: found a value of Go type string, need int32"},
		{"DATE", DateValue(2932897), "error: found year 10000, need 0 to 9999"},
		{"TIMESTAMP(3)", TimestampValue{Millis: math.MinInt64}, "error: need 0 to 9999"},
		{"TIMESTAMP(9)", TimestampValue{Nanos: 1_000_000}, "error: need 0 to 999999"},
		{"TIME(3)", TimeValue(-1), "error: need 0 to 86399999"},
		{"ARRAY<INT>", []any{}, "error: no partition column can have this type"},
	} {
		got, err := PartitionValue(mustParse(t, c.typ)[0], c.value)
		if want, isErr := strings.CutPrefix(c.want, "error: "); isErr {
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s %v: %q, %v; want error %q", c.typ, c.value, got, err, want)
			}
		} else if got != want || err != nil {
			t.Errorf("%s %v: %q, %v; want %q", c.typ, c.value, got, err, want)
		}
	}
}
