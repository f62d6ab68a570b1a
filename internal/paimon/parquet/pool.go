package parquet

import "sync"

// bufferPool keeps page buffers of closed readers: a table is many files read
// one after the other, with pages of about the same size.
var bufferPool sync.Pool // of *[]byte

// maxPooled is the largest buffer kept; the page of one huge value is not.
const maxPooled = 4 << 20

// getBuffer returns a buffer of length 0 and at least n bytes of capacity, not
// many more, holding anything.
func getBuffer(n int) []byte {
	if b, ok := bufferPool.Get().(*[]byte); ok {
		if cap(*b) >= n && cap(*b) <= max(4*n, 4*readAhead) {
			return (*b)[:0]
		}
		bufferPool.Put(b)
	}
	return make([]byte, 0, n)
}

func putBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= maxPooled {
		bufferPool.Put(&b)
	}
}
