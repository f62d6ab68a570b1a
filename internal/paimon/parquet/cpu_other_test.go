//go:build !unix

package parquet

func cpuSeconds() float64 { return 0 }
