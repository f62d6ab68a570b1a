//go:build faultpoints

package faultpoint

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func evidence(t *testing.T, file string) []Evidence {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []Evidence
	for line := range strings.Lines(string(data)) {
		var e Evidence
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestWaitAtTheOrderedOccurrence(t *testing.T) {
	dir := t.TempDir()
	file, flag := filepath.Join(dir, "evidence"), filepath.Join(dir, "go")
	t.Setenv(EnvEvidence, file)
	t.Setenv(EnvGo, flag)
	t.Setenv(EnvOrders, "wait.test#2=wait")
	Reach(context.Background(), "wait.test") // the first is not held
	done := make(chan struct{})
	go func() { Reach(context.Background(), "wait.test"); close(done) }()
	select {
	case <-done:
		t.Fatal("the second was not held")
	case <-time.After(100 * time.Millisecond):
	}
	if err := os.WriteFile(flag, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	<-done
	got := evidence(t, file)
	if len(got) != 2 || got[0].Action != "" || got[1].Action != "wait" || got[1].N != 2 || got[1].PID != os.Getpid() {
		t.Errorf("evidence %+v", got)
	}
	t.Setenv(EnvOrders, "wait.test#3=wait")
	os.Remove(flag)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	Reach(ctx, "wait.test") // ends with its context
}

func TestStopAndKill(t *testing.T) {
	if os.Getenv("FAULTPOINT_CHILD") != "" {
		Reach(context.Background(), "child.test")
		return
	}
	for action, want := range map[string]func(syscall.WaitStatus) bool{
		"stop": syscall.WaitStatus.Stopped,
		"kill": func(s syscall.WaitStatus) bool { return s.Signaled() && s.Signal() == syscall.SIGKILL },
	} {
		file := filepath.Join(t.TempDir(), "evidence")
		cmd := exec.Command(os.Args[0], "-test.run", "^TestStopAndKill$")
		cmd.Env = append(os.Environ(), "FAULTPOINT_CHILD=1", EnvEvidence+"="+file, EnvOrders+"=child.test#1="+action)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			t.Fatal(err)
		}
		if !want(status) {
			t.Errorf("%s: status %x", action, status)
		}
		if got := evidence(t, file); len(got) != 1 || got[0].PID != cmd.Process.Pid {
			t.Errorf("%s: evidence %+v", action, got)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Wait()
	}
}

func TestSettings(t *testing.T) {
	t.Setenv(EnvClock, "-5h")
	if d := time.Until(Now()); d > -299*time.Minute || d < -301*time.Minute {
		t.Errorf("the clock is shifted by %s", d)
	}
	if got := Heartbeat(time.Minute); got != time.Minute {
		t.Errorf("heartbeat %s without an order", got)
	}
	t.Setenv(EnvHeartbeat, "2s")
	if got := Heartbeat(time.Minute); got != 2*time.Second {
		t.Errorf("heartbeat %s", got)
	}
	t.Setenv(EnvDial, "a:1=b:2 c:3=d:4")
	if got := Address("c:3") + Address("e:5"); got != "d:4e:5" {
		t.Errorf("addresses %s", got)
	}
}
