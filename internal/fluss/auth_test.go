package fluss_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

func withPlain(cfg *fluss.Config) {
	cfg.SASL = &fluss.SASL{Mechanism: "plain", Username: "alice", Password: "hunter2"}
}

func TestLogin(t *testing.T) {
	s := newFakeServer(t)
	s.on(wire.Authenticate, func(r *fakeRequest) {
		var m flusspb.AuthenticateRequest
		r.decode(&m)
		if m.GetProtocol() != "PLAIN" || string(m.GetToken()) != "\x00alice\x00hunter2" {
			t.Errorf("login %q, %q", m.GetProtocol(), m.GetToken())
		}
		if s.count(wire.APIVersions) != 1 || s.count(wire.GetMetadata) != 0 {
			t.Error("the login came at the wrong moment")
		}
		r.reply(&flusspb.AuthenticateResponse{Challenge: []byte{}})
	})
	connectFake(t, s, withPlain)
}

func TestNoLoginWithoutCredentials(t *testing.T) {
	s := newFakeServer(t)
	connectFake(t, s)
	if n := s.count(wire.Authenticate); n != 0 {
		t.Errorf("%d logins", n)
	}
}

func TestLoginErrors(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*fakeRequest)
		text   string
	}{
		"wrong password": {func(r *fakeRequest) {
			r.fail(wire.CodeAuthenticate, "Authentication failed: Invalid username or password")
		}, "Invalid username"},
		"no SASL": {func(r *fakeRequest) {
			r.fail(wire.CodeAuthenticate, "The connection requires protocol PLAINTEXT but got PLAIN")
		}, "the listener has no SASL"},
		"another step": {func(r *fakeRequest) { r.reply(&flusspb.AuthenticateResponse{Challenge: []byte("more")}) }, "another step"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			s.on(wire.Authenticate, c.answer)
			cfg := fluss.Config{Bootstrap: []string{s.addr()}}
			withPlain(&cfg)
			_, err := fluss.Connect(testContext(t), cfg)
			if !errors.Is(err, fluss.ErrAuthentication) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), s.addr()) {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Error("the error holds the password")
			}
			if n := s.count(wire.Authenticate); n != 1 {
				t.Errorf("%d logins", n)
			}
			noLeaks(t)
		})
	}
}

// 51 asks for another try.
func TestLoginTriedAgain(t *testing.T) {
	s := newFakeServer(t)
	var n atomic.Int32
	s.on(wire.Authenticate, func(r *fakeRequest) {
		if n.Add(1) < 3 {
			r.fail(wire.CodeRetriableAuthenticate, "not yet")
			return
		}
		r.reply(&flusspb.AuthenticateResponse{})
	})
	connectFake(t, s, withPlain)
	if n.Load() != 3 {
		t.Errorf("%d logins", n.Load())
	}
}

func TestLoginMissing(t *testing.T) {
	s := newFakeServer(t)
	s.on(wire.GetMetadata, func(r *fakeRequest) {
		r.fail(wire.CodeAuthenticate, "The connection has not completed authentication yet.")
	})
	_, err := fluss.Connect(testContext(t), fluss.Config{Bootstrap: []string{s.addr()}})
	if !errors.Is(err, fluss.ErrAuthentication) || !strings.Contains(err.Error(), "set user name and password") {
		t.Errorf("%v", err)
	}
}

func TestCredentialsDoNotPrint(t *testing.T) {
	s := fluss.SASL{Username: "alice", Password: "hunter2"}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", s, s, s, s), fmt.Sprintf("%v %+v %#v", &s, &s, &s)} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("printed as %s", text)
		}
	}
}
