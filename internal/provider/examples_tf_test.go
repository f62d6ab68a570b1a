package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTFExamples plans every example that the documentation shows.
func TestTFExamples(t *testing.T) {
	t.Parallel()
	const root = "../../examples"
	var found []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.HasSuffix(name, ".tf") && !strings.HasPrefix(name, "import") && name != "identity.tf" {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 4 {
		t.Fatalf("examples: %q", found)
	}
	for _, path := range found {
		t.Run(strings.TrimPrefix(path, root+"/"), func(t *testing.T) {
			config, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d := newTerraformDir(t)
			d.cluster.script(t, fakeScript{Partitioned: true})
			d.env = append(d.env, envBootstrapServers+"=fluss.invalid:9123", "TF_VAR_fluss_password=planted-password")
			text := string(config)
			if !strings.Contains(text, "required_providers") {
				text = header + text
			}
			if err := os.WriteFile(filepath.Join(d.dir, "main.tf"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out := d.ok(t, "plan"); strings.Contains(out, "planted-password") {
				t.Errorf("a secret was printed:\n%s", out)
			}
		})
	}
}
