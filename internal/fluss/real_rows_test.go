package fluss_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
)

// rowWriter encodes keys, rows and buckets of one table.
type rowWriter struct {
	info       *fluss.TableInfo
	keys, bkey *row.KeyEncoder
	rows       *row.Encoder
	types      []row.DataType
	keyAt      []int
	bucketAt   []int
}

func newRowWriter(t testing.TB, info *fluss.TableInfo) *rowWriter {
	t.Helper()
	w := &rowWriter{info: info}
	at := func(names []string) (types []row.DataType, pos []int) {
		for _, n := range names {
			i := slices.IndexFunc(info.Descriptor.Columns, func(c fluss.Column) bool { return c.Name == n })
			types = append(types, info.Descriptor.Columns[i].Type)
			pos = append(pos, i)
		}
		return types, pos
	}
	for _, c := range info.Descriptor.Columns {
		w.types = append(w.types, c.Type)
	}
	whole := slices.Equal(info.BucketKey(), info.PhysicalPrimaryKey())
	primary, bucket := row.KeyFormatOf(info.LakeFormat(), info.KvFormatVersion(), whole)
	keyTypes, keyAt := at(info.PhysicalPrimaryKey())
	bucketTypes, bucketAt := at(info.BucketKey())
	w.keyAt, w.bucketAt = keyAt, bucketAt
	var err error
	if w.keys, err = row.NewKeyEncoder(primary, keyTypes); err != nil {
		t.Fatal(err)
	}
	if w.bkey, err = row.NewKeyEncoder(bucket, bucketTypes); err != nil {
		t.Fatal(err)
	}
	if w.rows, err = row.NewEncoder(w.types); err != nil {
		t.Fatal(err)
	}
	return w
}

func pick(values []any, at []int) []any {
	out := make([]any, len(at))
	for i, p := range at {
		out[i] = values[p]
	}
	return out
}

// encode gives the bucket, key and row of one row's values.
func (w *rowWriter) encode(t testing.TB, values ...any) (int32, []byte, []byte) {
	t.Helper()
	key, err := w.keys.AppendValues(nil, pick(values, w.keyAt))
	if err != nil {
		t.Fatal(err)
	}
	bucketKey, err := w.bkey.AppendValues(nil, pick(values, w.bucketAt))
	if err != nil {
		t.Fatal(err)
	}
	data, err := w.rows.AppendValues(nil, values)
	if err != nil {
		t.Fatal(err)
	}
	return int32(row.Bucket(w.info.LakeFormat(), bucketKey, w.info.Descriptor.BucketCount)), key, data
}

func (w *rowWriter) decode(t *testing.T, data []byte) []any {
	t.Helper()
	v, err := row.Decode(w.types, data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRealRows(t *testing.T) {
	c, ctx := connectReal(t)
	db := realDatabase(t, c, ctx)
	info := createTable(t, c, ctx, fluss.TablePath{Database: db, Table: "orders"}, ordersDescriptor(t))
	enc := newRowWriter(t, info)

	w, err := c.NewWriter(ctx, info, fluss.WriterConfig{Connections: 3, MaxInFlight: 4})
	if err != nil {
		t.Fatal(err)
	}
	const rows, perBatch = 3000, 100
	perBucket := map[int32]int64{}
	batches := map[int32]*row.Batch{}
	var acked atomic.Int64
	send := func(b int32) {
		batch := batches[b]
		delete(batches, b)
		if err := w.Bucket(fluss.BucketID{PartitionID: -1, Bucket: b}).Send(ctx, batch, func(a fluss.Ack) {
			if a.Err != nil {
				t.Error(a.Err)
			}
			acked.Add(int64(a.Rows))
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range rows {
		b, key, data := enc.encode(t, int64(i), fmt.Sprintf("buyer %d", i), nil)
		perBucket[b]++
		if batches[b] == nil {
			batches[b] = new(row.Batch)
			batches[b].Reset(int16(info.SchemaID))
		}
		batches[b].AddRaw(key, data)
		if batches[b].Rows() == perBatch {
			send(b)
		}
	}
	for b := range batches {
		send(b)
	}
	if err := w.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if acked.Load() != rows {
		t.Errorf("%d rows acknowledged", acked.Load())
	}
	ends, err := c.ListOffsets(ctx, info, nil, []int32{0, 1, 2}, fluss.OffsetLatest)
	if err != nil || !maps.Equal(ends, perBucket) {
		t.Errorf("log end offsets %v, rows %v, %v", ends, perBucket, err)
	}
	if starts, err := c.ListOffsets(ctx, info, nil, []int32{0, 2}, fluss.OffsetEarliest); err != nil || len(starts) != 2 || starts[0] != 0 {
		t.Errorf("first offsets %v, %v", starts, err)
	}
	if _, err := c.ListOffsets(ctx, info, nil, []int32{7}, fluss.OffsetLatest); err == nil {
		t.Error("a bucket that is not there has an offset")
	}

	b, key, data := enc.encode(t, int64(17), "buyer 17", nil)
	none := slices.Clone(key)
	none[len(none)-1] ^= 0x55
	id := fluss.BucketID{PartitionID: -1, Bucket: b}
	found, err := c.Lookup(ctx, info, id, [][]byte{none, key, none})
	if err != nil || len(found) != 3 || found[0] != nil || found[2] != nil || string(found[1]) != string(data) {
		t.Errorf("lookup: %q, %v", found, err)
	}
	scanned, err := c.LimitScan(ctx, info, id, 10)
	if err != nil || len(scanned) != 10 {
		t.Errorf("limit scan: %d rows, %v", len(scanned), err)
	}
	for _, r := range scanned {
		if v := enc.decode(t, r); v[1] != fmt.Sprintf("buyer %d", v[0]) {
			t.Errorf("scanned %v", v)
		}
	}
	stats, err := c.TableStats(ctx, info, []fluss.BucketID{id})
	if err != nil || stats[id] != perBucket[b] {
		t.Errorf("stats %v, rows %d, %v", stats, perBucket[b], err)
	}

	// One batch by hand: an update, a new key and a delete.
	var batch row.Batch
	batch.Reset(int16(info.SchemaID))
	_, _, data = enc.encode(t, int64(17), "someone else", nil)
	batch.AddRaw(key, data)
	end, err := c.PutKV(ctx, info, id, batch.Finish(row.NoWriter, row.NoSequence), fluss.AcksAll)
	if err != nil || end != perBucket[b]+2 {
		t.Errorf("put: end %d after %d rows, %v", end, perBucket[b], err)
	}
	batch.Reset(int16(info.SchemaID))
	batch.AddRaw(key, nil)
	if end, err = c.PutKV(ctx, info, id, batch.Finish(row.NoWriter, row.NoSequence), fluss.AcksAll); err != nil || end != perBucket[b]+3 {
		t.Errorf("delete: end %d, %v", end, err)
	}
	if found, err = c.Lookup(ctx, info, id, [][]byte{key}); err != nil || found[0] != nil {
		t.Errorf("lookup of a deleted key: %q, %v", found, err)
	}
	if _, err := c.PutKV(ctx, info, id, batch.Finish(row.NoWriter, row.NoSequence), 7); err == nil {
		t.Error("acks 7 were accepted")
	}
}

func TestRealPrefixLookup(t *testing.T) {
	c, ctx := connectReal(t)
	db := realDatabase(t, c, ctx)
	d := fluss.TableDescriptor{
		Columns:    []fluss.Column{{Name: "operation_id", Type: mustType(t, "STRING")}, {Name: "seq", Type: mustType(t, "INT")}, {Name: "event", Type: mustType(t, "STRING")}},
		PrimaryKey: []string{"operation_id", "seq"}, BucketKey: []string{"operation_id"}, BucketCount: 2,
		Properties: map[string]string{"table.merge-engine": "first_row"},
	}
	info := createTable(t, c, ctx, fluss.TablePath{Database: db, Table: "journal"}, d)
	enc := newRowWriter(t, info)
	var batch row.Batch
	put := func(op string, seq int32, event string) {
		b, key, data := enc.encode(t, op, seq, event)
		batch.Reset(int16(info.SchemaID))
		batch.AddRaw(key, data)
		if _, err := c.PutKV(ctx, info, fluss.BucketID{PartitionID: -1, Bucket: b}, batch.Finish(row.NoWriter, row.NoSequence), fluss.AcksAll); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int32(5) {
		put("op-a", i, fmt.Sprintf("a%d", i))
		put("op-b", i, fmt.Sprintf("b%d", i))
	}
	put("op-a", 3, "too late")
	// A prefix is encoded as the primary key is, which is not how the bucket key
	// is encoded when that is only a part of it.
	primary, _ := row.KeyFormatOf(info.LakeFormat(), info.KvFormatVersion(), false)
	prefixes, err := row.NewKeyEncoder(primary, enc.types[:1])
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := prefixes.AppendValues(nil, []any{"op-a"})
	if err != nil {
		t.Fatal(err)
	}
	none, err := prefixes.AppendValues(nil, []any{"op-none"})
	if err != nil {
		t.Fatal(err)
	}
	b, _, _ := enc.encode(t, "op-a", int32(0), "")
	id := fluss.BucketID{PartitionID: -1, Bucket: b}
	lists, err := c.PrefixLookup(ctx, info, id, [][]byte{prefix, none})
	if err != nil || len(lists) != 2 || len(lists[0]) != 5 || len(lists[1]) != 0 {
		t.Fatalf("prefix lookup: %q, %v", lists, err)
	}
	for i, r := range lists[0] {
		if v := enc.decode(t, r); v[0] != "op-a" || v[1] != int32(i) || v[2] != fmt.Sprintf("a%d", i) {
			t.Errorf("row %d: %v", i, v)
		}
	}
}

func TestRealPartitions(t *testing.T) {
	c, ctx := connectReal(t)
	db := realDatabase(t, c, ctx)
	path := fluss.TablePath{Database: db, Table: "parts"}
	info := createTable(t, c, ctx, path, fluss.TableDescriptor{
		Columns:    []fluss.Column{{Name: "id", Type: mustType(t, "INT")}, {Name: "z", Type: mustType(t, "STRING")}, {Name: "a", Type: mustType(t, "STRING")}, {Name: "v", Type: mustType(t, "STRING")}},
		PrimaryKey: []string{"id", "z", "a"}, PartitionKeys: []string{"z", "a"}, BucketCount: 2,
	})
	if !info.IsPartitioned() || !slices.Equal(info.BucketKey(), []string{"id"}) || !slices.Equal(info.PhysicalPrimaryKey(), []string{"id"}) {
		t.Errorf("described as %+v", info)
	}
	for _, z := range []string{"z1", "z2"} {
		if err := c.CreatePartition(ctx, path, map[string]string{"z": z, "a": "2024-01-01"}, false); err != nil {
			t.Fatal(err)
		}
	}
	one := map[string]string{"z": "z1", "a": "2024-01-01"}
	if err := c.CreatePartition(ctx, path, one, false); !errors.Is(err, fluss.ErrPartitionAlreadyExist) {
		t.Errorf("created twice: %v", err)
	}
	if err := c.CreatePartition(ctx, path, one, true); err != nil {
		t.Error(err)
	}
	if err := c.CreatePartition(ctx, path, map[string]string{"z": "a b", "a": "x"}, false); !errors.Is(err, fluss.ErrPartitionSpecInvalid) {
		t.Errorf("a value with a space: %v", err)
	}
	list, err := c.ListPartitions(ctx, path)
	if err != nil || len(list) != 2 {
		t.Fatalf("partitions: %+v, %v", list, err)
	}
	slices.SortFunc(list, func(a, b fluss.PartitionInfo) int { return strings.Compare(a.Name, b.Name) })
	if list[0].Name != "z1$2024-01-01" || !maps.Equal(list[0].Spec, one) {
		t.Errorf("partitions: %+v", list)
	}

	enc := newRowWriter(t, info)
	w, err := c.NewWriter(ctx, info, fluss.WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var last fluss.BucketID
	var key []byte
	for _, p := range list {
		batch := new(row.Batch)
		batch.Reset(int16(info.SchemaID))
		b, k, data := enc.encode(t, int32(4), p.Spec["z"], p.Spec["a"], "value of "+p.Name)
		batch.AddRaw(k, data)
		last, key = fluss.BucketID{PartitionID: p.ID, Bucket: b}, k
		bucket := w.Bucket(last)
		if err := bucket.Send(ctx, batch, func(a fluss.Ack) {
			if a.Err != nil || a.LogEndOffset != 1 {
				t.Errorf("ack %+v", a)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := bucket.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	found, err := c.Lookup(ctx, info, last, [][]byte{key})
	if err != nil || enc.decode(t, found[0])[3] != "value of z2$2024-01-01" {
		t.Errorf("lookup: %q, %v", found, err)
	}
	ends, err := c.ListOffsets(ctx, info, &last.PartitionID, []int32{0, 1}, fluss.OffsetLatest)
	if err != nil || ends[last.Bucket] != 1 || ends[1-last.Bucket] != 0 {
		t.Errorf("offsets: %v, %v", ends, err)
	}
	if err := c.DropPartition(ctx, path, one, false); err != nil {
		t.Error(err)
	}
	if err := c.DropPartition(ctx, path, one, false); !errors.Is(err, fluss.ErrPartitionNotExist) {
		t.Errorf("dropped twice: %v", err)
	}
	if err := c.DropPartition(ctx, path, one, true); err != nil {
		t.Error(err)
	}
	gone := list[0].ID
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// As with tables, the tablet servers hear of the drop a moment later.
	for _, err = c.ListOffsets(short, info, &gone, []int32{0}, fluss.OffsetLatest); err == nil; {
		time.Sleep(50 * time.Millisecond)
		_, err = c.ListOffsets(short, info, &gone, []int32{0}, fluss.OffsetLatest)
	}
	if !errors.Is(err, fluss.ErrPartitionNotExist) {
		t.Errorf("offsets of a dropped partition: %v", err)
	}
}

func TestRealLakeSnapshot(t *testing.T) {
	c, ctx := connectReal(t)
	db := realDatabase(t, c, ctx)
	path := fluss.TablePath{Database: db, Table: "orders"}
	info := createTable(t, c, ctx, path, ordersDescriptor(t))
	for _, readable := range []bool{false, true} {
		if _, err := c.LakeSnapshot(ctx, path, readable); !errors.Is(err, fluss.ErrNoLakeSnapshot) {
			t.Errorf("no snapshot yet: %v", err)
		}
	}
	offsets := map[fluss.BucketID]int64{{PartitionID: -1, Bucket: 0}: 4, {PartitionID: -1, Bucket: 1}: 0, {PartitionID: -1, Bucket: 2}: 9}
	register := func(id int64, offsets map[fluss.BucketID]int64) {
		file, err := c.PrepareLakeSnapshot(ctx, path, info.TableID, offsets, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CommitLakeSnapshot(ctx, fluss.LakeCommit{TableID: info.TableID, SnapshotID: id, TieredPath: file, ReadablePath: file}); err != nil {
			t.Fatal(err)
		}
	}
	register(7, offsets)
	register(8, map[fluss.BucketID]int64{{PartitionID: -1, Bucket: 1}: 5})
	offsets[fluss.BucketID{PartitionID: -1, Bucket: 1}] = 5
	for _, readable := range []bool{false, true} {
		s, err := c.LakeSnapshot(ctx, path, readable)
		if err != nil || s.SnapshotID != 8 || s.TableID != info.TableID || !maps.Equal(s.Offsets, offsets) {
			t.Errorf("snapshot %+v, %v", s, err)
		}
	}
	if s, err := c.LakeSnapshotByID(ctx, path, 7); err != nil || s.SnapshotID != 7 || s.Offsets[fluss.BucketID{PartitionID: -1, Bucket: 1}] != 0 {
		t.Errorf("snapshot 7: %+v, %v", s, err)
	}
	if _, err := c.LakeSnapshotByID(ctx, path, 99); !errors.Is(err, fluss.ErrNoLakeSnapshot) {
		t.Errorf("snapshot 99: %v", err)
	}
}

// A table that is dropped under a writer ends it with an error that says so,
// and the writer is drained: nothing can be applied any more.
func TestRealTableDroppedUnderWriter(t *testing.T) {
	c, ctx := connectReal(t)
	db := realDatabase(t, c, ctx)
	path := fluss.TablePath{Database: db, Table: "orders"}
	info := createTable(t, c, ctx, path, ordersDescriptor(t))
	enc := newRowWriter(t, info)
	w, err := c.NewWriter(ctx, info, fluss.WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b, key, data := enc.encode(t, int64(1), "x", nil)
	bucket := w.Bucket(fluss.BucketID{PartitionID: -1, Bucket: b})
	send := func() error {
		batch := new(row.Batch)
		batch.Reset(int16(info.SchemaID))
		batch.AddRaw(key, data)
		if err := bucket.Send(ctx, batch, func(fluss.Ack) {}); err != nil {
			return err
		}
		return bucket.Flush(ctx)
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	if err := c.DropTable(ctx, path, false); err != nil {
		t.Fatal(err)
	}
	// The tablet server deletes the bucket a moment after the coordinator has
	// dropped the table; until then it takes batches.
	for err = send(); err == nil; err = send() {
		time.Sleep(50 * time.Millisecond)
	}
	if !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("after the drop: %v", err)
	}
	if err := w.Drain(ctx); err != nil {
		t.Errorf("drain: %v", err)
	}
	again := createTable(t, c, ctx, path, ordersDescriptor(t))
	if again.TableID == info.TableID {
		t.Errorf("the new table has the old ID %d", info.TableID)
	}
	if _, err := c.Lookup(ctx, info, fluss.BucketID{PartitionID: -1, Bucket: b}, [][]byte{key}); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("lookup under the old table ID: %v", err)
	}
}
