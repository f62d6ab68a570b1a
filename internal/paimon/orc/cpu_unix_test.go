//go:build unix

package orc

import "syscall"

// cpuSeconds is the processor time this process has used, which on a busy
// machine says more than the clock.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
