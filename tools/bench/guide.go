package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// told is what the guide says about a comparison: its name there, and what is
// counted on both sides.
type told struct{ title, counted string }

var guideTexts = map[string]told{
	loadVsFlink: {"Load, beside Flink", "rows of the load stage, by the promotion's journal, reading included; the Flink job's own duration. Neither counts the start of a process. Flink runs with each parallelism, " +
		"and its best one counts."},
	loadVsJava: {"Load, beside the Java client", "rows by the whole command: `terraform apply` from its start to its end, with all it does besides loading; the JVM from its start, with connecting and flushing, to its end. " +
		"The table is made beforehand for Java. `tools/bench/LoadTable.java`"},
	loadVsPyfluss:   {"Load, beside pyfluss", "the same, with Python's start. `tools/bench/pyload.py`"},
	loadVsLimit:     {"Load, beside what the servers take", "rows of the load stage; the same rows in batches that were sorted and encoded before the clock started, sent in the same order by the same client over as many connections."},
	cpuVsJava:       {"CPU of a load, beside the Java client", "all user and system time of the provider's process, planning included; of the JVM's process, its start included."},
	growth20M:       {"Load of ten times the rows", "rows of the load stage of a table with ten times the files."},
	loadServers3:    {"Load into three tablet servers, beside the Java client", "as beside the Java client above. The three servers share the machine's cores with both."},
	loadReplicated3: {"Load with replication 3, beside the Java client", "the same, every row stored by all three servers before it is acknowledged."},
	memory2M:        {"Memory of a load", "the highest resident memory (VmHWM) of the provider's process during `terraform apply`."},
	memory20M:       {"Memory of a load of ten times the rows", "the same."},
	memoryWide:      {"Memory of a load of large values", "the same; a row has 20 MB."},
	readVsJava: {"Merged read, beside Paimon Java", "wall time from planning to the last row, every value looked at; compiled and warm, the start of the JVM does not count. Paimon's reader has one thread, " +
		"beside those of the JVM's compiler and collector; this provider's unpacks and decodes columns on several cores. `tools/bench/ReadTable.java`"},
	readVsPypaimon: {"Merged read, beside pypaimon", "the same, without Python's start. `tools/bench/pyread.py`"},
	readVsRust:     {"Merged read, beside pypaimon-rust", "the same."},
	orcRead:        {"Merged read of ORC, beside Paimon Java", "CPU time of the whole process, once warm."},
	orcScan:        {"Scan of an ORC file, beside pyarrow", "CPU time, one thread. `tools/bench/orcscan.py`"},
	encodeRows:     {"Encoding rows", "CPU time of one thread that turns column batches into keys, rows and whole batches with their checksums. An allocation a row would fail the run."},
	planTime:       {"Plan", "`terraform plan` from its start to its end."},
	coldStart:      {"Plan of a small table, beside a provider that does nothing", "`terraform plan` from its start to its end, both from `dev_overrides`. `tools/nullprovider`"},
	previewTime:    {"Plan of many files", "`terraform plan` from its start to its end."},
	previewMemory:  {"Memory of a plan of many files", "the highest resident memory of the provider's process."},
	previewVsJava:  {"Listing many files, beside Paimon Java", "a process from its start to its end that lists every live file. `tools/bench/PlanTable.java`"},
}

const guideHead = `---
page_title: "Benchmarks"
subcategory: ""
description: |-
  How fast the provider is and what memory it takes, beside other ways to load and read the same tables.
---

<!-- Written by tools/bench from its results; do not edit. -->

# Benchmarks

Measured on %s, on a machine of %d cores and %s of memory that ran the servers (Fluss 0.9.1, one tablet server where nothing else is said), the provider and its peers: on such a machine the
servers are what limits a load. ` + "`make bench`" + ` repeats everything, with released parts from the package registries.

A ratio above 1 is better than the peer or within the bound. Where a share of the peer is allowed, the ratio is to that share.

`

const guideMethod = `
## How it was measured

- The source is a primary-key table of 10 columns (a BIGINT key, another BIGINT, three texts, INT, DOUBLE, DECIMAL(12, 2), DATE, TIMESTAMP(3)), 4 buckets, Parquet, written by pypaimon;
  a second commit updates a tenth of its keys. Ten times the rows are ten such ranges of keys.
- Peers and provider load it in turns, in rounds, each into a new Fluss table of the same 4 buckets on the same servers. Before each turn the servers become quiet, and each round begins
  with another one. The table is dropped after its turn. One round of a smaller table goes before and does not count.
- The provider sorts rows by the bytes of their keys, as far as its memory or a temporary file reaches, which is the order in which the servers keep them: that the servers take more
  rows of it than of its peers is its doing, not another server. Batches that are "encoded beforehand" have the same order.
- Both sides of a comparison are of one run. The page may hold comparisons of several.
- After each load the table's logs must hold one record for each row. After each read the rows and sums over all columns must be equal.
- Times are medians. Memory is the highest of all turns.
- The servers have their default settings, but for a heap of 2 GB, KV snapshots every 30 seconds, and limits that let a table of 10,000 partitions exist. Flink has one task manager.

## What is counted, and what each peer does

`

// writeGuide writes the guide's page about the results of a run of so many rows.
func writeGuide(path string, list []comparison, rows int) error {
	memory, err := memoryText()
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(guide(list, rows, time.Now(), runtime.NumCPU(), memory)), 0o644)
}

func guide(list []comparison, size int, when time.Time, cores int, memory string) string {
	var b strings.Builder
	fmt.Fprintf(&b, guideHead, when.UTC().Format("2 January 2006"), cores, memory)
	if size != fullRows {
		fmt.Fprintf(&b, "This was a run of reduced size, %s rows: it shows that everything is measured, the goals are for %s rows.\n\n", decimal(float64(size)), decimal(fullRows))
	}
	rows := [][]string{{"", "this provider", "peer or bound", "unit", "ratio", "goal"}}
	for _, c := range list {
		want := decimal(goal(c.Name))
		if size == fullRows && c.Ratio < goal(c.Name) {
			want += ", missed"
		}
		rows = append(rows, []string{guideTexts[c.Name].title, decimal(c.Ours), decimal(c.Peer), c.Unit, decimal(c.Ratio), want})
	}
	markdown(&b, rows)
	b.WriteString(guideMethod)
	for _, c := range list {
		beside, isBound := strings.CutPrefix(c.PeerCommand, "bound: ")
		what := "Beside it"
		if isBound {
			what = "Its bound"
		}
		fmt.Fprintf(&b, "- **%s** (`%s`): %s\n  %s: %s.\n", guideTexts[c.Name].title, c.Name, guideTexts[c.Name].counted, what, asText(beside))
	}
	return b.String()
}

// markup are the letters of a command that Markdown would take for its own.
var markup = regexp.MustCompile(`[*_<>\[\]]`)

func asText(command string) string {
	return markup.ReplaceAllStringFunc(command, func(s string) string { return "\\" + s })
}

// decimal writes a number with its thousands set apart.
func decimal(v float64) string {
	whole, rest, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

// memoryText is the machine's memory.
func memoryText() (string, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "", err
	}
	var kib int64
	if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kib); err != nil {
		return "", fmt.Errorf("/proc/meminfo: %w", err)
	}
	return fmt.Sprintf("%d GB", (kib<<10+500_000_000)/1_000_000_000), nil
}
