//go:build faultpoints

package faultpoint

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Environment variables that give the orders.
const (
	// EnvOrders is a list, separated by spaces, of POINT#N=ACTION: the N-th time
	// the point is reached in this process, ACTION is done. Actions: stop (the
	// process stops itself as by SIGSTOP), kill (SIGKILL), wait (the goroutine
	// goes on when the file of EnvGo exists or its context ends), hold (as wait,
	// whatever becomes of the context).
	EnvOrders = "FLUSS_FAULT_ORDERS"
	// EnvGo is the file that action wait waits for.
	EnvGo = "FLUSS_FAULT_GO"
	// EnvEvidence is a file to which every point reached is appended before its
	// action is done: one JSON object a line, see Evidence.
	EnvEvidence = "FLUSS_FAULT_EVIDENCE"
	// EnvClock shifts the wall clock in journal events, as a Go duration.
	EnvClock = "FLUSS_FAULT_CLOCK"
	// EnvHeartbeat is the heartbeat interval, as a Go duration.
	EnvHeartbeat = "FLUSS_FAULT_HEARTBEAT"
	// EnvHost is the host that the owner passes for, name and boot ID.
	EnvHost = "FLUSS_FAULT_HOST"
	// EnvDial is a list, separated by spaces, of SERVER=PROXY addresses.
	EnvDial = "FLUSS_FAULT_DIAL"
)

// Enabled says whether this build obeys fault orders.
const Enabled = true

// Evidence is one line of the evidence file.
type Evidence struct {
	Point  Point     `json:"point"`
	N      int       `json:"n"` // the how-manieth time in this process
	Action string    `json:"action,omitempty"`
	PID    int       `json:"pid"`
	Time   time.Time `json:"time"`
}

var state struct {
	sync.Mutex
	reached map[Point]int
}

// Reach says that the point has been reached, and does what was ordered for it.
func Reach(ctx context.Context, p Point) {
	state.Lock()
	if state.reached == nil {
		state.reached = map[Point]int{}
	}
	state.reached[p]++
	n := state.reached[p]
	action := pairs(EnvOrders)[string(p)+"#"+strconv.Itoa(n)]
	leave(Evidence{Point: p, N: n, Action: action, PID: os.Getpid(), Time: time.Now()})
	state.Unlock()
	switch action {
	case "stop":
		signal(syscall.SIGSTOP)
	case "kill":
		signal(syscall.SIGKILL)
	case "wait":
		wait(ctx, os.Getenv(EnvGo))
	case "hold":
		wait(context.WithoutCancel(ctx), os.Getenv(EnvGo))
	}
}

// signal sends this process a signal and gives it the time to arrive.
func signal(s syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), s); err == nil {
		time.Sleep(20 * time.Millisecond)
	}
}

func wait(ctx context.Context, file string) {
	for ctx.Err() == nil {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// leave appends a line to the evidence file. A fault without evidence counts as
// not injected, so an error shows in the suite.
func leave(e Evidence) {
	path := os.Getenv(EnvEvidence)
	line, err := json.Marshal(e)
	if path == "" || err != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

// pairs are the KEY=VALUE words of a variable.
func pairs(variable string) map[string]string {
	out := map[string]string{}
	for _, word := range strings.Fields(os.Getenv(variable)) {
		if k, v, ok := strings.Cut(word, "="); ok {
			out[k] = v
		}
	}
	return out
}

func duration(variable string) (time.Duration, bool) {
	d, err := time.ParseDuration(os.Getenv(variable))
	return d, err == nil
}

// Now is the wall clock that is written into journal events.
func Now() time.Time {
	shift, _ := duration(EnvClock)
	return time.Now().Add(shift)
}

// Heartbeat is the journal's heartbeat interval.
func Heartbeat(configured time.Duration) time.Duration {
	if d, ok := duration(EnvHeartbeat); ok {
		return d
	}
	return configured
}

// Host is the name of another host that this process is to pass for, with its
// boot ID; "" is none.
func Host() string { return os.Getenv(EnvHost) }

// Address is where to connect to in place of a server's address.
func Address(server string) string {
	if proxy, ok := pairs(EnvDial)[server]; ok {
		return proxy
	}
	return server
}
