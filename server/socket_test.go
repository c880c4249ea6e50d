package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	gorilla "github.com/gorilla/websocket"

	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

func TestBreachesOfTheSubProtocol(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	cases := []struct {
		name  string
		ready bool // connection_init first
		send  []string
		code  int
	}{
		{"subscribe before connection_init", false, []string{`{"id":"1","type":"subscribe","payload":{"query":"{whoami}"}}`}, 4401},
		{"connection_init twice", true, []string{`{"type":"connection_init"}`}, 4429},
		{"connection_init twice at once", false, []string{`{"type":"connection_init"}`, `{"type":"connection_init"}`}, 4429},
		{"connection_init with a string", false, []string{`{"type":"connection_init","payload":"x"}`}, 4400},
		{"connection_init with a list", false, []string{`{"type":"connection_init","payload":[]}`}, 4400},
		{"not JSON", true, []string{`hello`}, 4400},
		{"not an object", true, []string{`[]`}, 4400},
		{"no type", true, []string{`{}`}, 4400},
		{"unknown type", true, []string{`{"type":"start"}`}, 4400},
		{"a type of the server's", true, []string{`{"type":"next","id":"1","payload":{}}`}, 4400},
		{"numeric id", true, []string{`{"id":1,"type":"subscribe","payload":{"query":"{whoami}"}}`}, 4400},
		{"subscribe without id", true, []string{`{"type":"subscribe","payload":{"query":"{whoami}"}}`}, 4400},
		{"subscribe without query", true, []string{`{"id":"1","type":"subscribe","payload":{}}`}, 4400},
		{"subscribe with a query that is no string", true, []string{`{"id":"1","type":"subscribe","payload":{"query":5}}`}, 4400},
		{"complete without id", true, []string{`{"type":"complete"}`}, 4400},
		{"ping with a string", true, []string{`{"type":"ping","payload":"x"}`}, 4400},
		{"an id that is in use", true, []string{
			`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`,
			`{"id":"1","type":"subscribe","payload":{"query":"{whoami}"}}`,
		}, 4409},
		{"a token that is not valid", false, []string{`{"type":"connection_init","payload":{"authorization":"nonsense"}}`}, 4403},
		{"a token that is no string", false, []string{`{"type":"connection_init","payload":{"Authorization":5}}`}, 4403},
		{"a message above the limit", true, []string{`{"type":"ping","payload":{"x":"` + strings.Repeat("x", 64<<10) + `"}}`}, 1009},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := b.dial()
			if c.ready {
				s.init("{}")
			}
			for _, text := range c.send {
				s.sendText(text)
			}
			if code, reason := s.closed(); code != c.code {
				t.Errorf("closed with %d %q, want %d", code, reason, c.code)
			}
		})
	}
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		s := b.connect("{}")
		if err := s.ws.WriteMessage(gorilla.BinaryMessage, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		if code, _ := s.closed(); code != 4400 {
			t.Errorf("closed with %d, want 4400", code)
		}
	})
	for first, want := range map[string]int{
		"hello": 4400,
		`{"type":"connection_init","payload":{"authorization":"nonsense"}}`: 4403,
	} {
		t.Run(fmt.Sprintf("input behind the breach does not hide %d", want), func(t *testing.T) {
			t.Parallel()
			s := b.dial()
			s.sendText(first)
			for range 50 {
				if err := s.ws.WriteMessage(gorilla.TextMessage, []byte(strings.Repeat("x", 10_000))); err != nil {
					t.Errorf("the server does not wait for the close frame to be answered: %v", err)
					break
				}
			}
			if code, _ := s.closed(); code != want {
				t.Errorf("closed with %d, want %d", code, want)
			}
			// A reset would overtake the close frame on a slower road.
			if _, err := s.ws.NetConn().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("behind the close frame comes %v, want the orderly end", err)
			}
		})
	}
}

func TestInitHasToComeInTime(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.Limits.Socket.InitTime = 50 * time.Millisecond })
	for _, first := range []string{"", `{"type":"ping"}`} {
		s := b.dial()
		if first != "" {
			_ = s.ws.WriteMessage(gorilla.TextMessage, []byte(first)) // may come too late, which is fine
		}
		if code, reason := s.closed(); code != 4408 {
			t.Errorf("after %q: closed with %d %q, want 4408", first, code, reason)
		}
	}
}

// A panic on the socket's own goroutine has no net/http above it to catch it.
func TestPanicBesideTheResolversEndsTheSocketOnly(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.Schema = panicking{o.Schema} })
	s := b.connect("{}")
	s.subscribe("1", "{whoami}")
	if code, reason := s.closed(); code != 1011 || strings.Contains(reason, "purpose") {
		t.Errorf("closed with %d %q, want 1011", code, reason)
	}
	if got := b.post("{whoami}"); got.status != 500 || strings.Contains(got.body, "purpose") {
		t.Errorf("over HTTP: %d %s", got.status, got.body)
	}
	if got := b.do("GET", "/livez", ""); got.status != 200 {
		t.Errorf("the server is not alive: %d", got.status)
	}
}

// panicking is a schema that panics before any resolver runs.
type panicking struct{ graphql.ExecutableSchema }

func (panicking) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	panic("the schema panics on purpose")
}

func TestSubProtocolIsRequired(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	for _, offer := range [][]string{nil, {"graphql-ws"}} {
		s, _, err := b.tryDial(offer)
		if err != nil {
			t.Fatal(err)
		}
		if code, reason := s.closed(); code != 4406 || !strings.Contains(reason, "graphql-transport-ws") {
			t.Errorf("offering %v: closed with %d %q", offer, code, reason)
		}
	}
	s, _, err := b.tryDial([]string{"graphql-ws", "graphql-transport-ws"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.ws.Subprotocol(); got != "graphql-transport-ws" {
		t.Errorf("agreed on %q", got)
	}
	s.init("null")
}

func TestStreamsOnOneSocket(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 10)
	b := start(t, &testschema.Root{Ended: ended})
	s := b.connect("{}")
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			m := s.read()
			if got := strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Type, m.ID, m.Payload)); got != w {
				t.Fatalf("got %s, want %s", got, w)
			}
		}
	}
	s.subscribe("a", "subscription{ticks(upTo:2)}")
	expect(`next a {"data":{"ticks":1}}`, `next a {"data":{"ticks":2}}`, `complete a`)
	s.subscribe("a", "{whoami}") // the ID is free again
	expect(`next a {"data":{"whoami":null}}`, `complete a`)

	s.subscribe("b", "subscription{ticks}")
	expect(`next b {"data":{"ticks":1}}`)
	s.sendText(`{"id":"b","type":"complete"}`)
	s.subscribe("b", "subscription{ticks(upTo:1)}") // at once, while the first still ends
	expect(`next b {"data":{"ticks":1}}`, `complete b`)
	for range 3 {
		within(t, ended, "the resolver is gone")
	}
	s.sendText(`{"id":"unknown","type":"complete"}`)

	s.subscribe("c", "{nothing}")
	if m := s.read(); m.Type != "error" || m.ID != "c" || !strings.Contains(string(m.Payload), "GRAPHQL_VALIDATION_FAILED") {
		t.Fatalf("an invalid document is answered with %+v", m)
	}
	s.sendText(`{"type":"ping","payload":{"n":1}}`)
	expect(`pong  {"n":1}`) // and no complete behind the error
}

func TestPingBeforeInit(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	s := b.dial()
	s.sendText(`{"type":"ping"}`)
	if m := s.read(); m.Type != "pong" {
		t.Errorf("answered with %+v", m)
	}
	s.sendText(`{"type":"pong"}`)
	s.init("{}")
}

func TestStreamsAreCapped(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.Limits.Socket.Streams = 2 })
	s := b.connect("{}")
	s.subscribe("1", "subscription{ticks}")
	s.subscribe("2", "subscription{ticks}")
	for range 2 {
		s.read()
	}
	s.subscribe("3", "subscription{ticks}")
	if m := s.read(); m.Type != "error" || m.ID != "3" || !strings.Contains(string(m.Payload), "RATE_LIMITED") {
		t.Errorf("the third stream is answered with %+v", m)
	}
	s.sendText(`{"id":"1","type":"complete"}`)
	s.subscribe("3", "subscription{ticks}")
	if m := s.read(); m.Type != "next" || m.ID != "3" {
		t.Errorf("with a free place the answer is %+v", m)
	}
}

func TestSocketsAreCapped(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.Limits.Socket.Sockets = 1 })
	b.connect("{}")
	_, got, err := b.tryDial([]string{"graphql-transport-ws"})
	if err == nil || got.status != http.StatusServiceUnavailable {
		t.Errorf("the second socket: %d %v", got.status, err)
	}
}

func TestIdentityOfASocket(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	whoami := func(s *socket) string {
		s.subscribe("1", "{whoami}")
		return string(s.read().Payload)
	}
	ada, bob := b.token("ada"), b.token("bob")
	for payload, want := range map[string]string{
		`{"authorization":"` + ada + `"}`:        `"ada"`,
		`{"Authorization":"Bearer ` + ada + `"}`: `"ada"`,
		`{"authorization":null}`:                 `null`,
		`{}`:                                     `null`,
	} {
		if got := whoami(b.connect(payload)); got != `{"data":{"whoami":`+want+`}}` {
			t.Errorf("%.40s: %s", payload, got)
		}
	}
	s := b.dial("Authorization", "Bearer "+bob)
	s.init("{}")
	if got := whoami(s); !strings.Contains(got, "bob") {
		t.Errorf("the handshake's token gives %s", got)
	}
	s = b.dial("Authorization", "Bearer "+bob)
	s.init(`{"authorization":"` + ada + `"}`)
	if got := whoami(s); !strings.Contains(got, "ada") {
		t.Errorf("the payload's token does not win: %s", got)
	}
	if _, got, err := b.tryDial([]string{"graphql-transport-ws"}, "Authorization", "nonsense"); err == nil || got.status != 401 {
		t.Errorf("a handshake with an invalid token: %d %v", got.status, err)
	}
}

func TestRequestIDOfAHandshake(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	_, got, err := b.tryDial([]string{"graphql-transport-ws"}, "X-Request-Id", "my-socket")
	if err != nil {
		t.Fatal(err)
	}
	if id := got.header.Get("X-Request-Id"); id != "my-socket" {
		t.Errorf("the handshake answers with request ID %q", id)
	}
}

func TestPersistedQueryOverASocket(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	s := b.connect("{}")
	s.sendText(`{"id":"1","type":"subscribe","payload":{"query":"","extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}}`)
	m := s.read()
	var body struct{ Errors []struct{ Message string } }
	if err := json.Unmarshal(m.Payload, &body); err != nil || len(body.Errors) != 1 || body.Errors[0].Message != "PersistedQueryNotFound" {
		t.Errorf("answered with %+v", m)
	}
}
