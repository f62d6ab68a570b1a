package stack

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed artifacts.txt
var artifactList string

const (
	mavenScheme = "maven:"
	pypiScheme  = "pypi:"
)

// artifact is one line of artifacts.txt.
type artifact struct {
	folders    []string // below the cache, "/" separated
	coordinate string   // without its scheme
	scheme     string
	sha256     string
}

// file is the name the artifact has in each of its folders.
func (a artifact) file() string {
	if a.scheme == mavenScheme {
		part := strings.Split(a.coordinate, ":")
		return part[1] + "-" + part[2] + ".jar"
	}
	_, member, _ := strings.Cut(a.coordinate, ":")
	return member[strings.LastIndex(member, "/")+1:]
}

// archive is the source archive a pypi artifact is a member of, "NAME==VERSION".
func (a artifact) archive() string {
	name, _, _ := strings.Cut(a.coordinate, ":")
	return name
}

// member is the path of a pypi artifact inside its archive's top folder.
func (a artifact) member() string {
	_, member, _ := strings.Cut(a.coordinate, ":")
	return member
}

// paths are the artifact's places, relative to the cache.
func (a artifact) paths() []string {
	out := make([]string, len(a.folders))
	for i, f := range a.folders {
		out[i] = f + "/" + a.file()
	}
	return out
}

func (a artifact) in(folder string) bool {
	return slices.Contains(a.folders, folder)
}

// parseArtifacts reads the format described at the head of artifacts.txt: the
// jars, and the checksums of the archives by "NAME==VERSION".
func parseArtifacts(text string) ([]artifact, map[string]string, error) {
	var jars []artifact
	archives := map[string]string{}
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field := strings.Fields(line)
		bad := func(what string) error {
			return fmt.Errorf("stack: artifacts.txt line %d: %s; required: FOLDERS COORDINATES SHA256", n+1, what)
		}
		if len(field) != 3 {
			return nil, nil, bad(fmt.Sprintf("%d fields", len(field)))
		}
		if sum, err := hex.DecodeString(field[2]); err != nil || len(sum) != sha256.Size {
			return nil, nil, bad("no SHA-256: " + field[2])
		}
		a := artifact{folders: strings.Split(field[0], ","), sha256: field[2]}
		for _, scheme := range []string{mavenScheme, pypiScheme} {
			if strings.HasPrefix(field[1], scheme) {
				a.scheme, a.coordinate = scheme, strings.TrimPrefix(field[1], scheme)
			}
		}
		switch {
		case a.scheme == pypiScheme && field[0] == "archive" && a.member() == "":
			archives[a.coordinate] = a.sha256
			continue
		case a.scheme == mavenScheme && strings.Count(a.coordinate, ":") == 2:
		case a.scheme == pypiScheme && a.member() != "":
		default:
			return nil, nil, bad("unknown coordinates " + field[1])
		}
		jars = append(jars, a)
	}
	for _, a := range jars {
		if a.scheme == pypiScheme && archives[a.archive()] == "" {
			return nil, nil, fmt.Errorf("stack: artifacts.txt: no archive line for %s, which %s needs", a.archive(), a.coordinate)
		}
	}
	return jars, archives, nil
}

// moduleLine is how the repository's own go.mod begins; its folder is the root.
const moduleLine = "module github.com/fluss-lake/terraform-provider-fluss"

// RepositoryRoot is the folder of the repository the working directory is in.
// It is an error to call it from outside the repository.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("stack: find the repository: %w", err)
	}
	start := dir
	for {
		if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			line, _, _ := bytes.Cut(data, []byte("\n"))
			if strings.TrimSpace(string(line)) == moduleLine {
				return dir, nil
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("stack: no folder above %s is the repository of %s; change into it, or set FLUSS_STACK_CACHE to a folder for downloads", start, strings.TrimPrefix(moduleLine, "module "))
		}
		dir = up
	}
}

// CacheDir is where downloads are kept: $FLUSS_STACK_CACHE, else .cache in the
// repository. The jars are in its folder jars, Python's environment in venv.
func CacheDir() (string, error) {
	if dir := os.Getenv("FLUSS_STACK_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := RepositoryRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".cache"), nil
}

// stamp is what a file looked like when its checksum was last computed.
type stamp struct {
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime_ns"`
	SHA256  string `json:"sha256"`
}

// Fetch makes sure that the released jars are in the cache with the checksums
// of artifacts.txt, downloading what is missing, and returns the folder that
// holds lib, plugins and, if withFlink, flink. Several processes may call it at once.
func Fetch(ctx context.Context, withFlink bool, logf func(string, ...any)) (string, error) {
	return fetch(ctx, func(a artifact) bool { return a.in("lib") || a.in("plugins/paimon") || withFlink && a.in("flink") }, logf)
}

// FetchClient makes sure of the Java client of Fluss in the same way and returns
// its folder; the servers do without it.
func FetchClient(ctx context.Context, logf func(string, ...any)) (string, error) {
	dir, err := fetch(ctx, func(a artifact) bool { return a.in("client") }, logf)
	return filepath.Join(dir, "client"), err
}

func fetch(ctx context.Context, want func(artifact) bool, logf func(string, ...any)) (string, error) {
	jars, archives, err := parseArtifacts(artifactList)
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "jars")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("stack: make the cache: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(dir, ".lock"))
	if err != nil {
		return "", fmt.Errorf("stack: lock the cache: %w", err)
	}
	defer unlock()

	var wanted []artifact
	for _, a := range jars {
		if want(a) {
			wanted = append(wanted, a)
		}
	}
	if err := refuseStrangers(dir, jars); err != nil {
		return "", err
	}
	c := &jarCache{dir: dir, stamps: map[string]stamp{}}
	c.load()
	missing, err := c.check(wanted)
	if err != nil {
		return "", err
	}
	if len(missing) > 0 {
		if err := c.fetch(ctx, missing, archives, logf); err != nil {
			return "", err
		}
		if left, err := c.check(wanted); err != nil {
			return "", err
		} else if len(left) > 0 {
			return "", fmt.Errorf("stack: %s is still missing in %s after fetching", left[0].coordinate, dir)
		}
	}
	return dir, c.save()
}

// refuseStrangers reports a jar that artifacts.txt does not list: Fluss loads
// every jar of a plugin folder, so a stray one would change what is tested.
func refuseStrangers(dir string, jars []artifact) error {
	known := map[string]bool{}
	folders := map[string]bool{}
	for _, a := range jars {
		for i, p := range a.paths() {
			known[p] = true
			folders[a.folders[i]] = true
		}
	}
	for folder := range folders {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("stack: read the cache: %w", err)
		}
		for _, e := range entries {
			if p := folder + "/" + e.Name(); !known[p] {
				return fmt.Errorf("stack: %s is not one of the released parts; remove it (another build's jars are given with -libs)", filepath.Join(dir, p))
			}
		}
	}
	return nil
}

// jarCache is the folder of verified jars.
type jarCache struct {
	dir    string
	stamps map[string]stamp
}

func (c *jarCache) stampFile() string { return filepath.Join(c.dir, ".verified.json") }

// load reads the stamps; without readable ones every file is checked in full.
func (c *jarCache) load() {
	data, err := os.ReadFile(c.stampFile())
	if err != nil || json.Unmarshal(data, &c.stamps) != nil || c.stamps == nil {
		c.stamps = map[string]stamp{}
	}
}

func (c *jarCache) save() error {
	data, err := json.MarshalIndent(c.stamps, "", " ")
	if err != nil {
		return fmt.Errorf("stack: write %s: %w", c.stampFile(), err)
	}
	if old, err := os.ReadFile(c.stampFile()); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return writeFile(c.stampFile(), data)
}

// check returns the artifacts of which a place is empty or holds other bytes
// than listed; such a file is removed. A file whose size and time are those of
// its last full check is not read again.
func (c *jarCache) check(wanted []artifact) ([]artifact, error) {
	var missing []artifact
	for _, a := range wanted {
		gone := false
		for _, p := range a.paths() {
			ok, err := c.verify(p, a.sha256)
			if err != nil {
				return nil, err
			}
			gone = gone || !ok
		}
		if gone {
			missing = append(missing, a)
		}
	}
	return missing, nil
}

func (c *jarCache) verify(rel, want string) (bool, error) {
	path := filepath.Join(c.dir, filepath.FromSlash(rel))
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		delete(c.stamps, rel)
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("stack: check the cache: %w", err)
	}
	now := stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano(), SHA256: want}
	if c.stamps[rel] == now {
		return true, nil
	}
	sum, err := fileSHA256(path)
	if err != nil {
		return false, err
	}
	if sum != want {
		delete(c.stamps, rel)
		if err := os.Remove(path); err != nil {
			return false, fmt.Errorf("stack: remove a damaged jar: %w", err)
		}
		return false, nil
	}
	c.stamps[rel] = now
	return true, nil
}

// place puts a fetched file into each of the artifact's folders, if its bytes
// are the listed ones.
func (c *jarCache) place(a artifact, from string) error {
	sum, err := fileSHA256(from)
	if err != nil {
		return err
	}
	if sum != a.sha256 {
		return fmt.Errorf("stack: %s%s: the fetched file has SHA-256 %s, artifacts.txt requires %s; the registry or a proxy answered with another file", a.scheme, a.coordinate, sum, a.sha256)
	}
	for _, p := range a.paths() {
		to := filepath.Join(c.dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("stack: fill the cache: %w", err)
		}
		if err := copyFile(from, to); err != nil {
			return fmt.Errorf("stack: fill the cache: %w", err)
		}
	}
	return nil
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("stack: checksum: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("stack: checksum of %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyFile makes to appear whole or not at all.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(filepath.Dir(to)), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	if err := errors.Join(out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

// writeFile writes data so that a reader sees the old or the new content.
func writeFile(path string, data []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	return nil
}
