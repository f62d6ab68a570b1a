package promotion

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/safego"
)

// Two applies at once: one does the work, the other says who does and changes
// nothing.
func TestRealTwoAtOnce(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	other, err := New(Config{Bootstrap: []string{e.st.Bootstrap}, Heartbeat: beat})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	// The first stands at its load until the second has been refused.
	e.svc.slots <- struct{}{}
	first := make(chan error, 1)
	safego.Start(func() error { _, _, err := e.svc.Run(deadline(t), s, nil); return err }, func(err error) { first <- err })
	e.reaches(t, s, StagePrepared)
	res, _, err := other.Run(deadline(t), s, nil)
	if err == nil || !strings.Contains(err.Error(), "Another process is promoting this table") ||
		!strings.Contains(err.Error(), "last heartbeat") || !strings.Contains(err.Error(), "since ") || res.Touched {
		t.Errorf("the second: touched %t, %v", res.Touched, err)
	}
	<-e.svc.slots
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
}

// Two applies that both find nothing: the server lets one create the table.
func TestRealCreateRace(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	begin := func() *run {
		r := e.newRun(t, s)
		e.do(t, r.look, r.startNew)
		return r
	}
	a, b := begin(), begin()
	e.do(t, a.create)
	err := b.create(deadline(t))
	if err == nil || !strings.Contains(err.Error(), "Another process has created the Fluss table first") || !strings.Contains(err.Error(), a.op.id) {
		t.Fatalf("the second: %v", err)
	}
	_ = b.stopped(deadline(t), err)
	e.do(t, a.prepare, a.load, a.register, a.verify, a.enable)
	if obs, err := e.svc.Observe(deadline(t), Ref{Name: s.Name}); err != nil || obs.Result.OperationID != a.op.id || obs.Result.Stage != StageEnabled {
		t.Errorf("%+v, %v", obs, err)
	}
}

// reaches waits until the operation of the table is at a stage.
func (e *realEnv) reaches(t *testing.T, s Spec, stage Stage) {
	t.Helper()
	for until := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		obs, err := e.svc.Observe(deadline(t), Ref{Name: s.Name})
		if err == nil && !obs.Gone && obs.Result.Stage == stage {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("not %s: %+v, %v", stage, obs, err)
		}
	}
}

// A drop goes by the table's name, so one whose end is not known is not passed.
func TestRealDropUnderWay(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, elsewhere)
	if err := old.op.append(deadline(t), EventDropping, Detail{Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	if res := e.refused(t, s, "not provably over", "dropping the table", `takeover = "resume"`); res.Touched {
		t.Error("something was touched")
	}
	ref := Ref{Name: s.Name, OperationID: old.op.id}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err == nil || !strings.Contains(err.Error(), "not provably over") {
		t.Errorf("removal while another process drops: %v", err)
	}
	s.Takeover = "resume"
	if res := e.run(t, s); res.OperationID == old.op.id || res.TableID == old.info.TableID {
		t.Errorf("the operation that was being dropped went on: %+v", res)
	}
}

// The owner's host is lost and the source has moved on, or the operation has
// failed with answers missing: starting over drops the table, which late batches
// do not survive.
func TestRealSilentIsStartedOver(t *testing.T) {
	for _, why := range []string{"moved on", "failed"} {
		t.Run(why, func(t *testing.T) {
			e := real(t)
			s := e.sample(t, "pk_levels", "t")
			old := e.begun(t, s, elsewhere)
			w, err := old.c.client.NewWriter(deadline(t), old.info, fluss.WriterConfig{Acks: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if why == "failed" {
				if err := old.op.append(deadline(t), EventFailed, Detail{Reason: "a test"}); err != nil {
					t.Fatal(err)
				}
			} else {
				e.commit(t, s, "somebody")
				e.refused(t, s, "moved on")
				s.OnSourceChange = "restart"
			}
			res := e.run(t, s)
			if res.OperationID == old.op.id || res.TableID == old.info.TableID {
				t.Errorf("the old operation went on: %+v", res)
			}
			e.lateBatchRefused(t, w)
			for _, kind := range []EventKind{EventHeartbeat, EventBucketsLoaded} {
				if err := old.op.append(deadline(t), kind, Detail{}); err == nil {
					t.Errorf("the old owner journaled %q", kind)
				}
			}
		})
	}
}

func (e *realEnv) lateBatchRefused(t *testing.T, w *fluss.Writer) {
	t.Helper()
	var late row.Batch
	late.Reset(1)
	late.AddRaw([]byte{1}, []byte{0, 1})
	limit, done := context.WithTimeout(deadline(t), 5*time.Second)
	defer done()
	answer := make(chan fluss.Ack, 1)
	if err := w.Bucket(fluss.BucketID{PartitionID: -1, Bucket: 0}).Send(limit, &late, func(a fluss.Ack) { answer <- a }); err != nil {
		return
	}
	select {
	case a := <-answer:
		if a.Err == nil {
			t.Errorf("a late batch was stored, offset %d", a.LogEndOffset)
		}
	case <-limit.Done(): // never answered is as good
	}
}

// The Paimon table is gone: an unfinished promotion of it can still be removed;
// of a complete one Fluss may hold the last copy.
func TestRealRemoveWithoutSource(t *testing.T) {
	e := real(t)
	s := e.sample(t, "pk_levels", "unfinished")
	old := e.begun(t, s, gone)
	done := e.sample(t, "pk_levels", "complete")
	res := e.run(t, done)
	for _, table := range []string{"unfinished", "complete"} {
		if err := os.RemoveAll(filepath.Join(e.st.Warehouse, e.db+".db", table)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.svc.Remove(deadline(t), Ref{Name: s.Name, OperationID: old.op.id}, RemoveOptions{}); err != nil {
		t.Errorf("the unfinished one: %v", err)
	}
	ref := Ref{Name: done.Name, OperationID: res.OperationID, TableID: res.TableID}
	if err := e.svc.Remove(deadline(t), ref, RemoveOptions{}); err == nil || !strings.Contains(err.Error(), "last copy") {
		t.Errorf("the complete one: %v", err)
	}
	if obs, err := e.svc.Observe(deadline(t), ref); err != nil || obs.Gone || len(obs.Warnings) != 1 || !strings.Contains(obs.Warnings[0].Summary, "does not exist any more") {
		t.Errorf("%+v, %v", obs, err)
	}
}

// Rows and bytes of buckets that an earlier run loaded are counted too.
func TestRealBytesAfterResume(t *testing.T) {
	e := real(t)
	whole := e.run(t, e.sample(t, "pk_levels", "whole"))
	s := e.sample(t, "pk_levels", "t")
	old := e.begun(t, s, gone)
	e.do(t, old.load)
	old.op.end()
	if res := e.run(t, s); res.RowsLoaded != whole.RowsLoaded || *res.BytesLoaded != *whole.BytesLoaded || *res.BytesLoaded == 0 {
		t.Errorf("%d rows, %d bytes; loaded at once %d rows, %d bytes", res.RowsLoaded, *res.BytesLoaded, whole.RowsLoaded, *whole.BytesLoaded)
	}
}

// Datalake switched on by hand before the lake snapshot is registered.
func TestRealEnabledTooEarly(t *testing.T) {
	for _, at := range []string{"before the load", "after the load"} {
		t.Run(at, func(t *testing.T) {
			e := real(t)
			s := e.sample(t, "pk_levels", "t")
			old := e.begun(t, s, gone)
			if at == "after the load" {
				e.do(t, old.load)
			}
			e.do(t, func(ctx context.Context) error { return setDatalake(ctx, old.c.client, old.path, true) })
			e.refused(t, s, "enabled on the Fluss table before the promotion was ready")
			if info, err := old.c.client.GetTable(deadline(t), old.path); err != nil || info.Descriptor.Properties[enabledProperty] == "true" {
				t.Errorf("still enabled: %v", err)
			}
			if res := e.run(t, s); res.OperationID == old.op.id {
				t.Error("the failed operation went on")
			}
		})
	}
}

// A removal that died halfway: kept by an apply, or finished by a destroy.
func TestRealRemovalGivenUp(t *testing.T) {
	for _, then := range []string{"apply", "destroy"} {
		t.Run(then, func(t *testing.T) {
			e := real(t)
			s := e.sample(t, "pk_levels", "t")
			res := e.run(t, s)
			info, hist := e.found(t, s)
			c, j := e.connections(t)
			o := hold(deadline(t), j, hist.id, s.Name, hist.lastSeq, beat)
			gone(&o.owner)
			e.do(t, func(ctx context.Context) error { return o.append(ctx, EventDropping, Detail{Reason: "removed"}) },
				func(ctx context.Context) error { return setDatalake(ctx, c.client, info.Path, false) })
			e.refused(t, s, "promoted already", "not finished")
			ref := Ref{Name: s.Name, ClusterID: res.ClusterID, OperationID: res.OperationID, TableID: res.TableID}
			if obs, err := e.svc.Observe(deadline(t), ref); err != nil || obs.Result.Stage != StageDisabled {
				t.Errorf("%+v, %v", obs, err)
			}
			if then == "destroy" {
				e.do(t, func(ctx context.Context) error { return e.svc.Remove(ctx, ref, RemoveOptions{}) })
				if obs, err := e.svc.Observe(deadline(t), ref); err != nil || !obs.Gone {
					t.Errorf("%+v, %v", obs, err)
				}
				return
			}
			s.OperationID = res.OperationID
			again := e.run(t, s)
			if again.TableID != res.TableID || !again.PromotedAt.Equal(res.PromotedAt) {
				t.Errorf("%+v, it was %+v", again, res)
			}
			if _, hist := e.found(t, s); hist.ended != "" || hist.stage() != StageEnabled {
				t.Errorf("the journal's last word is still %q, stage %s", hist.ended, hist.stage())
			}
		})
	}
}

func (e *realEnv) found(t *testing.T, s Spec) (*fluss.TableInfo, *history) {
	t.Helper()
	c, j := e.connections(t)
	info, hist, err := findOperation(deadline(t), c, j, flussPath(s.Name))
	if err != nil || info == nil || hist == nil {
		t.Fatalf("%v, %v, %v", info, hist, err)
	}
	return info, hist
}

// What Read says of an enabled promotion around which something has changed.
func TestRealDrift(t *testing.T) {
	e := real(t)
	warnings := func(t *testing.T, s Spec, res Result, want ...string) {
		t.Helper()
		obs, err := e.svc.Observe(deadline(t), Ref{Name: s.Name, ClusterID: res.ClusterID, OperationID: res.OperationID, TableID: res.TableID})
		if err != nil || obs.Gone {
			t.Fatalf("%+v, %v", obs, err)
		}
		if len(obs.Warnings) != len(want) {
			t.Fatalf("%d warnings, want %d: %v", len(obs.Warnings), len(want), obs.Warnings)
		}
		for i, w := range want {
			if !strings.Contains(obs.Warnings[i].Error(), w) {
				t.Errorf("warning %d lacks %q: %v", i, w, obs.Warnings[i])
			}
		}
	}
	tableDir := func(s Spec) string { return filepath.Join(e.st.Warehouse, e.db+".db", s.Name.Table) }

	t.Run("nothing", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "nothing")
		warnings(t, s, e.run(t, s))
	})
	t.Run("foreign snapshot", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "foreign")
		res := e.run(t, s)
		e.commit(t, s, "somebody")
		warnings(t, s, res, "somebody")
	})
	t.Run("tiering snapshot", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "tiered")
		res := e.run(t, s)
		e.commit(t, s, tieringUser)
		warnings(t, s, res)
	})
	t.Run("compaction by maintenance", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "compacted")
		res := e.run(t, s)
		e.commit(t, s, "maintenance")
		edit(t, filepath.Join(tableDir(s), "snapshot", "snapshot-9"), `"commitKind" : "APPEND"`, `"commitKind" : "COMPACT"`)
		warnings(t, s, res)
	})
	t.Run("table made anew", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "anew")
		res := e.run(t, s)
		if err := os.RemoveAll(tableDir(s)); err != nil {
			t.Fatal(err)
		}
		e.sample(t, "pk_levels", "anew")
		schema := filepath.Join(tableDir(s), "schema", "schema-0")
		data, err := os.ReadFile(schema)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(data), `"timeMillis" : `) + len(`"timeMillis" : `)
		if err := os.WriteFile(schema, []byte(string(data[:at])+"9"+string(data[at+1:])), 0o644); err != nil {
			t.Fatal(err)
		}
		warnings(t, s, res, "dropped and made anew")
	})
	t.Run("rolled back", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "back")
		res := e.run(t, s)
		for _, f := range []string{"snapshot-8", "LATEST"} {
			if err := os.Remove(filepath.Join(tableDir(s), "snapshot", f)); err != nil {
				t.Fatal(err)
			}
		}
		warnings(t, s, res, "rolled back behind the promotion")
	})
	t.Run("column added", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "column")
		res := e.run(t, s)
		c, _ := e.connections(t)
		table, err := c.catalog.Table(deadline(t), s.Name.Database, s.Name.Table)
		if err != nil {
			t.Fatal(err)
		}
		next := table.Schema().Clone()
		f := next.Fields[len(next.Fields)-1]
		f.ID, f.Name, f.Type.Nullable = next.HighestFieldID+1, "added", true
		next.ID, next.HighestFieldID, next.Fields = next.ID+1, f.ID, append(next.Fields, f)
		if err := table.CommitSchema(deadline(t), next); err != nil {
			t.Fatal(err)
		}
		warnings(t, s, res, "ADD `added`")
	})
	t.Run("rows in a partition that was left out", func(t *testing.T) {
		s := e.sample(t, "py_pk", "stray")
		s.Partitions = []map[string]string{{"p": "a"}}
		res := e.run(t, s)
		info, _ := e.found(t, s)
		c, _ := e.connections(t)
		e.do(t, func(ctx context.Context) error {
			return c.client.CreatePartition(ctx, info.Path, map[string]string{"p": "b"}, true)
		})
		other := &run{s: e.svc, c: c, spec: s, path: info.Path, info: info}
		other.spec.Partitions = []map[string]string{{"p": "b"}}
		e.do(t, other.openComplete(t))
		writeForeign(t, other)
		warnings(t, s, res, "b")
	})
	t.Run("datalake switched off, and on again", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "off")
		res := e.run(t, s)
		c, _ := e.connections(t)
		e.do(t, func(ctx context.Context) error { return setDatalake(ctx, c.client, flussPath(s.Name), false) })
		ref := Ref{Name: s.Name, OperationID: res.OperationID, TableID: res.TableID}
		if obs, err := e.svc.Observe(deadline(t), ref); err != nil || obs.Result.Stage != StageDisabled {
			t.Errorf("%+v, %v", obs, err)
		}
		s.OperationID = res.OperationID
		if again := e.run(t, s); again.TableID != res.TableID {
			t.Errorf("%+v", again)
		}
	})
	t.Run("Fluss table made anew", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "dropped")
		res := e.run(t, s)
		info, _ := e.found(t, s)
		c, _ := e.connections(t)
		ref := Ref{Name: s.Name, OperationID: res.OperationID, TableID: res.TableID}
		e.do(t, func(ctx context.Context) error { return c.client.DropTable(ctx, info.Path, false) })
		if obs, err := e.svc.Observe(deadline(t), ref); err != nil || !obs.Gone {
			t.Errorf("dropped: %+v, %v", obs, err)
		}
		desc := info.Descriptor
		desc.Properties = maps.Clone(desc.Properties)
		maps.DeleteFunc(desc.Properties, func(k, _ string) bool { return strings.HasPrefix(k, "table.datalake.paimon.") }) // the server's own
		desc.Properties[enabledProperty] = "false"
		e.do(t, func(ctx context.Context) error { return c.client.CreateTable(ctx, info.Path, desc, false) })
		if obs, err := e.svc.Observe(deadline(t), ref); err != nil || !obs.Gone || !strings.Contains(obs.GoneReason, "made anew") {
			t.Errorf("made anew with the operation's properties: %+v, %v", obs, err)
		}
	})
	t.Run("another cluster", func(t *testing.T) {
		s := e.sample(t, "pk_levels", "cluster")
		res := e.run(t, s)
		if obs, err := e.svc.Observe(deadline(t), Ref{Name: s.Name, ClusterID: "another", OperationID: res.OperationID}); err == nil ||
			!strings.Contains(err.Error(), "not the cluster") {
			t.Errorf("%+v, %v", obs, err)
		}
	})
}

// openComplete opens the source of a promotion that is complete, for its bucket tasks.
func (r *run) openComplete(t *testing.T) func(context.Context) error {
	t.Helper()
	return func(ctx context.Context) error {
		src, err := r.s.openSource(ctx, r.c, r.spec.Name)
		if err != nil {
			return err
		}
		r.src = src
		r.jdg, err = Judge(ctx, judgeInput(r.c, r.spec, src, &history{id: r.info.Descriptor.CustomProperties[operationProperty]}))
		return err
	}
}

func edit(t *testing.T, path, old, next string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s lacks %q:\n%s", path, old, data)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, next, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}
