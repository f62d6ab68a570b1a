// Package suite holds the acceptance tests: Terraform and the built provider
// against real servers, with independent readers as judges. `make testacc`
// starts what they need.
package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/flinksql"
	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// env is the real stack that make testacc started.
type env struct {
	*stack.Stack
	sql   *flinksql.Session
	sqlMu sync.Mutex
	// generation of the servers: layout and expectations follow from it.
	generation fluss.Generation
}

var shared struct {
	once sync.Once
	env  *env
	err  error
}

// need returns the running stack, or skips where no stack was started.
func need(t *testing.T) *env {
	t.Helper()
	dir := os.Getenv("FLUSS_TEST_STACK")
	if dir == "" {
		t.Skip("needs the real stack: make testacc")
	}
	shared.once.Do(func() { shared.env, shared.err = attach(dir) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.env
}

func attach(dir string) (*env, error) {
	s, err := stack.Attach(dir, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c, err := fluss.Connect(ctx, fluss.Config{Bootstrap: []string{s.Bootstrap}})
	if err != nil {
		return nil, err
	}
	generation := c.Generation()
	c.Close()
	sql, err := flinksql.Open(ctx, s.GatewayURL, nil)
	if err != nil {
		return nil, err
	}
	err = sql.Exec(ctx,
		fmt.Sprintf("CREATE CATALOG lake WITH ('type'='paimon','warehouse'='%s')", s.Warehouse),
		fmt.Sprintf("CREATE CATALOG fluss WITH ('type'='fluss','bootstrap.servers'='%s')", s.Bootstrap),
		"CREATE TEMPORARY TABLE default_catalog.default_database.numbers (id BIGINT) WITH ('connector'='datagen',"+
			"'fields.id.kind'='sequence','fields.id.start'='1','fields.id.end'='1000','number-of-rows'='1000')")
	return &env{Stack: s, sql: sql, generation: generation}, err
}

// exec runs Flink SQL; the catalogs are lake (Paimon) and fluss.
func (e *env) exec(t *testing.T, statements ...string) {
	t.Helper()
	e.sqlMu.Lock()
	defer e.sqlMu.Unlock()
	if err := e.sql.Exec(timeout(t, 3*time.Minute), statements...); err != nil {
		t.Fatal(err)
	}
}

// rows runs a query and returns its rows as JSON texts, sorted.
func (e *env) rows(t *testing.T, query string) []string {
	t.Helper()
	e.sqlMu.Lock()
	defer e.sqlMu.Unlock()
	res, err := e.sql.Query(timeout(t, 3*time.Minute), query)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range res.Rows {
		b, err := json.Marshal(r.Values)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	slices.Sort(out)
	return out
}

func timeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// database makes a Paimon database with a name of its own for the test.
func (e *env) database(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))
	if len(name) > 60 {
		name = name[:60]
	}
	name += fmt.Sprintf("_%04x", rand.N(1<<16)) // the same stack serves one test twice, with each Terraform
	e.exec(t, fmt.Sprintf("CREATE DATABASE lake.`%s`", name))
	return name
}

func (e *env) tableDir(db, table string) string {
	return filepath.Join(e.Warehouse, db+".db", table)
}

// useSample copies a sample table of testdata/paimon into the warehouse.
func (e *env) useSample(t *testing.T, sample, db, table string) {
	t.Helper()
	root, err := stack.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(e.tableDir(db, table), os.DirFS(filepath.Join(root, "testdata", "paimon", sample, "table"))); err != nil {
		t.Fatal(err)
	}
}

// inventory is the hash of every file below a folder, by path.
func inventory(t *testing.T, dir string) map[string]string {
	t.Helper()
	out, err := acctest.Inventory(dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameFiles fails unless every file of before is unchanged and everything new
// is among the allowed path prefixes.
func sameFiles(t *testing.T, before, after map[string]string, allowed ...string) {
	t.Helper()
	for _, p := range slices.Sorted(maps.Keys(before)) {
		switch got, ok := after[p]; {
		case !ok:
			t.Errorf("file %s is gone", p)
		case got != before[p]:
			t.Errorf("file %s has changed", p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[p]; ok {
			continue
		}
		if !slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(p, a) }) {
			t.Errorf("file %s is new", p)
		}
	}
}

// workspace is a Terraform working folder with the built provider.
type workspace struct {
	t   *testing.T
	dir string
	env []string
}

// workspace writes a configuration: the provider block and hcl.
func (e *env) workspace(t *testing.T, hcl string) *workspace {
	t.Helper()
	return newWorkspace(t, fmt.Sprintf("provider \"fluss\" {\n  bootstrap_servers = [%q]\n}\n", e.Bootstrap)+hcl)
}

func newWorkspace(t *testing.T, hcl string) *workspace {
	t.Helper()
	provider := os.Getenv("FLUSS_TEST_PROVIDER")
	if _, err := os.Stat(provider); err != nil {
		t.Fatalf("the built provider: %v", err)
	}
	w := &workspace{t: t, dir: t.TempDir()}
	rc := filepath.Join(w.dir, "terraform.rc")
	w.file("terraform.rc", fmt.Sprintf("provider_installation {\n  dev_overrides { \"fluss-lake/fluss\" = %q }\n  direct {}\n}\n", filepath.Dir(provider)))
	w.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "TF_LOG_PROVIDER=")
	w.config(hcl)
	return w
}

func (w *workspace) file(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) config(hcl string) {
	w.t.Helper()
	w.file("main.tf", "terraform {\n  required_providers {\n    fluss = { source = \"fluss-lake/fluss\" }\n  }\n}\n"+hcl)
}

func (w *workspace) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(timeout(w.t, 5*time.Minute), acctest.Terraform(), args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.env, &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 20 * time.Second
	return cmd, &out
}

func (w *workspace) try(args ...string) (string, error) {
	cmd, out := w.command(append(args, "-no-color")...)
	err := cmd.Run()
	return out.String(), err
}

func (w *workspace) must(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("terraform %v: %v\n%s", args, err, out)
	}
	return out
}

// fails runs a command that must fail with all of the texts in its output. Line
// breaks and the frame that Terraform draws do not count.
func (w *workspace) fails(args []string, texts ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err == nil {
		w.t.Fatalf("terraform %v succeeded; it should have failed\n%s", args, out)
	}
	flat := flatten(out)
	for _, text := range texts {
		if !strings.Contains(flat, flatten(text)) {
			w.t.Errorf("terraform %v: the output lacks %q:\n%s", args, text, out)
		}
	}
	return out
}

// flatten takes line breaks and the frame that Terraform draws out of a text.
func flatten(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(s)), " ")
}

func (w *workspace) apply() string {
	w.t.Helper()
	return w.must("apply", "-auto-approve", "-input=false")
}

// state is the resource's attributes; nil when it is not in the state.
func (w *workspace) state(address string) map[string]any {
	w.t.Helper()
	cmd, _ := w.command("show", "-json")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("terraform show: %v", err)
	}
	var s struct {
		Values struct {
			Root struct {
				Resources []struct {
					Address string         `json:"address"`
					Values  map[string]any `json:"values"`
					Tainted bool           `json:"tainted"`
				} `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
		w.t.Fatalf("terraform show: %v\n%s", err, stdout.String())
	}
	for _, r := range s.Values.Root.Resources {
		if r.Address == address {
			if r.Tainted {
				w.t.Errorf("%s is tainted", address)
			}
			return r.Values
		}
	}
	return nil
}

// damaged cuts every file that matches to its first bytes, or removes it.
func damaged(t *testing.T, dir, glob string, keep int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, glob))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file matches %s: %v", glob, err)
	}
	for _, f := range files {
		if keep < 0 {
			err = os.Remove(f)
		} else {
			err = os.Truncate(f, keep)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
