package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

const (
	jobManagerMain  = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
	taskManagerMain = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
	gatewayMain     = "org.apache.flink.table.gateway.SqlGateway"
	clientMain      = "org.apache.flink.client.cli.CliFrontend"
	tieringClient   = "tiering-submit"

	// pollTables is how often the tiering service asks for tables to tier.
	pollTables = "--fluss.tiering.poll.table.interval"
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
// SQL gateway, side by side.
func (s *Stack) startFlink(ctx context.Context) error {
	jm, err := s.launchFlink(jobManager, "512m", []string{"-XX:MaxMetaspaceSize=256m"}, jobManagerMain, "--configDir", s.flinkConf())
	if err != nil {
		return err
	}
	tm, err := s.launchFlink(taskManager, taskManagerHeap,
		[]string{"-XX:MaxDirectMemorySize=" + taskManagerDirect, "-XX:MaxMetaspaceSize=320m"}, taskManagerMain, "--configDir", s.flinkConf())
	if err != nil {
		return err
	}
	if err := s.ready(ctx, jm, "answers", func(ctx context.Context) error {
		return getJSON(ctx, s.FlinkRest+"/overview", nil)
	}); err != nil {
		return err
	}
	if s.st.Options.SQLGateway {
		if err := s.startGateway(ctx); err != nil {
			return err
		}
	}
	return s.taskManagerReady(ctx, tm)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.st
	if st.Options.Libs == "" {
		if _, err := Fetch(ctx, true, s.logf); err != nil {
			return err
		}
	}
	st.Options.Flink, st.Options.SQLGateway = true, withGateway
	if st.Ports[flinkRest] == 0 {
		names := []string{jobManager, flinkRest, sqlGateway}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Process
	for _, name := range []string{sqlGateway, taskManager, jobManager} {
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

// StopTaskManager ends Flink's task manager; the jobs it runs fail or restart.
func (s *Stack) StopTaskManager(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill(ctx, taskManager)
}

// StartTaskManager starts the task manager again.
func (s *Stack) StartTaskManager(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.launchFlink(taskManager, taskManagerHeap,
		[]string{"-XX:MaxDirectMemorySize=" + taskManagerDirect, "-XX:MaxMetaspaceSize=320m"}, taskManagerMain, "--configDir", s.flinkConf())
	if err != nil {
		return err
	}
	return s.taskManagerReady(ctx, p)
}

// StartTiering submits Fluss's tiering service to Flink and returns when its
// job is running.
func (s *Stack) StartTiering(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startTiering(ctx)
}

var jobSubmitted = regexp.MustCompile(`JobID ([0-9a-f]{32})`)

func (s *Stack) startTiering(ctx context.Context) error {
	if s.FlinkRest == "" {
		return fmt.Errorf("stack: tiering needs Flink; start it first")
	}
	if s.st.TieringJob != "" {
		if job, err := s.job(ctx, s.st.TieringJob); err == nil && !job.ended() {
			return fmt.Errorf("stack: the tiering service is %s as job %s", job.State, s.st.TieringJob)
		}
	}
	jar, err := filepath.Glob(filepath.Join(s.st.Libs, "flink", "fluss-flink-tiering-*.jar"))
	if err != nil || len(jar) != 1 {
		return fmt.Errorf("stack: tiering: %d files fluss-flink-tiering-*.jar in %s, 1 required", len(jar), filepath.Join(s.st.Libs, "flink"))
	}
	extra := s.st.Options.TieringArgs
	if !slices.Contains(extra, pollTables) {
		// The released default, 30 s, would be most of a test's time.
		extra = append([]string{pollTables, "2s"}, extra...)
	}
	args := append([]string{
		"run", "-d", jar[0],
		"--fluss.bootstrap.servers", s.Bootstrap,
		"--datalake.format", "paimon",
		"--datalake.paimon.metastore", "filesystem",
		"--datalake.paimon.warehouse", s.Warehouse,
	}, extra...)
	p, err := s.launchFlink(tieringClient, "256m", nil, clientMain, args...)
	if err != nil {
		return err
	}
	// The client is a process of seconds: its end is awaited, then the job's start.
	limit, cancel := context.WithTimeout(ctx, s.st.Options.StartTimeout)
	defer cancel()
	began := time.Now()
	for p.alive() {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limit.Done():
			return fmt.Errorf("stack: submit the tiering service: %w; the last lines of %s:\n%s", limit.Err(), p.Log, tailFile(p.Log, 25))
		}
	}
	if err := s.st.forget(tieringClient); err != nil {
		return err
	}
	text := []byte(tailFile(p.Log, 200))
	found := jobSubmitted.FindAllSubmatch(text, -1)
	if found == nil {
		return fmt.Errorf("stack: the tiering service was not submitted; the last lines of %s:\n%s", p.Log, lastLines(text, 25))
	}
	id := string(found[len(found)-1][1])
	s.st.TieringJob = id
	if err := s.st.write(); err != nil {
		return err
	}
	for {
		job, err := s.job(limit, id)
		if err == nil && job.State == "RUNNING" && job.Tasks.Running == job.Tasks.Total {
			s.logf("tiering: job %s runs after %.1f s", id, time.Since(began).Seconds())
			return nil
		}
		if err == nil && job.ended() {
			return fmt.Errorf("stack: the tiering job %s is %s; see %s", id, job.State, filepath.Join(s.Dir, "logs", taskManager+".log"))
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-limit.Done():
			return fmt.Errorf("stack: the tiering job %s is %q: %w (%w)", id, job.State, limit.Err(), err)
		}
	}
}

// StopTiering cancels the tiering job and returns when it has ended.
func (s *Stack) StopTiering(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.st.TieringJob
	if id == "" {
		return fmt.Errorf("stack: the tiering service was not started")
	}
	ctx, cancel := context.WithTimeout(ctx, s.st.Options.StopGrace+10*time.Second)
	defer cancel()
	if err := doJSON(ctx, http.MethodPatch, s.FlinkRest+"/jobs/"+id+"?mode=cancel", nil, nil); err != nil {
		return err
	}
	for {
		job, err := s.job(ctx, id)
		if err == nil && job.ended() {
			s.st.TieringJob = ""
			return s.st.write()
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("stack: stop tiering: job %s is %q: %w (%w)", id, job.State, ctx.Err(), err)
		}
	}
}

// TieringState is the Flink state of the tiering job: RUNNING, FAILED, …
func (s *Stack) TieringState(ctx context.Context) (string, error) {
	s.mu.Lock()
	id := s.st.TieringJob
	s.mu.Unlock()
	job, err := s.job(ctx, id)
	return job.State, err
}

// flinkJob is one entry of Flink's /jobs/overview.
type flinkJob struct {
	ID    string `json:"jid"`
	Name  string `json:"name"`
	State string `json:"state"`
	Tasks struct {
		Total   int `json:"total"`
		Running int `json:"running"`
	} `json:"tasks"`
}

func (j flinkJob) ended() bool {
	return j.State == "FAILED" || j.State == "FINISHED" || j.State == "CANCELED"
}

func (s *Stack) job(ctx context.Context, id string) (flinkJob, error) {
	var all struct {
		Jobs []flinkJob `json:"jobs"`
	}
	if err := getJSON(ctx, s.FlinkRest+"/jobs/overview", &all); err != nil {
		return flinkJob{}, err
	}
	for _, j := range all.Jobs {
		if j.ID == id {
			return j, nil
		}
	}
	return flinkJob{}, fmt.Errorf("stack: Flink knows no job %q", id)
}

func getJSON(ctx context.Context, url string, into any) error {
	return doJSON(ctx, http.MethodGet, url, nil, into)
}

// doJSON asks a REST service; into may be nil.
func doJSON(ctx context.Context, method, url string, body, into any) error {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("stack: %s %s: %w", method, url, err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("stack: %s %s: %w", method, url, err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("stack: %s %s: %s: %s", method, url, resp.Status, lastLines(data, 5))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("stack: %s %s: %w", method, url, err)
	}
	return nil
}
