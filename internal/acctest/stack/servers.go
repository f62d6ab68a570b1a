package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	zooKeeperMain   = "org.apache.fluss.shaded.zookeeper3.org.apache.zookeeper.server.quorum.QuorumPeerMain"
	coordinatorMain = "org.apache.fluss.server.coordinator.CoordinatorServer"
	tabletMain      = "org.apache.fluss.server.tablet.TabletServer"
)

// javaFlags are the JVM's flags before a main class.
func (s *Stack) javaFlags(conf, heap string) []string {
	flags := []string{
		"-Xmx" + heap,
		"-Djava.io.tmpdir=" + filepath.Join(s.st.Options.Dir, "tmp"),
		"-Dlog4j.configurationFile=" + filepath.Join(conf, "log4j.properties"),
		"-Dlog4j2.disableJmx=true",
		"-XX:-UsePerfData",
	}
	if !s.st.Options.Bench {
		flags = append(flags, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
	}
	return flags
}

// launch starts a Java process and records it.
func (s *Stack) launch(name string, env, command []string) (*Process, error) {
	if p := s.st.process(name); p != nil && p.alive() {
		return nil, fmt.Errorf("stack: start %s: it is running as process %d", name, p.PID)
	}
	p, err := spawn(spawnSpec{
		name:    name,
		command: append([]string{s.st.Java}, command...),
		env:     env,
		dir:     s.st.Options.Dir,
		log:     filepath.Join(s.st.Options.Dir, "logs", name+".log"),
		// A server that a test restarts must outlive it, if the stack does.
		parent: s.st.Options.DieWithParent && !s.attached,
	})
	if err != nil {
		return nil, err
	}
	return p, s.st.record(p)
}

// ready waits until the process serves.
func (s *Stack) ready(ctx context.Context, p *Process, what string, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.st.Options.StartTimeout)
	defer cancel()
	began := time.Now()
	if err := await(ctx, p, what, probe); err != nil {
		return err
	}
	s.logf("%s: %s after %.1f s (process %d)", p.Name, what, time.Since(began).Seconds(), p.PID)
	return nil
}

// startFluss starts ZooKeeper and then all Fluss servers side by side.
func (s *Stack) startFluss(ctx context.Context) error {
	if err := s.startZooKeeper(ctx); err != nil {
		return err
	}
	co, err := s.launchCoordinator()
	if err != nil {
		return err
	}
	tablets := make([]*Process, s.st.Options.TabletServers)
	for id := range tablets {
		if tablets[id], err = s.launchTablet(id); err != nil {
			return err
		}
	}
	if err := s.coordinatorReady(ctx, co); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(tablets))
	for id, p := range tablets {
		wg.Go(func() { errs[id] = s.tabletReady(ctx, p, id) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *Stack) startZooKeeper(ctx context.Context) error {
	conf, err := s.configure(zookeeper, map[string]string{
		"zookeeper.properties": properties(s.zooKeeperConfig()),
		"log4j.properties":     log4j,
	})
	if err != nil {
		return err
	}
	jars, err := jarsOf(filepath.Join(s.st.Libs, "lib"))
	if err != nil {
		return err
	}
	flags := s.javaFlags(conf, "256m")
	if !s.st.Options.Bench {
		flags = append(flags, "-Dzookeeper.forceSync=no")
	}
	p, err := s.launch(zookeeper, nil, append(flags, "-cp", jars, zooKeeperMain, filepath.Join(conf, "zookeeper.properties")))
	if err != nil {
		return err
	}
	return s.ready(ctx, p, "answers", func(ctx context.Context) error { return zooKeeperServing(ctx, s.ZooKeeper) })
}

// launchServer starts a Fluss server; id is -1 for the coordinator.
func (s *Stack) launchServer(name, main string, id int) (*Process, error) {
	conf, err := s.configure(name, map[string]string{
		"server.yaml":      yaml(s.flussConfig(name, id)),
		"log4j.properties": log4j,
	})
	if err != nil {
		return nil, err
	}
	jars, err := jarsOf(filepath.Join(s.st.Libs, "lib"))
	if err != nil {
		return nil, err
	}
	plugins := filepath.Join(s.st.Libs, "plugins")
	if _, err := jarsOf(filepath.Join(plugins, "paimon")); err != nil {
		return nil, err
	}
	heap := "512m"
	if id >= 0 {
		heap = "1g"
		if s.st.Options.Bench {
			heap = "2g"
		}
	}
	// Arrow reaches into java.nio's buffers.
	flags := append(s.javaFlags(conf, heap), "--add-opens=java.base/java.nio=org.apache.arrow.memory.core,ALL-UNNAMED")
	return s.launch(name, []string{"FLUSS_PLUGINS_DIR=" + plugins}, append(flags, "-cp", jars, main, "--configDir", conf))
}

func (s *Stack) launchCoordinator() (*Process, error) {
	return s.launchServer(coordinator, coordinatorMain, -1)
}

func (s *Stack) launchTablet(id int) (*Process, error) {
	return s.launchServer(tabletName(id), tabletMain, id)
}

func (s *Stack) coordinatorReady(ctx context.Context, p *Process) error {
	return s.ready(ctx, p, "serves", func(ctx context.Context) error { return FlussServing(ctx, s.Bootstrap) })
}

// tabletReady waits until the tablet server serves, and every running server
// that clients ask for metadata knows of it.
func (s *Stack) tabletReady(ctx context.Context, p *Process, id int) error {
	return s.ready(ctx, p, "serves and is registered", func(ctx context.Context) error {
		if err := FlussServing(ctx, s.Tablets[id]); err != nil {
			return err
		}
		ask := []string{s.Tablets[id]}
		if co := s.st.process(coordinator); co != nil && co.alive() {
			ask = append(ask, s.Bootstrap)
		}
		for _, a := range ask {
			known, err := FlussTabletServers(ctx, a)
			if err != nil {
				return err
			}
			for other, at := range s.Tablets {
				q := s.st.process(tabletName(other))
				if q == nil || !q.alive() {
					continue
				}
				if !slices.Contains(known, at) {
					return fmt.Errorf("stack: %s lists the tablet servers %v, %s is not among them yet", a, known, at)
				}
			}
		}
		return nil
	})
}

// stopNamed ends one process with a first signal and, after the grace, SIGKILL.
func (s *Stack) stopNamed(ctx context.Context, name string, grace time.Duration) error {
	p := s.st.process(name)
	if p == nil {
		return fmt.Errorf("stack: stop %s: no such process was started", name)
	}
	if err := end(ctx, grace, p); err != nil {
		return err
	}
	return s.st.forget(name)
}

func (s *Stack) checkTablet(id int) error {
	if id < 0 || id >= s.st.Options.TabletServers {
		return fmt.Errorf("stack: no tablet server %d; there are 0 to %d", id, s.st.Options.TabletServers-1)
	}
	return nil
}

// StartTablet starts a stopped tablet server on its old port and data.
func (s *Stack) StartTablet(ctx context.Context, id int) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.checkTablet(id); err != nil {
		return err
	}
	p, err := s.launchTablet(id)
	if err != nil {
		return err
	}
	return s.tabletReady(ctx, p, id)
}

// StopTablet ends a tablet server in good order.
func (s *Stack) StopTablet(ctx context.Context, id int) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.stopNamed(ctx, tabletName(id), s.st.Options.StopGrace)
}

// KillTablet ends a tablet server as a power cut would. The cluster takes note
// only when the server's ZooKeeper session expires, and until then the server
// cannot be started again: 60 s, or what the server property
// zookeeper.client.session-timeout says.
func (s *Stack) KillTablet(ctx context.Context, id int) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.kill(ctx, tabletName(id))
}

// KillCoordinator ends the coordinator as a power cut would.
func (s *Stack) KillCoordinator(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.kill(ctx, coordinator)
}

func (s *Stack) kill(ctx context.Context, name string) error {
	p := s.st.process(name)
	if p == nil {
		return fmt.Errorf("stack: kill %s: no such process was started", name)
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return s.stopNamed(ctx, name, s.st.Options.StopGrace)
}

// StartCoordinator starts the stopped coordinator on its old port.
func (s *Stack) StartCoordinator(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := s.launchCoordinator()
	if err != nil {
		return err
	}
	return s.coordinatorReady(ctx, p)
}

// StopCoordinator ends the coordinator in good order.
func (s *Stack) StopCoordinator(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.stopNamed(ctx, coordinator, s.st.Options.StopGrace)
}

// Pause stops a process in its tracks (SIGSTOP) without ending it; its name is
// that of its log. Resume lets it go on.
func (s *Stack) Pause(name string) error { return s.signalNamed(name, syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (s *Stack) Resume(name string) error { return s.signalNamed(name, syscall.SIGCONT) }

// PauseZooKeeper stops ZooKeeper in its tracks; ResumeZooKeeper lets it go on.
func (s *Stack) PauseZooKeeper() error { return s.Pause(zookeeper) }

// ResumeZooKeeper lets a paused ZooKeeper go on.
func (s *Stack) ResumeZooKeeper() error { return s.Resume(zookeeper) }

func (s *Stack) signalNamed(name string, sig syscall.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p := s.st.process(name)
	if p == nil || !p.alive() {
		return fmt.Errorf("stack: %s is not running", name)
	}
	return p.signal(sig)
}
