package app

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/flashclaim/flashclaim/graph"
	"github.com/flashclaim/flashclaim/internal/config"
	"github.com/flashclaim/flashclaim/internal/desk"
	"github.com/flashclaim/flashclaim/internal/gate"
	"github.com/flashclaim/flashclaim/internal/metrics"
	"github.com/flashclaim/flashclaim/internal/notify"
	"github.com/flashclaim/flashclaim/internal/store"
	"github.com/flashclaim/flashclaim/server"
	"github.com/flashclaim/flashclaim/worker"
)

// Options say what to run.
type Options struct {
	Config config.Config
	Server bool // serve GraphQL
	Worker bool // write orders down
	// Embedded says that nothing is meant to survive the process, so Redis is not
	// asked what it would keep.
	Embedded bool
	// Playground fills the page at /playground; nil leaves it empty.
	Playground *server.Playground
	// Narrator, when set, is told what happens, for people who watch.
	Narrator Narrator
	// Ready is called once: with the URL when the server, or a worker's health and
	// metrics, accept connections, or with "" when a worker without either begins.
	Ready func(url string)
	Log   *slog.Logger
}

// App is a process: a server, a worker, or both.
type App struct {
	Options
	gate    *gate.Gate
	archive *store.Archive
	bell    *notify.Bell
	desk    *desk.Desk
	server  *server.Server
	worker  *worker.Worker
	metrics *metrics.Metrics
	lag     lagMonitor
}

// Open builds everything and does no I/O, so it succeeds while Redis and the
// database are away. The error is a fault of the configuration.
func Open(o Options) (_ *App, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	a := &App{Options: o, metrics: metrics.New()}
	defer func() {
		if err != nil {
			_ = a.Close()
		}
	}()
	watch := observer{metrics: a.metrics, narrator: o.Narrator}
	if a.archive, err = store.New(o.Config.DatabaseURL, store.Options{Log: o.Log}); err != nil {
		return nil, err
	}
	if a.gate, err = gate.Open(gate.Options{
		URL: o.Config.RedisURL, Partitions: o.Config.Partitions, Source: a.archive, Observer: watch, Log: o.Log,
	}); err != nil {
		return nil, err
	}
	a.desk = desk.New(desk.Options{
		Gate: a.gate, Stock: a.gate, Publisher: a.gate, Orders: a.archive, Vouchers: listing{a.archive}, Log: o.Log,
	})
	if o.Worker {
		a.worker = worker.New(worker.Options{
			Queue: a.gate, Membership: a.gate, Stock: a.gate, Archive: a.archive, Outbox: a.archive, Observer: watch,
			Transient: store.Transient, Partitions: o.Config.Partitions, Log: o.Log,
		})
	}
	switch {
	case o.Server:
		err = a.openServer(watch)
	case o.Worker && o.Config.OpsAddr != "":
		a.server, err = server.New(server.Options{
			Addr: o.Config.OpsAddr, Metrics: a.metrics.Handler(), Checks: a.checks(), Log: o.Log,
		})
	}
	return a, err
}

func (a *App) openServer(watch observer) (err error) {
	c := a.Config
	if a.bell, err = notify.Open(notify.Options{
		URL: c.RedisURL, Partitions: c.Partitions, EventsKey: gate.EventsKey, Archive: a.archive, Lookup: a.desk,
		Stock: a.gate, Observer: watch, Log: a.Log,
	}); err != nil {
		return err
	}
	verifier, err := server.NewVerifier([]byte(c.JWTSecret))
	if err != nil {
		return err
	}
	page := a.Playground
	if page == nil && c.Playground {
		page = &server.Playground{}
	}
	a.server, err = server.New(server.Options{
		Addr: c.Addr, AllowedOrigins: c.AllowedOrigins, Verifier: verifier,
		Schema:         graph.NewSchema(graph.Ports{Orders: a.desk, Vouchers: a.desk, Facts: a.desk, Watch: a.bell}),
		ErrorPresenter: graph.Presenter(a.Log), Recover: graph.Recover(a.Log), SDL: graph.SDL,
		Introspection: c.Introspection || page != nil, Playground: page,
		Metrics: a.metrics.Handler(), Checks: a.checks(), Observer: a.metrics, Log: a.Log,
	})
	return err
}

// Close closes the connections. Run has ended before, or was never called.
func (a *App) Close() error {
	var faults []error
	if a.bell != nil {
		faults = append(faults, a.bell.Close())
	}
	if a.gate != nil {
		faults = append(faults, a.gate.Close())
	}
	if a.archive != nil {
		faults = append(faults, a.archive.Close())
	}
	return errors.Join(faults...)
}

// Desk answers questions about orders and vouchers, for the commands.
func (a *App) Desk() *desk.Desk { return a.desk }

// Archive is the durable store, for the commands.
func (a *App) Archive() *store.Archive { return a.archive }

// Run checks Redis and the database, runs until ctx ends, and ends in order. A
// service that is away is waited for; one that is set up so that the promises
// cannot hold is an error.
func (a *App) Run(ctx context.Context) error {
	away := a.preflight(ctx)
	if fatal(away) {
		return away
	}
	if away != nil {
		a.Log.WarnContext(ctx, "waiting for Redis or the database", "err", away)
	}
	if a.server == nil && a.Ready != nil {
		a.Ready("")
	}
	return runStages(ctx, a.stages(away == nil))
}

// stages lists what runs, senders first.
func (a *App) stages(checked bool) []stage {
	list := []stage{}
	if a.server != nil {
		list = append(list, a.serve)
	}
	if a.worker != nil {
		list = append(list, a.worker.Run)
	}
	if a.bell != nil {
		list = append(list, a.bell.Run)
	}
	return append(list, func(ctx context.Context) error { return a.watchServices(ctx, checked) })
}

func (a *App) serve(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.server.Run(ctx) })
	if a.Ready != nil {
		g.Go(func() error {
			select {
			case <-a.server.Ready():
				a.Ready(a.server.URL())
			case <-ctx.Done():
			}
			return nil
		})
	}
	return g.Wait()
}
