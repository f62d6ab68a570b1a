package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Local is the local disk. Paths are ordinary absolute paths, with slashes.
type Local struct{}

var _ FS = Local{}

type localFile struct {
	*os.File
	size int64
}

func (f *localFile) Size() int64 { return f.size }

// Open opens a file; a folder is an error.
func (Local) Open(ctx context.Context, path string) (File, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("storage: opening %s: %w", path, err)
	}
	f, err := os.Open(filepath.FromSlash(path))
	if err != nil {
		return nil, wrap(err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("open %s: not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("storage: %w", err)
	}
	return &localFile{File: f, size: st.Size()}, nil
}

// ReadFile returns the whole file.
func (l Local) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	f, err := l.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > limit {
		return nil, fmt.Errorf("storage: %s has %d bytes, more than the limit of %d for a file of its kind", path, f.Size(), limit)
	}
	data := make([]byte, f.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, f.Size()), data); err != nil {
		return nil, fmt.Errorf("storage: reading %s: %w", path, err)
	}
	return data, nil
}

// List returns the entries of a folder, by name.
func (Local) List(ctx context.Context, dir string) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("storage: listing %s: %w", dir, err)
	}
	entries, err := os.ReadDir(filepath.FromSlash(dir))
	if err != nil {
		return nil, wrap(err)
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		st, err := os.Stat(filepath.Join(filepath.FromSlash(dir), e.Name())) // follows links
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the listing
		}
		if err != nil {
			return nil, fmt.Errorf("storage: %w", err)
		}
		infos = append(infos, infoOf(st, e.Name()))
	}
	return infos, nil
}

// Stat describes a file or folder.
func (Local) Stat(ctx context.Context, path string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, fmt.Errorf("storage: %s: %w", path, err)
	}
	st, err := os.Stat(filepath.FromSlash(path))
	if err != nil {
		return Info{}, wrap(err)
	}
	return infoOf(st, st.Name()), nil
}

// wrap makes an error of the system, which names the path, ours. A path that
// leads through a file does not exist.
func wrap(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("storage: %w (%w)", err, fs.ErrNotExist)
	}
	return fmt.Errorf("storage: %w", err)
}

func infoOf(st fs.FileInfo, name string) Info {
	if st.IsDir() {
		return Info{Name: name, IsDir: true}
	}
	return Info{Name: name, Size: st.Size()}
}

// CreateExclusive writes a temporary file beside path and links it to path,
// which the system does only if nothing is there. The folder must exist.
func (Local) CreateExclusive(ctx context.Context, path string, data []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("storage: creating %s: %w", path, err)
	}
	name := filepath.FromSlash(path)
	dir := filepath.Dir(name)
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return fmt.Errorf("storage: creating %s: %w", path, err)
	}
	defer func() {
		if rmErr := os.Remove(tmp.Name()); rmErr != nil && err == nil {
			err = fmt.Errorf("storage: %s was created, but its temporary file was not removed: %w", path, rmErr)
		}
	}()
	if err := writeAndSync(tmp, data); err != nil {
		return fmt.Errorf("storage: creating %s: %w", path, err)
	}
	if err := os.Link(tmp.Name(), name); err != nil {
		return fmt.Errorf("storage: creating %s: %w", path, err)
	}
	// The new name must survive a power failure as the content does.
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("storage: creating %s: %w", path, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("storage: creating %s: %w", path, err)
	}
	return nil
}

func writeAndSync(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(0o644) // CreateTemp makes files only their owner may read
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
