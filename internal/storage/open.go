package storage

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Schemes are the URI schemes Open understands, for error messages and docs.
var Schemes = []string{"file"}

// Open returns the file system that uri lies in, and uri's path within it.
// A plain path, absolute or relative to the working directory, and a file:
// URI give the local disk, which has no options; any other scheme is refused.
func Open(uri string, options map[string]string) (FS, string, error) {
	scheme, rest, isURI := splitScheme(uri)
	switch {
	case uri == "":
		return nil, "", fmt.Errorf("storage: the location is empty; give a path or a URI with scheme %s", strings.Join(Schemes, ", "))
	case !isURI:
		return openLocal(uri)
	case scheme != "file":
		return nil, "", fmt.Errorf("storage: location %q has the scheme %q, which is not supported; supported are plain paths and the schemes: %s",
			uri, scheme, strings.Join(Schemes, ", "))
	}
	// file:/a, file:///a and file://localhost/a. Nothing is percent-decoded:
	// Paimon and Hadoop write file URIs with the path as it is.
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, p, found := strings.Cut(after, "/")
		if host != "" && host != "localhost" {
			return nil, "", fmt.Errorf("storage: location %q names the host %q; a file URI must be of this machine: file:///path", uri, host)
		}
		if !found {
			return nil, "", fmt.Errorf("storage: location %q has no path; required is file:///path", uri)
		}
		rest = "/" + p
	}
	if !strings.HasPrefix(rest, "/") {
		return nil, "", fmt.Errorf("storage: location %q has a relative path; a file URI must be absolute: file:///path", uri)
	}
	return openLocal(rest)
}

func openLocal(path string) (FS, string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, "", fmt.Errorf("storage: location %q: %w", path, err)
	}
	return Local{}, filepath.ToSlash(abs), nil
}

// splitScheme splits "scheme:rest". A single letter is a drive, not a scheme.
func splitScheme(uri string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(uri, ":")
	if !ok || len(scheme) < 2 {
		return "", uri, false
	}
	for i, c := range []byte(scheme) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		other := c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return "", uri, false
		}
	}
	return strings.ToLower(scheme), rest, true
}
