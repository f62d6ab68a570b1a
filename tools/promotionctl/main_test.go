package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/promotion"
)

func TestCommandLine(t *testing.T) {
	t.Setenv("FLUSS_BOOTSTRAP_SERVERS", "")
	const servers = "-bootstrap=127.0.0.1:1"
	for name, c := range map[string]struct {
		args []string
		want string // "": goes through to the cluster, which is not there
	}{
		"no command":        {[]string{}, "help"},
		"unknown command":   {[]string{"stop", servers, "a.b"}, `no command "stop"`},
		"no table":          {[]string{"status", servers}, `the table is ""`},
		"no database":       {[]string{"status", servers, "b"}, `the table is "b"`},
		"three parts":       {[]string{"status", servers, "a.b.c"}, `the table is "a.b.c"`},
		"stray argument":    {[]string{"status", servers, "a.b", "c"}, `unexpected argument "c"`},
		"no servers":        {[]string{"status", "a.b"}, "no servers"},
		"journal":           {[]string{"status", servers, "-journal", "x", "a.b"}, `-journal is "x"`},
		"unknown flag":      {[]string{"status", servers, "-x", "a.b"}, "-x"},
		"too often":         {[]string{"watch", servers, "-every=1ms", "a.b"}, "-every is 1ms"},
		"heartbeat":         {[]string{"watch", servers, "-heartbeat=0s", "a.b"}, "-heartbeat is 0s"},
		"negative time":     {[]string{"cancel", servers, "-timeout=-1s", "a.b"}, "-timeout is -1s"},
		"flags behind":      {[]string{"status", "a.b", servers, "-timeout=500ms"}, ""},
		"flink":             {[]string{"cancel", servers, "-flink-rest", "http://127.0.0.1:8081", "-timeout=500ms", "a.b"}, ""},
		"flags in front of": {[]string{"status", servers, "-timeout=500ms", "a.b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(context.Background(), c.args, io.Discard, io.Discard)
			switch {
			case c.want == "help" && errors.Is(err, flag.ErrHelp):
			case c.want == "":
				if err == nil || errors.Is(err, errUsage) || !strings.Contains(err.Error(), "127.0.0.1:1") {
					t.Errorf("%v", err)
				}
			case !errors.Is(err, errUsage) || !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestFollower(t *testing.T) {
	var out bytes.Buffer
	f := newFollower(&out)
	st := &promotion.Status{Owner: promotion.Owner{Host: "h", PID: 7}}
	st.Result.Stage = promotion.StageLoading
	st.Progress = promotion.Progress{Rows: 500_000, TotalRows: 1_000_000, Bytes: 3 << 20, RowsPerSec: 125_000.4, Remaining: 4 * time.Second}
	f.show(st)
	f.show(st) // nothing new
	st.CancelRequested = true
	f.show(st)
	st.CancelRequested, st.Ended, st.Reason, st.Result.Stage = false, promotion.EventCancelled, "a stop was requested", promotion.StageFailed
	f.show(st)
	want := "loading    [###############---------------] 500,000 of at most 1,000,000 rows, 3.0 MiB, 125,000 rows/s, 4s left\n" +
		"loading    [###############---------------] 500,000 of at most 1,000,000 rows, 3.0 MiB, 125,000 rows/s, 4s left; stop requested\n" +
		"failed     [###############---------------] 500,000 of at most 1,000,000 rows, 3.0 MiB, 125,000 rows/s, 4s left; cancelled by process 7 on host \"h\"  (a stop was requested)\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
