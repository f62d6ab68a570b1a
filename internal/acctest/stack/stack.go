package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Names of the processes and of their ports; a tablet server is tablet-ID.
const (
	zookeeper     = "zookeeper"
	coordinator   = "coordinator"
	jobManager    = "flink-jobmanager"
	taskManager   = "flink-taskmanager"
	sqlGateway    = "sql-gateway"
	historyServer = "flink-history"
	flinkRest     = "flink-rest"
	saslPort      = "-sasl"
)

func tabletName(id int) string { return fmt.Sprintf("tablet-%d", id) }

// Stack is a set of running servers. Its methods may be called from several
// goroutines; one acts at a time.
type Stack struct {
	Dir           string
	Bootstrap     string   // HOST:PORT of the coordinator
	Tablets       []string // HOST:PORT of each tablet server, by ID
	SASLBootstrap string   // the coordinator's listener for Options.Users, or empty
	Warehouse     string   // the Paimon warehouse, a folder
	ZooKeeper     string   // HOST:PORT
	FlinkRest     string   // URL of the job manager, or empty
	GatewayURL    string   // URL of the SQL gateway, or empty
	HistoryURL    string   // URL of Flink's history server, or empty

	mu        sync.Mutex
	st        *state // as last read from, or written to, the state file
	logf      func(string, ...any)
	temporary bool // the folder goes with the stack
	attached  bool // another process started it
}

// ErrRunning is the error of starting a stack in a folder where one is running.
var ErrRunning = errors.New("a stack is running here")

// Start starts the servers of opt and returns when all of them serve. If one
// does not, everything started is stopped again and the error ends with the
// last lines of its log.
func Start(ctx context.Context, opt Options) (*Stack, error) {
	opt, err := opt.complete()
	if err != nil {
		return nil, err
	}
	java, err := FindJava(ctx)
	if err != nil {
		return nil, err
	}
	libs := opt.Libs
	if libs == "" {
		if libs, err = Fetch(ctx, opt.Flink, opt.Logf); err != nil {
			return nil, err
		}
	} else if err := checkLibs(libs, opt.Flink); err != nil {
		return nil, err // before anything is made
	}
	s := &Stack{logf: opt.Logf}
	if opt.Dir == "" {
		if opt.Dir, err = os.MkdirTemp("", "fluss-stack-"); err != nil {
			return nil, fmt.Errorf("stack: %w", err)
		}
		s.temporary = true
	}
	s.st = &state{Version: 1, Options: opt, Java: java.Path, Libs: libs, Warehouse: opt.Warehouse}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	if err := s.startAll(ctx); err != nil {
		// Not ctx: it may be what ended the start.
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), opt.StopGrace+10*time.Second)
		defer cancel()
		return nil, errors.Join(err, s.Stop(stop))
	}
	return s, nil
}

// begin makes the folder, chooses the ports and writes the first state.
func (s *Stack) begin(ctx context.Context) error {
	st, dir := s.st, s.st.Options.Dir
	if st.Warehouse == "" {
		st.Warehouse = filepath.Join(dir, "warehouse")
	}
	for _, d := range []string{dir, filepath.Join(dir, "logs"), filepath.Join(dir, "data"), filepath.Join(dir, "remote"), filepath.Join(dir, "tmp"), st.Warehouse} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("stack: %w", err)
		}
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, ".lock"))
	if err != nil {
		return fmt.Errorf("stack: lock %s: %w", dir, err)
	}
	defer unlock()
	old, err := readState(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if old != nil {
		if running := old.running(); len(running) > 0 {
			return fmt.Errorf("stack: %s: %w: %s is process %d; stop it first", dir, ErrRunning, running[0].Name, running[0].PID)
		}
	}
	if err := s.choosePorts(old); err != nil {
		return err
	}
	s.expose()
	return st.write()
}

// choosePorts keeps the ports of the folder's earlier stack where it can, so
// that a client's settings stay right.
func (s *Stack) choosePorts(old *state) error {
	o := s.st.Options
	names := []string{zookeeper, coordinator}
	for id := range o.TabletServers {
		names = append(names, tabletName(id))
	}
	if len(o.Users) > 0 {
		for _, n := range names[1:] {
			names = append(names, n+saslPort)
		}
	}
	if o.Flink {
		names = append(names, jobManager, flinkRest, sqlGateway, historyServer)
	}
	s.st.Ports = map[string]int{}
	var open []string
	for _, n := range names {
		if old != nil && old.Ports[n] != 0 && portFree(old.Ports[n]) {
			s.st.Ports[n] = old.Ports[n]
		} else {
			open = append(open, n)
		}
	}
	ports, err := freePorts(len(open))
	if err != nil {
		return err
	}
	for i, n := range open {
		s.st.Ports[n] = ports[i]
	}
	return nil
}

// expose fills in the addresses of the state and the exported fields. A field
// is written only when it changes: its readers hold no lock.
func (s *Stack) expose() {
	st := s.st
	st.Bootstrap = address(st.Ports[coordinator])
	sasl := ""
	if len(st.Options.Users) > 0 {
		sasl = address(st.Ports[coordinator+saslPort])
	}
	if st.Options.Flink {
		st.FlinkRest = "http://" + address(st.Ports[flinkRest])
	}
	if st.Options.SQLGateway {
		st.GatewayURL = "http://" + address(st.Ports[sqlGateway])
	}
	if st.Options.HistoryServer {
		st.HistoryURL = "http://" + address(st.Ports[historyServer])
	}
	for field, value := range map[*string]string{
		&s.Dir: st.Options.Dir, &s.Bootstrap: st.Bootstrap, &s.Warehouse: st.Warehouse, &s.SASLBootstrap: sasl,
		&s.ZooKeeper: address(st.Ports[zookeeper]), &s.FlinkRest: st.FlinkRest, &s.GatewayURL: st.GatewayURL, &s.HistoryURL: st.HistoryURL,
	} {
		if *field != value {
			*field = value
		}
	}
	var tablets []string
	for id := range st.Options.TabletServers {
		tablets = append(tablets, address(st.Ports[tabletName(id)]))
	}
	if !slices.Equal(s.Tablets, tablets) {
		s.Tablets = tablets
	}
}

// Attach takes hold of the stack that was started in dir, by this process or
// another. Its processes may have ended since: see Status.
func Attach(dir string, logf func(string, ...any)) (*Stack, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	st, err := readState(dir)
	if err != nil {
		return nil, err
	}
	if st.Options.Dir != dir {
		return nil, fmt.Errorf("stack: %s describes the stack of %s; a stack's folder cannot be moved", filepath.Join(dir, stateFile), st.Options.Dir)
	}
	if logf == nil {
		logf = func(string, ...any) {}
	}
	s := &Stack{st: st, logf: logf, attached: true}
	s.expose()
	return s, nil
}

// lock makes this the only process that acts on the stack, with the newest
// state: a test may restart a server of a stack that its launcher will stop.
func (s *Stack) lock(ctx context.Context) (func(), error) {
	s.mu.Lock()
	unlock, err := lockFile(ctx, filepath.Join(s.Dir, ".lock"))
	if errors.Is(err, os.ErrNotExist) { // the folder was removed
		return s.mu.Unlock, nil
	}
	if err != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("stack: lock %s: %w", s.Dir, err)
	}
	if err := s.reload(); err != nil {
		unlock()
		s.mu.Unlock()
		return nil, err
	}
	return func() { unlock(); s.mu.Unlock() }, nil
}

func (s *Stack) reload() error {
	st, err := readState(s.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.st = st
	s.expose()
	return nil
}

func (s *Stack) startAll(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	if err := s.startFluss(ctx); err != nil {
		return err
	}
	o := s.st.Options
	if o.Flink {
		if err := s.startFlink(ctx); err != nil {
			return err
		}
	}
	if o.Tiering {
		if err := s.startTiering(ctx); err != nil {
			return err
		}
	}
	s.logf("all up after %.1f s, in %s", time.Since(began).Seconds(), s.Dir)
	return nil
}

// Stop ends every process of the stack and removes the folder if Start made
// it. The servers end in the order in which each can still take its leave:
// Flink and the tablet servers, the coordinator, ZooKeeper; when the folder
// goes too, there is nothing to put in order and they are killed. When ctx
// ends, what is left is killed.
func (s *Stack) Stop(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	running := s.st.running()
	phases := make([][]*Process, 3)
	for _, p := range running {
		phase := 0
		switch p.Name {
		case coordinator:
			phase = 1
		case zookeeper:
			phase = 2
		}
		phases[phase] = append(phases[phase], p)
		// A paused process would hold up the others' farewell.
		first := syscall.SIGCONT
		if s.temporary {
			first = syscall.SIGKILL
		}
		if err := p.signal(first); err != nil {
			return err
		}
	}
	for _, list := range phases {
		if err := end(ctx, s.st.Options.StopGrace, list...); err != nil {
			return err
		}
	}
	s.logf("%d processes ended in %.1f s", len(running), time.Since(began).Seconds())
	s.st.Processes, s.st.TieringJob = nil, ""
	if s.temporary {
		return s.remove()
	}
	if _, err := os.Stat(filepath.Join(s.Dir, stateFile)); errors.Is(err, os.ErrNotExist) {
		return nil // removed before
	}
	return s.st.write()
}

// StopOnSignal makes this process, when it is told to end (SIGINT, SIGTERM),
// stop the stack first and then exit with status 130; off undoes that. Tests
// call it after Start, which a context of signal.NotifyContext ends early.
func (s *Stack) StopOnSignal() (off func()) {
	s.mu.Lock()
	grace := s.st.Options.StopGrace
	s.mu.Unlock()
	got, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-done:
			return
		case sig := <-got:
			fmt.Fprintf(os.Stderr, "stack: %s: stopping the servers of %s\n", sig, s.Dir)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*grace)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(130)
	}()
	return sync.OnceFunc(func() { signal.Stop(got); close(done) })
}

// Remove deletes the folder of a stopped stack, with all its data. A warehouse
// that was given by Options.Warehouse stays.
func (s *Stack) Remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove()
}

func (s *Stack) remove() error {
	if running := s.st.running(); len(running) > 0 {
		return fmt.Errorf("stack: remove %s: %w: %s is process %d", s.Dir, ErrRunning, running[0].Name, running[0].PID)
	}
	// Only what the package makes: the folder may be one of the user's.
	for _, name := range []string{"conf", "logs", "data", "remote", "tmp", "archive", "warehouse", ".lock", stateFile} {
		if err := os.RemoveAll(filepath.Join(s.Dir, name)); err != nil {
			return fmt.Errorf("stack: remove: %w", err)
		}
	}
	if err := os.Remove(s.Dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("stack: remove: %w", err)
	}
	return nil
}

// ProcessStatus is one process of a stack.
type ProcessStatus struct {
	Process
	Alive bool
	Port  int // 0: none of its own
}

// Status lists the recorded processes in the order of their start.
func (s *Stack) Status() []ProcessStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reload(); err != nil {
		s.logf("%v", err) // what is known stays
	}
	var out []ProcessStatus
	for _, p := range s.st.Processes {
		port := s.st.Ports[p.Name]
		if p.Name == jobManager {
			port = s.st.Ports[flinkRest]
		}
		out = append(out, ProcessStatus{Process: *p, Alive: p.alive(), Port: port})
	}
	return out
}

// Logs are the log files of the stack, by name of process, whether or not it runs.
func (s *Stack) Logs() (map[string]string, error) {
	found, err := filepath.Glob(filepath.Join(s.Dir, "logs", "*.log"))
	if err != nil {
		return nil, fmt.Errorf("stack: logs: %w", err)
	}
	out := map[string]string{}
	for _, path := range found {
		out[strings.TrimSuffix(filepath.Base(path), ".log")] = path
	}
	return out, nil
}
