package websocket

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// The message types of the sub-protocol.
const (
	typeInit      = "connection_init"
	typeAck       = "connection_ack"
	typePing      = "ping"
	typePong      = "pong"
	typeSubscribe = "subscribe"
	typeNext      = "next"
	typeError     = "error"
	typeComplete  = "complete"
)

// frame is a message of either direction.
type frame struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// streams is the socket's place in the sub-protocol:
//
//	connected --connection_init--> greeting --connection_ack--> ready
//
// In ready, each subscribe opens a stream, which ends with the client's
// complete, or with the server's error or complete.
type streams struct {
	greeting bool // connection_init was seen
	ready    bool // connection_ack is on its way
	last     uint64
	running  []stream
}

// stream ties the client's ID to the number that gqlgen sees.
type stream struct {
	client string
	number string
}

// receive judges a message and gives what gqlgen has to see of it, or nil.
func (c *conn) receive(raw []byte) []byte {
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		return c.breach("not a message of " + Protocol)
	}
	switch f.Type {
	case typeInit:
		return c.receiveInit(f, raw)
	case typePing:
		if !objectOrNone(f.Payload) {
			return c.breach("the payload of ping must be an object")
		}
		_ = c.send(encode(frame{Type: typePong, Payload: f.Payload}))
		return nil
	case typePong:
		return nil
	case typeSubscribe:
		return c.receiveSubscribe(f)
	case typeComplete:
		return c.receiveComplete(f)
	}
	return c.breach("unknown type")
}

func (c *conn) receiveInit(f frame, raw []byte) []byte {
	c.mu.Lock()
	again := c.streams.greeting
	c.streams.greeting = true
	c.mu.Unlock()
	if again {
		c.shut(CloseInitAgain, "Too many initialisation requests")
		return nil
	}
	if !objectOrNone(f.Payload) {
		return c.breach("the payload of connection_init must be an object")
	}
	return raw
}

// greet is gqlgen's InitFunc. It decides who the socket belongs to: the token
// in the payload, else the one of the handshake, else nobody. The payload is
// emptied, so that the socket does not keep the token.
func (c *conn) greet(ctx context.Context, payload transport.InitPayload) (context.Context, *transport.InitPayload, error) {
	authorization, err := authorizationOf(payload)
	clear(payload)
	var b *bearer
	if err == nil && authorization != "" {
		b = &bearer{}
		b.viewer, b.expires, err = c.t.config.Authorize(authorization)
	}
	if err != nil {
		c.shut(CloseForbidden, "Forbidden: the token is not valid")
		return ctx, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b != nil {
		c.bearer = b
	}
	c.streams.ready = true
	if !c.closing {
		c.timer.Reset(c.untilBeat(time.Now()))
	}
	if c.bearer != nil {
		ctx = sale.WithViewer(ctx, c.bearer.viewer)
	}
	return ctx, nil, nil
}

func authorizationOf(payload transport.InitPayload) (string, error) {
	for _, key := range []string{"authorization", "Authorization"} {
		switch v := payload[key].(type) {
		case nil:
		case string:
			return strings.TrimSpace(v), nil
		default:
			return "", fmt.Errorf("%s must be a string", key)
		}
	}
	return "", nil
}

func (c *conn) receiveSubscribe(f frame) []byte {
	c.mu.Lock()
	ready := c.streams.ready
	running := len(c.streams.running)
	duplicate := slices.ContainsFunc(c.streams.running, func(s stream) bool { return s.client == f.ID })
	c.mu.Unlock()
	switch {
	case !ready:
		c.shut(CloseUnauthorized, "Unauthorized")
		return nil
	case f.ID == "":
		return c.breach("subscribe needs an id")
	case !subscribable(f.Payload):
		return c.breach("the payload of subscribe needs a query")
	case duplicate:
		c.shut(CloseDuplicateStream, clip("Subscriber for "+f.ID+" already exists"))
		return nil
	case running >= c.t.config.MaxStreams:
		_ = c.send(encode(frame{ID: f.ID, Type: typeError, Payload: c.tooManyStreams()}))
		return nil
	}
	c.mu.Lock()
	c.streams.last++
	s := stream{client: f.ID, number: strconv.FormatUint(c.streams.last, 10)}
	c.streams.running = append(c.streams.running, s)
	c.mu.Unlock()
	f.ID = s.number
	return encode(f)
}

func (c *conn) tooManyStreams() json.RawMessage {
	raw, _ := json.Marshal(gqlerror.List{{ // plain data: cannot fail
		Message:    fmt.Sprintf("at most %d streams may run on one socket; complete one first", c.t.config.MaxStreams),
		Extensions: map[string]any{"code": sale.CodeRateLimited},
	}})
	return raw
}

// receiveComplete ends a stream at the client's wish. An unknown ID is ignored:
// the server's own complete may have crossed it.
func (c *conn) receiveComplete(f frame) []byte {
	if f.ID == "" {
		return c.breach("complete needs an id")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.streams.running, func(s stream) bool { return s.client == f.ID })
	if i < 0 {
		return nil
	}
	f.ID = c.streams.running[i].number
	c.streams.running = slices.Delete(c.streams.running, i, i+1)
	return encode(f)
}

// outgoing puts the client's ID back and drops what the client must not see:
// anything of a stream that has ended, such as gqlgen's complete behind an
// error or behind the client's own complete.
func (c *conn) outgoing(raw []byte) []byte {
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil || f.ID == "" {
		return raw
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.streams.running, func(s stream) bool { return s.number == f.ID })
	if i < 0 {
		return nil
	}
	f.ID = c.streams.running[i].client
	if f.Type != typeNext {
		c.streams.running = slices.Delete(c.streams.running, i, i+1)
	}
	return encode(f)
}

func (c *conn) breach(what string) []byte {
	c.shut(CloseBadMessage, clip("Invalid message: "+what))
	return nil
}

func encode(f frame) []byte {
	raw, _ := json.Marshal(f) // strings, and a payload that was parsed before: cannot fail
	return raw
}

func objectOrNone(payload json.RawMessage) bool {
	p := bytes.TrimSpace(payload)
	return len(p) == 0 || p[0] == '{' || string(p) == "null"
}

// subscribable checks the shape of a subscribe payload; gqlgen judges the rest.
func subscribable(payload json.RawMessage) bool {
	var p struct {
		Query         *string        `json:"query"`
		OperationName *string        `json:"operationName"`
		Variables     map[string]any `json:"variables"`
		Extensions    map[string]any `json:"extensions"`
	}
	return json.Unmarshal(payload, &p) == nil && (p.Query != nil || p.Extensions["persistedQuery"] != nil)
}

// clip keeps a close reason within the 123 bytes that a close frame has for it,
// at a character's border.
func clip(reason string) string {
	const most = 123
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most], "")
}
