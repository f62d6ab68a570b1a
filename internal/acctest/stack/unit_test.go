package stack

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestArtifactList(t *testing.T) {
	jars, archives, err := parseArtifacts(artifactList)
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) != 1 || len(jars) < 20 {
		t.Errorf("%d archives, %d jars", len(archives), len(jars))
	}
	places := map[string]string{}
	for _, a := range jars {
		for _, p := range a.paths() {
			if other, twice := places[p]; twice {
				t.Errorf("%s is the place of %s and of %s", p, other, a.coordinate)
			}
			places[p] = a.coordinate
		}
	}
	for _, want := range []string{"lib/fluss-server-0.9.1-incubating.jar", "plugins/paimon/paimon-bundle-1.3.1.jar", "flink/flink-dist-1.20.3.jar"} {
		if places[want] == "" {
			t.Errorf("no %s", want)
		}
	}
	sum := strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"lib maven:g:a:1":                     "2 fields",
		"lib maven:g:a:1 abc":                 "no SHA-256",
		"lib maven:g:a " + sum:                "unknown coordinates",
		"lib http:g:a:1 " + sum:               "unknown coordinates",
		"flink pypi:n==1:deps/x.jar " + sum:   "no archive line",
		"# a comment\n\nlib maven:g:1 " + sum: "line 3",
	} {
		if _, _, err := parseArtifacts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A jar whose bytes are not the listed ones is not used, whenever they changed.
func TestCacheVerifies(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(source, "good")
	sum, err := fileSHA256(source)
	if err != nil {
		t.Fatal(err)
	}
	a := artifact{scheme: mavenScheme, coordinate: "g:a:1", folders: []string{"lib", "plugins/paimon"}, sha256: sum}
	missing := func() int {
		t.Helper()
		c := &jarCache{dir: dir, stamps: map[string]stamp{}}
		c.load()
		list, err := c.check([]artifact{a})
		if err == nil {
			err = c.save()
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if missing() != 1 {
		t.Error("an empty cache is whole")
	}
	c := &jarCache{dir: dir, stamps: map[string]stamp{}}
	if err := c.place(a, source); err != nil {
		t.Fatal(err)
	}
	if missing() != 0 {
		t.Error("a filled cache is not whole")
	}
	jar := filepath.Join(dir, "plugins", "paimon", "a-1.jar")
	write(jar, "evil")
	if missing() != 1 {
		t.Error("a changed jar passes")
	}
	if _, err := os.Stat(jar); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a changed jar stays: %v", err)
	}
	write(source, "other")
	if err := c.place(a, source); err == nil || !strings.Contains(err.Error(), "artifacts.txt requires "+sum) {
		t.Errorf("a wrong download: %v", err)
	}
	write(filepath.Join(dir, "lib", "stray.jar"), "x")
	if err := refuseStrangers(dir, []artifact{a}); err == nil || !strings.Contains(err.Error(), "stray.jar is not one of") {
		t.Errorf("a stray jar: %v", err)
	}
}

func TestJavaVersion(t *testing.T) {
	for out, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15":                              17,
		"java version \"1.8.0_402\"":                                          8,
		"Picked up X\nopenjdk version \"21\" 2023-09-19":                      21,
		"openjdk version \"25-ea\" 2025-09-16\nOpenJDK Runtime (build 25-ea)": 25,
	} {
		if got, err := javaMajor(out); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", out, got, err, want)
		}
	}
	if _, err := javaMajor("not Java"); err == nil {
		t.Error("no error for what is not Java")
	}
}

func TestMissingTools(t *testing.T) {
	ctx := context.Background()
	bin := t.TempDir()
	script := "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n"
	t.Setenv("PATH", bin)
	t.Setenv("JAVA_HOME", "")
	t.Setenv("MAVEN_HOME", "")
	t.Setenv("PYTHON", "")
	expect := func(err error, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		}
	}
	_, err := FindJava(ctx)
	expect(err, "Java is missing", "JAVA_HOME is not set", "Java 17 or later")
	_, err = FindMaven()
	expect(err, "Maven is missing", "MAVEN_HOME is not set", "-libs DIR")
	_, err = FindPython()
	expect(err, "Python is missing")
	if err := os.WriteFile(filepath.Join(bin, "java"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = FindJava(ctx)
	expect(err, "Java 17 or later is required", "found Java 11 at "+filepath.Join(bin, "java"))
	t.Setenv("JAVA_HOME", bin)
	_, err = FindJava(ctx)
	expect(err, "JAVA_HOME="+bin, "cannot be run")
	// Start says so before it makes anything.
	_, err = Start(ctx, Options{Dir: filepath.Join(bin, "new")})
	expect(err, "JAVA_HOME="+bin)
	if _, err := os.Stat(filepath.Join(bin, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{TabletServers: 4}, {TabletServers: -1}, {Replication: 2}, {TabletServers: 3, Replication: 4}, {TaskSlots: -1}} {
		if _, err := o.complete(); err == nil || !strings.Contains(err.Error(), "required:") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	o, err := Options{Tiering: true, Dir: "x"}.complete()
	if err != nil || !o.Flink || o.TabletServers != 1 || o.Replication != 1 || !filepath.IsAbs(o.Dir) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestYAML(t *testing.T) {
	got := yaml(map[string]string{"b": "FLUSS://127.0.0.1:1,CLIENT://127.0.0.1:2", "a": "", "c": "x: y", "d": `Login required user_a="b\"c";`, "e": "-1", "f": "x #y"})
	want := "a: \"\"\nb: FLUSS://127.0.0.1:1,CLIENT://127.0.0.1:2\nc: \"x: y\"\nd: Login required user_a=\"b\\\"c\";\ne: \"-1\"\nf: \"x #y\"\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 20 || ports[19] >= max(ephemeralPorts(), 21000) {
		t.Errorf("ports %v", ports)
	}
	l, err := net.Listen("tcp", address(ports[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if portFree(ports[0]) || !portFree(ports[1]) {
		t.Error("portFree is wrong")
	}
}

func sleeper(t *testing.T, name string, command ...string) *Process {
	t.Helper()
	p, err := spawn(spawnSpec{name: name, command: command, dir: t.TempDir(), log: filepath.Join(t.TempDir(), name+".log"), parent: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestEnd(t *testing.T) {
	ctx := context.Background()
	polite := sleeper(t, "polite", "sleep", "600")
	stubborn := sleeper(t, "stubborn", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	for tailFile(stubborn.Log, 1) != "ready" {
		time.Sleep(10 * time.Millisecond)
	}
	stopped := sleeper(t, "stopped", "sleep", "600")
	if err := stopped.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := end(ctx, 400*time.Millisecond, polite, stubborn, stopped); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("the stubborn process was given %s, 400ms required", took)
	}
	for _, p := range []*Process{polite, stubborn, stopped} {
		if p.alive() {
			t.Errorf("%s is alive", p.Name)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	stubborn = sleeper(t, "again", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	for tailFile(stubborn.Log, 1) != "ready" {
		time.Sleep(10 * time.Millisecond)
	}
	began = time.Now()
	if err := end(cancelled, time.Minute, stubborn); err != nil || stubborn.alive() || time.Since(began) > 5*time.Second {
		t.Errorf("cancelled: %v, alive %v, after %s", err, stubborn.alive(), time.Since(began))
	}
}

// A process that got the ID of a recorded one is left alone.
func TestForeignProcessIsLeftAlone(t *testing.T) {
	own := sleeper(t, "own", "sleep", "600")
	other := *own
	other.Started = "an earlier boot/1"
	if other.alive() {
		t.Error("taken for the recorded process")
	}
	if err := end(context.Background(), time.Second, &other); err != nil {
		t.Fatal(err)
	}
	if !own.alive() {
		t.Error("ended")
	}
}

func TestEarlyDeathIsReported(t *testing.T) {
	p := sleeper(t, "dying", "sh", "-c", "sleep 0.3; echo starting; echo 'port in use' >&2; exit 3")
	err := await(context.Background(), p, "serves", func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "ended while starting") || !strings.HasSuffix(err.Error(), "starting\nport in use") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	p = sleeper(t, "slow", "sh", "-c", "echo loading; exec sleep 600")
	err = await(ctx, p, "serves", func(context.Context) error { return errors.New("not yet") })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not yet") || !strings.Contains(err.Error(), "loading") {
		t.Errorf("error %v", err)
	}
}

// TestParentHelper is not a test of its own: it is run as the parent that dies.
func TestParentHelper(t *testing.T) {
	path := os.Getenv("STACK_PARENT_HELPER")
	if path == "" {
		return
	}
	p, err := spawn(spawnSpec{name: "child", command: []string{"sleep", "600"}, log: path + ".log", parent: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, []byte(strconv.Itoa(p.PID)+" "+p.Started)); err != nil {
		t.Fatal(err)
	}
	select {}
}

// Children go with their parent, even when it is killed outright.
func TestChildrenDieWithParent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "child")
	parent := exec.Command(os.Args[0], "-test.run=^TestParentHelper$")
	parent.Env = append(os.Environ(), "STACK_PARENT_HELPER="+path)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var data []byte
	for limit := time.Now().Add(30 * time.Second); len(data) == 0 && time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		data, _ = os.ReadFile(path)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Fatal("the parent ended by itself")
	}
	id, started, _ := strings.Cut(string(data), " ")
	pid, err := strconv.Atoi(id)
	if err != nil {
		t.Fatalf("the parent wrote %q: %v", data, err)
	}
	child := &Process{Name: "child", PID: pid, Started: started}
	for limit := time.Now().Add(10 * time.Second); child.alive(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the child is alive 10 s after its parent's death")
		}
	}
}

func TestState(t *testing.T) {
	dir := t.TempDir()
	if _, err := Attach(dir, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no state: %v", err)
	}
	for text, want := range map[string]string{"{": "unexpected end", `{"version":2}`: "version 2, 1 required", `{"version":1,"options":{"dir":"/elsewhere"}}`: "cannot be moved"} {
		if err := writeFile(filepath.Join(dir, stateFile), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := Attach(dir, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// serve answers every connection with the bytes given.
func serve(t *testing.T, answer []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", address(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 256)
			if _, err := c.Read(buf); err == nil || errors.Is(err, io.EOF) {
				c.Write(answer)
			}
			c.Close()
		}
	}()
	return l.Addr().String()
}

func TestProbeRefusesOddAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	frame := func(body ...byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	node := []byte{0x12, 11, 0x08, 0, 0x12, 4, 'h', 'o', 's', 't', 0x18, 0xe8, 0x07}
	at := serve(t, frame(append([]byte{0, 0, 0, 0, 1}, node...)...))
	if got, err := FlussTabletServers(ctx, at); err != nil || !slices.Equal(got, []string{"host:1000"}) {
		t.Errorf("tablet servers %v, %v", got, err)
	}
	for want, answer := range map[string][]byte{
		"answer of type 1":   frame(1, 0, 0, 0, 1),
		"is it a Fluss":      {0xff, 0xff, 0xff, 0xff},
		"malformed protobuf": frame(0, 0, 0, 0, 1, 0x12, 0x7f),
		"EOF":                {0, 0},
	} {
		if _, err := FlussTabletServers(ctx, serve(t, answer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := zooKeeperServing(ctx, serve(t, []byte("This ZooKeeper instance is not serving"))); err == nil {
		t.Error("a ZooKeeper that does not serve passes")
	}
}

func FuzzProtoFields(f *testing.F) {
	f.Add([]byte{0x12, 1, 0x08, 0x08, 0x96, 0x01})
	f.Add([]byte{0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x0d, 1, 2, 3, 4})
	f.Add([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, msg []byte) {
		total := 0
		if err := protoFields(msg, func(_ int, _ uint64, data []byte) error {
			total += len(data)
			return nil
		}); err == nil && total > len(msg) {
			t.Errorf("%d bytes of fields in a message of %d", total, len(msg))
		}
	})
}

// Everything that servers leave in a stack's folder goes with it; what somebody
// else put there stays.
func TestRemoveFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stack")
	for _, name := range []string{"conf/flink", "logs", "data/tablet-0", "remote", "tmp/history", "archive", "warehouse/db.db"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &Stack{Dir: dir, st: &state{}}
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "mine" {
		t.Errorf("left %v, %v", left, err)
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
