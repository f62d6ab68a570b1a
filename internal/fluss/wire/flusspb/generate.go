// Package flusspb holds the messages of the Fluss RPC protocol that are used
// here, generated from fluss.proto. To generate them again: protoc (3.20 or
// later, or `python -m grpc_tools.protoc` of the grpcio-tools package) and
// protoc-gen-go v1.36.12 on PATH, then go generate.
package flusspb

//go:generate protoc -I . --go_out=. --go_opt=paths=source_relative fluss.proto
