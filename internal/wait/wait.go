// Package wait pauses.
package wait

import (
	"context"
	"time"
)

// For waits for d, or until ctx ends, and then returns why it has ended.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
