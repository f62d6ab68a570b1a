package promotion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
)

// hostBoot is the kernel's boot ID with the PID name space this process is in.
func hostBoot() string {
	if other := faultpoint.Host(); other != "" {
		return other
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id)) + "/" + ns
}

// processStart looks a process up. known is false when that could not be told.
// A zombie has ended: it can run nothing any more.
func processStart(pid int64) (start int64, exists, known bool) {
	if pid <= 0 { // not a process number; to kill(2) a group
		return 0, false, false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		// A /proc mounted with hidepid shows no processes of other users.
		gone := errors.Is(unix.Kill(int(pid), 0), unix.ESRCH)
		return 0, false, gone
	}
	if err != nil {
		return 0, false, false
	}
	if s := processState(string(stat)); s == 'Z' || s == 'X' {
		return 0, false, true
	}
	start, ok := parseStatStart(string(stat))
	return start, ok, ok
}

// bootTime is a clock that goes on while the machine is suspended; a lease
// measured by the monotonic clock would outlive a night with the lid closed.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}
