//go:build unix

package stack

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile takes the lock of a file for this process, waiting until ctx ends,
// and returns how to give it back. It is given back too when the process dies.
func lockFile(ctx context.Context, path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

// Lock takes the lock of a file, making the file if need be, and returns how to
// give it back. Processes that fill the cache use it to take turns.
func Lock(ctx context.Context, path string) (func(), error) { return lockFile(ctx, path) }
