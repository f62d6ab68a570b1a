// Package acctest holds what tests of several packages need: the Terraform under
// test and the content of folders. The real stack, the SQL session and the
// Python readers are packages of their own below it.
package acctest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Terraform is the command under test: TF_ACC_TERRAFORM_PATH or the one on PATH.
func Terraform() string {
	if path := os.Getenv("TF_ACC_TERRAFORM_PATH"); path != "" {
		return path
	}
	return "terraform"
}

// NeedTerraform skips a test that needs a later Terraform than the one under
// test, 1.minor. Its name says TF115: the acceptance tests run those under
// Terraform 1.15, where a skip counts as failed.
func NeedTerraform(t testing.TB, minor int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), Terraform(), "version", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	var have int
	if _, err := fmt.Sscanf(v.Version, "1.%d.", &have); err != nil {
		t.Fatalf("terraform version %q: %v", v.Version, err)
	}
	if have < minor {
		t.Skipf("Terraform %s; 1.%d is needed", v.Version, minor)
	}
}

// Inventory is the content of a folder: the SHA-256 of each file by its path in
// the folder, with slashes.
func Inventory(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		out[filepath.ToSlash(rel)] = hex.EncodeToString(sum[:])
		return nil
	})
	return out, err
}
