package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/proto"

	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire"
	"github.com/fluss-lake/terraform-provider-fluss/internal/fluss/wire/flusspb"
)

type frameVector struct {
	What     string
	Request  string `json:"request_frame"`
	Response string `json:"response_frame"`
}

var frameFiles = []string{"rpc-frames-0.9.1-incubating.json", "rpc-frames-1.0.0.json"}

// messages gives the request and response message of a key.
var messages = map[wire.Key]func() (in, out proto.Message){
	wire.APIVersions:    func() (in, out proto.Message) { return &flusspb.ApiVersionsRequest{}, &flusspb.ApiVersionsResponse{} },
	wire.CreateDatabase: func() (in, out proto.Message) { return &flusspb.CreateDatabaseRequest{}, &flusspb.EmptyResponse{} },
	wire.DatabaseExists: func() (in, out proto.Message) {
		return &flusspb.DatabaseExistsRequest{}, &flusspb.DatabaseExistsResponse{}
	},
	wire.CreateTable:  func() (in, out proto.Message) { return &flusspb.CreateTableRequest{}, &flusspb.EmptyResponse{} },
	wire.GetTableInfo: func() (in, out proto.Message) { return &flusspb.GetTableInfoRequest{}, &flusspb.GetTableInfoResponse{} },
	wire.PutKV:        func() (in, out proto.Message) { return &flusspb.PutKvRequest{}, &flusspb.PutKvResponse{} },
	wire.Lookup:       func() (in, out proto.Message) { return &flusspb.LookupRequest{}, &flusspb.LookupResponse{} },
	wire.ListOffsets:  func() (in, out proto.Message) { return &flusspb.ListOffsetsRequest{}, &flusspb.ListOffsetsResponse{} },
}

// Every request frame that the Java client sent is rebuilt byte by byte from
// its decoded message, and every response is understood without a rest.
func TestGoldenFrames(t *testing.T) {
	for _, file := range frameFiles {
		for _, v := range load[frameVector](t, file) {
			req := unhex(t, v.Request)
			key, version := wire.Key(binary.BigEndian.Uint16(req[4:])), int16(binary.BigEndian.Uint16(req[6:]))
			id := int32(binary.BigEndian.Uint32(req[8:]))
			pair, ok := messages[key]
			if !ok {
				t.Errorf("%s: %s: no messages for %s", file, v.What, key)
				continue
			}
			in, out := pair()
			if err := proto.Unmarshal(req[wire.RequestHeaderSize:], in); err != nil {
				t.Errorf("%s: %s: request: %v", file, v.What, err)
				continue
			}
			noUnknown(t, v.What, in)
			body, err := proto.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			want := withoutEmptyTargets(key, req)
			if got := append(wire.AppendRequestHeader(nil, key, version, id, len(body)), body...); !bytes.Equal(got, want) {
				t.Errorf("%s: %s: request\n got %x\nwant %x", file, v.What, got, want)
			}
			if p, ok := in.(*flusspb.PutKvRequest); ok {
				rebuildPut(t, p, want[wire.RequestHeaderSize:])
			}

			res, err := wire.ReadResponse(bytes.NewReader(unhex(t, v.Response)), 1<<20)
			if err != nil {
				t.Errorf("%s: %s: response: %v", file, v.What, err)
				continue
			}
			if res.ID != id {
				t.Errorf("%s: %s: answers request %d, not %d", file, v.What, res.ID, id)
			}
			if strings.Contains(v.What, "ERROR_RESPONSE") {
				if res.Type != wire.TypeError || res.Code != wire.CodeTableNotExist || !strings.Contains(res.Message, "does not exist") {
					t.Errorf("%s: %s: %+v", file, v.What, res)
				}
				continue
			}
			if err := proto.Unmarshal(res.Body, out); err != nil || res.Type != wire.TypeSuccess {
				t.Errorf("%s: %s: response type %d: %v", file, v.What, res.Type, err)
			}
			noUnknown(t, v.What, out)
		}
	}
}

// withoutEmptyTargets takes the empty target_columns (tag 4, length 0) out of a
// PUT_KV frame: the Java client writes a packed list even when it is empty,
// which means the same as leaving it out.
func withoutEmptyTargets(key wire.Key, frame []byte) []byte {
	if key != wire.PutKV {
		return frame
	}
	short := bytes.Replace(frame, []byte{0x22, 0x00, 0x2a}, []byte{0x2a}, 1)
	binary.BigEndian.PutUint32(short, uint32(len(short)-4))
	return short
}

func noUnknown(t *testing.T, what string, m proto.Message) {
	t.Helper()
	if b := m.ProtoReflect().GetUnknown(); len(b) > 0 {
		t.Errorf("%s: unknown fields %x", what, b)
	}
}

// rebuildPut checks that the hand-made prefix followed by the batch is the
// message.
func rebuildPut(t *testing.T, p *flusspb.PutKvRequest, want []byte) {
	t.Helper()
	b := p.GetBucketsReq()[0]
	req := wire.PutKVRequest{Acks: p.GetAcks(), TableID: p.GetTableId(), TimeoutMs: p.GetTimeoutMs(), PartitionID: -1, Bucket: b.GetBucketId()}
	if b.PartitionId != nil {
		req.PartitionID = b.GetPartitionId()
	}
	if got := append(req.AppendPrefix(nil, len(b.GetRecords())), b.GetRecords()...); !bytes.Equal(got, want) {
		t.Errorf("PUT_KV by prefix\n got %x\nwant %x", got, want)
	}
}

func TestPutKVPrefix(t *testing.T) {
	for _, r := range []wire.PutKVRequest{
		{Acks: -1, TableID: 0, TimeoutMs: 0, PartitionID: -1, Bucket: 0},
		{Acks: 1, TableID: 1 << 40, TimeoutMs: 24000, PartitionID: 0, Bucket: 127},
		{Acks: 0, TableID: 3, TimeoutMs: 1<<31 - 1, PartitionID: 1<<62 + 5, Bucket: 1<<31 - 1, RoutingBuckets: 4096},
	} {
		for _, size := range []int{0, 1, 100, 1 << 20} {
			batch := bytes.Repeat([]byte{7}, size)
			var m flusspb.PutKvRequest
			if err := proto.Unmarshal(append(r.AppendPrefix(nil, size), batch...), &m); err != nil {
				t.Fatal(err)
			}
			b := m.GetBucketsReq()[0]
			partition := int64(-1)
			if b.PartitionId != nil {
				partition = *b.PartitionId
			}
			got := wire.PutKVRequest{Acks: m.GetAcks(), TableID: m.GetTableId(), TimeoutMs: m.GetTimeoutMs(), PartitionID: partition, Bucket: b.GetBucketId(), RoutingBuckets: b.GetRoutingBucketCount()}
			if got != r || !bytes.Equal(b.GetRecords(), batch) || len(m.GetBucketsReq()) != 1 {
				t.Errorf("%+v with %d bytes became %+v", r, size, got)
			}
		}
	}
}

func frame(body ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestReadResponse(t *testing.T) {
	failure, err := proto.Marshal(&flusspb.ErrorResponse{ErrorCode: proto.Int32(-1), ErrorMessage: proto.String("too large")})
	if err != nil {
		t.Fatal(err)
	}
	res, err := wire.ReadResponse(bytes.NewReader(frame(append([]byte{2}, failure...)...)), 1000)
	if err != nil || res.Type != wire.TypeServerFailure || res.Code != wire.CodeUnknownServerError || res.Message != "too large" {
		t.Errorf("server failure: %+v, %v", res, err)
	}
	for name, c := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"nothing":              {nil, io.EOF, ""},
		"part of a length":     {[]byte{0, 0}, io.ErrUnexpectedEOF, ""},
		"part of a body":       {[]byte{0, 0, 0, 9, 0, 0}, io.ErrUnexpectedEOF, ""},
		"no body at all":       {[]byte{0, 0, 0, 9}, io.ErrUnexpectedEOF, ""},
		"empty":                {frame(), wire.ErrFrame, "empty"},
		"unknown type":         {frame(9, 0, 0, 0, 1), wire.ErrFrame, "type 9"},
		"no request ID":        {frame(0, 0, 0), wire.ErrFrame, "request ID"},
		"too long":             {frame(make([]byte, 1001)...), wire.ErrFrame, "1001 bytes"},
		"a web server":         {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), wire.ErrFrame, "HTTP"},
		"negative length":      {[]byte{0xff, 0xff, 0xff, 0xff}, wire.ErrFrame, "4294967295"},
		"undecodable error":    {frame(1, 0, 0, 0, 1, 0xff), wire.ErrFrame, "undecodable"},
		"error without a code": {frame(1, 0, 0, 0, 1), wire.ErrFrame, "undecodable"},
	} {
		_, err := wire.ReadResponse(bytes.NewReader(c.data), 1000)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Bodies larger than the first allocation, arriving byte by byte or at once.
	big := append([]byte{0, 0, 0, 0, 5}, bytes.Repeat([]byte{3}, 3<<20)...)
	for _, r := range []io.Reader{bytes.NewReader(frame(big...)), iotest.OneByteReader(bytes.NewReader(frame(big...)))} {
		res, err := wire.ReadResponse(r, 4<<20)
		if err != nil || res.ID != 5 || len(res.Body) != 3<<20 || res.Body[3<<20-1] != 3 {
			t.Errorf("big response: %d bytes, %v", len(res.Body), err)
		}
	}
}

func FuzzReadResponse(f *testing.F) {
	f.Add(frame(0, 0, 0, 0, 1, 8, 1))
	f.Add(frame(1, 0, 0, 0, 1, 8, 7, 18, 1, 'x'))
	f.Add(frame(2, 8, 7))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		res, err := wire.ReadResponse(bytes.NewReader(data), limit)
		if err != nil {
			return
		}
		if len(res.Body) > limit || len(res.Body)+5 > len(data) && res.Type == wire.TypeSuccess {
			t.Errorf("%d bytes of body out of %d", len(res.Body), len(data))
		}
		// What a response holds must be decodable or refused, never a panic.
		for _, pair := range messages {
			_, out := pair()
			_ = proto.Unmarshal(res.Body, out)
		}
	})
}
