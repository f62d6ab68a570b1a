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

// load is one measured load of a table.
type load struct {
	name        string
	round       int
	rows        int
	loadAverage string        // of the machine, before it
	took        time.Duration // the load alone
	wall        time.Duration // the whole command
	// CPU time: of the provider, of Flink or of another client; of Fluss's servers
	// and ZooKeeper; of Flink; of everything else on the machine.
	client, servers, flink, other time.Duration
	user, system                  time.Duration // of the provider
	peak                          int64         // bytes; 0: not measured
}

// rate is in rows a second of the load alone.
func (l load) rate() float64 { return float64(l.rows) / l.took.Seconds() }

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
}

// results is all that was measured.
type results struct {
	rows         int // of the source
	flinkVersion string
	javaVersion  string
	loads        []load
	plans        []time.Duration
	previews     []load               // took and peak
	planned      [2][]time.Duration   // by Paimon Java, by our reader
	colds        [2][]time.Duration   // of the provider that does nothing, of ours
	scans        []scan               // an ORC file: pyarrow, ours
	merges       []scan               // a table of ORC files: Paimon Java, ours
	reads        map[string][]float64 // rows a second of one table of Parquet files, by reader
	readRows     int
	encoded      []float64 // rows a second of CPU
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

// rate is the median of one name in rows a second, by the time that get gives.
func (r *results) rate(name string, get func(load) time.Duration) float64 {
	all := r.of(name)
	return math.Round(float64(all[0].rows) / r.middle(name, get).Seconds())
}

// peak is the most memory of all loads of one name, in MiB.
func (r *results) peak(name string) float64 {
	var peak int64
	for _, l := range r.of(name) {
		peak = max(peak, l.peak)
	}
	return mib(peak)
}

func took(l load) time.Duration   { return l.took }
func wall(l load) time.Duration   { return l.wall }
func client(l load) time.Duration { return l.client }

type number interface{ ~int64 | ~float64 }

func median[T number](all []T) T {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func round(v float64, digits int) float64 {
	p := math.Pow10(digits)
	return math.Round(v*p) / p
}

// compare makes the comparisons that were asked for. What has no measurements is
// an error.
func (r *results) compare(opt options) ([]comparison, error) {
	var list []comparison
	var missing []error
	for _, c := range comparisons {
		if !opt.wants(c.name) {
			continue
		}
		if !c.measured(r) {
			missing = append(missing, fmt.Errorf("%s: not measured", c.name))
			continue
		}
		got := c.make(r)
		got.Name = c.name
		list = append(list, got)
	}
	return list, errors.Join(missing...)
}

// report writes the file and the guide and prints the tables. At the full size a
// bound that was missed is an error.
func (r *results) report(opt options, out io.Writer) error {
	list, err := r.compare(opt)
	if err := writeResults(opt.out, list); err != nil {
		return err
	}
	logf("written to %s", opt.out)
	if opt.guide != "" {
		err = errors.Join(err, writeGuide(opt.guide, list, r.rows))
	}
	if _, werr := io.WriteString(out, r.loadTable()+"\n"+comparisonTable(list)); werr != nil {
		return errors.Join(err, werr)
	}
	if r.rows != fullRows {
		logf("the bounds are for %d rows and were not judged", fullRows)
		return err
	}
	return errors.Join(err, judge(list))
}

func judge(list []comparison) error {
	var missed []error
	for _, c := range list {
		if need := goal(c.Name); c.Ratio < need {
			missed = append(missed, fmt.Errorf("%s: found %g times its peer or bound; required: %g or more", c.Name, c.Ratio, need))
		}
	}
	return errors.Join(missed...)
}

func writeResults(path string, list []comparison) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func readResults(path string) ([]comparison, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []comparison
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, c := range list {
		if goal(c.Name) == 0 {
			return nil, fmt.Errorf("%s: found the comparison %q; required: one of this program's", path, c.Name)
		}
	}
	return list, nil
}

func (r *results) loadTable() string {
	var b strings.Builder
	if len(r.loads) == 0 {
		return ""
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
	rows := [][]string{{"load", "round", "rows", "load s", "rows/s", "command s", "client CPU s", "server CPU s", "other CPU s", "client CPU s per M rows", "peak MiB", "load average before"}}
	var names []string
	for _, l := range r.loads {
		peak := ""
		if l.peak > 0 {
			peak = fmt.Sprintf("%.0f", mib(l.peak))
		}
		rows = append(rows, []string{l.name, fmt.Sprint(l.round), fmt.Sprint(l.rows), fmt.Sprintf("%.2f", l.took.Seconds()), fmt.Sprintf("%.0f", l.rate()), seconds(l.wall),
			seconds(l.client), seconds(l.servers), seconds(l.other), fmt.Sprintf("%.2f", l.client.Seconds()/float64(l.rows)*1e6), peak, l.loadAverage})
		if !slices.Contains(names, l.name) {
			names = append(names, l.name)
		}
	}
	for _, name := range names {
		rows = append(rows, []string{name, "median", fmt.Sprint(r.of(name)[0].rows), fmt.Sprintf("%.2f", r.middle(name, took).Seconds()), fmt.Sprint(r.rate(name, took)),
			seconds(r.middle(name, wall)), seconds(r.middle(name, client)), seconds(r.middle(name, func(l load) time.Duration { return l.servers })), "", "", "", ""})
	}
	markdown(&b, rows)
	return b.String()
}

func comparisonTable(list []comparison) string {
	rows := [][]string{{"comparison", "ours", "peer or bound", "unit", "ratio", "required", "peer"}}
	for _, c := range list {
		rows = append(rows, []string{c.Name, decimal(c.Ours), decimal(c.Peer), c.Unit, decimal(c.Ratio), fmt.Sprint(goal(c.Name)), c.PeerCommand})
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
