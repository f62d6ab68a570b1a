package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
)

func getJSON(ctx context.Context, url string, into any) error {
	return doJSON(ctx, http.MethodGet, url, nil, into)
}

// doJSON asks a REST service; body and into may be nil.
func doJSON(ctx context.Context, method, url string, body, into any) error {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("stack: %s %s: %w", method, url, err)
		}
		in = bytes.NewReader(data)
	}
	return do(ctx, method, url, "application/json", in, into)
}

// uploadFile posts a file as a form's field and returns the name it is stored under.
func uploadFile(ctx context.Context, url, field, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("stack: upload: %w", err)
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile(field, filepath.Base(path))
	if err == nil {
		_, err = part.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return "", fmt.Errorf("stack: upload %s: %w", path, err)
	}
	var answer struct {
		Filename string `json:"filename"`
	}
	err = do(ctx, http.MethodPost, url, w.FormDataContentType(), &form, &answer)
	return answer.Filename, err
}

func do(ctx context.Context, method, url, contentType string, in io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("stack: %s %s: %w", method, url, err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("stack: %s %s: %s: %s", method, url, resp.Status, lastLines(data, 5))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("stack: %s %s: %w", method, url, err)
	}
	return nil
}
