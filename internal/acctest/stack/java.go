package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// minJava is what the servers and Flink's Java 17 flags of this package need.
const minJava = 17

// Java is a Java runtime that can run the stack.
type Java struct {
	Path  string // the java command
	Major int    // 17, 21, …
}

// FindJava is the java of $JAVA_HOME, else the one on PATH. The error says what
// was found and what is required.
func FindJava(ctx context.Context) (Java, error) {
	var path, from string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path, from = filepath.Join(home, "bin", "java"), "JAVA_HOME="+home
		if _, err := exec.LookPath(path); err != nil {
			return Java{}, fmt.Errorf("stack: Java: %s, but %s cannot be run: %w; Java %d or later is required", from, path, err, minJava)
		}
	} else {
		found, err := exec.LookPath("java")
		if err != nil {
			return Java{}, fmt.Errorf("stack: Java is missing: JAVA_HOME is not set and no java is on PATH; Java %d or later is required to run the servers (Debian: the package openjdk-17-jre-headless)", minJava)
		}
		path, from = found, "PATH"
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return Java{}, fmt.Errorf("stack: Java: %s -version (from %s): %w: %s", path, from, err, lastLines(out, 3))
	}
	major, err := javaMajor(string(out))
	if err != nil {
		return Java{}, fmt.Errorf("stack: Java: %s (from %s): %w", path, from, err)
	}
	if major < minJava {
		return Java{}, fmt.Errorf("stack: Java %d or later is required, found Java %d at %s (from %s); set JAVA_HOME to a later one", minJava, major, path, from)
	}
	return Java{Path: path, Major: major}, nil
}

var javaVersion = regexp.MustCompile(`version "([0-9]+)(?:\.([0-9]+))?`)

// javaMajor reads what java -version says: "17.0.15" is 17, "1.8.0_402" is 8.
func javaMajor(out string) (int, error) {
	m := javaVersion.FindStringSubmatch(out)
	if m == nil {
		return 0, errors.New("java -version names no version: " + strings.TrimSpace(lastLines([]byte(out), 3)))
	}
	n := m[1]
	if n == "1" && m[2] != "" {
		n = m[2]
	}
	return strconv.Atoi(n)
}
