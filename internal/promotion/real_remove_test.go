package promotion

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// gone fails the test unless the Fluss table is gone.
func (e *realEnv) gone(t *testing.T, s Spec) {
	t.Helper()
	c, err := e.svc.connect(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.client.GetTable(deadline(t), flussPath(s.Name)); !errors.Is(err, fluss.ErrTableNotExist) {
		t.Errorf("%s is still there: %v", s.Name, err)
	}
}

// lakeLosses are ways in which a promotion's Paimon table stops being readable.
var lakeLosses = map[string]func(dir string) error{
	"gone": os.RemoveAll,
	"snapshot cut": func(dir string) error {
		files, err := filepath.Glob(filepath.Join(dir, "snapshot", "snapshot-*"))
		for _, f := range files {
			err = errors.Join(err, os.Truncate(f, 3))
		}
		return err
	},
	"schema cut": func(dir string) error {
		files, err := filepath.Glob(filepath.Join(dir, "schema", "schema-*"))
		for _, f := range files {
			err = errors.Join(err, os.Truncate(f, 3))
		}
		return err
	},
}

// The Paimon table is gone or broken: what Fluss holds is removed all the same.
// Of an enabled promotion only after its user has said that rows may be lost.
func TestRealRemoveWithoutTheLake(t *testing.T) {
	e := real(t)
	for name, lose := range lakeLosses {
		table := strings.ReplaceAll(name, " ", "_")
		t.Run("unfinished, "+name, func(t *testing.T) {
			s := e.sample(t, "pk_levels", "u_"+table)
			r := e.begun(t, s, nil)
			if err := r.stopped(deadline(t), context.Canceled); err == nil {
				t.Fatal("no error")
			}
			r.op.end()
			if err := lose(filepath.Join(e.st.Warehouse, e.db+".db", s.Name.Table)); err != nil {
				t.Fatal(err)
			}
			ref := Ref{Name: s.Name, ClusterID: r.j.clusterID, OperationID: r.op.id, TableID: r.info.TableID}
			if _, err := e.svc.Observe(deadline(t), ref); err != nil {
				t.Errorf("observe: %v", err)
			}
			opt := RemoveOptions{DeletionProtection: true}
			if err := errors.Join(e.svc.CheckRemove(deadline(t), ref, opt), e.svc.Remove(deadline(t), ref, opt)); err != nil {
				t.Fatal(err)
			}
			e.gone(t, s)
		})
		t.Run("enabled, "+name, func(t *testing.T) {
			s := e.sample(t, "pk_levels", "e_"+table)
			res := e.run(t, s)
			if err := lose(filepath.Join(e.st.Warehouse, e.db+".db", s.Name.Table)); err != nil {
				t.Fatal(err)
			}
			ref := Ref{Name: s.Name, ClusterID: res.ClusterID, OperationID: res.OperationID, TableID: res.TableID}
			obs, err := e.svc.Observe(deadline(t), ref)
			if err != nil {
				t.Fatalf("observe: %v", err)
			}
			if obs.Gone || obs.Result.Stage != StageEnabled || len(obs.Warnings) == 0 {
				t.Errorf("observed: %+v", obs)
			}
			for _, err := range []error{e.svc.CheckRemove(deadline(t), ref, RemoveOptions{}), e.svc.Remove(deadline(t), ref, RemoveOptions{})} {
				var p Problem
				if !errors.As(err, &p) || p.Summary != "The Paimon table of this promotion cannot be read" || p.Attribute[0] != "allow_untiered_data_loss" {
					t.Errorf("%v", err)
				}
			}
			opt := RemoveOptions{AllowUntieredDataLoss: true}
			if err := errors.Join(e.svc.CheckRemove(deadline(t), ref, opt), e.svc.Remove(deadline(t), ref, opt)); err != nil {
				t.Fatal(err)
			}
			e.gone(t, s)
		})
	}
}

// What the compatibility data source asks for, before the promotion and after.
func TestRealPreviewOfWhatIsPromoted(t *testing.T) {
	e := real(t)
	for _, sample := range []string{"pk_levels", "append_bucket_key"} {
		s := e.sample(t, sample, sample)
		before, err := e.svc.Preview(deadline(t), s)
		if err != nil {
			t.Fatal(err)
		}
		if !before.Compatible || before.Existing != nil || before.PinSnapshotID == nil || *before.PinSnapshotID != *before.SnapshotID {
			t.Errorf("%s, before: %+v", sample, before)
		}
		res := e.run(t, s)
		s.SourceSnapshotID = before.PinSnapshotID
		after, err := e.svc.Preview(deadline(t), s)
		if err != nil {
			t.Fatal(err)
		}
		errs := after.Errors()
		if len(errs) != 1 || errs[0].Rule != RulePromoted || after.Existing == nil || !after.Existing.Promoted || after.Existing.OperationID != res.OperationID {
			t.Errorf("%s, after: existing %+v, errors %v", sample, after.Existing, errs)
		}
		if after.PinSnapshotID == nil || *after.PinSnapshotID != *before.PinSnapshotID {
			t.Errorf("%s, after: the pin has moved from %d to %v", sample, *before.PinSnapshotID, after.PinSnapshotID)
		}
		// Another Paimon table under the name is not what was promoted.
		dir := filepath.Join(e.st.Warehouse, e.db+".db", sample)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		e.sample(t, "compacted", sample)
		other, err := e.svc.Preview(deadline(t), s)
		if err != nil {
			t.Fatal(err)
		}
		if other.Existing == nil || other.Existing.Promoted || len(other.Errors()) == 0 {
			t.Errorf("%s, another source: existing %+v, errors %v", sample, other.Existing, other.Errors())
		}
	}
}
