package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

// RequestHeaderSize is the length in bytes of what precedes a request's body:
// int32 length of the rest, int16 API key, int16 version, int32 request ID.
const RequestHeaderSize = 12

// MaxBodySize is the largest body a request frame can carry, in bytes: the
// length field counts the body and 8 bytes of header in an int32.
const MaxBodySize = 1<<31 - 1 - 8

// ErrFrame is matched by every error about bytes that are not a frame of this
// protocol. The stream can't be read any further after it.
var ErrFrame = errors.New("not a Fluss response frame")

// AppendRequestHeader appends the header of a request whose body has bodySize
// bytes (0 to MaxBodySize).
func AppendRequestHeader(dst []byte, key Key, version int16, id int32, bodySize int) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(bodySize+8))
	dst = binary.BigEndian.AppendUint16(dst, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	return binary.BigEndian.AppendUint32(dst, uint32(id))
}

// The types of a response.
const (
	// TypeSuccess carries a request ID and the response message.
	TypeSuccess = 0
	// TypeError carries a request ID and an ErrorResponse.
	TypeError = 1
	// TypeServerFailure carries an ErrorResponse and no request ID; the server
	// closes the connection after it.
	TypeServerFailure = 2
)

// Response is one response frame, taken apart.
type Response struct {
	// Type is one of the Type constants.
	Type byte
	// ID is the request it answers; 0 for TypeServerFailure.
	ID int32
	// Body is the message of a TypeSuccess response, in memory of its own.
	Body []byte
	// Code and Message are those of the other two types.
	Code    Code
	Message string
}

// firstAlloc bounds what a length field alone can make ReadResponse allocate.
const firstAlloc = 1 << 20

// ReadResponse reads one response frame of at most maxSize bytes (without the
// length field). io.EOF means the stream ended between two frames,
// io.ErrUnexpectedEOF within one; errors matching ErrFrame mean garbage.
func ReadResponse(r io.Reader, maxSize int) (Response, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Response{}, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > int64(maxSize) {
		return Response{}, fmt.Errorf("%w: it announces %d bytes, more than the %d allowed (first bytes %q)", ErrFrame, size, maxSize, head[:])
	}
	buf, err := readN(r, int(size))
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Response{}, err
	}
	return ParseResponse(buf)
}

// readN reads exactly n bytes, growing the buffer as they arrive.
func readN(r io.Reader, n int) ([]byte, error) {
	buf := make([]byte, min(n, firstAlloc))
	for done := 0; ; {
		m, err := io.ReadFull(r, buf[done:])
		done += m
		if err != nil {
			return nil, err
		}
		if done == n {
			return buf, nil
		}
		next := make([]byte, min(n, 2*len(buf)))
		copy(next, buf)
		buf = next
	}
}

// ParseResponse takes a response frame apart; frame begins after the length
// field and is kept by the result. Its errors match ErrFrame.
func ParseResponse(frame []byte) (Response, error) {
	if len(frame) == 0 {
		return Response{}, fmt.Errorf("%w: it is empty", ErrFrame)
	}
	res := Response{Type: frame[0]}
	rest := frame[1:]
	switch res.Type {
	case TypeSuccess, TypeError:
		if len(rest) < 4 {
			return Response{}, fmt.Errorf("%w: type %d without a request ID (%d bytes)", ErrFrame, res.Type, len(frame))
		}
		res.ID = int32(binary.BigEndian.Uint32(rest))
		rest = rest[4:]
	case TypeServerFailure:
	default:
		return Response{}, fmt.Errorf("%w: unknown response type %d", ErrFrame, res.Type)
	}
	if res.Type == TypeSuccess {
		res.Body = rest
		return res, nil
	}
	var e flusspb.ErrorResponse
	if err := proto.Unmarshal(rest, &e); err != nil {
		return Response{}, fmt.Errorf("%w: undecodable error response: %w", ErrFrame, err)
	}
	res.Code, res.Message = Code(e.GetErrorCode()), e.GetErrorMessage()
	return res, nil
}
