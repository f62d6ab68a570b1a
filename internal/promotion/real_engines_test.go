package promotion

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/flink"
)

// flinkReal is real with the stack's Flink configured.
func flinkReal(t *testing.T) *realEnv {
	t.Helper()
	e := real(t)
	if e.st.GatewayURL == "" {
		t.Fatal("found a stack without a SQL gateway; required: one with")
	}
	e.svc = e.service(t, &Flink{GatewayURL: e.st.GatewayURL, HistoryURL: e.st.HistoryURL})
	return e
}

// service is another process's, as far as it can be told from the cluster.
func (e *realEnv) service(t *testing.T, f *Flink) *Service {
	t.Helper()
	svc, err := New(Config{Bootstrap: []string{e.st.Bootstrap}, Heartbeat: beat, Flink: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(svc.Close)
	return svc
}

// restarts lets a job outlive the loss of a task manager.
var restarts = map[string]string{"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "50", "restart-strategy.fixed-delay.delay": "1s"}

// minutes is deadline for what Flink takes part in.
func minutes(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Both engines leave the same rows, offsets and state behind. That the rows are
// the source's, byte for byte, is what the full verification says.
func TestRealEngines(t *testing.T) {
	e := flinkReal(t)
	for name, c := range map[string]struct {
		sample     string
		partitions []map[string]string
	}{
		"levels":            {sample: "pk_levels"},
		"compacted":         {sample: "compacted"},
		"pypaimon":          {sample: "py_pk"},
		"thin":              {sample: "thin_mode"},
		"deletion vectors":  {sample: "dv_pk"},
		"evolved":           {sample: "schema_evolution"},
		"lookup":            {sample: "flink_lookup"},
		"dates":             {sample: "pk_part_date"},
		"two dates":         {sample: "pk_part_date", partitions: []map[string]string{{"d": "2024-02-29"}, {"d": "1969-12-31"}}},
		"append":            {sample: "append_bucket_key"},
		"without snapshots": {sample: "schema_only"},
	} {
		t.Run(name, func(t *testing.T) {
			results, offsets := map[string]Result{}, map[string]map[string]int64{}
			for _, engine := range []string{engineNative, engineFlink} {
				s := e.sample(t, c.sample, strings.ReplaceAll(name, " ", "_")+"_"+engine)
				s.Engine, s.Partitions = engine, c.partitions
				rep, err := e.svc.Preview(minutes(t), s)
				if err != nil || !rep.Compatible {
					t.Fatalf("preview: %v, %v", err, rep.Errors())
				}
				res, _, err := e.svc.Run(minutes(t), s, nil)
				if err != nil {
					t.Fatalf("%s: %v", engine, err)
				}
				info, hist := e.found(t, s)
				if hist.started.Detail.Engine != engine || info.Descriptor.Properties[enabledProperty] != "true" {
					t.Errorf("%s: engine %q, enabled %q", engine, hist.started.Detail.Engine, info.Descriptor.Properties[enabledProperty])
				}
				lake, err := e.registeredOffsets(t, s)
				if err != nil {
					t.Fatal(err)
				}
				offsets[engine] = lake
				if wantJob := engine == engineFlink && res.RowsLoaded > 0; wantJob != (res.LoadJobID != "") || wantJob && hist.jobEnded != flink.StateFinished {
					t.Errorf("%s: job %q ended %q, %d rows", engine, res.LoadJobID, hist.jobEnded, res.RowsLoaded)
				}
				if known := res.BytesLoaded != nil; known != (res.LoadJobID == "") {
					t.Errorf("%s: bytes known %t, job %q", engine, known, res.LoadJobID)
				}
				// What cannot be the same.
				res.ClusterID, res.OperationID, res.TableID, res.LoadJobID, res.PromotedAt, res.BytesLoaded = "", "", 0, "", time.Time{}, nil
				results[engine] = res
			}
			if !reflect.DeepEqual(results[engineNative], results[engineFlink]) {
				t.Errorf("native %+v\nflink  %+v", results[engineNative], results[engineFlink])
			}
			if !maps.Equal(offsets[engineNative], offsets[engineFlink]) {
				t.Errorf("registered offsets: native %v, flink %v", offsets[engineNative], offsets[engineFlink])
			}
			if c.partitions != nil && len(results[engineFlink].InitializedPartitions) != len(c.partitions) {
				t.Errorf("partitions %v", results[engineFlink].InitializedPartitions)
			}
		})
	}
}

// registeredOffsets is the registered offsets by bucket and partition name.
func (e *realEnv) registeredOffsets(t *testing.T, s Spec) (map[string]int64, error) {
	c, _ := e.connections(t)
	info, hist := e.found(t, s)
	out := map[string]int64{}
	if hist.registered == nil || hist.registered.Detail.SnapshotID == nil {
		return out, nil
	}
	snap, err := c.client.LakeSnapshot(minutes(t), flussPath(s.Name), true)
	if err != nil {
		return nil, err
	}
	names := map[int64]string{}
	if info.IsPartitioned() {
		list, err := c.client.ListPartitions(minutes(t), flussPath(s.Name))
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			names[p.ID] = p.Name
		}
	}
	for id, off := range snap.Offsets {
		out[bucketKey(names[id.PartitionID], id.Bucket)] = off
	}
	return out, nil
}
