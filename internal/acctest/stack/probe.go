package stack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Fluss request keys (the numbers of API_VERSIONS' answer) used to ask a server
// whether it serves. The probe is written apart from the client under test, so
// that a fault of the client cannot look like a stack that does not start.
const (
	keyAPIVersions = 1000
	keyMetadata    = 1012
	maxAnswer      = 16 << 20
)

// FlussServing asks the Fluss server at address for its API versions; nil
// means it serves requests.
func FlussServing(ctx context.Context, address string) error {
	body := protoString(nil, 1, "stack-probe")
	body = protoString(body, 2, "1")
	_, err := flussAsk(ctx, address, keyAPIVersions, body)
	return err
}

// FlussTabletServers asks the Fluss server at address which tablet servers it
// knows of and returns their addresses.
func FlussTabletServers(ctx context.Context, address string) ([]string, error) {
	body, err := flussAsk(ctx, address, keyMetadata, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	err = protoFields(body, func(num int, _ uint64, node []byte) error {
		if num != 2 { // tablet_servers
			return nil
		}
		name, port := "", uint64(0)
		err := protoFields(node, func(num int, v uint64, data []byte) error {
			switch num {
			case 2:
				name = string(data)
			case 3:
				port = v
			}
			return nil
		})
		out = append(out, fmt.Sprintf("%s:%d", name, port))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stack: metadata of %s: %w", address, err)
	}
	return out, nil
}

// flussAsk sends one request and returns the answer's message. Frames are
// big-endian: length, key, version, request ID, body; the answer is length,
// type (0 success, 1 error, 2 server failure), request ID, body.
func flussAsk(ctx context.Context, address string, key int16, body []byte) ([]byte, error) {
	conn, err := dialProbe(ctx, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	frame := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	frame = binary.BigEndian.AppendUint16(frame, uint16(key))
	frame = binary.BigEndian.AppendUint16(frame, 0)
	frame = binary.BigEndian.AppendUint32(frame, 1)
	if _, err := conn.Write(append(frame, body...)); err != nil {
		return nil, fmt.Errorf("stack: ask %s: %w", address, err)
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, fmt.Errorf("stack: answer of %s: %w", address, err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 5 || n > maxAnswer {
		return nil, fmt.Errorf("stack: answer of %s: %d bytes; is it a Fluss server?", address, n)
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, fmt.Errorf("stack: answer of %s: %w", address, err)
	}
	if answer[0] != 0 {
		return nil, fmt.Errorf("stack: %s refused request %d with an answer of type %d", address, key, answer[0])
	}
	return answer[5:], nil
}

// dialProbe connects, with ctx's deadline as that of all reads and writes.
func dialProbe(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("stack: connect: %w", err)
	}
	limit, ok := ctx.Deadline()
	if !ok {
		limit = time.Now().Add(probeTimeout)
	}
	if err := conn.SetDeadline(limit); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// zooKeeperServing asks a ZooKeeper server for its state with the four-letter
// commands its configuration allows.
func zooKeeperServing(ctx context.Context, address string) error {
	for command, want := range map[string]string{"ruok": "imok", "srvr": "Mode: standalone"} {
		conn, err := dialProbe(ctx, address)
		if err != nil {
			return err
		}
		_, err = io.WriteString(conn, command)
		var answer []byte
		if err == nil {
			answer, err = io.ReadAll(io.LimitReader(conn, maxAnswer))
		}
		if err := errors.Join(err, conn.Close()); err != nil {
			return fmt.Errorf("stack: ask ZooKeeper at %s: %w", address, err)
		}
		if !strings.Contains(string(answer), want) {
			return fmt.Errorf("stack: ZooKeeper at %s answers %q to %s, not %q", address, lastLines(answer, 3), command, want)
		}
	}
	return nil
}

func protoString(dst []byte, num int, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(num)<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// protoFields calls f with each field of a protobuf message: its number and
// either its number value or its bytes.
func protoFields(msg []byte, f func(num int, v uint64, data []byte) error) error {
	bad := errors.New("malformed protobuf message")
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		if n <= 0 {
			return bad
		}
		msg = msg[n:]
		var v uint64
		var data []byte
		switch tag & 7 {
		case 0:
			if v, n = binary.Uvarint(msg); n <= 0 {
				return bad
			}
			msg = msg[n:]
		case 2:
			size, n := binary.Uvarint(msg)
			if n <= 0 || size > uint64(len(msg)-n) {
				return bad
			}
			data, msg = msg[n:n+int(size)], msg[n+int(size):]
		case 1, 5:
			size := 8
			if tag&7 == 5 {
				size = 4
			}
			if len(msg) < size {
				return bad
			}
			msg = msg[size:]
		default:
			return bad
		}
		if err := f(int(tag>>3), v, data); err != nil {
			return err
		}
	}
	return nil
}
