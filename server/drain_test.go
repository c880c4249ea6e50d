package server_test

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/server/internal/testschema"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	root := &testschema.Root{Started: make(chan struct{}, 100), Ended: make(chan struct{}, 100), Hold: make(chan struct{})}
	b := start(t, root, func(o *server.Options) { o.Drain.Spread = 50 * time.Millisecond })

	const sockets = 60 // more than one batch
	all := make([]*socket, sockets)
	for i := range all {
		all[i] = b.connect("{}")
		all[i].subscribe("1", "subscription{ticks}")
		within(t, root.Started, "the stream runs")
	}
	inFlight := make(chan answer, 1)
	go func() { inFlight <- b.post("mutation{noop}") }()
	within(t, root.Started, "the mutation runs")

	b.stop()
	eventually(t, "new connections are refused", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	close(root.Hold)
	if got := within(t, inFlight, "the mutation in flight is answered"); got.body != `{"data":{"noop":true}}` {
		t.Errorf("the mutation in flight got %d %s", got.status, got.body)
	}
	for _, s := range all {
		if code, _ := s.closed(); code != 1012 {
			t.Errorf("a socket was closed with %d, want 1012", code)
		}
	}
	if err := within(t, b.stopped, "Run returns"); err != nil {
		t.Errorf("Run returned %v", err)
	}
	for range sockets {
		within(t, root.Ended, "a resolver is gone")
	}
	if n := b.sockets.open.Load(); n != 0 {
		t.Errorf("%d sockets are still counted", n)
	}
}

func TestNoticeFailsReadinessFirst(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.Drain.Notice = time.Second })
	b.stop()
	eventually(t, "readiness fails while requests are still served", func() bool {
		return b.do("GET", "/readyz", "").status == http.StatusServiceUnavailable
	})
	if got := b.post("{whoami}"); got.status != 200 {
		t.Errorf("a request during the notice got %d", got.status)
	}
}

// The drain is bounded even when nobody co-operates.
func TestDrainGivesUpOnClientsThatDoNotCooperate(t *testing.T) {
	t.Parallel()
	root := &testschema.Root{Started: make(chan struct{}, 2), Hold: make(chan struct{})}
	b := start(t, root, func(o *server.Options) {
		o.Drain = server.Drain{Requests: 50 * time.Millisecond, Sockets: 50 * time.Millisecond, Spread: time.Millisecond}
	})
	b.connect("{}") // never reads, so never answers the close frame
	hung := make(chan struct{})
	go func() {
		defer close(hung)
		resp, err := b.client.Post(b.url+"/graphql", "application/json", strings.NewReader(`{"query":"mutation{noop}"}`))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	within(t, root.Started, "the mutation runs")
	b.stop()
	if err := within(t, b.stopped, "Run returns"); err != nil {
		t.Errorf("Run returned %v", err)
	}
	within(t, hung, "the hanging request is cut off")
	close(root.Hold)
	eventually(t, "the socket is gone", func() bool { return b.sockets.open.Load() == 0 })
}

// A resolver that does not heed its context is waited for, and then reported:
// what it uses is closed after Run returns.
func TestDrainReportsResolversThatDoNotEnd(t *testing.T) {
	t.Parallel()
	var log logText
	root := &testschema.Root{Started: make(chan struct{}, 1), Ended: make(chan struct{}, 1), Stuck: make(chan struct{})}
	b := start(t, root, func(o *server.Options) {
		o.Drain.Streams = 50 * time.Millisecond
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	s := b.connect("{}")
	s.subscribe("1", "subscription{ticks}")
	within(t, root.Started, "the stream begins")
	b.stop()
	if code, _ := s.closed(); code != 1012 {
		t.Errorf("closed with %d, want 1012", code)
	}
	if err := within(t, b.stopped, "Run returns"); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if got := log.String(); !strings.Contains(got, "1 streams still run") {
		t.Errorf("the log does not tell of the stream:\n%s", got)
	}
	close(root.Stuck)
	within(t, root.Ended, "the resolver is gone")
}

// logText is a log that may be written and read at once.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// sse opens a stream of server-sent events and gives its status, media type and
// text.
func (b *bundle) sse(query string, headers ...string) (status int, kind string, events *bufio.Reader) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+"/graphql", strings.NewReader(`{"query":"`+query+`"}`))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.StatusCode, resp.Header.Get("Content-Type"), bufio.NewReader(resp.Body)
}

// rest reads a stream to its end.
func rest(t *testing.T, events *bufio.Reader) string {
	t.Helper()
	text := make(chan string, 1)
	go func() {
		var all strings.Builder
		_, _ = events.WriteTo(&all) // a stream that is cut off ends in an error, which is an end too
		text <- all.String()
	}()
	return within(t, text, "the stream ends")
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{})
	_, kind, events := b.sse("subscription{ticks(upTo:2)}")
	if !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("content type %q", kind)
	}
	want := ":\n\nevent: next\ndata: {\"data\":{\"ticks\":1}}\n\nevent: next\ndata: {\"data\":{\"ticks\":2}}\n\nevent: complete\ndata:\n\n"
	if got := rest(t, events); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if status, kind, _ := b.sse("{nothing}"); status != 400 || !strings.HasPrefix(kind, "application/json") {
		t.Errorf("an invalid document: %d %q", status, kind)
	}
}

func TestEventStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	b := start(t, &testschema.Root{}, func(o *server.Options) { o.Limits.StreamSilent = 10 * time.Millisecond })
	_, _, events := b.sse("subscription{ticks}")
	for comments := 0; comments < 3; {
		line, err := events.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ":\n" {
			comments++
		}
	}
}

func TestEventStreamEndsWithItsTokenAndWithTheServer(t *testing.T) {
	t.Parallel()
	root := &testschema.Root{Ended: make(chan struct{}, 2)}
	b := start(t, root, func(o *server.Options) { o.Drain.Requests = 10 * patience })
	token, err := b.verifier.Sign("ada", nil, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_, _, events := b.sse("subscription{ticks}", "Authorization", token)
	if got := rest(t, events); strings.Contains(got, "complete") {
		t.Errorf("an expired stream ends as if all were told: %q", got)
	}
	within(t, root.Ended, "the resolver is gone")

	_, _, events = b.sse("subscription{ticks}")
	b.stop()
	if got := rest(t, events); strings.Contains(got, "complete") {
		t.Errorf("a drained stream ends as if all were told: %q", got)
	}
	within(t, root.Ended, "the resolver is gone")
	if err := within(t, b.stopped, "Run returns"); err != nil {
		t.Errorf("Run returned %v", err)
	}
}
