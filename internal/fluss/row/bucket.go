package row

import (
	"encoding/binary"
	"math/bits"
)

// Bucket returns the bucket of a row, 0 to buckets-1, from its bucket key bytes
// in the layout KeyFormatOf names for lakeFormat. It is -1 when buckets is below
// 1 or the lake format's bucketing is not known.
func Bucket(lakeFormat string, bucketKey []byte, buckets int) int {
	if buckets < 1 || buckets > 1<<31-1 {
		return -1
	}
	h := murmur(bucketKey)
	switch lakeFormat {
	case LakePaimon:
		r := h % int32(buckets) // truncated, as in Java: the remainder has the hash's sign
		if r < 0 {
			r = -r
		}
		return int(r)
	case LakeNone, LakeLance:
		return int(mix(h) % int32(buckets))
	}
	return -1
}

const (
	murmurC1   = 0xcc9e2d51
	murmurC2   = 0x1b873593
	murmurSeed = 42
)

// murmur is the Murmur3 x86 32-bit hash of b with seed 42, except that each of
// the last 1 to 3 bytes goes through a full round of its own, sign-extended:
// this is what Fluss and Paimon compute.
func murmur(b []byte) int32 {
	h, size := uint32(murmurSeed), len(b)
	for len(b) >= 4 {
		h = murmurRound(h, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	for _, c := range b {
		h = murmurRound(h, uint32(int8(c)))
	}
	return int32(murmurFinish(h ^ uint32(size)))
}

// mix spreads a hash once more before the modulus, for tables whose bucketing
// is Fluss' own. It is never negative.
func mix(hash int32) int32 {
	h := int32(murmurFinish(murmurRound(0, uint32(hash)) ^ 4))
	switch {
	case h >= 0:
		return h
	case h == -1<<31:
		return 0
	}
	return -h
}

func murmurRound(h, k uint32) uint32 {
	k = bits.RotateLeft32(k*murmurC1, 15) * murmurC2
	return bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
}

func murmurFinish(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}
