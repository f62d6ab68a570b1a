package promotion

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
	"github.com/google/uuid"
)

// clusterIDProperty is the custom property of the journal table that holds the
// cluster ID.
const clusterIDProperty = "promotion.cluster-id"

// journalColumns is the journal's layout. New columns may only be added at the
// end and nullable.
var journalColumns = []struct {
	name string
	typ  string
}{
	{"operation_id", "STRING NOT NULL"},
	{"seq", "BIGINT NOT NULL"},
	{"entry_id", "STRING"},
	{"event", "STRING"},
	{"database_name", "STRING"},
	{"table_name", "STRING"},
	{"owner_token", "STRING"},
	{"host", "STRING"},
	{"host_boot", "STRING"},
	{"pid", "BIGINT"},
	{"pid_start", "BIGINT"},
	{"event_time", "TIMESTAMP_LTZ(3)"},
	{"detail", "STRING"},
}

// journal is the Fluss table that holds every operation's events. Appending is
// compare-and-set: the key is (operation_id, seq) and the first writer of a
// key wins.
type journal struct {
	client    *fluss.Client
	path      fluss.TablePath
	info      *fluss.TableInfo
	clusterID string

	encoding  sync.Mutex // of the encoders, which keep scratch
	rowEnc    *row.Encoder
	keyEnc    *row.KeyEncoder // primary key bytes
	bucketEnc *row.KeyEncoder
	types     []row.DataType
}

func journalTypes() ([]row.DataType, error) {
	types := make([]row.DataType, len(journalColumns))
	for i, c := range journalColumns {
		t, err := row.ParseType(c.typ)
		if err != nil {
			return nil, err
		}
		types[i] = t
	}
	return types, nil
}

// openJournal opens the journal. Where it does not exist it is created, or,
// without create, nil is returned.
func openJournal(ctx context.Context, client *fluss.Client, name TableName, create bool) (*journal, error) {
	path := fluss.TablePath{Database: name.Database, Table: name.Table}
	info, err := wholeTable(ctx, client, path)
	if isNotExist(err) {
		if !create {
			return nil, nil
		}
		info, err = createJournal(ctx, client, path)
	}
	if err != nil {
		return nil, fmt.Errorf("promotion: journal %s: %w", name, err)
	}
	return newJournal(client, path, info)
}

func isNotExist(err error) bool {
	return errors.Is(err, fluss.ErrTableNotExist) || errors.Is(err, fluss.ErrDatabaseNotExist)
}

func createJournal(ctx context.Context, client *fluss.Client, path fluss.TablePath) (*fluss.TableInfo, error) {
	if err := ensureDatabase(ctx, client, path.Database); err != nil {
		return nil, err
	}
	types, err := journalTypes()
	if err != nil {
		return nil, err
	}
	desc := fluss.TableDescriptor{
		PrimaryKey:  []string{"operation_id", "seq"},
		BucketKey:   []string{"operation_id"},
		BucketCount: 1,
		Comment:     ptr("Journal of lake promotions (terraform-provider-fluss). Do not write to it or drop it: running and unfinished promotions are recovered from here."),
		Properties:  map[string]string{"table.merge-engine": "first_row"},
		CustomProperties: map[string]string{
			clusterIDProperty: uuid.NewString(),
		},
	}
	for i, c := range journalColumns {
		desc.Columns = append(desc.Columns, fluss.Column{Name: c.name, Type: types[i]})
	}
	for try := 1; ; try++ {
		// Without "ignore if exists", so that of two first users one creates the
		// table, with one cluster ID, and the other reads it.
		err = client.CreateTable(ctx, path, desc, false)
		mine := err == nil
		if err != nil && !perhapsCreated(err) {
			return nil, err
		}
		info, getErr := tolerateLag(ctx, func() (*fluss.TableInfo, error) { return wholeTable(ctx, client, path) })
		if getErr != nil {
			return nil, errors.Join(err, getErr)
		}
		err = client.AwaitNotice(ctx, info, noticeWait)
		if !errors.Is(err, fluss.ErrNotNoticed) || !mine || try == createTries {
			return info, err
		}
		// Nobody can have written into it: make it once more.
		if err := client.DropTable(ctx, path, true); err != nil {
			return nil, err
		}
	}
}

// perhapsCreated says whether there may be a table although CREATE_TABLE failed:
// made by somebody else, or by a request whose answer was lost. Of two that are
// sent at the same moment Fluss 0.9.1 lets one fail without a defined error.
func perhapsCreated(err error) bool {
	return errors.Is(err, fluss.ErrTableAlreadyExist) || errors.Is(err, fluss.ErrUnknownOutcome) || errors.Is(err, fluss.ErrServerAnsweredUndefined)
}

// halfMadeWait is how long a table may be half made, or half dropped.
const halfMadeWait = 5 * time.Second

// wholeTable looks a table up. While it is being made or dropped Fluss 0.9.1
// fails without a defined error: that is waited for, for a bounded time.
func wholeTable(ctx context.Context, client *fluss.Client, path fluss.TablePath) (*fluss.TableInfo, error) {
	deadline := time.Now().Add(halfMadeWait)
	for {
		info, err := client.GetTable(ctx, path)
		if !errors.Is(err, fluss.ErrServerAnsweredUndefined) || time.Now().After(deadline) {
			return info, err
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// tolerateLag asks again for a table that was just created, for a bounded time.
func tolerateLag(ctx context.Context, get func() (*fluss.TableInfo, error)) (*fluss.TableInfo, error) {
	deadline := time.Now().Add(10 * time.Second)
	for {
		info, err := get()
		if err == nil || !isNotExist(err) || time.Now().After(deadline) {
			return info, err
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func newJournal(client *fluss.Client, path fluss.TablePath, info *fluss.TableInfo) (*journal, error) {
	if err := checkJournalTable(info); err != nil {
		return nil, err
	}
	types, err := journalTypes()
	if err != nil {
		return nil, err
	}
	primary, bucket := row.KeyFormatOf(info.LakeFormat(), info.KvFormatVersion(), false)
	j := &journal{client: client, path: path, info: info, types: types,
		clusterID: info.Descriptor.CustomProperties[clusterIDProperty]}
	if j.rowEnc, err = row.NewEncoder(types); err != nil {
		return nil, err
	}
	if j.keyEnc, err = row.NewKeyEncoder(primary, types[:2]); err != nil {
		return nil, err
	}
	if j.bucketEnc, err = row.NewKeyEncoder(bucket, types[:1]); err != nil {
		return nil, err
	}
	return j, nil
}

// checkJournalTable refuses a table of the journal's name that is something else.
func checkJournalTable(info *fluss.TableInfo) error {
	wrong := func(found, required string) error {
		return Problem{Severity: SeverityError, Summary: "The journal table is not a journal",
			Found: fmt.Sprintf("table %s: %s", info.Path, found), Required: required,
			Fix: "set the provider's journal block to another database or table name; nothing was changed in that table"}
	}
	d := info.Descriptor
	if len(d.Columns) < len(journalColumns) {
		return wrong(fmt.Sprintf("%d columns", len(d.Columns)), fmt.Sprintf("at least the journal's %d columns", len(journalColumns)))
	}
	for i, c := range journalColumns {
		if got := d.Columns[i]; got.Name != c.name || got.Type.String() != c.typ {
			return wrong(fmt.Sprintf("column %d is %s %s", i, got.Name, got.Type), c.name+" "+c.typ)
		}
	}
	if got := strings.ToLower(d.Properties["table.merge-engine"]); got != "first_row" {
		return wrong(fmt.Sprintf("table.merge-engine is %q", got), "first_row")
	}
	if d.CustomProperties[clusterIDProperty] == "" {
		return wrong("no custom property "+clusterIDProperty, "the cluster ID, set when the journal was created")
	}
	return nil
}

// newOperationID returns a UUIDv7, so that operation IDs sort by time.
func newOperationID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("promotion: no random operation ID: %w", err)
	}
	return id.String(), nil
}

// append writes e under its seq. It returns the event that now holds the seq
// and whether that is e. An answer that was lost is looked up, so an error
// means that the outcome could not be found out before ctx ended.
func (j *journal) append(ctx context.Context, e Event) (holder Event, ours bool, err error) {
	values := []any{e.OperationID, e.Seq, e.EntryID, string(e.Kind), e.Database, e.Table, e.Owner.Token, e.Owner.Host,
		e.Owner.HostBoot, e.Owner.PID, e.Owner.PIDStart, row.TimestampValue{Millis: e.At.UnixMilli()}, e.Detail.encode()}
	key, encoded, err := j.encode(values)
	if err != nil {
		return Event{}, false, fmt.Errorf("promotion: journal %s: %w", j.path, err)
	}
	bucket, err := j.bucketOf(e.OperationID)
	if err != nil {
		return Event{}, false, err
	}
	var batch row.Batch
	batch.Reset(int16(j.info.SchemaID))
	batch.AddRaw(key, encoded)
	for attempt := 0; ; attempt++ {
		// Sending again is harmless: the first writer of a key wins.
		_, putErr := j.client.PutKV(ctx, j.info, bucket, batch.Finish(-1, -1), -1)
		got, lookErr := j.client.Lookup(ctx, j.info, bucket, [][]byte{key})
		switch {
		case lookErr == nil && len(got) == 1 && got[0] != nil:
			holder, err = j.decode(got[0])
			return holder, err == nil && holder.EntryID == e.EntryID, err
		case putErr != nil && !retryable(putErr):
			return Event{}, false, fmt.Errorf("promotion: journal %s: %w", j.path, putErr)
		case lookErr != nil && !retryable(lookErr):
			return Event{}, false, fmt.Errorf("promotion: journal %s: %w", j.path, lookErr)
		}
		if err := wait.For(ctx, time.Duration(min(attempt+1, 10))*100*time.Millisecond); err != nil {
			return Event{}, false, fmt.Errorf("promotion: journal %s: append of %q: %w", j.path, e.Kind, errors.Join(err, putErr, lookErr))
		}
	}
}

// there makes sure that the journal was not dropped: its servers go on taking
// rows for a while, and nothing of that is kept.
func (j *journal) there(ctx context.Context) error {
	info, err := wholeTable(ctx, j.client, j.path)
	found := "no table " + j.path.String()
	switch {
	case err == nil && info.TableID == j.info.TableID:
		return nil
	case err == nil:
		found = fmt.Sprintf("another table %s, with ID %d", j.path, info.TableID)
	case !isNotExist(err):
		return fmt.Errorf("promotion: journal %s: %w", j.path, err)
	}
	return Problem{Severity: SeverityError, Summary: "The journal was dropped while the table was promoted",
		Found: found, Required: fmt.Sprintf("the journal with table ID %d", j.info.TableID),
		Why: "what was done is not recorded any more, and nothing keeps two processes from working on one table",
		Fix: "find out who dropped the journal; make sure that no promotion of this table is running anywhere, drop the Fluss table by hand and apply again"}
}

// encode makes the key and the row of one event.
func (j *journal) encode(values []any) (key, encoded []byte, err error) {
	j.encoding.Lock()
	defer j.encoding.Unlock()
	if encoded, err = j.rowEnc.AppendValues(nil, values); err != nil {
		return nil, nil, err
	}
	key, err = j.keyEnc.AppendValues(nil, values[:2])
	return key, encoded, err
}

// bucketKeyOf encodes an operation ID as the bucket key.
func (j *journal) bucketKeyOf(operationID string) ([]byte, error) {
	j.encoding.Lock()
	defer j.encoding.Unlock()
	key, err := j.bucketEnc.AppendValues(nil, []any{operationID})
	if err != nil {
		return nil, fmt.Errorf("promotion: journal %s: %w", j.path, err)
	}
	return key, nil
}

// retryable says whether a journal call may go through when it is made again.
// What a server refuses for a while the client has retried already.
func retryable(err error) bool {
	return errors.Is(err, fluss.ErrUnknownOutcome) || errors.Is(err, fluss.ErrNoAnswer) ||
		errors.Is(err, fluss.ErrConnection) || errors.Is(err, fluss.ErrServerFailure)
}

func (j *journal) bucketOf(operationID string) (fluss.BucketID, error) {
	key, err := j.bucketKeyOf(operationID)
	if err != nil {
		return fluss.BucketID{}, err
	}
	n := j.info.Descriptor.BucketCount
	return fluss.BucketID{PartitionID: -1, Bucket: int32(row.Bucket(j.info.LakeFormat(), key, n))}, nil
}

// read returns the events of one operation in seq order; none is no error.
func (j *journal) read(ctx context.Context, operationID string) ([]Event, error) {
	prefix, err := j.bucketKeyOf(operationID)
	if err != nil {
		return nil, err
	}
	// A prefix of the primary key in the primary key's own encoding.
	prefix, err = j.prefixBytes(operationID, prefix)
	if err != nil {
		return nil, err
	}
	bucket, err := j.bucketOf(operationID)
	if err != nil {
		return nil, err
	}
	lists, err := j.client.PrefixLookup(ctx, j.info, bucket, [][]byte{prefix})
	if err != nil {
		return nil, fmt.Errorf("promotion: journal %s: operation %s: %w", j.path, operationID, err)
	}
	var events []Event
	for _, list := range lists {
		for _, data := range list {
			e, err := j.decode(data)
			if err != nil {
				return nil, err
			}
			if e.OperationID == operationID {
				events = append(events, e)
			}
		}
	}
	sort.Slice(events, func(a, b int) bool { return events[a].Seq < events[b].Seq })
	return events, nil
}

// prefixBytes is the operation ID as the primary key's first column is encoded.
func (j *journal) prefixBytes(operationID string, bucketKey []byte) ([]byte, error) {
	primary, bucket := row.KeyFormatOf(j.info.LakeFormat(), j.info.KvFormatVersion(), false)
	if primary == bucket {
		return bucketKey, nil
	}
	enc, err := row.NewKeyEncoder(primary, j.types[:1])
	if err != nil {
		return nil, fmt.Errorf("promotion: journal %s: %w", j.path, err)
	}
	return enc.AppendValues(nil, []any{operationID})
}

func (j *journal) decode(data []byte) (Event, error) {
	v, err := row.Decode(j.types, data)
	if err != nil {
		return Event{}, fmt.Errorf("promotion: journal %s: unreadable row: %w", j.path, err)
	}
	text := func(i int) string { s, _ := v[i].(string); return s }
	number := func(i int) int64 { n, _ := v[i].(int64); return n }
	e := Event{
		OperationID: text(0), Seq: number(1), EntryID: text(2), Kind: EventKind(text(3)), Database: text(4), Table: text(5),
		Owner: Owner{Token: text(6), Host: text(7), HostBoot: text(8), PID: number(9), PIDStart: number(10)},
	}
	if ts, ok := v[11].(row.TimestampValue); ok {
		e.At = time.UnixMilli(ts.Millis).UTC()
	}
	if e.Detail, err = decodeDetail(text(12)); err != nil {
		return Event{}, err
	}
	return e, nil
}
