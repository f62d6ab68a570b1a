package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Everything that is missing or too old is told at once, with the version that
// is required.
func TestNeeded(t *testing.T) {
	bin := t.TempDir()
	tool := func(name, output string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\ncat <<'END'\n"+output+"\nEND\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	system := os.Getenv("PATH")
	t.Setenv("PATH", bin)
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PYTHON", "")
	wants := func(texts ...string) {
		t.Helper()
		err := needed(t.Context())
		if err == nil {
			t.Fatal("no error")
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("the error lacks %q: %v", text, err)
			}
		}
	}
	wants("Java is missing", "Java 17 or later", "Python is missing", "Terraform is missing", "Terraform 1.11 or later is required")

	t.Setenv("PATH", bin+string(os.PathListSeparator)+system)
	tool("java", `openjdk version "11.0.2" 2019-01-15`)
	tool("python3", "Python 3.8.10")
	tool("terraform", `{ "terraform_version": "1.9.8" }`)
	wants("found Java 11", "Python 3.9 or later is required, found 3.8", "Terraform 1.11 or later is required, found 1.9")

	tool("java", `openjdk version "21.0.2" 2024-01-16`)
	tool("python3", "Python 3.13.0")
	tool("terraform", `{ "terraform_version": "1.15.5" }`)
	if err := needed(t.Context()); err != nil {
		t.Error(err)
	}
	tool("terraform", "OpenTofu v1.8.0")
	wants("Terraform: ", "says", "1.11 or later")
}
