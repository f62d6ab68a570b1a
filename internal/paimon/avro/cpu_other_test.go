//go:build !unix

package avro

func cpuSeconds() float64 { return 0 }
