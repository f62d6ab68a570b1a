package promotion

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"golang.org/x/sync/semaphore"
)

// A bucket is opened only when there is memory for it, and its close gives it
// back; waiting ends with the caller.
func TestBucketsWaitForMemory(t *testing.T) {
	src, err := copyLake(t, "pk_levels", nil).open(t)
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{memory: semaphore.NewWeighted(readMemory)}
	r := &run{s: s, src: src}
	part := src.plan.Partitions[0]
	task := bucketTask{id: fluss.BucketID{PartitionID: -1}, files: part.Buckets[0], source: part}
	lay := &layout{}
	first, err := r.openBucket(t.Context(), lay, task, readMemory) // more than there is, with the files': alone
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := r.openBucket(ctx, lay, task, 0); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "waiting for memory to read bucket 0") {
		t.Errorf("a second bucket: %v", err)
	}
	first.close()
	second, err := r.openBucket(t.Context(), lay, task, 0)
	if err != nil {
		t.Fatal(err)
	}
	second.close()
	if !s.memory.TryAcquire(readMemory) {
		t.Error("memory was not given back")
	}
}
