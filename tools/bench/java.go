package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

// compileJava compiles one class against the stack's jars and returns the
// command that runs it, to be followed by its arguments.
func (b *bench) compileJava(ctx context.Context, class string, source []byte) ([]string, error) {
	java, err := stack.FindJava(ctx)
	if err != nil {
		return nil, err
	}
	libs := os.Getenv("STACK_LIBS")
	if libs == "" {
		if libs, err = stack.Fetch(ctx, false, logf); err != nil {
			return nil, err
		}
	}
	// Fluss's client comes from a folder of its own: that of another build where it has one.
	client := filepath.Join(libs, "client")
	if _, err := os.Stat(client); err != nil {
		if client, err = stack.FetchClient(ctx, logf); err != nil {
			return nil, err
		}
	}
	file := filepath.Join(b.dir, class+".java")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return nil, err
	}
	jars := strings.Join([]string{filepath.Join(libs, "plugins", "paimon", "*"), filepath.Join(client, "*")}, string(os.PathListSeparator))
	javac := filepath.Join(filepath.Dir(java.Path), "javac")
	if out, err := exec.CommandContext(ctx, javac, "-cp", jars, "-d", b.dir, file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s, of a JDK, is required: %w\n%s", javac, err, out)
	}
	b.results.javaVersion = fmt.Sprint(java.Major)
	classes := strings.Join([]string{b.dir, jars, filepath.Join(libs, "lib", "*")}, string(os.PathListSeparator))
	return []string{java.Path, "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", classes, class}, nil
}
