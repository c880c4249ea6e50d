package websocket

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	gorilla "github.com/gorilla/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/flashclaim/flashclaim/internal/reqid"
	"github.com/flashclaim/flashclaim/internal/sale"
)

// Buffer sizes of one connection, in bytes. The read buffer lives as long as
// the socket and is small, because a client says little; write buffers are
// shared, and hold most events in one frame.
const (
	readBuffer  = 256
	writeBuffer = 1024
)

// Config says how sockets behave. The zero value of a duration or a limit
// stands for the default named behind it.
type Config struct {
	InitTimeout   time.Duration // from the handshake to connection_init; 5 s
	PingInterval  time.Duration // between pings, and how long an answer may take; 20 s
	WriteDeadline time.Duration // for one frame; 5 s
	InputGrace    time.Duration // how long unread input is drained after a close frame; 1 s
	ReadLimit     int64         // bytes of one message; 64 KiB
	MaxStreams    int           // streams at once on one socket; 50
	MaxSockets    int           // sockets at once in this process; 100,000

	// Authorize verifies what a client sent as authorization, with or without
	// "Bearer ". It gives the bearer and the token's expiry.
	Authorize func(authorization string) (sale.Viewer, time.Time, error)
	// AllowOrigin judges a handshake by its Origin header.
	AllowOrigin func(r *http.Request) bool
	// Observer hears of each socket; nil for nobody.
	Observer Observer
	Log      *slog.Logger
}

// Observer counts sockets. Its methods are called from many goroutines and must
// not block.
type Observer interface {
	SocketOpened()
	SocketClosed()
}

// Transport is the gqlgen transport for websockets. [New] makes it; it starts
// no goroutine before the first socket.
type Transport struct {
	config   Config
	upgrader gorilla.Upgrader

	mu       sync.Mutex
	open     map[*conn]struct{}
	draining bool
	gone     chan struct{} // closed when draining and nobody is left
}

var _ graphql.Transport = (*Transport)(nil)

// New makes a transport. Authorize, AllowOrigin and Log are needed.
func New(config Config) *Transport {
	setDefault(&config.InitTimeout, 5*time.Second)
	setDefault(&config.PingInterval, 20*time.Second)
	setDefault(&config.WriteDeadline, 5*time.Second)
	setDefault(&config.InputGrace, time.Second)
	setDefault(&config.ReadLimit, 64<<10)
	setDefault(&config.MaxStreams, 50)
	setDefault(&config.MaxSockets, 100_000)
	return &Transport{
		config: config,
		open:   map[*conn]struct{}{},
		gone:   make(chan struct{}),
		upgrader: gorilla.Upgrader{
			HandshakeTimeout: config.WriteDeadline,
			ReadBufferSize:   readBuffer,
			WriteBufferSize:  writeBuffer,
			WriteBufferPool:  &sync.Pool{},
			Subprotocols:     []string{Protocol},
			CheckOrigin:      config.AllowOrigin,
			Error:            refuse,
		},
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Supports tells whether the request asks for a websocket. Other upgrades, such
// as h2c, are not meant for us and are ignored as HTTP allows.
func (t *Transport) Supports(r *http.Request) bool { return gorilla.IsWebSocketUpgrade(r) }

// Do upgrades the request and returns; the socket lives on its own goroutine.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if reason := t.full(); reason != "" {
		refuse(w, r, http.StatusServiceUnavailable, fmt.Errorf("%s", reason))
		return
	}
	bearer, err := t.bearerOf(r)
	if err != nil {
		refuse(w, r, http.StatusUnauthorized, err)
		return
	}
	id := reqid.From(r.Context())
	ws, err := t.upgrader.Upgrade(w, r, http.Header{"X-Request-Id": {id}})
	if err != nil {
		return // the upgrader has answered, or the peer is gone
	}
	// The request's context ends with the request. The socket's ends when the
	// socket is closed, by whichever side.
	ctx, cancel := context.WithCancel(reqid.With(context.Background(), id))
	c := newConn(t, ws, bearer, cancel)
	if !t.add(c) {
		c.drop()
		c.finish()
		return
	}
	go t.serve(ctx, c, exec)
}

// serve runs one socket. It must not let a panic pass: there is no net/http
// above it to catch one.
func (t *Transport) serve(ctx context.Context, c *conn, exec graphql.GraphExecutor) {
	defer t.remove(c)
	defer c.finish()
	defer func() {
		if p := recover(); p != nil {
			t.config.Log.ErrorContext(ctx, "socket panicked", "panic", p, "stack", string(debug.Stack()))
			c.shut(CloseInternal, "Internal server error")
		}
	}()
	if c.ws.Subprotocol() != Protocol {
		c.shut(CloseBadProtocol, "Subprotocol not acceptable: offer "+Protocol)
		return
	}
	slim := (&http.Request{}).WithContext(ctx)
	transport.Websocket{Implementation: c, InitFunc: c.greet}.Do(nil, slim, exec)
}

// bearerOf gives the bearer that the handshake itself names, for clients that
// can set headers; nil when it names none.
func (t *Transport) bearerOf(r *http.Request) (b *bearer, err error) {
	if authorization := r.Header.Get("Authorization"); authorization != "" {
		b = &bearer{}
		b.viewer, b.expires, err = t.config.Authorize(authorization)
	}
	return b, err
}

func (t *Transport) full() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.draining:
		return "the server is going down; connect again"
	case len(t.open) >= t.config.MaxSockets:
		return "too many sockets are open; connect again later"
	}
	return ""
}

func (t *Transport) add(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining {
		return false
	}
	t.open[c] = struct{}{}
	if t.config.Observer != nil {
		t.config.Observer.SocketOpened()
	}
	return true
}

func (t *Transport) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
	if t.config.Observer != nil {
		t.config.Observer.SocketClosed()
	}
	if t.draining && len(t.open) == 0 {
		close(t.gone)
	}
}

// refuse answers a handshake that fails, in the shape of a GraphQL error.
func refuse(w http.ResponseWriter, r *http.Request, status int, reason error) {
	code := map[int]sale.Code{
		http.StatusForbidden:           sale.CodeForbidden,
		http.StatusUnauthorized:        sale.CodeUnauthenticated,
		http.StatusServiceUnavailable:  sale.CodeUnavailable,
		http.StatusInternalServerError: sale.CodeInternal,
	}[status]
	if code == "" {
		code = sale.CodeBadUserInput
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Sec-Websocket-Version", "13")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": gqlerror.List{{
		Message:    reason.Error(),
		Extensions: map[string]any{"code": code, "requestId": reqid.From(r.Context())},
	}}})
}
