//go:build !faultpoints

package faultpoint

import (
	"context"
	"time"
)

// Enabled says whether this build obeys fault orders.
const Enabled = false

// Reach says that the point has been reached.
func Reach(context.Context, Point) {}

// Now is the wall clock that is written into journal events.
func Now() time.Time { return time.Now() }

// Heartbeat is the journal's heartbeat interval.
func Heartbeat(configured time.Duration) time.Duration { return configured }

// Host is the name of another host that this process is to pass for, with its
// boot ID; "" is none.
func Host() string { return "" }

// Address is where to connect to in place of a server's address.
func Address(server string) string { return server }
