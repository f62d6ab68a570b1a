package row

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// versions are the Fluss artifacts the vectors come from.
var versions = []string{"0.9.1-incubating", "1.0.0"}

// loadVectors reads the vectors of testdata/<name>.json.
func loadVectors[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
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

func TestRowVectors(t *testing.T) {
	type vector struct {
		Types     []string
		Values    []*string
		Compacted string
	}
	for _, version := range versions {
		for i, v := range loadVectors[vector](t, "row-"+version) {
			t.Run(fmt.Sprintf("%s/%d_%s", version, i, v.Types[0]), func(t *testing.T) {
				types := mustParse(t, v.Types...)
				values := parseValues(t, types, v.Values)
				want := mustHex(t, v.Compacted)
				e, err := NewEncoder(types)
				if err != nil {
					t.Fatal(err)
				}
				got, err := e.AppendValues([]byte("before"), values)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, append([]byte("before"), want...)) {
					t.Errorf("AppendValues: %x, want %x", got[6:], want)
				}
				cols, err := FromValues(types, [][]any{values, values, values})
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Bind(cols); err != nil {
					t.Fatal(err)
				}
				for pos := range 3 {
					if got := e.Append(nil, pos); !bytes.Equal(got, want) {
						t.Errorf("Append row %d: %x, want %x", pos, got, want)
					}
				}
				back, err := Decode(types, want)
				if err != nil {
					t.Fatal(err)
				}
				if !equalValue(back, values) {
					t.Errorf("Decode: %v, want %v", back, values)
				}
			})
		}
	}
}

func TestBucketVectors(t *testing.T) {
	type side struct {
		Key    string
		Murmur int32
		Bucket map[string]int
		Error  string
	}
	type vector struct {
		Types   []string
		Values  []*string
		Paimon  side
		Default side
	}
	for _, version := range versions {
		for i, v := range loadVectors[vector](t, "bucket-"+version) {
			t.Run(fmt.Sprintf("%s/%d_%s", version, i, v.Types[0]), func(t *testing.T) {
				types := mustParse(t, v.Types...)
				values := parseValues(t, types, v.Values)
				for lake, want := range map[string]side{LakePaimon: v.Paimon, LakeNone: v.Default, LakeLance: v.Default} {
					_, format := KeyFormatOf(lake, 2, true)
					e, err := NewKeyEncoder(format, types)
					if err != nil {
						t.Fatal(err)
					}
					key, err := e.AppendValues(nil, values)
					if want.Error != "" {
						if err == nil {
							t.Errorf("lake %q: key %x, want an error", lake, key)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if got := hex.EncodeToString(key); got != want.Key {
						t.Errorf("lake %q: key %s, want %s", lake, got, want.Key)
					}
					cols, err := FromValues(types, [][]any{values, values})
					if err != nil {
						t.Fatal(err)
					}
					if err := e.Bind(cols); err != nil {
						t.Fatal(err)
					}
					if got := hex.EncodeToString(e.Append(nil, 1)); got != want.Key {
						t.Errorf("lake %q: bound key %s, want %s", lake, got, want.Key)
					}
					if got := murmur(key); got != want.Murmur {
						t.Errorf("lake %q: hash %d, want %d", lake, got, want.Murmur)
					}
					for n, bucket := range want.Bucket {
						buckets, _ := strconv.Atoi(n)
						if got := Bucket(lake, key, buckets); got != bucket {
							t.Errorf("lake %q: bucket %d of %d, want %d", lake, got, buckets, bucket)
						}
					}
					back, err := DecodeKey(format, types, key)
					if err != nil {
						t.Fatal(err)
					}
					if !equalValue(back, values) {
						t.Errorf("lake %q: DecodeKey: %v, want %v", lake, back, values)
					}
				}
			})
		}
	}
}

func TestPaimonBucketVectors(t *testing.T) {
	type vector struct {
		Type, Value, Key string
		Bucket           map[string]int
	}
	for i, v := range loadVectors[vector](t, "paimon-bucket-1.3.1") {
		t.Run(fmt.Sprintf("%d_%s", i, v.Type), func(t *testing.T) {
			types := mustParse(t, v.Type)
			e, err := NewKeyEncoder(KeyPaimon, types)
			if err != nil {
				t.Fatal(err)
			}
			key, err := e.AppendValues(nil, parseValues(t, types, []*string{&v.Value}))
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(key); got != v.Key {
				t.Errorf("key %s, want %s", got, v.Key)
			}
			for n, bucket := range v.Bucket {
				buckets, _ := strconv.Atoi(n)
				if got := Bucket(LakePaimon, key, buckets); got != bucket {
					t.Errorf("bucket %d of %d, want %d", got, buckets, bucket)
				}
			}
		})
	}
}

// columns splits "name TYPE" texts.
func columns(t *testing.T, texts []string) (names []string, types []DataType) {
	t.Helper()
	for _, c := range texts {
		name, typ, _ := strings.Cut(c, " ")
		names = append(names, name)
		types = append(types, mustParse(t, typ)...)
	}
	return names, types
}

// pick returns the types and values of the named columns.
func pick(names []string, types []DataType, values []any, wanted []string) (t []DataType, v []any) {
	for _, w := range wanted {
		for i, n := range names {
			if n == w {
				t = append(t, types[i])
				v = append(v, values[i])
			}
		}
	}
	return t, v
}

func TestPrimaryKeyVectors(t *testing.T) {
	type vector struct {
		Columns         []string
		Row             []*string
		PrimaryKey      []string `json:"physical_primary_key"`
		BucketKey       []string `json:"bucket_key"`
		LakeFormat      *string  `json:"table.datalake.format"`
		KvFormatVersion *string  `json:"table.kv.format-version"`
		PrimaryKeyBytes string   `json:"primary_key_bytes"`
		BucketKeyBytes  string   `json:"bucket_key_bytes"`
		BucketOf7       int      `json:"bucket_of_7"`
	}
	for _, version := range versions {
		for i, v := range loadVectors[vector](t, "primary-key-"+version) {
			t.Run(fmt.Sprintf("%s/%d", version, i), func(t *testing.T) {
				lake, kv := "", 0
				if v.LakeFormat != nil {
					lake = *v.LakeFormat
				}
				if v.KvFormatVersion != nil {
					kv, _ = strconv.Atoi(*v.KvFormatVersion)
				}
				names, types := columns(t, v.Columns)
				values := parseValues(t, types, v.Row)
				primary, bucket := KeyFormatOf(lake, kv, strings.Join(v.PrimaryKey, ",") == strings.Join(v.BucketKey, ","))
				encode := func(f KeyFormat, key []string) []byte {
					types, values := pick(names, types, values, key)
					e, err := NewKeyEncoder(f, types)
					if err != nil {
						t.Fatal(err)
					}
					b, err := e.AppendValues(nil, values)
					if err != nil {
						t.Fatal(err)
					}
					return b
				}
				if got := hex.EncodeToString(encode(primary, v.PrimaryKey)); got != v.PrimaryKeyBytes {
					t.Errorf("primary key %s, want %s", got, v.PrimaryKeyBytes)
				}
				key := encode(bucket, v.BucketKey)
				if got := hex.EncodeToString(key); got != v.BucketKeyBytes {
					t.Errorf("bucket key %s, want %s", got, v.BucketKeyBytes)
				}
				if got := Bucket(lake, key, 7); got != v.BucketOf7 {
					t.Errorf("bucket %d, want %d", got, v.BucketOf7)
				}
			})
		}
	}
}

func TestBatchVectors(t *testing.T) {
	type vector struct {
		Columns     []string
		KeyEncoding string   `json:"key_encoding"`
		PrimaryKey  []string `json:"primary_key"`
		SchemaID    int16    `json:"schema_id"`
		WriterID    int64    `json:"writer_id"`
		Sequence    int32    `json:"batch_sequence"`
		Records     []struct {
			Op, Key string
			Row     *string
		}
		Batch string
	}
	for _, version := range versions {
		for i, v := range loadVectors[vector](t, "kv-batch-"+version) {
			t.Run(fmt.Sprintf("%s/%d", version, i), func(t *testing.T) {
				names, types := columns(t, v.Columns)
				format := KeyPaimon
				if v.KeyEncoding == "compacted" {
					format = KeyCompacted
				}
				keyTypes, _ := pick(names, types, make([]any, len(types)), v.PrimaryKey)
				row, err := NewEncoder(types)
				if err != nil {
					t.Fatal(err)
				}
				key, err := NewKeyEncoder(format, keyTypes)
				if err != nil {
					t.Fatal(err)
				}
				// The records as raw bytes, and again through the encoders.
				var raw, built Batch
				raw.Reset(v.SchemaID)
				built.Reset(v.SchemaID)
				for _, r := range v.Records {
					k := mustHex(t, r.Key)
					keyValues, err := DecodeKey(format, keyTypes, k)
					if err != nil {
						t.Fatal(err)
					}
					keyCols, err := FromValues(keyTypes, [][]any{keyValues})
					if err != nil {
						t.Fatal(err)
					}
					if err := key.Bind(keyCols); err != nil {
						t.Fatal(err)
					}
					if r.Row == nil {
						raw.AddRaw(k, nil)
						built.Add(key, nil, 0, 0)
						continue
					}
					raw.AddRaw(k, mustHex(t, *r.Row))
					values, err := Decode(types, mustHex(t, *r.Row))
					if err != nil {
						t.Fatal(err)
					}
					cols, err := FromValues(types, [][]any{values})
					if err != nil {
						t.Fatal(err)
					}
					if err := row.Bind(cols); err != nil {
						t.Fatal(err)
					}
					built.Add(key, row, 0, 0)
				}
				raw.Finish(99, 99) // a first attempt under another writer
				for name, b := range map[string]*Batch{"raw": &raw, "built": &built} {
					got := b.Finish(v.WriterID, v.Sequence)
					if hex.EncodeToString(got) != v.Batch {
						t.Errorf("%s: %x, want %s", name, got, v.Batch)
					}
					if b.Rows() != len(v.Records) || b.Size() != len(got) {
						t.Errorf("%s: %d rows, %d bytes; want %d, %d", name, b.Rows(), b.Size(), len(v.Records), len(got))
					}
				}
				back, err := DecodeBatch(mustHex(t, v.Batch))
				if err != nil {
					t.Fatal(err)
				}
				if back.SchemaID != v.SchemaID || back.WriterID != v.WriterID || back.Sequence != v.Sequence || len(back.Records) != len(v.Records) {
					t.Fatalf("DecodeBatch: %+v", back)
				}
				for i, r := range back.Records {
					if hex.EncodeToString(r.Key) != v.Records[i].Key || (r.Row == nil) != (v.Records[i].Row == nil) {
						t.Errorf("record %d: %x %x", i, r.Key, r.Row)
					}
				}
			})
		}
	}
}
