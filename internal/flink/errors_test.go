package flink

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every recorded failure is recognised, and its text names the root cause in one
// line without Java's frames and classes.
func TestFailures(t *testing.T) {
	for file, want := range map[string]struct {
		kind    Kind
		subject string
		text    string
	}{
		"missing-catalog-factory":    {KindMissingConnector, "paimon2", "Could not find any factory for identifier 'paimon2'"},
		"missing-connector":          {KindMissingConnector, "fluss2", "Could not find any factory for identifier 'fluss2'"},
		"missing-file-system":        {KindMissingConnector, "s3", "Could not find a file io implementation for scheme 's3'"},
		"fluss-unreachable":          {KindUnreachable, "", "Failed to initialize fluss client connection to bootstrap servers: [/127.0.0.1:1]"},
		"table-not-found":            {KindTableNotFound, "nope", "Object 'nope' not found within 'lake.d1'"},
		"database-not-found":         {KindTableNotFound, "", "Database 'fl'.'nodb' doesn't exist."},
		"catalog-not-found":          {KindTableNotFound, "nocat", "Object 'nocat' not found"},
		"use-catalog-not-found":      {KindTableNotFound, "nocat", "A catalog with name [nocat] does not exist"},
		"describe-catalog-not-found": {KindTableNotFound, "nocat", "nocat"},
		"sink-type":                  {KindType, "", "Incompatible types for sink column 'k' at position 0."},
		"syntax":                     {KindSyntax, "", `Encountered "bad" at line 1`},
		"duplicate-job":              {KindDuplicateJob, "", "Job has already been submitted."},
		"session-lost":               {KindSessionLost, "", "does not exist"},
		"job-no-slots":               {KindNoSlots, "", "Could not acquire the minimum required resources."},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "traces", file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		f := newFailure("doing it", string(data))
		if f.Kind != want.kind || f.Subject != want.subject {
			t.Errorf("%s: %s of %q, want %s of %q\n%q", file, f.Kind, f.Subject, want.kind, want.subject, f.Causes)
		}
		text := f.Error()
		if !strings.Contains(text, want.text) || !strings.HasPrefix(text, "flink: doing it: ") {
			t.Errorf("%s: error %q lacks %q", file, text, want.text)
		}
		for _, no := range []string{"\tat ", "Caused by", "SqlGatewayException", "Exception on server side", "org.apache.flink.table.gateway", "... 7 more", "Suppressed"} {
			if strings.Contains(text, no) || strings.Contains(strings.Join(f.Causes, "\n"), "\tat ") {
				t.Errorf("%s: error %q holds %q", file, text, no)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join("testdata", "traces"))
	if err != nil || len(entries) != 15 {
		t.Errorf("%d recorded traces, %v; each needs a line above", len(entries)-1, err)
	}
}

func TestCauses(t *testing.T) {
	for _, odd := range []string{"", "no trace", "at the start", "Caused by:", "\tat x.y(Z.java:1)", "<Exception on server side:\n\nEnd of exception on server side>"} {
		if got := causes(odd); len(got) != 1 {
			t.Errorf("causes of %q: %q", odd, got)
		}
	}
	got := causes("a.B: wraps\n\tat a.B.c(B.java:1)\n\tSuppressed: x.Y: beside\n\t\tat x.Y(Y.java:2)\nCaused by: c.D: two\nlines\n\tat c.D(D.java:1)\n\t... 3 more")
	if len(got) != 2 || got[0] != "a.B: wraps" || got[1] != "c.D: two\nlines" {
		t.Errorf("causes %q", got)
	}
}

func FuzzCauses(f *testing.F) {
	f.Add("a.B: wraps\n\tat a.B.c(B.java:1)\nCaused by: c.D: two\nlines")
	f.Add("<Exception on server side:\nx.Y: z\nEnd of exception on server side>")
	f.Fuzz(func(t *testing.T, trace string) {
		fail := newFailure("x", trace)
		if len(fail.Causes) == 0 || !strings.HasPrefix(fail.Error(), "flink: x: ") {
			t.Errorf("%q: causes %q, text %q", trace, fail.Causes, fail.Error())
		}
	})
}

func TestQuoting(t *testing.T) {
	if got := Identifier("a`b"); got != "`a``b`" {
		t.Error(got)
	}
	if got := Options(map[string]string{"b": "it's", "a": "1"}); got != "'a'='1', 'b'='it''s'" {
		t.Error(got)
	}
}

func TestJobManagerAddress(t *testing.T) {
	for _, c := range []struct {
		conf map[string]string
		want string
	}{
		{map[string]string{"rest.address": "jm", "rest.port": "81"}, "http://jm:81"},
		{map[string]string{"rest.address": "jm"}, "http://jm:8081"},
		{map[string]string{"rest.address": "::1", "rest.port": "81", "security.ssl.rest.enabled": "true"}, "https://[::1]:81"},
		{map[string]string{"rest.address": "0.0.0.0", "rest.port": "81"}, ""},
		{map[string]string{"rest.port": "81"}, ""},
	} {
		if got := JobManagerAddress(c.conf); got != c.want {
			t.Errorf("%v: %q, want %q", c.conf, got, c.want)
		}
	}
}
