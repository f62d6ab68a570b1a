package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestProcFiles(t *testing.T) {
	// The name in brackets may hold spaces and brackets.
	stat := "42 (a ) b) S 1 42 42 0 -1 4194560 1 2 3 4 150 25 9 9 20 0 8 0 100 1 1"
	user, system, err := parseStat([]byte(stat))
	if err != nil || user != 1500*time.Millisecond || system != 250*time.Millisecond {
		t.Errorf("stat: %v, %v, %v", user, system, err)
	}
	peak, err := parseHighWater("Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 5 kB\n")
	if err != nil || peak != 2<<20 {
		t.Errorf("high water: %d, %v", peak, err)
	}
	for _, bad := range []string{"", "42 (x) S 1", "42 (x) S 1 1 1 1 1 1 1 1 1 1 x y"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("stat %q is accepted", bad)
		}
		if _, err := parseHighWater(bad); err == nil {
			t.Errorf("status %q is accepted", bad)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, all := range map[time.Duration][]time.Duration{0: nil, 7: {7}, 3: {4, 2}, 5: {9, 5, 1}} {
		if got := median(all); got != want {
			t.Errorf("median of %v: %d, want %d", all, got, want)
		}
	}
}

// The peer counts at its better parallelism, a load by its median, memory by
// its highest value; a bound that is missed is an error at the full size only.
func TestReport(t *testing.T) {
	r := &results{rows: fullRows, flinkVersion: "1.20", plans: []time.Duration{3 * time.Second, time.Second / 4, time.Second / 2},
		previews:    []load{{took: 3 * time.Second, peak: 100 << 20}, {took: time.Second, peak: 150 << 20}, {took: 2 * time.Second, peak: 120 << 20}},
		javaVersion: "17", planned: [2][]time.Duration{{8 * time.Second, 12 * time.Second, 9 * time.Second}, {time.Second, 2 * time.Second, 3 * time.Second}},
		scans: []scan{{5, 9}, {6, 3}, {1, 1}}, merges: []scan{{4, 2}}}
	for round, took := range []int{30, 10, 20} {
		for name, factor := range map[string]int{ours: 1, flinkName(1): 3, flinkName(2): 2} {
			r.loads = append(r.loads, load{name: name, round: round + 1, took: time.Duration(took*factor) * time.Second, peak: int64(took*factor) << 20})
		}
	}
	opt := options{only: regexp.MustCompile(""), out: filepath.Join(t.TempDir(), "bench.json")}
	var out strings.Builder
	// Java's plan is not 5 times as slow here.
	if err := r.report(opt, &out); err == nil || !strings.Contains(err.Error(), previewVsJava) || strings.Contains(err.Error(), planTime) {
		t.Fatalf("%v; want an error about %s alone", err, previewVsJava)
	}
	data, err := os.ReadFile(opt.out)
	if err != nil {
		t.Fatal(err)
	}
	var got []comparison
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := []comparison{
		{Name: loadVsFlink, Ours: 100_000, Peer: 50_000, Unit: "rows/s", Ratio: 2},
		{Name: memory2M, Ours: 30, Peer: 400, Unit: "MiB", Ratio: 13.33},
		{Name: planTime, Ours: 0.5, Peer: 1, Unit: "s", Ratio: 2},
		{Name: previewTime, Ours: 2, Peer: 3, Unit: "s", Ratio: 1.5},
		{Name: previewMemory, Ours: 150, Peer: 300, Unit: "MiB", Ratio: 2},
		{Name: previewVsJava, Ours: 2, Peer: 9, Unit: "s", Ratio: 4.5},
		{Name: orcScan, Ours: 5, Peer: 3, Unit: "rows/CPU s", Ratio: 1.67},
		{Name: orcRead, Ours: 4, Peer: 2, Unit: "rows/CPU s", Ratio: 2},
	}
	for i, w := range want {
		if i >= len(got) {
			t.Fatalf("%d comparisons, want %d", len(got), len(want))
		}
		if got[i].PeerCommand == "" || !strings.Contains(out.String(), got[i].PeerCommand) {
			t.Errorf("%s: peer command %q is not in the table", w.Name, got[i].PeerCommand)
		}
		if got[i].PeerCommand = ""; got[i] != w {
			t.Errorf("found %+v\nwant %+v", got[i], w)
		}
	}
	r.plans = []time.Duration{2 * time.Second}
	if err := r.report(opt, &out); err == nil || !strings.Contains(err.Error(), planTime) {
		t.Errorf("a plan of 2 s: %v", err)
	}
	r.rows = 1000
	if err := r.report(opt, &out); err != nil {
		t.Errorf("a small run is judged: %v", err)
	}
}
