package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/row"
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
	if got := median([]float64{4, 1, 2}); got != 2 {
		t.Errorf("median of three: %g, want 2", got)
	}
	for want, all := range map[time.Duration][]time.Duration{0: nil, 7: {7}, 3: {4, 2}, 5: {9, 5, 1}} {
		if got := median(all); got != want {
			t.Errorf("median of %v: %d, want %d", all, got, want)
		}
	}
}

// measured is a run with something of everything.
func measured() *results {
	r := &results{rows: fullRows, flinkVersion: "1.20", javaVersion: "17", plans: []time.Duration{3 * time.Second, time.Second / 4, time.Second / 2},
		previews: []load{{took: 3 * time.Second, peak: 100 << 20}, {took: time.Second, peak: 150 << 20}, {took: 2 * time.Second, peak: 120 << 20}},
		planned:  [2][]time.Duration{{8 * time.Second, 12 * time.Second, 9 * time.Second}, {time.Second, 2 * time.Second, 3 * time.Second}},
		colds:    [2][]time.Duration{{time.Second}, {time.Second * 6 / 5}},
		scans:    []scan{{5, 9}, {6, 3}, {1, 1}}, merges: []scan{{4, 2}}, encoded: []float64{14e6},
		readRows: 1000, reads: map[string][]float64{readerOurs: {600, 500, 10}, readerJava: {100}, readerPypaimon: {5}, readerRust: {250}}}
	for round, took := range []int{30, 10, 20} {
		for name, factor := range map[string]int{ours: 1, flinkName(1): 3, flinkName(2): 2, flinkName(4): 4, javaName: 3, pyflussName: 8, oursLarge: 10} {
			rows := fullRows
			if name == oursLarge {
				rows *= largeFactor
			}
			second := time.Duration(took*factor) * time.Second
			r.loads = append(r.loads, load{name: name, round: round + 1, rows: rows, took: second, wall: second + 5*time.Second, client: second / 10, peak: int64(took*factor) << 20})
		}
	}
	for replication, walls := range map[int][2]time.Duration{1: {25 * time.Second, 65 * time.Second}, 3: {50 * time.Second, 80 * time.Second}} {
		r.loads = append(r.loads, load{name: replicatedName(ours, replication), rows: fullRows, wall: walls[0], took: time.Second},
			load{name: replicatedName(javaName, replication), rows: fullRows, wall: walls[1], took: time.Second})
	}
	r.loads = append(r.loads, load{name: limitName, rows: fullRows, took: 16 * time.Second}, load{name: oursBroad, rows: 50, took: time.Second, peak: 1 << 30})
	return r
}

func everything(t *testing.T) options {
	return options{only: regexp.MustCompile(""), out: filepath.Join(t.TempDir(), "bench.json")}
}

// The peer counts at its best parallelism, a load by its median, memory by its
// highest value, Python and Java by the whole command; a bound that is missed is
// an error at the full size only.
func TestReport(t *testing.T) {
	r, opt := measured(), everything(t)
	opt.guide = filepath.Join(t.TempDir(), "guide.md")
	var out strings.Builder
	err := r.report(opt, &out)
	if err == nil {
		t.Fatal("no error about missed bounds")
	}
	for name, missed := range map[string]bool{loadVsFlink: true, loadVsJava: false, loadVsLimit: true, cpuVsJava: true, memoryWide: true, memory20M: true,
		readVsRust: true, readVsJava: false, previewVsJava: true, planTime: false, growth20M: false} {
		if strings.Contains(err.Error(), name+":") != missed {
			t.Errorf("%s is missed: want %v; the error is %v", name, missed, err)
		}
	}
	got, err := readResults(opt.out)
	if err != nil {
		t.Fatal(err)
	}
	want := []comparison{
		{Name: loadVsFlink, Ours: 100_000, Peer: 50_000, Unit: "rows/s", Ratio: 2},
		{Name: loadVsJava, Ours: 80_000, Peer: 30_769, Unit: "rows/s", Ratio: 2.6},
		{Name: loadVsPyfluss, Ours: 80_000, Peer: 12_121, Unit: "rows/s", Ratio: 6.6},
		{Name: loadVsLimit, Ours: 100_000, Peer: 125_000, Unit: "rows/s", Ratio: 0.89},
		{Name: cpuVsJava, Ours: 1, Peer: 3, Unit: "CPU s/M rows", Ratio: 3},
		{Name: growth20M, Ours: 100_000, Peer: 100_000, Unit: "rows/s", Ratio: 1.18},
		{Name: loadServers3, Ours: 80_000, Peer: 30_769, Unit: "rows/s", Ratio: 2.6},
		{Name: loadReplicated3, Ours: 40_000, Peer: 25_000, Unit: "rows/s", Ratio: 1.6},
		{Name: memory2M, Ours: 30, Peer: 256, Unit: "MiB", Ratio: 8.53},
		{Name: memory20M, Ours: 300, Peer: 256, Unit: "MiB", Ratio: 0.85},
		{Name: memoryWide, Ours: 1024, Peer: 512, Unit: "MiB", Ratio: 0.5},
		{Name: readVsJava, Ours: 500, Peer: 100, Unit: "rows/s", Ratio: 5},
		{Name: readVsPypaimon, Ours: 500, Peer: 5, Unit: "rows/s", Ratio: 100},
		{Name: readVsRust, Ours: 500, Peer: 250, Unit: "rows/s", Ratio: 2},
		{Name: orcRead, Ours: 4, Peer: 2, Unit: "rows/CPU s", Ratio: 2},
		{Name: orcScan, Ours: 5, Peer: 3, Unit: "rows/CPU s", Ratio: 1.67},
		{Name: encodeRows, Ours: 14e6, Peer: 7e6, Unit: "rows/CPU s", Ratio: 2},
		{Name: planTime, Ours: 0.5, Peer: 1, Unit: "s", Ratio: 2},
		{Name: coldStart, Ours: 1.2, Peer: 1, Unit: "s", Ratio: 1.25},
		{Name: previewTime, Ours: 2, Peer: 3, Unit: "s", Ratio: 1.5},
		{Name: previewMemory, Ours: 150, Peer: 300, Unit: "MiB", Ratio: 2},
		{Name: previewVsJava, Ours: 2, Peer: 9, Unit: "s", Ratio: 4.5},
	}
	if len(got) != len(want) || len(want) != len(comparisons) {
		t.Fatalf("%d comparisons, want %d of %d", len(got), len(want), len(comparisons))
	}
	guide, err := os.ReadFile(opt.guide)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if got[i].PeerCommand == "" || !strings.Contains(out.String(), got[i].PeerCommand) {
			t.Errorf("%s: peer command %q is not in the table", w.Name, got[i].PeerCommand)
		}
		if !strings.Contains(string(guide), asText(strings.TrimPrefix(got[i].PeerCommand, "bound: "))) {
			t.Errorf("%s: peer command %q is not in the guide", w.Name, got[i].PeerCommand)
		}
		if got[i].PeerCommand = ""; got[i] != w {
			t.Errorf("found %+v\nwant %+v", got[i], w)
		}
	}
	r.rows = 1000
	if err := r.report(opt, &out); err != nil {
		t.Errorf("a small run is judged: %v", err)
	}
}

// What was asked for and not measured is an error; the rest is written.
func TestReportOfAPart(t *testing.T) {
	r, opt := measured(), everything(t)
	r.plans, r.colds[1], r.reads[readerJava] = nil, nil, nil
	var out strings.Builder
	err := r.report(opt, &out)
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{planTime, coldStart, readVsJava} {
		if !strings.Contains(err.Error(), name+": not measured") {
			t.Errorf("%s is not missing in: %v", name, err)
		}
	}
	got, err := readResults(opt.out)
	if err != nil || len(got) != len(comparisons)-3 {
		t.Errorf("%d comparisons are written, %v; want %d", len(got), err, len(comparisons)-3)
	}
}

// One comparison alone: nothing else is written, missing or judged.
func TestReportOfOne(t *testing.T) {
	r := &results{rows: fullRows, plans: []time.Duration{2 * time.Second}}
	opt := everything(t)
	opt.only = regexp.MustCompile("^plan_time$")
	var out strings.Builder
	if err := r.report(opt, &out); err == nil || err.Error() != "plan_time: found 0.5 times its peer or bound; required: 1 or more" {
		t.Errorf("a plan of 2 s: %v", err)
	}
	if got, err := readResults(opt.out); err != nil || len(got) != 1 || got[0].Name != planTime {
		t.Errorf("written: %+v, %v", got, err)
	}
}

func TestReadResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	for _, text := range []string{"", "{}", `[{"name": "none_of_ours"}]`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := readResults(path); err == nil {
			t.Errorf("%q is accepted: %+v", text, list)
		}
	}
}

// Every comparison is measured by one phase, has a goal, and is explained in the
// guide and at the head of main.go.
func TestComparisonsAreWhole(t *testing.T) {
	head, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, _, _ := strings.Cut(string(head), "\npackage main")
	for _, c := range comparisons {
		in := 0
		for _, p := range phases {
			for _, name := range p.names {
				if name == c.name {
					in++
				}
			}
		}
		if in != 1 {
			t.Errorf("%s is measured by %d phases, want 1", c.name, in)
		}
		if text := guideTexts[c.name]; text.title == "" || text.counted == "" || goal(c.name) <= 0 {
			t.Errorf("%s: guide %+v, goal %g", c.name, text, goal(c.name))
		}
		if !regexp.MustCompile(`\b` + c.name + `\b`).MatchString(doc) {
			t.Errorf("%s is not explained at the head of main.go", c.name)
		}
		if c.measured(&results{}) {
			t.Errorf("%s: nothing counts as measured", c.name)
		}
	}
	if len(guideTexts) != len(comparisons) {
		t.Errorf("the guide explains %d comparisons of %d", len(guideTexts), len(comparisons))
	}
}

func TestGuide(t *testing.T) {
	list := []comparison{
		{Name: loadVsFlink, Ours: 237123, Peer: 79000, Unit: "rows/s", Ratio: 3, PeerCommand: "INSERT INTO t SELECT * FROM s /*+ x */"},
		{Name: memoryWide, Ours: 1024.5, Peer: 512, Unit: "MiB", Ratio: 0.5, PeerCommand: "bound: 512 MiB"},
	}
	got := guide(list, fullRows, time.Date(2026, 1, 2, 23, 0, 0, 0, time.FixedZone("", -7200)), 2, "24 GB")
	for _, want := range []string{"Measured on 3 January 2026, on a machine of 2 cores and 24 GB of memory", "| 237,123 ", "| 79,000 ", "| 1,024.5 ", "| 0.5 ", "1, missed |", "| 2.5 ",
		`SELECT \* FROM s /\*+ x \*/.`, "(`memory_wide`)", "Its bound: 512 MiB."} {
		if !strings.Contains(got, want) {
			t.Errorf("the guide lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, guideTexts[coldStart].title) {
		t.Error("the guide tells of what is not in the results")
	}
	if strings.Contains(got, "reduced") {
		t.Error("a full run is called a reduced one")
	}
	got = guide(list, 200_000, time.Now(), 2, "24 GB")
	if !strings.Contains(got, "reduced size, 200,000 rows") || strings.Contains(got, "missed") {
		t.Errorf("a reduced run is told of as\n%s", got)
	}
}

func TestOptions(t *testing.T) {
	for _, bad := range [][]string{{"-rows", "10"}, {"-rounds", "0"}, {"-only", "("}, {"-only", "no_such"}, {"-from", "x"}, {"-timeout", "0s"}, {"stray"}} {
		if o, err := parse("", bad); err == nil {
			t.Errorf("%q is accepted: %+v", bad, o)
		}
	}
	o, err := parse("/r", []string{"-only", "^memory_", "-rows", "5000"})
	if err != nil {
		t.Fatal(err)
	}
	if !o.wants(planTime, memoryWide) || o.wants(planTime) || o.rows != 5000 || o.out != filepath.Join("/r", "bench.json") {
		t.Errorf("options %+v", o)
	}
}

// The measured loop itself: batches are whole, rows have the size that the table's
// have, and nothing is allocated.
func TestEncode(t *testing.T) {
	e, err := tenColumns()
	if err != nil {
		t.Fatal(err)
	}
	var batch row.Batch
	rate, err := e.run(&batch, 20)
	if err != nil || rate <= 0 {
		t.Fatalf("%g rows/s, %v", rate, err)
	}
	if got := batch.Size() / batch.Rows(); batch.Rows() != 2*encodeColumns || got < 60 || got > 130 {
		t.Errorf("%d rows of %d bytes", batch.Rows(), got)
	}
}
