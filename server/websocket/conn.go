package websocket

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql/handler/transport"
	gorilla "github.com/gorilla/websocket"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// conn is one socket: gorilla's connection behind gqlgen's interface, with the
// sub-protocol's rules in between. Its reads happen on one goroutine (serve's),
// its writes on many.
type conn struct {
	t      *Transport
	ws     *gorilla.Conn
	cancel context.CancelFunc
	heard  atomic.Int64 // when the client was last heard, in nanoseconds of the Unix clock

	writing sync.Mutex // held while a data frame goes out; gorilla allows one writer

	mu      sync.Mutex // guards all below; never held during I/O
	closing bool
	timer   *time.Timer
	pinged  time.Time // when the last ping went out
	bearer  *bearer   // nil for an anonymous socket
	streams streams

	readFailed bool // reader's goroutine only
}

type bearer struct {
	viewer  sale.Viewer
	expires time.Time
}

var (
	_ transport.WebsocketConn           = (*conn)(nil)
	_ transport.WebsocketImplementation = (*conn)(nil)
)

func newConn(t *Transport, ws *gorilla.Conn, b *bearer, cancel context.CancelFunc) *conn {
	c := &conn{t: t, ws: ws, bearer: b, cancel: cancel}
	c.hear()
	ws.SetReadLimit(t.config.ReadLimit)
	ws.SetPongHandler(func(string) error { c.hear(); return nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(t.config.InitTimeout, c.beat)
	return c
}

// Accept hands gqlgen the connection that is upgraded already.
func (c *conn) Accept(http.ResponseWriter, *http.Request, transport.WebsocketAcceptOptions) (transport.WebsocketConn, error) {
	return c, nil
}

// Subprotocol is what the handshake agreed on.
func (c *conn) Subprotocol() string { return c.ws.Subprotocol() }

// NextReader gives gqlgen the next message that concerns it. The rest is
// answered here: pings, breaches of the sub-protocol, and whatever arrives
// after a close frame.
func (c *conn) NextReader() (int, io.Reader, error) {
	for {
		kind, r, err := c.ws.NextReader()
		if err != nil {
			return c.readEnded()
		}
		c.hear()
		if c.isClosing() {
			continue
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			return c.readEnded()
		}
		if kind != gorilla.TextMessage {
			c.shut(CloseBadMessage, "Invalid message: binary")
			continue
		}
		if forward := c.receive(raw); forward != nil {
			return kind, bytes.NewReader(forward), nil
		}
	}
}

func (c *conn) readEnded() (int, io.Reader, error) {
	c.readFailed = true
	return 0, nil, transport.ErrWebsocketClosed
}

// WriteJSON sends one of gqlgen's messages, in the client's words.
func (c *conn) WriteJSON(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if raw = c.outgoing(raw); raw == nil {
		return nil
	}
	return c.send(raw)
}

// send writes one text frame. A frame that cannot be written in time ends the
// socket: the client does not read.
func (c *conn) send(raw []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.isClosing() {
		return nil
	}
	_ = c.ws.SetWriteDeadline(time.Now().Add(c.t.config.WriteDeadline))
	err := c.ws.WriteMessage(gorilla.TextMessage, raw)
	if err != nil {
		c.drop()
	}
	return err
}

// WriteClose does nothing, like Close: gqlgen says "terminated" when its reader
// is done, from a goroutine of its own, and would win over the better reason
// that is just being told. finish closes whatever nobody has closed.
func (c *conn) WriteClose(int, string) error { return nil }

// Close does nothing: the reader's goroutine drains the input first.
func (c *conn) Close() error { return nil }

// shut sends a close frame, ends the socket's context and gives the client a
// moment to answer. Only the first call counts.
func (c *conn) shut(code int, reason string) {
	if !c.beginClosing() {
		return
	}
	deadline := time.Now().Add(c.t.config.WriteDeadline)
	err := c.ws.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(code, reason), deadline)
	if err != nil {
		_ = c.ws.Close()
	}
	_ = c.ws.SetReadDeadline(time.Now().Add(c.t.config.InputGrace))
	c.cancel()
}

// drop ends the socket without a word, for a client that does not listen.
func (c *conn) drop() {
	c.beginClosing()
	_ = c.ws.Close()
	c.cancel()
}

// finish closes for good. It runs last on the reader's goroutine.
func (c *conn) finish() {
	c.shut(CloseNormal, "")
	for !c.readFailed {
		if _, _, err := c.ws.NextReader(); err != nil {
			break
		}
	}
	c.mu.Lock()
	c.timer.Stop()
	c.mu.Unlock()
	_ = c.ws.Close()
	c.cancel()
}

func (c *conn) beginClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.closing = true
	return true
}

func (c *conn) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

func (c *conn) hear() { c.heard.Store(time.Now().UnixNano()) }
