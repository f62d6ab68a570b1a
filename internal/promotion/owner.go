package promotion

import (
	"fmt"
	"os"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
)

// Owner identifies the process that runs an operation, well enough to prove
// from the same machine that it has ended.
type Owner struct {
	Token    string // random, one per run
	Host     string // host name, for people
	HostBoot string // boot ID and PID name space; "" where the system has none
	PID      int64
	PIDStart int64 // start time of the process in clock ticks since boot; 0 unknown
}

func (o Owner) String() string {
	return fmt.Sprintf("process %d on host %q", o.PID, o.Host)
}

// endProven says whether the owner's process is provably gone: same boot of the
// same host, same PID name space (containers of one host share the boot ID but
// not their process numbers), and no process with that number and start time.
func (o Owner) endProven() bool {
	here := hostBoot()
	if o.HostBoot == "" || here == "" || o.HostBoot != here || o.PID == 0 || o.PIDStart == 0 {
		return false
	}
	start, exists, known := processStart(o.PID)
	if !known {
		return false
	}
	return !exists || start != o.PIDStart
}

func newOwner(token string) Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if other := faultpoint.Host(); other != "" {
		host = other
	}
	pid := int64(os.Getpid())
	start, _, _ := processStart(pid)
	return Owner{Token: token, Host: host, HostBoot: hostBoot(), PID: pid, PIDStart: start}
}

// parseStatStart takes the start time (field 22) out of a /proc/PID/stat line.
// The second field is the command in parentheses and may hold anything, so
// counting begins behind its last closing one.
func parseStatStart(stat string) (int64, bool) {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	fields := strings.Fields(stat[i+1:])
	const startTime = 22 - 3 // fields[0] is field 3
	if len(fields) <= startTime {
		return 0, false
	}
	var v int64
	if _, err := fmt.Sscan(fields[startTime], &v); err != nil {
		return 0, false
	}
	return v, true
}

// processState takes the state letter (field 3) out of a /proc/PID/stat line.
func processState(stat string) byte {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return 0
	}
	rest := strings.TrimLeft(stat[i+1:], " ")
	if rest == "" {
		return 0
	}
	return rest[0]
}
