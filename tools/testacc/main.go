// Command testacc runs every test that needs a real server: it starts the real
// stack on free ports in a folder of its own, runs the test packages against
// it, fails when a test that should have run was skipped, and stops the stack,
// also after a failure or Ctrl-C.
//
// usage: testacc [-run REGEXP] [-keep] [PACKAGE ...]
//
// STACK_LIBS=DIR runs another build's lib, plugins and flink folders.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

// packages are those with tests against real servers or a real Terraform.
var packages = []string{"./internal/fluss", "./internal/flink", "./internal/promotion", "./internal/paimon/orc", "./internal/provider/...", "./internal/acctest/..."}

// pass is one run of the tests with one Terraform.
type pass struct {
	name string
	env  []string
	// only limits the pass to tests whose names match; "" is all.
	only string
	pkgs []string
	// maySkip says that a skipped test is expected here, because the other pass
	// runs it.
	maySkip func(test string) bool
}

func main() { os.Exit(run()) }

func run() int {
	only := flag.String("run", "", "run only tests that match this regular expression")
	keep := flag.Bool("keep", false, "leave the stack running and say where")
	timeout := flag.Duration("timeout", 60*time.Minute, "time limit of all tests")
	flag.Parse()
	for _, pkg := range flag.Args() {
		if strings.HasPrefix(pkg, "-") {
			return fail(fmt.Errorf("flag %s behind a package; required: flags first, testacc [-run REGEXP] [-keep] [PACKAGE ...]", pkg))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()

	root, err := stack.RepositoryRoot()
	if err != nil {
		return fail(err)
	}
	began := time.Now()
	logf := func(format string, args ...any) {
		fmt.Printf("%6.1fs %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	s, err := stack.Start(ctx, stack.Options{SQLGateway: true, HistoryServer: true, Tiering: true, DieWithParent: !*keep, Libs: os.Getenv("STACK_LIBS"), Logf: logf,
		Users: map[string]string{"promoter": "Le-mot-de-passe"}, // for tests that log in
		FlinkProperties: map[string]string{
			"execution.checkpointing.interval": "2s",
			// The values of one INSERT can be a task each, and a shuffle of each would take 512 buffers.
			"taskmanager.network.sort-shuffle.min-buffers": "32",
			// Of 50 s, for each test that kills a part of Flink.
			"heartbeat.timeout": "25s",
		}})
	if err != nil {
		return fail(err)
	}
	defer func() {
		if *keep {
			logf("the stack is left running in %s; stop it with: go run ./tools/stack down -remove -dir %s", s.Dir, s.Dir)
			return
		}
		limit, done := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
		defer done()
		if err := s.Stop(limit); err != nil {
			fmt.Fprintln(os.Stderr, "testacc:", err)
		}
	}()
	env := append(os.Environ(), "TF_ACC=1", "STACK_TEST=1", "FLUSS_TEST_STACK="+s.Dir, "FLUSS_TEST_BOOTSTRAP="+s.Bootstrap,
		"FLUSS_TEST_PROVIDER="+filepath.Join(root, "bin", "terraform-provider-fluss"), "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1")
	pkgs := flag.Args()
	if len(pkgs) == 0 {
		pkgs = packages
	}
	total := tally{}
	for _, p := range passes(root, pkgs, *only) {
		logf("== %s", p.name)
		t, err := runTests(ctx, root, env, p)
		total.add(t)
		if err != nil {
			fmt.Fprintln(os.Stderr, "testacc:", err)
			total.failed++
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Printf("%d passed, %d failed\n", total.passed, total.failed)
	if total.failed > 0 || total.passed == 0 {
		return 1
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "testacc:", err)
	return 1
}
