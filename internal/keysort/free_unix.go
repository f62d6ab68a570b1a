//go:build linux || darwin

package keysort

import "golang.org/x/sys/unix"

// Free returns how many bytes a folder's file system has left for this user, and
// false when that can't be told.
func Free(dir string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail * uint64(s.Bsize)), true
}
