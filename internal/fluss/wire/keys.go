package wire

import "strconv"

// Key is the number of an API: the first field of every request.
type Key int16

// The API keys this client sends or looks for.
const (
	APIVersions              Key = 1000
	CreateDatabase           Key = 1001
	DropDatabase             Key = 1002
	ListDatabases            Key = 1003
	DatabaseExists           Key = 1004
	CreateTable              Key = 1005
	DropTable                Key = 1006
	GetTableInfo             Key = 1007
	ListTables               Key = 1008
	ListPartitionInfos       Key = 1009
	TableExists              Key = 1010
	GetMetadata              Key = 1012
	PutKV                    Key = 1016
	Lookup                   Key = 1017
	ListOffsets              Key = 1021
	InitWriter               Key = 1026
	CommitLakeTableSnapshot  Key = 1030
	GetLakeSnapshot          Key = 1032
	LimitScan                Key = 1033
	PrefixLookup             Key = 1034
	CreatePartition          Key = 1036
	DropPartition            Key = 1037
	Authenticate             Key = 1038
	AlterTable               Key = 1044
	DescribeClusterConfigs   Key = 1045
	PrepareLakeTableSnapshot Key = 1052
	ReleaseKvSnapshotLease   Key = 1057
	GetTableStats            Key = 1059
	ScanKV                   Key = 1061
	GetClusterHealth         Key = 1062
)

// Range is a range of versions of one API, both ends included.
type Range struct{ Min, Max int16 }

// Release is one of the three states of the protocol that are known.
type Release uint8

const (
	// Release091 is 0.9.1-incubating.
	Release091 Release = iota
	// ReleaseMain is the development state between 0.9.1 and 1.0.0.
	ReleaseMain
	// Release100 is 1.0.0.
	Release100
)

// api is what is known of one API key: its name, its highest version per
// release (-1: not there) and the highest version this client speaks. The
// lowest version is 0 everywhere.
type api struct {
	name   string
	max    [3]int16
	client int16
}

// notSpoken marks the APIs this client never sends.
const notSpoken = -1

// apis holds every API key of the three releases, as their client classes list
// them. The client's own highest version stays below the server's where the
// newer one only announces an ability this client has not: PUT_KV 3 (sending
// original partition names) and ALTER_TABLE 1 (rescaling).
var apis = map[Key]api{
	1000: {"API_VERSIONS", [3]int16{0, 0, 0}, 0},
	1001: {"CREATE_DATABASE", [3]int16{0, 0, 0}, 0},
	1002: {"DROP_DATABASE", [3]int16{0, 0, 0}, 0},
	1003: {"LIST_DATABASES", [3]int16{0, 0, 0}, 0},
	1004: {"DATABASE_EXISTS", [3]int16{0, 0, 0}, 0},
	1005: {"CREATE_TABLE", [3]int16{0, 0, 0}, 0},
	1006: {"DROP_TABLE", [3]int16{0, 0, 0}, 0},
	1007: {"GET_TABLE_INFO", [3]int16{0, 0, 0}, 0},
	1008: {"LIST_TABLES", [3]int16{0, 0, 0}, 0},
	1009: {"LIST_PARTITION_INFOS", [3]int16{0, 0, 0}, 0},
	1010: {"TABLE_EXISTS", [3]int16{0, 0, 0}, 0},
	1011: {"GET_TABLE_SCHEMA", [3]int16{0, 0, 0}, notSpoken},
	1012: {"GET_METADATA", [3]int16{0, 0, 0}, 0},
	1013: {"UPDATE_METADATA", [3]int16{0, 0, 0}, notSpoken},
	1014: {"PRODUCE_LOG", [3]int16{0, 0, 1}, notSpoken},
	1015: {"FETCH_LOG", [3]int16{0, 0, 0}, notSpoken},
	1016: {"PUT_KV", [3]int16{1, 2, 3}, 2},
	1017: {"LOOKUP", [3]int16{1, 1, 1}, 1},
	1018: {"NOTIFY_LEADER_AND_ISR", [3]int16{0, 0, 0}, notSpoken},
	1019: {"STOP_REPLICA", [3]int16{0, 0, 0}, notSpoken},
	1020: {"ADJUST_ISR", [3]int16{0, 0, 0}, notSpoken},
	1021: {"LIST_OFFSETS", [3]int16{0, 0, 0}, 0},
	1022: {"COMMIT_KV_SNAPSHOT", [3]int16{0, 0, 0}, notSpoken},
	1023: {"GET_LATEST_KV_SNAPSHOTS", [3]int16{0, 0, 0}, notSpoken},
	1024: {"GET_KV_SNAPSHOT_METADATA", [3]int16{0, 0, 1}, notSpoken},
	1025: {"GET_FILESYSTEM_SECURITY_TOKEN", [3]int16{0, 0, 0}, notSpoken},
	1026: {"INIT_WRITER", [3]int16{0, 0, 0}, 0},
	1027: {"COMMIT_REMOTE_LOG_MANIFEST", [3]int16{0, 0, 0}, notSpoken},
	1028: {"NOTIFY_REMOTE_LOG_OFFSETS", [3]int16{0, 0, 0}, notSpoken},
	1029: {"NOTIFY_KV_SNAPSHOT_OFFSET", [3]int16{0, 0, 0}, notSpoken},
	1030: {"COMMIT_LAKE_TABLE_SNAPSHOT", [3]int16{0, 0, 0}, 0},
	1031: {"NOTIFY_LAKE_TABLE_OFFSET", [3]int16{0, 0, 0}, notSpoken},
	1032: {"GET_LAKE_SNAPSHOT", [3]int16{0, 0, 0}, 0},
	1033: {"LIMIT_SCAN", [3]int16{0, 0, 0}, 0},
	1034: {"PREFIX_LOOKUP", [3]int16{1, 1, 1}, 1},
	1035: {"GET_DATABASE_INFO", [3]int16{0, 0, 0}, notSpoken},
	1036: {"CREATE_PARTITION", [3]int16{0, 0, 0}, 0},
	1037: {"DROP_PARTITION", [3]int16{0, 0, 0}, 0},
	1038: {"AUTHENTICATE", [3]int16{0, 0, 0}, 0},
	1039: {"CREATE_ACLS", [3]int16{0, 0, 0}, notSpoken},
	1040: {"LIST_ACLS", [3]int16{0, 0, 0}, notSpoken},
	1041: {"DROP_ACLS", [3]int16{0, 0, 0}, notSpoken},
	1042: {"LAKE_TIERING_HEARTBEAT", [3]int16{0, 0, 0}, notSpoken},
	1043: {"CONTROLLED_SHUTDOWN", [3]int16{0, 0, 0}, notSpoken},
	1044: {"ALTER_TABLE", [3]int16{0, 0, 1}, 0},
	1045: {"DESCRIBE_CLUSTER_CONFIGS", [3]int16{0, 0, 0}, 0},
	1046: {"ALTER_CLUSTER_CONFIGS", [3]int16{0, 0, 0}, notSpoken},
	1047: {"ADD_SERVER_TAG", [3]int16{0, 0, 0}, notSpoken},
	1048: {"REMOVE_SERVER_TAG", [3]int16{0, 0, 0}, notSpoken},
	1049: {"REBALANCE", [3]int16{0, 0, 0}, notSpoken},
	1050: {"LIST_REBALANCE_PROGRESS", [3]int16{0, 0, 0}, notSpoken},
	1051: {"CANCEL_REBALANCE", [3]int16{0, 0, 0}, notSpoken},
	1052: {"PREPARE_LAKE_TABLE_SNAPSHOT", [3]int16{0, 0, 0}, 0},
	1053: {"REGISTER_PRODUCER_OFFSETS", [3]int16{0, 0, 0}, notSpoken},
	1054: {"GET_PRODUCER_OFFSETS", [3]int16{0, 0, 0}, notSpoken},
	1055: {"DELETE_PRODUCER_OFFSETS", [3]int16{0, 0, 0}, notSpoken},
	1056: {"ACQUIRE_KV_SNAPSHOT_LEASE", [3]int16{0, 0, 0}, notSpoken},
	1057: {"RELEASE_KV_SNAPSHOT_LEASE", [3]int16{0, 0, 0}, 0},
	1058: {"DROP_KV_SNAPSHOT_LEASE", [3]int16{0, 0, 0}, notSpoken},
	1059: {"GET_TABLE_STATS", [3]int16{0, 0, 0}, 0},
	1060: {"ALTER_DATABASE", [3]int16{-1, 0, 0}, notSpoken},
	1061: {"SCAN_KV", [3]int16{-1, 0, 0}, notSpoken},
	1062: {"GET_CLUSTER_HEALTH", [3]int16{-1, 0, 0}, notSpoken},
	1063: {"LIST_REMOTE_LOG_MANIFESTS", [3]int16{-1, 0, 0}, notSpoken},
	1064: {"LIST_KV_SNAPSHOTS", [3]int16{-1, 0, 0}, notSpoken},
	1065: {"ADD_SERVER_TAG_BY_RACK", [3]int16{-1, -1, 0}, notSpoken},
	1066: {"REMOVE_SERVER_TAG_BY_RACK", [3]int16{-1, -1, 0}, notSpoken},
}

// String gives the API's name, such as "PUT_KV".
func (k Key) String() string {
	if a, ok := apis[k]; ok {
		return a.name
	}
	return "API_" + strconv.Itoa(int(k))
}

// Versions gives the versions of k that servers of release r serve; ok is false
// when they don't know it.
func (k Key) Versions(r Release) (v Range, ok bool) {
	a, ok := apis[k]
	if !ok || int(r) >= len(a.max) || a.max[r] < 0 {
		return Range{}, false
	}
	return Range{Max: a.max[r]}, true
}

// Negotiate gives the version to send k with to a server that serves the range
// s: the highest both know. ok is false when there is none.
func (k Key) Negotiate(s Range) (version int16, ok bool) {
	a, known := apis[k]
	if !known || a.client == notSpoken {
		return 0, false
	}
	v := min(a.client, s.Max)
	return v, v >= s.Min && v >= 0
}
