// Package storage is the one file-system interface that the lake is read
// through, over local disk and object stores.
package storage

import (
	"context"
	"io"
)

// FS reads files and lists folders. Paths are absolute within the file system
// (for local disk the ordinary path, for object stores "bucket/key"), never
// URIs. A path that does not exist gives an error that matches fs.ErrNotExist;
// every error names the path. Implementations are safe for concurrent use.
type FS interface {
	// Open opens a file for reading at any offset.
	Open(ctx context.Context, path string) (File, error)
	// ReadFile returns the whole file, which must not be larger than limit bytes.
	ReadFile(ctx context.Context, path string, limit int64) ([]byte, error)
	// List returns the entries of a folder, by name. A folder that does not
	// exist gives fs.ErrNotExist on file systems that have folders and no
	// entries on those that have none.
	List(ctx context.Context, dir string) ([]Info, error)
	// Stat describes a file or folder.
	Stat(ctx context.Context, path string) (Info, error)
	// CreateExclusive writes a new file whole, or fails with an error that
	// matches fs.ErrExist and leaves the existing file as it is. No reader ever
	// sees part of it.
	CreateExclusive(ctx context.Context, path string, data []byte) error
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the length in bytes when the file was opened.
	Size() int64
}

// Info describes a file or folder.
type Info struct {
	Name  string // last element of the path
	Size  int64  // bytes; 0 for folders
	IsDir bool
}
