package fluss

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
)

// Errors of this package, to be met with errors.Is. Those in the first group
// stand for error codes of the servers.
var (
	ErrDatabaseNotExist        = errors.New("the database does not exist")
	ErrDatabaseAlreadyExist    = errors.New("the database exists already")
	ErrDatabaseNotEmpty        = errors.New("the database is not empty")
	ErrTableNotExist           = errors.New("the table does not exist")
	ErrTableAlreadyExist       = errors.New("the table exists already")
	ErrPartitionNotExist       = errors.New("the partition does not exist")
	ErrPartitionAlreadyExist   = errors.New("the partition exists already")
	ErrPartitionSpecInvalid    = errors.New("the partition's values cannot be used as a partition name")
	ErrPartitionMaxNum         = errors.New("the table has reached the cluster's highest number of partitions")
	ErrInvalidConfig           = errors.New("a table property is not valid")
	ErrInvalidAlterTable       = errors.New("the change of the table is not allowed")
	ErrLakeNotConfigured       = errors.New("the cluster has no lake storage configured")
	ErrLakeTableAlreadyExist   = errors.New("the lake table exists already and does not match")
	ErrNoLakeSnapshot          = errors.New("the table has no lake snapshot")
	ErrAuthentication          = errors.New("authentication failed")
	ErrAuthorization           = errors.New("permission denied")
	ErrSecurityDisabled        = errors.New("the cluster has no authorizer")
	ErrSequence                = errors.New("the server does not accept the batch's sequence number")
	ErrServerAnsweredUndefined = errors.New("the server failed without a defined error")
	ErrNotHosted               = errors.New("the server does not have the bucket (yet)")

	// ErrUnknownOutcome: the request may or may not have been carried out,
	// since its answer was lost. Look before trying again.
	ErrUnknownOutcome = errors.New("it is not known whether the request was carried out")
	// ErrNotServed: the server does not list the API that the call needs.
	ErrNotServed = errors.New("the server does not serve this request")
	// ErrNoAnswer: the server has not answered within Config.RequestTimeout.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrConnection: the connection could not be made, or broke.
	ErrConnection = errors.New("connection failed")
	// ErrServerFailure: the server reported a failure of its own, not of one
	// request, and closed the connection; a request above its size limit ends
	// so too.
	ErrServerFailure = errors.New("the server failed and closed the connection")
	// ErrGarbage: what arrived is not an answer of a Fluss server.
	ErrGarbage = errors.New("not an answer of a Fluss server")
	// ErrClosed: the client or writer has been closed.
	ErrClosed = errors.New("closed")
	// ErrDraining: the writer takes no more batches.
	ErrDraining = errors.New("the writer has been stopped")
	// ErrNoLeader: a bucket has no leader (yet).
	ErrNoLeader = errors.New("the bucket has no leader")
)

var sentinels = map[error]wire.Code{
	ErrDatabaseNotExist:        wire.CodeDatabaseNotExist,
	ErrDatabaseAlreadyExist:    wire.CodeDatabaseAlreadyExist,
	ErrDatabaseNotEmpty:        wire.CodeDatabaseNotEmpty,
	ErrTableNotExist:           wire.CodeTableNotExist,
	ErrTableAlreadyExist:       wire.CodeTableAlreadyExist,
	ErrPartitionNotExist:       wire.CodePartitionNotExists,
	ErrPartitionAlreadyExist:   wire.CodePartitionAlreadyExists,
	ErrPartitionSpecInvalid:    wire.CodePartitionSpecInvalid,
	ErrPartitionMaxNum:         wire.CodePartitionMaxNum,
	ErrInvalidConfig:           wire.CodeInvalidConfig,
	ErrInvalidAlterTable:       wire.CodeInvalidAlterTable,
	ErrLakeNotConfigured:       wire.CodeLakeStorageNotConfigured,
	ErrLakeTableAlreadyExist:   wire.CodeLakeTableAlreadyExist,
	ErrNoLakeSnapshot:          wire.CodeLakeSnapshotNotExist,
	ErrAuthorization:           wire.CodeAuthorization,
	ErrSecurityDisabled:        wire.CodeSecurityDisabled,
	ErrServerAnsweredUndefined: wire.CodeUnknownServerError,
	ErrNotHosted:               wire.CodeUnknownTableOrBucket,
}

// Error is an error that a server answered.
type Error struct {
	Code wire.Code
	// Name is the code's name, such as "TABLE_NOT_EXIST".
	Name string
	// Message is the first line of the server's text; the rest is its stack
	// trace.
	Message string
	// Request is the API's name, such as "GET_TABLE_INFO".
	Request string
	// Server is the address that answered.
	Server string
	// Bucket is set when the error concerns one bucket of a request.
	Bucket *BucketID
}

func newError(code wire.Code, message string, key wire.Key, server string) *Error {
	line, _, _ := strings.Cut(message, "\n")
	line = strings.TrimSpace(line)
	if r := []rune(line); len(r) > 2000 {
		line = string(r[:2000]) + " …"
	}
	return &Error{Code: code, Name: code.String(), Message: line, Request: key.String(), Server: server}
}

func newBucketError(code wire.Code, message string, key wire.Key, server string, id BucketID) *Error {
	e := newError(code, message, key, server)
	e.Bucket = &id
	return e
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fluss: %s answered by %s", e.Request, e.Server)
	if e.Bucket != nil {
		fmt.Fprintf(&b, " for %s", e.Bucket)
	}
	fmt.Fprintf(&b, " with %s (%d)", e.Name, int32(e.Code))
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	return b.String()
}

// Is makes errors.Is find the sentinel of the error's code.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrAuthentication:
		return e.Code == wire.CodeAuthenticate || e.Code == wire.CodeRetriableAuthenticate
	case ErrSequence:
		return e.Code.Class() == wire.SequenceRepair
	}
	code, ok := sentinels[target]
	return ok && e.Code == code
}

// transportError is a request that got no answer: it names the request and the
// server and says whether the server can have received it.
type transportError struct {
	key    wire.Key
	server string
	sent   bool
	kind   error // ErrNoAnswer, ErrConnection, ErrServerFailure, ErrGarbage, ErrNotServed, ErrClosed
	cause  error // may be nil
}

func (e *transportError) Error() string {
	s := fmt.Sprintf("fluss: %s to %s: %v", e.key, e.server, e.kind)
	if e.key == 0 {
		s = fmt.Sprintf("fluss: connection to %s: %v", e.server, e.kind)
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

func (e *transportError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// connectError is a failure on the way to sending a request: no connection, no
// leader known. The request itself has not been sent.
type connectError struct{ err error }

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// action is what to do about an error.
type action uint8

const (
	giveUp action = iota
	tryAgain
	refreshAndTryAgain
)

// actionFor classifies an error of one attempt. Whether a try again is allowed
// for the request at hand is the caller's matter: see maybeDone.
func actionFor(err error) action {
	var b *bootstrapError
	if errors.As(err, &b) {
		return giveUp
	}
	var t *transportError
	if errors.As(err, &t) {
		if errors.Is(t.kind, ErrNoAnswer) || errors.Is(t.kind, ErrConnection) {
			return refreshAndTryAgain
		}
		return giveUp
	}
	if errors.Is(err, ErrNoLeader) {
		return refreshAndTryAgain
	}
	var e *Error
	if !errors.As(err, &e) {
		return giveUp
	}
	switch e.Code.Class() {
	case wire.Retry:
		return tryAgain
	case wire.RefreshAndRetry:
		return refreshAndTryAgain
	}
	if e.Code == wire.CodeRetriableAuthenticate {
		return tryAgain
	}
	return giveUp
}

// maybeDone reports whether the server may have carried out the request that
// ended with err, although err is no answer to that question.
func maybeDone(err error) bool {
	var c *connectError
	if errors.As(err, &c) {
		return false
	}
	var t *transportError
	if errors.As(err, &t) {
		return t.sent
	}
	var e *Error
	return errors.As(err, &e) && !e.Code.Refused()
}
