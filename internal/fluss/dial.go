package fluss

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/faultpoint"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// What API_VERSIONS tells the server about this client.
const (
	softwareName    = "terraform-provider-fluss"
	softwareVersion = "1.0"
)

// dial opens a connection and makes it ready: API_VERSIONS, then the login if
// one is configured.
func (c *Client) dial(ctx context.Context, addr string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DialTimeout)
	defer cancel()
	nc, err := c.cfg.Dial(ctx, "tcp", faultpoint.Address(addr))
	if err != nil {
		return nil, &connectError{&transportError{server: addr, kind: ErrConnection, cause: err}}
	}
	cn := newConn(nc, addr, &c.cfg)
	if !c.adopt(cn) {
		_ = nc.Close()
		return nil, &connectError{&transportError{server: addr, kind: ErrClosed}}
	}
	if c.cfg.Trace != nil {
		c.cfg.Trace(Event{Server: addr, Connected: true})
	}
	if err := c.handshake(ctx, cn); err != nil {
		cn.fail(ErrConnection, errors.New("the handshake failed"))
		return nil, &connectError{err}
	}
	return cn, nil
}

func (c *Client) handshake(ctx context.Context, cn *conn) error {
	hello, err := marshal(wire.APIVersions, 0, &flusspb.ApiVersionsRequest{
		ClientSoftwareName: proto.String(softwareName), ClientSoftwareVersion: proto.String(softwareVersion)})
	if err != nil {
		return err
	}
	var res flusspb.ApiVersionsResponse
	if err := cn.roundTrip(ctx, hello, &res); err != nil {
		return err
	}
	cn.versions = make(map[wire.Key]wire.Range, len(res.GetApiVersions()))
	for _, v := range res.GetApiVersions() {
		cn.versions[wire.Key(v.GetApiKey())] = wire.Range{Min: int16(v.GetMinVersion()), Max: int16(v.GetMaxVersion())}
	}
	cn.coordinator = res.GetServerType() == 1
	if c.cfg.SASL == nil {
		return nil
	}
	return cn.login(ctx, c.cfg.SASL)
}

// login authenticates with SASL/PLAIN (RFC 4616): one round trip.
func (c *conn) login(ctx context.Context, sasl *SASL) error {
	version, err := c.version(wire.Authenticate)
	if err != nil {
		return err
	}
	token := "\x00" + sasl.Username + "\x00" + sasl.Password
	req, err := marshal(wire.Authenticate, version, &flusspb.AuthenticateRequest{
		Protocol: proto.String("PLAIN"), Token: []byte(token)})
	if err != nil {
		return err
	}
	var res flusspb.AuthenticateResponse
	err = c.roundTrip(ctx, req, &res)
	var e *Error
	switch {
	case errors.As(err, &e) && e.Code == wire.CodeAuthenticate && strings.Contains(e.Message, "PLAINTEXT"):
		return fmt.Errorf("fluss: %s: user name and password are configured, but the listener has no SASL; remove them or use the address of a SASL listener: %w", c.addr, err)
	case err != nil:
		return err
	case len(res.GetChallenge()) > 0:
		return fmt.Errorf("fluss: %s: %w: the server asks for another step after SASL/PLAIN; is PLAIN enabled on this listener?", c.addr, ErrAuthentication)
	}
	return nil
}
