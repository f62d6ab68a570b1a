// Package wire is the codec of the Apache Fluss RPC protocol: frames, API keys
// with their version ranges, error codes, and (in flusspb) the messages. It
// holds no connection and knows nothing of tables.
//
// Sources: the protocol as observed on servers of 0.9.1 and of the development
// state before 1.0.0, and the constants of the published client classes of
// 0.9.1-incubating and 1.0.0.
package wire
