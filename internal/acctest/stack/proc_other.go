//go:build unix && !linux

package stack

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// processStart identifies a running process by what ps says about its start.
func processStart(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	state, start, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if start == "" || strings.HasPrefix(state, "Z") {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return strings.TrimSpace(start), nil
}

func groupOfItsOwn(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// startCommand starts cmd. Only Linux can tie its life to this process's.
func startCommand(cmd *exec.Cmd, _ bool) error { return cmd.Start() }

func ephemeralPorts() int { return 49152 }
