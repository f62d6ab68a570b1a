package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command line that is not understood whole is refused: the flags behind a
// stray argument would be ignored, and the command would act on another stack.
func TestCommandLines(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args string
		want string // "" is no error
	}{
		{"up now -dir " + none, `unexpected argument "now"; stack up takes flags only`},
		{"down now -dir " + none, `unexpected argument "now"; stack down takes flags only`},
		{"status coordinator -dir " + none, `unexpected argument "coordinator"; stack status takes flags only`},
		{"fetch flink -flink", `unexpected argument "flink"; stack fetch takes flags only`},
		{"logs coordinator -dir " + none, "no stack was started in " + none},
		{"logs -n -5 -dir " + none, "-n -5; required: 0 or more lines"},
		{"status -dir " + none, "no stack was started in " + none},
		{"down -dir " + none, ""},
		{"up -dir " + none + " -user alice", "required: NAME=PASSWORD"},
		{"up -dir " + none + " -set alice", "required: KEY=VALUE"},
		{"up -dir " + none + " -set-flink =1", "required: KEY=VALUE"},
		{"up -dir " + none + " -tablets 9", "9 tablet servers; required: 1 to 3"},
		{"up -dir " + none + " -libs " + none + "-libs", "no jars in " + none + "-libs"},
		{"launch", `unknown command "launch"`},
		{"-dir " + none + " up", `unknown command "-dir"`},
		{"help", ""},
	} {
		err := run(t.Context(), strings.Fields(c.args), io.Discard)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("stack %s: %v", c.args, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("stack %s: %v; want %q", c.args, err, c.want)
		case err != nil && strings.HasPrefix(bare(err), "stack:"):
			t.Errorf("stack %s: the name is told twice: stack: %s", c.args, bare(err))
		}
		if _, err := os.Stat(none); err == nil {
			t.Fatalf("stack %s left the folder %s behind", c.args, none)
		}
	}
	if err := run(t.Context(), []string{"status", "-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("stack status -h: %v", err)
	}
}
