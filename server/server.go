package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flashclaim/flashclaim/internal/sale"
	"github.com/flashclaim/flashclaim/server/websocket"
)

// Server is the porch. [New] makes it and does no I/O; [Server.Run] runs it
// once.
type Server struct {
	options Options
	origins origins
	sockets *websocket.Transport
	http    *http.Server

	ready    chan struct{} // closed when url is set and connections are accepted
	url      string
	draining atomic.Bool
	ending   chan struct{} // closed when SSE streams must end
	streams  tally         // subscriptions that run, on any transport
	health   health
}

// New checks the options and builds the porch. The error names every option
// that is missing.
func New(options Options) (_ *Server, err error) {
	defer sale.Wrap(&err, "build the server")
	if options, err = options.withDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		options: options,
		origins: newOrigins(options.AllowedOrigins),
		ready:   make(chan struct{}),
		ending:  make(chan struct{}),
	}
	s.sockets = s.newSockets()
	// No WriteTimeout: it would end SSE streams. Handlers that write little are
	// bounded by the kernel's buffers, and streams set a deadline per event.
	s.http = &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: options.Limits.RequestTime,
		ReadTimeout:       options.Limits.RequestTime,
		IdleTimeout:       options.Limits.IdleTime,
		MaxHeaderBytes:    options.Limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(options.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Ready is closed when the server accepts connections.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// URL is where the server listens, such as http://127.0.0.1:8080. It is valid
// once [Server.Ready] is closed.
func (s *Server) URL() string { return s.url }

// Run listens, serves until ctx ends, drains, and returns nil. It returns an
// error when the address cannot be listened on, in one sentence that names the
// address and the flag, or when serving breaks off.
func (s *Server) Run(ctx context.Context) error {
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	s.http.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	s.url = urlOf(listener.Addr())
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(listener) }()
	close(s.ready)
	s.options.Log.InfoContext(ctx, "listening", "url", s.url)
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", s.url, err)
	case <-ctx.Done():
	}
	s.drain(context.WithoutCancel(ctx))
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.url, err)
	}
	return nil
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.Addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s is in use by another program; stop that one or choose another with --addr",
			s.options.Addr)
	case err != nil:
		return nil, fmt.Errorf("the address %s cannot be listened on; choose another with --addr: %w", s.options.Addr, err)
	}
	return listener, nil
}

// urlOf names a listener so that a person on this machine can open it: a
// wildcard address is not a place to go to.
func urlOf(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return "http://" + addr.String()
	}
	return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
}

// drain goes down in the order that doc.go gives, each step bounded.
func (s *Server) drain(ctx context.Context) {
	d := s.options.Drain
	begun := time.Now()
	s.draining.Store(true)
	wait(ctx, d.Notice)

	close(s.ending)
	bounded(ctx, d.Requests, func(ctx context.Context) {
		if err := s.http.Shutdown(ctx); err != nil {
			s.options.Log.WarnContext(ctx, "requests in flight were cut off", "err", err)
			_ = s.http.Close()
		}
	})
	sockets := s.sockets.Open()
	bounded(ctx, d.Sockets, func(ctx context.Context) {
		if err := s.sockets.Drain(ctx, d.Spread); err != nil {
			s.options.Log.WarnContext(ctx, "sockets did not drain", "err", err)
		}
	})
	bounded(ctx, d.Streams, func(ctx context.Context) {
		if err := s.streams.wait(ctx); err != nil {
			s.options.Log.WarnContext(ctx, "streams did not end", "err", err)
		}
	})
	s.options.Log.InfoContext(ctx, "drained", "sockets", sockets, "took", time.Since(begun))
}

func bounded(ctx context.Context, limit time.Duration, step func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	step(ctx)
}

func wait(ctx context.Context, d time.Duration) {
	if d > 0 {
		bounded(ctx, d, func(ctx context.Context) { <-ctx.Done() })
	}
}
