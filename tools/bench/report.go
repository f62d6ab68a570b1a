package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// load is one measured load of the table.
type load struct {
	name        string
	round       int
	loadAverage string        // of the machine, before it
	took        time.Duration // the load alone
	wall        time.Duration // the whole command
	// CPU time: of the provider or of Flink; of Fluss's servers and ZooKeeper; of
	// Flink; of everything else on the machine.
	client, servers, flink, other time.Duration
	user, system                  time.Duration // of the provider
	peak                          int64         // bytes; 0: not measured
}

// rate is in rows a second.
func (l load) rate(rows int) float64 { return float64(rows) / l.took.Seconds() }

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// comparison is one object of bench.json. A ratio above 1 means better than the
// peer, or within the bound.
type comparison struct {
	Name        string  `json:"name"`
	Ours        float64 `json:"ours"`
	Peer        float64 `json:"peer"`
	Unit        string  `json:"unit"`
	Ratio       float64 `json:"ratio"`
	PeerCommand string  `json:"peer_command"`

	required float64 // ratio
}

const (
	loadVsFlink = "load_vs_flink"
	memory2M    = "memory_2m"
	planTime    = "plan_time"
	orcScan     = "orc_scan_vs_pyarrow"
	orcRead     = "orc_read_vs_java"

	previewTime   = "preview_time"
	previewMemory = "preview_memory"
	previewVsJava = "preview_vs_java"

	memoryBound = 400 // MiB
	planBound   = 1.0 // seconds

	previewBound       = 3.0 // seconds
	previewMemoryBound = 300 // MiB
)

type comparing struct {
	name string
	make func(r *results) comparison
}

// comparisons are all there are, each made from the results.
var comparisons = []comparing{
	{loadVsFlink, (*results).compareLoad},
	{memory2M, (*results).compareMemory},
	{planTime, (*results).comparePlan},
	{previewTime, (*results).comparePreviewTime},
	{previewMemory, (*results).comparePreviewMemory},
	{previewVsJava, (*results).comparePreviewJava},
	{orcScan, (*results).compareORC},
	{orcRead, (*results).compareORCRead},
}

// results is all that was measured.
type results struct {
	rows         int
	flinkVersion string
	loads        []load
	plans        []time.Duration
	previews     []load // took and peak
	javaVersion  string
	planned      [2][]time.Duration // by Paimon Java, by our reader
	scans        []scan
	merges       []scan
}

// of are the loads of one name.
func (r *results) of(name string) []load {
	var out []load
	for _, l := range r.loads {
		if l.name == name {
			out = append(out, l)
		}
	}
	return out
}

// middle is the median of what get says of the loads of one name.
func (r *results) middle(name string, get func(load) time.Duration) time.Duration {
	var all []time.Duration
	for _, l := range r.of(name) {
		all = append(all, get(l))
	}
	return median(all)
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func took(l load) time.Duration { return l.took }

func (r *results) compareLoad() comparison {
	best := 1
	if r.middle(flinkName(2), took) < r.middle(flinkName(1), took) {
		best = 2
	}
	rate := func(name string) float64 { return math.Round(float64(r.rows) / r.middle(name, took).Seconds()) }
	a, b := rate(ours), rate(flinkName(best))
	command := fmt.Sprintf("Flink %s batch, parallelism %d of %d slots: %s; %d rows, median of %d job durations, same servers",
		r.flinkVersion, best, slots, fmt.Sprintf(insert, database, "t", database, source), r.rows, len(r.of(flinkName(best))))
	return comparison{Name: loadVsFlink, Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/b, 2), PeerCommand: command, required: 1.5}
}

func (r *results) compareMemory() comparison {
	var peak int64
	for _, l := range r.of(ours) {
		peak = max(peak, l.peak)
	}
	return comparison{Name: memory2M, Ours: round(mib(peak), 1), Peer: memoryBound, Unit: "MiB", Ratio: round(memoryBound/mib(peak), 2),
		PeerCommand: fmt.Sprintf("bound: %d MiB, provider process, highest of %d loads of %d rows", memoryBound, len(r.of(ours)), r.rows), required: 1}
}

func (r *results) comparePlan() comparison {
	s := median(r.plans).Seconds()
	return comparison{Name: planTime, Ours: round(s, 3), Peer: planBound, Unit: "s", Ratio: round(planBound/s, 2),
		PeerCommand: fmt.Sprintf("bound: %g s, median of %d terraform plan of %d rows", planBound, len(r.plans), r.rows), required: 1}
}

func round(v float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(v*p) / p
}

// report writes the file and prints the tables. At the full size a bound that
// was missed is an error.
func (r *results) report(opt options, out io.Writer) error {
	var list []comparison
	for _, c := range comparisons {
		if opt.wants(c.name) {
			list = append(list, c.make(r))
		}
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(opt.out, append(data, '\n'), 0o644); err != nil {
		return err
	}
	_, err = io.WriteString(out, r.loadTable()+"\n"+comparisonTable(list))
	if err != nil {
		return err
	}
	logf("written to %s", opt.out)
	if r.rows != fullRows {
		logf("the bounds are for %d rows and were not judged", fullRows)
		return nil
	}
	var missed []error
	for _, c := range list {
		if c.Ratio < c.required {
			missed = append(missed, fmt.Errorf("%s: found %g times its peer or bound; required: %g or more", c.Name, c.Ratio, c.required))
		}
	}
	return errors.Join(missed...)
}

func (r *results) loadTable() string {
	var b strings.Builder
	if len(r.loads) == 0 {
		return ""
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
	rows := [][]string{{"load", "round", "load s", "rows/s", "command s", "client CPU s", "server CPU s", "other CPU s", "client CPU s per M rows", "peak MiB", "load average before"}}
	for _, l := range r.loads {
		peak := ""
		if l.peak > 0 {
			peak = fmt.Sprintf("%.0f", mib(l.peak))
		}
		rows = append(rows, []string{l.name, fmt.Sprint(l.round), fmt.Sprintf("%.2f", l.took.Seconds()), fmt.Sprintf("%.0f", l.rate(r.rows)), seconds(l.wall),
			seconds(l.client), seconds(l.servers), seconds(l.other), fmt.Sprintf("%.2f", l.client.Seconds()/float64(r.rows)*1e6), peak, l.loadAverage})
	}
	for _, name := range []string{flinkName(1), flinkName(2), ours} {
		if len(r.of(name)) == 0 {
			continue
		}
		m := load{took: r.middle(name, took)}
		rows = append(rows, []string{name, "median", fmt.Sprintf("%.2f", m.took.Seconds()), fmt.Sprintf("%.0f", m.rate(r.rows)),
			seconds(r.middle(name, func(l load) time.Duration { return l.wall })), seconds(r.middle(name, func(l load) time.Duration { return l.client })),
			seconds(r.middle(name, func(l load) time.Duration { return l.servers })), "", "", "", ""})
	}
	markdown(&b, rows)
	return b.String()
}

func comparisonTable(list []comparison) string {
	rows := [][]string{{"comparison", "ours", "peer or bound", "unit", "ratio", "required", "peer"}}
	for _, c := range list {
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Ours), fmt.Sprint(c.Peer), c.Unit, fmt.Sprint(c.Ratio), fmt.Sprint(c.required), c.PeerCommand})
	}
	var b strings.Builder
	markdown(&b, rows)
	return b.String()
}

// markdown writes a table with aligned columns; the first row is its head.
func markdown(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], len(c), 3)
		}
	}
	line := func(cells []string) {
		for i, c := range cells {
			fmt.Fprintf(b, "| %-*s ", width[i], c)
		}
		b.WriteString("|\n")
	}
	line(rows[0])
	rule := make([]string, len(width))
	for i, w := range width {
		rule[i] = strings.Repeat("-", w)
	}
	line(rule)
	for _, r := range rows[1:] {
		line(r)
	}
}
