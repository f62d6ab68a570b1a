package stack

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const saslListener = "CLIENT"

// flussConfig is server.yaml of the coordinator (id -1) or of a tablet server.
func (s *Stack) flussConfig(name string, id int) map[string]string {
	o := s.st.Options
	m := map[string]string{
		"zookeeper.address":          address(s.st.Ports[zookeeper]),
		"bind.listeners":             "FLUSS://" + address(s.st.Ports[name]),
		"default.bucket.number":      "1",
		"default.replication.factor": strconv.Itoa(o.Replication),
		"data.dir":                   filepath.Join(o.Dir, "data", name),
		"remote.data.dir":            filepath.Join(o.Dir, "remote"),
		"kv.snapshot.interval":       "30s",
		"datalake.format":            "paimon",
		"datalake.paimon.metastore":  "filesystem",
		"datalake.paimon.warehouse":  s.st.Warehouse,
	}
	if id >= 0 {
		m["tablet-server.id"] = strconv.Itoa(id)
	}
	if len(o.Users) > 0 {
		m["bind.listeners"] += "," + saslListener + "://" + address(s.st.Ports[name+saslPort])
		m["internal.listener.name"] = "FLUSS"
		m["security.protocol.map"] = saslListener + ":SASL"
		m["security.sasl.enabled.mechanisms"] = "PLAIN"
		login := "org.apache.fluss.security.auth.sasl.plain.PlainLoginModule required"
		for _, user := range slices.Sorted(maps.Keys(o.Users)) {
			login += fmt.Sprintf(" user_%s=%q", user, o.Users[user])
		}
		m["security.sasl.plain.jaas.config"] = login + ";"
	}
	maps.Copy(m, o.ServerProperties)
	return m
}

// flinkConfig is config.yaml of all Flink processes. The main classes are
// started without Flink's scripts, so every memory share is given here.
func (s *Stack) flinkConfig() map[string]string {
	o := s.st.Options
	m := map[string]string{
		"jobmanager.rpc.address":                     host,
		"jobmanager.bind-host":                       host,
		"jobmanager.rpc.port":                        strconv.Itoa(s.st.Ports[jobManager]),
		"rest.address":                               host,
		"rest.bind-address":                          host,
		"rest.port":                                  strconv.Itoa(s.st.Ports[flinkRest]),
		"taskmanager.host":                           host,
		"taskmanager.bind-host":                      host,
		"taskmanager.numberOfTaskSlots":              strconv.Itoa(o.TaskSlots),
		"taskmanager.cpu.cores":                      strconv.Itoa(o.TaskSlots) + ".0",
		"taskmanager.memory.framework.heap.size":     fmt.Sprint(frameworkHeap, "m"),
		"taskmanager.memory.task.heap.size":          fmt.Sprint(o.taskManagerHeap()-frameworkHeap, "m"),
		"taskmanager.memory.framework.off-heap.size": "128m",
		"taskmanager.memory.task.off-heap.size":      "256m",
		"taskmanager.memory.managed.size":            "128m",
		"taskmanager.memory.network.min":             "64m",
		"taskmanager.memory.network.max":             "64m",
		"taskmanager.memory.jvm-metaspace.size":      "320m",
		"taskmanager.memory.jvm-overhead.min":        "128m",
		"taskmanager.memory.jvm-overhead.max":        "128m",
		// Its default, 5 minutes, is how long a job that asks for more slots than
		// there are waits before it fails, counted from the start of the servers.
		"resourcemanager.standalone.start-up-time": "20000",
		"parallelism.default":                      "1",
		"execution.target":                         "remote",
		"io.tmp.dirs":                              filepath.Join(o.Dir, "tmp"),
		"classloader.check-leaked-classloader":     "false",
		"sql-gateway.endpoint.rest.address":        host,
		"sql-gateway.endpoint.rest.bind-address":   host,
		"sql-gateway.endpoint.rest.port":           strconv.Itoa(s.st.Ports[sqlGateway]),
	}
	if o.HistoryServer {
		archive := "file://" + filepath.Join(o.Dir, "archive")
		m["jobmanager.archive.fs.dir"] = archive
		m["historyserver.archive.fs.dir"] = archive
		m["historyserver.archive.fs.refresh-interval"] = "1000"
		m["historyserver.web.address"] = host
		m["historyserver.web.port"] = strconv.Itoa(s.st.Ports[historyServer])
		m["historyserver.web.tmpdir"] = filepath.Join(o.Dir, "tmp", "history")
	}
	maps.Copy(m, o.FlinkProperties)
	return m
}

const (
	frameworkHeap = 128 // MB of the task manager's heap
	// taskManagerDirect is Flink's direct memory, as its scripts derive it from the
	// shares above: framework + task off-heap + network.
	taskManagerDirect = "448m"
)

// taskManagerHeap is Flink's, in MB, for the framework and the tasks. Measured
// against, four slots are not to share what is enough for tests.
func (o Options) taskManagerHeap() int {
	if o.Bench {
		return 1536
	}
	return 640
}

// zooKeeperConfig is a single server that answers ruok and srvr.
func (s *Stack) zooKeeperConfig() map[string]string {
	return map[string]string{
		"dataDir":                   filepath.Join(s.st.Options.Dir, "data", zookeeper),
		"clientPort":                strconv.Itoa(s.st.Ports[zookeeper]),
		"clientPortAddress":         host,
		"tickTime":                  "1000",
		"maxClientCnxns":            "0",
		"admin.enableServer":        "false",
		"4lw.commands.whitelist":    "ruok,srvr",
		"minSessionTimeout":         "2000",
		"maxSessionTimeout":         "120000",
		"metricsProvider.className": "org.apache.fluss.shaded.zookeeper3.org.apache.zookeeper.metrics.impl.NullMetricsProvider",
	}
}

// log4j sends everything to standard output, which goes to the process's log,
// and stays on while the process shuts down.
const log4j = `shutdownHook = disable
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = Out
appender.out.name = Out
appender.out.type = CONSOLE
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %-60.60c %x - %m%n
logger.zookeeper.name = org.apache.fluss.shaded.zookeeper3
logger.zookeeper.level = WARN
`

// yaml writes flat keys in order. A value is plain where YAML allows it, for
// Fluss's reader is simple, and in double quotes otherwise.
func yaml(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := m[k]
		if v == "" || v != strings.TrimSpace(v) || strings.ContainsAny(v, "\n\r\t") || strings.Contains(v, ": ") ||
			strings.Contains(v, " #") || strings.ContainsAny(v[:1], "\"'#&*!|>%@`{}[],?:-") {
			v = strconv.Quote(v)
		}
		fmt.Fprintf(&b, "%s: %s\n", k, v)
	}
	return b.String()
}

// properties writes a Java properties file.
func properties(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%s\n", k, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(m[k]))
	}
	return b.String()
}

// configure writes a process's settings and returns their folder. Passwords
// may be among them: only the owner may read it.
func (s *Stack) configure(name string, files map[string]string) (string, error) {
	dir := filepath.Join(s.st.Options.Dir, "conf", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("stack: configure %s: %w", name, err)
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("stack: configure %s: %w", name, err)
		}
	}
	return dir, nil
}
