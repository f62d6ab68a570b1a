// Package safego runs code so that a panic becomes an error: a provider that
// dies takes Terraform's state of every other resource with it.
package safego

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// PanicError is a panic that was caught. Its text names the panic and where it
// began, without the values of any argument.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("internal error: panic: %v (this is a defect of the provider; please report it with the log at level TRACE)", e.Value)
}

// Do runs f and returns its error, or a *PanicError if it panicked.
func Do(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// Go runs f in a goroutine of g, with its panic turned into its error.
func Go(g *errgroup.Group, f func() error) {
	g.Go(func() error { return Do(f) })
}

// Start runs f in a goroutine of its own and hands its error, or its panic as
// an error, to done.
func Start(f func() error, done func(error)) {
	go func() { done(Do(f)) }()
}

// BlameInput turns a caught panic of a decoder into a plain statement about its
// input, which matches corrupt: every slice is bounds-checked by Go, so what
// panics there is input that no check foresaw. Other errors stay as they are.
func BlameInput(err, corrupt error) error {
	var p *PanicError
	if errors.As(err, &p) {
		return fmt.Errorf("%w: unforeseen content: %w", corrupt, err)
	}
	return err
}
