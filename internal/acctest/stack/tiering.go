package stack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pollTables is how often the tiering service asks for tables to tier.
const pollTables = "--fluss.tiering.poll.table.interval"

// StartTiering submits Fluss's tiering service to Flink and returns when its
// job is running.
func (s *Stack) StartTiering(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.startTiering(ctx)
}

func (s *Stack) startTiering(ctx context.Context) error {
	if s.FlinkRest == "" {
		return errors.New("stack: the tiering service needs Flink; start it first")
	}
	if id := s.st.TieringJob; id != "" {
		if job, err := s.job(ctx, id); err == nil && !job.ended() {
			return fmt.Errorf("stack: the tiering service is %s as job %s", job.State, id)
		}
	}
	jar, err := filepath.Glob(filepath.Join(s.st.Libs, "flink", "fluss-flink-tiering-*.jar"))
	if err != nil || len(jar) != 1 {
		return fmt.Errorf("stack: tiering: %d files fluss-flink-tiering-*.jar in %s, 1 required", len(jar), filepath.Join(s.st.Libs, "flink"))
	}
	ctx, cancel := context.WithTimeout(ctx, s.st.Options.StartTimeout)
	defer cancel()
	began := time.Now()
	upload, err := uploadFile(ctx, s.FlinkRest+"/jars/upload", "jarfile", jar[0])
	if err != nil {
		return err
	}
	args := []string{
		"--fluss.bootstrap.servers", s.Bootstrap,
		"--datalake.format", "paimon",
		"--datalake.paimon.metastore", "filesystem",
		"--datalake.paimon.warehouse", s.Warehouse,
	}
	if !slices.Contains(s.st.Options.TieringArgs, pollTables) {
		// The released default, 30 s, would be most of a test's time.
		args = append(args, pollTables, "2s")
	}
	args = append(args, s.st.Options.TieringArgs...)
	var run struct {
		JobID string `json:"jobid"`
	}
	url := s.FlinkRest + "/jars/" + upload[strings.LastIndex(upload, "/")+1:] + "/run"
	if err := doJSON(ctx, http.MethodPost, url, map[string]any{"programArgsList": args}, &run); err != nil {
		return fmt.Errorf("stack: submit the tiering service: %w", err)
	}
	s.st.TieringJob = run.JobID
	if err := s.st.write(); err != nil {
		return err
	}
	for {
		job, err := s.job(ctx, run.JobID)
		if err == nil && job.State == "RUNNING" && job.Tasks.Running == job.Tasks.Total {
			s.logf("tiering: job %s runs after %.1f s", run.JobID, time.Since(began).Seconds())
			return nil
		}
		if err == nil && job.ended() {
			return fmt.Errorf("stack: the tiering job %s is %s; the last lines of Flink's log:\n%s", run.JobID, job.State,
				tailFile(filepath.Join(s.Dir, "logs", jobManager+".log"), 25))
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("stack: the tiering job %s is %q, %d of %d tasks run: %w (%w)", run.JobID, job.State, job.Tasks.Running, job.Tasks.Total, ctx.Err(), err)
		}
	}
}

// StopTiering cancels the tiering job and returns when it has ended.
func (s *Stack) StopTiering(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	id := s.st.TieringJob
	if id == "" {
		return errors.New("stack: the tiering service was not started")
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
