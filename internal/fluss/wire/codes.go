package wire

import "strconv"

// Code is an error code of the servers.
type Code int32

// The error codes this client acts on.
const (
	CodeUnknownServerError           Code = -1
	CodeNone                         Code = 0
	CodeNetwork                      Code = 1
	CodeUnsupportedVersion           Code = 2
	CodeCorruptMessage               Code = 3
	CodeDatabaseNotExist             Code = 4
	CodeDatabaseNotEmpty             Code = 5
	CodeDatabaseAlreadyExist         Code = 6
	CodeTableNotExist                Code = 7
	CodeTableAlreadyExist            Code = 8
	CodeSchemaNotExist               Code = 9
	CodeLogStorage                   Code = 10
	CodeKVStorage                    Code = 11
	CodeNotLeaderOrFollower          Code = 12
	CodeRecordTooLarge               Code = 13
	CodeCorruptRecord                Code = 14
	CodeNonPrimaryKeyTable           Code = 20
	CodeUnknownTableOrBucket         Code = 21
	CodeRequestTimeOut               Code = 25
	CodeStorage                      Code = 26
	CodeNotEnoughReplicasAfterAppend Code = 28
	CodeNotEnoughReplicas            Code = 29
	CodeOutOfOrderSequence           Code = 31
	CodeDuplicateSequence            Code = 32
	CodeUnknownWriterID              Code = 33
	CodePartitionNotExists           Code = 36
	CodeTableNotPartitioned          Code = 37
	CodeInvalidConfig                Code = 39
	CodeLakeStorageNotConfigured     Code = 40
	CodePartitionAlreadyExists       Code = 42
	CodePartitionSpecInvalid         Code = 43
	CodeLeaderNotAvailable           Code = 44
	CodePartitionMaxNum              Code = 45
	CodeAuthenticate                 Code = 46
	CodeSecurityDisabled             Code = 47
	CodeAuthorization                Code = 48
	CodeBucketMaxNum                 Code = 49
	CodeRetriableAuthenticate        Code = 51
	CodeLakeSnapshotNotExist         Code = 53
	CodeLakeTableAlreadyExist        Code = 54
	CodeInvalidAlterTable            Code = 56
	CodeNotCoordinatorLeader         Code = 65
	CodeDiskWriteLocked              Code = 70
	CodeStorageBackpressure          Code = 72
	CodeHistoricalPartitionThrottled Code = 73
	CodeInvalidBucketRouting         Code = 74
)

// Class says what to do about an error code.
type Class uint8

const (
	// Fatal errors are the answer: trying again gives the same.
	Fatal Class = iota
	// Success codes are not errors for the caller.
	Success
	// Retry errors pass by themselves: try again after a pause.
	Retry
	// RefreshAndRetry errors say that the server asked is no longer the right
	// one: read the metadata again first.
	RefreshAndRetry
	// SequenceRepair errors concern the numbering of an idempotent writer's
	// batches.
	SequenceRepair
	// Rebuild errors mean that the rows went to a bucket by an outdated bucket
	// count and must be assigned to buckets again.
	Rebuild
)

type codeInfo struct {
	name  string
	class Class
}

// codes holds every code of 1.0.0, a superset of the older ones.
var codes = map[Code]codeInfo{
	-1: {"UNKNOWN_SERVER_ERROR", Fatal},
	0:  {"NONE", Success},
	1:  {"NETWORK_EXCEPTION", RefreshAndRetry},
	2:  {"UNSUPPORTED_VERSION", Fatal},
	3:  {"CORRUPT_MESSAGE", Retry},
	4:  {"DATABASE_NOT_EXIST", Fatal},
	5:  {"DATABASE_NOT_EMPTY", Fatal},
	6:  {"DATABASE_ALREADY_EXIST", Fatal},
	7:  {"TABLE_NOT_EXIST", Fatal},
	8:  {"TABLE_ALREADY_EXIST", Fatal},
	9:  {"SCHEMA_NOT_EXIST", Retry},
	10: {"LOG_STORAGE_EXCEPTION", Retry},
	11: {"KV_STORAGE_EXCEPTION", Retry},
	12: {"NOT_LEADER_OR_FOLLOWER", RefreshAndRetry},
	13: {"RECORD_TOO_LARGE_EXCEPTION", Fatal},
	14: {"CORRUPT_RECORD_EXCEPTION", Retry},
	15: {"INVALID_TABLE_EXCEPTION", Fatal},
	16: {"INVALID_DATABASE_EXCEPTION", Fatal},
	17: {"INVALID_REPLICATION_FACTOR", Fatal},
	18: {"INVALID_REQUIRED_ACKS", Fatal},
	19: {"LOG_OFFSET_OUT_OF_RANGE_EXCEPTION", Fatal},
	20: {"NON_PRIMARY_KEY_TABLE_EXCEPTION", Fatal},
	21: {"UNKNOWN_TABLE_OR_BUCKET_EXCEPTION", RefreshAndRetry},
	22: {"INVALID_UPDATE_VERSION_EXCEPTION", Fatal},
	23: {"INVALID_COORDINATOR_EXCEPTION", Fatal},
	24: {"FENCED_LEADER_EPOCH_EXCEPTION", Fatal},
	25: {"REQUEST_TIME_OUT", Retry},
	26: {"STORAGE_EXCEPTION", Retry},
	27: {"OPERATION_NOT_ATTEMPTED_EXCEPTION", Fatal},
	28: {"NOT_ENOUGH_REPLICAS_AFTER_APPEND_EXCEPTION", Retry},
	29: {"NOT_ENOUGH_REPLICAS_EXCEPTION", Retry},
	30: {"SECURITY_TOKEN_EXCEPTION", Fatal},
	31: {"OUT_OF_ORDER_SEQUENCE_EXCEPTION", SequenceRepair},
	32: {"DUPLICATE_SEQUENCE_EXCEPTION", Success},
	33: {"UNKNOWN_WRITER_ID_EXCEPTION", SequenceRepair},
	34: {"INVALID_COLUMN_PROJECTION", Fatal},
	35: {"INVALID_TARGET_COLUMN", Fatal},
	36: {"PARTITION_NOT_EXISTS", Fatal},
	37: {"TABLE_NOT_PARTITIONED_EXCEPTION", Fatal},
	38: {"INVALID_TIMESTAMP_EXCEPTION", Fatal},
	39: {"INVALID_CONFIG_EXCEPTION", Fatal},
	40: {"LAKE_STORAGE_NOT_CONFIGURED_EXCEPTION", Fatal},
	41: {"KV_SNAPSHOT_NOT_EXIST", Fatal},
	42: {"PARTITION_ALREADY_EXISTS", Fatal},
	43: {"PARTITION_SPEC_INVALID_EXCEPTION", Fatal},
	44: {"LEADER_NOT_AVAILABLE_EXCEPTION", RefreshAndRetry},
	45: {"PARTITION_MAX_NUM_EXCEPTION", Fatal},
	46: {"AUTHENTICATE_EXCEPTION", Fatal},
	47: {"SECURITY_DISABLED_EXCEPTION", Fatal},
	48: {"AUTHORIZATION_EXCEPTION", Fatal},
	49: {"BUCKET_MAX_NUM_EXCEPTION", Fatal},
	50: {"FENCED_TIERING_EPOCH_EXCEPTION", Fatal},
	51: {"RETRIABLE_AUTHENTICATE_EXCEPTION", Fatal},
	52: {"INVALID_SERVER_RACK_INFO_EXCEPTION", Fatal},
	53: {"LAKE_SNAPSHOT_NOT_EXIST", Fatal},
	54: {"LAKE_TABLE_ALREADY_EXIST", Fatal},
	55: {"INELIGIBLE_REPLICA_EXCEPTION", Fatal},
	56: {"INVALID_ALTER_TABLE_EXCEPTION", Fatal},
	57: {"DELETION_DISABLED_EXCEPTION", Fatal},
	58: {"SERVER_NOT_EXIST_EXCEPTION", Fatal},
	59: {"SEVER_TAG_ALREADY_EXIST_EXCEPTION", Fatal},
	60: {"SEVER_TAG_NOT_EXIST_EXCEPTION", Fatal},
	61: {"REBALANCE_FAILURE_EXCEPTION", Fatal},
	62: {"NO_REBALANCE_IN_PROGRESS_EXCEPTION", Fatal},
	63: {"INVALID_PRODUCER_ID_EXCEPTION", Fatal},
	64: {"CONFIG_EXCEPTION", Fatal},
	65: {"NOT_COORDINATOR_LEADER_EXCEPTION", RefreshAndRetry},
	66: {"SCANNER_EXPIRED", Fatal},
	67: {"UNKNOWN_SCANNER_ID", Fatal},
	68: {"INVALID_SCAN_REQUEST", Fatal},
	69: {"TOO_MANY_SCANNERS", Fatal},
	70: {"DISK_WRITE_LOCKED", Retry},
	71: {"INSUFFICIENT_KV_LEADER_REPLICA_CAPACITY", Fatal},
	72: {"STORAGE_BACKPRESSURE_EXCEPTION", Retry},
	73: {"HISTORICAL_PARTITION_THROTTLED", Retry},
	74: {"INVALID_BUCKET_ROUTING", Rebuild},
}

// String gives the code's name, such as "NOT_LEADER_OR_FOLLOWER".
func (c Code) String() string {
	if i, ok := codes[c]; ok {
		return i.name
	}
	return "ERROR_" + strconv.Itoa(int(c))
}

// Class says what to do about c; unknown codes are fatal.
func (c Code) Class() Class { return codes[c].class }

// Refused reports whether an answer with code c proves that the server has
// applied nothing of the request. The other retriable codes leave it open: a
// batch can be in the leader's log and not be replicated in time, say.
func (c Code) Refused() bool {
	switch c {
	case CodeCorruptMessage, CodeSchemaNotExist, CodeNotLeaderOrFollower, CodeCorruptRecord,
		CodeUnknownTableOrBucket, CodeNotEnoughReplicas, CodeLeaderNotAvailable,
		CodeNotCoordinatorLeader, CodeStorageBackpressure, CodeHistoricalPartitionThrottled,
		CodeInvalidBucketRouting:
		return true
	case CodeNetwork, CodeLogStorage, CodeKVStorage, CodeRequestTimeOut, CodeStorage,
		CodeNotEnoughReplicasAfterAppend, CodeDiskWriteLocked:
		return false
	}
	return c.Class() == Fatal || c.Class() == SequenceRepair
}
