package main

import (
	"fmt"
	"slices"
	"time"
)

// The comparisons. bench_test.go and the guide rely on the names.
const (
	loadVsFlink   = "load_vs_flink"
	loadVsJava    = "load_vs_java"
	loadVsPyfluss = "load_vs_pyfluss"
	loadVsLimit   = "load_vs_limit"
	cpuVsJava     = "cpu_vs_java"
	growth20M     = "growth_20m"

	loadServers3    = "load_vs_java_3_servers"
	loadReplicated3 = "load_vs_java_replication_3"

	readVsJava     = "read_vs_java"
	readVsPypaimon = "read_vs_pypaimon"
	readVsRust     = "read_vs_pypaimon_rust"
	encodeRows     = "encode_rows"
	orcScan        = "orc_scan_vs_pyarrow"
	orcRead        = "orc_read_vs_java"

	memory2M   = "memory_2m"
	memory20M  = "memory_20m"
	memoryWide = "memory_wide"

	planTime      = "plan_time"
	coldStart     = "cold_start"
	previewTime   = "preview_time"
	previewMemory = "preview_memory"
	previewVsJava = "preview_vs_java"
)

// The bounds.
const (
	memoryBound     = 256 // MiB
	memoryWideBound = 512 // MiB
	limitShare      = 0.9 // of what the servers take
	growthShare     = 0.85
	encodeBound     = 7e6 // rows a second of one core
	coldFactor      = 1.5 // times a provider that does nothing

	planBound          = 1.0 // seconds
	previewBound       = 3.0 // seconds
	previewMemoryBound = 300 // MiB
)

// comparing is one comparison: its name, the ratio it is to reach, whether there
// is something to make it from, and how it is made.
type comparing struct {
	name     string
	required float64
	measured func(r *results) bool
	make     func(r *results) comparison
}

// comparisons are all there are, in the order of bench.json and of the guide.
var comparisons = []comparing{
	{loadVsFlink, 2.5, loaded(ours, flinkName(1), flinkName(2), flinkName(4)), (*results).compareFlink},
	{loadVsJava, 1.5, loaded(ours, javaName), (*results).compareJava},
	{loadVsPyfluss, 1.5, loaded(ours, pyflussName), (*results).comparePyfluss},
	{loadVsLimit, 1, loaded(ours, limitName), (*results).compareLimit},
	{cpuVsJava, 10, loaded(ours, javaName), (*results).compareCPU},
	{growth20M, 1, loaded(ours, oursLarge), (*results).compareGrowth},
	{loadServers3, 1.5, loaded(replicatedName(ours, 1), replicatedName(javaName, 1)), func(r *results) comparison { return r.compareReplicated(1) }},
	{loadReplicated3, 1.5, loaded(replicatedName(ours, 3), replicatedName(javaName, 3)), func(r *results) comparison { return r.compareReplicated(3) }},
	{memory2M, 1, loaded(ours), func(r *results) comparison { return r.compareMemory(ours, memoryBound) }},
	{memory20M, 1, loaded(oursLarge), func(r *results) comparison { return r.compareMemory(oursLarge, memoryBound) }},
	{memoryWide, 1, loaded(oursBroad), func(r *results) comparison { return r.compareMemory(oursBroad, memoryWideBound) }},
	{readVsJava, 5, read(readerJava), func(r *results) comparison { return r.compareRead(readerJava) }},
	{readVsPypaimon, 4, read(readerPypaimon), func(r *results) comparison { return r.compareRead(readerPypaimon) }},
	{readVsRust, 4, read(readerRust), func(r *results) comparison { return r.compareRead(readerRust) }},
	{orcRead, 1.5, func(r *results) bool { return len(r.merges) > 0 }, (*results).compareORCRead},
	{orcScan, 0.5, func(r *results) bool { return len(r.scans) > 0 }, (*results).compareORC},
	{encodeRows, 1, func(r *results) bool { return len(r.encoded) > 0 }, (*results).compareEncode},
	{planTime, 1, func(r *results) bool { return len(r.plans) > 0 }, (*results).comparePlan},
	{coldStart, 1, func(r *results) bool { return len(r.colds[0]) > 0 && len(r.colds[1]) > 0 }, (*results).compareCold},
	{previewTime, 1, previewed, (*results).comparePreviewTime},
	{previewMemory, 1, previewed, (*results).comparePreviewMemory},
	{previewVsJava, 5, func(r *results) bool { return len(r.planned[0]) > 0 && len(r.planned[1]) > 0 }, (*results).comparePreviewJava},
}

// goal is the ratio that a comparison is to reach; 0: there is none of the name.
func goal(name string) float64 {
	for _, c := range comparisons {
		if c.name == name {
			return c.required
		}
	}
	return 0
}

func loaded(names ...string) func(*results) bool {
	return func(r *results) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return len(r.of(n)) == 0 })
	}
}

func read(name string) func(*results) bool {
	return func(r *results) bool { return len(r.reads[name]) > 0 && len(r.reads[readerOurs]) > 0 }
}

func previewed(r *results) bool { return len(r.previews) > 0 }

// compareFlink takes the load stage beside the job's own duration: neither
// counts the start of its process, and both count reading.
func (r *results) compareFlink() comparison {
	best := flinkParallelism[0]
	for _, p := range flinkParallelism {
		if r.middle(flinkName(p), took) < r.middle(flinkName(best), took) {
			best = p
		}
	}
	a, b := r.rate(ours, took), r.rate(flinkName(best), took)
	return comparison{Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/b, 2),
		PeerCommand: fmt.Sprintf("Flink %s batch, parallelism %d, the best of %v, of %d slots: %s; %d rows, median of %d job durations, beside the load stage; same servers",
			r.flinkVersion, best, flinkParallelism, slots, fmt.Sprintf(insert, database, "t", database, source), r.rows, len(r.of(flinkName(best))))}
}

// compareJava takes whole commands, from their start to their end: terraform
// apply with everything it does before and after the load, and the JVM with its
// start, its connection and its flush. Making the table is left out for Java.
func (r *results) compareJava() comparison {
	a, b := r.rate(ours, wall), r.rate(javaName, wall)
	return comparison{Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/b, 2),
		PeerCommand: fmt.Sprintf("java %s LoadTable (Fluss's UpsertWriter 0.9.1 fed by Paimon 1.3.1's TableRead, %d threads), the whole process beside the whole terraform apply; %d rows, medians of %d, same servers; "+
			"the loads alone: %.0f and %.0f rows/s", r.javaVersion, javaThreads, r.rows, len(r.of(javaName)), r.rate(ours, took), r.rate(javaName, took))}
}

// comparePyfluss takes whole commands, as compareJava does.
func (r *results) comparePyfluss() comparison {
	a, b := r.rate(ours, wall), r.rate(pyflussName, wall)
	return comparison{Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/b, 2),
		PeerCommand: fmt.Sprintf("python pyload.py (pyfluss 1.0.0's UpsertWriter fed by pypaimon 1.4.2's to_iterator), the whole process beside the whole terraform apply; %d rows, medians of %d, same servers; "+
			"the loads alone: %.0f and %.0f rows/s", r.rows, len(r.of(pyflussName)), r.rate(ours, took), r.rate(pyflussName, took))}
}

func (r *results) compareLimit() comparison {
	a, b := r.rate(ours, took), r.rate(limitName, took)
	return comparison{Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/(limitShare*b), 2),
		PeerCommand: fmt.Sprintf("the same %d rows encoded beforehand and only sent, by this provider's client, medians of %d, same servers; the ratio is to %g of it", r.rows, len(r.of(limitName)), limitShare)}
}

// compareCPU takes all CPU time of the provider's process beside all of the JVM's.
func (r *results) compareCPU() comparison {
	per := func(name string) float64 {
		return round(r.middle(name, client).Seconds()/float64(r.of(name)[0].rows)*1e6, 3)
	}
	a, b := per(ours), per(javaName)
	return comparison{Ours: a, Peer: b, Unit: "CPU s/M rows", Ratio: round(b/a, 2),
		PeerCommand: fmt.Sprintf("java %s LoadTable, all CPU time of its process, reading included; medians of %d", r.javaVersion, len(r.of(javaName)))}
}

func (r *results) compareGrowth() comparison {
	a, b := r.rate(oursLarge, took), r.rate(ours, took)
	return comparison{Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/(growthShare*b), 2),
		PeerCommand: fmt.Sprintf("the same provider with %d rows in place of %d, medians of %d; the ratio is to %g of it", r.rows, largeFactor*r.rows, len(r.of(oursLarge)), growthShare)}
}

func (r *results) compareMemory(name string, bound float64) comparison {
	peak, of := r.peak(name), r.of(name)
	return comparison{Ours: round(peak, 1), Peer: bound, Unit: "MiB", Ratio: round(bound/peak, 2),
		PeerCommand: fmt.Sprintf("bound: %g MiB, provider process, highest of %d loads of %s", bound, len(of), r.shape(name, of[0].rows))}
}

func (r *results) shape(name string, rows int) string {
	if name == oursBroad {
		return fmt.Sprintf("%d rows, %d columns, values of %d bytes", rows, broadColumns, broadValue)
	}
	return fmt.Sprintf("%d rows", rows)
}

func (r *results) compareRead(peer string) comparison {
	a, b := round(median(r.reads[readerOurs]), 0), round(median(r.reads[peer]), 0)
	what := map[string]string{
		readerJava:     fmt.Sprintf("Paimon 1.3.1's TableRead on Java %s, once warm", r.javaVersion),
		readerPypaimon: "pypaimon 1.4.2's to_arrow_batch_reader",
		readerRust:     "pypaimon-rust " + rustVersion + "'s read_arrow, with the threads it takes",
	}[peer]
	return comparison{Ours: a, Peer: b, Unit: "rows/s", Ratio: round(a/b, 2),
		PeerCommand: fmt.Sprintf("%s; %d rows of 10 columns in %d overlapping Parquet files, merged, wall time without the start of the process, median of %d", what, r.readRows, readRuns, len(r.reads[peer]))}
}

func (r *results) compareEncode() comparison {
	a := round(median(r.encoded), 0)
	return comparison{Ours: a, Peer: encodeBound, Unit: "rows/CPU s", Ratio: round(a/encodeBound, 2),
		PeerCommand: fmt.Sprintf("bound: %g rows a second of one core without an allocation; keys, rows and batches of the table of 10 columns, checksums included, median of %d", encodeBound, len(r.encoded))}
}

func (r *results) comparePlan() comparison {
	s := median(r.plans).Seconds()
	return comparison{Ours: round(s, 3), Peer: planBound, Unit: "s", Ratio: round(planBound/s, 2),
		PeerCommand: fmt.Sprintf("bound: %g s, median of %d terraform plan of %d rows", planBound, len(r.plans), r.rows)}
}

func (r *results) compareCold() comparison {
	null, own := median(r.colds[0]).Seconds(), median(r.colds[1]).Seconds()
	return comparison{Ours: round(own, 3), Peer: round(null, 3), Unit: "s", Ratio: round(coldFactor*null/own, 2),
		PeerCommand: fmt.Sprintf("terraform plan with tools/nullprovider, which does nothing, beside one of a table of %d rows, medians of %d turns; the ratio is to %g times it", smallRows, len(r.colds[0]), coldFactor)}
}

func (r *results) comparePreviewTime() comparison {
	var all []time.Duration
	for _, p := range r.previews {
		all = append(all, p.took)
	}
	s := median(all).Seconds()
	return comparison{Ours: round(s, 3), Peer: previewBound, Unit: "s", Ratio: round(previewBound/s, 2),
		PeerCommand: fmt.Sprintf("bound: %g s, median of %d terraform plan of %d partitions and %d files", previewBound, len(all), wideOptions.Partitions, wideFiles)}
}

func (r *results) comparePreviewMemory() comparison {
	var peak int64
	for _, p := range r.previews {
		peak = max(peak, p.peak)
	}
	return comparison{Ours: round(mib(peak), 1), Peer: previewMemoryBound, Unit: "MiB", Ratio: round(previewMemoryBound/mib(peak), 2),
		PeerCommand: fmt.Sprintf("bound: %d MiB, provider process, highest of %d terraform plan of %d partitions and %d files", previewMemoryBound, len(r.previews), wideOptions.Partitions, wideFiles)}
}

func (r *results) comparePreviewJava() comparison {
	java, own := median(r.planned[0]).Seconds(), median(r.planned[1]).Seconds()
	return comparison{Ours: round(own, 3), Peer: round(java, 3), Unit: "s", Ratio: round(java/own, 2),
		PeerCommand: fmt.Sprintf("java %s PlanTable (Paimon 1.3.1, newReadBuilder().newScan().plan(), start of the JVM included), medians of %d turns; %d partitions, %d files",
			r.javaVersion, len(r.planned[0]), wideOptions.Partitions, wideFiles)}
}

func (r *results) compareORC() comparison {
	a, b := middleScan(r.scans, func(s scan) float64 { return s.ours }), middleScan(r.scans, func(s scan) float64 { return s.peer })
	return comparison{Ours: a, Peer: b, Unit: "rows/CPU s", Ratio: round(a/b, 2),
		PeerCommand: fmt.Sprintf("pyarrow.orc.ORCFile.read_stripe of every stripe on one thread; 500000 rows of 10 columns, zstd, median of %d", len(r.scans))}
}

func (r *results) compareORCRead() comparison {
	a, b := middleScan(r.merges, func(s scan) float64 { return s.ours }), middleScan(r.merges, func(s scan) float64 { return s.peer })
	return comparison{Ours: a, Peer: b, Unit: "rows/CPU s", Ratio: round(a/b, 2),
		PeerCommand: fmt.Sprintf("Paimon 1.3.1's TableRead on Java %s, its process's processor time once warm; 10 columns, two overlapping ORC files, median of %d", r.javaVersion, len(r.merges))}
}

func middleScan(scans []scan, get func(scan) float64) float64 {
	var all []float64
	for _, s := range scans {
		all = append(all, get(s))
	}
	return round(median(all), 0)
}
