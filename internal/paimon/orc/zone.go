package orc

import (
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a writer's zone must not depend on the reader's machine
)

// utc2015 is 2015-01-01 00:00:00 UTC in seconds since the epoch.
const utc2015 = 1420070400

// java1900 is 1900-01-01 00:00:00 UTC in milliseconds: before it Java's
// java.util.TimeZone has the zone's present standard time, not its history.
const java1900 = -2208988800000

// zone is a time zone as java.util.TimeZone knows it.
type zone struct {
	utc      bool
	loc      *time.Location
	base2015 int64 // local 2015-01-01 00:00:00 in seconds since the epoch
	standard int64 // present standard offset, milliseconds

	// The offset at the time last asked for, and where it holds.
	from, to, last int64
}

// offset is what the zone's clocks are ahead of UTC, in milliseconds.
func (z *zone) offset(millis int64) int64 {
	if millis >= z.from && millis < z.to {
		return z.last
	}
	if millis < java1900 {
		return z.standard
	}
	t := time.UnixMilli(millis).In(z.loc)
	_, seconds := t.Zone()
	start, end := t.ZoneBounds()
	z.from, z.to, z.last = java1900, millis+1, int64(seconds)*1000
	if !start.IsZero() {
		z.from = max(java1900, start.UnixMilli())
	}
	if !end.IsZero() {
		z.to = end.UnixMilli()
	}
	return z.last
}

var zones sync.Map // of string to zone; bounded by the zones there are

// loadZone finds the zone of a stripe; no name stands for UTC.
func loadZone(id string) (*zone, error) {
	switch id {
	case "", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "UCT", "Etc/UCT", "Zulu", "Universal", "Greenwich", "GMT0", "Etc/Universal", "Etc/Zulu":
		return &zone{utc: true, base2015: utc2015}, nil
	}
	if z, ok := zones.Load(id); ok {
		z := z.(zone)
		return &z, nil
	}
	loc, err := location(id)
	if err != nil {
		return nil, err
	}
	z := zone{loc: loc, base2015: time.Date(2015, 1, 1, 0, 0, 0, 0, loc).Unix()}
	for _, month := range []time.Month{time.January, time.July} {
		t := time.Date(2035, month, 1, 0, 0, 0, 0, loc)
		if _, seconds := t.Zone(); !t.IsDST() {
			z.standard = int64(seconds) * 1000
		}
	}
	zones.Store(id, z)
	return &z, nil
}

// shortIDs are the three-letter zones of Java that are not in the tz database,
// or mean something else there (java.time.ZoneId.SHORT_IDS).
var shortIDs = map[string]string{
	"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo",
	"AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
	"CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", //nolint:misspell // as Java has it
	"IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
	"NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
	"PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
	"EST": "GMT-05:00", "MST": "GMT-07:00", "HST": "GMT-10:00",
}

func location(id string) (*time.Location, error) {
	name := id
	if long, ok := shortIDs[id]; ok {
		name = long
	}
	if seconds, ok := customOffset(name); ok {
		return time.FixedZone(id, seconds), nil
	}
	if name != "Local" {
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, unsupportedf("the writer's time zone %q is not known", clip(id))
}

// customOffset reads Java's form of a zone without a name: GMT+8, GMT-05:30.
func customOffset(id string) (seconds int, ok bool) {
	rest, ok := strings.CutPrefix(id, "GMT")
	if !ok || len(rest) < 2 || rest[0] != '+' && rest[0] != '-' {
		return 0, false
	}
	hours, minutes, ok := strings.Cut(rest[1:], ":")
	if !ok {
		if minutes = "0"; len(hours) > 2 {
			hours, minutes = hours[:len(hours)-2], hours[len(hours)-2:]
		}
	}
	h, err := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	if err != nil || err2 != nil || h > 23 || m > 59 {
		return 0, false
	}
	seconds = int(h)*3600 + int(m)*60
	if rest[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}
