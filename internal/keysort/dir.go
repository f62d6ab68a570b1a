package keysort

import "os"

// Dir is the folder for temporary files: TMPDIR where that is set, else
// /var/tmp, as /tmp is memory on many machines, else what the system has.
func Dir() string {
	if os.Getenv("TMPDIR") == "" {
		if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
			return "/var/tmp"
		}
	}
	return os.TempDir()
}
