package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	jobManagerMain  = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
	taskManagerMain = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
	gatewayMain     = "org.apache.flink.table.gateway.SqlGateway"
	historyMain     = "org.apache.flink.runtime.webmonitor.history.HistoryServer"
)

// flinkModules are the parts of the JDK Flink reaches into.
var flinkModules = []string{
	"--add-exports=java.base/sun.net.util=ALL-UNNAMED",
	"--add-exports=java.management/sun.management=ALL-UNNAMED",
	"--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
	"--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
	"--add-opens=java.base/java.lang=ALL-UNNAMED",
	"--add-opens=java.base/java.net=ALL-UNNAMED",
	"--add-opens=java.base/java.io=ALL-UNNAMED",
	"--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
	"--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
	"--add-opens=java.base/java.text=ALL-UNNAMED",
	"--add-opens=java.base/java.time=ALL-UNNAMED",
	"--add-opens=java.base/java.util=ALL-UNNAMED",
	"--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
	"--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
	"--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED",
}

// launchFlink starts one of Flink's main classes.
func (s *Stack) launchFlink(name, heap string, flags []string, main string, args ...string) (*Process, error) {
	conf, err := s.configure("flink", map[string]string{"config.yaml": yaml(s.flinkConfig()), "log4j.properties": log4j})
	if err != nil {
		return nil, err
	}
	jars, err := jarsOf(filepath.Join(s.st.Libs, "flink"))
	if err != nil {
		return nil, err
	}
	command := append(s.javaFlags(conf, heap), flinkModules...)
	command = append(append(command, flags...), "-cp", jars, main)
	return s.launch(name, []string{"FLINK_CONF_DIR=" + conf}, append(command, args...))
}

func (s *Stack) flinkConf() string { return filepath.Join(s.st.Options.Dir, "conf", "flink") }

// startFlink starts the job manager, the task manager and, if asked for, the
// SQL gateway and the history server, side by side.
func (s *Stack) startFlink(ctx context.Context) error {
	jm, err := s.launchJobManager()
	if err != nil {
		return err
	}
	tm, err := s.launchTaskManager()
	if err != nil {
		return err
	}
	if err := s.jobManagerReady(ctx, jm); err != nil {
		return err
	}
	if s.st.Options.HistoryServer {
		if err := s.startHistory(ctx); err != nil {
			return err
		}
	}
	if s.st.Options.SQLGateway {
		if err := s.startGateway(ctx); err != nil {
			return err
		}
	}
	return s.taskManagerReady(ctx, tm)
}

func (s *Stack) launchJobManager() (*Process, error) {
	if s.st.Options.HistoryServer { // neither side makes the folder
		if err := os.MkdirAll(filepath.Join(s.st.Options.Dir, "archive"), 0o755); err != nil {
			return nil, fmt.Errorf("stack: %w", err)
		}
	}
	return s.launchFlink(jobManager, "512m", []string{"-XX:MaxMetaspaceSize=256m"}, jobManagerMain, "--configDir", s.flinkConf())
}

func (s *Stack) jobManagerReady(ctx context.Context, p *Process) error {
	return s.ready(ctx, p, "answers", func(ctx context.Context) error { return getJSON(ctx, s.FlinkRest+"/overview", nil) })
}

func (s *Stack) startHistory(ctx context.Context) error {
	p, err := s.launchFlink(historyServer, "128m", nil, historyMain, "--configDir", s.flinkConf())
	if err != nil {
		return err
	}
	return s.ready(ctx, p, "answers", func(ctx context.Context) error { return getJSON(ctx, s.HistoryURL+"/config", nil) })
}

func (s *Stack) launchTaskManager() (*Process, error) {
	flags := []string{"-XX:MaxDirectMemorySize=" + taskManagerDirect, "-XX:MaxMetaspaceSize=320m"}
	return s.launchFlink(taskManager, fmt.Sprint(s.st.Options.taskManagerHeap(), "m"), flags, taskManagerMain, "--configDir", s.flinkConf())
}

func (s *Stack) taskManagerReady(ctx context.Context, tm *Process) error {
	want := s.st.Options.TaskSlots
	return s.ready(ctx, tm, "offers its slots", func(ctx context.Context) error {
		var overview struct {
			Slots int `json:"slots-total"`
		}
		if err := getJSON(ctx, s.FlinkRest+"/overview", &overview); err != nil {
			return err
		}
		if overview.Slots < want {
			return fmt.Errorf("stack: Flink has %d slots, %d required", overview.Slots, want)
		}
		return nil
	})
}

func (s *Stack) startGateway(ctx context.Context) error {
	p, err := s.launchFlink(sqlGateway, "768m", nil, gatewayMain)
	if err != nil {
		return err
	}
	return s.ready(ctx, p, "answers", func(ctx context.Context) error {
		return getJSON(ctx, s.GatewayURL+"/v1/info", nil)
	})
}

// StartFlink adds Flink, and the SQL gateway if withGateway, to a running stack.
func (s *Stack) StartFlink(ctx context.Context, withGateway bool) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	st := s.st
	if st.Options.Libs == "" {
		if _, err := Fetch(ctx, true, s.logf); err != nil {
			return err
		}
	}
	st.Options.Flink, st.Options.SQLGateway = true, withGateway
	if st.Ports[flinkRest] == 0 {
		names := []string{jobManager, flinkRest, sqlGateway, historyServer}
		ports, err := freePorts(len(names))
		if err != nil {
			return err
		}
		for i, n := range names {
			st.Ports[n] = ports[i]
		}
	}
	s.expose()
	if err := st.write(); err != nil {
		return err
	}
	return s.startFlink(ctx)
}

// StopFlink ends Flink's processes, and with them the tiering service.
func (s *Stack) StopFlink(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var list []*Process
	for _, name := range []string{sqlGateway, historyServer, taskManager, jobManager} {
		if p := s.st.process(name); p != nil {
			list = append(list, p)
		}
	}
	if err := end(ctx, s.st.Options.StopGrace, list...); err != nil {
		return err
	}
	for _, p := range list {
		if err := s.st.forget(p.Name); err != nil {
			return err
		}
	}
	s.st.TieringJob = ""
	return s.st.write()
}

// KillTaskManager ends Flink's task manager at once; the jobs it runs fail or
// restart.
func (s *Stack) KillTaskManager(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.kill(ctx, taskManager)
}

// StartTaskManager starts the task manager again.
func (s *Stack) StartTaskManager(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := s.launchTaskManager()
	if err != nil {
		return err
	}
	return s.taskManagerReady(ctx, p)
}

// KillGateway ends the SQL gateway at once, and with it every session.
func (s *Stack) KillGateway(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.kill(ctx, sqlGateway)
}

// StartGateway starts the SQL gateway again.
func (s *Stack) StartGateway(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.startGateway(ctx)
}

// KillJobManager ends Flink's job manager at once: every job is gone, and
// without high availability nothing remembers it.
func (s *Stack) KillJobManager(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.kill(ctx, jobManager)
}

// StartJobManager starts the job manager again, waits for the task manager to
// offer it its slots, and submits the tiering service again if it was one of
// the jobs that went with the earlier one.
func (s *Stack) StartJobManager(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := s.launchJobManager()
	if err != nil {
		return err
	}
	if err := s.jobManagerReady(ctx, p); err != nil {
		return err
	}
	tm := s.st.process(taskManager)
	if tm == nil {
		return nil
	}
	if err := s.taskManagerReady(ctx, tm); err != nil || s.st.TieringJob == "" {
		return err
	}
	return s.startTiering(ctx)
}

// FlinkLogs are the texts that Flink's processes have logged, gateways of
// StartOtherGateway among them, by name of process.
func (s *Stack) FlinkLogs() (map[string]string, error) {
	files, err := s.Logs()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for process, path := range files {
		if process != jobManager && process != taskManager && process != historyServer && !strings.HasPrefix(process, sqlGateway) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("stack: logs: %w", err)
		}
		out[process] = string(text)
	}
	return out, nil
}
