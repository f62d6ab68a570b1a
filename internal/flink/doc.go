// Package flink is a client for two of Flink's REST services: the SQL Gateway,
// which plans and submits statements, and the job manager (or the history
// server), which knows what became of a job. It knows nothing of Paimon, Fluss or promotions.
//
// The services are described in Flink's documentation, "SQL Gateway: REST
// Endpoint" and "REST API". Seen working with Flink 1.20.3.
//
// Every call has a deadline of its own inside the caller's. Only calls that
// may be repeated without effect are: a statement whose answer was lost is
// reported as ErrUnknownOutcome and has to be looked up by job ID or name.
// Texts given to Config.Secrets appear in no error.
package flink
