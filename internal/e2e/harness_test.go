package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/gorilla/websocket"

	"github.com/flashclaim/flashclaim/internal/cli"
	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/internal/testenv"
	"github.com/flashclaim/flashclaim/server"
)

const (
	asProgram = "E2E_RUN_AS_FLASHCLAIM"
	secret    = "a secret for tests only, 32 bytes or more"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		ctx, stop := cli.Signals()
		code := cli.Main(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	testenv.Main(m)
}

// flashclaim starts a command in a process of its own.
func flashclaim(tb testing.TB, env []string, args ...string) *testenv.Program {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return testenv.Run(tb, self, append(env, asProgram+"=1"), args...)
}

// place is where a sale lives: the environment that names Redis and PostgreSQL.
type place []string

// newPlace prepares a private Redis, as the default durability wants it, and a
// migrated database.
func newPlace(tb testing.TB) place {
	tb.Helper()
	redis := testenv.Redis(tb, "--appendonly", "yes", "--appendfsync", "everysec")
	return placeAt(tb, redis.URL(), testenv.Database(tb))
}

func placeAt(tb testing.TB, redisURL, databaseURL string) place {
	tb.Helper()
	p := place{
		"FLASHCLAIM_REDIS_URL=" + redisURL, "FLASHCLAIM_DATABASE_URL=" + databaseURL, "FLASHCLAIM_JWT_SECRET=" + secret,
		"FLASHCLAIM_ADDR=127.0.0.1:0",
	}
	if code := flashclaim(tb, p, "migrate", "up").Wait(time.Minute); code != 0 {
		tb.Fatalf("migrate up ended with %d", code)
	}
	return p
}

// serve starts a server and gives its URL.
func (p place) serve(tb testing.TB, args ...string) string {
	tb.Helper()
	return flashclaim(tb, p, append([]string{"serve"}, args...)...).WaitFor(time.Minute, "ready url=")
}

func (p place) work(tb testing.TB) *testenv.Program {
	tb.Helper()
	w := flashclaim(tb, p, "work")
	w.WaitFor(time.Minute, "worker started")
	return w
}

// token signs a token as flashclaim token does.
func token(tb testing.TB, buyer string, roles ...sale.Role) string {
	tb.Helper()
	v, err := server.NewVerifier([]byte(secret))
	if err != nil {
		tb.Fatal(err)
	}
	t, err := v.Sign(buyer, roles, time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// bearer sends a token with every request.
type bearer struct {
	token string
	next  *http.Client
}

func (b bearer) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.Do(r)
}

// pool is an HTTP client for many requests at once to few servers.
func pool(tb testing.TB, connections int) *http.Client {
	tb.Helper()
	t := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}
	tb.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: time.Minute}
}

func client(url, token string, c *http.Client) graphql.Client {
	return graphql.NewClient(url+"/graphql", bearer{token: token, next: c})
}

// dialer is gorilla's, in the form that the generated client asks for. It keeps
// the connection, so that a test can cut it.
type dialer struct{ conn *websocket.Conn }

func (d *dialer) DialContext(ctx context.Context, url string, h http.Header) (graphql.WSConn, error) {
	conn, response, err := websocket.DefaultDialer.DialContext(ctx, url, h)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", url, err)
	}
	d.conn = conn
	return conn, response.Body.Close()
}

// subscription is one stream of events on a socket of its own.
type subscription[E any] struct {
	events chan E        // closed when the server completes the stream
	broken chan struct{} // closed when the socket is gone, and fault is set
	fault  error
	cut    func() // cuts the socket
}

// subscribe opens a socket with the token in connection_init and starts one
// subscription on it. The socket is cut at the test's end, and its reader is
// waited for.
func subscribe[E any](
	tb testing.TB, url, token string, start func(graphql.WebSocketClient) (chan E, string, error),
) (*subscription[E], error) {
	tb.Helper()
	var d dialer
	c := graphql.NewClientUsingWebSocket("ws"+strings.TrimPrefix(url, "http")+"/graphql", &d,
		graphql.WithConnectionParams(map[string]any{"authorization": "Bearer " + token}))
	faults, err := c.Start(tb.Context())
	if err != nil {
		return nil, err
	}
	s := &subscription[E]{events: make(chan E, 100), broken: make(chan struct{}), cut: func() { _ = d.conn.Close() }}
	raw, _, err := start(c)
	if err != nil {
		s.cut()
		return nil, errors.Join(err, <-faults)
	}
	go s.pump(raw, faults)
	tb.Cleanup(func() { s.cut(); <-s.broken })
	return s, nil
}

// pump passes events on until the socket is gone. The client blocks on every
// event that nobody takes, so it never stops earlier.
func (s *subscription[E]) pump(raw chan E, faults chan error) {
	defer close(s.broken)
	for {
		select {
		case e, ok := <-raw:
			if !ok {
				close(s.events)
				raw = nil
				continue
			}
			s.events <- e
		case s.fault = <-faults:
			return
		}
	}
}

// sample is the voucher of the tutorials that flash sales are often taught with:
// 120 yuan for 100, stock 100, one each, with rules of several lines.
func sample() sale.Draft {
	subtitle := "Usable Monday to Friday"
	shop := "1"
	now := time.Now()
	return sale.Draft{
		Title: "120 yuan voucher", Subtitle: &subtitle, ShopID: &shop,
		Rules:    []string{"Valid everywhere", "No booking needed", "May be combined", "No change given", "Eat-in only"},
		PayValue: sale.MoneyInput{Amount: "100.00", CurrencyCode: "CNY"}, ActualValue: sale.MoneyInput{Amount: "120.00", CurrencyCode: "CNY"},
		Total: 100, PerBuyerLimit: 1, PaymentWindowSeconds: 900, OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour),
	}
}
