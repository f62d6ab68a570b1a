//go:build !linux && !darwin

package keysort

// Free can't tell how many bytes a folder's file system has left.
func Free(string) (int64, bool) { return 0, false }
