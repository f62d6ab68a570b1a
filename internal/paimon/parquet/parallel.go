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

// tasks wait for a helper, or for whoever needs what they do.
var tasks = make(chan *task, 64)

// task is work that is to be done by whoever comes to it first.
type task struct {
	work  func() error
	taken atomic.Bool
	done  chan struct{}
	err   error // set before done is closed
}

// begin has a helper do the work, if one comes to it before result is called;
// nil where there is enough to do already.
func begin(work func() error) *task {
	t := &task{work: work, done: make(chan struct{})}
	defer help(func() {}, nil)
	select {
	case tasks <- t:
		return t
	default:
		return nil
	}
}

// doTasks does all that waits.
func doTasks() {
	for {
		select {
		case t := <-tasks:
			t.do()
		default:
			return
		}
	}
}

// do does the work unless somebody does already.
func (t *task) do() bool {
	if !t.taken.CompareAndSwap(false, true) {
		return false
	}
	t.err = safego.Do(t.work)
	t.work = nil
	close(t.done)
	return true
}

// result is the work's error, once it is done.
func (t *task) result() error {
	if !t.do() {
		<-t.done
	}
	return t.err
}

// cancel makes sure that the work is not being done, and won't be.
func (t *task) cancel() {
	if !t.taken.CompareAndSwap(false, true) {
		<-t.done
		return
	}
	t.work = nil
}

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

// help has work done by a goroutine more, if one may be, which tells its end to
// ended, if there is one, and goes on with the tasks that wait.
func help(work func(), ended chan<- struct{}) bool {
	select {
	case helpers <- struct{}{}:
	default:
		return false
	}
	safego.Start(func() error { work(); return nil }, func(error) { // its columns have their errors
		if ended != nil {
			ended <- struct{}{}
		}
		doTasks()
		<-helpers
	})
	return true
}
