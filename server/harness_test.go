package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen soon.
const patience = 10 * time.Second

var secret = []byte("a secret of at least thirty-two bytes")

// bundle is a running server and all that a test needs around it.
type bundle struct {
	t        *testing.T
	url      string
	verifier *server.Verifier
	client   *http.Client
	sockets  *gauge
	stop     context.CancelFunc // begins the drain
	stopped  <-chan error       // gives what Run returned
}

type gauge struct{ open, opened atomic.Int64 }

func (g *gauge) SocketOpened() { g.open.Add(1); g.opened.Add(1) }
func (g *gauge) SocketClosed() { g.open.Add(-1) }

// start runs a server on the test schema until the test ends.
func start(t *testing.T, root *testschema.Root, change ...func(*server.Options)) *bundle {
	t.Helper()
	verifier, err := server.NewVerifier(secret)
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, verifier: verifier, sockets: &gauge{}, client: &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	options := server.Options{
		Addr:     "127.0.0.1:0",
		Verifier: verifier,
		Schema:   testschema.New(root),
		Observer: b.sockets,
		Log:      slog.New(slog.DiscardHandler),
		Recover: func(context.Context, any) error {
			return &sale.Error{Code: sale.CodeInternal, Message: "internal server error"}
		},
	}
	for _, f := range change {
		f(&options)
	}
	s, err := server.New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stopped <- s.Run(ctx)
	}()
	b.stop, b.stopped = cancel, stopped
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		cancel()
		<-ended
	})
	within(t, s.Ready(), "the server is ready")
	b.url = s.URL()
	return b
}

func (b *bundle) token(buyer string, roles ...sale.Role) string {
	b.t.Helper()
	token, err := b.verifier.Sign(buyer, roles, time.Hour)
	if err != nil {
		b.t.Fatal(err)
	}
	return token
}

// answer is what came back for a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request with headers given as name, value, name, value ...
func (b *bundle) do(method, path, body string, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// post sends a GraphQL document as JSON.
func (b *bundle) post(query string, headers ...string) answer {
	b.t.Helper()
	raw, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do("POST", "/graphql", string(raw), append([]string{"Content-Type", "application/json"}, headers...)...)
}

// code is the first error's extensions.code, or "".
func (a answer) code() string {
	var body struct {
		Errors []struct {
			Extensions struct{ Code string }
		}
	}
	if json.Unmarshal([]byte(a.body), &body) != nil || len(body.Errors) == 0 {
		return ""
	}
	return body.Errors[0].Extensions.Code
}

// within waits for a channel to give or be closed.
func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("in vain waited until %s", what)
		panic("unreachable")
	}
}

// eventually polls a condition that no channel tells of.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

// socket is a raw client of the sub-protocol.
type socket struct {
	t  *testing.T
	ws *gorilla.Conn
}

type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// dial opens a socket without connection_init.
func (b *bundle) dial(headers ...string) *socket {
	b.t.Helper()
	s, got, err := b.tryDial([]string{"graphql-transport-ws"}, headers...)
	if err != nil {
		b.t.Fatalf("dial: %v, answered %d", err, got.status)
	}
	return s
}

// tryDial attempts a handshake and gives the answer to it; status 0 is none.
func (b *bundle) tryDial(protocols []string, headers ...string) (_ *socket, got answer, _ error) {
	header := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	dialer := gorilla.Dialer{Subprotocols: protocols, HandshakeTimeout: patience}
	ws, resp, err := dialer.DialContext(b.t.Context(), "ws"+strings.TrimPrefix(b.url, "http")+"/graphql", header)
	if resp != nil {
		got = answer{status: resp.StatusCode, header: resp.Header}
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, got, err
	}
	b.t.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(patience))
	return &socket{b.t, ws}, got, nil
}

// connect opens a socket and gets its acknowledgement.
func (b *bundle) connect(payload string) *socket {
	b.t.Helper()
	s := b.dial()
	s.init(payload)
	return s
}

func (s *socket) init(payload string) {
	s.t.Helper()
	s.sendText(`{"type":"connection_init","payload":` + payload + `}`)
	if m := s.read(); m.Type != "connection_ack" {
		s.t.Fatalf("connection_init was answered with %+v", m)
	}
}

func (s *socket) sendText(text string) {
	s.t.Helper()
	if err := s.ws.WriteMessage(gorilla.TextMessage, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *socket) subscribe(id, query string) {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"id": id, "type": "subscribe", "payload": map[string]string{"query": query}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.sendText(string(raw))
}

func (s *socket) read() message {
	s.t.Helper()
	var m message
	if err := s.ws.ReadJSON(&m); err != nil {
		s.t.Fatalf("read: %v", err)
	}
	return m
}

// closed reads until the server's close frame and gives its code and reason.
func (s *socket) closed() (int, string) {
	s.t.Helper()
	for {
		_, _, err := s.ws.ReadMessage()
		if e := (*gorilla.CloseError)(nil); errors.As(err, &e) {
			return e.Code, e.Text
		}
		if err != nil {
			s.t.Fatalf("the socket ended without a close frame: %v", err)
		}
	}
}
