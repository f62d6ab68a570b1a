//go:build !unix

package orc

func cpuSeconds() float64 { return 0 }
