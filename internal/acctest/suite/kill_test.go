package suite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/pyoracle"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// provider is the process ID of the provider that runs below a Terraform
// process; 0 when there is none.
func provider(terraform int) int {
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	parents, names := map[int]int{}, map[int]string{}
	for _, f := range entries {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
		if open < 0 || end < open {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[end+1:]))
		parents[pid], _ = strconv.Atoi(fields[1])
		names[pid] = string(data[open+1 : end])
	}
	for pid, name := range names {
		if !strings.HasPrefix(name, "terraform-provi") {
			continue
		}
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == terraform {
				return pid
			}
		}
	}
	return 0
}

// loadedSoFar is the sum of the Fluss table's log end offsets; 0 while there is
// no table.
func loadedSoFar(ctx context.Context, c *fluss.Client, db, table string) int64 {
	info, err := c.GetTable(ctx, fluss.TablePath{Database: db, Table: table})
	if err != nil {
		return 0
	}
	buckets := make([]int32, info.Descriptor.BucketCount)
	for i := range buckets {
		buckets[i] = int32(i)
	}
	ends, err := c.ListOffsets(ctx, info, nil, buckets, fluss.OffsetLatest)
	if err != nil {
		return 0
	}
	var sum int64
	for _, v := range ends {
		sum += v
	}
	return sum
}

const benchRows = 400_000

// benchTable makes a table large enough to be caught in the middle of its load.
func (e *env) benchTable(t *testing.T, db string) pyoracle.BenchTable {
	t.Helper()
	made, err := e.py(t).WriteBench(timeout(t, 3*time.Minute), pyoracle.PaimonBench{Warehouse: e.Warehouse, Table: db + ".big", Rows: benchRows})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// atLoad starts an apply, waits until rows have arrived in Fluss, and calls f
// with the process IDs of Terraform and the provider. It returns the output and
// the error that apply ended with.
func (e *env) atLoad(t *testing.T, w *workspace, db string, f func(terraform, provider int)) (string, error) {
	t.Helper()
	ctx := timeout(t, 4*time.Minute)
	c, err := fluss.Connect(ctx, fluss.Config{Bootstrap: []string{e.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd, out := w.command("apply", "-auto-approve", "-input=false", "-no-color")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for loadedSoFar(ctx, c, db, "big") == 0 {
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			cmd.Wait()
			t.Fatalf("no rows in Fluss after 2 minutes:\n%s", out)
		}
		time.Sleep(5 * time.Millisecond)
	}
	pid := provider(cmd.Process.Pid)
	if pid == 0 {
		t.Fatalf("no provider below Terraform's process %d", cmd.Process.Pid)
	}
	f(cmd.Process.Pid, pid)
	err = cmd.Wait()
	return out.String(), err
}

// whole compares the whole loaded table with the source, by digest.
func (e *env) whole(t *testing.T, db string, made pyoracle.BenchTable) {
	t.Helper()
	got, err := e.py(t).ScanDigest(timeout(t, 4*time.Minute), e.fluss(db, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Count != made.Rows {
		t.Errorf("%d rows in Fluss, %d in the source", got.Count, made.Rows)
	}
	for name, sum := range made.Sums {
		if got.Columns[name].Sum != sum {
			t.Errorf("column %s adds up to %s in Fluss, to %s in the source", name, got.Columns[name].Sum, sum)
		}
	}
}

// The provider dies without a word in the middle of the load: the next apply
// goes on with the same table and the result is whole.
func TestProviderKilledMidLoad(t *testing.T) {
	e := need(t)
	db := e.database(t)
	made := e.benchTable(t, db)
	before := inventory(t, e.tableDir(db, "big"))
	w := e.workspace(t, e.promotion(db, "big", ""))
	out, err := e.atLoad(t, w, db, func(_, provider int) {
		if err := syscall.Kill(provider, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	})
	if err == nil {
		t.Fatalf("apply succeeded although its provider was killed:\n%s", out)
	}
	if w.state(address) != nil {
		t.Error("the killed create is in the state")
	}
	first := e.tableID(t, db, "big")
	w.apply()
	state := w.state(address)
	if state["stage"] != "enabled" {
		t.Fatalf("stage %v", state["stage"])
	}
	if got := e.tableID(t, db, "big"); got != first || state["table_id"] != float64(first) {
		t.Errorf("table ID %d, it was %d: the table was made anew although the owner's end was proven", got, first)
	}
	sameFiles(t, before, inventory(t, e.tableDir(db, "big")), "schema/schema-")
	e.whole(t, db, made)
}

// One interrupt: Terraform ends with an error, the state is saved at the stage
// reached and not tainted, and the next apply updates in place.
func TestInterruptedOnceMidLoad(t *testing.T) {
	e := need(t)
	db := e.database(t)
	made := e.benchTable(t, db)
	w := e.workspace(t, e.promotion(db, "big", ""))
	out, err := e.atLoad(t, w, db, func(terraform, _ int) {
		if err := syscall.Kill(terraform, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	})
	if err == nil || !strings.Contains(flatten(out), "Lake promotion interrupted") {
		t.Fatalf("error %v, output:\n%s", err, out)
	}
	state := w.state(address)
	if state == nil || state["stage"] != "loading" {
		t.Fatalf("state after the interrupt: %v", state)
	}
	plan := w.must("plan")
	if !strings.Contains(plan, "will be updated in-place") || strings.Contains(plan, "destroy)") {
		t.Errorf("the plan after the interrupt:\n%s", plan)
	}
	w.apply()
	if got := w.state(address); got["stage"] != "enabled" || got["operation_id"] != state["operation_id"] || got["table_id"] != state["table_id"] {
		t.Errorf("after the second apply: stage %v, operation %v (was %v), table %v (was %v)", got["stage"], got["operation_id"],
			state["operation_id"], got["table_id"], state["table_id"])
	}
	e.whole(t, db, made)
}

// A time limit that is too short ends cleanly, says which option to raise, and
// saves no state.
func TestCreateTimeout(t *testing.T) {
	e := need(t)
	db := e.database(t)
	made := e.benchTable(t, db)
	w := e.workspace(t, e.promotion(db, "big", `  timeouts = { create = "1s" }`))
	began := time.Now()
	w.fails([]string{"apply", "-auto-approve"}, "timeouts.create")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("a time limit of 1 s took %s", took)
	}
	if w.state(address) != nil {
		t.Error("the timed-out create is in the state")
	}
	w.config(fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n}\n", e.Bootstrap) + e.promotion(db, "big", ""))
	w.apply()
	e.whole(t, db, made)
}

func (e *env) tableID(t *testing.T, db, table string) int64 {
	t.Helper()
	ctx := timeout(t, 30*time.Second)
	c, err := fluss.Connect(ctx, fluss.Config{Bootstrap: []string{e.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	info, err := c.GetTable(ctx, fluss.TablePath{Database: db, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	return info.TableID
}
