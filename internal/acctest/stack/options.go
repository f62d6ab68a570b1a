package stack

import (
	"fmt"
	"path/filepath"
	"time"
)

// Options says what to start. The zero value is a coordinator and one tablet
// server in a new temporary folder.
type Options struct {
	// Dir holds the stack; empty means a new temporary folder, which Stop
	// removes. A folder whose stack was stopped is started again with its data.
	Dir string `json:"dir"`
	// Warehouse is the Paimon warehouse; empty means warehouse in Dir.
	Warehouse string `json:"warehouse,omitempty"`
	// TabletServers is how many tablet servers run, 1 to 3; 0 means 1.
	TabletServers int `json:"tablet_servers"`
	// Replication is default.replication.factor; 0 means 1.
	Replication int `json:"replication"`
	// Flink starts a job manager and a task manager with TaskSlots slots (0
	// means 4); SQLGateway, HistoryServer and Tiering imply it.
	Flink      bool `json:"flink"`
	SQLGateway bool `json:"sql_gateway"`
	TaskSlots  int  `json:"task_slots"`
	// HistoryServer starts Flink's history server and has the job manager archive
	// ended jobs for it.
	HistoryServer bool `json:"history_server,omitempty"`
	// Tiering submits Fluss's tiering service to Flink.
	Tiering bool `json:"tiering"`
	// Libs is a folder with another build's lib, plugins and flink folders, in
	// place of the released jars.
	Libs string `json:"libs,omitempty"`
	// ServerProperties are added to every server's server.yaml, above our own.
	ServerProperties map[string]string `json:"server_properties,omitempty"`
	// FlinkProperties are added to Flink's config.yaml, above our own.
	FlinkProperties map[string]string `json:"flink_properties,omitempty"`
	// TieringArgs are added to the tiering service's arguments.
	TieringArgs []string `json:"tiering_args,omitempty"`
	// Users are names and passwords. With any, every Fluss server gets a second
	// listener that demands SASL/PLAIN (Stack.SASLBootstrap).
	Users map[string]string `json:"users,omitempty"`
	// Bench leaves out the flags that trade speed for a fast start.
	Bench bool `json:"bench"`
	// DieWithParent has the kernel kill every process when the one that started
	// it dies (Linux only). Leave it off when the stack is to stay.
	DieWithParent bool `json:"die_with_parent"`
	// StartTimeout bounds the start of each process (0 means 2 minutes) and
	// StopGrace the time it has to end by itself (0 means 20 seconds).
	StartTimeout time.Duration `json:"start_timeout"`
	StopGrace    time.Duration `json:"stop_grace"`
	// Logf is told what is being done; nil means nobody is.
	Logf func(format string, args ...any) `json:"-"`
}

// complete fills in defaults and reports options that cannot be.
func (o Options) complete() (Options, error) {
	def := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	def(&o.TabletServers, 1)
	def(&o.Replication, 1)
	def(&o.TaskSlots, 4)
	if o.StartTimeout == 0 {
		o.StartTimeout = 2 * time.Minute
	}
	if o.StopGrace == 0 {
		o.StopGrace = 20 * time.Second
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	o.Flink = o.Flink || o.SQLGateway || o.HistoryServer || o.Tiering
	switch {
	case o.TabletServers < 1 || o.TabletServers > 3:
		return o, fmt.Errorf("stack: %d tablet servers; required: 1 to 3", o.TabletServers)
	case o.Replication < 1 || o.Replication > o.TabletServers:
		return o, fmt.Errorf("stack: replication %d with %d tablet servers; required: 1 to %d", o.Replication, o.TabletServers, o.TabletServers)
	case o.TaskSlots < 1:
		return o, fmt.Errorf("stack: %d task slots; required: 1 or more", o.TaskSlots)
	}
	for _, p := range []*string{&o.Dir, &o.Warehouse, &o.Libs} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return o, fmt.Errorf("stack: folder %q: %w", *p, err)
		}
		*p = abs
	}
	return o, nil
}
