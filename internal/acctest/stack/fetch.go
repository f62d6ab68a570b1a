package stack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The dependency plugin whose copy goal takes a jar without reading the parent
// POM: the one of fluss-lake-paimon is not published, and later versions fail on it.
const dependencyPlugin = "2.10"

// fetch downloads the artifacts into a temporary folder and places them.
func (c *jarCache) fetch(ctx context.Context, missing []artifact, archives map[string]string, logf func(string, ...any)) error {
	tmp, err := os.MkdirTemp(c.dir, ".fetch-")
	if err != nil {
		return fmt.Errorf("stack: fetch: %w", err)
	}
	defer os.RemoveAll(tmp)
	var maven []artifact
	members := map[string][]artifact{}
	for _, a := range missing {
		if a.scheme == mavenScheme {
			maven = append(maven, a)
		} else {
			members[a.archive()] = append(members[a.archive()], a)
		}
	}
	if len(maven) > 0 {
		logf("fetching %d jars with Maven", len(maven))
		if err := c.fetchMaven(ctx, tmp, maven); err != nil {
			return err
		}
	}
	for name, list := range members {
		logf("fetching %s with pip", name)
		if err := c.fetchArchive(ctx, tmp, name, archives[name], list); err != nil {
			return err
		}
	}
	return nil
}

// FindMaven is the mvn command: of $MAVEN_HOME, else the one on PATH.
func FindMaven() (string, error) {
	if home := os.Getenv("MAVEN_HOME"); home != "" {
		mvn := filepath.Join(home, "bin", "mvn")
		if _, err := exec.LookPath(mvn); err != nil {
			return "", fmt.Errorf("stack: Maven: MAVEN_HOME is %s, but %s cannot be run: %w", home, mvn, err)
		}
		return mvn, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", errors.New("stack: Maven is missing: no mvn on PATH and MAVEN_HOME is not set; it is needed once, to fetch the servers' jars. Install Maven 3 (Debian: the package maven), or give another build's folder with -libs DIR")
	}
	return mvn, nil
}

// fetchMaven copies all jars with one Maven call: a generated project whose
// only content is the list of files to copy.
func (c *jarCache) fetchMaven(ctx context.Context, tmp string, list []artifact) error {
	mvn, err := FindMaven()
	if err != nil {
		return err
	}
	if _, err := FindJava(ctx); err != nil {
		return err
	}
	var pom bytes.Buffer
	pom.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>` +
		`<groupId>stack</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>` +
		`<build><plugins><plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>` +
		`<version>` + dependencyPlugin + `</version><configuration><outputDirectory>jars</outputDirectory><artifactItems>`)
	for _, a := range list {
		part := strings.Split(a.coordinate, ":")
		pom.WriteString("<artifactItem>")
		for i, tag := range []string{"groupId", "artifactId", "version"} {
			pom.WriteString("<" + tag + ">")
			if err := xml.EscapeText(&pom, []byte(part[i])); err != nil {
				return fmt.Errorf("stack: write a POM: %w", err)
			}
			pom.WriteString("</" + tag + ">")
		}
		pom.WriteString("</artifactItem>")
	}
	pom.WriteString(`</artifactItems></configuration></plugin></plugins></build></project>`)
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom.Bytes(), 0o644); err != nil {
		return fmt.Errorf("stack: write a POM: %w", err)
	}
	// Maven reads MAVEN_ARGS itself only from 3.9 on; passed here once for all.
	args := append([]string{"-B", "-f", "pom.xml"}, strings.Fields(os.Getenv("MAVEN_ARGS"))...)
	if err := runTool(ctx, tmp, withoutEnv("MAVEN_ARGS"), mvn, append(args, "dependency:copy")...); err != nil {
		return fmt.Errorf("stack: Maven could not fetch the servers' jars: %w; check its settings, or point it to a filled repository with MAVEN_ARGS=-Dmaven.repo.local=DIR", err)
	}
	for _, a := range list {
		if err := c.place(a, filepath.Join(tmp, "jars", a.file())); err != nil {
			return err
		}
	}
	return nil
}

// FindPython is the python3 command on PATH, or $PYTHON.
func FindPython() (string, error) {
	name := os.Getenv("PYTHON")
	if name == "" {
		name = "python3"
	}
	python, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("stack: Python is missing: no %s on PATH (the variable PYTHON names another); it is needed to fetch Flink and for the independent readers. Install Python 3.9 or later with its venv module", name)
	}
	return python, nil
}

// fetchArchive takes jars out of a source archive of PyPI. pip runs the
// archive's set-up script to learn its name, hence setuptools in an environment
// of its own.
func (c *jarCache) fetchArchive(ctx context.Context, tmp, name, sum string, list []artifact) error {
	python, err := FindPython()
	if err != nil {
		return err
	}
	venv := filepath.Join(tmp, "venv")
	steps := [][]string{
		{python, "-m", "venv", venv},
		{filepath.Join(venv, "bin", "pip"), "install", "-q", "setuptools", "wheel"},
		{filepath.Join(venv, "bin", "pip"), "download", "-q", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", "archive", name},
	}
	for _, s := range steps {
		if err := runTool(ctx, tmp, os.Environ(), s[0], s[1:]...); err != nil {
			return fmt.Errorf("stack: pip could not fetch %s: %w", name, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(tmp, "archive", "*.tar.gz"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("stack: pip fetched %d archives for %s, 1 required (%w)", len(found), name, errors.Join(err))
	}
	got, err := fileSHA256(found[0])
	if err != nil {
		return err
	}
	if got != sum {
		return fmt.Errorf("stack: pypi:%s: the fetched archive has SHA-256 %s, artifacts.txt requires %s", name, got, sum)
	}
	return c.unpack(ctx, tmp, found[0], list)
}

func (c *jarCache) unpack(ctx context.Context, tmp, archive string, list []artifact) error {
	wanted := map[string]artifact{}
	for _, a := range list {
		wanted[a.member()] = a
	}
	f, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("stack: unpack: %w", err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("stack: unpack %s: %w", archive, err)
	}
	for tr := tar.NewReader(zr); len(wanted) > 0; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stack: unpack %s: %w", archive, err)
		}
		h, err := tr.Next()
		if err != nil {
			return fmt.Errorf("stack: unpack %s: %d of the listed files not found: %w", archive, len(wanted), err)
		}
		_, member, _ := strings.Cut(h.Name, "/")
		a, ok := wanted[member]
		if !ok || h.Typeflag != tar.TypeReg {
			continue
		}
		delete(wanted, member)
		out := filepath.Join(tmp, "member")
		w, err := os.Create(out)
		if err != nil {
			return fmt.Errorf("stack: unpack: %w", err)
		}
		_, err = io.Copy(w, tr)
		if err := errors.Join(err, w.Close()); err != nil {
			return fmt.Errorf("stack: unpack %s from %s: %w", member, archive, err)
		}
		if err := c.place(a, out); err != nil {
			return err
		}
	}
	return nil
}

// runTool runs a command to its end; an error carries the last lines it wrote.
// Ending ctx ends the command and what it started.
func runTool(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	var out tailBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	groupOfItsOwn(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("%s: %w; its last lines:\n%s", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err, out.tail(20))
	}
	return nil
}

// withoutEnv is the environment without one variable.
func withoutEnv(name string) []string {
	var out []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, name+"=") {
			out = append(out, e)
		}
	}
	return out
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct{ data []byte }

const tailBytes = 64 << 10

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.data = append(b.data, p...)
	if n := len(b.data) - tailBytes; n > 0 {
		b.data = append(b.data[:0], b.data[n:]...)
	}
	return len(p), nil
}

func (b *tailBuffer) tail(lines int) string { return lastLines(b.data, lines) }

func lastLines(data []byte, n int) string {
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(all) > n {
		all = all[len(all)-n:]
	}
	return strings.Join(all, "\n")
}
