package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest"
	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
)

// heartbeat is the interval of the journal's heartbeats: an owner that does not
// beat stops after two (the lease), and others take over after three.
var heartbeat = 3 * time.Second

func lease() time.Duration { return 2 * heartbeat }

const (
	applyLimit   = 4 * time.Minute
	laterApplies = 10
	// slowTries bounds how often a command is begun that ends before the fault's
	// point, as the short lease makes it do on a machine that is very busy.
	slowTries = 4
)

// Report is one line of faults.jsonl.
type Report struct {
	*Schedule
	Hit         bool      `json:"hit"`
	Evidence    []string  `json:"evidence"` // that the fault really hit
	First       outcome   `json:"first"`    // the command that the fault hit
	Beside      []outcome `json:"beside,omitempty"`
	Later       []outcome `json:"later"`
	Rows        string    `json:"rows"`      // by the independent reader
	Inventory   string    `json:"inventory"` // of the Paimon table's files
	Agreement   string    `json:"agreement"` // of state, journal and cluster
	Verdict     string    `json:"verdict"`   // ok, failed
	Differences []string  `json:"differences,omitempty"`
	Seconds     float64   `json:"seconds"`
}

// suite is what all schedules share.
type suite struct {
	dir      string
	provider string
	tmpl     *template
	logf     func(string, ...any)
}

// run is one schedule under way.
type run struct {
	*Schedule
	u     *suite
	c     *cluster
	group *group // nil: the fault is this schedule's own
	rep   *Report

	dir      string
	db       string
	journal  string // database.table
	w        *workspace
	links    *links
	before   map[string]string
	snapshot int64
	old      string // the operation that the command found
	removed  bool   // the goal is that the Fluss table is gone
	takeover string
	// acknowledged: the options of a lost Fluss table are known to be its.
	acknowledged bool
	mendFailed   bool // said already
}

func (r *run) path() fluss.TablePath { return fluss.TablePath{Database: r.db, Table: templateTable} }

func (r *run) journalPath() fluss.TablePath {
	db, table, _ := strings.Cut(r.journal, ".")
	return fluss.TablePath{Database: db, Table: table}
}

func (r *run) evidenceFile() string { return filepath.Join(r.dir, "evidence.jsonl") }
func (r *run) goFile() string       { return filepath.Join(r.dir, "go") }
func (r *run) tableDir() string {
	return filepath.Join(r.c.stack.Warehouse, r.db+".db", templateTable)
}

func (r *run) differ(format string, args ...any) {
	r.rep.Differences = append(r.rep.Differences, fmt.Sprintf(format, args...))
}

func (r *run) hit(format string, args ...any) {
	r.rep.Hit = true
	r.rep.Evidence = append(r.rep.Evidence, fmt.Sprintf(format, args...))
}

// execute runs a schedule and judges it.
func (u *suite) execute(ctx context.Context, c *cluster, s *Schedule, g *group) *Report {
	began := time.Now()
	r := &run{Schedule: s, u: u, c: c, group: g, rep: &Report{Schedule: s}, db: fmt.Sprintf("f%d_%d", s.Number, s.Seed), journal: "promotion.journal", takeover: "fence"}
	r.dir = filepath.Join(u.dir, "runs", r.db)
	r.removed = s.Drop == dropDestroy && s.Variant != "superseded"
	if s.Fault == journalDeleted {
		r.journal = r.db + "_journal.journal"
	}
	ctx, done := context.WithTimeout(ctx, 12*time.Minute)
	defer done()
	err := r.all(ctx)
	if err != nil {
		r.differ("%v", err)
	}
	if !r.rep.Hit {
		r.differ("the fault did not hit")
	}
	r.rep.Verdict = "ok"
	if len(r.rep.Differences) > 0 {
		r.rep.Verdict = "failed"
	}
	r.rep.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
	r.clean(ctx)
	return r.rep
}

func (r *run) all(ctx context.Context) error {
	defer func() {
		if r.group != nil {
			r.group.leave(r)
			r.group.await(r)
		}
	}()
	var err error
	if r.links, err = newLinks(ctx, r.db+"-", r.c.servers()); err != nil {
		return err
	}
	defer r.links.close()
	if err := r.setUp(ctx); err != nil {
		return err
	}
	command, err := r.target(ctx)
	if err != nil {
		return err
	}
	if r.Drop != "" {
		if r.old, err = r.operation(ctx); err != nil {
			return err
		}
	}
	if err := r.faulted(ctx, command); err != nil {
		return err
	}
	if r.group != nil {
		r.group.leave(r)
	}
	if err := r.finish(ctx); err != nil {
		return err
	}
	if r.group != nil {
		r.group.await(r)
	}
	return r.check(ctx)
}

// setUp makes the source table and the workspace.
func (r *run) setUp(ctx context.Context) error {
	withLast := r.Drop != dropRestart
	if err := r.u.tmpl.copyTo(r.tableDir(), withLast); err != nil {
		return err
	}
	r.snapshot = 2
	var err error
	if r.before, err = acctest.Inventory(filepath.Dir(r.tableDir())); err != nil {
		return err
	}
	r.w, err = newWorkspace(filepath.Join(r.dir, "w"), r.u.provider, r.config())
	return errors.Join(err, ctx.Err())
}

func (r *run) config() string {
	var servers []string
	for _, a := range r.c.servers() {
		servers = append(servers, fmt.Sprintf("%q", a))
	}
	slices.Sort(servers)
	restart := "fail"
	if r.Drop == dropRestart {
		restart = "restart"
	}
	j := r.journalPath()
	verification := "sample"
	if r.Seed%2 == 0 {
		verification = "full"
	}
	more := ""
	if r.acknowledged {
		more = "  acknowledged_properties = [\"fluss.table.datalake.enabled\"]\n"
	}
	return fmt.Sprintf(`provider "fluss" {
  bootstrap_servers = [%s]
  journal           = { database = %q, table = %q }
}
resource "fluss_lake_promotion" "t" {
  database            = %q
  table               = %q
  prepare_source      = true
  lake_layout         = "legacy"
  deletion_protection = false
  on_source_change    = %q
  verification        = %q
  takeover            = %q
  load                = { batch_bytes = %d, parallelism = 3 }
  timeouts            = { create = "3m", update = "3m", delete = "3m" }
%s}
`, strings.Join(servers, ", "), j.Database, j.Table, r.db, templateTable, restart, verification, r.takeover, batchBytes, more)
}

// environment is that of the commands; orders is for the fault hook.
func (r *run) environment(orders string, more ...string) []string {
	env := []string{"FLUSS_FAULT_EVIDENCE=" + r.evidenceFile(), "FLUSS_FAULT_GO=" + r.goFile(), "FLUSS_FAULT_HEARTBEAT=" + heartbeat.String(),
		"FLUSS_FAULT_DIAL=" + r.links.dial()}
	if orders != "" {
		env = append(env, "FLUSS_FAULT_ORDERS="+orders)
	}
	return append(env, more...)
}

func apply() []string   { return []string{"apply", "-auto-approve", "-input=false"} }
func destroy() []string { return []string{"destroy", "-auto-approve", "-input=false"} }

// target brings the table to where the command that the fault hits can begin,
// and returns that command.
func (r *run) target(ctx context.Context) ([]string, error) {
	switch r.Drop {
	case "":
		return apply(), nil
	case dropDestroy:
		o, err := r.w.run(ctx, r.environment(""), apply()...)
		if err == nil && o.Exit != 0 {
			err = fmt.Errorf("the promotion to be destroyed: %s", excerpt(o.text))
		}
		return destroy(), err
	}
	// An unfinished promotion: killed on its way, for a fence on another host.
	order, more := choose(r.rnd, "load.send#5=kill", "load.end#1=kill", "prepare.schema.after#1=kill", "register.commit.after#1=kill"), []string(nil)
	if r.Drop == dropFence {
		order, more = fmt.Sprintf("load.send#%d=kill", r.between(1, sends)), []string{"FLUSS_FAULT_HOST=far-away"}
	}
	o, err := r.w.run(ctx, r.environment(order, more...), apply()...)
	if err == nil && o.Exit == 0 {
		err = errors.New("the promotion to be dropped was not killed")
	}
	if err != nil {
		return nil, err
	}
	pid, err := r.ordered()
	if err != nil || pid == 0 {
		return nil, errors.Join(err, fmt.Errorf("the promotion to be dropped ended before it was killed at %s: %s", order, excerpt(o.text)))
	}
	if err := os.Remove(r.evidenceFile()); err != nil {
		return nil, err
	}
	if r.Drop == dropRestart {
		if err := r.u.tmpl.commitLast(r.tableDir()); err != nil {
			return nil, err
		}
		var files map[string]string
		if files, err = acctest.Inventory(filepath.Dir(r.tableDir())); err != nil {
			return nil, err
		}
		for f, sum := range files { // the killed operation may have prepared the table
			if !strings.Contains(f, "/schema/") {
				r.before[f] = sum
			}
		}
	}
	return apply(), nil
}

// reached waits until the command has reached the schedule's point.
func (r *run) reached(ctx context.Context, cmd *running) (int, error) {
	for {
		if pid, err := r.ordered(); err != nil || pid != 0 {
			return pid, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-cmd.done:
			if pid, err := r.ordered(); err != nil || pid != 0 {
				return pid, err
			}
			return 0, fmt.Errorf("the command ended before it reached %s#%d: %s", r.Point, r.Nth, cmd.wait().Said)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ordered looks for the line of the evidence file that has an action.
func (r *run) ordered() (int, error) {
	f, err := os.Open(r.evidenceFile())
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var e struct {
			Point  faultpoint.Point `json:"point"`
			N      int              `json:"n"`
			Action string           `json:"action"`
			PID    int              `json:"pid"`
			Time   time.Time        `json:"time"`
		}
		if json.Unmarshal(sc.Bytes(), &e) == nil && e.Action != "" {
			r.rep.Evidence = append(r.rep.Evidence, fmt.Sprintf("provider %d reached %s#%d at %s: %s", e.PID, e.Point, e.N, e.Time.UTC().Format("15:04:05.000"), e.Action))
			return e.PID, nil
		}
	}
	return 0, sc.Err()
}

// release lets a held point go on.
func (r *run) release() error { return os.WriteFile(r.goFile(), nil, 0o644) }

// finish applies (or destroys) until it succeeds, doing what the errors say.
func (r *run) finish(ctx context.Context) error {
	if r.rep.First.Exit != 0 && !r.clear(r.rep.First, true) {
		r.differ("the first command's error is not clear: %s", excerpt(r.rep.First.text))
	}
	if r.rep.First.Exit == 0 && len(r.rep.Beside) == 0 {
		return nil
	}
	if n := len(r.rep.Beside); r.rep.First.Exit == 0 && n > 0 && r.rep.Beside[n-1].Exit == 0 {
		r.differ("both the owner that slept and the one that took over say that they did it")
	}
	command := apply()
	if r.removed {
		command = destroy()
	}
	for range laterApplies {
		o, err := r.w.run(ctx, r.environment(""), command...)
		if err != nil {
			return err
		}
		r.rep.Later = append(r.rep.Later, o)
		if o.Exit == 0 {
			return r.forgotten(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !r.clear(o, false) {
			r.differ("a later command's error is not clear: %s", excerpt(o.text))
		}
		if err := r.follow(ctx, flatten(o.text)); err != nil {
			return err
		}
	}
	return fmt.Errorf("after %d more tries it is not done: %s", laterApplies, excerpt(r.rep.Later[len(r.rep.Later)-1].text))
}

// forgotten deals with a Terraform that was killed by a second interrupt while it
// was destroying: it may have lost the resource from its state, as it warns.
// What is left is imported and destroyed, as the guide says.
func (r *run) forgotten(ctx context.Context) error {
	if r.Fault != terraformInt2 || !r.removed {
		return nil
	}
	left, err := r.operation(ctx)
	if err != nil || left == "" {
		return err
	}
	r.rep.Evidence = append(r.rep.Evidence, "Terraform, interrupted twice, lost the promotion from its state")
	for _, c := range [][]string{{"import", "-input=false", address, r.db + "." + templateTable}, destroy()} {
		o, err := r.w.run(ctx, r.environment(""), c...)
		if err != nil {
			return err
		}
		r.rep.Later = append(r.rep.Later, o)
	}
	return nil
}

// clear says whether an error is one that a user can act on.
func (r *run) clear(o outcome, first bool) bool {
	text := flatten(o.text)
	died := r.Fault == providerKilled || r.Fault == terraformInt2 || r.Fault == ownerElsewhere || r.Fault == clocksApart
	for _, bad := range []string{"panic:", "internal error", "inconsistent", "Plugin did not respond", "plugin process exited", "goroutine "} {
		if strings.Contains(text, bad) && (!first || !died) {
			return false
		}
	}
	return strings.Contains(text, "Error: ") || strings.Contains(text, "Lake promotion interrupted") || (first && died)
}

// follow does what an error tells the user to do.
func (r *run) follow(ctx context.Context, text string) error {
	said := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case said("The table is promoted already"):
		o, err := r.w.run(ctx, r.environment(""), "import", "-input=false", address, r.db+"."+templateTable)
		r.rep.Later = append(r.rep.Later, o)
		return err
	case said("The journal of this promotion is missing") && r.Fault == journalDeleted:
		r.rep.Evidence = append(r.rep.Evidence, "the Fluss table was dropped by hand, as the error says")
		return r.c.client.DropTable(ctx, r.path(), true)
	case said("This is not the cluster that the promotion was made on") && r.Fault == journalDeleted:
		o, err := r.w.run(ctx, r.environment(""), "state", "rm", address)
		r.rep.Later = append(r.rep.Later, o)
		return err
	case said("The load is not provably over") && r.Fault == ownerElsewhere && r.takeover != "resume":
		r.takeover = "resume"
		if _, err := newWorkspace(r.w.dir, r.u.provider, r.config()); err != nil || !r.removed {
			return err
		}
		o, err := r.w.run(ctx, r.environment(""), apply()...)
		r.rep.Later = append(r.rep.Later, o)
		return err
	case said("The table is tied to a Fluss table") && r.Fault == journalDeleted:
		r.acknowledged = true
		_, err := newWorkspace(r.w.dir, r.u.provider, r.config())
		return err
	case said("start the coordinator anew") && r.group != nil:
		r.rep.Evidence = append(r.rep.Evidence, "the coordinator was restarted, as the error says")
		return r.c.restartCoordinator(ctx)
	}
	if r.group != nil {
		r.group.await(r)
		if err := r.c.revive(ctx); err != nil {
			return err
		}
	}
	pause := time.Second
	if said("Another process is promoting this table") {
		pause = heartbeat
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// clean ends what is left and removes the schedule's tables.
func (r *run) clean(ctx context.Context) {
	limit, done := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer done()
	_ = r.release()
	for range 3 {
		if err := r.c.client.DropTable(limit, r.path(), true); err == nil || errors.Is(err, fluss.ErrDatabaseNotExist) {
			break
		}
		time.Sleep(time.Second)
	}
	if r.Fault == journalDeleted {
		_ = r.c.client.DropTable(limit, r.journalPath(), true)
	}
	if r.rep.Verdict == "ok" {
		_ = os.RemoveAll(r.dir)
		_ = os.RemoveAll(filepath.Dir(r.tableDir()))
		return
	}
	for i, o := range slices.Concat([]outcome{r.rep.First}, r.rep.Beside, r.rep.Later) {
		_ = os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("output-%d-%s.txt", i, o.Command)), []byte(o.text), 0o644)
	}
}

// excerpt is the middle of a long output.
func excerpt(text string) string {
	flat := flatten(text)
	if i := strings.Index(flat, "Error: "); i > 0 {
		flat = flat[i:]
	}
	return flat[:min(len(flat), 600)]
}
