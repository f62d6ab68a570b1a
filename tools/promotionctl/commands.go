package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

// report is what status prints as JSON; the names are kept between releases.
type report struct {
	Table           string    `json:"table"`
	ClusterID       string    `json:"cluster_id"`
	OperationID     string    `json:"operation_id"`
	Stage           string    `json:"stage"`
	Liveness        string    `json:"liveness"` // unknown, alive, silent, ended
	Host            string    `json:"host"`
	PID             int64     `json:"pid"`
	Since           time.Time `json:"since"`
	LastSeen        time.Time `json:"last_seen"`
	Ended           string    `json:"ended,omitempty"`
	Reason          string    `json:"reason,omitempty"`
	CancelRequested bool      `json:"cancel_requested,omitempty"`
	Rows            int64     `json:"rows"`
	TotalRows       int64     `json:"total_rows,omitempty"` // upper bound
	Bytes           int64     `json:"bytes"`
	RowsPerSecond   float64   `json:"rows_per_second,omitempty"`
	Buckets         int       `json:"buckets_loaded"`
	Events          int       `json:"events"`
}

func reportOf(name promotion.TableName, st *promotion.Status) report {
	return report{Table: name.String(), ClusterID: st.Result.ClusterID, OperationID: st.Result.OperationID, Stage: string(st.Result.Stage),
		Liveness: string(st.Liveness), Host: st.Owner.Host, PID: st.Owner.PID, Since: st.Since.UTC(), LastSeen: st.LastSeen.UTC(),
		Ended: string(st.Ended), Reason: st.Reason, CancelRequested: st.CancelRequested, Rows: st.Progress.Rows, TotalRows: st.Progress.TotalRows,
		Bytes: st.Progress.Bytes, RowsPerSecond: st.Progress.RowsPerSec, Buckets: len(st.Result.BucketOffsets), Events: len(st.Events)}
}

func status(ctx context.Context, svc *promotion.Service, opt options, out io.Writer) error {
	st, err := svc.Status(ctx, opt.name)
	if err != nil {
		return err
	}
	r := reportOf(opt.name, st)
	if opt.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	line := func(label, format string, args ...any) {
		fmt.Fprintf(out, "%-13s"+format+"\n", append([]any{label}, args...)...)
	}
	line("table", "%s (ID %d)", r.Table, st.Result.TableID)
	line("operation", "%s, begun %s", r.OperationID, stamp(r.Since))
	line("stage", "%s", r.Stage)
	line("last worker", "%s; %s, last seen %s", st.Owner, r.Liveness, stamp(r.LastSeen))
	if r.Ended != "" {
		line("ended", "%s: %s", r.Ended, orDash(r.Reason))
	}
	if r.CancelRequested {
		line("stop", "requested, not answered yet")
	}
	line("loaded", "%s", amount(st.Progress))
	if snap := st.Result.RegisteredSnapshotID; snap != nil {
		line("registered", "Paimon snapshot %d, %d buckets", *snap, r.Buckets)
	}
	for _, e := range st.Events {
		if e.Kind != promotion.EventHeartbeat {
			line("", "%s  %s%s", stamp(e.At), e.Kind, because(e.Detail.Reason))
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func because(s string) string {
	if s == "" {
		return ""
	}
	return "  (" + s + ")"
}

// amount is "1,200,000 of at most 2,000,000 rows, 310.0 MiB, 120,000 rows/s, 7s left".
func amount(p promotion.Progress) string {
	text := group(p.Rows)
	if p.TotalRows > 0 {
		text += " of at most " + group(p.TotalRows)
	}
	text += fmt.Sprintf(" rows, %.1f MiB", float64(p.Bytes)/(1<<20))
	if p.RowsPerSec > 0 {
		text += ", " + group(int64(p.RowsPerSec)) + " rows/s"
	}
	if p.Remaining > 0 {
		text += ", " + p.Remaining.Round(time.Second).String() + " left"
	}
	return text
}

func group(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

const barWidth = 30

// bar is "[######------]"; empty without a total.
func bar(p promotion.Progress) string {
	if p.TotalRows <= 0 {
		return ""
	}
	full := int(min(p.Rows, p.TotalRows) * barWidth / p.TotalRows)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", barWidth-full) + "] "
}

// follower prints what is seen: on a terminal one line that changes, elsewhere a
// line for each change.
type follower struct {
	out      io.Writer
	terminal bool
	last     string
	width    int
}

func newFollower(out io.Writer) *follower {
	f := &follower{out: out}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		f.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return f
}

func (f *follower) show(st *promotion.Status) {
	text := fmt.Sprintf("%-10s %s%s", st.Result.Stage, bar(st.Progress), amount(st.Progress))
	if st.CancelRequested {
		text += "; stop requested"
	}
	if st.Ended != "" {
		text += fmt.Sprintf("; %s by %s%s", st.Ended, st.Owner, because(st.Reason))
	}
	if st.Liveness == promotion.LivenessSilent {
		text += fmt.Sprintf("; %s is silent since %s", st.Owner, stamp(st.LastSeen))
	}
	if text == f.last {
		return
	}
	f.last = text
	if !f.terminal {
		fmt.Fprintln(f.out, text)
		return
	}
	fmt.Fprintf(f.out, "\r%-*s", f.width, text)
	f.width = len(text)
}

func (f *follower) end() {
	if f.terminal && f.last != "" {
		fmt.Fprintln(f.out)
	}
}

func watch(ctx context.Context, svc *promotion.Service, opt options, out io.Writer) error {
	f := newFollower(out)
	defer f.end()
	var seen int
	quietSince := time.Now()
	for {
		st, err := svc.Status(ctx, opt.name)
		if err != nil {
			return err
		}
		// Two looks at the journal on one clock tell what its own times cannot.
		if len(st.Events) != seen {
			seen, quietSince = len(st.Events), time.Now()
		} else if st.Liveness == promotion.LivenessUnknown && time.Since(quietSince) > 3*opt.config.Heartbeat {
			st.Liveness = promotion.LivenessSilent
		}
		f.show(st)
		switch {
		case st.Result.Stage == promotion.StageEnabled && st.Ended == "", st.Result.Stage == promotion.StageDisabled && st.Ended == "":
			return nil
		case st.Liveness == promotion.LivenessEnded && st.Ended == "":
			return fmt.Errorf("%w: %s is gone, at stage %s; apply again to go on", errEnded, st.Owner, st.Result.Stage)
		case st.Liveness == promotion.LivenessEnded:
			return fmt.Errorf("%w: %s at stage %s", errEnded, st.Ended, st.Result.Stage)
		}
		t := time.NewTimer(opt.every)
		select {
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("stopped watching: %w", ctx.Err())
		case <-t.C:
		}
	}
}

func cancel(ctx context.Context, svc *promotion.Service, opt options, out io.Writer) error {
	f := newFollower(out)
	defer f.end()
	outcome, err := svc.Cancel(ctx, opt.name, opt.reason, f.show)
	switch {
	case err != nil:
		return err
	case !outcome.Requested:
		fmt.Fprintf(out, "nothing is running: operation %s, stage %s, last worked on by %s\n", outcome.Status.Result.OperationID, outcome.Status.Result.Stage, outcome.Status.Owner)
	default:
		f.show(outcome.Status)
		f.end()
		f.last = ""
		fmt.Fprintf(out, "stopped: nothing of operation %s can write any more; apply again to load anew, or destroy to remove it\n", outcome.Status.Result.OperationID)
	}
	return nil
}
