package promotion

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
)

// EventKind is what a journal event says. The names are part of the journal's
// format: readers of the table rely on them.
type EventKind string

const (
	EventStarted         EventKind = "started"
	EventCreated         EventKind = "created"
	EventPrepared        EventKind = "prepared"
	EventLoading         EventKind = "loading"
	EventBucketsLoaded   EventKind = "buckets-loaded"
	EventJobSubmitted    EventKind = "job-submitted"
	EventJobEnded        EventKind = "job-ended"
	EventHeartbeat       EventKind = "heartbeat"
	EventCancelRequested EventKind = "cancel-requested"
	EventTakenOver       EventKind = "taken-over"
	EventInterrupted     EventKind = "interrupted"
	EventFailed          EventKind = "failed"
	EventCancelled       EventKind = "cancelled"
	EventLoaded          EventKind = "loaded"
	EventRegistered      EventKind = "registered"
	EventVerified        EventKind = "verified"
	EventEnabled         EventKind = "enabled"
	EventDropping        EventKind = "dropping"
	EventDropped         EventKind = "dropped"
)

// Event is one row of the journal.
type Event struct {
	OperationID string
	Seq         int64
	EntryID     string // random; tells whether an append of unknown outcome was ours
	Kind        EventKind
	Database    string
	Table       string
	Owner       Owner
	At          time.Time // the writer's clock; never compared with another's
	Detail      Detail
}

// Detail is the event's content, stored as one JSON object. Which fields are
// set depends on the kind.
type Detail struct {
	// started
	Fingerprint *Fingerprint        `json:"fingerprint,omitempty"`
	Selection   []map[string]string `json:"selection,omitzero"` // nil: all partitions; empty: none
	Engine      string              `json:"engine,omitempty"`
	Generation  string              `json:"generation,omitempty"`
	SchemaID    *int64              `json:"schema_id,omitempty"` // base schema
	Planned     []SourceChange      `json:"planned,omitempty"`
	Unvalidated []string            `json:"unvalidated,omitempty"`
	// what the user asked for, so that an import can tell
	PrepareSource   bool              `json:"prepare_source,omitempty"`
	TableProperties map[string]string `json:"table_properties,omitempty"`
	LakeLayout      string            `json:"lake_layout,omitempty"`

	// created: the table, and the partitions that will be initialized by their
	// Paimon value texts and by their Fluss names, in the same order
	TableID         *int64              `json:"table_id,omitempty"`
	Partitions      []map[string]string `json:"partitions,omitempty"`
	FlussPartitions []string            `json:"fluss_partitions,omitempty"`

	// prepared
	PreparedSchemaID *int64 `json:"prepared_schema_id,omitempty"` // the schema the promotion goes on with

	// buckets-loaded
	Buckets []LoadedBucket `json:"buckets,omitempty"`

	// heartbeat, buckets-loaded, interrupted
	Stage Stage `json:"stage,omitempty"`
	Rows  int64 `json:"rows,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// TotalRows is the upper bound of the rows to load, on heartbeats.
	TotalRows int64 `json:"total_rows,omitempty"`

	// loading, job-submitted, job-ended: the job of another system that loads the
	// table. A loading event names it before it is submitted.
	JobID string `json:"job_id,omitempty"`
	// job-ended
	JobState  string `json:"job_state,omitempty"` // as Flink names it, or NOT-SUBMITTED
	Restarted bool   `json:"restarted,omitempty"` // some rows may have been written twice

	// interrupted
	Drained bool `json:"drained,omitempty"`

	// failed, cancelled, interrupted, cancel-requested, taken-over, job-ended
	Reason string `json:"reason,omitempty"`
	// taken-over
	Fenced bool `json:"fenced,omitempty"`

	// registered
	SnapshotID *int64 `json:"snapshot_id,omitempty"` // nil: the source has none

	// verified
	Verification Verification `json:"verification,omitempty"`
	Compared     int64        `json:"compared,omitempty"`
	CountSource  string       `json:"count_source,omitempty"`
}

// LoadedBucket is one bucket whose rows are all acknowledged.
type LoadedBucket struct {
	Partition string `json:"p,omitempty"` // Fluss partition name, "" when unpartitioned
	Bucket    int32  `json:"b"`
	Rows      int64  `json:"rows"`
	Bytes     int64  `json:"bytes,omitempty"` // of the batches sent
	EndOffset int64  `json:"end"`
}

// bucketKey names a bucket in journals, errors and state: "3", or
// "2024-01-01/3" in a partition.
func bucketKey(partition string, bucket int32) string {
	if partition == "" {
		return fmt.Sprint(bucket)
	}
	return fmt.Sprintf("%s/%d", partition, bucket)
}

func (d Detail) encode() string {
	b, err := json.Marshal(d)
	if err != nil { // plain data: cannot happen
		return "{}"
	}
	return string(b)
}

func decodeDetail(s string) (Detail, error) {
	var d Detail
	if s == "" {
		return d, nil
	}
	if err := json.Unmarshal([]byte(s), &d); err != nil {
		return d, fmt.Errorf("promotion: journal: unreadable event detail: %w", err)
	}
	return d, nil
}

// history is what the events of one operation add up to.
type history struct {
	id     string
	events int
	last   Event // the newest event of any kind
	owner  Owner // the owner as of the newest event written by one

	started    *Event
	tableID    int64 // 0: no created event
	hasTable   bool
	created    *Event
	prepared   *Event
	loading    bool
	buckets    map[string]LoadedBucket
	loaded     *Event
	registered *Event
	verified   *Event
	enabled    *Event
	rows       int64
	bytes      int64

	jobID        string      // of the job that loads, or loaded, the table; "" when the loading process does
	jobSubmitted bool        // Flink is known to have accepted it
	jobEnded     flink.State // "" while its end is not journaled
	jobRestarted bool

	ended      EventKind // interrupted, failed, cancelled, dropping or dropped when that is the owner's last word
	endReason  string
	drained    bool
	cancelAsk  bool
	lastSeq    int64
	fencing    bool // a fence's drop has begun, and the table that follows is not there
	lastBeatAt time.Time
}

// fold adds events, which must be in seq order, to a history.
func fold(id string, events []Event) *history {
	h := &history{id: id, buckets: map[string]LoadedBucket{}}
	for i := range events {
		h.add(events[i])
	}
	return h
}

func (h *history) add(e Event) {
	h.events++
	h.last = e
	h.lastSeq = e.Seq
	if e.Kind == EventCancelRequested {
		h.cancelAsk = true // asked by somebody else: not a sign of the owner
		return
	}
	h.owner = e.Owner
	h.lastBeatAt = e.At
	if e.Detail.Rows > 0 {
		h.rows, h.bytes = e.Detail.Rows, e.Detail.Bytes
	}
	if e.Kind != EventHeartbeat {
		h.ended, h.endReason, h.drained = "", "", false
	}
	switch e.Kind {
	case EventStarted:
		h.started = &e
	case EventCreated:
		h.created, h.tableID, h.hasTable, h.fencing = &e, deref(e.Detail.TableID), true, false
		h.dropLoaded()
	case EventPrepared:
		h.prepared = &e
	case EventLoading:
		h.loading = true
		h.jobID, h.jobSubmitted, h.jobEnded, h.jobRestarted = e.Detail.JobID, false, "", false
	case EventJobSubmitted:
		h.loading, h.jobID, h.jobSubmitted = true, e.Detail.JobID, true
	case EventJobEnded:
		h.jobEnded, h.jobRestarted = flink.State(e.Detail.JobState), e.Detail.Restarted
	case EventBucketsLoaded:
		h.loading = true
		for _, b := range e.Detail.Buckets {
			h.buckets[bucketKey(b.Partition, b.Bucket)] = b
		}
	case EventLoaded:
		h.loaded = &e
	case EventRegistered:
		h.registered = &e
	case EventVerified:
		h.verified = &e
	case EventEnabled:
		if h.enabled == nil { // again after a removal that was given up
			h.enabled = &e
		}
	case EventTakenOver:
		h.cancelAsk = false
		if e.Detail.Fenced {
			h.fencing = true
			h.created, h.tableID, h.hasTable = nil, 0, false
			h.dropLoaded()
		}
	case EventInterrupted, EventFailed, EventCancelled, EventDropping, EventDropped:
		h.ended, h.endReason, h.drained = e.Kind, e.Detail.Reason, e.Detail.Drained
	}
}

// dropLoaded forgets everything that was in an earlier Fluss table.
func (h *history) dropLoaded() {
	h.prepared, h.loading, h.loaded, h.registered, h.verified = nil, false, nil, nil, nil
	h.rows, h.bytes = 0, 0
	h.jobID, h.jobSubmitted, h.jobEnded, h.jobRestarted = "", false, "", false
	h.buckets = map[string]LoadedBucket{}
}

// stage is how far the operation has come.
func (h *history) stage() Stage {
	switch {
	case h.enabled != nil:
		return StageEnabled
	case h.ended == EventFailed || h.ended == EventCancelled:
		return StageFailed
	case h.verified != nil:
		return StageVerified
	case h.registered != nil:
		return StageRegistered
	case h.loaded != nil:
		return StageLoaded
	case h.loading:
		return StageLoading
	case h.prepared != nil:
		return StagePrepared
	case h.hasTable:
		return StageCreated
	default:
		return StageValidated
	}
}

// over says whether the operation is never gone on with, only started anew.
func (h *history) over() bool {
	switch h.ended {
	case EventFailed, EventCancelled, EventDropping, EventDropped:
		return true
	}
	return false
}

// dropPending says whether a drop by the table's name was begun whose end is
// not in the journal.
func (h *history) dropPending() bool { return h.ended == EventDropping || h.fencing }

// loadTouched says whether rows may have been sent into the table.
func (h *history) loadTouched() bool {
	return h.loading || h.loaded != nil || len(h.buckets) > 0
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

func ptr[T any](v T) *T { return &v }
