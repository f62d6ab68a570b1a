package stack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const host = "127.0.0.1"

// freePorts finds n free ports by listening on them. They lie below the range
// from which the kernel gives ports to outgoing connections: a server that is
// stopped and started again must find its port still free.
func freePorts(n int) ([]int, error) {
	const low, tries = 20000, 200
	high := max(ephemeralPorts(), low+1000)
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	var out []int
	var last error
	for range tries {
		if len(out) == n {
			return out, nil
		}
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			last = err
			continue
		}
		held, out = append(held, l), append(out, port)
	}
	return nil, fmt.Errorf("stack: %d free ports between %d and %d: found %d: %w", n, low, high, len(out), errors.Join(last))
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// portFree says whether a server could listen on the port now.
func portFree(port int) bool {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
