package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

const stateFile = "stack.json"

// state is the content of stack.json.
type state struct {
	Version    int            `json:"version"`
	Options    Options        `json:"options"`
	Java       string         `json:"java"`
	Libs       string         `json:"libs"` // the folder of lib, plugins and flink in use
	Ports      map[string]int `json:"ports"`
	Bootstrap  string         `json:"bootstrap"`
	Warehouse  string         `json:"warehouse"`
	FlinkRest  string         `json:"flink_rest,omitempty"`
	GatewayURL string         `json:"sql_gateway,omitempty"`
	HistoryURL string         `json:"flink_history,omitempty"`
	TieringJob string         `json:"tiering_job,omitempty"`
	Processes  []*Process     `json:"processes"`
}

func readState(dir string) (*state, error) {
	path := filepath.Join(dir, stateFile)
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("stack: no stack was started in %s: %w", dir, err)
		}
		return nil, fmt.Errorf("stack: read the state: %w", err)
	}
	st := &state{}
	if err := json.Unmarshal(data, st); err != nil {
		return nil, fmt.Errorf("stack: %s: %w", path, err)
	}
	if st.Version != 1 {
		return nil, fmt.Errorf("stack: %s has version %d, 1 required; stop its processes by the IDs it names and remove the folder", path, st.Version)
	}
	return st, nil
}

func (st *state) write() error {
	data, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return fmt.Errorf("stack: write the state: %w", err)
	}
	return writeFile(filepath.Join(st.Options.Dir, stateFile), append(data, '\n'))
}

// process is the recorded process of that name, or nil.
func (st *state) process(name string) *Process {
	for _, p := range st.Processes {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// record puts p in the place of an earlier process of its name.
func (st *state) record(p *Process) error {
	st.Processes = slices.DeleteFunc(st.Processes, func(q *Process) bool { return q.Name == p.Name })
	st.Processes = append(st.Processes, p)
	return st.write()
}

// forget drops the named process.
func (st *state) forget(name string) error {
	st.Processes = slices.DeleteFunc(st.Processes, func(q *Process) bool { return q.Name == name })
	return st.write()
}

// running are the recorded processes that are alive.
func (st *state) running() []*Process {
	var out []*Process
	for _, p := range st.Processes {
		if p.alive() {
			out = append(out, p)
		}
	}
	return out
}
