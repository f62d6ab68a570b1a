//go:build linux

package promotion

import (
	"os/exec"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
	"github.com/fluss-lake/terraform-provider-fluss/internal/paimon/vector"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	for _, name := range []string{"(go)", "(a b)", "(odd) name))", "()"} {
		stat := "42 " + name + rest
		if start, ok := parseStatStart(stat); !ok || start != 4711 {
			t.Errorf("%s: %d, %t", name, start, ok)
		}
		if processState(stat) != 'S' {
			t.Errorf("%s: state %c", name, processState(stat))
		}
	}
	for _, bad := range []string{"", "42", "42 (go", "42 (go) S 1 2", "42 (go) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"} {
		if start, ok := parseStatStart(bad); ok {
			t.Errorf("%q gives %d", bad, start)
		}
	}
}

func TestOwnerEnd(t *testing.T) {
	own := newOwner("t")
	if own.endProven() {
		t.Error("this process counts as ended")
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := int64(child.Process.Pid)
	start, exists, known := processStart(pid)
	if !exists || !known || start == 0 {
		t.Fatalf("a running child: %d, %t, %t", start, exists, known)
	}
	o := Owner{HostBoot: own.HostBoot, PID: pid, PIDStart: start}
	if o.endProven() {
		t.Error("a running child counts as ended")
	}
	again := o
	again.PIDStart++
	if !again.endProven() {
		t.Error("another process with the owner's number passes for the owner")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // dead but not waited for: a zombie
		if o.endProven() {
			break
		}
	}
	_ = child.Wait()
	if !o.endProven() {
		t.Error("a dead child does not count as ended")
	}
	for name, other := range map[string]Owner{
		"another host":      {HostBoot: "elsewhere", PID: pid, PIDStart: start},
		"no host known":     {PID: pid, PIDStart: start},
		"no process number": {HostBoot: own.HostBoot, PIDStart: start},
		"no start time":     {HostBoot: own.HostBoot, PID: pid},
	} {
		if other.endProven() {
			t.Errorf("%s: counts as proven", name)
		}
	}
}

// The two vector types number their kinds alike: share relies on it.
func TestVectorKinds(t *testing.T) {
	for a, b := range map[vector.Kind]row.VectorKind{vector.Bool: row.VBool, vector.Int32: row.VInt32, vector.Int64: row.VInt64,
		vector.Float32: row.VFloat32, vector.Float64: row.VFloat64, vector.Bytes: row.VBytes, vector.Timestamp: row.VTimestamp,
		vector.List: row.VList, vector.Map: row.VMap, vector.Struct: row.VStruct} {
		if row.VectorKind(a) != b {
			t.Errorf("kind %d is %d", a, b)
		}
	}
}
