package wire

import "google.golang.org/protobuf/encoding/protowire"

// PutKVRequest is a PUT_KV request for one bucket: the server keeps only one
// entry per bucket and one batch per entry, and loses the others silently.
type PutKVRequest struct {
	Acks      int32 // -1 all in-sync replicas, 1 the leader, 0 nobody
	TableID   int64
	TimeoutMs int32 // how long the server may wait for replicas
	// PartitionID is -1 for tables without partitions.
	PartitionID int64
	Bucket      int32
	// RoutingBuckets is the bucket count by which rows were assigned to
	// buckets, known to servers from 1.0 on; 0 leaves it out.
	RoutingBuckets int32
}

// AppendPrefix appends everything of the message that precedes the batch's own
// bytes; the prefix followed by the batch is the message. So a batch of some
// megabytes goes from its buffer into the socket without being copied. The
// message is flusspb.PutKvRequest with records as the last field.
func (r PutKVRequest) AppendPrefix(dst []byte, batchSize int) []byte {
	dst = appendVarint(dst, 1, uint64(int64(r.Acks)))
	dst = appendVarint(dst, 2, uint64(r.TableID))
	dst = appendVarint(dst, 3, uint64(int64(r.TimeoutMs)))
	var inner [64]byte
	b := inner[:0]
	if r.PartitionID >= 0 {
		b = appendVarint(b, 1, uint64(r.PartitionID))
	}
	b = appendVarint(b, 2, uint64(int64(r.Bucket)))
	if r.RoutingBuckets > 0 {
		b = appendVarint(b, 5, uint64(r.RoutingBuckets))
	}
	b = protowire.AppendTag(b, 3, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(batchSize))
	dst = protowire.AppendTag(dst, 5, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(b)+batchSize))
	return append(dst, b...)
}

func appendVarint(dst []byte, field protowire.Number, v uint64) []byte {
	dst = protowire.AppendTag(dst, field, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}
