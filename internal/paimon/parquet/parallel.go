package parquet

import (
	"runtime"
	"sync/atomic"

	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// worthSharing is the number of values from which a second goroutine takes part.
const worthSharing = 8192

// helpers are the goroutines that may take part in the reading of others, of all
// readers together, one less than there are processors: one reader has the whole
// machine, and many mostly keep to their own goroutines.
var helpers = make(chan struct{}, runtime.NumCPU()-1)

// eachColumn calls f once for each of n columns, of values values together,
// until one fails, on as many goroutines as are free for it. The error is that
// of the first of the columns that failed.
func eachColumn(n, values int, f func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, n)
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = safego.Do(func() error { return f(i) }); errs[i] != nil {
				next.Store(int64(n))
			}
		}
	}
	ended := make(chan struct{}, n)
	helping := 0
	for values >= worthSharing && helping < n-1 && help(work, ended) {
		helping++
	}
	work()
	for range helping {
		<-ended
	}
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

// help has work done by a goroutine more, if one may be.
func help(work func(), ended chan<- struct{}) bool {
	select {
	case helpers <- struct{}{}:
	default:
		return false
	}
	safego.Start(func() error { work(); return nil }, func(error) { // its columns have their errors
		<-helpers
		ended <- struct{}{}
	})
	return true
}
