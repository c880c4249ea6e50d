package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

func TestSocketEndsWithItsToken(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	b := start(t, &testschema.Root{Ended: ended})
	token, err := b.verifier.Sign("ada", nil, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	s := b.connect(`{"authorization":"` + token + `"}`)
	s.subscribe("1", "subscription{ticks}")
	if code, reason := s.closed(); code != 4403 || !strings.Contains(reason, "expired") {
		t.Errorf("closed with %d %q", code, reason)
	}
	within(t, ended, "the resolver is gone")
}

func TestSocketsArePingedAndTheSilentCutOff(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 2)
	b := start(t, &testschema.Root{Ended: ended}, func(o *server.Options) { o.Limits.Socket.PingInterval = 200 * time.Millisecond })

	silent := b.connect("{}")
	silent.subscribe("1", "subscription{ticks}")
	silent.ws.SetPingHandler(func(string) error { return nil })
	for {
		if _, _, err := silent.ws.ReadMessage(); err != nil {
			break
		}
	}
	within(t, ended, "the silent client's resolver is gone")

	pings := make(chan struct{}, 100)
	alive := b.connect("{}")
	answer := alive.ws.PingHandler()
	alive.ws.SetPingHandler(func(data string) error {
		pings <- struct{}{}
		return answer(data)
	})
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _, _ = alive.ws.ReadMessage() // there is nothing to read but pings
	}()
	for range 3 {
		select {
		case <-pings:
		case <-read:
			t.Fatal("a client that answers was cut off")
		}
	}
	_ = alive.ws.Close()
	<-read
}

func TestAbruptEndFreesTheResolver(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	b := start(t, &testschema.Root{Ended: ended})
	s := b.connect("{}")
	s.subscribe("1", "subscription{ticks}")
	s.read()
	_ = s.ws.NetConn().Close()
	within(t, ended, "the resolver is gone")
	eventually(t, "the gauge is back at zero", func() bool { return b.sockets.open.Load() == 0 })
}

// A client that stops reading must not hold a stream, a writer or the drain.
func TestClientThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	b := start(t, &testschema.Root{Ended: ended}, func(o *server.Options) { o.Limits.Socket.WriteTime = 200 * time.Millisecond })
	s := b.connect("{}")
	long := strings.Repeat("x", 20_000) // as an alias it makes each event fill the kernel's buffers sooner
	s.subscribe("1", "subscription{"+long+":ticks(upTo:100000000)}")
	within(t, ended, "the resolver is gone")
}
