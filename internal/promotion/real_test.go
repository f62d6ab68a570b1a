package promotion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/google/uuid"
)

// The owner ends before the source is prepared, or before it could journal that:
// the operation goes on.
func TestRealStoppedBeforePrepared(t *testing.T) {
	e := real(t)
	gone := func(r *run) { r.op.owner.PIDStart++ }
	for name, stop := range map[string]func(t *testing.T, ctx context.Context, r *run){
		"no table yet": func(t *testing.T, ctx context.Context, r *run) {},
		"table not journaled": func(t *testing.T, ctx context.Context, r *run) {
			if err := r.createTable(ctx); err != nil {
				t.Fatal(err)
			}
		},
		"created": func(t *testing.T, ctx context.Context, r *run) {
			if err := r.create(ctx); err != nil {
				t.Fatal(err)
			}
		},
		"schema not journaled": func(t *testing.T, ctx context.Context, r *run) {
			if err := r.create(ctx); err != nil {
				t.Fatal(err)
			}
			next, err := PreparedSchema(r.src.schema, r.jdg, r.c.generation, r.info)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.commitSchema(ctx, next); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, sample := range []string{"flink_lookup", "compacted", "py_pk"} {
			t.Run(name+"/"+sample, func(t *testing.T) {
				s := e.sample(t, sample, strings.ReplaceAll(name, " ", "_")+"_"+sample)
				ctx := deadline(t)
				r := e.newRun(t, s)
				if err := r.look(ctx); err != nil {
					t.Fatal(err)
				}
				r.op = nil
				if err := r.startNew(ctx); err != nil {
					t.Fatal(err)
				}
				gone(r)
				if err := r.journaled(ctx, EventHeartbeat, Detail{}); err != nil { // by the owner that is gone
					t.Fatal(err)
				}
				stop(t, ctx, r)
				rep, err := e.svc.Preview(ctx, s)
				if err != nil || !rep.Compatible {
					t.Fatalf("preview: %v, %v", err, rep.Errors())
				}
				res := e.run(t, s)
				if name != "no table yet" && (res.OperationID != r.op.id || res.TableID != r.info.TableID) {
					t.Errorf("operation %s, table %d; it was operation %s, table %d", res.OperationID, res.TableID, r.op.id, r.info.TableID)
				}
			})
		}
	}
}

func TestRealSamples(t *testing.T) {
	e := real(t)
	for _, sample := range []string{"pk_levels", "compacted", "py_pk", "append_bucket_key", "append_unaware_evolved", "append_row_tracking",
		"py_append", "schema_only", "thin_mode", "flink_lookup", "branch", "stale_latest", "expired_snapshots", "schema_evolution", "dv_pk", "pk_part_date"} {
		t.Run(sample, func(t *testing.T) {
			s := e.sample(t, sample, sample)
			rep, err := e.svc.Preview(deadline(t), s)
			if err != nil || !rep.Compatible {
				t.Fatalf("preview: %v, %v", err, rep)
			}
			res := e.run(t, s)
			var want struct {
				RowCount    int64    `json:"row_count"`
				PrimaryKeys []string `json:"primary_keys"`
				Snapshot    *int64   `json:"snapshot"`
			}
			data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "paimon", sample, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if len(want.PrimaryKeys) == 0 {
				want.RowCount = 0 // their rows stay in the lake
			}
			if res.RowsLoaded != want.RowCount || deref(res.RegisteredSnapshotID) != deref(want.Snapshot) {
				t.Errorf("%d rows loaded, snapshot %v registered; want %d and %v", res.RowsLoaded, res.RegisteredSnapshotID, want.RowCount, want.Snapshot)
			}
			ref := Ref{Name: s.Name, ClusterID: res.ClusterID, OperationID: res.OperationID, TableID: res.TableID}
			obs, err := e.svc.Observe(deadline(t), ref)
			if err != nil || obs.Gone || obs.Result.Stage != StageEnabled || len(obs.Warnings) > 0 {
				t.Fatalf("observed: %+v, %v", obs, err)
			}
			if err := e.svc.Remove(deadline(t), ref, RemoveOptions{DeletionProtection: true}); err == nil {
				t.Fatal("a protected promotion was removed")
			}
			if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err != nil {
				t.Fatal(err)
			}
			if obs, err := e.svc.Observe(deadline(t), ref); err != nil || !obs.Gone {
				t.Errorf("after removal: %+v, %v", obs, err)
			}
			if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err != nil {
				t.Errorf("removing what is gone: %v", err)
			}
		})
	}
}

func TestRealComplete(t *testing.T) {
	e := real(t)
	s := e.sample(t, "compacted", "t")
	res := e.run(t, s)
	e.refused(t, s, "promoted already", "terraform import")
	s.OperationID = res.OperationID
	if again := e.run(t, s); again.TableID != res.TableID || again.RowsLoaded != res.RowsLoaded {
		t.Errorf("%+v, it was %+v", again, res)
	}
	ref := Ref{Name: s.Name, ClusterID: uuid.NewString(), OperationID: res.OperationID, TableID: res.TableID}
	if obs, err := e.svc.Observe(deadline(t), ref); err == nil {
		t.Errorf("another cluster ID: %+v", obs)
	}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err == nil {
		t.Error("another cluster's promotion was removed")
	}
	// Switched off by somebody: drift, and the next run switches it on again.
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := setDatalake(deadline(t), c.client, flussPath(s.Name), false); err != nil {
		t.Fatal(err)
	}
	ref.ClusterID = res.ClusterID
	if obs, err := e.svc.Observe(deadline(t), ref); err != nil || obs.Result.Stage != StageDisabled {
		t.Errorf("switched off: %+v, %v", obs, err)
	}
	e.run(t, s)
}

// The owner's end is proven: the operation goes on with its table.
func TestRealResumeAfterProvenEnd(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, func(o *Owner) { o.PIDStart++ }) // a process of this host that is gone
	res := e.run(t, s)
	if res.OperationID != old.op.id || res.TableID != old.info.TableID || res.RowsLoaded != 59 {
		t.Errorf("operation %s, table %d, %d rows; it was operation %s, table %d", res.OperationID, res.TableID, res.RowsLoaded, old.op.id, old.info.TableID)
	}
}

// A silent owner on another host: the operation goes on in a table with another
// ID, and what the old owner still sends is stored nowhere.
func TestRealFence(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, elsewhere)
	w, err := old.c.client.NewWriter(deadline(t), old.info, fluss.WriterConfig{Acks: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ref := Ref{Name: s.Name, OperationID: old.op.id, TableID: old.info.TableID}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err == nil || !strings.Contains(err.Error(), "not provably over") {
		t.Fatalf("removal of an unproven load: %v", err)
	}
	res := e.run(t, s)
	if res.OperationID != old.op.id || res.TableID == old.info.TableID {
		t.Errorf("operation %s, table %d; it was operation %s, table %d", res.OperationID, res.TableID, old.op.id, old.info.TableID)
	}
	var late row.Batch
	late.Reset(1)
	late.AddRaw([]byte{1}, []byte{0, 1})
	limit, done := context.WithTimeout(deadline(t), 5*time.Second)
	defer done()
	answer := make(chan fluss.Ack, 1)
	if err := w.Bucket(fluss.BucketID{PartitionID: -1, Bucket: 0}).Send(limit, &late, func(a fluss.Ack) { answer <- a }); err == nil {
		select {
		case a := <-answer:
			if a.Err == nil {
				t.Errorf("a late batch was stored under the old table ID, offset %d", a.LogEndOffset)
			}
		case <-limit.Done(): // never answered is as good
		}
	}
	if err := old.op.append(deadline(t), EventHeartbeat, Detail{}); !errors.Is(err, errSuperseded) {
		t.Errorf("the old owner may still journal: %v", err)
	}
	if err := old.op.check(context.Background()); !errors.Is(err, errSuperseded) {
		t.Errorf("the old owner may still send: %v", err)
	}
}

func TestRealTakeoverResume(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, elsewhere)
	s.Takeover = "resume"
	if res := e.run(t, s); res.TableID != old.info.TableID || res.OperationID != old.op.id {
		t.Errorf("table %d of operation %s; it was %d of %s", res.TableID, res.OperationID, old.info.TableID, old.op.id)
	}
}

func TestRealOwnerAlive(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, elsewhere)
	old.op.start(nil)
	e.refused(t, s, "Another process is promoting this table", "another-host", old.op.id)
	if err := old.op.check(context.Background()); err != nil {
		t.Errorf("the owner lost its operation: %v", err)
	}
	old.op.end()
	if info, err := old.c.client.GetTable(deadline(t), old.path); err != nil || info.TableID != old.info.TableID {
		t.Errorf("the table was changed: %+v, %v", info, err)
	}
}

func TestRealOtherSelection(t *testing.T) {
	e := real(t)
	s := e.sample(t, "py_pk", "t")
	s.Partitions = []map[string]string{{"p": "a"}}
	old := e.begun(t, s, func(o *Owner) { o.PIDStart++ })
	other := s
	other.Partitions = []map[string]string{{"p": "b"}}
	e.refused(t, other, "p=a", "p=b", old.op.id)
	res := e.run(t, s)
	if len(res.InitializedPartitions) != 1 || res.InitializedPartitions[0]["p"] != "a" || res.RowsLoaded != 2 {
		t.Errorf("%v initialized, %d rows", res.InitializedPartitions, res.RowsLoaded)
	}
}

func TestRealFailedIsLoadedAgain(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, nil)
	if err := old.journaled(deadline(t), EventFailed, Detail{Drained: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	rep, err := e.svc.Preview(deadline(t), s)
	if err != nil || rep.Existing == nil || rep.Existing.Stage != StageFailed || !rep.Compatible {
		t.Fatalf("preview: %+v, %v", rep, err)
	}
	if res := e.run(t, s); res.OperationID == old.op.id || res.TableID == old.info.TableID {
		t.Errorf("the failed operation went on: %+v", res)
	}
}

// A key twice in one file ends the load with an error naming it; nothing is
// registered, and the operation is failed.
func TestRealKeyTwice(t *testing.T) {
	e := real(t)
	s := e.sample(t, "py_duplicate_keys", "t")
	res := e.refused(t, s, "a key twice", "id=")
	if res.Stage != StageFailed || res.RegisteredSnapshotID != nil {
		t.Errorf("stage %s, registered %v", res.Stage, res.RegisteredSnapshotID)
	}
	ref := Ref{Name: s.Name, ClusterID: res.ClusterID, OperationID: res.OperationID, TableID: res.TableID}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err != nil {
		t.Errorf("removing the failed operation: %v", err)
	}
}

func TestRealCancelRequested(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, nil)
	o := hold(deadline(t), old.j, old.op.id, s.Name, old.op.seq, beat)
	if err := o.append(deadline(t), EventCancelRequested, Detail{Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	if err := old.journaled(deadline(t), EventHeartbeat, Detail{}); err != nil {
		t.Fatal(err)
	}
	if err := old.op.check(context.Background()); !errors.Is(err, errCancelRequested) {
		t.Errorf("the owner goes on: %v", err)
	}
	if err := old.stopped(deadline(t), errCancelRequested); !strings.Contains(err.Error(), "cancelled on request") {
		t.Errorf("%v", err)
	}
	if res := e.run(t, s); res.OperationID == old.op.id {
		t.Error("the cancelled operation went on")
	}
}

func TestRealForeignTable(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := ensureDatabase(deadline(t), c.client, e.db); err != nil {
		t.Fatal(err)
	}
	src, err := e.svc.openSource(deadline(t), c, s.Name)
	if err != nil {
		t.Fatal(err)
	}
	jdg, err := Judge(deadline(t), judgeInput(c, s, src, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.client.CreateTable(deadline(t), flussPath(s.Name), *jdg.Descriptor, false); err != nil {
		t.Fatal(err)
	}
	if res := e.refused(t, s, "was not made by a promotion"); res.Touched {
		t.Error("something was touched")
	}
}

// The source moves on between the load and the next apply.
func TestRealSourceMovedOn(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, func(o *Owner) { o.PIDStart++ })
	dir := filepath.Join(e.st.Warehouse, e.db+".db", "t", "snapshot")
	data, err := os.ReadFile(filepath.Join(dir, "snapshot-8"))
	if err != nil {
		t.Fatal(err)
	}
	// A commit of another writer: the same content under the next ID.
	next := strings.Replace(strings.Replace(string(data), `"id" : 8`, `"id" : 9`, 1), `"commitUser" : "samples"`, `"commitUser" : "somebody"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "snapshot-9"), []byte(next), 0o644); err != nil {
		t.Fatal(err)
	}
	e.refused(t, s, "moved on", "snapshot 9", "snapshot 8", "somebody")
	s.OnSourceChange = "restart"
	res := e.run(t, s)
	if res.OperationID == old.op.id || deref(res.SourceSnapshotID) != 9 {
		t.Errorf("operation %s (was %s), snapshot %d", res.OperationID, old.op.id, deref(res.SourceSnapshotID))
	}
}

// Of several first users one makes the journal, and all work with it: Fluss
// 0.9.1 answers the others without a defined error.
func TestRealJournalFirstUse(t *testing.T) {
	e := real(t)
	const users = 8
	for range 3 {
		name := TableName{"journal_" + uuid.NewString()[:8], "journal"}
		ids, errs := make([]string, users), make([]error, users)
		var wg sync.WaitGroup
		for i := range users {
			wg.Go(func() {
				svc, err := New(Config{Bootstrap: []string{e.st.Bootstrap}})
				if err != nil {
					errs[i] = err
					return
				}
				defer svc.Close()
				c, err := svc.connect(deadline(t))
				if err != nil {
					errs[i] = err
					return
				}
				j, err := openJournal(deadline(t), c.client, name, true)
				if errs[i] = err; err == nil {
					ids[i] = j.clusterID
				}
			})
		}
		wg.Wait()
		for i := range users {
			if errs[i] != nil || ids[i] == "" || ids[i] != ids[0] {
				t.Errorf("user %d: cluster ID %q, the first has %q: %v", i, ids[i], ids[0], errs[i])
			}
		}
	}
}

// A journal that is dropped takes rows for a while yet: nobody may take that for
// a journal.
func TestRealJournalDropped(t *testing.T) {
	e := real(t)
	ctx := deadline(t)
	c, err := e.svc.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	name := TableName{"journal_" + uuid.NewString()[:8], "journal"}
	j, err := openJournal(ctx, c.client, name, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.there(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.client.DropTable(ctx, flussPath(name), false); err != nil {
		t.Fatal(err)
	}
	if err := j.there(ctx); !isProblem(err) || !strings.Contains(err.Error(), "no table "+name.String()) {
		t.Errorf("dropped: %v", err)
	}
	if _, err := openJournal(ctx, c.client, name, true); err != nil {
		t.Fatal(err)
	}
	if err := j.there(ctx); !isProblem(err) || !strings.Contains(err.Error(), "another table") {
		t.Errorf("dropped and made anew: %v", err)
	}
}

// Of two writers of one place in the journal exactly one wins, and both learn
// who.
func TestRealJournalIsCompareAndSet(t *testing.T) {
	e := real(t)
	ctx := deadline(t)
	_, j := e.connections(t)
	id, err := newOperationID()
	if err != nil {
		t.Fatal(err)
	}
	const writers, places = 4, 10
	type outcome struct {
		seq    int64
		holder string
		ours   bool
		err    error
	}
	results := make(chan outcome, writers*places)
	for w := range writers {
		go func() {
			own := Owner{Token: fmt.Sprint(w)}
			for seq := int64(1); seq <= places; seq++ {
				h, ours, err := j.append(ctx, Event{OperationID: id, Seq: seq, EntryID: uuid.NewString(), Kind: EventHeartbeat, Owner: own, At: time.Now()})
				results <- outcome{seq, h.Owner.Token, ours, err}
			}
		}()
	}
	holders, wins := map[int64]string{}, map[int64]int{}
	for range writers * places {
		o := <-results
		if o.err != nil {
			t.Fatal(o.err)
		}
		if h, ok := holders[o.seq]; ok && h != o.holder {
			t.Errorf("place %d is held by %s and by %s", o.seq, h, o.holder)
		}
		holders[o.seq] = o.holder
		if o.ours {
			wins[o.seq]++
		}
	}
	for seq := int64(1); seq <= places; seq++ {
		if wins[seq] != 1 {
			t.Errorf("place %d was won %d times", seq, wins[seq])
		}
	}
	events, err := j.read(ctx, id)
	if err != nil || len(events) != places {
		t.Fatalf("%d events, %v", len(events), err)
	}
}
