package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/flashclaim/flashclaim/server/playground"
	"github.com/flashclaim/flashclaim/server/websocket"
)

// Options say what to serve. Addr is needed, and Verifier with a Schema; the zero
// value of everything else is safe.
type Options struct {
	Addr string // host:port; port 0 picks a free one
	// AllowedOrigins are the origins, such as https://shop.example, whose pages
	// may call besides our own; "*" is every origin.
	AllowedOrigins []string
	Verifier       *Verifier

	Schema         graphql.ExecutableSchema   // nil turns /graphql off: only health and metrics are served
	ErrorPresenter graphql.ErrorPresenterFunc // gqlgen's default when nil
	Recover        graphql.RecoverFunc        // gqlgen's default when nil
	Introspection  bool                       // also turns on suggestions in validation errors
	SDL            string                     // for /schema.graphql; "" turns the route off

	Metrics    http.Handler // for /metrics; nil turns the route off
	Checks     []Check      // for /readyz; none means always ready
	Playground *Playground  // for /playground; nil turns it off

	Observer Observer // hears of sockets; nil for nobody
	Limits   Limits
	Drain    Drain
	Log      *slog.Logger // slog.Default when nil
}

// Check is one thing that must work for the server to be of use.
type Check struct {
	Name string // such as "redis"
	// Run gives nil when it works. It runs on a goroutine of its own, several
	// times at once, and keeps to its context's deadline.
	Run func(ctx context.Context) error
}

// Observer counts open sockets; see [websocket.Observer].
type Observer = websocket.Observer

// Playground is what the page at /playground is pre-filled with; see
// [playground.Page].
type Playground = playground.Page

// Limits bound what one client can ask for. A zero field stands for its
// default.
type Limits struct {
	BodyBytes    int64         // of a POST; 64 KiB
	Tokens       int           // lexical tokens of a document; 2,000
	Complexity   int           // fields of an operation, weighted by the schema; 500
	HeaderBytes  int           // 32 KiB
	RequestTime  time.Duration // to read a request; 10 s
	IdleTime     time.Duration // of a kept-alive connection; 2 min
	ReadyTime    time.Duration // for all readiness checks together; 2 s
	QueryCache   int           // parsed documents, and persisted queries, that are remembered; 1,000
	StreamSilent time.Duration // after which an SSE stream gets a comment, to keep proxies calm; 20 s

	Socket SocketLimits
}

// SocketLimits bound one websocket. A zero field stands for its default.
type SocketLimits struct {
	InitTime     time.Duration // until connection_init; 5 s
	PingInterval time.Duration // 20 s; a client silent for two of them is cut off
	WriteTime    time.Duration // for one message; 5 s, also for an SSE event
	ReadBytes    int64         // of one message; 64 KiB
	Streams      int           // at once on one socket; 50
	Sockets      int           // at once in this process; 100,000
}

// Drain bounds the end. A zero field stands for its default, except Notice.
type Drain struct {
	Notice   time.Duration // between not ready and the listener's close, for balancers that poll; 0
	Requests time.Duration // for requests in flight; 3 s
	Spread   time.Duration // over which sockets are told; 2 s
	Sockets  time.Duration // for all sockets to close, Spread included; 4 s
	Streams  time.Duration // for resolvers of subscriptions to end; 2 s
}

func (o Options) withDefaults() (Options, error) {
	var faults []error
	if o.Addr == "" {
		faults = append(faults, errors.New("server: Addr is missing"))
	}
	if o.Schema != nil && o.Verifier == nil {
		faults = append(faults, errors.New("server: Verifier is missing"))
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	l, d := &o.Limits, &o.Drain
	setDefault(&l.BodyBytes, 64<<10)
	setDefault(&l.Tokens, 2000)
	setDefault(&l.Complexity, 500)
	setDefault(&l.HeaderBytes, 32<<10)
	setDefault(&l.RequestTime, 10*time.Second)
	setDefault(&l.IdleTime, 2*time.Minute)
	setDefault(&l.ReadyTime, 2*time.Second)
	setDefault(&l.QueryCache, 1000)
	setDefault(&l.StreamSilent, 20*time.Second)
	setDefault(&l.Socket.WriteTime, 5*time.Second)
	setDefault(&d.Requests, 3*time.Second)
	setDefault(&d.Spread, 2*time.Second)
	setDefault(&d.Sockets, 4*time.Second)
	setDefault(&d.Streams, 2*time.Second)
	return o, errors.Join(faults...)
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
