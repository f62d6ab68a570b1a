package promotion

import (
	"reflect"
	"testing"
)

// story makes events of an operation, numbered from 1, by the owner "a" unless
// an event says otherwise.
func story(events ...Event) []Event {
	for i := range events {
		events[i].OperationID, events[i].Seq = "op", int64(i+1)
		if events[i].Owner.Token == "" {
			events[i].Owner.Token = "a"
		}
	}
	return events
}

func created(id int64) Event { return Event{Kind: EventCreated, Detail: Detail{TableID: &id}} }

func event(k EventKind) Event { return Event{Kind: k} }

func loaded(rows, end int64) Event {
	return Event{Kind: EventBucketsLoaded, Detail: Detail{Buckets: []LoadedBucket{{Bucket: 1, Rows: rows, EndOffset: end}}}}
}

func TestFold(t *testing.T) {
	drained := Event{Kind: EventInterrupted, Detail: Detail{Drained: true, Reason: "stopped"}}
	fenced := Event{Kind: EventTakenOver, Owner: Owner{Token: "b"}, Detail: Detail{Fenced: true}}
	takenOver := Event{Kind: EventTakenOver, Owner: Owner{Token: "b"}}
	cancel := Event{Kind: EventCancelRequested, Owner: Owner{Token: "other"}}
	for name, c := range map[string]struct {
		events  []Event
		stage   Stage
		table   int64
		buckets int
		ended   bool // provably, by the journal alone
		owner   string
	}{
		"started":                   {story(event(EventStarted)), StageValidated, 0, 0, false, "a"},
		"created":                   {story(event(EventStarted), created(7)), StageCreated, 7, 0, false, "a"},
		"table ID 0":                {story(event(EventStarted), created(0)), StageCreated, 0, 0, false, "a"},
		"prepared":                  {story(event(EventStarted), created(7), event(EventPrepared)), StagePrepared, 7, 0, false, "a"},
		"loading":                   {story(event(EventStarted), created(7), event(EventPrepared), event(EventLoading)), StageLoading, 7, 0, false, "a"},
		"loading, one bucket":       {story(event(EventStarted), created(7), loaded(5, 5)), StageLoading, 7, 1, false, "a"},
		"registered":                {story(event(EventStarted), created(7), event(EventLoaded), event(EventRegistered)), StageRegistered, 7, 0, false, "a"},
		"verified":                  {story(event(EventStarted), created(7), event(EventLoaded), event(EventRegistered), event(EventVerified)), StageVerified, 7, 0, false, "a"},
		"enabled":                   {story(event(EventStarted), created(7), event(EventLoaded), event(EventEnabled)), StageEnabled, 7, 0, false, "a"},
		"interrupted, drained":      {story(event(EventStarted), created(7), loaded(5, 5), drained), StageLoading, 7, 1, true, "a"},
		"interrupted, not drained":  {story(event(EventStarted), created(7), event(EventInterrupted)), StageCreated, 7, 0, false, "a"},
		"a heartbeat does not undo": {story(event(EventStarted), created(7), drained, event(EventHeartbeat)), StageCreated, 7, 0, true, "a"},
		"going on does":             {story(event(EventStarted), created(7), drained, takenOver), StageCreated, 7, 0, false, "b"},
		"the buckets stay":          {story(event(EventStarted), created(7), loaded(5, 5), drained, takenOver), StageLoading, 7, 1, false, "b"},
		"the fence forgets":         {story(event(EventStarted), created(7), event(EventPrepared), loaded(5, 5), fenced), StageValidated, 0, 0, false, "b"},
		"the table anew":            {story(event(EventStarted), created(7), loaded(5, 5), fenced, created(8)), StageCreated, 8, 0, false, "a"},
		"failed":                    {story(event(EventStarted), created(7), loaded(5, 5), Event{Kind: EventFailed, Detail: Detail{Drained: true}}), StageFailed, 7, 1, true, "a"},
		"cancel is nobody's sign":   {story(event(EventStarted), created(7), drained, cancel), StageCreated, 7, 0, true, "a"},
		"cancelled":                 {story(event(EventStarted), created(7), cancel, Event{Kind: EventCancelled, Detail: Detail{Drained: true}}), StageFailed, 7, 0, true, "a"},
		"dropping is no end":        {story(event(EventStarted), created(7), drained, event(EventDropping)), StageCreated, 7, 0, false, "a"},
		"dropped is":                {story(event(EventStarted), created(7), event(EventDropping), Event{Kind: EventDropped, Detail: Detail{Drained: true}}), StageCreated, 7, 0, true, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			h := fold("op", c.events)
			if got := h.stage(); got != c.stage {
				t.Errorf("stage %q, want %q", got, c.stage)
			}
			if h.tableID != c.table || len(h.buckets) != c.buckets {
				t.Errorf("table %d with %d buckets, want %d with %d", h.tableID, len(h.buckets), c.table, c.buckets)
			}
			if got := ownerProvenEnded(h); got != c.ended {
				t.Errorf("proven ended: %t, want %t", got, c.ended)
			}
			if h.owner.Token != c.owner || h.lastSeq != int64(len(c.events)) {
				t.Errorf("owner %q, seq %d", h.owner.Token, h.lastSeq)
			}
		})
	}
	beat := Event{Kind: EventHeartbeat, Detail: Detail{Rows: 5, Bytes: 50}}
	if h := fold("op", story(event(EventStarted), created(7), beat, fenced)); h.rows != 0 || h.bytes != 0 {
		t.Errorf("behind the fence %d rows and %d bytes still count as loaded", h.rows, h.bytes)
	}
	if ownerProvenEnded(fold("op", nil)) {
		t.Error("an operation without a journal counts as ended")
	}
}

func TestDetailRoundTrip(t *testing.T) {
	d := Detail{Fingerprint: &Fingerprint{SnapshotID: 3, TimeMillis: 5, CommitUser: "u", BaseManifest: "b", DeltaManifest: "d", FirstSchemaMilli: 9},
		Selection: []map[string]string{{"dt": "a b"}}, SchemaID: ptr(int64(0)), TableID: ptr(int64(0)), SnapshotID: ptr(int64(1)),
		Planned: []SourceChange{{What: "option bucket-key", To: "id"}},
		Buckets: []LoadedBucket{{Partition: "x$y", Bucket: 2, Rows: 10, EndOffset: 12}, {Bucket: 0}}, Drained: true, Reason: "ünïcode"}
	got, err := decodeDetail(d.encode())
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("%+v, %v; want %+v", got, err, d)
	}
	if _, err := decodeDetail("{"); err == nil {
		t.Error("a cut detail decodes")
	}
	if none, err := decodeDetail(Detail{Selection: []map[string]string{}}.encode()); err != nil || none.Selection == nil {
		t.Errorf("an empty selection comes back as all partitions: %+v, %v", none, err)
	}
	// An empty selection (no partition) is not the same as none (all of them).
	if all, err := decodeDetail(Detail{}.encode()); err != nil || all.Selection != nil {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestSourceHash(t *testing.T) {
	f := Fingerprint{SnapshotID: 3, FirstSchemaMilli: 9}
	a := []map[string]string{{"dt": "1"}, {"dt": "2"}}
	b := []map[string]string{{"dt": "2"}, {"dt": "1"}}
	if sourceHash(f, a) != sourceHash(f, b) {
		t.Error("the order of a selection changes the hash")
	}
	seen := map[string]bool{sourceHash(f, a): true}
	other := f
	other.FirstSchemaMilli++
	for _, h := range []string{sourceHash(f, nil), sourceHash(f, a[:1]), sourceHash(other, a)} {
		if seen[h] {
			t.Error("two sources have one hash")
		}
		seen[h] = true
	}
}

func TestSampleRows(t *testing.T) {
	for _, rows := range []int64{0, 1, 99, 100, 101, 1_000_000} {
		got := sampleRows("op", "p/1", rows)
		if want := min(rows, sampleKeys); int64(len(got)) != want {
			t.Errorf("%d of %d rows chosen, want %d", len(got), rows, want)
		}
		for i, n := range got {
			if n < 0 || n >= rows || i > 0 && n <= got[i-1] {
				t.Fatalf("of %d rows: %v", rows, got)
			}
		}
		if again := sampleRows("op", "p/1", rows); !reflect.DeepEqual(got, again) {
			t.Errorf("of %d rows: another choice the second time", rows)
		}
	}
	if reflect.DeepEqual(sampleRows("op", "1", 1e6), sampleRows("op", "2", 1e6)) {
		t.Error("two buckets have one choice")
	}
}

func TestExpectedOffsets(t *testing.T) {
	fresh := &pipeline{sent: 300}
	if low, high := fresh.expected(200); low != 200 || high != 300 {
		t.Errorf("fresh bucket: %d to %d", low, high)
	}
	again := &pipeline{sent: 300, start: 50}
	if low, high := again.expected(200); low != 51 || high != 650 {
		t.Errorf("bucket with rows: %d to %d", low, high)
	}
}

func TestNormalURI(t *testing.T) {
	for _, same := range [][]string{
		{"/data/lake", "/data/lake/", "file:/data/lake", "file:///data/lake/", "/data//lake", "file:///data/./lake"},
		{"s3://bucket/lake", "s3://bucket/lake/", "S3://bucket//lake"},
	} {
		for _, s := range same {
			if normalURI(s) != normalURI(same[0]) {
				t.Errorf("%q is %q, %q is %q", s, normalURI(s), same[0], normalURI(same[0]))
			}
		}
	}
	if normalURI("s3://a/lake") == normalURI("s3://b/lake") || normalURI("/lake") == normalURI("s3://b/lake") {
		t.Error("two warehouses are one")
	}
}

func TestNewConfig(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		attr string
	}{
		"no servers":     {Config{}, "bootstrap_servers"},
		"rest metastore": {Config{Bootstrap: []string{"h:1"}, Lake: &Lake{Metastore: "rest"}}, "metastore"},
		"half a journal": {Config{Bootstrap: []string{"h:1"}, Journal: TableName{Database: "d"}}, "journal"},
	} {
		_, err := New(c.cfg)
		ps, ok := err.(Problems)
		if !ok || len(ps) != 1 || ps[0].Attribute[len(ps[0].Attribute)-1] != c.attr || ps[0].Fix == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s, err := New(Config{Bootstrap: []string{"h:1"}}); err != nil || s.cfg.Journal.String() != "promotion.journal" || s.cfg.Heartbeat != defaultHeartbeat {
		t.Errorf("defaults: %v", err)
	}
}
