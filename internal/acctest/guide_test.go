package acctest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/acctest/stack"
)

// Every test that a guide names as the proof of what it says exists.
func TestGuidesNameTests(t *testing.T) {
	root, err := stack.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	if err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "bin"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(data, -1) {
			have[string(m[1])] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	guides, err := filepath.Glob(filepath.Join(root, "docs", "guides", "*.md"))
	if err != nil || len(guides) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w*)[`/]")
	found := 0
	for _, guide := range guides {
		data, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(data, -1) {
			found++
			if !have[string(m[1])] {
				t.Errorf("%s names %s, which does not exist", filepath.Base(guide), m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no guide names a test")
	}
}
