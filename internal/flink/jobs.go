package flink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fluss-lake/terraform-provider-fluss/internal/wait"
)

// State is a job's state as Flink names it.
type State string

const (
	StateInitializing State = "INITIALIZING"
	StateCreated      State = "CREATED"
	StateRunning      State = "RUNNING"
	StateFailing      State = "FAILING"
	StateFailed       State = "FAILED"
	StateCancelling   State = "CANCELLING"
	StateCanceled     State = "CANCELED"
	StateFinished     State = "FINISHED"
	StateRestarting   State = "RESTARTING"
	StateSuspended    State = "SUSPENDED"
	StateReconciling  State = "RECONCILING"
)

// Terminal says whether a job in this state has ended for good: no task of it
// runs or will run. SUSPENDED is not: another job manager may go on with it.
func (s State) Terminal() bool {
	return s == StateFinished || s == StateFailed || s == StateCanceled
}

// Job is what Flink says of a job.
type Job struct {
	ID      string
	Name    string
	State   State
	Started time.Time // the job manager's clock
	Ended   time.Time // zero while it has not
	// Restarted says that a task was seen to run more than once: what it wrote
	// may have been written twice.
	Restarted bool
	// Cause is why the job failed or last restarted; nil when it did not.
	Cause *Failure
	// Source names the service that said so: "job manager" or "history server".
	Source string
}

// Cluster is what Flink says of itself.
type Cluster struct {
	Version        string
	TaskManagers   int
	SlotsTotal     int
	SlotsAvailable int
}

// Jobs asks a Flink cluster about its jobs.
type Jobs struct {
	jm      *service
	history *service // nil: none
	// Patience is for how long Await and Cancel bear that nobody knows the job
	// or answers; 0 means 5 min.
	Patience time.Duration
	// Poll is the longest pause between two looks of Await; 0 means 3 s.
	Poll time.Duration
}

// NewJobs names the services: the job manager's REST address, and a history
// server's or "". It makes no connection.
func NewJobs(jobManager, historyServer string, cfg Config) (*Jobs, error) {
	jm, err := newService("job manager", jobManager, cfg)
	if err != nil {
		return nil, err
	}
	j := &Jobs{jm: jm}
	if historyServer != "" {
		if j.history, err = newService("history server", historyServer, cfg); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// Close lets idle connections go.
func (j *Jobs) Close() {
	j.jm.close()
	if j.history != nil {
		j.history.close()
	}
}

// Address is the job manager's URL without user and password.
func (j *Jobs) Address() string { return j.jm.address() }

// JobManagerAddress takes the job manager's URL out of a session's
// configuration. "" when it is not in there.
func JobManagerAddress(conf map[string]string) string {
	host, port := conf["rest.address"], conf["rest.port"]
	if host == "" || host == "0.0.0.0" {
		return ""
	}
	if port == "" {
		port = "8081" // Flink's default
	}
	scheme := "http"
	if conf["security.ssl.rest.enabled"] == "true" {
		scheme = "https"
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return scheme + "://" + host + ":" + port
}

// Cluster asks the job manager about its cluster.
func (j *Jobs) Cluster(ctx context.Context) (Cluster, error) {
	var o struct {
		Version *string `json:"flink-version"`
		TMs     int     `json:"taskmanagers"`
		Total   int     `json:"slots-total"`
		Free    int     `json:"slots-available"`
	}
	err := j.jm.get(ctx, "/overview", &o)
	var a *answer
	if errors.As(err, &a) && !passing(err) || err == nil && o.Version == nil {
		err = fmt.Errorf("flink: job manager at %s: its /overview is not that of Flink: %w", j.Address(), ErrNotThisService)
	}
	if err != nil {
		return Cluster{}, err
	}
	return Cluster{Version: *o.Version, TaskManagers: o.TMs, SlotsTotal: o.Total, SlotsAvailable: o.Free}, nil
}

// overview is one job of a list.
type overview struct {
	ID    string `json:"jid"`
	Name  string `json:"name"`
	State State  `json:"state"`
	Start int64  `json:"start-time"`
	End   int64  `json:"end-time"`
}

// Named lists the jobs of a name that the job manager knows, newest first. What
// a cluster has forgotten is not in it.
func (j *Jobs) Named(ctx context.Context, name string) ([]Job, error) {
	var list struct {
		Jobs []overview `json:"jobs"`
	}
	if err := j.jm.get(ctx, "/jobs/overview", &list); err != nil {
		return nil, asFailure("jobs of Flink", err)
	}
	var out []Job
	for _, o := range list.Jobs {
		if o.Name == name {
			out = append(out, Job{ID: o.ID, Name: o.Name, State: o.State, Started: fromMillis(o.Start), Ended: fromMillis(o.End), Source: j.jm.what})
		}
	}
	slices.SortFunc(out, func(a, b Job) int { return b.Started.Compare(a.Started) })
	return out, nil
}

func fromMillis(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Job looks a job up: at the job manager, else at the history server. An error
// that wraps ErrJobNotFound means that neither knows it; that is no end.
func (j *Jobs) Job(ctx context.Context, id string) (Job, error) {
	job, err := j.at(ctx, j.jm, id)
	if err == nil || ctx.Err() != nil || j.history == nil {
		return job, err
	}
	if !errors.Is(err, ErrJobNotFound) && !passing(err) && !errors.Is(err, ErrUnreachable) {
		return job, err
	}
	past, pastErr := j.at(ctx, j.history, id)
	// A history server holds only jobs that have ended.
	if pastErr == nil && past.State.Terminal() {
		return past, nil
	}
	return job, err
}

func (j *Jobs) at(ctx context.Context, s *service, id string) (Job, error) {
	path := "/jobs/" + url.PathEscape(id)
	var d struct {
		overview
		Vertices []struct {
			ID string `json:"id"`
		} `json:"vertices"`
	}
	err := s.get(ctx, path, &d)
	var a *answer
	// A history server has no JSON for what it does not know.
	if errors.As(err, &a) && a.status == http.StatusNotFound || s == j.history && errors.Is(err, ErrNotThisService) {
		return Job{}, fmt.Errorf("flink: %s at %s: job %s: %w", s.what, s.address(), id, ErrJobNotFound)
	}
	if err != nil {
		return Job{}, asFailure("job "+id, err)
	}
	if d.State == "" {
		return Job{}, fmt.Errorf("flink: %s at %s: job %s without a state: %w", s.what, s.address(), id, ErrNotThisService)
	}
	job := Job{ID: id, Name: d.Name, State: d.State, Started: fromMillis(d.Start), Ended: fromMillis(d.End), Source: s.what}
	for _, v := range d.Vertices {
		again, err := j.rerun(ctx, s, path+"/vertices/"+url.PathEscape(v.ID))
		if err != nil {
			return Job{}, err
		}
		job.Restarted = job.Restarted || again
	}
	failures, err := j.failures(ctx, s, path, &job)
	job.Restarted = job.Restarted || failures > 1 || (failures > 0 && job.State != StateFailed && job.State != StateFailing && job.State != StateCanceled)
	return job, err
}

// rerun says whether a subtask of the vertex has been tried more than once.
func (j *Jobs) rerun(ctx context.Context, s *service, path string) (bool, error) {
	type attempt struct {
		Attempt int `json:"attempt"`
	}
	var v struct {
		Subtasks []struct {
			attempt
			Others []attempt `json:"other-concurrent-attempts"`
		} `json:"subtasks"`
	}
	if err := s.get(ctx, path, &v); err != nil {
		return false, asFailure("tasks of a job", err)
	}
	for _, t := range v.Subtasks {
		if t.Attempt > 0 || len(t.Others) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// failures counts the failures that Flink lists for a job, restarts included,
// and sets the newest one as the job's cause.
func (j *Jobs) failures(ctx context.Context, s *service, path string, job *Job) (int, error) {
	var e struct {
		Root    *string `json:"root-exception"`
		History struct {
			Entries []struct {
				Trace string `json:"stacktrace"`
				Name  string `json:"exceptionName"`
			} `json:"entries"`
		} `json:"exceptionHistory"`
	}
	if err := s.get(ctx, path+"/exceptions", &e); err != nil {
		return 0, asFailure("exceptions of a job", err)
	}
	trace := ""
	if n := len(e.History.Entries); n > 0 {
		trace = e.History.Entries[0].Trace
		if strings.TrimSpace(trace) == "" {
			trace = e.History.Entries[0].Name
		}
	} else if e.Root != nil {
		trace = *e.Root
	}
	if strings.TrimSpace(trace) == "" {
		return 0, nil
	}
	job.Cause = newFailure("job "+job.ID, s.clean(trace))
	return max(len(e.History.Entries), 1), nil
}

// Await waits until the job has ended and returns it. It goes on asking while
// nobody answers or knows the job, up to Patience; what is not known is never
// taken for an end. look, which may be nil, is given every state seen.
func (j *Jobs) Await(ctx context.Context, id string, look func(Job)) (Job, error) {
	longest, patience := j.Poll, j.Patience
	if longest <= 0 {
		longest = 3 * time.Second
	}
	if patience <= 0 {
		patience = 5 * time.Minute
	}
	pause := min(200*time.Millisecond, longest)
	known := time.Now()
	for {
		job, err := j.Job(ctx, id)
		switch {
		case err == nil:
			known = time.Now()
			if look != nil {
				look(job)
			}
			if job.State.Terminal() {
				return job, nil
			}
		case ctx.Err() != nil:
			return Job{}, context.Cause(ctx)
		case time.Since(known) > patience:
			return Job{}, fmt.Errorf("flink: nothing known of job %s for %s: %w", id, patience, err)
		}
		if err := wait.For(ctx, pause); err != nil {
			return Job{}, err
		}
		pause = min(pause*3/2, longest)
	}
}

// Cancel asks Flink to cancel the job and waits until it has ended, which may
// be otherwise than by being cancelled: look at the state.
func (j *Jobs) Cancel(ctx context.Context, id string) (Job, error) {
	job, err := j.Job(ctx, id)
	if err == nil && job.State.Terminal() {
		return job, nil
	}
	// Cancelling twice does no harm.
	err = j.jm.repeat(ctx, func() error {
		return j.jm.call(ctx, http.MethodPatch, "/jobs/"+url.PathEscape(id)+"?mode=cancel", nil, nil)
	})
	var a *answer
	switch {
	case errors.As(err, &a) && a.status == http.StatusConflict: // it has ended meanwhile
	case errors.As(err, &a) && a.status == http.StatusNotFound:
		return Job{}, fmt.Errorf("flink: job manager at %s: job %s: %w", j.Address(), id, ErrJobNotFound)
	case err != nil:
		return Job{}, asFailure("cancel job "+id, err)
	}
	return j.Await(ctx, id, nil)
}
