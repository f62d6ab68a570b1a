// Package faultpoint lets the fault-injection suite stop, kill or hold the
// provider at named points of a promotion. In ordinary builds every function
// here does nothing; the build tag faultpoints makes them obey the environment,
// see orders.go.
package faultpoint

// Point is a place in a promotion. Pairs ending in Before and After enclose one
// side effect.
type Point string

// The points, in the order in which a promotion passes them. Journal appends
// have points too: JournalBefore and JournalAfter with the event's name.
const (
	CreateTableBefore     Point = "create.table.before"
	CreateTableAfter      Point = "create.table.after"
	CreatePartitionBefore Point = "create.partition.before"
	CreatePartitionAfter  Point = "create.partition.after"
	PrepareSchemaBefore   Point = "prepare.schema.before"
	PrepareSchemaAfter    Point = "prepare.schema.after"
	LoadBegin             Point = "load.begin"
	LoadSend              Point = "load.send" // between the lease check and the send of one batch
	LoadEnd               Point = "load.end"  // everything answered
	RegisterPrepareBefore Point = "register.prepare.before"
	RegisterPrepareAfter  Point = "register.prepare.after"
	RegisterCommitBefore  Point = "register.commit.before"
	RegisterCommitAfter   Point = "register.commit.after"
	VerifyBegin           Point = "verify.begin"
	VerifyEnd             Point = "verify.end"
	EnableBefore          Point = "enable.alter.before"
	EnableAfter           Point = "enable.alter.after"
	DisableBefore         Point = "disable.alter.before"
	DisableAfter          Point = "disable.alter.after"
	DropBefore            Point = "drop.before"
	DropAfter             Point = "drop.after"
)

// JournalBefore is the point before an event is appended to the journal.
func JournalBefore(event string) Point { return Point("journal." + event + ".before") }

// JournalAfter is the point after it.
func JournalAfter(event string) Point { return Point("journal." + event + ".after") }
