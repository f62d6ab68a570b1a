package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
)

// Stage is where in a promotion, or in a removal, a fault hits.
type Stage string

// Fault is what goes wrong.
type Fault string

var stages = []Stage{"created", "prepared", "loading", "loaded", "registered", "verified", "enabled", "dropping"}

const (
	providerKilled   Fault = "provider-killed"   // SIGKILL
	providerStopped  Fault = "provider-stopped"  // SIGSTOP, later SIGCONT
	terraformInt     Fault = "terraform-sigint"  // once
	terraformInt2    Fault = "terraform-sigint2" // twice
	connectionsCut   Fault = "connections-cut"
	connectionsSlow  Fault = "connections-delayed"
	connectionsThin  Fault = "connections-throttled"
	answerLost       Fault = "answer-lost" // the request took effect
	ownerElsewhere   Fault = "owner-elsewhere"
	clocksApart      Fault = "clocks-apart"
	journalDeleted   Fault = "journal-deleted"
	tabletKilled     Fault = "tablet-killed"
	coordinatorAnew  Fault = "coordinator-restarted"
	zooKeeperPaused  Fault = "zookeeper-paused"
	dataDirFull      Fault = "data-directory-full"
	leaderMoved      Fault = "leader-moved"
	rounds                 = 2  // how often a full run does each pair
	schedulesInGroup       = 4  // that share one fault of a server
	sends                  = 12 // batches that every load sends at least
)

var faults = []Fault{providerKilled, providerStopped, terraformInt, terraformInt2, connectionsCut, connectionsSlow, connectionsThin,
	answerLost, ownerElsewhere, clocksApart, journalDeleted, tabletKilled, coordinatorAnew, zooKeeperPaused, dataDirFull, leaderMoved}

// ofServers are the faults of servers: they hit every schedule that runs.
var ofServers = map[Fault]bool{tabletKilled: true, coordinatorAnew: true, zooKeeperPaused: true, dataDirFull: true, leaderMoved: true}

// senseless are the pairs that are not run, and why. There is none: each fault
// can meet each stage. (Where a stage changes only files, as prepared does, the
// faults of connections meet its journal entries.)
var senseless = map[pair]string{}

type pair struct {
	stage Stage
	fault Fault
}

// pairs is every pair that makes sense.
func pairs() []pair {
	var out []pair
	for _, f := range faults {
		for _, s := range stages {
			if p := (pair{s, f}); senseless[p] == "" {
				out = append(out, p)
			}
		}
	}
	return out
}

// place is a point and how often it has to be reached, at most.
type place struct {
	point faultpoint.Point
	upTo  int
}

func at(p faultpoint.Point) place { return place{p, 1} }

func journal(event string) []place {
	return []place{at(faultpoint.JournalBefore(event)), at(faultpoint.JournalAfter(event))}
}

// places are the points of a stage outside of journal appends, during which
// the heartbeat goes on while a point is held.
var places = map[Stage][]place{
	"created": {at(faultpoint.CreateTableBefore), at(faultpoint.CreateTableAfter), {faultpoint.CreatePartitionBefore, 2},
		{faultpoint.CreatePartitionAfter, 2}},
	"prepared":   {at(faultpoint.PrepareSchemaBefore), at(faultpoint.PrepareSchemaAfter)},
	"loading":    {at(faultpoint.LoadBegin), {faultpoint.LoadSend, sends}, {faultpoint.LoadSend, sends}, {faultpoint.LoadSend, sends}},
	"loaded":     {at(faultpoint.LoadEnd)},
	"registered": {at(faultpoint.RegisterPrepareBefore), at(faultpoint.RegisterPrepareAfter), at(faultpoint.RegisterCommitBefore), at(faultpoint.RegisterCommitAfter)},
	"verified":   {at(faultpoint.VerifyBegin), at(faultpoint.VerifyEnd)},
	"enabled":    {at(faultpoint.EnableBefore), at(faultpoint.EnableAfter)},
	"dropping":   {at(faultpoint.DropBefore), at(faultpoint.DropAfter)},
}

// journalPlaces are the points around the stage's own journal events.
var journalPlaces = map[Stage][]place{
	"created":    append(journal("started"), journal("created")...),
	"prepared":   journal("prepared"),
	"loading":    append(journal("loading"), journal("buckets-loaded")...),
	"loaded":     journal("loaded"),
	"registered": journal("registered"),
	"verified":   journal("verified"),
	"enabled":    journal("enabled"),
	"dropping":   append(journal("dropping"), journal("dropped")...),
}

// Ways in which a table is dropped.
const (
	dropDestroy = "destroy" // of an enabled promotion
	dropRestart = "restart" // of an unfinished one whose source has moved on
	dropFence   = "fence"   // of an unfinished one whose owner's end is not proven
)

// Schedule is one run: everything follows from stage, fault and seed.
type Schedule struct {
	Number int    `json:"number"`
	Seed   uint64 `json:"seed"`
	Stage  Stage  `json:"stage"`
	Fault  Fault  `json:"fault"`

	Point   faultpoint.Point `json:"point"`
	Nth     int              `json:"nth"`
	Variant string           `json:"variant,omitempty"`
	Drop    string           `json:"drop,omitempty"`
	rnd     *rand.Rand
}

func (s *Schedule) String() string {
	return fmt.Sprintf("%d %s/%s/%d", s.Number, s.Stage, s.Fault, s.Seed)
}

func (s *Schedule) order(action string) string {
	return fmt.Sprintf("%s#%d=%s", s.Point, s.Nth, action)
}

// between is a random number of milliseconds of this schedule.
func (s *Schedule) between(low, high int) int { return low + s.rnd.IntN(high-low+1) }

func choose[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// newSchedule works out a schedule from its pair and seed.
func newSchedule(number int, p pair, seed uint64) *Schedule {
	s := &Schedule{Number: number, Seed: seed, Stage: p.stage, Fault: p.fault}
	s.rnd = rand.New(rand.NewPCG(seed, hash(string(p.stage)+"/"+string(p.fault))))
	if s.Stage == "dropping" {
		s.Drop = choose(s.rnd, dropDestroy, dropDestroy, dropRestart, dropFence)
	}
	s.Variant = choose(s.rnd, variants(s)...)
	where := slices.Clone(places[s.Stage])
	switch {
	case s.Fault == answerLost:
		where = lostPlaces(s)
	case !ofServers[s.Fault] && !held[s.Fault] && s.Drop != dropFence:
		// A fence drops without a dropping event.
		where = append(where, journalPlaces[s.Stage]...)
	}
	if s.Fault == journalDeleted && s.Drop == dropDestroy {
		where = []place{at(faultpoint.DropBefore)}
	}
	if s.Fault == ownerElsewhere || s.Fault == clocksApart {
		// The owner has to be in the journal of an operation that can be found.
		where = slices.DeleteFunc(where, func(p place) bool { return unrecorded[p.point] })
	}
	to := choose(s.rnd, where...)
	s.Point, s.Nth = to.point, 1+s.rnd.IntN(to.upTo)
	return s
}

// unrecorded are points at which the journal cannot tell of the owner yet.
var unrecorded = map[faultpoint.Point]bool{
	faultpoint.JournalBefore("started"): true, faultpoint.JournalAfter("started"): true, faultpoint.CreateTableBefore: true,
	faultpoint.JournalBefore("dropping"): true,
}

// held are faults for which the point is held while other things are done,
// longer than the lease of an owner that cannot beat.
var held = map[Fault]bool{journalDeleted: true, connectionsCut: true, connectionsSlow: true, connectionsThin: true}

// variants are the ways of doing the schedule's fault.
func variants(s *Schedule) []string {
	switch s.Fault {
	case providerStopped:
		// superseded: another apply takes over while the owner sleeps.
		return []string{"short", "lease-lost", "superseded", "superseded"}
	case connectionsCut:
		return []string{"refused", "reset", "hanging", "refused-past-lease"}
	case zooKeeperPaused:
		return []string{"short", "past-session"}
	case clocksApart:
		return []string{"first-ahead", "first-behind"}
	default:
		return []string{""}
	}
}

// lostPlaces are points before a request whose answer can be lost.
func lostPlaces(s *Schedule) []place {
	before := func(events ...string) []place {
		var out []place
		for _, e := range events {
			out = append(out, at(faultpoint.JournalBefore(e)))
		}
		return out
	}
	switch s.Stage {
	case "created":
		return append(before("started", "created"), at(faultpoint.CreateTableBefore), at(faultpoint.CreateTableBefore), at(faultpoint.CreatePartitionBefore))
	case "prepared":
		return before("prepared")
	case "loading":
		return append(before("loading", "buckets-loaded"), place{faultpoint.LoadSend, sends}, place{faultpoint.LoadSend, sends})
	case "loaded":
		return before("loaded")
	case "registered":
		return append(before("registered"), at(faultpoint.RegisterPrepareBefore), at(faultpoint.RegisterCommitBefore), at(faultpoint.RegisterCommitBefore))
	case "verified":
		return append(before("verified"), at(faultpoint.VerifyBegin))
	case "enabled":
		return append(before("enabled"), at(faultpoint.EnableBefore), at(faultpoint.EnableBefore))
	default:
		if s.Drop == dropFence {
			return []place{at(faultpoint.DropBefore)}
		}
		return append(before("dropping", "dropped"), at(faultpoint.DropBefore), at(faultpoint.DropBefore))
	}
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// plan is the schedules of a run: each pair rounds times, or, when n is fewer, n
// of them with every fault before any comes twice.
func plan(seed uint64, n int) []*Schedule {
	all := pairs()
	rnd := rand.New(rand.NewPCG(seed, 0))
	var chosen []pair
	for len(chosen) < cmp.Or(n, rounds*len(all)) {
		round := slices.Clone(all)
		rnd.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		seen := map[Fault]int{}
		rank := map[pair]int{}
		for _, p := range round {
			rank[p] = seen[p.fault]
			seen[p.fault]++
		}
		slices.SortStableFunc(round, func(a, b pair) int { return rank[a] - rank[b] })
		chosen = append(chosen, round...)
	}
	if n > 0 {
		chosen = chosen[:n]
	}
	out := make([]*Schedule, len(chosen))
	for i, p := range chosen {
		out[i] = newSchedule(i+1, p, rnd.Uint64()>>12)
	}
	return out
}
