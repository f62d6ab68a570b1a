// Package fluss is a client of Apache Fluss servers: connections, metadata,
// admin calls, offsets, lookups, the registration of lake snapshots, and a bulk
// writer of KV batches. It knows nothing of Paimon or of Terraform.
//
// From the bottom up: package wire is the codec; conn is one connection; pool
// keeps connections per server; Client adds metadata, retries and the calls;
// Writer sends batches over connections of its own, so that control calls never
// queue behind a load.
//
// Every call takes a context. Without a deadline in it, Config.RetryTimeout
// bounds the call. Cancelling a context ends the call at once.
//
// Errors that a server answered are *Error. A call that changes something and
// whose answer may have been lost fails with an error matching
// ErrUnknownOutcome; it has not been tried again, and may or may not have been
// carried out.
package fluss
