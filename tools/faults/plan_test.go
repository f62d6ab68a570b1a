package main

import (
	"reflect"
	"testing"
)

func TestPlanCoversEveryPairTwice(t *testing.T) {
	count := map[pair]int{}
	for _, s := range plan(5, 0) {
		count[pair{s.Stage, s.Fault}]++
		if s.Point == "" || s.Nth < 1 {
			t.Errorf("%s: point %q, occurrence %d", s, s.Point, s.Nth)
		}
	}
	if len(count) != len(stages)*len(faults)-len(senseless) || len(count)*rounds < 200 {
		t.Errorf("%d pairs", len(count))
	}
	for p, n := range count {
		if n != rounds {
			t.Errorf("%s/%s: %d times", p.stage, p.fault, n)
		}
	}
}

func TestPlanIsRepeatable(t *testing.T) {
	a, b, other := plan(9, 40), plan(9, 40), plan(10, 40)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gives other schedules")
	}
	if reflect.DeepEqual(a, other) {
		t.Error("another seed gives the same schedules")
	}
	for _, s := range a {
		again := newSchedule(s.Number, pair{s.Stage, s.Fault}, s.Seed)
		if again.Point != s.Point || again.Nth != s.Nth || again.Variant != s.Variant || again.Drop != s.Drop {
			t.Errorf("%s: again it is %s#%d %s %s", s, again.Point, again.Nth, again.Variant, again.Drop)
		}
	}
}

// A short run has every fault.
func TestShortPlan(t *testing.T) {
	seen := map[Fault]bool{}
	for _, s := range plan(1, 20) {
		seen[s.Fault] = true
	}
	if len(seen) != len(faults) {
		t.Errorf("%d of %d faults in a run of 20", len(seen), len(faults))
	}
}

func TestSummaries(t *testing.T) {
	text := "│ Warning: Lake promotion preview\n│ Found: not this\n╵\n│ Error: Unable to create lake promotion\n│\n│ Found: process 7 on\n│ host \"a\"\n"
	if got, want := summaries(text), `Error: Unable to create lake promotion; Found: process 7 on host "a"`; got != want {
		t.Errorf("%q, %q wanted", got, want)
	}
}
