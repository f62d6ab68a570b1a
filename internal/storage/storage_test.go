package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestOpen(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ uri, root, errHas string }{
		{"/a/b", "/a/b", ""},
		{"/a/b/", "/a/b", ""},
		{"rel/x", wd + "/rel/x", ""},
		{"file:/a", "/a", ""},
		{"file:///a/dt=1%2F2", "/a/dt=1%2F2", ""},
		{"FILE://localhost/a", "/a", ""},
		{"/a:b", "/a:b", ""},
		{"", "", "empty"},
		{"file://other/a", "", `host "other"`},
		{"file://localhost", "", "no path"},
		{"file:a", "", "relative"},
		{"s3://b/k", "", `scheme "s3", which is not supported; supported are plain paths and the schemes: file`},
		{"hdfs://n:8020/k", "", "hdfs"},
	} {
		_, root, err := Open(c.uri, nil)
		if c.errHas != "" {
			if err == nil || !strings.Contains(err.Error(), c.errHas) {
				t.Errorf("%q: error %v, want it to have %q", c.uri, err, c.errHas)
			}
			continue
		}
		if err != nil || root != c.root {
			t.Errorf("%q: %q, %v; want %q", c.uri, root, err, c.root)
		}
	}
}

func TestLocalReadsAndLists(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	var l Local
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	infos, err := l.List(ctx, dir)
	if err != nil || fmt.Sprint(infos) != "[{d 0 true} {f 5 false}]" {
		t.Errorf("List: %v, %v", infos, err)
	}
	if st, err := l.Stat(ctx, file); err != nil || st != (Info{Name: "f", Size: 5}) {
		t.Errorf("Stat: %v, %v", st, err)
	}
	if data, err := l.ReadFile(ctx, file, 5); err != nil || string(data) != "hello" {
		t.Errorf("ReadFile: %q, %v", data, err)
	}
	if _, err := l.ReadFile(ctx, file, 4); err == nil || !strings.Contains(err.Error(), "limit of 4") {
		t.Errorf("ReadFile over the limit: %v", err)
	}
	f, err := l.Open(ctx, file)
	if err != nil || f.Size() != 5 {
		t.Fatalf("Open: %v", err)
	}
	buf := make([]byte, 3)
	if _, err := f.ReadAt(buf, 2); err != nil || string(buf) != "llo" {
		t.Errorf("ReadAt: %q, %v", buf, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Open(ctx, dir); err == nil {
		t.Error("Open of a folder did not fail")
	}
	missing := filepath.Join(dir, "none")
	for what, err := range map[string]error{
		"Open": errOf2(l.Open(ctx, missing)), "Stat": errOf2(l.Stat(ctx, missing)),
		"List": errOf2(l.List(ctx, missing)), "ReadFile": errOf2(l.ReadFile(ctx, missing, 1)),
	} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s of a missing path: %v", what, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.ReadFile(cancelled, file, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func errOf2[T any](_ T, err error) error { return err }

func TestCreateExclusiveHasOneWinner(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	var l Local
	path := filepath.Join(dir, "schema-1")
	const writers = 16
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() { errs[i] = l.CreateExclusive(ctx, path, bytes.Repeat([]byte{byte('a' + i)}, 10_000)) })
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("writers %d and %d both won", winner, i)
		case !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path):
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if winner < 0 {
		t.Fatal("no writer won")
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(data, bytes.Repeat([]byte{byte('a' + winner)}, 10_000)) {
		t.Errorf("content is not the winner's: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("temporary files were left: %v", entries)
	}
	if err := l.CreateExclusive(ctx, filepath.Join(dir, "no", "f"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}
