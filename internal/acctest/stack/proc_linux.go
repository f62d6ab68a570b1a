package stack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// processStart identifies a running process for good: the boot of the machine
// and the process's start in clock ticks after it (proc(5), field 22 of
// /proc/PID/stat). A zombie counts as ended.
func processStart(pid int) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The command's name, field 2, is in brackets and may hold anything.
	end := bytes.LastIndexByte(data, ')')
	field := strings.Fields(string(data[end+1:]))
	if end < 0 || len(field) < 20 {
		return "", fmt.Errorf("/proc/%d/stat: %d fields after the name, 20 required", pid, len(field))
	}
	if field[0] == "Z" || field[0] == "X" {
		return "", errors.New("the process has ended")
	}
	boot, err := bootID()
	if err != nil {
		return "", err
	}
	return boot + "/" + field[19], nil
}

var bootID = sync.OnceValues(func() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data)), err
})

func groupOfItsOwn(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// startCommand starts cmd; with dieWithParent the kernel kills it when this
// process dies, however that happens.
func startCommand(cmd *exec.Cmd, dieWithParent bool) error {
	if !dieWithParent {
		return cmd.Start()
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error, 1)
	launcher() <- func() { done <- cmd.Start() }
	return <-done
}

// launcher runs functions on one thread that lives as long as this process:
// PR_SET_PDEATHSIG speaks of the thread that started the child (prctl(2)).
var launcher = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// ephemeralPorts is the first port the kernel hands out by itself.
func ephemeralPorts() int {
	var low int
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 32768
	}
	if _, err := fmt.Sscan(string(data), &low); err != nil {
		return 32768
	}
	return low
}
