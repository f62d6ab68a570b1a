package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
)

// load reads the vectors of one file of testdata.
func load[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []T }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) == 0 {
		t.Fatalf("%s has no vectors", name)
	}
	return file.Vectors
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAPIKeys(t *testing.T) {
	type vector struct {
		ID       int16
		Name     string
		Min, Max int16
	}
	for release, file := range map[wire.Release]string{wire.Release091: "api-keys-0.9.1-incubating.json", wire.Release100: "api-keys-1.0.0.json"} {
		known := map[wire.Key]bool{}
		for _, v := range load[vector](t, file) {
			k := wire.Key(v.ID)
			known[k] = true
			if k.String() != v.Name {
				t.Errorf("%s: %d is called %q, not %q", file, v.ID, k, v.Name)
			}
			if r, ok := k.Versions(release); !ok || r.Min != v.Min || r.Max != v.Max {
				t.Errorf("%s: %s has versions %+v, %v; the vector says %d to %d", file, k, r, ok, v.Min, v.Max)
			}
		}
		for id := int16(990); id < 1100; id++ {
			if _, ok := wire.Key(id).Versions(release); ok != known[wire.Key(id)] {
				t.Errorf("%s: key %d served: %v", file, id, ok)
			}
		}
	}
	if r, ok := wire.PutKV.Versions(wire.ReleaseMain); !ok || r.Max != 2 {
		t.Errorf("PUT_KV before 1.0.0: %+v, %v", r, ok)
	}
	if _, ok := wire.ScanKV.Versions(wire.ReleaseMain); !ok {
		t.Error("SCAN_KV is missing before 1.0.0")
	}
	if s := wire.Key(7).String(); s != "API_7" {
		t.Errorf("unknown key: %q", s)
	}
}

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		key    wire.Key
		served wire.Range
		want   int16
		ok     bool
	}{
		{wire.PutKV, wire.Range{Max: 1}, 1, true},
		{wire.PutKV, wire.Range{Max: 2}, 2, true},
		{wire.PutKV, wire.Range{Max: 3}, 2, true},
		{wire.PutKV, wire.Range{Min: 3, Max: 5}, 0, false},
		{wire.Lookup, wire.Range{Max: 1}, 1, true},
		{wire.Lookup, wire.Range{Max: 0}, 0, true},
		{wire.AlterTable, wire.Range{Max: 1}, 0, true},
		{wire.ScanKV, wire.Range{Max: 0}, 0, false},
		{wire.Key(7), wire.Range{Max: 0}, 0, false},
		{wire.GetTableInfo, wire.Range{Max: -1}, 0, false},
	} {
		if v, ok := c.key.Negotiate(c.served); ok != c.ok || ok && v != c.want {
			t.Errorf("%s with a server of %+v: version %d, %v", c.key, c.served, v, ok)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	type vector struct {
		Code            wire.Code
		Name            string
		Retriable       bool
		RefreshMetadata bool `json:"refresh_metadata"`
	}
	for _, file := range []string{"errors-0.9.1-incubating.json", "errors-1.0.0.json"} {
		for _, v := range load[vector](t, file) {
			if v.Code.String() != v.Name {
				t.Errorf("%s: %d is called %q, not %q", file, v.Code, v.Code, v.Name)
			}
			class := v.Code.Class()
			// 65 is retried by the Java client outside of its retriable set, 74
			// by rebuilding the batch.
			retried := class == wire.Retry || class == wire.RefreshAndRetry
			if retried != v.Retriable && v.Code != wire.CodeNotCoordinatorLeader {
				t.Errorf("%s: %s is retried: %v; the vector says %v", file, v.Code, retried, v.Retriable)
			}
			if v.RefreshMetadata && class != wire.RefreshAndRetry {
				t.Errorf("%s: %s must refresh the metadata", file, v.Code)
			}
		}
	}
	for code, class := range map[wire.Code]wire.Class{31: wire.SequenceRepair, 32: wire.Success, 33: wire.SequenceRepair, 74: wire.Rebuild, 75: wire.Fatal, -1: wire.Fatal, 9999: wire.Fatal} {
		if code.Class() != class {
			t.Errorf("%s has class %d, not %d", code, code.Class(), class)
		}
	}
	for code, refused := range map[wire.Code]bool{12: true, 21: true, 31: true, 72: true, 7: true, 25: false, 28: false, 10: false, 32: false, 0: false} {
		if code.Refused() != refused {
			t.Errorf("%s refused: %v", code, code.Refused())
		}
	}
}
