//go:build !linux

package promotion

import "time"

// Without /proc nothing about another process can be proven, so an owner's end
// never is and recovery goes through the fence.
func hostBoot() string { return "" }

func processStart(int64) (start int64, exists, known bool) { return 0, false, false }

// bootTime uses the wall clock, which goes on while the machine is suspended.
func bootTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
